"""Beginnings, ends, encodings, words for NULL, and what is known already."""
import os

from bench import LIT, expect, test


@test
def small_files_are_no_trouble(bench):
    expect(bench.infer(bench.write("empty.csv", "")), [], "empty")
    expect(bench.error("SELECT fastcsv_import(%s)" % LIT(os.path.join(bench.folder, "empty.csv")))["message"], "the file is empty", "empty")
    expect(bench.infer(bench.write("header.csv", "id,name\n")), [["id", "text"], ["name", "text"]], "a header only")
    expect(bench.load(os.path.join(bench.folder, "header.csv")), 0, "a header only")
    expect(bench.infer(bench.write("one.csv", "1,2")), [["column_1", "smallint"], ["column_2", "smallint"]], "one record")
    expect(bench.load(os.path.join(bench.folder, "one.csv")), 1, "one record")
    expect(bench.infer(bench.write("blank.csv", "\n")), [["column_1", "text"]], "a blank line")
    for content in ("\n\n\n", ",\n", '""\n', "a", '"a\nb"', "\r\n"):
        bench.load(bench.write("tiny.csv", content))
    path = bench.write("open.csv", 'a,"b\n1,2\n')
    expect(bench.infer(path, columns="header_text"), [["a"], ['"b']], "a quote that quotes nothing")
    result = bench.error("SELECT * FROM fastcsv_infer(%s, quote => '\"')" % LIT(path))
    expect(result["message"], "the end of the file's first record was not found", "an open quote at once")
    path = bench.write("later.csv", 'a,b\n1,2\n3,"4\n5,6\n')
    for size in (None, 4):
        bench.parallel(size)
        expect("the record in line 3 does not end" in bench.dialect(path), True, bench.dialect(path))
    bench.parallel(None)


@test
def encodings_are_told_and_used(bench):
    text = "id,name\n1,Müller\n2,Œuvre €\n"
    for encoding, name, lost in (("utf-8", "UTF8", 0), ("utf-8-sig", "UTF8", 0), ("cp1252", "WIN1252", 0)):
        path = bench.write("encoded.csv", text.encode(encoding))
        expect("encoding '%s'" % name in bench.dialect(path), True, bench.dialect(path))
        expect([row[0] for row in bench.infer(path, columns="name")], ["id", "name"], encoding)
        bench.load(path)
        expect(bench.rows("SELECT name FROM t"), [["Müller"], ["Œuvre €"]], encoding)
    path = bench.write("latin1.csv", "id,größe\n1,Müller\n".encode("latin-1"))
    expect("encoding 'LATIN1'" in bench.dialect(path), True, bench.dialect(path))
    expect(bench.infer(path, columns="name, header_text, samples")[1], ["groesse", "größe", "{Müller}"], "names")
    bench.load(path)
    expect(bench.rows("SELECT groesse FROM t"), [["Müller"]], "values")
    path = bench.write("late.csv", b"id,name\n" + b"1,plain\n" * 50_000 + "2,Müller\n".encode("latin-1"))
    for size in (None, 100_000):
        bench.parallel(size)
        expect("encoding 'LATIN1'" in bench.dialect(path), True, "one byte far behind")
    bench.parallel(None)
    expect("line 50002 is not UTF-8" in bench.dialect(path, ", encoding => 'UTF8'"), True, "a given encoding stands")
    expect(bench.load(path), 50_001, "rows")
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        path = bench.write("wide.csv", "id;name\n1;Müller\n2;x\n".encode(encoding))
        expect("encoding 'UTF16'" in bench.dialect(path), True, bench.dialect(path))
        expect(bench.types(path), {"id": "smallint", "name": "text"}, encoding)
        expect(bench.rows("SELECT fields FROM fastcsv_preview(%s)" % LIT(path)), [["{id,name}"], ["{1,Müller}"], ["{2,x}"]], encoding)
        expect(bench.load(path), 2, encoding)
        expect(bench.rows("SELECT name FROM t"), [["Müller"], ["x"]], encoding)


@test
def a_word_for_null_is_found_wherever_it_stands(bench):
    path = bench.write("na.csv", "a,b\n1,x\nNA,NA\n3,z\n")
    expect(bench.infer(path, columns="type, null_count"), [["smallint", "1"], ["text", "1"]], "early")
    bench.load(path)
    expect(bench.rows("SELECT * FROM t"), [["1", "x"], [None, None], ["3", "z"]], "early")
    path = bench.write("na.csv", "a,b\n" + "1,x\n" * 100_000 + "NULL,y\n")
    for size in (None, 50_000):
        bench.parallel(size)
        expect(bench.infer(path, columns="type, null_count"), [["smallint", "1"], ["text", "0"]], "late")
        expect("null 'NULL'" in bench.dialect(path), True, bench.dialect(path))
    bench.parallel(None)
    expect(bench.load(path), 100_001, "rows")
    expect(bench.infer(path, ", null_string => ''", "type, reason")[0], ["text", 'line 100002: "NULL" is not smallint'], "given")


@test
def quoted_nulls_are_nulls_of_numbers_and_texts_of_texts(bench):
    bench.load(bench.write("quoted.csv", '"a","b"\n"1","x"\n"",""\n'))
    expect(bench.rows("SELECT a, b, b IS NULL FROM t"), [["1", "x", "f"], [None, "", "f"]], "values")


@test
def what_is_given_is_not_found_out(bench):
    path = bench.write("given.csv", "a;b\n1;x\n")
    expect(bench.types(path, ", delimiter => ',', header => false"), {"column_1": "text"}, "delimiter")
    for argument, state in (("delimiter => ';;'", "0A000"), ("quote => ''", "0A000"), ("encoding => 'klingon'", "22023"),
                            ("encoding => 'SJIS'", "0A000"), ("sample_rows => 0", "22023")):
        expect(bench.error("SELECT * FROM fastcsv_infer(%s, %s)" % (LIT(path), argument))["sqlstate"], state, argument)
    expect(bench.infer(path, ", sample_rows => 1", "value_count")[0], ["1"], "sample_rows")
    result = bench.error("SELECT * FROM fastcsv_infer('/nonexistent')")
    expect(result["message"], 'could not open file "/nonexistent" for reading: No such file or directory', "COPY's words")
    expect(bench.error("SELECT * FROM fastcsv_infer('/tmp')")["sqlstate"], "42809", "a folder")
    expect(bench.error("SELECT * FROM fastcsv_infer(NULL)")["sqlstate"], "22004", "NULL")
    fifo = os.path.join(bench.folder, "fifo")
    os.mkfifo(fifo)
    expect(bench.error("SELECT * FROM fastcsv_infer(%s)" % LIT(fifo))["sqlstate"], "0A000", "a FIFO")
