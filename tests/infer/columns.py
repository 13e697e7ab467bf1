"""Columns of known types, and tables made of them."""
import csv
import io
import random

from bench import KNOWN, LIT, as_value, expect, imported, test


@test
def known_files_have_the_known_types(bench):
    for name, (content, types) in KNOWN.items():
        expect(bench.types(bench.write(name, content)), types, name)


@test
def the_answer_is_the_same_however_the_file_is_cut(bench):
    columns = "position, name, header_text, type, nullable, value_count, null_count, samples, reason, dialect"
    for name, (content, _) in KNOWN.items():
        path = bench.write(name, content)
        bench.parallel(None)
        wanted = bench.infer(path, columns=columns)
        for size in (1, 2, 7, 30, 100, 1000):
            bench.parallel(size, threads=1 + size % 3)
            expect(bench.infer(path, columns=columns), wanted, "%s in pieces of %d" % (name, size))
            expect(bench.value("SELECT path FROM fastcsv_last_run()"), "parallel", name)
    bench.parallel(None)


@test
def the_reason_names_the_first_line_and_its_value(bench):
    path = bench.write("reasons.csv", 'a,b,c,d\n1,1,"x\ny",01.02.2024\n2,2,z,02.02.2024\n40000,n/a,,13.02.2024\n5,3,,1.1.2024\n')
    for size in (None, 9):
        bench.parallel(size)
        reasons = [row[0] for row in bench.infer(path, ", null_string => ''", "reason")]
        expect(reasons, ['line 5: "40000" is not smallint', 'line 5: "n/a" is not smallint', 'line 2: "x\ny" is text',
                         'line 5: "13.02.2024" has the day first'], "reasons")
        counts = bench.infer(path, ", null_string => ''", "value_count, null_count, nullable")
        expect(counts[2], ["2", "2", "t"], "counts")
    bench.parallel(None)


@test
def an_imported_file_gives_its_values_back(bench):
    bench.conn.must("SET timezone = 'UTC'")
    for name, (content, types) in KNOWN.items():
        if name in ("europe.csv", "american.csv"):
            continue
        delimiter = {"tabs.tsv": "\t", "pipe.txt": "|"}.get(name, ",")
        records = list(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter))
        if name == "tabs.tsv":
            records = [line.split("\t") for line in content.splitlines()]
        records = records if name == "bare.csv" else records[1:]
        null = "NA" if name == "flights.csv" else ""
        for size in (None, 20):
            bench.parallel(size)
            found_types, found = imported(bench, bench.write(name, content))
            expect(found_types, list(types.values()), name)
            wanted = [[as_value(kind, None if value in (null, "") else value) for kind, value in zip(found_types, record)]
                      for record in records]
            back = [[as_value(kind, None if value == "" else value) for kind, value in zip(found_types, record)]
                    for record in found]
            expect(back, wanted, "%s, %s" % (name, size))
    bench.parallel(None)


@test
def dates_and_numbers_in_other_orders_are_read_as_they_are_meant(bench):
    for style in ("ISO, MDY", "ISO, DMY", "ISO, YMD"):
        bench.conn.must("SET datestyle = %s" % LIT(style))
        bench.load(bench.write("europe.csv", KNOWN["europe.csv"][0]))
        expect(bench.rows("SELECT datum, groesse_cm, betrag, menge, strasse FROM t"),
               [["2024-01-31", "1.5", "1234.50", "10", "Weg 1"], ["2024-02-01", "2.25", "-0.10", "11", None]], style)
        bench.load(bench.write("american.csv", KNOWN["american.csv"][0]))
        expect(bench.rows("SELECT * FROM t"), [["2024-01-31", "1234.50", "+15551234567"], ["2024-02-01", "99.00", "+15557654321"]], style)
        both = bench.write("both.csv", "a,b,c\n31/01/2024,1/31/2024,1/2/2024 10:00\n01/02/2024,2/1/2024,13/2/2024 11:00\n")
        bench.load(both)
        expect(bench.rows("SELECT * FROM t"), [["2024-01-31", "2024-01-31", "2024-02-01 10:00:00"],
                                               ["2024-02-01", "2024-02-01", "2024-02-13 11:00:00"]], style)
        expect(bench.value("SHOW datestyle"), style, "the setting is as it was")


@test
def what_cannot_be_told_apart_is_read_as_datestyle_says_and_said(bench):
    path = bench.write("either.csv", "d\n01/02/2024\n03/04/2024\n")
    for style, wanted in (("ISO, DMY", "2024-02-01"), ("ISO, MDY", "2024-01-02"), ("ISO, YMD", "2024-01-02")):
        bench.conn.must("SET datestyle = %s" % LIT(style))
        bench.load(path)
        notices = [notice["message"] for notice in bench.conn.notices]
        expect(any("cannot be told apart" in notice for notice in notices), True, repr(notices))
        expect(bench.value("SELECT min(d) FROM t"), wanted, style)
        expect(bench.infer(path, columns="reason")[0][0], "day and month cannot be told apart; DateStyle decides", style)


@test
def the_create_table_is_told_and_only_the_table_is_there(bench):
    path = bench.write("my-File 1.csv", "a,B c\n1,x\n")
    expect(bench.value("SELECT fastcsv_import(%s)" % LIT(path)), "1", "rows")
    expect(bench.conn.notices[0]["message"], "CREATE TABLE s.my_file_1 (\n    a smallint,\n    b_c text\n)", "the notice")
    expect(bench.value("SELECT to_regclass('s.my_file_1')"), "my_file_1", "the table")
    result = bench.error("SELECT fastcsv_import(%s)" % LIT(path))
    expect((result["sqlstate"], result["message"]), ("42P07", 'relation "my_file_1" already exists'), "again")
    bench.conn.must("SELECT fastcsv_import(%s, 'Other Name', 'public', unlogged => true)" % LIT(path))
    expect(bench.value("SELECT relpersistence FROM pg_class WHERE oid = 'public.\"Other Name\"'::regclass"), "u", "unlogged")
    bench.conn.must('DROP TABLE public."Other Name"')
    bench.conn.must("SELECT fastcsv_import(%s, 'here', temporary => true)" % LIT(path))
    expect(bench.value("SELECT count(*) FROM pg_temp.here"), "1", "temporary")
    expect(bench.error("SELECT fastcsv_import(%s, 'x', 'nowhere')" % LIT(path))["sqlstate"], "3F000", "no such schema")
    bench.conn.must("BEGIN")
    bench.conn.must("SELECT fastcsv_import(%s, 'gone')" % LIT(path))
    bench.conn.must("ROLLBACK")
    expect(bench.value("SELECT to_regclass('s.gone')"), None, "after a rollback")


@test
def a_load_that_fails_leaves_no_table(bench):
    path = bench.write("late.csv", "a,b\n" + "1,2\n" * 50 + "x,2\n")
    result = bench.error("SELECT fastcsv_import(%s, 'late', sample_rows => 10)" % LIT(path))
    expect((result["sqlstate"], "line 52" in result["context"]), ("22P02", True), repr(result))
    expect(bench.value("SELECT to_regclass('s.late')"), None, "the table")
    path = bench.write("ragged.csv", "a,b\n1,2\n1,2,3\n")
    expect("1 records do not have 2 fields, the first in line 3 has 3" in bench.dialect(path), True, bench.dialect(path))
    result = bench.error("SELECT fastcsv_import(%s, 'ragged')" % LIT(path))
    expect((result["sqlstate"], result["message"]), ("22P04", "extra data after last expected column"), "ragged")
    expect(bench.value("SHOW datestyle"), "ISO, MDY", "settings are as they were")


@test
def what_is_inferred_always_loads(bench):
    rng = random.Random(5)
    pool = ["", '""', "NA", "0", "1", "-7", "32768", "2147483648", "9223372036854775808", "007", "+5", "+1.5", "1.5", "12.345", ".5", "1e5",
            "NaN", "inf", '"1,5"', '"1.234,5"', '"1,234.5"', '"1,234"', "2024-01-31", "31/01/2024", "01/31/2024", "02/03/2024", "1/2/24",
            "31-Jan-2024", "2024-01-31 10:20:30", "2024-01-31T10:20:30Z", "31.01.2024 10:00", "10:20", "10:20:30.5", "11:00 PM", "true", "f",
            "t", "no", "yes", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", '"{""a"":1}"', "[1]", "text", '"a\nb"', " 42 ", "20240131", "24:00",
            "0001-01-01", "9999-12-31", "1.23456789012345678901", "12345678901234567", "-0", "00", "1,", "5."]
    pool = [value for value in pool if value != "1,"]
    for round in range(120):
        columns = [rng.sample(pool, rng.randint(1, 4)) for _ in range(rng.randint(1, 5))]
        records = [[rng.choice(values) for values in columns] for _ in range(rng.randint(1, 40))]
        if len(columns) == 1:
            # A file of one column may have any delimiter.
            records = [record + ["x"] for record in records]
        names = ["c%d" % index for index in range(len(records[0]))]
        path = bench.write("random.csv", "\n".join(",".join(record) for record in [names] + records) + "\n")
        bench.parallel(rng.choice([None, 1, 50, 500]))
        bench.conn.must("SET datestyle = 'ISO, %s'" % rng.choice(["DMY", "MDY", "YMD"]))
        expect(bench.load(path, ", delimiter => ',', header => true"), len(records), "round %d, %r" % (round, records))
    bench.parallel(None)
    bench.conn.must("RESET datestyle")
