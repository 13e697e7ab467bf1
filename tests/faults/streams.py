"""Programs and FIFOs that do not do what they should: rows 36, 37, 44 and 45."""
import gzip
import os
import signal
import time

from harness import PROGRAM, SCAN, SOON, row
from memory import BESIDE, Sampler
from server import children_of, wait_until
from signals import cpu_seconds


class Fifo:
    """A FIFO that the scanned table reads. Nobody writes into it yet."""

    def __init__(self, t):
        self.t, self.path = t, os.path.join(t.folder, "fifo")
        os.mkfifo(self.path, 0o644)
        os.chmod(self.path, 0o644)
        t.control.must("ALTER FOREIGN TABLE f OPTIONS (SET filename '%s')" % self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.t.session.is_running:
            os.kill(self.t.session.pid, signal.SIGTERM)
            self.t.session.wait()
        self.t.control.must("ALTER FOREIGN TABLE f OPTIONS (SET filename '%s')" % self.t.file)
        os.remove(self.path)


def waits(t):
    sql = "SELECT 1 FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Extension'" % t.session.pid
    assert wait_until(lambda: t.control.must(sql)["rows"], 10), "the session does not wait: %s" % t.session.outcome


@row("36", "a FIFO that nobody writes into: the statement can be cancelled, and runs out of time", operations=(SCAN,))
def silent_fifo(t):
    with Fifo(t) as fifo:
        for has_writer in (False, True):
            writer = os.open(fifo.path, os.O_RDWR) if has_writer else None
            t.session.start(t.sql())
            waits(t)
            t.cancel()
            t.expect_error(t.within(SOON), "57014")
            t.session.must("SET statement_timeout = '100ms'")
            t.session.start(t.sql())
            t.expect_error(t.within(SOON), "57014", "due to statement timeout")
            t.session.must("SET statement_timeout = 0")
            if writer is not None:
                os.close(writer)
        t.session.start(t.sql())
        waits(t)
        t.control.must("SELECT pg_terminate_backend(%d)" % t.session.pid)
        t.within(SOON)
    t.errors_allowed = 5


@row("37", "a slow FIFO: rows come as they are written, and nobody is busy", operations=(SCAN,))
def slow_fifo(t):
    with Fifo(t) as fifo:
        # COPY's parser, which reads the first row, fills its buffer of 64 kB before it looks at it.
        at_once = 10_000
        t.session.must("BEGIN; DECLARE c CURSOR FOR SELECT id FROM f")
        t.session.start("FETCH %d FROM c" % (at_once + 20))
        with open(fifo.path, "w") as file:
            file.write("7,first,1\n" * at_once)
            begun, used = time.monotonic(), cpu_seconds(t.session.pid)
            for number in range(1, 21 + 1):
                file.write("%d,x,1\n" % number)
                file.flush()
                time.sleep(0.1)
            took, used = time.monotonic() - begun, cpu_seconds(t.session.pid) - used
            assert used < 0.05 * took + 0.02, "%.2f s of %.2f s" % (used, took)
            assert t.session.wait(5)["rows"][-1] == ["20"]
            for worker in t.server.workers():
                assert cpu_seconds(worker) < 0.1 * took, "the worker used %.2f s" % cpu_seconds(worker)
            t.session.start("FETCH 20 FROM c")
            time.sleep(0.2)
            t.cancel()
            t.expect_error(t.within(SOON), "57014")
        t.session.must("ROLLBACK")


def use_program(t, command):
    t.control.must("ALTER FOREIGN TABLE fp OPTIONS (SET program $p$%s$p$)" % command)


@row("44", "a program that never stops: memory is bounded, and the statement can be cancelled", operations=(PROGRAM,))
def endless_program(t):
    use_program(t, "yes 1,name,2.5")
    try:
        assert t.session.value("SELECT count(*) FROM (SELECT * FROM fp LIMIT 100000) s") == "100000"
        with Sampler(t) as sampler:
            t.session.start("SELECT count(*) FROM fp OFFSET 0")
            time.sleep(10 if t.is_full else 1)
            t.cancel()
            t.expect_error(t.within(SOON), "57014")
        assert sampler.megabytes < 64 + BESIDE, "%.0f MB" % sampler.megabytes
        assert wait_until(lambda: not children_of(t.session.pid), 2), "the program goes on"
    finally:
        use_program(t, "cat " + t.file)


@row("44", "a program that says nothing: the statement can be cancelled", operations=(PROGRAM,))
def silent_program(t):
    use_program(t, "sleep 1000")
    try:
        t.session.start(t.sql())
        waits(t)
        t.cancel()
        t.expect_error(t.within(SOON), "57014")
        assert wait_until(lambda: not children_of(t.session.pid), 2), "the program goes on"
    finally:
        use_program(t, "cat " + t.file)


@row("45", "programs that fail, and archives that are cut off: an error, and no row", operations=(PROGRAM,))
def failing_programs(t):
    archive = os.path.join(t.folder, "data.csv.gz")
    with open(t.file, "rb") as file, gzip.open(archive, "wb", 1) as packed:
        packed.write(file.read())
    os.truncate(archive, os.path.getsize(archive) // 2)
    os.chmod(archive, 0o644)
    programs = {"gzip -dc %s" % archive: "child process exited with exit code 1",
                "cat %s; exit 3" % t.file: "child process exited with exit code 3",
                "cat %s; kill -9 $$" % t.file: "child process was terminated by signal 9: Killed",
                "no-such-program": "command not found"}
    try:
        for size in ("0", "1TB"):
            t.session.must("SET fastcsv.min_parallel_size = '%s'" % size)
            for program, detail in programs.items():
                use_program(t, program)
                outcome = t.session.exec("INSERT INTO t SELECT * FROM fp")
                if "gzip" in program and outcome.get("sqlstate") == "22P04":
                    continue  # the last record is cut off, too
                t.expect_error(outcome, "38000", "^program .* failed$")
                assert outcome["detail"] == detail, outcome
    finally:
        use_program(t, "cat " + t.file)
        os.remove(archive)
    t.errors_allowed = 20


@row("45", "the reader of a program that is killed in the middle", operations=(PROGRAM,))
def killed_program(t):
    t.start_at_gate()
    for child in children_of(t.session.pid):
        for pid in [*children_of(child), child]:
            os.kill(pid, signal.SIGKILL)
    t.open_gate()
    outcome = t.session.wait()
    if outcome["kind"] != "error":
        t.expect_rows(outcome)  # it had written everything before
    else:
        assert outcome["sqlstate"] in ("38000", "22P04"), outcome
