"""What every row of the fault tests is made of: a server, a session at work, and the checks that follow whatever happened.

A row is a function that takes a Test. It may run once for each **operation**: a scan of a foreign table, and a load with
fastcsv_copy. Both stop at a **gate** in the middle of the file, an advisory lock that the row holds, so that what a row does
it does at a known moment, with a worker at work whose threads have run ahead as far as they may.
"""
import collections
import contextlib
import os
import re
import signal
import threading
import time

import pq
from server import crashes, wait_until

ROWS = []
Row = collections.namedtuple("Row", "number title function operations quick")
SCAN, MAPPED, PROGRAM, LOAD = "scan", "scan of a mapped file", "scan of a program's output", "load"
BOTH = (SCAN, LOAD)
ALL_FILES = (SCAN, MAPPED, LOAD)
ALL = (SCAN, MAPPED, PROGRAM, LOAD)
# The tables that are scanned.
TABLES = {SCAN: "f", MAPPED: "fm", PROGRAM: "fp"}
# The file: records, and the one at which the gate is. In pieces of 64 kB it is much larger than the pool of blocks.
RECORDS = 100_000
GATE = 30_000
GATE_LOCK = 7001
# A session that has run a parallel query keeps shared memory of PostgreSQL's.
SETTINGS = ["max_parallel_workers_per_gather = 0", "fastcsv.min_parallel_size = 0", "fastcsv.range_size = '64kB'", "fastcsv.threads = 3"]
# What every server process has open.
IGNORED_TARGETS = r"socket:|pipe:|anon_inode:|/dev/null$|.*/log$"
# How long what must happen soon may take, a cancel for example, and the end of a worker: longer where the machine is busy.
BUSY = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
SOON = 1.0 * BUSY
WORKERS_GONE = 2.0 * BUSY

SETUP = """
CREATE EXTENSION fastcsv;
CREATE FUNCTION at_gate(id int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
    IF id = %(gate)d THEN PERFORM pg_advisory_xact_lock_shared(%(lock)d); END IF; RETURN true; END $$;
CREATE FUNCTION at_gate_of_load(id int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    IF id = %(gate)d THEN PERFORM pg_advisory_xact_lock_shared(%(lock)d); END IF; RETURN true; END $$;
CREATE FOREIGN TABLE f (id int, name text, x float8) SERVER fastcsv OPTIONS (filename '%(file)s');
CREATE FOREIGN TABLE fm (id int, name text, x float8) SERVER fastcsv OPTIONS (filename '%(file)s', io 'mmap');
CREATE FOREIGN TABLE fp (id int, name text, x float8) SERVER fastcsv OPTIONS (program 'cat %(file)s');
CREATE TABLE t (id int CHECK (at_gate_of_load(id)), name text, x float8);
""".strip()


def row(number, title, operations=BOTH, quick=None):
    """Declares a row. In a quick run only the operations `quick` are tried: all, unless what matters is the same in each."""
    def declare(function):
        ROWS.append(Row(number, title, function, operations, operations if quick is None else quick))
        return function
    return declare


def record(number):
    return "%d,name of %d,%s\n" % (number, number, number / 4)


def write_file(path, records=RECORDS):
    with open(path, "w") as file:
        file.write("".join(record(1 + index) for index in range(records)))
    os.chmod(path, 0o644)


def identity(path):
    """Changes with each change of a file."""
    try:
        found = os.stat(path)
        return found.st_ino, found.st_size, found.st_mtime_ns
    except OSError:
        return None


class Session(pq.Conn):
    """A connection whose statements can run in the background."""

    def __init__(self, server, settings=(), **connection):
        self.c = None
        wait_until(server.answers, 10, 0.05)
        super().__init__(server.connect_string(**connection))
        self.server = server
        self.thread = self.outcome = None
        for setting in [*SETTINGS, *settings]:
            self.must("SET " + setting)
        self.pid = int(self.must("SELECT pg_backend_pid()")["rows"][0][0])

    def start(self, sql):
        def run():
            try:
                self.outcome = self.exec(sql)
            except RuntimeError as error:
                self.outcome = {"kind": "error", "message": str(error)}
        self.outcome = None
        self.started = time.monotonic()
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def wait(self, seconds=60):
        """The outcome of what was started."""
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "the statement has not ended within %g s" % seconds
        return self.outcome

    @property
    def in_transaction(self):
        return pq.transaction_status(self.c) != 0

    @property
    def is_running(self):
        return self.thread is not None and self.thread.is_alive()

    def value(self, sql):
        return self.must(sql)["rows"][0][0]


class Test:
    """One run of a row."""

    def __init__(self, server, operation, folder, is_full):
        self.server, self.operation, self.folder, self.is_full = server, operation, folder, is_full
        self.file = os.path.join(folder, "data.csv")
        self.file_before = identity(self.file)
        self.sessions = []
        self.rows_allowed = {0, RECORDS}
        self.restarts = False     # the row makes the server restart, or restarts it
        self.allowed_in_log = []  # patterns of lines that would be found fault with
        self.control = self.open()
        self.session = self.open()
        # What a session opens once and keeps does not count.
        self.session.must("SELECT count(*) FROM small_f WHERE id < 0")
        self.session.must("BEGIN; SELECT fastcsv_copy('t', '%s'); ROLLBACK" % os.path.join(folder, "small.csv"))
        wait_until(lambda: not server.workers(), WORKERS_GONE)
        self.before = self.state()
        self.seen_memory = set(self.before["shared memory"])
        self.postmaster = server.pid

    def open(self, *settings, **connection):
        session = Session(self.server, settings, **connection)
        self.sessions.append(session)
        return session

    # The operation

    def sql(self, file=None):
        if self.operation == LOAD:
            return "SELECT fastcsv_copy('t', '%s', header => false)" % (file or self.file)
        return "SELECT count(*), sum(id) FROM %s WHERE at_gate(id)" % TABLES[self.operation]

    def expected(self, records=RECORDS):
        total = [str(records), str(records * (records + 1) // 2)]
        return [total[:1] if self.operation == LOAD else total]

    def start_at_gate(self, session=None, sql=None):
        """Starts the operation and waits until it stands at the gate, which `open_gate` opens."""
        session = session or self.session
        self.control.must("SELECT pg_advisory_lock(%d)" % GATE_LOCK)
        session.start(sql or self.sql())
        waits = "SELECT 1 FROM pg_locks WHERE pid = %d AND locktype = 'advisory' AND NOT granted" % session.pid
        assert wait_until(lambda: self.control.must(waits)["rows"], 30), "the gate is not reached: %s" % session.outcome
        self.seen_memory.update(self.server.shared_memory())
        return session

    def open_gate(self):
        self.control.must("SELECT pg_advisory_unlock(%d)" % GATE_LOCK)

    def worker(self, session=None):
        return self.server.worker_of((session or self.session).pid)

    # What comes of it

    def expect_rows(self, outcome, records=RECORDS):
        assert outcome.get("rows") == self.expected(records), "expected %s rows: %s" % (records, outcome)

    def expect_error(self, outcome, sqlstate, message="", context=None):
        assert outcome["kind"] == "error", "expected an error: %s" % outcome
        assert outcome.get("sqlstate") == sqlstate, "expected %s: %s" % (sqlstate, outcome)
        assert re.search(message, outcome["message"]), "expected %s: %s" % (message, outcome)
        if context is not None:
            assert re.search(context, outcome.get("context", "")), "expected %s: %s" % (context, outcome)

    def within(self, seconds, session=None):
        """The outcome of a statement that must end soon."""
        start = time.monotonic()
        outcome = (session or self.session).wait(30)
        took = time.monotonic() - start
        assert took <= seconds, "it took %.2f s: %s" % (took, outcome)
        return outcome

    def cancel(self, session=None):
        self.control.must("SELECT pg_cancel_backend(%d)" % (session or self.session).pid)

    # The checks

    def state(self):
        return {"shared memory": self.server.shared_memory(), "temporary files": self.server.temporary_files(),
                "descriptors": self.descriptors()}

    def descriptors(self):
        """What the session has open that is none of the server's own files."""
        found = []
        try:
            for name in os.listdir("/proc/%d/fd" % self.session.pid):
                target = os.readlink("/proc/%d/fd/%s" % (self.session.pid, name))
                if not target.startswith(self.server.data) and not re.match(IGNORED_TARGETS, target):
                    found.append(target)
        except OSError:
            pass  # the session, or the descriptor, is gone
        return sorted(found)

    def check_after(self, log_before):
        """What must hold after every row, whatever it did."""
        server = self.server
        if self.restarts:
            server.wait_for_recovery()
        else:
            assert server.pid == self.postmaster, "the server was restarted"
        assert wait_until(lambda: not server.workers(), WORKERS_GONE), "a worker is left: %s" % server.children()
        other = self.open()
        assert other.value("SELECT 1") == "1"
        assert other.value("SELECT count(*) FROM pg_prepared_xacts") == "0", "a prepared transaction is left"
        rows = int(other.value("SELECT count(*) FROM t"))
        assert rows in self.rows_allowed, "%d rows are in the table" % rows
        self.check_session()
        self.check_state()
        self.check_log(server.log_since(log_before))

    def check_session(self):
        """The same session goes on, unless it is gone with the server or by the row's doing."""
        if self.restarts or self.session is None or not os.path.exists("/proc/%d" % self.session.pid):
            self.session = self.open()
        assert not self.session.is_running, "the statement has not ended"
        if self.session.in_transaction:
            self.session.must("ROLLBACK")
        for setting in SETTINGS + ["fastcsv.fault = ''", "statement_timeout = 0"]:
            self.session.must("SET " + setting)
        rows = self.session.value("SELECT count(*) FROM (SELECT id, name FROM small_f OFFSET 0) s")
        assert rows == "1000", "the session's next query gives %s rows" % rows

    def check_state(self):
        if self.restarts:
            # The server's own shared memory has other names now, and soon nothing has the old ones.
            is_new = lambda: not self.seen_memory & set(self.server.shared_memory())
            assert wait_until(is_new, WORKERS_GONE), "left behind: %s" % self.server.shared_memory()
            self.before["shared memory"] = self.server.shared_memory()
        less = lambda now: all(not collections.Counter(now[key]) - collections.Counter(self.before[key]) for key in now)
        assert wait_until(lambda: less(self.state()), WORKERS_GONE), "left behind: %s; before: %s" % (
            self.state(), self.before)

    def check_log(self, log):
        if not self.restarts:
            assert not crashes(log), "; ".join(crashes(log))
        for line in re.findall(r".*(?:WARNING: |leaked|still referenced|reference leak|could not unlink).*", log):
            assert any(re.search(pattern, line) for pattern in self.allowed_in_log), line
        errors = re.findall(r"\[%d\] (?:ERROR|FATAL): .*" % self.first_pid, log) if not self.restarts else []
        assert len(errors) <= self.errors_allowed, "more than one error: %s" % errors

    # One row from beginning to end

    def run(self, function):
        """Runs the row and the checks; what is wrong, or None."""
        self.first_pid, self.errors_allowed = self.session.pid, 1
        log_before = self.server.log_size()
        try:
            function(self)
            self.check_after(log_before)
            return None
        except (AssertionError, RuntimeError) as error:
            return str(error) or repr(error)
        finally:
            self.clean_up()

    def clean_up(self):
        """Makes the server fit for the next row, also behind one that failed."""
        for pid in self.server.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        if self.control is not None and not self.control.is_running:
            self.control.exec("SELECT pg_advisory_unlock_all()")
        for session in self.sessions:
            if session.is_running:
                os.kill(session.pid, signal.SIGTERM)
                session.thread.join(10)
            if not session.is_running:
                session.close()
        wait_until(self.server.answers, 10, 0.05)
        fresh = self.server.connect()
        fresh.must("TRUNCATE t")
        fresh.close()
        if identity(self.file) != self.file_before:
            write_file(self.file)
