"""Files that cannot be read, change while they are read, or are no files: rows 22, 23, 32 to 39 and 56."""
import os
import shutil
import signal
import socket
import threading
import time

from harness import ALL_FILES, GATE, LOAD, MAPPED, RECORDS, SCAN, SOON, record, row, write_file
from inject import shim, strace
from server import wait_until

SHORTER = r'^file ".*data\.csv" became shorter while it was being read$'
OVERWRITTEN = r'^file ".*data\.csv" was overwritten while it was being read$'
PLACE = r'^COPY (f|fm|t), line \d+\n(.*\n)?fastcsv: file ".*data\.csv"'


@row("22", "the worker cannot read")
def read_error_in_worker(t):
    for turn in range(1, 200):
        t.start_at_gate()
        with strace(t.worker(), "pread64:error=EIO:when=%d%s" % (turn, "+" if turn % 2 else "")):
            t.open_gate()
            outcome = t.session.wait()
        if outcome["kind"] != "error":
            assert turn > 1, "no read has failed"
            t.expect_rows(outcome)
            break
        t.expect_error(outcome, "58030", r'^could not read file ".*data\.csv": Input/output error$', PLACE)
        t.errors_allowed = turn + 1
        if not t.is_full:
            break


@row("22", "the session's own parser cannot read", quick=(LOAD,))
def read_error_in_session(t):
    t.session.must("SET fastcsv.min_parallel_size = '1TB'")
    t.start_at_gate()
    with strace(t.session.pid, "read:error=EIO:when=3", threads=False):
        t.open_gate()
        outcome = t.session.wait()
    t.expect_error(outcome, "58030", "^could not read from COPY file: Input/output error$", r"^COPY [ft], line \d+")


@row("23", "reads that are interrupted, put off, or short", operations=ALL_FILES, quick=(LOAD,))
def short_reads(t):
    t.restarts = True
    t.server.restart(env={"LD_PRELOAD": shim(t.folder, "reads")})
    t.session = t.open()
    t.expect_rows(t.session.exec(t.sql()))
    assert t.session.value("SELECT path FROM fastcsv_last_run()") == "parallel"
    t.server.restart()


@row("32", "the file is truncated while it is read", operations=ALL_FILES)
def truncated(t):
    size = os.path.getsize(t.file)
    for rest in (size * 9 // 10, size // 2, 0) if t.is_full else (size // 2,):
        write_file(t.file)
        t.start_at_gate()
        os.truncate(t.file, rest)
        t.open_gate()
        t.expect_error(t.session.wait(), "55000", SHORTER, PLACE)
    t.errors_allowed = 3


def write_with_long_record(path, number, tail=""):
    """Record `number` is so long that the threads leave it to COPY's parser."""
    with open(path, "w") as file:
        for index in range(1, RECORDS + 1):
            file.write(record(index) if index != number else '%d,"%s",1%s' % (number, "long\n" * 60_000, "\n"))
        file.write(tail)


@row("32", "the file is truncated before COPY's parser has a second look", operations=ALL_FILES, quick=(LOAD,))
def truncated_before_reread(t):
    t.session.must("SET fastcsv.memory = '1MB'")
    write_with_long_record(t.file, GATE + 1)
    t.start_at_gate()
    with open(t.file, "rb") as file:
        start = file.read().index(b'"long')
    os.truncate(t.file, start + 1000)
    t.open_gate()
    t.expect_error(t.session.wait(), "55000", SHORTER, PLACE)
    t.session.must("RESET fastcsv.memory")


@row("33", "the file is appended to while it is read", operations=ALL_FILES, quick=(SCAN,))
def appended(t):
    t.start_at_gate()
    with open(t.file, "a") as file:
        file.write(record(RECORDS + 1) * 1000)
    t.open_gate()
    t.expect_rows(t.session.wait())
    assert t.session.value("SELECT path FROM fastcsv_last_run()") == "parallel"


@row("33", "what is appended to a last record without a line end is not read", operations=ALL_FILES, quick=(LOAD,))
def last_record_appended(t):
    t.session.must("SET fastcsv.memory = '1MB'")
    for is_long in (False, True):
        if is_long:
            write_with_long_record(t.file, RECORDS)
        os.truncate(t.file, os.path.getsize(t.file) - 1)
        t.start_at_gate()
        with open(t.file, "a") as file:
            file.write("1,too many,fields\nnonsense\n")
        t.open_gate()
        t.expect_rows(t.session.wait())
        t.session.must("TRUNCATE t")
    t.session.must("RESET fastcsv.memory")


@row("34", "the file is replaced or removed while it is read", operations=ALL_FILES, quick=(SCAN,))
def replaced(t):
    other = os.path.join(t.folder, "other.csv")
    for remove in (False, True):
        write_file(t.file)
        write_file(other, 1000)
        t.start_at_gate()
        os.remove(t.file) if remove else os.rename(other, t.file)
        t.open_gate()
        t.expect_rows(t.session.wait())
        t.session.must("TRUNCATE t")
    assert not os.path.exists(t.file)


@row("34", "the file is replaced before the worker opens it", operations=ALL_FILES, quick=(LOAD,))
def replaced_early(t):
    other = os.path.join(t.folder, "other.csv")
    write_file(other, 1000)
    t.session.must("SELECT count(*) FROM f WHERE false")
    postmaster = t.server.pid
    os.kill(postmaster, signal.SIGSTOP)
    try:
        t.session.start(t.sql())
        waits = "SELECT 1 FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Extension'" % t.session.pid
        assert wait_until(lambda: t.control.must(waits)["rows"], 20), "the session does not wait"
        os.rename(other, t.file)
    finally:
        os.kill(postmaster, signal.SIGCONT)
    t.expect_rows(t.session.wait())
    assert t.session.value("SELECT path FROM fastcsv_last_run()") == "parallel"


@row("35", "the file is overwritten in place while it is read", operations=ALL_FILES, quick=(MAPPED, LOAD,))
def overwritten(t):
    t.start_at_gate()
    with open(t.file, "r+b") as file:
        file.seek(-100, os.SEEK_END)
        tail = file.read()
        file.seek(-100, os.SEEK_END)
        file.write(tail)
    t.open_gate()
    t.expect_error(t.session.wait(), "55000", OVERWRITTEN)


@row("37", "a slow disk: the statement can be cancelled, and nobody is busy", quick=(SCAN,))
def slow_disk(t):
    t.start_at_gate()
    with strace(t.worker(), "pread64:delay_enter=400ms"):
        t.session.outcome = None
        t.open_gate()
        time.sleep(1)
        t.cancel()
        t.expect_error(t.within(SOON), "57014")


def outcome_of(session, sql):
    """What is the same for everyone of an outcome, and how long it took."""
    start = time.monotonic()
    outcome = session.exec(sql)
    took = time.monotonic() - start
    return tuple(outcome.get(key) for key in ("kind", "sqlstate", "message", "detail", "hint")), took


@row("38", "what is no file: as COPY", quick=(SCAN,))
def no_files(t):
    listener = socket.socket(socket.AF_UNIX)
    place = os.path.join(t.folder, "socket.csv")
    listener.bind(place)
    os.chmod(place, 0o777)
    paths = [t.folder, place, "/dev/zero", "/dev/null", "/dev/tty", "/proc/self/mem", "/proc/self/environ", "/proc/kmsg",
             os.path.join(t.folder, "missing"), "relative", "a" * 5000, "/" + "b/" * 2500, ""]
    t.session.must("CREATE TEMP TABLE nothing (line text)")
    t.errors_allowed = 10 * len(paths)
    for path in paths:
        if t.operation == LOAD:
            copy = outcome_of(t.session, "COPY nothing FROM '%s' CSV" % path)
            ours = outcome_of(t.session, "SELECT fastcsv_copy('nothing', '%s', header => false)" % path)
            is_same = copy[0] == ours[0] or (copy[0][0] == "ok" and ours[0][0] == "rows")
        else:
            t.session.must("BEGIN; CREATE EXTENSION file_fdw; CREATE SERVER other FOREIGN DATA WRAPPER file_fdw")
            t.session.must("CREATE FOREIGN TABLE theirs (line text) SERVER other OPTIONS (filename '%s', format 'csv')" % path)
            t.session.must("CREATE FOREIGN TABLE ours (line text) SERVER fastcsv OPTIONS (filename '%s')" % path)
            t.session.must("SAVEPOINT s")
            copy = outcome_of(t.session, "SELECT * FROM theirs")
            t.session.must("ROLLBACK TO s")
            ours = outcome_of(t.session, "SELECT * FROM ours")
            t.session.must("ROLLBACK")
            is_same = copy[0] == ours[0]
        assert is_same, "%s: COPY says %s, fastcsv %s" % (path[:40], copy, ours)
        assert ours[1] < SOON, "%s: it took %.2f s" % (path[:40], ours[1])
    outcome, took = outcome_of(t.session, t.sql("/dev/urandom")) if t.operation == LOAD else (("error",), 0)
    assert outcome[0] == "error" and took < SOON, (outcome, took)
    listener.close()
    os.remove(place)


@row("39", "a sparse file of a terabyte: the first NUL ends it", quick=(LOAD,))
def sparse(t):
    os.truncate(t.file, 1 << 40)
    t.session.start(t.sql())
    t.expect_error(t.within(2 * SOON), "22021", "^invalid byte sequence for encoding \"UTF8\": 0x00$")
    os.remove(t.file)


@row("56", "a symbolic link that is changed all the time: one file or the other, never both", quick=(LOAD,))
def swapped_link(t):
    ones, twos = os.path.join(t.folder, "ones.csv"), os.path.join(t.folder, "twos.csv")
    for path, digit in ((ones, "1"), (twos, "2")):
        with open(path, "w") as file:
            file.write("%s,x,1\n" % digit * 60_000)
    os.remove(t.file)
    os.symlink(ones, t.file)
    done = threading.Event()

    def swap():
        target = twos
        while not done.is_set():
            os.symlink(target, t.file + ".new")
            os.rename(t.file + ".new", t.file)
            target = ones if target == twos else twos

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(200 if t.is_full else 15):
            if t.operation == LOAD:
                t.session.must("TRUNCATE t")
                t.session.must(t.sql())
                outcome = t.session.must("SELECT count(*), sum(id) FROM t")["rows"]
            else:
                outcome = t.session.must("SELECT count(*), sum(id) FROM f OFFSET 0")["rows"]
            assert outcome in ([["60000", "60000"]], [["60000", "120000"]]), outcome
    finally:
        done.set()
        thread.join()
        os.remove(t.file)
        shutil.rmtree(t.file, ignore_errors=True)
    t.session.must("TRUNCATE t")
