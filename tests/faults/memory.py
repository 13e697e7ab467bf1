"""Memory: what a scan or load holds in all of its processes is bounded by fastcsv.memory, whatever the file. Row 31."""
import os
import threading
import time

from harness import LOAD, SCAN, row
from server import OWN_SHM, Unavailable

# What may come on top of fastcsv.memory: the two processes themselves, and what COPY's parser and the executor need.
BESIDE = 32
MEGABYTE = 1 << 20


class Sampler:
    """The most that the session's processes held beyond what they held at the start, in bytes, sampled all the time."""

    def __init__(self, t):
        if not OWN_SHM:
            raise Unavailable("the server has no /dev/shm of its own")
        self.t, self.done, self.peak = t, threading.Event(), 0
        self.thread = threading.Thread(target=self.sample, daemon=True)

    def now(self):
        session = self.t.session.pid
        held = sum(private_bytes(pid) for pid in [session, *self.workers()])
        for entry in os.scandir("/proc/%d/root/dev/shm" % self.t.server.pid):
            try:
                held += entry.stat().st_blocks * 512
            except FileNotFoundError:
                pass
        return held

    def workers(self):
        # Looking through all processes takes too long to do it each time.
        if time.monotonic() - self.looked > 0.05:
            self.looked, self.known = time.monotonic(), self.t.server.workers(self.t.session.pid)
        return self.known

    def sample(self):
        while not self.done.wait(0.002):
            self.peak = max(self.peak, self.now())

    def __enter__(self):
        self.looked, self.known = 0, []
        self.base = self.now()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    @property
    def megabytes(self):
        return (self.peak - self.base) / MEGABYTE


def private_bytes(pid):
    """Memory of a process that is nobody else's."""
    try:
        with open("/proc/%d/status" % pid) as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon")), 0)
    except OSError:
        return 0


def write(t, name, size, record):
    """A file of about so many bytes, made of one record again and again."""
    path = os.path.join(t.folder, name)
    block = record * max(1, MEGABYTE // len(record))
    with open(path, "wb") as file:
        for _ in range(max(1, size // len(block))):
            file.write(block)
    os.chmod(path, 0o644)
    return path


def shapes():
    """Files by name: a record, and the table's columns."""
    wide = b",".join(b"%d" % number for number in range(1600)) + b"\n"
    return {
        "plain": (b"4711,a name of some length,3.25\n", "a int, b text, c float8"),
        "delimiters": (b",\n", "a text, b text"),
        "quotes": (b'"",""""""\n', "a text, b text"),
        "wide": (wide, ", ".join("c%d int" % number for number in range(1600))),
        "wide and empty": (b"," * 1599 + b"\n", ", ".join("c%d text" % number for number in range(1600))),
        "long records": (b"1," + b"y" * 300_000 + b"\n", "a int, b text"),
        "long bytea": (b"1,\\x" + b"6a" * 100_000 + b"\n", "a int, b bytea"),
        "long quoted": (b'1,"' + b'y""\n' * 50_000 + b'"\n', "a int, b text"),
        "text": (b"1,{1}\n", "a int, b int[]"),
        "declined": (b"tr,x\n", "a bool, b text"),
    }


def measure(t, name, size, memory, threads):
    record, columns = shapes()[name]
    path = write(t, "memory.csv", size, record)
    t.session.must("DROP TABLE IF EXISTS m; DROP FOREIGN TABLE IF EXISTS mf")
    t.session.must("CREATE TEMP TABLE m (%s)" % columns)
    t.session.must("CREATE FOREIGN TABLE mf (%s) SERVER fastcsv OPTIONS (filename '%s')" % (columns, path))
    for setting in ("fastcsv.memory = '%dMB'" % memory, "fastcsv.threads = %d" % threads, "fastcsv.range_size = '1MB'"):
        t.session.must("SET " + setting)
    sql = "SELECT fastcsv_copy('m', '%s', header => false)" % path if t.operation == LOAD else \
        "SELECT count(s) FROM (SELECT * FROM mf OFFSET 0) s"
    t.session.must(sql if size < 10 * MEGABYTE else "SELECT 1")  # what is allocated once
    with Sampler(t) as sampler:
        outcome = t.session.exec(sql)
    assert outcome["kind"] == "rows", outcome
    told = int(t.session.value("SELECT peak_memory FROM fastcsv_last_run()")) / MEGABYTE
    path_taken = t.session.value("SELECT path FROM fastcsv_last_run()")
    t.session.must("DROP FOREIGN TABLE mf")
    t.session.must("DROP TABLE m")
    os.remove(path)
    if t.is_full:
        print("    %s, %d MB: fastcsv.memory %d MB, %d threads: %.0f MB held, %.0f MB told, %s" % (
            name, size // MEGABYTE, memory, threads, sampler.megabytes, told, path_taken), flush=True)
    assert sampler.megabytes <= memory + BESIDE, "%s: %.0f MB with fastcsv.memory = %d MB, %d threads" % (
        name, sampler.megabytes, memory, threads)
    assert told <= memory, "%s: %.0f MB told with fastcsv.memory = %d MB" % (name, told, memory)


@row("31", "memory does not grow with the file", quick=(SCAN,))
def bounded(t):
    sizes = [100, 4000] if t.is_full else [20]
    for size in sizes:
        measure(t, "plain", size * MEGABYTE, 64, 4)


@row("31", "memory is bounded for hostile files", quick=(LOAD,))
def hostile(t):
    for name in shapes() if t.is_full else ("quotes", "wide", "long records"):
        for memory, threads in ((64, 4), (16, 8), (8, 2), (256, 16)) if t.is_full else ((16, 4),):
            measure(t, name, (100 if t.is_full else 6) * MEGABYTE, memory, threads)
