"""Files of hostile shapes, and every cut of a file: rows 40 to 43. COPY on the same server says what is right."""
import os

from harness import LOAD, SCAN, SOON, row


def compare(t, path, columns, options="", settings=()):
    """What COPY, and the operation, make of a file: the error, or the rows as text in order."""
    names = ["c%d" % number for number in range(columns)]
    t.session.must("DROP TABLE IF EXISTS theirs, ours; DROP FOREIGN TABLE IF EXISTS ours_f")
    declared = ", ".join(name + " text" for name in names)
    t.session.must("CREATE TABLE theirs (%s)" % declared)
    theirs = outcome(t, "COPY theirs FROM '%s' (FORMAT csv%s)" % (path, options), "theirs")
    for setting in settings:
        t.session.must("SET " + setting)
    if t.operation == LOAD:
        t.session.must("CREATE TABLE ours (LIKE theirs)")
        ours = outcome(t, "SELECT fastcsv_copy('ours', '%s', header => false)" % path, "ours")
    else:
        t.session.must("CREATE FOREIGN TABLE ours_f (%s) SERVER fastcsv OPTIONS (filename '%s')" % (declared, path))
        ours = outcome(t, "CREATE TABLE ours AS SELECT * FROM ours_f", "ours")
    return theirs, ours


def outcome(t, sql, table):
    result = t.session.exec(sql)
    if result["kind"] == "error":
        context = result.get("context", "").split("\n")[0]
        return result["sqlstate"], result["message"], result.get("detail"), context.partition(", ")[2]
    return t.session.must("SELECT count(*), md5(string_agg(s::text, E'\\n')) FROM %s s" % table)["rows"][0]


def expect_same(t, path, columns, **how):
    theirs, ours = compare(t, path, columns, **how)
    assert theirs == ours, "%s: COPY: %s, fastcsv: %s" % (os.path.basename(path), theirs, ours)
    return theirs


def clean(t):
    t.session.must("DROP TABLE IF EXISTS theirs, ours; DROP FOREIGN TABLE IF EXISTS ours_f")
    for name in os.listdir(t.folder):
        if name.startswith("shape"):
            os.remove(os.path.join(t.folder, name))


def write(t, name, *parts):
    path = os.path.join(t.folder, "shape-" + name + ".csv")
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)
    os.chmod(path, 0o644)
    return path


@row("40", "fields and records of many megabytes, and quotes that never close", quick=(LOAD,))
def long_fields(t):
    t.errors_allowed = 100
    mega = 1 << 20
    sizes = [3, 200, 1000, 1025, 2049] if t.is_full else [3, 12]
    for size in sizes:
        lines = b"1,2\n" * 1000
        path = write(t, "long", lines, b"x,", *[b"y" * mega] * size, b"\n", lines)
        expect_same(t, path, 2)
        path = write(t, "quoted", lines, b'x,"', *[b"y\n" * (mega // 2)] * size, b'"\n', lines)
        expect_same(t, path, 2)
        path = write(t, "open", lines, b'x,"', *[b"y,z\n" * (mega // 4)] * size)
        assert expect_same(t, path, 2)[0] in ("22P04", "54000")
    clean(t)


@row("41", "very many columns, and very many delimiters", quick=(SCAN,))
def many_columns(t):
    t.errors_allowed = 100
    columns = ", ".join("c%d int" % number for number in range(1601))
    t.expect_error(t.session.exec("CREATE FOREIGN TABLE many (%s) SERVER fastcsv OPTIONS (filename 'x')" % columns), "54011")
    wide = b",".join(b"%d" % number for number in range(1600)) + b"\n"
    expect_same(t, write(t, "wide", wide * (200 if t.is_full else 40)), 1600)
    for parts in ([b"," * 1_000_000], [b"," * 1_000_000 + b"\n"], [b"a,b\n" * 10_000, b"," * 1_000_000, b"\n"],
                  [b"a,b\n" * 10_000, b",\n" * 100_000], [b",\n" * 10_000, b'"' * 1_000_001, b"\n"]):
        t.session.must("SET statement_timeout = '%ds'" % (5 * SOON))
        expect_same(t, write(t, "delimiters", *parts), 2)
    t.session.must("SET statement_timeout = 0")
    clean(t)


FIXTURES = {
    "plain": b"1,one\n2,two\n3,three\n" * 8,
    "quoted": b'1,"a,b"\n2,"c\nd"\n"3","e""f"\n4,\n5,""\n' * 6,
    "crlf": b'1,"a,b"\r\n2,"c\r\nd"\r\n3,e\r\n' * 6,
    "cr": b'1,"a,b"\r2,"c\rd"\r3,e\r' * 6,
    "no-end": b'1,a\n2,"b\n"\n3,c',
    "inside": b'1,"' + b"x\n,\n" * 60 + b'"\n2,b\n',
    "toggles": b'1,a"b,c"d""e"\n2,"""",\n'.replace(b'""",\n', b'"""\n') * 9,
    "empty-lines": b"\n1,a\n\n2,b\n",
    "bad-value": b"1,a\n2,b\n" * 12 + b"3\n" + b"4,d\n" * 12,
    "extra": b"1,a\n" * 20 + b"2,b,c\n" + b"3,d\n" * 20,
    "marker": b"1,a\n" * 20 + b"\\.\n" + b"3,d\n" * 20,
    "stray": b"1,a\r\n" * 20 + b"2,b\n" + b"3,d\r\n" * 20,
    "nul": b"1,a\n" * 20 + b"2,\0\n" + b"3,d\n" * 20,
    "bad-byte": b"1,a\n" * 20 + b"2,\xff\n" + b"3,d\n" * 20,
    "wide-characters": "1,ä€😀\n2,\"😀\n€\"\n".encode() * 10,
}


@row("42", "every small size of range", quick=(SCAN,))
def small_ranges(t):
    t.errors_allowed = 10_000
    sizes = list(range(1, 65)) if t.is_full else [1, 3, 8, 29]
    for name, data in FIXTURES.items():
        path = write(t, name, data)
        for size in sizes:
            for threads in (1, 2, 5) if t.is_full else (3,):
                settings = ["fastcsv.range_size = '%dB'" % size, "fastcsv.threads = %d" % threads]
                expect_same(t, path, 2, settings=settings)
    clean(t)


@row("43", "line ends, byte order marks, last lines and quotes, in all combinations", quick=(LOAD,))
def combinations(t):
    t.errors_allowed = 10_000
    t.session.must("SET fastcsv.range_size = '16B'")
    quotings = [(b"a", b"b"), (b'"a"', b'"b c"'), (b'"a', b'b"'), (b'"a""b"', b"''"), (b'""', b'"\n"'), (b'"\r\n"', b'x"y"z')]
    for line_end in (b"\n", b"\r\n", b"\r"):
        for other_end in (b"\n", b"\r\n", b"\r") if t.is_full else (line_end,):
            for mark in (b"", b"\xef\xbb\xbf"):
                for last in (line_end, b"", b"\r", b"\n\n"):
                    for first, second in quotings:
                        record = first + b"," + second
                        data = mark + (record + line_end) * 3 + record + other_end + (record + line_end) * 2 + record + last
                        expect_same(t, write(t, "mix", data), 2)
    clean(t)
