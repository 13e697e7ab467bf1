"""What the tests work with: a session, a folder that the server can read, and files of every kind in it."""

import bz2
import gzip
import lzma
import os
import time

import pq
import statements

TESTS = []

# The sizes of pieces, and numbers of threads, that a test goes through: everything in one piece, and many small ones.
WAYS = ((1 << 20, 2), (5000, 2), (97, 3), (700, 1))

ALL = "SELECT count(*), sum(id), md5(string_agg(t, '|')) FROM f"


def test(function):
    TESTS.append(function)
    return function


class Bench:
    def __init__(self, arguments, folder):
        self.conninfo = "host=%s port=%s user=%s dbname=inputs" % (arguments.host, arguments.port, arguments.user)
        self.folder = folder
        self.conn = pq.Conn(self.conninfo)
        self.conn.must("SET client_min_messages = warning")
        self.conn.must("CREATE EXTENSION IF NOT EXISTS fastcsv")
        self.conn.must("LOAD 'fastcsv'")
        self.conn.must("DROP TABLE IF EXISTS loaded CASCADE")
        self.conn.must("CREATE TABLE loaded (id int, t text)")
        self.conn.must("SET fastcsv.min_parallel_size = 0")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, 0o644)
        return path

    def table(self, path, columns="id int, t text", **options):
        """The foreign table f over a file."""
        self.conn.must("DROP FOREIGN TABLE IF EXISTS f")
        given = "".join(", %s %s" % (name, statements.lit(value)) for name, value in options.items())
        self.conn.must(
            "CREATE FOREIGN TABLE f (%s) SERVER fastcsv OPTIONS (filename %s%s)"
            % (columns, statements.lit(path), given)
        )

    def load(self, path, arguments="", table="loaded"):
        """The result of a load into the table, which is emptied before."""
        self.conn.must("TRUNCATE %s" % table)
        return self.conn.exec("SELECT fastcsv_copy('%s', %s%s)" % (table, statements.lit(path), arguments))

    def loaded(self):
        # A heap keeps small rows where there is room for them.
        return self.conn.must(ALL.replace("'|'", "'|' ORDER BY id").replace(" f", " loaded"))["rows"]

    def way(self, size, threads):
        self.conn.must("SET fastcsv.range_size = %d" % size)
        self.conn.must("SET fastcsv.threads = %d" % threads)

    def any_way(self):
        self.conn.must("RESET fastcsv.range_size")
        self.conn.must("RESET fastcsv.threads")

    def serially(self):
        self.conn.must("SET fastcsv.min_parallel_size = '1GB'")

    def run(self):
        """How the last scan or load ran."""
        names = ["operation", "path", "reason", "threads", "ranges", "rereads", "bytes", "rows"]
        return dict(zip(names, self.conn.must("SELECT %s FROM fastcsv_last_run()" % ", ".join(names))["rows"][0]))

    def value(self, sql):
        return self.conn.must(sql)["rows"][0][0]


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError("%s: expected %r, got %r" % (what, wanted, found))


def expect_error(result, wanted, what):
    """The result is an error with these fields."""
    found = {name: result.get(name) for name in wanted}
    if result["kind"] != "error" or found != wanted:
        raise AssertionError("%s: expected %r, got %r" % (what, wanted, result))


def expect_quick(start, seconds, what):
    took = time.monotonic() - start
    if took > seconds:
        raise AssertionError("%s: it took %.1f s" % (what, took))


def workers(bench):
    """Worker processes of this session, by their titles: they are in no view."""
    title = "fastcsv worker for PID %s" % bench.value("SELECT pg_backend_pid()")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                if title.encode() in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def expect_no_worker(bench):
    start = time.monotonic()
    while workers(bench):
        expect_quick(start, 2, "the worker's end")
        time.sleep(0.01)


def numbered(rows, first=0):
    return b"".join(b"%d,some text that fills a row\n" % row for row in range(first, first + rows))


def zstd(content, window=None):
    """A zstd frame of blocks that are not compressed; Python has nothing that makes others. `window` is a logarithm."""
    # No content size, no checksum, no dictionary; a window of 128 KB at least, as large as a block.
    frame = [b"\x28\xb5\x2f\xfd\x00", bytes([((window or 17) - 10) << 3])]
    pieces = [content[at : at + 100_000] for at in range(0, len(content), 100_000)] or [b""]
    for number, piece in enumerate(pieces):
        is_last = number == len(pieces) - 1
        frame += [(len(piece) << 3 | is_last).to_bytes(3, "little"), piece]
    return b"".join(frame)


def zstd_bomb(byte, blocks):
    """A frame of so many blocks, each of which stands for 128 KB of one byte."""
    block = lambda is_last: (0x20000 << 3 | 1 << 1 | is_last).to_bytes(3, "little") + byte
    return b"\x28\xb5\x2f\xfd\x00" + bytes([(17 - 10) << 3]) + block(0) * (blocks - 1) + block(1)


PACKERS = {
    "gz": lambda content: gzip.compress(content, 1, mtime=0),
    "zst": zstd,
    "bz2": lambda content: bz2.compress(content, 1),
    "xz": lambda content: lzma.compress(content, preset=0),
}

# As EXPLAIN calls them.
FORMATS = {"gz": "gzip", "zst": "zstd", "bz2": "bzip2", "xz": "xz"}
