"""Statements that are cancelled, in every phase and very often, or run out of time: rows 5, 15 and 16."""
import os
import random
import signal
import threading
import time

from harness import ALL, GATE, GATE_LOCK, LOAD, RECORDS, SCAN, SOON, row
from server import wait_until

WAIT_FOR_GATE = """
CREATE FUNCTION pg_temp.gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.id = %d THEN PERFORM pg_advisory_xact_lock_shared(%d); END IF; RETURN NEW; END $$
""" % (GATE, GATE_LOCK)


@row("5", "cancelled while rows are read or inserted", operations=ALL)
def cancelled_in_the_middle(t):
    t.start_at_gate()
    t.cancel()
    t.expect_error(t.within(SOON), "57014", "canceling statement due to user request")


@row("5", "cancelled while the worker is awaited, before it starts; it then ends quietly", quick=(SCAN,))
def cancelled_before_start(t):
    t.session.must("SELECT count(*) FROM f WHERE false")
    postmaster = t.server.pid
    os.kill(postmaster, signal.SIGSTOP)
    try:
        t.session.start(t.sql())
        waits = "SELECT 1 FROM pg_stat_activity WHERE pid = %d AND wait_event_type = 'Extension'" % t.session.pid
        assert wait_until(lambda: t.control.must(waits)["rows"], 20), "the session does not wait"
        t.cancel()
        outcome = t.within(SOON)
    finally:
        os.kill(postmaster, signal.SIGCONT)
    t.expect_error(outcome, "57014")
    time.sleep(0.2)


@row("5", "cancelled while an index entry is made", operations=(LOAD,))
def cancelled_in_index(t):
    t.session.must("CREATE TABLE phase (id int, name text, x float8)")
    t.session.must("CREATE INDEX ON phase (at_gate_of_load(id))")
    cancel_load_of(t, "phase")


@row("5", "cancelled while an AFTER trigger runs", operations=(LOAD,))
def cancelled_in_trigger(t):
    t.session.must("CREATE TABLE phase (id int, name text, x float8)")
    t.session.must(WAIT_FOR_GATE)
    t.session.must("CREATE TRIGGER gate AFTER INSERT ON phase FOR EACH ROW EXECUTE FUNCTION pg_temp.gate()")
    cancel_load_of(t, "phase")


@row("5", "cancelled while the transaction commits", operations=(LOAD,))
def cancelled_in_commit(t):
    t.session.must("CREATE TABLE phase (id int, name text, x float8)")
    t.session.must(WAIT_FOR_GATE)
    t.session.must("CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON phase DEFERRABLE INITIALLY DEFERRED"
                   " FOR EACH ROW EXECUTE FUNCTION pg_temp.gate()")
    cancel_load_of(t, "phase")


def cancel_load_of(t, table):
    try:
        t.start_at_gate(sql=t.sql().replace("'t'", "'%s'" % table))
        t.cancel()
        t.expect_error(t.within(SOON), "57014")
        assert t.session.value("SELECT count(*) FROM %s" % table) == "0"
    finally:
        t.session.exec("DROP TABLE %s CASCADE" % table)


@row("5", "cancelled while count(*) is answered without rows", operations=(SCAN,))
def cancelled_in_count(t):
    big = os.path.join(t.folder, "big.csv")
    with open(t.file, "rb") as source, open(big, "wb") as target:
        data = source.read()
        for _ in range(40 if t.is_full else 10):
            target.write(data)
    try:
        for path in ("parallel", "serial"):
            t.session.must("ALTER FOREIGN TABLE f OPTIONS (SET filename '%s')" % big)
            t.session.must("SET fastcsv.min_parallel_size = '%s'" % ("0" if path == "parallel" else "1TB"))
            # Counting is too quick to be cancelled, but for ranges as small as these.
            t.session.must("SET fastcsv.range_size = 16")
            t.session.must("SET statement_timeout = 20")
            start = time.monotonic()
            outcome = t.session.exec("SELECT count(*) FROM f")
            took = time.monotonic() - start
            t.session.must("SET statement_timeout = 0")
            t.expect_error(outcome, "57014", "due to statement timeout")
            assert took < SOON, "%s: it took %.2f s" % (path, took)
    finally:
        t.session.exec("ALTER FOREIGN TABLE f OPTIONS (SET filename '%s')" % t.file)
        os.remove(big)
    t.errors_allowed = 2


def resident(pid):
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) // 1024


@row("15", "many sessions are cancelled at random, again and again")
def storm(t):
    sessions = [t.open() for _ in range(8 if t.is_full else 3)]
    rounds, problems, memory = (200 if t.is_full else 8), [], {}
    cancels = t.open()
    lock = threading.Lock()

    def suffer(session, seed):
        rng = random.Random(seed)
        for turn in range(rounds):
            session.start(t.sql())
            time.sleep(rng.uniform(0.001, 0.5 if t.is_full else 0.15))
            with lock:
                cancels.must("SELECT pg_cancel_backend(%d)" % session.pid)
            outcome = session.wait()
            if outcome["kind"] == "error" and outcome.get("sqlstate") != "57014":
                problems.append(outcome)
            if turn == rounds // 4:
                memory[session.pid] = resident(session.pid)

    threads = [threading.Thread(target=suffer, args=(session, seed)) for seed, session in enumerate(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[:3]
    for pid, then in memory.items():
        assert resident(pid) - then < 16, "PID %d grew from %d to %d MB" % (pid, then, resident(pid))
    t.rows_allowed = {turn * RECORDS for turn in range(len(sessions) * rounds + 1)}


@row("16", "statement_timeout")
def statement_timeout(t):
    t.session.must("SET statement_timeout = '300ms'")
    t.start_at_gate()
    t.expect_error(t.within(SOON), "57014", "canceling statement due to statement timeout")


@row("16", "lock_timeout", operations=(LOAD,))
def lock_timeout(t):
    t.control.must("BEGIN")
    t.control.must("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
    t.session.must("SET lock_timeout = '100ms'")
    t.session.start(t.sql())
    outcome = t.within(SOON)
    t.control.must("COMMIT")
    t.session.must("RESET lock_timeout")
    t.expect_error(outcome, "55P03", "canceling statement due to lock timeout")


@row("16", "idle_in_transaction_session_timeout with an open cursor", operations=(SCAN,))
def idle_timeout(t):
    t.session.must("SET idle_in_transaction_session_timeout = '200ms'")
    t.session.must("BEGIN")
    t.session.must("DECLARE c CURSOR FOR SELECT * FROM f")
    t.session.must("FETCH 100 FROM c")
    assert t.server.workers(t.session.pid), "there is no worker"
    assert wait_until(lambda: not os.path.exists("/proc/%d" % t.session.pid), 2), "the session is still there"


@row("16", "transaction_timeout")
def transaction_timeout(t):
    if t.session.version < 170000:
        return
    t.session.must("SET transaction_timeout = '2s'")
    t.start_at_gate()
    t.expect_error(t.within(2 + SOON), "25P04", "terminating connection due to transaction timeout")
