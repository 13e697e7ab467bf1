"""What the protocol allows, and what it does not: the same messages come back, whoever reads."""

import os
import struct
import time

from common import SCHEMA, Place, csv
from wire import DONE, FLUSH, SYNC, Wire, bind, data, describe, execute, extended, fail, message, parse, query

COPY = "COPY t FROM STDIN (FORMAT csv)"
LOOK = query("SELECT count(*), sum(id), max(name) FROM t")
READY = "ready"
GOOD, BAD = csv(2000).encode(), csv(2000, {1500: "x,y"}).encode()
SHORT = csv(2000, {1500: "77"}).encode()


def pieces(body, size):
    return [data(body[start : start + size]) for start in range(0, len(body), size)]


def spread(messages, others):
    """Puts other messages among these, from the first to the last."""
    step = max(1, len(messages) // len(others))
    mixed = []
    for number, one in enumerate(messages):
        if number % step == 0 and number // step < len(others):
            mixed.append(others[number // step])
        mixed.append(one)
    return mixed + others[len(messages) // step + 1 :]


def simple(*messages, copy=COPY):
    return [query(copy), "GE", *messages, READY, LOOK, READY]


def endings():
    """Where a load ends that does not end well: a name, and what comes before."""
    start = pieces(GOOD, 1000)
    yield "at once", []
    yield "behind a byte", [data(b"1")]
    yield "in the first record", [data(b"1,na")]
    yield "behind few rows", [data(b"1,name\n2,name\n")]
    yield "in the middle", start[:20]
    yield "in the middle, behind a record", pieces(GOOD[: GOOD.index(b"1234,")], 777)
    yield "in the middle of a quoted field", start[:20] + [data(b'\n7,"open\n\n')]
    yield "behind everything", start
    yield "behind a bad row", pieces(BAD, 1000)
    yield "shortly behind a bad row", pieces(BAD[: BAD.index(b"1510,")], 1000)
    yield "directly behind a bad row", pieces(BAD[: BAD.index(b"1501,")], 1000)
    yield "in a bad row", pieces(BAD[: BAD.index(b"x,y") + 3], 1000)
    yield "behind the end marker", start + [data(b"\\.\n")]


def exchanges():
    """A name, what is sent (strings are kinds of messages to wait for), and whether the threads read it."""
    for size in (1, 2, 3, 7, 100, 4096, 1 << 20):
        yield "messages of %d bytes" % size, simple(*pieces(GOOD, size), DONE), True
        yield "messages of %d bytes, a bad row" % size, simple(*pieces(BAD, size), DONE), None
    some = pieces(GOOD, 100)
    yield "empty messages", simple(*spread(some, [data(b"")] * len(some)), data(b""), DONE), True
    yield "nothing but empty messages", simple(data(b""), data(b""), DONE), None
    yield "Flush and Sync in the middle", simple(*spread(some, [FLUSH, SYNC, FLUSH, SYNC]), FLUSH, SYNC, DONE), True
    yield "Flush and Sync before all", simple(SYNC, FLUSH, *some, DONE), True
    yield "CopyDone at once", simple(DONE), None
    yield "CopyDone at once, where a header should be", simple(
        DONE, copy="COPY t FROM STDIN (FORMAT csv, HEADER)"
    ), None
    yield "CopyDone with a body", simple(*some, message("c", b"body")), True
    yield "a header that is wrong", simple(*some, DONE, copy="COPY t FROM STDIN (FORMAT csv, HEADER match)"), None
    yield "no table", simple(*some, DONE, copy="COPY nothing FROM STDIN (FORMAT csv)"), None
    yield "a missing field", simple(*pieces(SHORT, 100), DONE), None
    yield "a quote that is not closed", simple(*some, data(b'9,"open'), *some, DONE), None
    yield "no line end at the end", simple(*pieces(GOOD[:-1], 100), DONE), True
    yield "the end marker", simple(*some, data(b"\\.\n"), DONE), None
    yield "the end marker without a line end", simple(*some, data(b"\\."), DONE), None
    yield "data behind the end marker", simple(*some, data(b"\\.\n"), *some, data(b"x,y\n"), DONE), None
    yield "data behind the end marker in its message", simple(*some, data(b"\\.\nx,y\n"), DONE), None
    yield "the end marker in two messages", simple(*some, data(b"\\"), data(b".\n"), data(b"x,y\n"), DONE), None
    yield "the end marker first", simple(data(b"\\.\n"), *some, DONE), None
    for name, before in endings():
        yield "CopyFail " + name, simple(*before, fail("no more")), None
        for kind in "QXpz\0":
            yield "message %r %s" % (kind, name), simple(*before, message(kind, b"SELECT 1\0")), None
    yield "CopyFail without words", simple(fail("")), None
    yield "CopyFail with bad characters", simple(*some, message("f", b"\xff\xfe\0")), None
    yield "CopyFail without an end", simple(*some, message("f", b"no more")), None
    for name, bad in (
        ("a short length", b"d\0\0\0\3"),
        ("a negative length", b"d\xff\xff\xff\xff"),
        ("a long CopyDone", b"c\0\1\0\0"),
        ("too long a message", b"d" + struct.pack("!I", 0x7FFFFFFF)),
    ):
        yield name, simple(*some, bad), None
    two = "%s; SELECT count(*) FROM t; COPY t FROM STDIN CSV; SELECT count(*) FROM t" % COPY
    yield "two COPYs in a query", [query(two), "GE", *some, DONE, "GEZ", *some, DONE, READY, LOOK, READY], None
    yield "two COPYs in a query, sent at once", [query(two), *some, DONE, *some, DONE, READY, LOOK, READY], None
    yield "two COPYs in a query, the second is bad", [
        query(two),
        *some,
        DONE,
        *pieces(BAD, 100),
        DONE,
        READY,
        LOOK,
        READY,
    ], None
    yield "in a transaction", [
        query("BEGIN"),
        READY,
        query(COPY),
        *pieces(BAD, 100),
        DONE,
        READY,
        LOOK,
        READY,
        query("ROLLBACK"),
        READY,
        *simple(*some, DONE),
    ], None
    yield from extended_exchanges(some, pieces(BAD, 100))


# What else may be the case: settings, and that the threads need not be able to read.
CIRCUMSTANCES = {
    "without a worker": ["fastcsv.fault = 'thread-start'"],
    "with little memory": ["fastcsv.memory = '1MB'", "fastcsv.range_size = 1000"],
    "where records end late": ["fastcsv.range_size = 1"],
}


def circumstantial():
    """Exchanges that are tried under these circumstances too."""
    for name, steps, _ in exchanges():
        if name.startswith(
            (
                "messages of 7 ",
                "messages of 4096 ",
                "Flush",
                "CopyFail ",
                "message 'Q'",
                "data behind",
                "extended: pipelined",
                "extended: Sync behind",
                "extended: Flush",
            )
        ):
            yield name, steps
    long = b'7,"' + b"long\n" * 500000 + b'"\n'
    for name, end in (("", DONE), (", CopyFail", fail("no more")), (", a bad row", data(b"x,y\n") + DONE)):
        yield "a long record" + name, simple(*pieces(GOOD, 5000), *pieces(long, 100000), *pieces(GOOD, 5000), end)


def extended_exchanges(good, bad):
    look = extended("SELECT count(*), sum(id) FROM t")
    for what, rows in (("", good), (", a bad row", bad)):
        taken = True if rows is good else None
        yield "extended: Sync before the data" + what, [
            extended(COPY) + SYNC,
            "GE",
            *rows,
            DONE + SYNC,
            READY,
            LOOK,
            READY,
        ], taken
        yield "extended: no Sync before the data" + what, [
            extended(COPY) + FLUSH,
            "GE",
            *rows,
            DONE + SYNC,
            READY,
            LOOK,
            READY,
        ], taken
        yield "extended: pipelined" + what, [
            b"".join([extended(COPY), *rows, DONE, SYNC, look, SYNC, look, SYNC]),
            READY,
            READY,
            READY,
        ], taken
        yield "extended: pipelined without Sync" + what, [
            b"".join([extended(COPY), *rows, DONE, look, look, SYNC]),
            READY,
            LOOK,
            READY,
        ], taken
        yield "extended: Flush and Sync in the middle" + what, [
            extended(COPY) + FLUSH,
            "GE",
            *spread(rows, [FLUSH, SYNC, FLUSH]),
            DONE + SYNC,
            READY,
            LOOK,
            READY,
        ], None
        yield "extended: two COPYs" + what, [
            b"".join([extended(COPY), *good, DONE, extended(COPY), *rows, DONE, look, SYNC]),
            READY,
            LOOK,
            READY,
        ], None
        named = bind("s") + execute()
        yield "extended: a prepared statement" + what, [
            parse(COPY, "s") + SYNC,
            READY,
            b"".join([named, *good, DONE, SYNC]),
            READY,
            b"".join([named, *rows, DONE, SYNC]),
            READY,
            b"".join([named, *good, DONE, SYNC]),
            READY,
            LOOK,
            READY,
        ], None
    yield "extended: at most a row", [
        parse(COPY) + bind() + describe() + execute(rows=1) + FLUSH,
        "GE",
        *good,
        DONE + SYNC,
        READY,
        LOOK,
        READY,
    ], True
    yield "extended: CopyFail", [
        extended(COPY) + FLUSH,
        "GE",
        *good[:50],
        fail("no"),
        look + SYNC,
        READY,
        LOOK,
        READY,
    ], None
    yield "extended: Sync behind a bad row", [
        extended(COPY) + FLUSH,
        "GE",
        *bad,
        SYNC,
        *good,
        DONE + SYNC,
        READY,
        READY,
        LOOK,
        READY,
    ], None
    yield "extended: CopyFail behind a bad row", [
        extended(COPY) + FLUSH,
        "GE",
        *bad,
        fail("no"),
        look + SYNC,
        READY,
        LOOK,
        READY,
    ], None
    yield "extended: Parse in the middle", [
        extended(COPY) + FLUSH,
        "GE",
        *good[:50],
        look,
        SYNC,
        READY,
        LOOK,
        READY,
    ], None
    yield "extended: no table", [
        b"".join([extended("COPY nothing FROM STDIN CSV"), *good, DONE, look, SYNC]),
        READY,
        LOOK,
        READY,
    ], None


def exchange(place, on, steps, setup=SCHEMA):
    """What the server says, and the loads that it reports."""
    control = place.control()
    for statement in ["SET client_min_messages = warning", *setup]:
        control.must(statement)
    control.close()
    wire = Wire(place, on)
    for step in batched(steps):
        if isinstance(step, bytes):
            wire.send(step)
        elif step == READY:
            wire.until_ready()
        else:
            wire.until(step)
        if wire.got[-1:] == ["the end"]:
            break
    wire.close()
    return wire


def batched(steps):
    """Messages that are sent one behind the other are sent together; the server takes them one by one all the same."""
    together = []
    for step in steps:
        if isinstance(step, bytes):
            together.append(step)
        else:
            if together:
                yield b"".join(together)
            together = []
            yield step
    if together:
        yield b"".join(together)


def run(checks, place):
    for name, steps, taken in exchanges():
        if not checks.wants(name):
            continue
        begun = time.monotonic()
        off, on = exchange(place, False, steps), exchange(place, True, steps)
        if checks.verbose:
            print("%5.2f s %s" % (time.monotonic() - begun, name))
        checks.same(name, off.got, on.got)
        if taken:
            checks.equal(name + ": taken over", {run["path"] for run in on.loads}, {"parallel"})
    for circumstance, settings in CIRCUMSTANCES.items():
        elsewhere = Place(place.host, place.port, place.user, place.load, [*place.settings, *settings], place.folder)
        for name, steps in circumstantial():
            is_slow = "range_size = 1'" in str(settings) and "long" in name  # a few bytes are on their way at a time
            if not is_slow and checks.wants(name + ", " + circumstance):
                begun = time.monotonic()
                off, on = exchange(elsewhere, False, steps), exchange(elsewhere, True, steps)
                if checks.verbose:
                    print("%5.2f s" % (time.monotonic() - begun), end=" ")
                checks.same(name + ", " + circumstance, off.got, on.got)
    large(checks, place)


def large(checks, place):
    """One message of many megabytes, and many messages that come slowly at first."""
    megabytes = 1000 if os.environ.get("FULL") else 64
    name = "a message of %d MB" % megabytes
    if not checks.wants(name):
        return
    record = b"1," + b"x" * 100000 + b"\n"
    body = record * (megabytes * 1000000 // len(record))
    steps = [
        query("COPY t FROM STDIN (FORMAT csv) WHERE id = 0"),
        "GE",
        b"d" + struct.pack("!i", len(body) + 4),
        body,
        data(b"0,behind\n"),
        DONE,
        READY,
        LOOK,
        READY,
    ]
    took = []
    found = []
    for on in (False, True):
        begun = time.monotonic()
        found.append(exchange(place, on, steps))
        took.append(time.monotonic() - begun)
    off, on = found
    checks.same(name, off.got, on.got)
    checks.equal(name + ": taken over", [run["path"] for run in on.loads], ["parallel"])
    # The threads get it in small pieces. If one side missed that the other had gone on, each would take a second.
    checks.check(
        name + ": no pauses",
        "%.1f s, without acceleration %.1f s" % (took[1], took[0]) if took[1] > 10 * took[0] + 15 else None,
    )
