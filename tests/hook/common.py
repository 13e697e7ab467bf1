"""What all parts of this test share: files, sessions with and without acceleration, outcomes that can be compared."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import pq

# Where in the statement an error is, too.
pq.FIELDS.update(position="P", internal_position="p", internal_query="q")
ERROR_FIELDS = [
    "severity",
    "sqlstate",
    "message",
    "detail",
    "hint",
    "schema",
    "table",
    "column",
    "datatype",
    "constraint",
    "position",
    "internal_position",
    "internal_query",
]
# Each session: small pieces, so that little data is enough for the threads, and reports of what was read.
SETTINGS = [
    "client_min_messages = debug1",
    "fastcsv.min_parallel_size = 0",
    "fastcsv.range_size = 4096",
    "lc_messages = 'C'",
    "datestyle = 'ISO'",
]
SCHEMA = [
    "DROP SCHEMA IF EXISTS hooked CASCADE",
    "CREATE SCHEMA hooked",
    "SET search_path = hooked, public",
    "CREATE TABLE t (id int, name text)",
]
ROWS = 3000
LOOK = "SELECT count(*), sum(id), max(name) FROM t"


def wait_until(condition, seconds=10.0, step=0.01):
    """What the condition has come to within so many seconds."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > end:
            return found
        time.sleep(step)


def csv(count=ROWS, spoiled=None):
    """Rows for the table t; one of them may be spoiled."""
    lines = ["%d,name %d" % (n, n) for n in range(count)]
    for number, line in (spoiled or {}).items():
        lines[number] = line
    return "\n".join(lines) + "\n"


def copy(path, table="t", more="", options="FORMAT csv"):
    return "COPY %s FROM '%s' (%s)%s" % (table, path, options, more)


class Checks:
    """Counts, and tells of what is wrong."""

    def __init__(self, only=None, verbose=False):
        self.passed, self.failed, self.prefix, self.only, self.verbose = 0, 0, "", only, verbose

    def wants(self, what):
        return not self.only or re.search(self.only, self.prefix + what)

    def check(self, what, why):
        if why:
            self.failed += 1
            print("FAILED %s%s\n    %s" % (self.prefix, what, why), flush=True)
        else:
            self.passed += 1
            if self.verbose:
                print("ok %s%s" % (self.prefix, what), flush=True)

    def equal(self, what, got, expected):
        self.check(what, None if got == expected else "expected %s\n         got %s" % (shown(expected), shown(got)))

    def same(self, what, off, on):
        """Two lists of outcomes; tells of the first that differ."""
        why = None
        for number, (one, other) in enumerate(zip(off, on)):
            if one != other:
                why = "%d: off %s\n       on %s" % (number, shown(one), shown(other))
                break
        if why is None and len(off) != len(on):
            why = "off has %d outcomes, on %d; the next is %s" % (
                len(off),
                len(on),
                shown((off + on)[min(len(off), len(on))]),
            )
        self.check(what, why)


def shown(value):
    text = repr(value)
    return text if len(text) < 900 else text[:600] + " ... " + text[-250:]


def own_line(context):
    """The lines that fastcsv adds to a CONTEXT, and the others."""
    lines = (context or "").split("\n")
    return [line for line in lines if line.startswith("fastcsv: ")], [
        line for line in lines if not line.startswith("fastcsv: ")
    ]


def plain(fields):
    """An error's or notice's fields, without what fastcsv adds."""
    return [fields.get(name) for name in ERROR_FIELDS] + own_line(fields.get("context"))[1]


class Session:
    """A session in which COPY is accelerated or not."""

    def __init__(self, conninfo, on, load=True, settings=(), schema="hooked, public"):
        self.conninfo, self.conn, self.on = conninfo, pq.Conn(conninfo), on
        self.runs = []
        if load:
            self.conn.must("LOAD 'fastcsv'")
        for setting in [*SETTINGS, *settings]:
            self.conn.exec("SET " + setting)  # which not everybody may
        self.conn.must("SET fastcsv.accelerate_copy = %s" % ("on" if on else "off"))
        self.conn.must("SET search_path = " + schema)

    @property
    def pid(self):
        return int(self.value("SELECT pg_backend_pid()"))

    def value(self, sql):
        return self.conn.must(sql)["rows"][0][0]

    def run(self, step):
        """One statement, or (COPY FROM STDIN, messages[, failure]); its outcome, to be compared."""
        result = self.conn.exec(step) if isinstance(step, str) else self.conn.copy_in(*step)
        notices = []
        for notice in self.conn.notices:
            if not notice["severity"].startswith("DEBUG"):
                notices.append(plain(notice))
            elif notice["message"].startswith("fastcsv has read: "):
                self.runs.append(json.loads(notice["message"].partition(": ")[2]))
        outcome = (
            {"error": plain(result)} if result["kind"] == "error" else {k: v for k, v in result.items() if k != "kind"}
        )
        if notices:
            outcome["notices"] = notices
        return outcome

    def loads(self):
        """The loads that were done here rather than by COPY, as they were reported since this was asked last."""
        runs, self.runs = self.runs, []
        return [run for run in runs if run["operation"] == "load"]

    def close(self):
        self.conn.close()


class Place:
    """A server, and the files it reads."""

    def __init__(self, host, port, user, load=True, settings=(), folder=None):
        self.host, self.port, self.user, self.load, self.settings = host, port, user, load, settings
        self.folder = folder or tempfile.mkdtemp(prefix="fastcsv-hook.")
        self.has_own_folder = folder is None
        os.chmod(self.folder, 0o755)

    def conninfo(self, user=None, database="postgres"):
        return "host=%s port=%s user=%s dbname=%s" % (self.host, self.port, user or self.user, database)

    def session(self, on, user=None, database="postgres", **more):
        return Session(self.conninfo(user, database), on, self.load, self.settings, **more)

    def control(self):
        return pq.Conn(self.conninfo())

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(path, 0o644)
        return path

    def usual_files(self):
        """Files that many parts load."""
        return {
            "good": self.file("good.csv", csv()),
            "bad": self.file("bad.csv", csv(spoiled={2500: "x,y"})),
            "short": self.file("short.csv", csv(spoiled={2500: "77"})),
            "few": self.file("few.csv", csv(10)),
            "empty": self.file("empty.csv", ""),
            "header": self.file("header.csv", "id,name\n" + csv()),
            "semicolon": self.file("semicolon.csv", csv().replace(",", ";")),
        }

    def remove(self):
        if self.has_own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def compare(checks, place, what, script, taken=None, setup=(), undo=(), **more):
    """A script with acceleration and without; `taken` is how many loads of it must have been done on the threads. What
    comes before and behind it is not compared."""
    if not checks.wants(what):
        return
    outcomes, loads = [], []
    for on in (False, True):
        control = place.control()
        control.must("SET client_min_messages = warning")
        for statement in [*SCHEMA, *setup]:
            control.must(statement)
        session = place.session(on, **more)
        outcomes.append([session.run(step) for step in script])
        loads.append(session.loads())
        session.close()
        for statement in undo:
            control.must(statement)
        control.close()
    checks.same(what, *outcomes)
    if loads[0]:
        checks.check(what, "loads were taken over though acceleration was off: %r" % loads[0])
    if taken is not None:
        paths = [run["path"] for run in loads[1]]
        checks.equal(what + ": taken over", paths, ["parallel"] * taken)


def compiled(source, folder):
    """The path of a library. Its headers are those of the server's version, or of the pg_config that is found."""
    library = os.path.join(folder, os.path.basename(source).replace(".c", ".so"))
    headers = os.environ.get("FASTCSV_HEADERS")
    if headers is None:
        headers = subprocess.run(
            ["pg_config", "--includedir-server"], check=True, capture_output=True, text=True
        ).stdout.strip()
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-I", headers, "-o", library, source], check=True)
    os.chmod(library, 0o755)
    return library
