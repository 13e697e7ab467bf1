"""Several files with one schema, and compressed ones."""
import bz2
import gzip
import lzma
import os

from bench import KNOWN, LIT, expect, test

COLUMNS = "position, name, header_text, type, nullable, value_count, null_count, samples, reason"


def halves(text):
    """A text in two files with the header of the whole."""
    header, *lines = text.splitlines(True)
    half = len(lines) // 2
    return header + "".join(lines[:half]), header + "".join(lines[half:])


@test
def files_hold_together_what_one_file_of_all_records_holds(bench):
    for name in ("trips.csv", "events.csv", "zips.csv", "europe.csv", "american.csv", "flights.csv", "tabs.tsv"):
        text = KNOWN[name][0]
        whole = bench.write("whole/" + name, text)
        first, second = halves(text)
        bench.write("parts/a.csv", first)
        bench.write("parts/b.csv", "")
        pattern = os.path.dirname(bench.write("parts/c.csv", second)) + "/*.csv"
        columns = COLUMNS.replace(", reason", "")
        for size in (None, 10):
            bench.parallel(size)
            expect(bench.infer(pattern, columns=columns), bench.infer(whole, columns=columns), "%s, %s" % (name, size))
            expect(bench.dialect(pattern).replace("; 3 files", ""), bench.dialect(whole), name)
    bench.parallel(None)


@test
def reasons_and_notes_name_the_file_and_its_own_line(bench):
    one = bench.write("n/1.csv", "a,b,c\n1,1,x\n2,2,y\n")
    two = bench.write("n/2.csv", 'a,b,c\n1,"3\n",x\n70000,4.5,\n7,1,2,3\n')
    for size in (None, 3):
        bench.parallel(size)
        reasons = [row[0] for row in bench.infer("%s, %s" % (one, two), columns="reason")]
        expect(reasons, ['line 4 of "%s": "70000" is not smallint' % two, 'line 4 of "%s": "4.5" is not bigint' % two,
                         'line 2 of "%s": "x" is text' % one], size)
        expect(bench.dialect("%s,%s" % (one, two)), "delimiter ',', header true, encoding 'UTF8'; lines end in LF; 2 files; "
               'the first in line 5 of "%s" has 4'.replace("the first", "1 records do not have 3 fields, the first") % two, size)
    bench.parallel(None)
    open_ends = bench.write("n/3.csv", 'a,b\n1,2\n3,"4\n5,6\n')
    more = bench.write("n/4.csv", "a,b\n1,70000\n")
    expect('the record in line 3 of "%s" does not end' % open_ends in bench.dialect("%s,%s" % (open_ends, more)), True, "a quote")
    expect(bench.infer("%s,%s" % (open_ends, more), columns="reason")[1], ['line 2 of "%s": "70000" is not smallint' % more], "behind it")


@test
def several_files_are_imported_into_one_table(bench):
    bench.conn.must("SET datestyle = 'ISO, MDY'")
    first, second = halves(KNOWN["europe.csv"][0])
    bench.write("sales/umsatz-2023.csv", first)
    bench.write("sales/umsatz-2024.csv.gz", gzip.compress(second.replace("\n", "\r\n").encode()))
    folder = os.path.join(bench.folder, "sales")
    expect(bench.value("SELECT fastcsv_import(%s)" % LIT(folder + "/umsatz-20*.csv*")), "2", "rows")
    expect(bench.rows("SELECT datum, groesse_cm, betrag FROM umsatz_20"), [["2024-01-31", "1.5", "1234.50"], ["2024-02-01", "2.25", "-0.10"]], "values")
    for name, table in (("*.csv*", "sales"), ("%s/umsatz-2023.csv,%s/umsatz-2024.csv.gz" % (folder, folder), "umsatz_2023"), ("umsatz-202[34].csv*", "umsatz_202")):
        bench.conn.must("SELECT fastcsv_import(%s)" % LIT(name if "/" in name else folder + "/" + name))
        expect(bench.value("SELECT count(*) FROM s.%s" % table), "2", "the table's name for " + name)


@test
def a_word_for_null_or_a_header_that_only_the_last_file_shows_counts_for_all(bench):
    pattern = os.path.dirname(bench.write("w/1.csv", "a,b\n1,x\n2,y\n")) + "/*.csv"
    bench.write("w/2.csv", "a,b\n3,z\n" + "4,z\n" * 100_000 + "NULL,z\n")
    expect(bench.infer(pattern, columns="type, null_count"), [["smallint", "1"], ["text", "0"]], "a word")
    expect("null 'NULL'" in bench.dialect(pattern), True, bench.dialect(pattern))
    expect(bench.load(pattern), 100_004, "rows")
    bench.write("w/1.csv", "city,city\nRome,Oslo\n")
    bench.write("w/2.csv", "city,city\nBonn,Rome\n")
    expect("assumed" in bench.dialect(pattern.replace("*", "1")), True, "one file does not tell")
    expect(bench.infer(pattern, columns="name, value_count"), [["city", "2"], ["city_2", "2"]], "a header that comes again")
    expect("assumed" in bench.dialect(pattern), False, bench.dialect(pattern))


@test
def files_that_do_not_go_together_are_named(bench):
    def refused(first, second, argument=""):
        paths = bench.write("x/1.csv", first), bench.write("x/2.csv", second)
        result = bench.error("SELECT * FROM fastcsv_infer(%s%s)" % (LIT(",".join(paths)), argument))
        expect([path in result["message"] for path in paths], [True, True], repr(result))
        return result["sqlstate"], result.get("detail")

    expect(refused("a,b\n1,2\n", "a,c\n1,2\n"), ("22P04", 'Column 2 is "b" in the first and "c" in the second.'), "another name")
    expect(refused("a,b\n1,2\n", "a,b,c\n1,2,3\n"), ("22P04", "The first has 2 columns, the second 3."), "one more")
    expect(refused("a,b\n1,2\n", "3,4\n")[0], "22P04", "a file without a header")
    expect(refused("1,2\n3,4\n", "a,b\n5,6\n")[0], "22P04", "a file with one")
    expect(refused("a,b\n1,\u00e9\n", "a,b\n1,\u00e9\n".encode("latin-1")),
           ("22P04", "The first is in UTF-8, the second in Latin-1 or Windows-1252."), "encodings")
    expect(refused("a,b\n1,\u00e9\n", "a,b\n1,\u00e9\n".encode("utf-16")), ("22P04", "The first is in UTF-8, the second in UTF-16."), "UTF-16")
    bench.write("x/1.csv", "a,b\n1,e\n")
    bench.write("x/2.csv", "A , B\n1,\u00e9\n".encode("latin-1"))
    pattern = os.path.join(bench.folder, "x", "*.csv")
    expect("encoding 'LATIN1'" in bench.dialect(pattern), True, "ASCII goes with any encoding, and a name with its other spellings")
    expect(bench.load(pattern), 2, "rows")
    expect(bench.rows("SELECT b FROM t"), [["e"], ["\u00e9"]], "values")
    expect(bench.error("SELECT * FROM fastcsv_infer(%s)" % LIT(pattern + "x"))["sqlstate"], "58P01", "no match")
    expect(bench.error("SELECT * FROM fastcsv_infer(%s)" % LIT(pattern.replace("*", "1") + ",/nonexistent"))["message"],
           'could not open file "/nonexistent" for reading: No such file or directory', "one is not there")
    bench.write("x/1.csv", "")
    bench.write("x/2.csv", "")
    expect(bench.infer(pattern), [], "all are empty")
    expect(bench.error("SELECT fastcsv_import(%s)" % LIT(pattern))["message"], "the file is empty", "all are empty")


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@test
def a_compressed_file_holds_what_the_plain_one_holds(bench):
    for name, (content, _) in KNOWN.items():
        plain = bench.write("plain/" + name, content)
        wanted = bench.infer(plain, columns=COLUMNS + ", dialect")
        preview = bench.rows("SELECT * FROM fastcsv_preview(%s)" % LIT(plain))
        for ending, compress in PACKED.items():
            path = bench.write("packed/%s.%s" % (name, ending), compress(content.encode()))
            for size in (None, 1, 50):
                bench.parallel(size)
                expect(bench.infer(path, columns=COLUMNS + ", dialect"), wanted, "%s.%s in pieces of %s" % (name, ending, size))
                if size:
                    expect(bench.value("SELECT path FROM fastcsv_last_run()"), "parallel", name)
            expect(bench.infer(path, ", sample_rows => 1", "max(value_count + null_count)"), [["1"]], "sample_rows")
            expect(bench.rows("SELECT * FROM fastcsv_preview(%s)" % LIT(path)), preview, name)
    bench.parallel(None)
    large = "id,text\n" + "".join("%d,text %d\n" % (number, number * number) for number in range(200_000))
    path = bench.write("large.csv.gz", gzip.compress(large.encode(), 1))
    expect(bench.types(path), {"id": "integer", "text": "text"}, "large")
    expect(bench.rows("SELECT path, rows, bytes FROM fastcsv_last_run()"), [["parallel", "200000", str(len(large))]], "large")
    expect(bench.load(path), 200_000, "large")
    expect(bench.rows("SELECT min(id), max(id), sum(length(text)) FROM t"),
           [["0", "199999", str(sum(len("text %d" % (number * number)) for number in range(200_000)))]], "values")
    rows = bench.rows("SELECT max(record), max(line) FROM fastcsv_preview(%s, 150000)" % LIT(path))
    expect(rows, [["150000", "150001"]], "a long preview")
    bench.write("cut.csv.gz", gzip.compress(large.encode(), 1)[:-2000])
    for call in ("SELECT * FROM fastcsv_infer(%s)", "SELECT fastcsv_import(%s)"):
        result = bench.error(call % LIT(os.path.join(bench.folder, "cut.csv.gz")))
        expect((result["message"].startswith("could not decompress file"), result["detail"]),
               (True, "The compressed data ends too early."), call)
    bench.conn.must("SET statement_timeout = 5")
    expect(bench.error("SELECT * FROM fastcsv_infer(%s)" % LIT(path))["sqlstate"], "57014", "a timeout")
    bench.conn.must("RESET statement_timeout")


@test
def a_preview_goes_from_file_to_file(bench):
    one, two = bench.write("p/1.csv", "a,b\n1,x\n2,y\n"), bench.write("p/2.csv.gz", gzip.compress(b"a,b\n3,z\n"))
    preview = "SELECT * FROM fastcsv_preview(%s, %d)"
    expect(bench.rows(preview % (LIT(one + "," + two), 3)),
           [["0", "1", "{a,b}"], ["1", "2", "{1,x}"], ["2", "3", "{2,y}"], ["0", "1", "{a,b}"], ["1", "2", "{3,z}"]], "three")
    expect(len(bench.rows(preview % (LIT(one + "," + two), 2))), 3, "two")


@test
def a_folder_becomes_one_foreign_table(bench):
    first, second = halves(KNOWN["trips.csv"][0])
    bench.write("one [x]/b.csv", second)
    bench.write("one [x]/a.csv.gz", gzip.compress(first.encode()))
    bench.write("one [x]/c.TSV.bz2", bz2.compress(b"\n".join(second.encode().splitlines()[:1]) + b"\n"))
    for other in ("notes.md", ".hidden.csv", "d.json.gz"):
        bench.write("one [x]/" + other, "something, else\n")
    folder = os.path.join(bench.folder, "one [x]")
    statement = "IMPORT FOREIGN SCHEMA x %s FROM SERVER fastcsv INTO s OPTIONS (path %s, one_table 'all_trips')"
    for path in (folder, folder + "/", os.path.join(bench.folder, "one ?x?/[abc].*")):
        bench.conn.must(statement % ("", LIT(path)))
        expect(bench.rows("SELECT trip_id, vendor FROM all_trips ORDER BY 1"), [["1", "CMT"], ["2", "VTS"], ["40000", None]], path)
        bench.conn.must("DROP FOREIGN TABLE all_trips")
    bench.conn.must(statement % ("LIMIT TO (other)", LIT(folder)))
    bench.conn.must(statement % ("EXCEPT (all_trips)", LIT(folder)))
    expect(bench.value("SELECT count(*) FROM pg_foreign_table"), "0", "left out")
    bench.conn.must(statement.replace(", one_table 'all_trips'", "") % ("", LIT(folder)))
    expect(bench.rows("SELECT relname FROM pg_class WHERE relkind = 'f' ORDER BY 1"), [["a"], ["b"], ["c"]], "one for each")
    expect(bench.rows("SELECT trip_id FROM s.a"), [["1"]], "a compressed one")
    expect(bench.error(statement % ("", LIT(folder + "/none*")))["sqlstate"], "58P01", "no match")
    bench.write("comma,1/a.csv", "a,b\n1,2\n")
    expect(bench.error(statement % ("", LIT(os.path.join(bench.folder, "comma,1"))))["sqlstate"], "0A000", "a comma")
