"""Among other libraries, before and behind: each sees the statement that was written, and the rows it has loaded.

A server of its own is started again and again with other libraries in other orders. A library that is not there is left
out, and told of.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import HERE, LOOK, SCHEMA, Place, Session, compare, compiled, copy
import encrypted
import protocol
import roles
import sql

sys.path.append(os.path.join(HERE, "..", "faults"))
from server import Server

AUDIT = ["pgaudit.log_client = on", "pgaudit.log_level = notice", "pgaudit.log_catalog = off"]
EXPLAIN = [
    "auto_explain.log_level = notice",
    "auto_explain.log_min_duration = 0",
    "auto_explain.log_nested_statements = on",
]


class Libraries:
    """The server, and which libraries it has."""

    def __init__(self, checks, config):
        self.checks, self.folder = checks, tempfile.mkdtemp(prefix="fastcsv-hook.")
        os.chmod(self.folder, 0o755)
        self.watcher = compiled(os.path.join(HERE, "watcher.c"), self.folder)
        # Text search and the like is not needed; prepared transactions are.
        self.server = Server(config, ["max_prepared_transactions = 4", "max_worker_processes = 16"])
        place = subprocess.run([config, "--pkglibdir"], check=True, capture_output=True, text=True).stdout.strip()
        self.missing = [
            name
            for name in ("pg_stat_statements", "pgaudit", "auto_explain")
            if not os.path.exists(os.path.join(place, name + ".so"))
        ]
        for name in self.missing:
            print("%s is not there; what is about it is not tested" % name)
        self.order = None

    def has(self, *names):
        return not set(names) & set(self.missing)

    def start(self, *names):
        """Starts the server again with these libraries, if they are there; returns a place to be tested."""
        preloaded = [self.watcher if name == "watcher" else name for name in names if name not in self.missing]
        self.server.restart(["shared_preload_libraries=" + ",".join(preloaded)])
        self.checks.prefix = "libraries, %s: " % (", ".join(names) or "none")
        return self.place(load="fastcsv" not in names)

    def place(self, load=True, settings=()):
        place = Place(self.server.dir, "5432", "postgres", load, settings, folder=self.folder)
        control = place.control()
        control.must("SET client_min_messages = warning")
        for name in ("fastcsv", "pg_stat_statements"):
            if name not in self.missing:
                control.must("CREATE EXTENSION IF NOT EXISTS " + name)
        control.close()
        return place

    def remove(self):
        self.server.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


def run(checks, _place):
    if "FASTCSV_PG_CONFIG" not in os.environ:
        print("FASTCSV_PG_CONFIG is not set; what needs a server of its own is not tested")
        return
    libraries = Libraries(checks, os.environ["FASTCSV_PG_CONFIG"])
    try:
        for order in (
            ("fastcsv", "pg_stat_statements", "pgaudit", "auto_explain"),
            ("pgaudit", "fastcsv", "pg_stat_statements", "auto_explain"),
            ("pg_stat_statements", "auto_explain", "pgaudit", "fastcsv"),
            ("watcher", "pg_stat_statements", "pgaudit", "auto_explain"),
        ):
            place = libraries.start(*order)
            everything(checks, libraries, place, is_quick=order[0] != "pg_stat_statements")
        behind(checks, place)
        watched(checks, place, libraries, around=False)
        databases(checks, place)
        place = libraries.start("fastcsv")
        watched(checks, place, libraries, around=True)
        preloaded_for_sessions(checks, libraries)
        encrypted.run(checks, libraries)
    finally:
        libraries.remove()


def behind(checks, place):
    """All that is tested without other libraries, with some of them behind."""
    checks.prefix += "behind: "
    sql.run(checks, place)
    roles.run(checks, place)
    for name, steps, taken in protocol.exchanges():
        if checks.wants(name) and not name.startswith(("message", "messages of 1 ", "messages of 2 ")):
            off, on = protocol.exchange(place, False, steps), protocol.exchange(place, True, steps)
            checks.same(name, off.got, on.got)
            if taken:
                checks.equal(name + ": taken over", {run["path"] for run in on.loads}, {"parallel"})


def watched(checks, place, libraries, around):
    """The watcher, which is behind, or (loaded later) around."""
    checks.prefix = "libraries, the watcher %s: " % ("around" if around else "behind")
    files = place.usual_files()
    good, bad = copy(files["good"]), copy(files["bad"])
    load = ["LOAD '%s'" % libraries.watcher] if around else []
    program, to = (
        "COPY t FROM PROGRAM 'cat %s' CSV" % files["good"],
        "COPY (SELECT * FROM t WHERE id < 2) TO STDOUT CSV",
    )
    owned = "COPY owned FROM '%s' CSV" % files["good"]
    for does, taken in (("watch", None), ("copy", None), ("refuse", 2), ("own", None)):
        compare(
            checks,
            place,
            does,
            [
                *load,
                "SET watcher.does = '%s'" % does,
                good,
                bad,
                copy(files["few"], "t (id, name)", " WHERE id > 3"),
                program,
                to,
                ("COPY t FROM STDIN CSV", [b"1,a\n2,b\n"]),
                copy(files["good"], "nothing"),
                "DO $$BEGIN %s; %s; END$$" % (good, program),
                "SELECT 1; %s; SELECT 2" % good,
                owned,
                ("COPY owned FROM STDIN CSV", [b"1,a\n2,b\n"]) if does != "own" else "SELECT 1",
                LOOK,
                "SELECT count(*) FROM owned",
            ],
            taken,
            setup=["CREATE TABLE owned (LIKE t)"],
        )
    again = (
        "DO $$BEGIN FOR i IN 1..3 LOOP BEGIN %s; %s;"
        " EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%%', SQLERRM; END; END LOOP; END$$"
        % (good, bad)
    )
    compare(checks, place, "again and again", [*load, "SET watcher.does = 'watch'", again, again, good, LOOK], None)


def everything(checks, libraries, place, is_quick):
    files = place.usual_files()
    if libraries.has("pg_stat_statements"):
        statements(checks, place, files)
    if libraries.has("pgaudit"):
        audited(checks, place, files, is_quick)
    if libraries.has("auto_explain"):
        explained(checks, place, files)


def scene(files):
    """Statements about COPY of many kinds, and what they need."""
    good = copy(files["few"])
    setup = [
        "CREATE TABLE other (id int, name text)",
        "CREATE FUNCTION load() RETURNS bigint LANGUAGE plpgsql AS $$DECLARE n bigint; BEGIN %s;"
        " GET DIAGNOSTICS n = ROW_COUNT; RETURN n; END$$" % good,
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        " PERFORM count(*) FROM t WHERE id = NEW.id; RETURN NEW; END$$",
        "CREATE TRIGGER tell AFTER INSERT ON other FOR EACH ROW EXECUTE FUNCTION tell()",
    ]
    script = [
        good,
        copy(files["good"]),
        copy(files["few"], "t (id, name)", " WHERE id > 3"),
        copy(files["bad"]),
        copy(files["few"], "nothing"),
        ("COPY t FROM STDIN CSV", [b"1,a\n", b"2,b\n"]),
        ("COPY t FROM STDIN CSV", [b"1,a\n"], "enough"),
        "SELECT load()",
        "SELECT load(), load()",
        "DO $$BEGIN %s; END$$" % good,
        "DO $$BEGIN EXECUTE 'COPY t FROM ''%s'' CSV'; END$$" % files["few"],
        "SELECT 1; %s; SELECT 2" % copy(files["few"]),
        copy(files["few"], "other"),
        "COPY t FROM PROGRAM 'cat %s' CSV" % files["few"],
        "COPY (SELECT * FROM t WHERE id = 1) TO STDOUT CSV",
        "BEGIN READ ONLY",
        copy(files["few"]),
        "ROLLBACK",
        copy(files["few"], options="FORMAT csv, FREEZE"),
        copy(files["few"], options="DELIMITER ','"),
        LOOK,
    ]
    return setup, script


def statements(checks, place, files):
    """pg_stat_statements: as many calls and rows, under the same texts and identifiers."""
    setup, script = scene(files)
    # Identifiers of other statements depend on the numbers of tables, which are made anew.
    counted = """SELECT calls, rows, CASE WHEN query ~* '^copy [a-z ,()]+ from' THEN queryid END, toplevel,
            regexp_replace(query, '\\s+', ' ', 'g'), plans FROM pg_stat_statements
        WHERE query !~ 'pg_stat_statements|pg_backend_pid|SET |LOAD ' ORDER BY query COLLATE "C", toplevel"""
    for settings in (
        ["pg_stat_statements.track = top"],
        ["pg_stat_statements.track = 'all'", "pg_stat_statements.track_planning = on"],
        ["pg_stat_statements.track = 'all'", "pg_stat_statements.track_utility = off"],
    ):
        compare(
            checks,
            Place(place.host, place.port, place.user, place.load, settings, place.folder),
            "pg_stat_statements, " + ", ".join(settings),
            ["SELECT pg_stat_statements_reset() IS NULL"] + script + [counted],
            setup=setup,
        )


def audited(checks, place, files, is_quick):
    """pgaudit: the same lines."""
    setup, script = scene(files)
    setup = setup + [
        "DROP ROLE IF EXISTS auditor",
        "CREATE ROLE auditor",
        "GRANT INSERT ON t TO auditor",
        "ALTER TABLE other ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY p ON other USING (id > 3)",
        "DROP ROLE IF EXISTS plain",
        "CREATE ROLE plain",
        "GRANT pg_read_server_files TO plain",
        "GRANT USAGE ON SCHEMA hooked TO plain",
        "GRANT INSERT ON other TO plain",
    ]
    script = script + ["SET ROLE plain", copy(files["few"], "other"), copy(files["few"]), "RESET ROLE"]
    ways = [
        ("all",),
        ("write",),
        ("read",),
        ("function",),
        ("misc",),
        ("all, -misc",),
        ("all", "log_relation = on"),
        ("write", "log_relation = on"),
        ("all", "log_statement_once = on"),
        ("write", "log_parameter = on"),
        ("none", "role = auditor"),
        ("write", "role = auditor", "log_relation = on"),
        ("all", "log_catalog = on", "log_relation = on"),
        ("write", "log_rows = on"),
    ]
    for log, *more in ways[:1] if is_quick else ways:
        settings = AUDIT + ["pgaudit." + setting for setting in more] + ["pgaudit.log = '%s'" % log]
        compare(
            checks,
            Place(place.host, place.port, place.user, place.load, settings, place.folder),
            "pgaudit, log = %s" % ", ".join((log, *more)),
            script,
            setup=setup,
        )
    control = place.control()
    control.must("DROP SCHEMA hooked CASCADE")
    control.must("DROP ROLE auditor, plain")
    control.close()


class Untimed(Session):
    """A session in which times do not matter."""

    def run(self, step):
        outcome = super().run(step)
        for notice in outcome.get("notices", []):
            notice[2] = re.sub(r"^duration: [0-9.]+ ms|cost=[0-9.]+", "", notice[2])
        return outcome


def explained(checks, place, files):
    """auto_explain: the same plans of what COPY runs."""
    setup, script = scene(files)
    place = Place(place.host, place.port, place.user, place.load, EXPLAIN, place.folder)
    place.session = lambda on, user=None, database="postgres", **more: Untimed(
        place.conninfo(user, database), on, place.load, place.settings, **more
    )
    compare(checks, place, "auto_explain", script, setup=setup)


def databases(checks, place):
    """Without the extension, and after it was dropped."""
    checks.prefix = "libraries, databases: "
    few, good = copy(place.usual_files()["few"]), copy(place.usual_files()["good"])
    control = place.control()
    control.must("DROP DATABASE IF EXISTS other")
    control.must("CREATE DATABASE other")
    for statement in SCHEMA:
        control.must(statement)
    one, other = place.session(True), place.session(True, database="other", schema="public")
    for session in (one, other):
        session.conn.must("CREATE TABLE public.t (id int, name text)")
        session.conn.must("SET search_path = public")
    for what, session in (("a database with the extension", one), ("a database without it", other), ("again", one)):
        outcomes = [
            session.run(step)
            for step in (few, good, ("COPY t FROM STDIN CSV", [b"1,a\n"]), "SELECT count(*) FROM t", "TRUNCATE t")
        ]
        checks.equal(
            what,
            [outcome.get("tag", outcome.get("rows")) for outcome in outcomes],
            ["COPY 10", "COPY 3000", "COPY 1", [["3011"]], "TRUNCATE TABLE"],
        )
        checks.equal(what + ": taken over", [run["path"] for run in session.loads()], ["parallel"] * 3)
    one.conn.must("DROP EXTENSION fastcsv CASCADE")
    checks.equal(
        "the extension is dropped",
        [one.run(good).get("tag"), [run["path"] for run in one.loads()]],
        ["COPY 3000", ["parallel"]],
    )
    one.conn.must("CREATE EXTENSION fastcsv")
    checks.equal(
        "the extension is made again",
        [one.run(good).get("tag"), [run["path"] for run in one.loads()]],
        ["COPY 3000", ["parallel"]],
    )
    one.conn.must("DROP TABLE public.t")
    one.close()
    other.close()
    control.must("DROP DATABASE other")
    control.close()


def preloaded_for_sessions(checks, libraries):
    """session_preload_libraries, and a user who loads nothing."""
    place = libraries.start("watcher", "pg_stat_statements")
    checks.prefix = "libraries, for sessions: "
    good = copy(place.usual_files()["good"])
    control = place.control()
    for statement in SCHEMA + [
        "DROP ROLE IF EXISTS loader",
        "CREATE ROLE loader LOGIN",
        "GRANT pg_read_server_files TO loader",
        "GRANT USAGE ON SCHEMA hooked TO loader",
        "GRANT INSERT, SELECT ON t TO loader",
        "ALTER ROLE loader SET session_preload_libraries = 'fastcsv'",
        "ALTER DATABASE postgres SET session_preload_libraries = 'fastcsv'",
    ]:
        control.must(statement)
    for user in ("loader", "postgres"):
        session = Session(place.conninfo(user), True, load=False)
        outcome = session.run(good)
        checks.equal(user, [outcome.get("tag"), [run["path"] for run in session.loads()]], ["COPY 3000", ["parallel"]])
        session.close()
    control.must("ALTER DATABASE postgres RESET session_preload_libraries")
    control.must("DROP SCHEMA hooked CASCADE")
    control.must("DROP ROLE loader")
    control.close()
