"""Processes that are killed, stopped and told to go: rows 1 to 4 and 6 to 13."""
import contextlib
import os
import random
import signal
import stat
import subprocess
import time

from harness import ALL, GATE_LOCK, LOAD, SCAN, SOON, row
from server import wait_until


@row("1", "a worker is killed: the server restarts, as it must", quick=(LOAD,))
def worker_killed(t):
    for _ in range(20 if t.is_full else 1):
        t.restarts = True
        t.seen_memory.clear()  # what the last turn's server had
        t.start_at_gate()
        if t.is_full:
            t.open_gate()
            time.sleep(random.random() / 20)
        for worker in t.server.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        outcome = t.session.wait(30)
        assert outcome["kind"] == "error" or outcome["rows"] == t.expected(), outcome
        t.server.wait_for_recovery()
        if t.operation == LOAD:
            t.server.connect().must("TRUNCATE t")
        t.control, t.session = t.open(), t.open()


@row("2", "a worker is terminated: one error within a second", operations=ALL)
def worker_terminated(t):
    t.start_at_gate()
    os.kill(t.worker(), signal.SIGTERM)
    assert wait_until(lambda: not t.server.workers(), SOON), "the worker does not end"
    t.open_gate()
    t.expect_error(t.within(SOON), "57P01", "^a fastcsv worker ended before its work was done$")
    t.allowed_in_log.append("terminating background worker")


@row("2", "a worker is terminated while the session waits for it", operations=ALL, quick=(SCAN,))
def worker_terminated_in_wait(t):
    worker = stopped_worker(t)
    os.kill(worker, signal.SIGTERM)
    os.kill(worker, signal.SIGCONT)
    t.expect_error(t.within(SOON), "57P01", "^a fastcsv worker ended before its work was done$")


def stopped_worker(t):
    """The session waits for a worker that is stopped."""
    t.start_at_gate()
    worker = t.worker()
    os.kill(worker, signal.SIGSTOP)
    t.open_gate()
    event = "Extension" if t.session.version < 170000 else "FastcsvWorker"
    waits = "SELECT 1 FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Extension' AND wait_event = '%s'" % (
        t.session.pid, event)
    assert wait_until(lambda: t.control.must(waits)["rows"], 20), "the session does not wait: %s" % t.control.must(
        "SELECT state, wait_event_type, wait_event FROM pg_stat_activity WHERE pid = %d" % t.session.pid)
    return worker


@row("3", "a worker is stopped: the session can be cancelled, and the worker ends quietly once it goes on", operations=ALL)
def worker_stopped(t):
    worker = stopped_worker(t)
    t.cancel()
    t.expect_error(t.within(SOON), "57014", "canceling statement due to user request")
    assert t.session.value("SELECT 1") == "1"
    os.kill(worker, signal.SIGCONT)
    assert wait_until(lambda: worker not in t.server.children(), 2), "the worker does not end"


@row("3", "a worker is stopped and goes on: the result is whole", operations=ALL, quick=(LOAD,))
def worker_stopped_for_a_while(t):
    worker = stopped_worker(t)
    time.sleep(10 if t.is_full else 0.5)
    os.kill(worker, signal.SIGCONT)
    t.expect_rows(t.session.wait())


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@row("4", "a session is stopped: its worker sleeps, and goes on with it", operations=ALL, quick=(SCAN,))
def session_stopped(t):
    t.start_at_gate()
    worker = t.worker()
    time.sleep(0.3)  # the threads run ahead as far as they may
    os.kill(t.session.pid, signal.SIGSTOP)
    before, pause = cpu_seconds(worker), 10 if t.is_full else 1
    time.sleep(pause)
    used = cpu_seconds(worker) - before
    os.kill(t.session.pid, signal.SIGCONT)
    assert used <= 0.02 * pause, "the worker used %.2f s of %d s" % (used, pause)
    t.open_gate()
    t.expect_rows(t.session.wait())


@row("6", "a session is terminated", operations=ALL)
def session_terminated(t):
    t.start_at_gate()
    t.control.must("SELECT pg_terminate_backend(%d)" % t.session.pid)
    t.within(SOON)
    assert wait_until(lambda: not os.path.exists("/proc/%d" % t.session.pid), SOON), "the session is still there"


@row("6", "a session is terminated while it waits for its worker", operations=ALL, quick=(LOAD,))
def session_terminated_in_wait(t):
    worker = stopped_worker(t)
    t.control.must("SELECT pg_terminate_backend(%d)" % t.session.pid)
    t.within(SOON)
    os.kill(worker, signal.SIGCONT)


@row("7", "a session is killed: the server restarts", quick=())
def session_killed(t):
    t.restarts = True
    t.start_at_gate()
    os.kill(t.session.pid, signal.SIGKILL)
    t.session.wait(30)


@row("8", "immediate stop in the middle", quick=(LOAD,))
def immediate_stop(t):
    t.restarts = True
    t.start_at_gate()
    worker = t.worker()
    t.server.stop("immediate")
    assert wait_until(lambda: not os.path.exists("/proc/%d" % worker), 5), "a worker is left"
    t.server.start()


@row("9", "the postmaster is killed: workers end, and nothing keeps it from starting again", quick=(SCAN,))
def postmaster_killed(t):
    t.restarts = True
    t.start_at_gate()
    worker = t.worker()
    os.kill(t.server.pid, signal.SIGKILL)
    assert wait_until(lambda: not os.path.exists("/proc/%d" % worker), 5), "a worker is left"
    start_again(t)


@row("9", "the postmaster is killed while the session waits for its worker", quick=(LOAD,))
def postmaster_killed_in_wait(t):
    t.restarts = True
    worker = stopped_worker(t)
    os.kill(t.server.pid, signal.SIGKILL)
    assert wait_until(lambda: not os.path.exists("/proc/%d" % t.session.pid), 5), "the session waits on"
    os.kill(worker, signal.SIGCONT)
    assert wait_until(lambda: not os.path.exists("/proc/%d" % worker), 5), "a worker is left"
    start_again(t)


def start_again(t):
    """The server is not started as long as some process of the old one is there."""
    assert wait_until(lambda: not any(os.path.exists("/proc/%d" % session.pid) for session in t.sessions), 5)
    time.sleep(0.2)
    t.server.start()


@row("10", "fast stop in the middle", quick=(SCAN,))
def fast_stop(t):
    t.restarts = True
    t.start_at_gate()
    start = time.monotonic()
    t.server.stop("fast")
    assert time.monotonic() - start < 10, "it took %.1f s" % (time.monotonic() - start)
    t.server.start()


@row("11", "the client is killed while rows come", operations=(SCAN,))
def client_killed(t):
    psql = os.path.join(t.server.dir, "bin", "psql")
    settings = "-c fastcsv.min_parallel_size=0 -c fastcsv.range_size=64kB"
    client = subprocess.Popen([psql, "-h", t.server.dir, "-U", "postgres", "-v", "FETCH_COUNT=1000", "-c", "SELECT * FROM f"],
                              env=dict(os.environ, PGOPTIONS=settings), stdout=subprocess.PIPE)
    client.stdout.read(1000)
    assert wait_until(t.server.workers, 10), "there is no worker"
    client.kill()
    client.stdout.close()
    client.wait()
    assert wait_until(lambda: not t.server.workers(), 2), "the worker goes on"


@row("11", "the client is killed while a load is going on", operations=(LOAD,))
def client_of_load_killed(t):
    psql = os.path.join(t.server.dir, "bin", "psql")
    settings = "-c fastcsv.min_parallel_size=0 -c fastcsv.range_size=64kB -c client_connection_check_interval=50ms"
    t.control.must("SELECT pg_advisory_lock(%d)" % GATE_LOCK)
    client = subprocess.Popen([psql, "-h", t.server.dir, "-U", "postgres", "-c", t.sql()],
                              env=dict(os.environ, PGOPTIONS=settings, PGAPPNAME="killed"), stdout=subprocess.DEVNULL)
    waits = "SELECT pid FROM pg_stat_activity WHERE application_name = 'killed' AND wait_event = 'advisory'"
    assert wait_until(lambda: t.control.must(waits)["rows"], 10), "the gate is not reached"
    client.kill()
    client.wait()
    t.open_gate()
    assert wait_until(lambda: not t.server.workers(), 2 * SOON), "the worker goes on"
    t.allowed_in_log.append("connection to client lost")


@row("12", "no worker slot: the same result, and a note", operations=ALL, quick=(LOAD,))
def no_slot(t):
    t.restarts = True
    t.server.restart(["max_worker_processes=1"])  # which is the logical replication launcher's
    t.session = t.open("client_min_messages = debug1")
    names = t.server.shared_memory()
    outcome = t.session.exec(t.sql())
    notices = [notice["message"] for notice in t.session.notices]
    assert t.server.shared_memory() == names, "left behind: %s" % t.server.shared_memory()
    t.expect_rows(outcome)
    assert "fastcsv reads serially: no background worker slot is free" in notices, notices
    t.server.restart()


@row("13", "the worker cannot load the library: one error, no wait", operations=ALL, quick=(SCAN,))
def library_unreadable(t):
    t.session.must("SELECT count(*) FROM f")
    config = os.path.join(t.server.dir, "bin", "pg_config")
    folder = subprocess.run([config, "--pkglibdir"], capture_output=True, text=True, check=True).stdout.strip()
    library = os.path.join(folder, "fastcsv.so")
    mode = stat.S_IMODE(os.stat(library).st_mode)
    os.chmod(library, 0)
    try:
        t.session.start(t.sql())
        outcome = t.within(2)
    finally:
        os.chmod(library, mode)
    t.expect_error(outcome, "57P01", "^a fastcsv worker ended before its work was done$")
