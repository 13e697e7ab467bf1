"""Rows 14, 25, 26 and 28 by the setting fastcsv.fault: panics, memory that runs out, threads that do not start."""
from harness import ALL, LOAD, PROGRAM, row


def fault(t, point):
    t.session.must("SET fastcsv.fault = '%s'" % point)
    return t.session.exec(t.sql())


@row("14", "panics in the session, the worker and a thread", operations=ALL)
def panics(t):
    t.errors_allowed = 5
    t.expect_error(fault(t, "backend-panic:3"), "XX000", "^fault point backend-panic$")
    t.expect_error(fault(t, "thread-panic:3"), "XX000", "^a fastcsv worker failed$")
    for point in ("worker-panic", "worker-exit"):
        t.expect_error(fault(t, point), "57P01", "^a fastcsv worker ended before its work was done$")


@row("25", "memory runs out in the session", quick=(LOAD,))
def session_memory(t):
    t.errors_allowed = 1000
    for count in range(1, 100, 1 if t.is_full else 7):
        outcome = fault(t, "allocation:%d" % count)
        if outcome["kind"] == "error":
            t.expect_error(outcome, "53200", "^out of memory$")
        else:
            t.expect_rows(outcome)
            t.session.must("TRUNCATE t")


@row("26", "memory runs out in the worker", operations=ALL, quick=(LOAD,))
def worker_memory(t):
    t.errors_allowed = 1000
    for count in range(1, 300, 3 if t.is_full else 37):
        outcome = fault(t, "worker-allocation:%d" % count)
        if outcome["kind"] == "error":
            t.expect_error(outcome, "53200", "^out of memory$")
        else:
            t.expect_rows(outcome)
            t.session.must("TRUNCATE t")


@row("28", "a thread cannot be started: fewer of them; none can: the session reads", operations=ALL, quick=(PROGRAM, LOAD))
def threads(t):
    for point, path, threads in (("thread-start:3", "parallel", "2"), ("thread-start:2", "parallel", "1"),
                                 ("thread-start:1", "serial", "0")):
        t.expect_rows(fault(t, point))
        run = t.session.must("SELECT path, threads FROM fastcsv_last_run()")["rows"][0]
        assert run == [path, threads], run
        t.session.must("TRUNCATE t")
