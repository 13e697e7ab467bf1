"""Columns by name: a file in any order, with more columns and fewer, gives what a file in the table's order gives."""

import random

from bench import PACKERS, WAYS, expect, expect_error, test

COLUMNS = "id int, t text, d date, n numeric(8,2), j jsonb, a int[]"
NAMES = ["id", "t", "d", "n", "j", "a"]


def field(value):
    if value is None:
        return b""
    text = value.encode()
    return b'"' + text.replace(b'"', b'""') + b'"' if any(c in text for c in b',"\n') or not text else text


def rows(rng, count):
    """Rows of the table above; None for NULL."""
    for number in range(count):
        yield {
            "id": str(number),
            "t": rng.choice(["x", "a,b", "two\nlines", 'say "it"', None, "caf\u00e9", "y" * rng.randrange(200)]),
            "d": rng.choice(["2024-02-29", "1999-12-31", None]),
            "n": rng.choice(["1.5", "-22", None, "1e2"]),
            "j": rng.choice(['{"a": 1}', None, "[1, 2]"]),
            "a": rng.choice(["{1,2}", None]),
        }


def csv(rows, names, header=None, end=b"\n"):
    """The rows' columns of these names; any other name stands for something that is nobody's."""
    lines = [b",".join(field(name) for name in header or names)]
    lines += [b",".join(field(row.get(name, "j,unk\n\u00e9")) for name in names) for row in rows]
    return end.join(lines) + end


def expected(bench, content_rows, names, is_load):
    """What the rows come to, if only these of their columns are in the file."""
    kept = [{name: value if name in names else None for name, value in row.items()} for row in content_rows]
    path = bench.write("reference.csv", csv(kept, NAMES))
    bench.table(path, COLUMNS, header="true")
    return bench.conn.must("SELECT * FROM f")["rows"]


@test
def any_order_and_other_columns_give_the_same_rows(bench):
    rng = random.Random(20260301)
    bench.conn.must("CREATE TABLE target (%s)" % COLUMNS)
    for round in range(12):
        content = list(rows(rng, rng.randrange(1, 200)))
        names = rng.sample(NAMES, rng.randrange(1, len(NAMES) + 1))
        header = [rng.choice([name, name.upper(), " " + name]) for name in names]
        for extra in range(rng.choice([0, 0, 1, 3])):
            place = rng.randrange(len(names) + 1)
            names.insert(place, "extra")
            header.insert(place, rng.choice(["extra", "", "other", "x,y\nz", "T2"]))
        wanted = expected(bench, content, names, False)
        path = bench.write("named.csv", csv(content, names, header, rng.choice([b"\n", b"\r\n"])))
        if rng.random() < 0.2:
            path = bench.write("named.gz", PACKERS["gz"](open(path, "rb").read()))
        bench.table(path, COLUMNS, match="name")
        what = "round %d: %r" % (round, header)
        for size, threads in (WAYS + WAYS)[round % 4 :][:2]:
            bench.way(size, threads)
            expect(bench.conn.must("SELECT * FROM f")["rows"], wanted, what)
            expect(bench.load(path, ", match => 'name'", "target")["rows"], [[str(len(content))]], what)
            expect(bench.conn.must("SELECT * FROM target")["rows"], wanted, what)
            some = rng.sample(range(len(NAMES)), 2)
            projected = [[row[index] for index in some] for row in wanted]
            expect(
                bench.conn.must("SELECT %s FROM f" % ", ".join(NAMES[index] for index in some))["rows"], projected, what
            )
            count = sum(row[1] is None for row in wanted)
            expect(bench.value("SELECT count(*) FROM f WHERE t IS NULL"), str(count), what)
            large = [row for row in wanted if row[0] is not None and int(row[0]) > 50]
            expect(bench.conn.must("SELECT * FROM f WHERE id > 50")["rows"], large, what)
            expect(bench.value("SELECT count(*) FROM f"), str(len(content)), what)
    bench.any_way()
    bench.serially()
    expect(bench.conn.must("SELECT * FROM f")["rows"], wanted, "serially")
    bench.load(path, ", match => 'name'", "target")
    expect(bench.conn.must("SELECT * FROM target")["rows"], wanted, "serially")
    bench.conn.must("DROP TABLE target")


@test
def each_file_has_a_header_of_its_own(bench):
    bench.write("p1.csv", b"id,t\n1,one\n")
    bench.write("p2.csv", b"junk,T,id\nx,two,2\n")
    bench.write("p3.csv", b"t\nthree\n")
    bench.write("p4.csv", b"")
    bench.write("p5.csv", b"id\n")
    for parallel in ("0", "'1GB'"):
        bench.conn.must("SET fastcsv.min_parallel_size = " + parallel)
        bench.table(bench.path("p?.csv"), "id int, t text, source text", match="name", filename_column="source")
        expect(
            bench.conn.must("SELECT id, t, right(source, 6) FROM f")["rows"],
            [["1", "one", "p1.csv"], ["2", "two", "p2.csv"], [None, "three", "p3.csv"]],
            "a scan",
        )
        bench.conn.must("ALTER TABLE loaded ALTER id SET DEFAULT 7")
        expect(bench.load(bench.path("p?.csv"), ", match => 'name'")["rows"], [["3"]], "a load")
        expect(bench.conn.must("SELECT * FROM loaded")["rows"], [["1", "one"], ["2", "two"], ["7", "three"]], "a load")


@test
def columns_that_are_missing_get_their_defaults_in_a_load(bench):
    bench.conn.must(
        """CREATE TABLE target (s serial, i int GENERATED BY DEFAULT AS IDENTITY,
        g int GENERATED ALWAYS AS (id * 2) STORED,
        id int, t text DEFAULT 'none', at timestamptz DEFAULT now(), r float DEFAULT random(), plain int)"""
    )
    content = b"t2,id\n" + b"".join(b"x,%d\n" % row for row in range(500))
    path = bench.write("missing.csv", content)
    for parallel in ("0", "'1GB'"):
        bench.conn.must("SET fastcsv.min_parallel_size = " + parallel)
        bench.conn.must("TRUNCATE target RESTART IDENTITY")
        expect(bench.load(path, ", match => 'name'", "target")["rows"], [["500"]], "rows")
        expect(
            bench.conn.must(
                """SELECT count(DISTINCT s), max(i), sum(g), min(t), count(at), count(DISTINCT r) > 400, count(plain)
            FROM target"""
            )["rows"],
            [["500", "500", str(sum(range(500)) * 2), "none", "500", "t", "0"]],
            "defaults",
        )
    bench.write("m1.csv", b"id,s\n1,1000\n")
    bench.write("m2.csv", b"id\n2\n")
    bench.write("m3.csv", b"id,t\n3,x\n")
    bench.conn.must("TRUNCATE target RESTART IDENTITY")
    expect(
        bench.load(bench.path("m?.csv"), ", match => 'name', where_clause => 'id <> 9'", "target")["rows"],
        [["3"]],
        "rows",
    )
    expect(
        bench.conn.must("SELECT s, id, t FROM target")["rows"],
        [["1000", "1", "none"], ["1", "2", "none"], ["2", "3", "x"]],
        "each file its own",
    )
    bench.conn.must("DROP TABLE target")
    bench.table(path, "id int DEFAULT 5, t text DEFAULT 'never', n int DEFAULT 1/0", match="name")
    expect(bench.conn.must("SELECT * FROM f LIMIT 1")["rows"], [["0", None, None]], "a scan")


@test
def options_about_columns_that_are_missing_do_no_harm(bench):
    path = bench.write("options.csv", b'extra,t,id\n,"",1\n,,2\n')
    bench.conn.must("ALTER TABLE loaded ADD COLUMN u text")
    for size, threads in WAYS[:3]:
        bench.way(size, threads)
        expect(
            bench.load(path, ", match => 'name', force_null => '{t,u}', force_not_null => '{u}'")["rows"],
            [["2"]],
            "options",
        )
        expect(bench.conn.must("SELECT * FROM loaded")["rows"], [["1", None, None], ["2", None, None]], "force_null")
        bench.load(path, ", match => 'name', force_not_null => '{t,u}', columns => '{t,u}'")
        expect(bench.conn.must("SELECT * FROM loaded")["rows"], [[None, "", None], [None, "", None]], "columns")
    bench.any_way()
    expect(bench.load(path, ", match => 'name', force_null => '{nothing}'").get("sqlstate"), "42703", "COPY complains")
    expect(bench.load(path, ", match => 'name', columns => '{nothing}'").get("sqlstate"), "42703", "COPY complains")
    bench.conn.must("DROP FOREIGN TABLE IF EXISTS f")
    bench.conn.must(
        """CREATE FOREIGN TABLE f (id int, t text OPTIONS (force_null 'true'), u text OPTIONS (force_not_null 'true'))
        SERVER fastcsv OPTIONS (filename '%s', match 'name')""" % path
    )
    expect(bench.conn.must("SELECT * FROM f")["rows"], [["1", None, None], ["2", None, None]], "a foreign table")
    expect(bench.conn.must("SELECT u FROM f")["rows"], [[None], [None]], "a column that is missing alone")


@test
def errors_are_copys_and_name_the_fields(bench):
    many = b"".join(b"%d,j,x\n" % row for row in range(500))
    for bad, message in (
        (b"x,j,x\n", 'invalid input syntax for type integer: "x"'),
        (b"1\n", 'missing data for column "junk"'),
        (b"1,2\n", 'missing data for column "t"'),
        (b"1,2,3,4\n", "extra data after last expected column"),
        (b'1,"open\n', "unterminated CSV quoted field"),
        (b"1,\xff,x\n", None),
    ):
        path = bench.write("bad.csv", b"id,junk,t\n" + many + bad)
        results = []
        for parallel in ("0", "'1GB'"):
            bench.conn.must("SET fastcsv.min_parallel_size = " + parallel)
            for size, threads in WAYS:
                bench.way(size, threads)
                bench.table(path, match="name")
                results.append(bench.conn.exec("SELECT * FROM f"))
                results.append(bench.load(path, ", match => 'name'"))
                results[-1]["context"] = results[-1]["context"].replace("COPY loaded,", "COPY f,")
        for result in results:
            expect(result, results[0], repr(bad))
        if message:
            expect(results[0]["message"], message, repr(bad))
        expect(", line 502, record 501," in results[0]["context"], True, results[0]["context"])
    bench.any_way()


@test
def headers_that_cannot_be_matched_are_errors(bench):
    message = 'the header of file "%s" names no column of "%s"'
    path = bench.write("none.csv", b"identity,tt,x\n1,2,3\n")
    for statement, table in (
        ("SELECT fastcsv_copy('loaded', '%s', match => 'name')" % path, "loaded"),
        ("SELECT * FROM f", "f"),
        ("SELECT count(*) FROM f", "f"),
    ):
        bench.table(path, match="name")
        expect_error(
            bench.conn.exec(statement),
            {
                "sqlstate": "22P04",
                "message": message % (path, table),
                "detail": 'Its names are "identity", "tt", "x".',
                "hint": 'The columns are "id", "t".',
            },
            statement,
        )
    bench.conn.must('CREATE TABLE odd (started date, finished date, "Id" int, "ID" int)')
    load = lambda content, arguments="": bench.load(
        bench.write("odd.csv", content), ", match => 'name'" + arguments, "odd"
    )
    expect_error(
        load(b"starts,finish\n"),
        {"hint": 'Perhaps the file means "started" for "starts", "finished" for "finish".'},
        "near",
    )
    expect_error(
        load(b"started,id\n"),
        {"sqlstate": "42702", "message": 'column name "id" in the header is ambiguous'},
        "ambiguous",
    )
    expect_error(
        load(b"started,STARTED\n")["kind"] and load(b"started,started\n"),
        {"sqlstate": "42701", "message": 'column name "started" appears more than once in the header'},
        "twice",
    )
    expect(load(b"Started,started\n2000-01-01,2001-01-01\n")["rows"], [["1"]], "the exact name goes first")
    expect(bench.value("SELECT started FROM odd"), "2001-01-01", "the exact name goes first")
    expect(load(b"ID,Id\n1,2\n")["rows"], [["1"]], "exact names")
    expect(bench.conn.must('SELECT "Id", "ID" FROM odd')["rows"], [["2", "1"]], "exact names")
    expect_error(load(b'"started' + b"x" * 1_100_000), {"sqlstate": "22P04"}, "no end")
    expect_error(load(b"started" + b"," * 40_000 + b"\n"), {"sqlstate": "54011"}, "too many")
    expect(load(b"started" + b",x" * 3000 + b"\n2000-01-01" + b"," * 3000 + b"\n")["rows"], [["1"]], "many")
    expect_error(load(b"started\n", ", header => false"), {"sqlstate": "22023"}, "no header")
    expect_error(load(b"started\n", ", format => 'text'"), {"sqlstate": "0A000"}, "text")
    expect_error(bench.load("/dev/zero", ", match => 'name'"), {"sqlstate": "0A000"}, "a device")
    expect_error(
        bench.load(path, ", match => 'nome'"),
        {
            "sqlstate": "22023",
            "message": 'invalid value for option "match": "nome"',
            "hint": 'Valid values are "name" and "position".',
        },
        "a value",
    )
    bench.conn.must("DROP TABLE odd")


@test
def targets_of_every_kind_take_columns_by_name(bench):
    content = b"junk,T,id\n" + b"".join(b"j,x,%d\n" % row for row in range(3000))
    path = bench.write("kinds.csv", content)
    bench.conn.must("""CREATE TABLE parted (t text, gone int, id int) PARTITION BY RANGE (id);
        ALTER TABLE parted DROP COLUMN gone;
        CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (1500);
        CREATE TABLE parted2 (x int, id int, t text);
        ALTER TABLE parted2 DROP COLUMN x;
        ALTER TABLE parted ATTACH PARTITION parted2 FOR VALUES FROM (1500) TO (9999);
        CREATE TABLE triggered (id int, t text);
        CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.t := upper(NEW.t); RETURN NEW; END';
        CREATE TRIGGER pass BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION pass();
        CREATE VIEW shown AS SELECT * FROM loaded;
        CREATE OR REPLACE FUNCTION store() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO loaded VALUES (NEW.*); RETURN NEW; END';
        CREATE TRIGGER store INSTEAD OF INSERT ON shown FOR EACH ROW EXECUTE FUNCTION store()""")
    for parallel in ("0", "'1GB'"):
        bench.conn.must("SET fastcsv.min_parallel_size = " + parallel)
        for table in ("parted", "triggered"):
            expect(bench.load(path, ", match => 'name'", table)["rows"], [["3000"]], table)
            expect(
                bench.value("SELECT sum(id)::text || min(lower(t)) FROM %s" % table), "%dx" % sum(range(3000)), table
            )
        bench.conn.must("TRUNCATE loaded")
        expect(
            bench.conn.must("SELECT fastcsv_copy('shown', '%s', match => 'name')" % path)["rows"], [["3000"]], "a view"
        )
        expect(bench.value("SELECT sum(id) FROM loaded"), str(sum(range(3000))), "a view")
    read = "SELECT sum(id), min(t) FROM fastcsv_read('%s', match => 'name') AS r (t text, id int)" % path
    expect(bench.conn.must(read)["rows"], [[str(sum(range(3000))), "x"]], "fastcsv_read")
    bench.conn.must("DROP TABLE parted, triggered; DROP VIEW shown; DROP FUNCTION pass()")
