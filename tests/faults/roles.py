"""Who may do what, who learns what, and options that mean harm. Rows 54, 55, 57 and 59."""
import itertools
import os
import random

from harness import LOAD, RECORDS, SCAN, row

ROLES = ["super", "reader", "plain", "owner", "inserter"]


def make_roles(t):
    t.control.must("""
        CREATE ROLE super SUPERUSER; CREATE ROLE reader IN ROLE pg_read_server_files; CREATE ROLE plain; CREATE ROLE owner;
        CREATE ROLE inserter IN ROLE pg_read_server_files; CREATE TABLE own (id int, name text, x float8);
        ALTER TABLE own OWNER TO owner; GRANT INSERT ON own TO inserter; GRANT USAGE ON SCHEMA public TO PUBLIC""")


def drop_roles(t):
    if t.control.in_transaction:
        t.control.must("ROLLBACK")
    t.session.exec("RESET ROLE")
    t.control.must("DROP TABLE IF EXISTS own, guarded; DROP OWNED BY %s; DROP ROLE %s" % ((", ".join(ROLES),) * 2))


def refusal(session, sql):
    outcome = session.exec(sql)
    if outcome["kind"] != "error":
        return "done"
    return outcome["sqlstate"], outcome["message"], outcome.get("detail"), outcome.get("hint")


@row("54", "every role: what COPY and file_fdw allow, and nothing else", quick=(LOAD,))
def role_matrix(t):
    make_roles(t)
    t.errors_allowed = 1000
    try:
        for role, path in itertools.product(ROLES, (t.file, "/nowhere", t.folder)):
            if t.operation == LOAD:
                theirs = "COPY own FROM '%s' CSV" % path
                ours = "SELECT fastcsv_copy('own', '%s', header => false)" % path
            else:
                declare = "CREATE FOREIGN TABLE pg_temp.x (id int) SERVER %s OPTIONS (filename '%s')"
                t.control.exec("CREATE EXTENSION IF NOT EXISTS file_fdw")
                t.control.exec("CREATE SERVER file FOREIGN DATA WRAPPER file_fdw")
                t.control.must("GRANT USAGE ON FOREIGN SERVER file, fastcsv TO PUBLIC")
                theirs, ours = declare % ("file", path), declare % ("fastcsv", path)
            found = []
            for statement in (theirs, ours):
                session = t.session
                session.must("BEGIN")
                session.must("SET LOCAL ROLE " + role)
                found.append(refusal(session, statement))
                session.must("ROLLBACK")
            text = repr(found[0]).replace("file_fdw", "fastcsv").replace("COPY FROM a file", "COPY FROM a file")
            assert text == repr(found[1]), "%s, %s: %s" % (role, path, found)
    finally:
        drop_roles(t)
        t.control.exec("DROP EXTENSION IF EXISTS file_fdw CASCADE")


@row("54", "row-level security, SECURITY DEFINER and column privileges", operations=(LOAD,))
def load_privileges(t):
    make_roles(t)
    t.errors_allowed = 1000
    load = "SELECT fastcsv_copy('%%s', '%s', header => false)" % t.file
    try:
        t.control.must("""CREATE TABLE guarded (id int, name text, x float8); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
            GRANT INSERT, SELECT ON guarded TO inserter; GRANT INSERT (id) ON guarded TO reader;
            CREATE FUNCTION as_super() RETURNS int8 LANGUAGE sql SECURITY DEFINER AS $$ %s $$""" % (load % "own"))
        for role, ours, theirs in (("inserter", load % "guarded", "COPY guarded FROM '%s' CSV" % t.file),
                                   ("reader", load % "guarded", "COPY guarded FROM '%s' CSV" % t.file)):
            t.session.must("SET ROLE " + role)
            found = [refusal(t.session, theirs), refusal(t.session, ours)]
            t.session.must("RESET ROLE")
            assert found[0] == found[1] != "done", found
        t.session.must("SET ROLE plain")
        assert t.session.value("SELECT as_super()") == str(RECORDS)
        t.session.must("RESET ROLE")
    finally:
        t.control.exec("DROP FUNCTION as_super")
        drop_roles(t)


@row("55", "objects that somebody has put in the way are not used", quick=(LOAD,))
def search_path(t):
    t.control.must("""CREATE SCHEMA trap;
        CREATE FUNCTION trap.lower(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
        CREATE FUNCTION trap.int4eq(int, int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
        CREATE OPERATOR trap.= (FUNCTION = trap.int4eq, LEFTARG = int, RIGHTARG = int);
        CREATE OPERATOR trap.> (FUNCTION = trap.int4eq, LEFTARG = int, RIGHTARG = int);
        CREATE TABLE public.untrapped (id int, name text, x float8); CREATE TABLE trap.untrapped (LIKE public.t); CREATE TYPE trap.int4 AS ENUM ('no');
        CREATE TABLE trap.pg_class (LIKE pg_catalog.pg_class)""")
    try:
        t.session.must("SET search_path = trap, public, pg_catalog")
        sql = t.sql().replace("'t'", "'public.untrapped'") if t.operation == LOAD else "SELECT count(*), sum(id) FROM f OFFSET 0"
        t.expect_rows(t.session.exec(sql))
        t.session.must("SET search_path = DEFAULT")
    finally:
        t.control.must("SET client_min_messages = error; DROP SCHEMA trap CASCADE; DROP TABLE public.untrapped")


@row("57", "who may not read files learns nothing of them")
def no_leaks(t):
    make_roles(t)
    t.errors_allowed = 1000
    secret = os.path.join(t.folder, "secret.csv")
    with open(secret, "w") as file:
        file.write("the secret\n")
    os.chmod(secret, 0o644)
    try:
        found = set()
        for path in (secret, "/nowhere", t.folder, "/proc/self/environ"):
            t.session.must("SET ROLE plain")
            if t.operation == LOAD:
                found.add(refusal(t.session, "SELECT fastcsv_copy('t', '%s')" % path))
            else:
                t.control.must("GRANT USAGE ON FOREIGN SERVER fastcsv TO plain")
                found.add(refusal(t.session, "CREATE FOREIGN TABLE x (a text) SERVER fastcsv OPTIONS (filename '%s')" % path))
            t.session.must("RESET ROLE")
        assert len(found) == 1, found
        assert next(iter(found))[0] == "42501" and "secret" not in repr(found), found
        if t.operation == SCAN:
            t.control.must("CREATE FOREIGN TABLE hidden (a text) SERVER fastcsv OPTIONS (filename '%s')" % secret)
            t.session.must("SET ROLE plain")
            for sql in ("SELECT * FROM hidden", "EXPLAIN ANALYZE SELECT * FROM hidden", "SELECT count(*) FROM hidden"):
                assert refusal(t.session, sql)[0] == "42501", sql
            t.session.must("RESET ROLE")
            t.control.must("DROP FOREIGN TABLE hidden")
        t.session.must("SET ROLE plain")
        assert refusal(t.session, "SET fastcsv.fault = 'worker-panic'")[0] == "42501"
        t.session.must("RESET ROLE")
    finally:
        drop_roles(t)
        os.remove(secret)


@row("59", "options that mean harm: COPY's own answers", quick=(LOAD,))
def hostile_options(t):
    t.errors_allowed = 10_000
    rng = random.Random(1)
    words = ["", ",", "\"", "'", "\\", "ab", "\n", "\r", "a" * 300, "é", "€", ".", "UTF8", "utf-8", "LATIN1", "nonsense", "0",
             "true", "match", "on", "\t", "csv", "text", "binary", "\\N", "id", "{id}", "{nothing}"]
    # COPY takes offence at the first that is wrong: in this order the function hands them on.
    names = ["format", "header", "delimiter", "quote", "escape", "null", "encoding", "force_not_null", "force_null"]
    quoted = lambda text: "E'%s'" % text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    small = os.path.join(t.folder, "small.csv")
    for _ in range(3000 if t.is_full else 150):
        chosen = {name: rng.choice(words) for name in sorted(rng.sample(names, rng.randrange(1, 3)), key=names.index)}
        if t.operation == LOAD:
            if "force_not_null" in chosen or "force_null" in chosen or "null" in chosen and "\0" in chosen["null"]:
                continue
            theirs = ", ".join("%s %s" % (name, quoted(text)) for name, text in {"format": "csv", **chosen}.items())
            ours = ", ".join("%s => %s" % (name + "_string" * (name == "null"), quoted(text)) for name, text in chosen.items())
            ours += "" if "header" in chosen else ", header => false"
            statements = ("COPY t FROM '%s' WITH (%s)" % (small, theirs),
                          "SELECT fastcsv_copy('t', '%s', %s)" % (small, ours))
        else:
            t.session.exec("CREATE EXTENSION file_fdw; CREATE SERVER file FOREIGN DATA WRAPPER file_fdw")
            options = ", ".join("%s %s" % (name, quoted(text)) for name, text in {"format": "csv", **chosen}.items())
            declare = "CREATE FOREIGN TABLE x (id int, name text, x float8) SERVER %s OPTIONS (filename '%s', %s)"
            statements = [declare % (server, small, options) + "; SELECT count(*) FROM x OFFSET 0"
                          for server in ("file", "fastcsv")]
        found = []
        for statement in statements:
            t.session.must("BEGIN")
            found.append(refusal(t.session, statement))
            t.session.must("ROLLBACK")
        assert found[0] == found[1], "%s: %s" % (chosen, found)
    t.session.exec("DROP EXTENSION file_fdw CASCADE")
