"""psycopg, a library that many use: COPY with rows and with blocks, given up by an exception, pipelined.

It is taken from where it is installed, or else fetched once into target/python.
"""

import asyncio
import importlib
import os
import subprocess
import sys

from common import HERE, SCHEMA, SETTINGS, csv

PACKAGES = os.path.join(os.environ.get("CARGO_TARGET_DIR") or os.path.join(HERE, "..", "..", "target"), "python")


def psycopg():
    """The module; None if it cannot be had."""
    if PACKAGES not in sys.path:
        sys.path.append(PACKAGES)
    try:
        import psycopg

        return psycopg
    except ImportError:
        pass
    fetch = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        PACKAGES,
        "psycopg==3.2.*",
    ]
    subprocess.run(
        fetch, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False
    )
    importlib.invalidate_caches()
    try:
        import psycopg

        return psycopg
    except ImportError:
        return None


class Given(Exception):
    """What the user's own code raises."""


def connect(module, place, on):
    conn = module.connect(place.conninfo(), autocommit=True, prepare_threshold=0)
    prepare(conn.execute, place, on)
    return conn


def statements(place, on):
    yield from (["LOAD 'fastcsv'"] if place.load else [])
    for setting in [
        *SETTINGS,
        "client_min_messages = warning",
        "search_path = hooked, public",
        "fastcsv.accelerate_copy = %s" % ("on" if on else "off"),
    ]:
        yield "SET " + setting


def prepare(execute, place, on):
    for statement in statements(place, on):
        execute(statement)


def outcome(error):
    diag = error.diag
    context = [line for line in (diag.context or "").split("\n") if not line.startswith("fastcsv: ")]
    return [type(error).__name__, diag.sqlstate, diag.message_primary, diag.message_detail, *context]


def attempts(module):
    """A name, and what is done with a connection: it returns what came of it."""

    def of_rows(count, raises=None, sql="COPY t FROM STDIN (FORMAT csv)", spoiled=None, size=1000):
        def attempt(conn):
            with conn.cursor() as cursor:
                with cursor.copy(sql) as copy:
                    body = csv(count, spoiled).encode()
                    for start in range(0, len(body), size):
                        copy.write(body[start : start + size])
                        if raises and start > len(body) // 2:
                            raise raises
                return cursor.statusmessage, cursor.rowcount

        return attempt

    def rows(conn):
        with conn.cursor() as cursor:
            with cursor.copy("COPY t (id, name) FROM STDIN (FORMAT csv)") as copy:
                for number in range(500):
                    copy.write('%d,"name, %d"\n' % (number, number))
            return cursor.statusmessage, cursor.rowcount

    def in_transaction(conn):
        with conn.transaction():
            of_rows(2000)(conn)
            try:
                with conn.transaction():
                    of_rows(2000, spoiled={1500: "x,y"})(conn)
            except module.Error as error:
                first = outcome(error)
            of_rows(10)(conn)
        return first

    def pipelined(conn):
        with conn.pipeline():
            cursors = [conn.execute("SELECT %s::int", [number]) for number in range(3)]
            conn.execute("INSERT INTO t VALUES (-1, 'before')")
        of_rows(2000)(conn)
        with conn.pipeline():
            after = conn.execute("SELECT count(*) FROM t")
        return [cursor.fetchone() for cursor in [*cursors, after]]

    def in_pipeline(conn):
        with conn.pipeline():
            return of_rows(10)(conn)

    yield "blocks", of_rows(3000)
    yield "one block", of_rows(3000, size=1 << 24)
    yield "rows", rows
    yield "nothing", of_rows(0)
    yield "an exception in the block", of_rows(3000, Given("enough"))
    yield "an exception behind a bad row", of_rows(3000, Given("enough"), spoiled={100: "x,y"})
    yield "a bad row", of_rows(3000, spoiled={2000: "x,y"})
    yield "a bad row at the end", of_rows(3000, spoiled={2999: "7"})
    yield "no table", of_rows(3000, sql="COPY nothing FROM STDIN CSV")
    yield "in a transaction", in_transaction
    yield "pipelined", pipelined
    yield "COPY in a pipeline", in_pipeline
    yield "for 20 MB", of_rows(1000000, size=1 << 16) if os.environ.get("FULL") else of_rows(100000, size=1 << 16)


def attempted(module, attempt, conn):
    try:
        result = attempt(conn)
    except Given as error:
        result = ["given up", str(error)]
    except module.Error as error:
        result = outcome(error)
    state = conn.info.transaction_status.name
    return [result, state, conn.execute("SELECT count(*), sum(id), max(name) FROM t").fetchone()]


async def unwaited(module, place, on):
    """Several COPYs at once, one of which is cancelled."""

    async def one(number):
        async with await module.AsyncConnection.connect(place.conninfo(), autocommit=True) as conn:
            for statement in statements(place, on):
                await conn.execute(statement)
            async with conn.cursor() as cursor:
                async with cursor.copy("COPY t FROM STDIN (FORMAT csv)") as copy:
                    for _ in range(5):
                        await copy.write(csv(500))
                        await asyncio.sleep(0.001)
                        if number == 2:
                            await asyncio.sleep(60)
                return cursor.rowcount

    tasks = [asyncio.ensure_future(one(number)) for number in range(3)]
    found = await asyncio.gather(*tasks[:2])
    tasks[2].cancel()
    try:
        await tasks[2]
        found.append("it went on")
    except asyncio.CancelledError:
        found.append("cancelled")
    return found


def run(checks, place):
    module = psycopg()
    if module is None:
        print("psycopg is not there, and cannot be fetched; it is not tested")
        return
    control = place.control()
    control.must("SET client_min_messages = warning")
    for name, attempt in attempts(module):
        if not checks.wants(name):
            continue
        found = []
        for on in (False, True):
            for statement in SCHEMA:
                control.must(statement)
            with connect(module, place, on) as conn:
                found.append([attempted(module, attempt, conn), attempted(module, attempt, conn)])
                if on and name == "blocks":
                    checks.equal(
                        name + ": taken over",
                        conn.execute("SELECT path, rows FROM fastcsv_last_run()").fetchone(),
                        ("parallel", 3000),
                    )
        checks.equal(name, found[1], found[0])
    if checks.wants("unwaited"):
        found = []
        for on in (False, True):
            for statement in SCHEMA:
                control.must(statement)
            found.append(
                [asyncio.run(unwaited(module, place, on)), control.must("SELECT count(*) FROM hooked.t")["rows"]]
            )
        checks.equal("unwaited", found[1], found[0])
        checks.equal("unwaited: rows", found[1], [[2500, 2500, "cancelled"], [["5000"]]])
