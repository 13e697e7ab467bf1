"""Clients that die, are told to stop or say nothing: the statement ends, and nothing is left."""

import os
import signal
import socket
import subprocess
import time

from common import SCHEMA, csv, wait_until
from wire import DONE, Wire, data, message, query

COPY = "COPY t FROM STDIN (FORMAT csv)"
# What a session has come to when it is stopped: a name, the data it has got, and what is left of a message.
STATES = {
    "before the data": (b"", b""),
    "in the first record": (b"1,na", b""),
    "in the data": (csv(5000).encode(), b""),
    "in a message's head": (csv(5000).encode(), b"d\0\0"),
    "in a message": (csv(5000).encode(), b"d\0\0\1\0" + b"1,name\n"),
    "behind a bad row": (csv(5000, {4000: "x,y"}).encode(), b""),
}
SLOW = """CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF NEW.id = 1000 THEN PERFORM pg_sleep(600); END IF; RETURN NEW; END$$"""
SOON = 2.0


class Scene:
    """One session that copies, and another that looks at it."""

    def __init__(self, place, on=True, slow=False):
        self.place, self.control = place, place.control()
        for statement in ["SET client_min_messages = warning", *SCHEMA, SLOW]:
            self.control.must(statement)
        if slow:
            self.control.must("CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow()")
        self.wire = Wire(place, on)
        self.pid = self.wire.key[0]

    def sql(self, statement):
        return self.control.must(statement)["rows"]

    def state(self):
        """What the session waits for: the client, the trigger or the worker."""
        found = self.sql("SELECT wait_event_type, wait_event FROM pg_stat_activity WHERE pid = %d" % self.pid)
        return tuple(found[0]) if found else None

    def start(self, sent, rest=b"", statement=COPY):
        self.wire.send(query(statement))
        self.wire.until("GE")
        self.wire.send(*[data(sent[start : start + 1000]) for start in range(0, len(sent), 1000)], rest)

    def waits_for(self, event):
        return wait_until(lambda: (self.state() or (None, None))[1] == event)

    def workers(self):
        return [
            pid for pid in os.listdir("/proc") if pid.isdigit() and "fastcsv worker for PID %d" % self.pid in title(pid)
        ]

    def left(self):
        """What is left of the session's load; nothing if all is well."""
        rows = {
            "rows": self.sql("SELECT count(*) FROM hooked.t")[0][0],
            "sessions": self.sql("SELECT count(*) FROM pg_stat_activity WHERE pid = %d" % self.pid)[0][0],
            "locks": self.sql("SELECT count(*) FROM pg_locks WHERE pid = %d" % self.pid)[0][0],
            "progress": self.sql("SELECT count(*) FROM pg_stat_progress_copy WHERE pid = %d" % self.pid)[0][0],
        }
        return {
            name: number for name, number in [*rows.items(), ("workers", str(len(self.workers())))] if number != "0"
        }

    def is_over(self, checks, what, stays=False):
        """The load is over, soon; the session stays, and can go on, if that is so."""
        expected = {"sessions": "1"} if stays else {}
        wait_until(lambda: self.left() == expected, SOON)
        checks.equal(what + ": what is left", self.left(), expected)
        if stays:
            self.wire.got.clear()
            self.wire.send(query(COPY), data(b"1,a\n"), DONE, query("SELECT count(*) FROM t"))
            self.wire.until_ready(2)
            checks.equal(
                what + ": goes on",
                [one for one in self.wire.got if one[0] in "CDE"],
                ["CCOPY 1\0", "D\0\1\0\0\0\0011", "CSELECT 1\0"],
            )
        else:
            session = self.place.session(True)
            checks.equal(what + ": the next session", session.run((COPY, [b"1,a\n"])).get("tag"), "COPY 1")
            session.close()

    def close(self):
        self.wire.close()
        self.control.close()


def title(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def run(checks, place):
    for name, (sent, rest) in STATES.items():
        for what, end in (("closed", closed), ("reset", reset), ("terminated", terminated)):
            if checks.wants("%s %s" % (what, name)):
                scene = Scene(place)
                scene.start(sent, rest)
                if "bad" not in name:
                    checks.check(
                        "%s %s: waits" % (what, name),
                        None if scene.waits_for("ClientRead") else "waits for %s" % (scene.state(),),
                    )
                end(scene)
                scene.is_over(checks, "%s %s" % (what, name))
                scene.close()
    for name, (sent, rest) in STATES.items():
        if not rest and "bad" not in name:
            for what, end in (
                ("cancelled by the client", by_client),
                ("cancelled", cancelled),
                ("out of time", out_of_time),
            ):
                if checks.wants("%s %s" % (what, name)):
                    stopped(checks, place, "%s %s" % (what, name), sent, end)
    for what, end in (("closed", closed), ("cancelled", cancelled), ("terminated", terminated)):
        if checks.wants("%s while rows are inserted" % what):
            inserting(checks, place, what, end)
    killed(checks, place)
    idle(checks, place)
    workerless(checks, place)


def closed(scene):
    scene.wire.close()


def reset(scene):
    scene.wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    scene.wire.close()


def terminated(scene):
    scene.sql("SELECT pg_terminate_backend(%d)" % scene.pid)


def cancelled(scene):
    scene.sql("SELECT pg_cancel_backend(%d)" % scene.pid)


def by_client(scene):
    """PQcancel: by a connection of its own, with the session's key."""
    pid, key = scene.wire.key
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(os.path.join(scene.place.host, ".s.PGSQL.%s" % scene.place.port))
        other.sendall(b"".join(number.to_bytes(4, "big", signed=number < 0) for number in (16, 80877102, pid, key)))
        other.recv(1)


def out_of_time(_scene):
    pass  # it has been told when


def stopped(checks, place, what, sent, end):
    """The client is heard to be silent; it is told at once that the statement is over, whatever it sends yet."""
    scene = Scene(place)
    if end is out_of_time:
        scene.wire.send(query("SET statement_timeout = '200ms'"))
        scene.wire.until_ready()
    scene.start(sent)
    scene.wire.got.clear()
    end(scene)
    begun = time.monotonic()
    scene.wire.until_ready()
    if end is not out_of_time:
        checks.check(
            what + ": soon", None if time.monotonic() - begun < SOON else "it took %.1f s" % (time.monotonic() - begun)
        )
    checks.equal(what, [one[2] for one in scene.wire.got if one[0] == "E"], ["57014"])
    scene.wire.send(data(b"2,b\n"), message("c"), query("RESET statement_timeout"))
    scene.wire.until_ready()
    scene.is_over(checks, what, stays=True)
    scene.close()


def inserting(checks, place, what, end):
    scene, what = Scene(place, slow=True), what + " while rows are inserted"
    scene.start(csv(1500).encode())
    checks.check(what + ": waits", None if scene.waits_for("PgSleep") else "waits for %s" % (scene.state(),))
    checks.equal(
        what + ": progress",
        scene.sql("SELECT command, type, relid::regclass FROM pg_stat_progress_copy WHERE pid = %d" % scene.pid),
        [["COPY FROM", "PIPE", "t"]],
    )
    end(scene)
    if end is closed:
        terminated(scene)  # nobody listens while a trigger sleeps
    if end is cancelled:
        scene.wire.until_ready()
        scene.wire.send(data(b"2,b\n"), DONE)
    scene.is_over(checks, what, stays=end is cancelled)
    scene.close()


def killed(checks, place):
    """psql is killed in the middle, with its input still open."""
    for name, options in (
        ("before the threads", []),
        ("with the threads", ["-c", "SET fastcsv.min_parallel_size = 0"]),
    ):
        what = "psql is killed " + name
        if not checks.wants(what):
            continue
        scene = Scene(place)
        program = [
            "psql",
            "-XqAt",
            "-h",
            place.host,
            "-p",
            place.port,
            "-U",
            place.user,
            "-d",
            "postgres",
            "-c",
            "LOAD 'fastcsv'" if place.load else "SELECT 1",
            *options,
            "-c",
            "SELECT pg_backend_pid()",
            "-c",
            r"\copy hooked.t from pstdin csv",
        ]
        psql = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PGOPTIONS": "-c client_min_messages=warning"},
        )
        lines = iter(psql.stdout.readline, "")
        scene.pid = int([line for line in (next(lines), *([next(lines)] if not place.load else []))][-1])
        psql.stdin.write(csv(200000))
        psql.stdin.flush()
        checks.check(what + ": waits", None if scene.waits_for("ClientRead") else "waits for %s" % (scene.state(),))
        psql.send_signal(signal.SIGKILL)
        psql.wait()
        scene.is_over(checks, what)
        psql.stdout.close()
        try:
            psql.stdin.close()
        except BrokenPipeError:
            pass
        scene.close()


def idle(checks, place):
    """A client that says nothing for a while costs nothing, and then goes on."""
    what = "a client that pauses"
    if not checks.wants(what):
        return
    scene = Scene(place)
    body = csv(5000).encode()
    scene.start(body)
    scene.waits_for("ClientRead")
    before = [cpu(pid) for pid in [scene.pid, *scene.workers()]]
    time.sleep(0.3)
    used = [now - then for then, now in zip(before, [cpu(pid) for pid in [scene.pid, *scene.workers()]])]
    checks.equal(what + ": workers", len(scene.workers()), 1)
    checks.check(what + ": time used", None if sum(used) <= 0.03 else "%r s" % used)
    scene.wire.send(data(body), DONE)
    scene.wire.until_ready()
    checks.equal(what, [one for one in scene.wire.got if one[0] in "CE"], ["CCOPY 10000\0"])
    scene.close()


def workerless(checks, place):
    """The worker is told to end: an error, and the client is listened to again."""
    what = "the worker ends"
    if not checks.wants(what):
        return
    scene = Scene(place)
    scene.start(csv(5000).encode())
    scene.waits_for("ClientRead")
    scene.wire.got.clear()
    os.kill(int(scene.workers()[0]), signal.SIGTERM)
    scene.wire.until_ready()
    checks.equal(what, [one[2] for one in scene.wire.got if one[0] == "E"], ["57P01"])
    scene.wire.send(data(b"2,b\n"), DONE)
    scene.is_over(checks, what, stays=True)
    scene.close()


def cpu(pid):
    with open("/proc/%s/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
