"""Resources that run out: disk, shared memory, memory, descriptors, locks, worker slots. Rows 17 to 21, 24 to 27, 29 and 30."""
import glob
import mmap
import os
import struct
import threading
import time

from harness import LOAD, SCAN, row
from inject import limit, shim, strace
from server import need_root, wait_until


def small_disk(t, name, size="8m"):
    """A folder with a small file system in it, which the server may write to."""
    folder = os.path.join(t.server.dir, name)
    os.makedirs(folder, exist_ok=True)
    t.server.in_namespace("mount -t tmpfs -o size=%s,mode=777 tmpfs '%s' && chown postgres: '%s'" % (size, folder, folder))
    return folder


@row("17", "the disk of a table is full", operations=(LOAD,))
def heap_disk_full(t):
    folder = small_disk(t, "heap-disk", "2m")
    t.session.must("CREATE TABLESPACE small LOCATION '%s'" % folder)
    t.session.must("CREATE TABLE on_small (id int, name text, x float8) TABLESPACE small")
    outcome = t.session.exec(t.sql().replace("'t'", "'on_small'"))
    t.expect_error(outcome, "53100", "^could not extend file .*: No space left on device", "^COPY on_small, line [0-9]+")
    assert outcome["hint"] == "Check free disk space.", outcome
    assert t.session.value("SELECT count(*) FROM on_small") == "0"
    t.expect_rows(t.session.exec(t.sql()))
    t.session.must("DROP TABLE on_small")
    t.session.must("DROP TABLESPACE small")
    t.server.in_namespace("umount '%s'" % folder)


@row("18", "the disk of the WAL is full: the server restarts, as it must, and has no row", operations=(LOAD,), quick=())
def wal_disk_full(t):
    t.restarts = True
    t.start_at_gate()
    with strace(t.session.pid, "pwrite64:error=ENOSPC:when=1+", paths=glob.glob(t.server.data + "/pg_wal/0*")):
        t.open_gate()
        t.session.wait()
    t.server.wait_for_recovery()


@row("19", "the disk for temporary files is full", quick=(LOAD,))
def temporary_disk_full(t):
    folder = small_disk(t, "temp-disk", "1m")
    t.session.must("CREATE TABLESPACE temp LOCATION '%s'" % folder)
    for setting in ("temp_tablespaces = temp", "work_mem = '64kB'"):
        t.session.must("SET " + setting)
    if t.operation == LOAD:
        t.session.must("""CREATE TABLE watched (id int, name text, x float8);
            CREATE FUNCTION pg_temp.watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM count(*) FROM loaded; RETURN NULL; END $$;
            CREATE TRIGGER watch AFTER INSERT ON watched REFERENCING NEW TABLE AS loaded EXECUTE FUNCTION pg_temp.watch()""")
        outcome = t.session.exec(t.sql().replace("'t'", "'watched'"))
    else:
        outcome = t.session.exec("SELECT count(*) FROM (SELECT * FROM f ORDER BY name OFFSET 1) s")
    t.expect_error(outcome, "53100", "^could not write to file .*pgsql_tmp.*: No space left on device$")
    t.session.must("DROP TABLE IF EXISTS watched")
    assert wait_until(lambda: not glob.glob(folder + "/*/pgsql_tmp/*"), 1), "temporary files are left"
    t.session.must("RESET temp_tablespaces")
    t.session.must("DROP TABLESPACE temp")
    t.server.in_namespace("umount '%s'" % folder)


@row("20", "no shared memory: the session reads", quick=(LOAD,))
def shared_memory_full(t):
    need_root()
    t.server.in_namespace("dd if=/dev/zero of=/dev/shm/filler bs=64k 2>/dev/null; chmod 644 /dev/shm/filler; true")
    t.server.in_namespace("mount -o remount,size=$(du -sb /dev/shm | cut -f1) /dev/shm")
    try:
        t.session.must("SET client_min_messages = debug1")
        outcome = t.session.exec(t.sql())
        notices = [notice["message"] for notice in t.session.notices]
    finally:
        t.server.in_namespace("rm -f /dev/shm/filler; mount -o remount,size=512m /dev/shm")
    t.session.must("RESET client_min_messages")
    t.expect_rows(outcome)
    assert "fastcsv reads serially: no shared memory for a worker" in notices, notices


@row("21", "shared memory of other kinds", quick=(SCAN,))
def other_shared_memory(t):
    t.restarts = True
    for settings in (["dynamic_shared_memory_type=mmap"], ["dynamic_shared_memory_type=sysv"],
                     ["min_dynamic_shared_memory=16MB"])[:3 if t.is_full else 1]:
        t.server.restart(settings)
        t.session = t.open()
        files = lambda: set(glob.glob(t.server.data + "/pg_dynshmem/*"))
        before = files()
        t.expect_rows(t.session.exec(t.sql()))
        assert t.session.value("SELECT path FROM fastcsv_last_run()") == "parallel"
        assert wait_until(lambda: not t.server.workers(), 2)
        assert wait_until(lambda: files() <= before, 2), "left behind: %s" % (files() - before)
        t.session.must("TRUNCATE t")
    t.server.restart()


@row("24", "writing and extending a table fails", operations=(LOAD,), quick=())
def write_errors(t):
    t.session.must("SET synchronous_commit = off")
    for injection, state in (("pwrite64:error=ENOSPC:when=50+", "53100"), ("pwrite64:error=EIO:when=50+", "58030")):
        t.start_at_gate()
        path = t.control.value("SELECT pg_relation_filepath('t')")
        with strace(t.session.pid, injection, paths=[os.path.join(t.server.data, path)]):
            t.open_gate()
            outcome = t.session.wait()
        t.expect_error(outcome, state, "^could not (extend|write)", "^COPY t, line [0-9]+")
    t.errors_allowed = 2


class Mallocs:
    """A server whose allocations fail on demand: see shims/mallocs.c."""

    def __init__(self, t):
        path = os.path.join(t.folder, "mallocs")
        with open(path, "wb") as file:
            file.write(struct.pack("ii", 0, 0))
        os.chmod(path, 0o666)
        t.server.restart(env={"LD_PRELOAD": shim(t.folder, "mallocs"), "FASTCSV_MALLOCS": path})
        with open(path, "r+b") as file:
            self.control = mmap.mmap(file.fileno(), 8)

    def fail(self, pid, count):
        self.control[:8] = struct.pack("ii", pid, count)

    def is_over(self):
        return struct.unpack("ii", self.control[:8])[1] <= 0


@row("25", "each single allocation in the session, or a thread, fails in turn", quick=())
def each_allocation(t):
    t.restarts = True
    mallocs = Mallocs(t)
    postmaster = t.server.pid
    t.session = t.open()
    t.session.must("SELECT count(*) FROM small_f WHERE at_gate(id) AND at_gate_of_load(id)")
    for pid in (t.session.pid, -1):
        clean = 0
        for count in range(1, 3000):
            mallocs.fail(pid, count)
            outcome = t.session.exec(t.sql())
            over = mallocs.is_over()
            mallocs.fail(0, 0)
            if outcome["kind"] == "error":
                assert outcome.get("sqlstate") in ("53200", "XX000"), (pid, count, outcome)
                assert "memory" in outcome["message"], (pid, count, outcome)
            else:
                t.expect_rows(outcome)
                t.session.must("TRUNCATE t")
                clean += not over
                if clean == 3:
                    break
        assert t.server.pid == postmaster and t.session.value("SELECT 1") == "1"
    t.server.restart()


@row("25", "the session's address space is full", quick=())
def address_space(t):
    for more in (1, 4, 16, 64):
        session = t.open("fastcsv.memory = '256MB'")
        t.start_at_gate(session)
        with open("/proc/%d/statm" % session.pid) as file:
            size = int(file.read().split()[0]) * 4096
        limit(session.pid, "as=%d" % (size + (more << 20)))
        t.open_gate()
        outcome = session.wait()
        if outcome["kind"] == "error":
            t.expect_error(outcome, "53200", "^out of memory")
        else:
            t.expect_rows(outcome)
            t.control.must("TRUNCATE t")
        assert session.value("SELECT 1") == "1"


@row("26", "the address space of the worker is full", quick=(LOAD,))
def address_space_of_worker(t):
    t.session.must("SELECT count(*) FROM f WHERE false")
    size = 700 if t.is_full else 350
    limit(t.server.pid, "as=%d" % (size << 20))
    try:
        t.session.must("SET fastcsv.memory = '512MB'")
        t.session.must("SET fastcsv.range_size = '100MB'")
        outcome = t.session.exec(t.sql())
    finally:
        limit(t.server.pid, "as=unlimited")
        t.session.must("RESET fastcsv.memory")
    if outcome["kind"] == "error":
        t.expect_error(outcome, "53200", "^out of memory")
    else:
        t.expect_rows(outcome)


@row("27", "no descriptor is left", quick=(SCAN,))
def descriptors(t):
    session = t.open()
    session.must("SELECT count(*) FROM f WHERE false")
    held = max(int(name) for name in os.listdir("/proc/%d/fd" % session.pid)) + 1
    kinds = set()
    for more in (0, 1, 2, 3, 8):
        limit(session.pid, "nofile=%d" % (held + more))
        outcome = session.exec(t.sql())
        if outcome["kind"] == "error":
            t.expect_error(outcome, "53000")
        else:
            t.expect_rows(outcome)
            t.control.must("TRUNCATE t")
        kinds.add(outcome["kind"])
    assert "rows" in kinds, kinds


@row("29", "the lock table is full", operations=(LOAD,), quick=())
def locks(t):
    t.restarts = True
    t.server.restart(["max_locks_per_transaction=10", "max_connections=10"])
    t.session = t.open()
    t.session.must("CREATE TABLE parts (id int, name text, x float8) PARTITION BY HASH (id)")
    for number in range(1500):
        t.session.must("CREATE TABLE part%d PARTITION OF parts FOR VALUES WITH (MODULUS 1500, REMAINDER %d)" % (number, number))
    outcome = t.session.exec(t.sql().replace("'t'", "'parts'"))
    t.expect_error(outcome, "53200", "^out of shared memory$")
    assert "max_locks_per_transaction" in outcome["hint"], outcome
    t.server.restart()
    t.session = t.open()
    for number in range(1500):
        t.session.must("DROP TABLE part%d" % number)
    t.session.must("DROP TABLE parts")


@row("30", "many scans at once share few worker slots", operations=(SCAN,))
def many_scans(t):
    t.restarts = True
    count = 200 if t.is_full else 15
    t.server.restart(["max_connections=250"])
    sessions = [t.open() for _ in range(count)]
    t.session = sessions[0]
    start, took, wrong, paths = time.monotonic(), [], [], []

    def scan(session):
        for _ in range(2):
            begun = time.monotonic()
            outcome = session.exec("SELECT count(*), sum(id) FROM f OFFSET 0")
            took.append(time.monotonic() - begun)
            paths.append(session.value("SELECT path FROM fastcsv_last_run()"))
            if outcome.get("rows") != t.expected():
                wrong.append(outcome)

    threads = [threading.Thread(target=scan, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:2]
    assert {"parallel"} <= set(paths), set(paths)
    # Each has its turn: nobody waits longer than two rounds of all the others would take.
    assert max(took) < max(10, time.monotonic() - start), max(took)
    t.server.restart()
