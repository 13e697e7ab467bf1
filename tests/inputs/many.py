"""Many files behind one name: the rows are those of the files one after the other, and so are the errors."""

import os
import time

from bench import ALL, PACKERS, WAYS, expect, expect_error, expect_no_worker, numbered, test
import statements


def parts(bench, count=5, rows=1000, header=b""):
    """Files of numbered rows, and one that holds them all."""
    contents = [numbered(rows, rows * part) for part in range(count)]
    paths = [bench.write("part%d.csv" % part, header + content) for part, content in enumerate(contents)]
    return paths, bench.write("all.csv", header + b"".join(contents))


@test
def a_pattern_reads_its_files_in_the_order_of_their_names(bench):
    os.mkdir(bench.path("folder.csv"))
    os.mkfifo(bench.path("pipe.csv"))
    for name in ("b.csv", "a.csv", "B.csv", "a1.csv", ".hidden.csv", "a.csv.old", "\u00e4.csv"):
        bench.write(name, b"1," + name.encode() + b"\n")
    for pattern, wanted in (
        ("*.csv", ["B.csv", "a.csv", "a1.csv", "b.csv", "\u00e4.csv"]),
        ("?.csv", ["B.csv", "a.csv", "b.csv"]),
        ("[ab].csv", ["a.csv", "b.csv"]),
        ("[!a-z].csv", ["B.csv"]),
        ("a*.csv*", ["a.csv", "a.csv.old", "a1.csv"]),
        (".h*", [".hidden.csv"]),
    ):
        bench.table(bench.path(pattern))
        expect([row[0] for row in bench.conn.must("SELECT t FROM f")["rows"]], wanted, pattern)
    os.mkdir(bench.path("sub"))
    bench.write("sub/x.csv", b"1,x\n")
    bench.table(bench.path("s*/*.csv"))
    expect(bench.conn.must("SELECT t FROM f")["rows"], [["x"]], "folders")
    bench.table(bench.path("*/x.csv"))
    expect(bench.conn.must("SELECT t FROM f")["rows"], [["x"]], "folders, and a name")


@test
def a_list_keeps_its_order_and_a_file_of_the_exact_name_wins(bench):
    for name in ("a.csv", "b.csv", "c.csv"):
        bench.write(name, b"1," + name.encode() + b"\n")
    names = lambda: [row[0] for row in bench.conn.must("SELECT t FROM f")["rows"]]
    bench.table("%s, %s,%s" % (bench.path("c.csv"), bench.path("[ab].csv"), bench.path("c.csv")))
    expect(names(), ["c.csv", "a.csv", "b.csv", "c.csv"], "a list")
    bench.write("[ab].csv", b"1,a pattern\n")
    bench.write("a.csv,b.csv", b"1,a list\n")
    bench.table(bench.path("[ab].csv"))
    expect(names(), ["a pattern"], "a file named like a pattern")
    bench.table(bench.path("a.csv,b.csv"))
    expect(names(), ["a list"], "a file named like a list")
    expect(bench.load(bench.path("[ab].csv"), ", header => false")["rows"], [["1"]], "a load")


@test
def scans_counts_and_filters_give_the_sum_of_the_files(bench):
    paths, whole = parts(bench, header=b"id,t\n")
    bench.write("part9.csv", b"id,t\n")  # no rows
    bench.write("part10.csv", b"")  # nothing
    queries = (
        ALL,
        "SELECT count(*) FROM f",
        "SELECT sum(id) FROM f WHERE id % 7 = 3",
        "SELECT count(*) FROM f WHERE id > 2500",
        "SELECT id FROM f ORDER BY id LIMIT 3",
        "SELECT * FROM f LIMIT 1500 OFFSET 900",
        "SELECT a.id FROM (SELECT * FROM f LIMIT 3) a, LATERAL (SELECT count(*) FROM f b WHERE b.id < a.id) c",
    )
    bench.table(whole, header="true")
    wanted = [bench.conn.must(query) for query in queries]
    bench.table(bench.path("part*.csv"), header="true")
    for size, threads in WAYS[1:3]:
        bench.way(size, threads)
        for query, result in zip(queries, wanted):
            expect(bench.conn.must(query), result, query)
    bench.any_way()
    bench.conn.must("SELECT * FROM f")
    run = bench.run()
    total = sum(os.path.getsize(path) for path in paths)
    expect((run["path"], run["rows"], run["bytes"]), ("parallel", "5000", str(total)), "the run")
    bench.serially()
    for query, result in zip(queries, wanted):
        expect(bench.conn.must(query), result, query)
    expect(bench.run()["path"], "serial", "the run")
    bench.conn.must("SET fastcsv.min_parallel_size = '8kB'")
    bench.write("part3.csv", b"id,t\n" + numbered(10))
    bench.conn.must("SELECT * FROM f")
    run = bench.run()
    expect((run["path"], run["rows"]), ("parallel", "4010"), "a small one among large ones")


@test
def cursors_prepared_statements_and_analyze_work(bench):
    parts(bench)
    bench.table(bench.path("part*.csv"))
    bench.conn.must("BEGIN")
    bench.conn.must("DECLARE c CURSOR FOR SELECT id FROM f")
    expect(len(bench.conn.must("FETCH 1500 FROM c")["rows"]), 1500, "rows of a cursor")
    expect(bench.conn.must("FETCH 2 FROM c")["rows"], [["1500"], ["1501"]], "the next")
    bench.conn.must("CLOSE c")
    bench.conn.must("COMMIT")
    expect_no_worker(bench)
    bench.conn.must("ANALYZE f")
    expect(bench.value("SELECT reltuples FROM pg_class WHERE oid = 'f'::regclass"), "5000", "ANALYZE")
    plan = str(bench.conn.must("EXPLAIN SELECT * FROM f")["rows"])
    size = sum(os.path.getsize(bench.path("part%d.csv" % part)) for part in range(5))
    expect("Foreign Files: 5" in plan and "Foreign File Size: %d b" % size in plan and "rows=5000" in plan, True, plan)


@test
def loads_give_the_sum_of_the_files(bench):
    paths, whole = parts(bench, header=b"id,t\n")
    bench.load(whole)
    wanted = bench.loaded()
    bench.conn.must("CREATE TABLE other (t text DEFAULT 'other', id int, n int DEFAULT 7, s serial)")
    for parallel in (True, False):
        bench.conn.must("SET fastcsv.min_parallel_size = %s" % ("0" if parallel else "'1GB'"))
        for size, threads in WAYS[1:3]:
            bench.way(size, threads)
            for name in (bench.path("part*.csv"), ",".join(paths)):
                expect(bench.load(name)["rows"], [["5000"]], name)
                expect(bench.loaded(), wanted, name)
        expect(bench.run()["path"], "parallel" if parallel else "serial", "the run")
        bench.any_way()
        expect(bench.load(bench.path("part*.csv"), ", where_clause => 'id % 2 = 0'")["rows"], [["2500"]], "a condition")
        expect(
            bench.load(bench.path("part*.csv"), table="other", arguments=", columns => '{id,t}'")["rows"],
            [["5000"]],
            "defaults",
        )
        expect(bench.value("SELECT count(DISTINCT s)::text || sum(n) FROM other"), "500035000", "defaults")
    bench.conn.must("DROP TABLE other")


@test
def each_file_has_its_own_header(bench):
    bench.write("h1.csv", b"id,t\n1,with\n")
    bench.write("h2.csv", b"2,without\n")
    bench.write("h3.csv", b"id,t\n3,with\n")
    expect(bench.load(bench.path("h*.csv"))["rows"], [["3"]], "header => 'auto'")
    expect(bench.value("SELECT string_agg(id || t, ',' ORDER BY id) FROM loaded"), "1with,2without,3with", "rows")
    expect(bench.load(bench.path("h*.csv"), ", header => true")["rows"], [["2"]], "header => true")
    bench.write("h3.csv", b"t,id\nx,3\n")
    expect_error(bench.load(bench.path("h*.csv")), {"sqlstate": "22P04"}, "names in another order")


@test
def targets_of_every_kind_take_many_files(bench):
    parts(bench)
    pattern = bench.path("part*.csv")
    bench.conn.must("""CREATE TABLE parted (id int, t text) PARTITION BY RANGE (id);
        CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (2500);
        CREATE TABLE parted2 PARTITION OF parted FOR VALUES FROM (2500) TO (9999);
        CREATE TABLE indexed (id int PRIMARY KEY, t text CHECK (t <> ''), n int GENERATED ALWAYS AS (id + 1) STORED);
        CREATE VIEW shown AS SELECT * FROM loaded;
        CREATE OR REPLACE FUNCTION store() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO loaded VALUES (NEW.*); RETURN NEW; END';
        CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.t := upper(NEW.t); RETURN NEW; END';
        CREATE TRIGGER store INSTEAD OF INSERT ON shown FOR EACH ROW EXECUTE FUNCTION store();
        CREATE TABLE triggered (id int, t text);
        CREATE TRIGGER pass BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION pass()""")
    for table in ("parted", "indexed", "triggered"):
        for size, threads in WAYS[:2]:
            bench.way(size, threads)
            expect(bench.load(pattern, ", header => false", table)["rows"], [["5000"]], table)
            expect(bench.value("SELECT sum(id) FROM %s" % table), str(sum(range(5000))), table)
    bench.any_way()
    expect(bench.value("SELECT count(*) FROM triggered WHERE t = upper(t)"), "5000", "the trigger")
    expect(
        bench.conn.must("SELECT fastcsv_copy('shown', '%s', header => false)" % pattern)["rows"], [["5000"]], "a view"
    )
    expect(bench.value("SELECT sum(id) FROM loaded"), str(sum(range(5000))), "a view")
    for part in range(5):
        bench.write("text%d" % part, numbered(10, 10 * part).replace(b",", b"\t"))
    expect(bench.load(bench.path("text?"), ", header => false, format => 'text'")["rows"], [["50"]], "text")
    bench.conn.must("DROP TABLE parted, indexed, triggered CASCADE; DROP VIEW shown; DROP FUNCTION store(), pass()")


@test
def an_error_names_its_file_and_that_files_line(bench):
    paths, _ = parts(bench, rows=300)
    bad = bench.write("part3.csv", numbered(200, 900) + b'7,"two\nlines"\nx,y\n' + numbered(10))
    bench.table(bad)
    wanted = bench.conn.exec("SELECT * FROM f")
    wanted_load = bench.load(bad, ", header => false")
    expect("line 203, record 202, byte" in wanted["context"], True, wanted["context"])
    for parallel in (True, False):
        bench.conn.must("SET fastcsv.min_parallel_size = %s" % ("0" if parallel else "'1GB'"))
        for size, threads in WAYS:
            bench.way(size, threads)
            bench.table(bench.path("part?.csv"))
            expect(bench.conn.exec("SELECT * FROM f"), wanted, "a scan")
            expect(bench.load(bench.path("part?.csv"), ", header => false"), wanted_load, "a load")
            expect(bench.value("SELECT count(*) FROM loaded"), "0", "nothing is loaded")
    bench.any_way()
    bench.conn.must("ALTER TABLE loaded ADD UNIQUE (id)")
    bench.write("part3.csv", numbered(10, 900) + numbered(1, 5))
    result = bench.load(bench.path("part?.csv"), ", header => false")
    expect_error(result, {"sqlstate": "23505"}, "a violation that another file makes")
    expect("part3.csv" in result["context"], True, result["context"])


@test
def the_column_for_the_files_name_is_filled(bench):
    paths, _ = parts(bench, count=3, rows=200)
    wanted = [[path, "200"] for path in paths]
    for columns in (
        "id int, t text, source text",
        "source varchar(200), id int, t text",
        "id int, source varchar, t text",
        "id int, source text DEFAULT 'x', t text, later text",
    ):
        if "later" in columns:
            for path in paths:
                bench.write(os.path.basename(path), b"".join(b"%d,x,y\n" % row for row in range(200)))
        bench.table(bench.path("part*.csv"), columns, filename_column="source")
        for size, threads in WAYS[:2]:
            bench.way(size, threads)
            for condition in ("", "WHERE id >= 0", "WHERE source <> ''"):
                found = bench.conn.must("SELECT source, count(*) FROM f %s GROUP BY 1 ORDER BY 1" % condition)["rows"]
                expect(found, wanted, columns)
            expect(bench.value("SELECT count(*) FROM f"), "600", "count")
            expect(bench.value("SELECT count(*) FROM f WHERE source LIKE '%part1%'"), "200", "count with a condition")
            expect(bench.conn.must("SELECT f.source, f.* FROM f LIMIT 1")["rows"][0][0], paths[0], "a whole row")
    bench.any_way()
    bench.conn.must("ALTER TABLE loaded ADD COLUMN source text DEFAULT 'nobody', ADD COLUMN later text DEFAULT 'l'")
    for parallel in (True, False):
        bench.conn.must("SET fastcsv.min_parallel_size = %s" % ("0" if parallel else "'1GB'"))
        for arguments in (", columns => '{id,t,later}'", "", ", where_clause => $$source <> ''$$"):
            expect(
                bench.load(bench.path("part*.csv"), ", header => false, filename_column => 'source'" + arguments)[
                    "rows"
                ],
                [["600"]],
                arguments,
            )
            expect(
                bench.conn.must("SELECT source, count(*) FROM loaded GROUP BY 1 ORDER BY 1")["rows"], wanted, arguments
            )
    one = bench.load(paths[1], ", header => false, filename_column => 'source'")
    expect((one["rows"], bench.value("SELECT DISTINCT source FROM loaded")), ([["200"]], paths[1]), "one file")
    bench.table(paths[0], "id int, t text, n int GENERATED ALWAYS AS (1) STORED", filename_column="n")
    expect(bench.conn.exec("SELECT * FROM f")["sqlstate"], "42P10", "a generated column")
    bench.table(paths[0], filename_column="nothing")
    expect_error(
        bench.conn.exec("SELECT * FROM f"),
        {"sqlstate": "42703", "message": 'column "nothing" of relation "f" does not exist'},
        "",
    )


@test
def nothing_that_matches_and_what_cannot_be_read_are_errors_in_copys_words(bench):
    pattern = bench.path("nothing*.csv")
    wanted = {"sqlstate": "58P01", "message": 'could not open file "%s" for reading: no file matches' % pattern}
    bench.table(pattern)
    for statement in (
        "SELECT * FROM f",
        "SELECT count(*) FROM f",
        "ANALYZE f",
        "SELECT fastcsv_copy('loaded', '%s')" % pattern,
    ):
        expect_error(bench.conn.exec(statement), wanted, statement)
    expect("Foreign Files" in str(bench.conn.must("EXPLAIN SELECT * FROM f")), False, "EXPLAIN reads nothing")
    paths, _ = parts(bench, rows=10)
    missing = bench.path("missing.csv")
    bench.table("%s,%s" % (paths[0], missing))
    wanted = {
        "sqlstate": "58P01",
        "message": 'could not open file "%s" for reading: No such file or directory' % missing,
    }
    expect_error(bench.conn.exec("SELECT * FROM f LIMIT 1"), wanted, "before any row")
    expect_error(bench.load("%s,%s" % (paths[0], missing)), wanted, "a load")
    os.chmod(paths[3], 0)
    wanted = {"sqlstate": "42501", "message": 'could not open file "%s" for reading: Permission denied' % paths[3]}
    bench.table(bench.path("part*.csv"))
    expect_error(bench.conn.exec("SELECT * FROM f LIMIT 1"), wanted, "an unreadable file in the middle")
    expect_error(bench.load(bench.path("part*.csv")), wanted, "a load")
    expect(bench.value("SELECT count(*) FROM loaded"), "0", "nothing is loaded")
    os.mkdir(bench.path("closed"), 0)
    bench.table(bench.path("closed/*.csv"))
    folder = bench.path("closed")
    wanted = {"sqlstate": "42501", "message": 'could not open directory "%s": Permission denied' % folder}
    expect_error(bench.conn.exec("SELECT * FROM f"), wanted, "a folder")
    os.chmod(folder, 0o755)


@test
def strange_names_do_no_harm(bench):
    for number, name in enumerate(
        ("new\nline.csv", 'quo"te.csv', "semi;colon.csv", "back\\slash.csv", "x" * 240 + ".csv")
    ):
        bench.write(name, b"%d,a\n" % number)
    bench.table(bench.path("*.csv"), "id int, t text, source text", filename_column="source")
    expect(bench.value("SELECT count(DISTINCT source) FROM f"), "5", "names")
    raw = os.path.join(os.fsencode(bench.folder), b"\xff.csv")
    with open(raw, "wb") as file:
        file.write(b"1,a\n")
    os.chmod(raw, 0o644)
    result = bench.conn.exec("SELECT * FROM f")
    expect((result["sqlstate"], "\\xff.csv" in result["detail"]), ("22021", True), result)


@test
def many_files_take_few_descriptors_and_little_memory(bench):
    os.mkdir(bench.path("many"))
    os.chmod(bench.path("many"), 0o755)
    count = 1500
    for number in range(count):
        bench.write("many/%05d.csv" % number, b"%d,a\n" % number)
    bench.serially()
    bench.table(bench.path("many/*.csv"))
    pid = bench.value("SELECT pg_backend_pid()")
    before = len(os.listdir("/proc/%s/fd" % pid))
    bench.conn.must("BEGIN")
    bench.conn.must("DECLARE c CURSOR FOR SELECT id FROM f")
    bench.conn.must("FETCH 1000 FROM c")
    expect(len(os.listdir("/proc/%s/fd" % pid)) <= before + 5, True, "descriptors")
    memory = bench.value("SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'fastcsv file'")
    expect(int(memory) < 1_000_000, True, "memory of files: %s" % memory)
    expect(len(bench.conn.must("FETCH ALL FROM c")["rows"]), count - 1000, "the rest")
    bench.conn.must("COMMIT")
    expect(bench.load(bench.path("many/*.csv"), ", header => false")["rows"], [[str(count)]], "a load")


@test
def rows_passed_over_are_counted_over_all_files(bench):
    if bench.conn.version < 170000:
        return
    bench.conn.must("SET client_min_messages = notice")
    for part in range(3):
        bench.write("skip%d.csv" % part, b"1,a\nx,b\n2,c\n")
    result = bench.load(bench.path("skip*.csv"), ", header => false, on_error => 'ignore'")
    expect(result["rows"], [["6"]], "rows")
    expect("3 rows were skipped" in str(bench.conn.notices if hasattr(bench.conn, "notices") else result), True, result)
    if bench.conn.version >= 180000:
        result = bench.load(bench.path("skip*.csv"), ", header => false, on_error => 'ignore', reject_limit => 2")
        expect(result["sqlstate"], "22P02", "the limit is for all of them")


@test
def who_is_confined_to_folders_is_told_nothing_of_others(bench):
    os.mkdir(bench.path("in"))
    os.mkdir(bench.path("out"))
    for folder in ("in", "out"):
        os.chmod(bench.path(folder), 0o755)
        bench.write(folder + "/a.csv", b"1,a\n")
    os.symlink(bench.path("out"), bench.path("in/link"))
    os.symlink(bench.path("out/a.csv"), bench.path("in/stolen.csv"))
    bench.conn.must("CREATE ROLE inputs_reader")
    try:
        bench.conn.must("LOAD 'fastcsv'")  # or nobody knows the setting
        bench.conn.must("GRANT pg_read_server_files TO inputs_reader; GRANT ALL ON loaded TO inputs_reader")
        bench.conn.must("ALTER SYSTEM SET fastcsv.allowed_directories = '%s'" % bench.path("in"))
        bench.conn.must("SELECT pg_reload_conf()")
        while bench.value("SHOW fastcsv.allowed_directories") == "":
            time.sleep(0.01)
        bench.conn.must("SET ROLE inputs_reader")
        load = lambda name: bench.conn.exec("SELECT fastcsv_copy('loaded', '%s', header => false)" % name)
        expect(load(bench.path("in/a*.csv"))["rows"], [["1"]], "inside")
        for name in ("out/*.csv", "in/link/*.csv", "*/a.csv", "in/*.csv", "in/../out/*.csv", "none/*.csv"):
            expect(load(bench.path(name)).get("sqlstate"), "42501", name)
        expect(load("%s,%s" % (bench.path("in/a.csv"), bench.path("out/a.csv"))).get("sqlstate"), "42501", "a list")
        expect(load("%s,%s" % (bench.path("out/a.csv"), bench.path("out/b.csv"))).get("sqlstate"), "42501", "a list")
    finally:
        bench.conn.must("RESET ROLE")
        bench.conn.must("ALTER SYSTEM RESET fastcsv.allowed_directories")
        bench.conn.must("SELECT pg_reload_conf()")
        bench.conn.must("DROP OWNED BY inputs_reader")
        bench.conn.must("DROP ROLE inputs_reader")
