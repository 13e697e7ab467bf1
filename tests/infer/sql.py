"""Names, previews, foreign tables, privileges, and what goes wrong."""
import csv
import io
import os

from bench import KNOWN, LIT, expect, test


@test
def a_header_cannot_inject_anything(bench):
    bench.conn.must("CREATE TABLE victim (a int)")
    evil = ['a"; DROP TABLE s.victim; --', "a'); DROP TABLE s.victim; --", "$$; DROP TABLE s.victim; $$", "\\", "a\"\"b", "select", "ORDER",
            "ctid", "tableoid", "pg_temp.x", "x" * 100, "x" * 101, "日" * 30, "\u202e", "a\nb", "a\tb", "", " ", "''", "%s", "{}", "b int, c"]
    content = io.StringIO()
    writer = csv.writer(content, quoting=csv.QUOTE_ALL)
    writer.writerow(evil)
    writer.writerow(range(len(evil)))
    path = bench.write("evil.csv", content.getvalue())
    names = [row[0] for row in bench.infer(path, ", header => true", "name")]
    expect(len(set(names)), len(evil), "distinct names: %r" % names)
    expect([name for name in names if not 0 < len(name.encode()) <= 63], [], "lengths")
    expect(bench.load(path, ", header => true"), 1, "rows")
    expect(bench.rows("SELECT * FROM t"), [[str(number) for number in range(len(evil))]], "values")
    expect(bench.rows("SELECT attname FROM pg_attribute WHERE attrelid = 's.t'::regclass AND attnum > 0 ORDER BY attnum"),
           [[name] for name in names], "the names are those that were told")
    for table in ('v"; DROP TABLE s.victim; --', "v'", "日本", "a b", "x" * 80):
        bench.conn.must("SELECT fastcsv_import(%s, %s, header => true)" % (LIT(path), LIT(table)))
    files = bench.write("dir/x\"; DROP TABLE victim; '.csv", "a,b\n1,2\n")
    bench.conn.must("SELECT fastcsv_import(%s)" % LIT(files))
    expect(bench.value("SELECT count(*) FROM x_drop_table_victim"), "1", "a file's name")
    bench.conn.must("IMPORT FOREIGN SCHEMA x FROM SERVER fastcsv INTO public OPTIONS (path %s)" % LIT(os.path.dirname(files)))
    expect(bench.value("SELECT count(*) FROM public.x_drop_table_victim"), "1", "a foreign table")
    bench.conn.must("DROP FOREIGN TABLE public.x_drop_table_victim")
    expect(bench.value("SELECT count(*) FROM victim"), "0", "nothing was dropped")


@test
def names_of_types_do_not_depend_on_the_search_path(bench):
    bench.conn.must("CREATE SCHEMA evil")
    bench.conn.must("CREATE DOMAIN evil.text AS int")
    bench.conn.must("CREATE DOMAIN evil.date AS int")
    bench.conn.must("CREATE FUNCTION evil.replace(text, text, text) RETURNS text LANGUAGE sql AS $$SELECT '0'$$")
    bench.conn.must("SET search_path = evil, pg_catalog, s")
    path = bench.write("europe.csv", KNOWN["europe.csv"][0])
    try:
        bench.conn.must("SELECT public.fastcsv_import(%s, 't', 's')" % LIT(path))
        expect(bench.rows("SELECT datum::pg_catalog.text, betrag FROM s.t LIMIT 1"), [["2024-01-31", "1234.50"]], "values")
    finally:
        bench.conn.must("SET search_path = s, public")
        bench.conn.must("DROP SCHEMA evil CASCADE")


@test
def a_preview_shows_records_with_their_lines(bench):
    path = bench.write("preview.csv", 'a,b\n1,"x\ny"\n2,\n3,""\n4,z,extra\n')
    expect(bench.rows("SELECT * FROM fastcsv_preview(%s)" % LIT(path)),
           [["0", "1", "{a,b}"], ["1", "2", '{1,"x\ny"}'], ["2", "4", "{2,NULL}"], ["3", "5", '{3,""}'], ["4", "6", "{4,z,extra}"]], "all")
    expect(len(bench.rows("SELECT * FROM fastcsv_preview(%s, 2)" % LIT(path))), 3, "two")
    expect(bench.rows("SELECT * FROM fastcsv_preview(%s, 1, header => false)" % LIT(path)), [["1", "1", "{a,b}"]], "no header")
    expect(bench.rows("SELECT * FROM fastcsv_preview(%s)" % LIT(bench.write("empty.csv", ""))), [], "empty")
    expect(bench.error("SELECT * FROM fastcsv_preview(%s, -1)" % LIT(path))["sqlstate"], "22023", "negative")


@test
def a_folder_becomes_foreign_tables(bench):
    for name in ("trips.csv", "europe.csv", "flights.csv", "zips.csv"):
        bench.write("data/" + name, KNOWN[name][0])
    bench.write("data/empty.csv", "")
    bench.write("data/notes.md", "no table")
    folder = os.path.join(bench.folder, "data")
    bench.conn.must("IMPORT FOREIGN SCHEMA \"%s\" FROM SERVER fastcsv INTO s" % folder)
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 's'::regnamespace AND relkind = 'f' ORDER BY 1"
    expect(bench.rows(tables), [["europe"], ["flights"], ["trips"], ["zips"]], "tables")
    expect(bench.rows("SELECT trip_id, started, paid FROM trips WHERE trip_id > 1"),
           [["2", "2024-02-01 00:00:00", "f"], ["40000", "2024-02-01 23:59:59", "t"]], "trips")
    expect(bench.rows("SELECT dep_delay FROM flights"), [["2"], [None], ["-4"]], "a word for NULL")
    expect(bench.rows("SELECT pop FROM zips"), [["16576"], ["99999"], [None]], "quoted NULLs")
    expect(bench.rows("SELECT datum, betrag FROM europe LIMIT 1"), [["31.01.2024", "1.234,50"]], "texts")
    bench.conn.must("DROP FOREIGN TABLE europe, flights, trips, zips")
    bench.conn.must("IMPORT FOREIGN SCHEMA \"%s/*s.csv\" LIMIT TO (trips, nothing) FROM SERVER fastcsv INTO s" % folder)
    expect(bench.rows(tables), [["trips"]], "LIMIT TO")
    bench.conn.must("IMPORT FOREIGN SCHEMA \"%s/*s.csv\" EXCEPT (trips) FROM SERVER fastcsv INTO s" % folder)
    expect(bench.rows(tables), [["flights"], ["trips"], ["zips"]], "EXCEPT")
    result = bench.error("IMPORT FOREIGN SCHEMA \"%s/*.none\" FROM SERVER fastcsv INTO s" % folder)
    expect(result["sqlstate"], "58P01", "no match")
    result = bench.error("IMPORT FOREIGN SCHEMA x FROM SERVER fastcsv INTO s OPTIONS (nothing 'x')")
    expect(result["sqlstate"], "HV00D", "no such option")


@test
def nobody_without_the_privilege_learns_anything(bench):
    path = bench.write("secret.csv", "a,b\n1,2\n")
    bench.conn.must("CREATE ROLE infer_nobody")
    try:
        bench.conn.must("GRANT ALL ON SCHEMA s TO infer_nobody")
        bench.conn.must("GRANT USAGE ON FOREIGN SERVER fastcsv TO infer_nobody")
        bench.conn.must("SET ROLE infer_nobody")
        wanted = bench.error("COPY pg_am FROM '/x'")
        for name in (path, "/nonexistent"):
            for call in ("SELECT * FROM fastcsv_infer(%s)", "SELECT fastcsv_import(%s)", "SELECT * FROM fastcsv_preview(%s)",
                         "SELECT * FROM fastcsv_infer(%s, delimiter => ';;')",
                         "IMPORT FOREIGN SCHEMA x FROM SERVER fastcsv INTO s OPTIONS (path %s)"):
                result = bench.error(call % LIT(name))
                expect([result.get(part) for part in ("sqlstate", "message", "detail", "hint")],
                       [wanted.get(part) for part in ("sqlstate", "message", "detail", "hint")], call)
        bench.conn.must("RESET ROLE")
        bench.conn.must("GRANT pg_read_server_files TO infer_nobody")
        bench.conn.must("REVOKE ALL ON SCHEMA s FROM infer_nobody")
        bench.conn.must("SET ROLE infer_nobody")
        expect(bench.types(path), {"a": "smallint", "b": "smallint"}, "with the privilege")
        expect(bench.error("SELECT fastcsv_import(%s, 't', 's')" % LIT(path))["sqlstate"], "42501", "no right to create")
    finally:
        bench.conn.must("RESET ROLE")
        bench.conn.must("DROP OWNED BY infer_nobody")
        bench.conn.must("DROP ROLE infer_nobody")


@test
def a_survey_can_be_stopped_and_what_goes_wrong_is_an_error(bench):
    path = bench.write("large.csv", b"id,text\n" + b"".join(b"%d,text %d\n" % (number, number) for number in range(300_000)))
    bench.parallel(4096)
    bench.conn.must("SET statement_timeout = 10")
    expect(bench.error("SELECT * FROM fastcsv_infer(%s)" % LIT(path))["sqlstate"], "57014", "a timeout")
    bench.conn.must("RESET statement_timeout")
    wanted = bench.infer(path)
    expect(wanted, [["id", "integer"], ["text", "text"]], "types")
    for fault in ("backend-panic:3", "worker-panic", "worker-exit", "thread-panic:2", "allocation:40", "worker-allocation:60"):
        bench.conn.must("SET fastcsv.fault = %s" % LIT(fault))
        result = bench.conn.exec("SELECT name, type FROM fastcsv_infer(%s)" % LIT(path))
        expect(result["kind"] == "error" or result["rows"] == wanted, True, "%s: %r" % (fault, result))
        bench.conn.must("RESET fastcsv.fault")
        expect(bench.value("SELECT 1"), "1", fault)
    bench.conn.must("SET fastcsv.fault = 'thread-start'")
    expect(bench.infer(path), wanted, "no worker")
    bench.conn.must("RESET fastcsv.fault")
    expect(bench.value("SELECT reason FROM fastcsv_last_run()"), "the worker cannot start a thread", "no worker")
    bench.parallel(None)
