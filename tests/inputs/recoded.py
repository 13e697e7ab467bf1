"""Byte order marks and UTF-16: what becomes of them, and when they are left as COPY leaves them."""

import codecs
import os
import random

from bench import ALL, PACKERS, WAYS, expect, expect_error, numbered, test
import fifos

BOM = codecs.BOM_UTF8


@test
def a_mark_is_left_out_where_that_is_asked_for_or_the_statement_is_ours(bench):
    content = b"1,one\n" + numbered(300, 2)
    for pack in (lambda content: content, PACKERS["gz"]):
        path = bench.write("marked.csv", pack(BOM + content))
        plain = bench.write("plain.csv", content)
        bench.table(plain)
        wanted = bench.conn.must(ALL)
        for parallel in ("0", "'1GB'"):
            bench.conn.must("SET fastcsv.min_parallel_size = " + parallel)
            for size, threads in WAYS[:3]:
                bench.way(size, threads)
                bench.table(path, bom="drop")
                expect(bench.conn.must(ALL), wanted, "a table that drops it")
                for arguments in ("", ", bom => 'drop', header => false"):
                    expect(bench.load(path, arguments)["rows"], [["301"]], arguments)
                    expect(bench.loaded(), wanted["rows"], arguments)
            for arguments in (", header => false", ", bom => 'keep'", ", bom => 'keep', header => false"):
                result = bench.load(path, arguments)
                expect(result.get("message"), 'invalid input syntax for type integer: "\ufeff1"', arguments)
            bench.table(path)
            expect(bench.conn.exec(ALL).get("sqlstate"), "22P02", "a table keeps it")
        bench.any_way()
    bench.conn.must("SET fastcsv.min_parallel_size = 0")
    named = bench.write("named.csv", BOM + b"T,id\nx,1\n")
    bench.table(named, match="name")
    expect(bench.conn.must("SELECT * FROM f")["rows"], [["1", "x"]], "columns by name")
    bench.write("m1.csv", BOM + b"1,x\n")
    bench.write("m2.csv", b"2,y\n")
    bench.write("m3.csv", BOM + b"id,t\n3,z\n")
    bench.write("m4.csv", BOM)
    expect(bench.load(bench.path("m?.csv"))["rows"], [["3"]], "each file has its own, or none")
    expect(
        bench.load(bench.write("order.csv", BOM + b"t,id\nx,1\n")).get("message"),
        'column name mismatch in header line field 1: got "t", expected "id"',
        "a mark is no part of a name",
    )
    read = "SELECT * FROM fastcsv_read('%s'%s) AS r (id text, t text)"
    expect(bench.conn.must(read % (bench.path("m1.csv"), ""))["rows"], [["1", "x"]], "fastcsv_read")
    expect(
        bench.conn.must(read % (bench.path("m1.csv"), ", bom => 'keep'"))["rows"], [["\ufeff1", "x"]], "fastcsv_read"
    )
    expect_error(
        bench.load(path, ", bom => 'x'"),
        {"sqlstate": "22023", "hint": 'Valid values are "drop" and "keep".'},
        "a value",
    )


@test
def places_behind_a_mark_are_those_in_the_file(bench):
    for pack in (lambda content: content, PACKERS["xz"]):
        for fault, place in (
            (0, ", line 1, record 1, byte 0"),
            (1, ", line 2, record 2, byte "),
            (200, ", line 201, record 201, byte "),
        ):
            rows = [b"%d,x\n" % row for row in range(300)]
            rows[fault] = b"bad,x\n"
            path = bench.write("bad.csv", pack(BOM + b"".join(rows)))
            wanted = place if fault == 0 else "%s%d" % (place, 3 + len(b"".join(rows[:fault])))
            for size, threads in WAYS:
                bench.way(size, threads)
                bench.table(path, bom="drop")
                result = bench.conn.exec("SELECT * FROM f")
                expect(
                    (result["message"], result["context"].endswith(wanted)),
                    ('invalid input syntax for type integer: "bad"', True),
                    "%s: %s" % (wanted, result["context"]),
                )
    bench.any_way()


@test
def a_mark_in_a_fifo_is_left_out_too(bench):
    for content, count in ((BOM + b"1,x\n" + numbered(2000), "2001"), (b"1,x\n", "1"), (BOM, "0"), (b"1,", "1")):
        path = bench.path("marked.fifo")
        fifo = fifos.Fifo(path, content)
        try:
            expect(bench.load(path, ", header => false, bom => 'drop'")["rows"], [[count]], repr(content[:10]))
        finally:
            fifo.end()


@test
def utf16_is_read_as_the_same_text_in_utf8(bench):
    rng = random.Random(20260401)
    texts = ["x", "caf\u00e9", '"a,b"', '"two\nlines"', "\u20ac", "\U0001f600\U0001f600", '"say ""it"""', "", "\ufeff"]
    rows = ["%d,%s\n" % (number, rng.choice(texts)) for number in range(1500)]
    content = "id,t\n" + "".join(rows)
    bench.table(bench.write("plain.csv", content.encode()), header="true")
    wanted = bench.conn.must(ALL)
    for codec, mark, name in (
        ("utf-16-le", codecs.BOM_UTF16_LE, "UTF16"),
        ("utf-16-be", codecs.BOM_UTF16_BE, "utf-16"),
        ("utf-16-le", b"", "UTF-16LE"),
        ("utf-16-be", b"", "utf16be"),
        ("utf-16-be", b"", "UTF16"),
    ):
        encoded = mark + content.encode(codec)
        for ending, pack in [("csv", lambda content: content), ("bz2", PACKERS["bz2"])]:
            path = bench.write("recoded." + ending, pack(encoded))
            for size, threads in WAYS[1:3] if ending == "csv" else WAYS[:1]:
                bench.way(size, threads)
                bench.table(path, header="true", encoding=name)
                expect(bench.conn.must(ALL), wanted, name)
                expect(
                    bench.value("SELECT count(*) FROM f WHERE t = 'caf\u00e9'"),
                    str(sum(row.endswith(",caf\u00e9\n") for row in rows)),
                    name,
                )
                expect(bench.load(path, ", encoding => '%s'" % name)["rows"], [["1500"]], name)
                expect(bench.loaded(), wanted["rows"], name)
                if mark:
                    bench.table(path, match="name")
                    expect(bench.conn.must(ALL), wanted, "by its mark")
                    expect(bench.load(path)["rows"], [["1500"]], "by its mark")
    bench.any_way()
    expect(bench.run()["path"], "parallel", "the run")
    bench.serially()
    expect(bench.load(path, ", encoding => 'UTF16BE'")["rows"], [["1500"]], "serially")
    expect(bench.loaded(), wanted["rows"], "serially")
    bench.conn.must("SET client_encoding = 'LATIN1'")
    bench.table(bench.write("marked.csv", ("\ufeff" + content).encode("utf-16-le")), match="name")
    expect(bench.value("SELECT count(*) FROM f"), "1500", "whatever the client speaks")
    bench.conn.must("RESET client_encoding")


@test
def what_is_wrong_in_utf16_is_copys_error(bench):
    path = bench.write(
        "bad.csv", "1,x\n2,y\n".encode("utf-16-le") + b"3\0,\0\x00\xd8\n\0" + "4,z\n".encode("utf-16-le")
    )
    for parallel in ("0", "'1GB'"):
        bench.conn.must("SET fastcsv.min_parallel_size = " + parallel)
        bench.table(path, encoding="UTF16LE")
        expect_error(
            bench.conn.exec(ALL),
            {"sqlstate": "22021", "message": 'invalid byte sequence for encoding "UTF8": 0xed 0xa0 0x80'},
            "half a pair",
        )
    expect(
        bench.conn.exec("SELECT * FROM f")["context"].split('"')[-1],
        ", line 3, record 3, byte 8",
        "its place in the text",
    )
    expect(
        bench.load(bench.write("odd.csv", b"1\0,\0x\0\n"), ", encoding => 'UTF16', header => false").get("sqlstate"),
        "22021",
        "half a unit",
    )
    bench.table(bench.write("keeps.csv", "\ufeff1,x\n".encode("utf-16-le")))
    expect(bench.conn.exec(ALL).get("sqlstate"), "22021", "a table that nobody has told does what COPY does")
    expect(bench.load(bench.path("keeps.csv"), ", header => false").get("sqlstate"), "22021", "a load")
    expect(
        bench.load(bench.path("keeps.csv"), ", header => false, encoding => 'UTF17'").get("sqlstate"),
        "22023",
        "COPY complains",
    )
    result = bench.conn.exec("CREATE FOREIGN TABLE g (id int) SERVER fastcsv OPTIONS (filename '/x', encoding 'UTF17')")
    expect(result.get("sqlstate"), "22023", "the validator")
