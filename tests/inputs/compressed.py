"""Compressed files: what they hold is what plain files hold, and what is wrong with them is one error."""

import os
import random
import time

from bench import (
    ALL,
    FORMATS,
    PACKERS,
    WAYS,
    expect,
    expect_error,
    expect_no_worker,
    expect_quick,
    numbered,
    test,
    zstd,
    zstd_bomb,
)
import pq


def same_context(found, wanted, packed, plain):
    """Makes contexts comparable: names differ, and where in a line a byte is told only of what can be read again."""
    for result in (found, wanted):
        if "context" in result:
            result["context"] = result["context"].replace(packed, plain).split("; the byte ")[0]


def both(bench, content, query=ALL, columns="id int, t text", **options):
    """The results of a query over a plain file and over the same compressed, in all formats and ways."""
    plain = bench.write("plain.csv", content)
    bench.table(plain, columns, **options)
    wanted = bench.conn.exec(query)
    for number, (ending, pack) in enumerate(PACKERS.items()):
        bench.table(bench.write("packed." + ending, pack(content)), columns, **options)
        for size, threads in (WAYS + WAYS)[number : number + 2]:
            bench.way(size, threads)
            found = bench.conn.exec(query)
            same_context(found, wanted, bench.path("packed." + ending), plain)
            expect(found, wanted, "%s, %r, in pieces of %d" % (ending, query, size))
    bench.any_way()


@test
def scans_counts_and_filters_give_what_they_give_over_plain_files(bench):
    content = b"id,t\n" + numbered(10_000)
    for query in (ALL, "SELECT count(*) FROM f", "SELECT sum(id) FROM f WHERE id < 1000", "SELECT * FROM f LIMIT 7"):
        both(bench, content, query, header="true")
        if query == ALL:
            run = bench.run()
            expect(
                (run["path"], run["reason"], run["bytes"], run["rows"]),
                ("parallel", None, str(len(content)), "10000"),
                "the run",
            )
    both(bench, b'1,"first\nrecord"\n2,x\n3,"open\n', "SELECT * FROM f")
    both(bench, b"1,no line end", "SELECT * FROM f")
    both(bench, b"", "SELECT * FROM f")
    both(bench, b"1\ta\n2\tb\n", "SELECT * FROM f", format="text")


@test
def loads_give_what_they_give_from_plain_files(bench):
    content = b"id,t\n" + numbered(8000)
    bench.load(bench.write("plain.csv", content))
    wanted = bench.loaded()
    for ending, pack in PACKERS.items():
        path = bench.write("packed." + ending, pack(content))
        for size, threads in WAYS[:3]:
            bench.way(size, threads)
            expect(bench.load(path)["rows"], [["8000"]], ending)
            expect(bench.loaded(), wanted, ending)
        run = bench.run()
        expect((run["operation"], run["path"], run["bytes"]), ("load", "parallel", str(len(content))), "the run")
        bench.conn.must("SET fastcsv.min_parallel_size = '1GB'")
        expect(bench.load(path)["rows"], [["8000"]], ending + ", serially")
        expect((bench.loaded(), bench.run()["path"]), (wanted, "serial"), ending + ", serially")
        bench.conn.must("SET fastcsv.min_parallel_size = 0")
    bench.any_way()
    bench.conn.must("""CREATE VIEW shown AS SELECT * FROM loaded;
        CREATE OR REPLACE FUNCTION store() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO loaded VALUES (NEW.*); RETURN NEW; END';
        CREATE TRIGGER store INSTEAD OF INSERT ON shown FOR EACH ROW EXECUTE FUNCTION store()""")
    bench.conn.must("TRUNCATE loaded")
    bench.conn.must("SELECT fastcsv_copy('shown', '%s', header => true)" % bench.path("packed.gz"))
    expect(bench.loaded(), wanted, "a view, which COPY loads")
    bench.conn.must("TRUNCATE loaded")
    text = bench.write("text.gz", PACKERS["gz"](content.replace(b",", b"\t")))
    bench.conn.must(
        "SELECT fastcsv_copy('loaded', '%s', header => true, format => 'text')" % text
        if bench.conn.version >= 160000
        else "SELECT fastcsv_copy('loaded', '%s', header => false, format => 'text')"
        % bench.write("text.gz", PACKERS["gz"](content[5:].replace(b",", b"\t")))
    )
    expect(bench.loaded(), wanted, "text, which COPY reads")


@test
def errors_are_those_of_plain_files_and_count_what_the_file_holds(bench):
    for fault in (b"x,not a number\n", b"7\n", b"7,8,9\n", b"7,\xff\n", b'7,"open\nand on\n', b"7,a\rb\n"):
        for before, after in ((0, 0), (3000, 3000)):
            both(bench, b'1,"first\nrecord"\n' + numbered(before) + fault + numbered(after), "SELECT * FROM f")


@test
def errors_in_loads_are_those_of_plain_files(bench):
    bench.conn.must("ALTER TABLE loaded ADD CHECK (id <> 2500)")
    for fault in (b"x,y\n", b"2500,z\n", b"7\n"):
        content = numbered(2400) + fault + numbered(50)
        plain = bench.write("plain.csv", content)
        wanted = bench.load(plain, ", header => false")
        expect(wanted["kind"], "error", fault)
        for ending, pack in PACKERS.items():
            path = bench.write("packed." + ending, pack(content))
            for size, threads in WAYS[1:3]:
                bench.way(size, threads)
                found = bench.load(path, ", header => false")
                found["context"] = found["context"].replace(path, plain)
                expect(found, wanted, "%s, %r" % (ending, fault))
    bench.any_way()


@test
def random_files_give_what_they_give_as_plain_ones(bench):
    rng = random.Random(20260201)
    pieces = [
        b"1",
        b"-22",
        b"abc",
        b'"',
        b'""',
        b",",
        b",",
        b"\n",
        b"\r\n",
        b"\r",
        b"caf\xc3\xa9",
        b"\xff",
        b"\\.",
        b" ",
    ]
    for round in range(80):
        records = []
        for _ in range(rng.randrange(1, 150)):
            text = rng.choice([b"x", b"", b'"a,b"', b'"two\nlines"', b'"say ""it"""', b"y" * rng.randrange(300)])
            records.append(b"%d,%s\n" % (rng.randrange(1000), text))
        for _ in range(rng.choice([0, 0, 1])):
            records[rng.randrange(len(records))] = (
                b"".join(rng.choice(pieces) for _ in range(rng.randrange(12))) + b"\n"
            )
        content = b"".join(records)
        content = content if rng.random() < 0.7 else content[:-1]
        query = rng.choice(["SELECT * FROM f", "SELECT t FROM f", "SELECT count(*) FROM f"])
        plain = bench.write("random.csv", content)
        bench.table(plain)
        bench.way(rng.choice([1, 7, 64, 500, 5000]), rng.choice([1, 2, 4]))
        wanted = bench.conn.exec(query)
        ending = rng.choice(list(PACKERS))
        path = bench.write("random." + ending, PACKERS[ending](content))
        bench.table(path)
        found = bench.conn.exec(query)
        same_context(found, wanted, path, plain)
        expect(found, wanted, "round %d, %s, %r" % (round, query, content))


@test
def several_members_are_read_as_one(bench):
    for ending, pack in PACKERS.items():
        bench.table(bench.write("members." + ending, pack(numbered(5000)) + pack(b"") + pack(numbered(5000, 5000))))
        expect(bench.value("SELECT sum(id) FROM f"), str(sum(range(10_000))), ending)


@test
def damaged_files_are_one_error_and_load_nothing(bench):
    content = numbered(3000)
    for ending, pack in PACKERS.items():
        packed = pack(content)
        middle = len(packed) // 2
        cases = {"cut": packed[:middle], "almost whole": packed[:-1], "garbage": packed + b"and something else"}
        if ending in ("gz", "bz2"):  # in the others, what is made of a wrong bit may be told first
            at = len(packed) - 6
            cases["flipped"] = packed[:at] + bytes([packed[at] ^ 255]) + packed[at + 1 :]
        for name, damaged in cases.items():
            path = bench.write("%s.%s" % (name, ending), damaged)
            wanted = {"sqlstate": "22P04", "message": 'could not decompress file "%s"' % path}
            if name in ("cut", "almost whole"):
                wanted["detail"] = "The compressed data ends too early."
            for parallel in (True, False):
                bench.conn.must("SET fastcsv.min_parallel_size = %s" % ("0" if parallel else "'1GB'"))
                for size, threads in WAYS[:2]:
                    bench.way(size, threads)
                    bench.table(path)
                    for query in ("SELECT * FROM f", "SELECT count(*) FROM f"):
                        expect_error(bench.conn.exec(query), wanted, "%s, %s" % (name, query))
                    expect_error(bench.load(path, ", header => false"), wanted, name + ", a load")
                    expect(bench.value("SELECT count(*) FROM loaded"), "0", name)
    bench.any_way()
    expect_no_worker(bench)


@test
def a_window_that_is_too_large_is_refused_with_a_hint(bench):
    path = bench.write("window.zst", zstd(numbered(10), window=28))
    bench.table(path)
    expect_error(
        bench.conn.exec(ALL),
        {
            "sqlstate": "22P04",
            "message": 'could not decompress file "%s"' % path,
            "detail": "The file was compressed with a window of more than 128 MB.",
            "hint": "Compress it again with a window of at most 128 MB (for zstd: --long=27).",
        },
        "the window",
    )
    bench.table(bench.write("window.zst", zstd(numbered(10), window=27)))
    expect(bench.value("SELECT count(*) FROM f"), "10", "the largest window")


@test
def the_option_compression_turns_it_off(bench):
    path = bench.write("off.csv", PACKERS["gz"](b"1,a\n"))
    bench.table(path, compression="none")
    expect(bench.conn.exec(ALL)["sqlstate"], "22021", "it is no text")
    expect(bench.load(path, ", header => false, compression => 'none'")["sqlstate"], "22021", "a load")
    expect(bench.load(path, ", header => false, compression => 'auto'")["rows"], [["1"]], "a load")
    bench.table(path, compression="auto")
    expect(bench.value("SELECT count(*) FROM f"), "1", "on")
    text = bench.write("text.csv", b"BZh,1\nBZh9,2\n")
    bench.table(text, "a text, b int")
    expect(bench.value("SELECT sum(b) FROM f"), "3", "a file that only looks a little like one")


@test
def explain_shows_the_compression(bench):
    for ending, pack in PACKERS.items():
        bench.table(bench.write("shown." + ending, pack(numbered(10))))
        plan = [row[0].strip() for row in bench.conn.must("EXPLAIN SELECT * FROM f")["rows"]]
        expect("Compression: " + FORMATS[ending] in plan, True, plan)
    bench.table(bench.path("shown.gz"), compression="none")
    expect("Compression" in str(bench.conn.must("EXPLAIN SELECT * FROM f")), False, "turned off")


@test
def a_record_that_is_too_long_for_the_threads_is_read_all_the_same(bench):
    long = b'7,"' + b"y" * 3_000_000 + b'"\n'
    content = numbered(20_000) + long + numbered(20_000) + b"8," + b"z" * 2_000_000
    bench.table(bench.write("long.csv", content))
    wanted = bench.conn.must(ALL)
    bench.conn.must("SET fastcsv.memory = '1MB'")
    for ending, pack in PACKERS.items():
        bench.table(bench.write("long." + ending, pack(content)))
        expect(bench.conn.must(ALL), wanted, ending)
        run = bench.run()
        expect((run["path"], run["rereads"]), ("parallel", "1"), "the run")
    path = bench.write("long.gz", PACKERS["gz"](content + b"\nx,y\n"))
    bench.table(path)
    result = bench.conn.exec(ALL)
    expect(result["message"], 'invalid input syntax for type integer: "x"', "an error far behind it")
    expect(", record 40003" in result["context"], True, result["context"])
    bench.conn.must("RESET fastcsv.memory")


@test
def where_no_worker_can_begin_the_session_decompresses(bench):
    content = numbered(50_000)
    bench.table(bench.write("plain.csv", content))
    wanted = bench.conn.must(ALL)
    for ending, pack in PACKERS.items():
        bench.table(bench.write("refused." + ending, pack(content)))
        bench.conn.must("SET fastcsv.fault = 'thread-start'")
        expect(bench.conn.must(ALL), wanted, ending)
        expect(bench.run()["reason"], "the worker cannot start a thread", ending)
        bench.conn.must("RESET fastcsv.fault")


@test
def what_goes_wrong_in_a_worker_is_an_error_and_the_session_lives_on(bench):
    content = numbered(30_000)
    for ending, pack in PACKERS.items():
        bench.table(bench.write("faults." + ending, pack(content)))
        for fault in ("backend-panic:3", "worker-exit", "thread-panic:2", "allocation:60", "worker-allocation:60"):
            bench.conn.must("SET fastcsv.fault = '%s'" % fault)
            expect(bench.conn.exec(ALL)["kind"] in ("error", "rows"), True, fault)
            bench.conn.must("RESET fastcsv.fault")
        expect(bench.value("SELECT count(*) FROM f"), "30000", "after all that")
        expect_no_worker(bench)


@test
def a_bomb_can_be_cancelled_and_stays_small(bench):
    # 64 GB of records in 2 MB; a record of 64 GB; and 64 GB of zero bytes, which are no text.
    blocks = 1 << 19
    cases = {"records": (b"\n", "57014"), "a record": (b"1", "57014"), "zero bytes": (b"\0", "22021")}
    for name, (byte, state) in cases.items():
        bench.table(bench.write("bomb.zst", zstd_bomb(byte, blocks)), "t text")
        for query in ("SELECT count(*) FROM f", "SELECT count(t) FROM f"):
            bench.conn.must("SET statement_timeout = 800")
            start = time.monotonic()
            # COPY says that a record is too long after a gigabyte.
            expect(bench.conn.exec(query)["sqlstate"] in (state, "54000"), True, name)
            expect_quick(start, 3, name)
            bench.conn.must("RESET statement_timeout")
            expect_no_worker(bench)
    bench.table(bench.path("bomb.zst"), "t text")
    bench.conn.must("SET statement_timeout = 800")
    pid = bench.value("SELECT pg_backend_pid()")
    bench.conn.exec("SELECT count(*) FROM f")
    with open("/proc/%s/status" % pid) as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    expect(peak < 400_000, True, "peak memory %d kB" % peak)
    bench.conn.must("RESET statement_timeout")


@test
def a_file_that_shrinks_is_told_as_such(bench):
    for ending, pack in PACKERS.items():
        path = bench.write(
            "shrinks." + ending,
            pack(b"".join(b"%d,%s\n" % (row, os.urandom(30).hex().encode()) for row in range(50_000))),
        )
        bench.table(path)
        bench.conn.must("SET fastcsv.memory = '1MB'")
        bench.conn.must("BEGIN")
        bench.conn.must("DECLARE c CURSOR FOR SELECT * FROM f")
        bench.conn.must("FETCH 10 FROM c")
        os.truncate(path, os.path.getsize(path) * 3 // 4)
        message = 'file "%s" became shorter while it was being read' % path
        expect_error(bench.conn.exec("FETCH ALL FROM c"), {"sqlstate": "55000", "message": message}, ending)
        bench.conn.must("ROLLBACK")
        bench.conn.must("RESET fastcsv.memory")


@test
def progress_tells_no_total(bench):
    path = bench.write("progress.gz", PACKERS["gz"](numbered(100)))
    bench.conn.must("""CREATE TABLE seen (total bigint, kind text);
        CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO seen SELECT bytes_total, type FROM pg_stat_progress_copy WHERE pid = pg_backend_pid();
            RETURN NEW; END';
        CREATE TRIGGER look BEFORE INSERT ON loaded FOR EACH ROW WHEN (NEW.id = 50) EXECUTE FUNCTION look()""")
    bench.load(path, ", header => false")
    expect(bench.conn.must("SELECT * FROM seen")["rows"], [["0", "FILE"]], "progress")
