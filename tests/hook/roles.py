"""Who may do what, whose a table is, and what somebody hostile may prepare: as with COPY."""

import os

from common import HERE, LOOK, compare, compiled, copy

ROLES = ["loader", "reader", "runner", "bypasser"]
CLEAN = ["DROP SCHEMA IF EXISTS evil CASCADE"] + ["DROP ROLE IF EXISTS " + role for role in ROLES]
SETUP = [
    "CREATE ROLE loader",
    "CREATE ROLE reader",
    "GRANT pg_read_server_files TO reader",
    "CREATE ROLE runner",
    "GRANT pg_execute_server_program TO runner",
    "CREATE ROLE bypasser BYPASSRLS",
    "GRANT pg_read_server_files TO bypasser",
    "GRANT USAGE ON SCHEMA hooked TO loader, reader, runner, bypasser",
    "GRANT ALL ON t TO loader, reader, runner, bypasser",
]
DATA = [b"1,a\n2,b\n", b"3,c\n"]
STDIN = ("COPY t FROM STDIN CSV", DATA)


def scripts(f):
    few, good = copy(f["few"]), copy(f["good"])
    program = "COPY t FROM PROGRAM 'cat %s' CSV" % f["good"]
    everything = [good, few, program, STDIN, copy(f["good"] + ".nothing"), copy("/etc/shadow"), copy("/root"), LOOK]
    for role in ROLES:
        yield role, ["SET SESSION AUTHORIZATION " + role, *everything], None
        yield role + ", SET ROLE", ["SET ROLE " + role, *everything, "RESET ROLE", good, LOOK], None
    yield "no right to insert", ["REVOKE INSERT ON t FROM reader", "SET SESSION AUTHORIZATION reader", *everything], 0
    yield "the right to insert into a column", [
        "REVOKE ALL ON t FROM reader",
        "GRANT INSERT (id) ON t TO reader",
        "SET SESSION AUTHORIZATION reader",
        good,
        copy(f["good"], "t (id)"),
        copy(f["good"], "t (name)"),
        ("COPY t (id) FROM STDIN CSV", [b"1\n2\n"]),
        ("COPY t (id) FROM STDIN CSV WHERE name IS NULL", [b"1\n2\n"]),
        STDIN,
        "RESET SESSION AUTHORIZATION",
        LOOK,
    ], None
    yield "no right to the schema", [
        "REVOKE ALL ON SCHEMA hooked FROM reader",
        "SET SESSION AUTHORIZATION reader",
        copy(f["good"], "hooked.t"),
        good,
        ("COPY hooked.t FROM STDIN CSV", DATA),
    ], 0
    yield "partitions' own rights", [
        "CREATE TABLE p (id int, name text) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100000)",
        "GRANT INSERT ON p TO reader",
        "SET SESSION AUTHORIZATION reader",
        copy(f["good"], "p"),
        copy(f["good"], "p1"),
    ], 1
    policies = ["ALTER TABLE t ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON t USING (id < 5)"]
    for role in ("reader", "bypasser"):
        yield "row-level security, " + role, [
            *policies,
            "SET SESSION AUTHORIZATION " + role,
            good,
            STDIN,
            "SET row_security = off",
            good,
            STDIN,
            copy(f["good"], "t (nothing)"),
            copy(f["good"], more=" WHERE nothing"),
            "RESET SESSION AUTHORIZATION",
            good,
            LOOK,
        ], None
    yield "row-level security, the owner", [
        *policies,
        "ALTER TABLE t OWNER TO reader",
        "SET SESSION AUTHORIZATION reader",
        good,
        STDIN,
        "RESET SESSION AUTHORIZATION",
        "ALTER TABLE t FORCE ROW LEVEL SECURITY",
        "SET SESSION AUTHORIZATION reader",
        good,
        STDIN,
        "SET row_security = off",
        good,
        "RESET SESSION AUTHORIZATION",
        LOOK,
    ], None
    definer = (
        "CREATE FUNCTION load() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS"
        " $$BEGIN %s; RAISE NOTICE '%%', current_user; END$$"
        % good
    )
    yield "SECURITY DEFINER, a superuser's", [
        definer,
        "SET SESSION AUTHORIZATION loader",
        "SELECT load()",
        good,
        LOOK,
    ], 1
    yield "SECURITY DEFINER, somebody else's", [
        definer,
        "ALTER FUNCTION load() OWNER TO loader",
        "SELECT load()",
        "SET SESSION AUTHORIZATION reader",
        "SELECT load()",
        "RESET SESSION AUTHORIZATION",
        "ALTER FUNCTION load() OWNER TO reader",
        "SET SESSION AUTHORIZATION loader",
        "SELECT load()",
        LOOK,
    ], 1
    yield "functions that nobody may call", [
        "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC",
        "SET SESSION AUTHORIZATION reader",
        good,
        STDIN,
        LOOK,
        "RESET SESSION AUTHORIZATION",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO PUBLIC",
    ], 2
    yield from hostile(f)


def hostile(f):
    good = copy(f["good"], "hooked.t")
    evil = [
        "GRANT ALL ON SCHEMA evil TO reader",
        "SET SESSION AUTHORIZATION reader",
        "SET search_path = evil, pg_catalog, hooked",
    ]
    function = "CREATE FUNCTION %s LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE 'evil %%', current_user; RETURN NULL; END$$"
    shadows = [
        function % "fastcsv_rows(anyelement) RETURNS anyelement",
        function % "fastcsv_copy(regclass, text) RETURNS bigint",
        function % "fastcsv_take_over(text) RETURNS text",
        function % "evil_equals(int, int) RETURNS bool",
        function % "evil_names(name, name) RETURNS bool",
        function % "evil_numbers(oid, oid) RETURNS bool",
        "CREATE OPERATOR = (LEFTARG = int, RIGHTARG = int, FUNCTION = evil_equals)",
        "CREATE OPERATOR = (LEFTARG = name, RIGHTARG = name, FUNCTION = evil_names)",
        "CREATE OPERATOR = (LEFTARG = oid, RIGHTARG = oid, FUNCTION = evil_numbers)",
        "CREATE DOMAIN text AS pg_catalog.text CHECK (evil_equals(1, 1))",
        "CREATE DOMAIN int4 AS pg_catalog.int4 CHECK (evil_equals(1, 1))",
        'CREATE TABLE pg_dist_partition (logicalrelid regclass, partmethod "char")',
        "INSERT INTO pg_dist_partition VALUES ('hooked.t', 'h')",
        "CREATE TABLE hypertable (schema_name name, table_name name)",
        "CREATE TABLE pg_extension (extname name)",
    ]
    yield "what a search path hides", [
        *evil,
        *shadows,
        good,
        ("COPY hooked.t FROM STDIN CSV", DATA),
        good + " WHERE id < 10",
        good + " WHERE id = 10",
        "RESET SESSION AUTHORIZATION",
        good,
        "SELECT pg_catalog.count(*) FROM hooked.t",
    ], None
    yield "the setting by hand", [
        "SHOW fastcsv.taken_over",
        "SET fastcsv.taken_over = 'x'",
        "SELECT set_config('fastcsv.taken_over', 'x', false)",
        "SELECT current_setting('fastcsv.taken_over')",
        "ALTER SYSTEM SET fastcsv.taken_over = 'x'",
        "ALTER ROLE reader SET fastcsv.taken_over = 'x'",
        copy(f["bad"]),
        "SHOW fastcsv.taken_over",
        "BEGIN",
        copy(f["good"]),
        "SHOW fastcsv.taken_over",
        "SAVEPOINT a",
        copy(f["bad"]),
        "ROLLBACK TO a",
        "SHOW fastcsv.taken_over",
        "COMMIT",
        "SHOW fastcsv.taken_over",
        "RESET ALL",
        "SELECT name, setting FROM pg_settings WHERE name LIKE 'fastcsv.taken%'",
        "SET SESSION AUTHORIZATION reader",
        "SHOW fastcsv.taken_over",
        "SELECT pg_catalog.count(*) FROM hooked.t",
    ], 1


def run(checks, place):
    files = place.usual_files()
    control = place.control()
    control.must("SET client_min_messages = warning")
    for name, script, taken in scripts(files):
        if checks.wants(name):
            # What the roles own is in the schema, which goes before they do.
            control.must("DROP SCHEMA IF EXISTS hooked CASCADE")
            compare(
                checks,
                place,
                name,
                script,
                taken,
                setup=["DROP OWNED BY %s" % role for role in existing(control)]
                + CLEAN
                + ["CREATE SCHEMA evil"]
                + SETUP,
            )
    control.must("DROP SCHEMA IF EXISTS hooked CASCADE")
    for role in existing(control):
        control.must("DROP OWNED BY " + role)
    for statement in CLEAN:
        control.must(statement)
    owned(checks, place, files)
    control.close()


def existing(control):
    return [
        row[0]
        for row in control.must("SELECT rolname FROM pg_roles WHERE rolname IN ('%s')" % "', '".join(ROLES))["rows"]
    ]


def owned(checks, place, files):
    """Tables whose rows another extension keeps: COPY goes on untouched."""
    if not checks.wants("tables of others"):
        return
    library = compiled(os.path.join(HERE, "..", "planned", "owner.c"), place.folder)
    good = copy(files["good"])
    script = [
        good,
        STDIN,
        "COPY t FROM PROGRAM 'cat %s' CSV" % files["few"],
        "DO $$BEGIN %s; END$$" % good,
        copy(files["bad"]),
        LOOK,
        copy(files["few"], "other"),
        "SELECT count(*) FROM other",
    ]
    for what, statements, undo in (
        (
            "Citus",
            [
                "SET allow_system_table_mods = on",
                'CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char")',
                "INSERT INTO pg_catalog.pg_dist_partition VALUES ('hooked.t', 'h')",
            ],
            "DROP TABLE pg_catalog.pg_dist_partition",
        ),
        (
            "TimescaleDB",
            [
                "CREATE SCHEMA _timescaledb_catalog",
                "CREATE TABLE _timescaledb_catalog.hypertable (schema_name name, table_name name)",
                "INSERT INTO _timescaledb_catalog.hypertable VALUES ('hooked', 't')",
            ],
            "DROP SCHEMA _timescaledb_catalog CASCADE",
        ),
        (
            "a planner",
            ["CREATE SCHEMA shards", "CREATE TABLE shards.t (LIKE t)", "CREATE TABLE shards.other (LIKE t)"],
            "DROP SCHEMA shards CASCADE",
        ),
    ):
        more = ["LOAD '%s'" % library, "SET owner.tables = 't'"] if what == "a planner" else []
        more += ["SELECT count(*) FROM shards.t"] if more else []
        compare(
            checks,
            place,
            "tables of others: " + what,
            more[:2] + script + more[2:],
            1,
            setup=["CREATE TABLE other (LIKE t)", *statements],
            undo=["SET allow_system_table_mods = on", undo],
        )
