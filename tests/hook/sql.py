"""COPY said in all ways, in transactions and in functions: the same rows, tags, notices and errors."""

from common import LOOK, ROWS, compare, copy
import tables


def scripts(f):
    """A name, the statements, and how many loads are done on the parallel engine."""
    good, bad, few = copy(f["good"]), copy(f["bad"]), copy(f["few"])
    rows = [b"%d,name %d\n" % (n, n) for n in range(ROWS)]
    yield "a file", [good, LOOK], 1
    yield "a few rows", [few, LOOK], 1
    yield "an empty file", [copy(f["empty"]), LOOK], None
    yield "a bad row", [bad, LOOK], 0
    yield "a missing field", [copy(f["short"]), LOOK], 0
    yield "the client's data", [
        ("COPY t FROM STDIN CSV", rows),
        ("COPY t FROM STDIN (FORMAT 'csv')", [b"1,a\n"]),
        LOOK,
    ], None
    yield "a client that gives up", [("COPY t FROM STDIN CSV", rows, "no more"), LOOK], 0
    yield from syntax(f)
    yield from transactions(f)
    yield from functions(f)
    yield from tables.scripts(f)


def syntax(f):
    good = f["good"]
    yield "ways to say it", [
        "COPY t FROM '%s' CSV" % good,
        "COPY t FROM '%s' WITH CSV HEADER" % f["header"],
        "COPY t (id, name) FROM '%s' DELIMITER ',' CSV" % good,
        "copy hooked.t from '%s' with (format csv, header true)" % f["header"],
        copy(f["semicolon"], options="FORMAT csv, DELIMITER ';'"),
        copy(f["header"], options="HEADER match, FORMAT csv"),
        "COPY t FROM '%s' (FORMAT csv) WHERE id %% 2 = 0" % good,
        "COPY t FROM '%s' (FORMAT csv) WHERE id < 100" % good,
        LOOK,
    ], 8
    options = [
        "FORMAT csv, FORMAT csv",
        'FORMAT "CSV"',
        "FORMAT 1",
        "FORMAT",
        "FORMAT csv, nonsense",
        "FORMAT csv, HEADER maybe",
        "FORMAT csv, QUOTE 'xx'",
        "FORMAT csv, DELIMITER '\"'",
        "FORMAT csv, ENCODING 'nothing'",
        "FORMAT csv, FORCE_NULL (nothing)",
        "FORMAT csv, FREEZE maybe",
        "FORMAT csv, NULL E'\\n'",
        "FORMAT csv, FORCE_QUOTE *",
        "FORMAT text",
        "FORMAT binary",
        "HEADER",
        "",
    ]
    yield "options that are wrong, or not about CSV", [
        copy(good, options=one) if one else "COPY t FROM '%s'" % good for one in options
    ] + [LOOK], 0
    wrong = [
        copy(good, "nothing"),
        copy(good, "t (nothing)"),
        copy(good, "t (id, id)"),
        copy(good, "t (name)"),
        copy(good, "pg_class"),
        "COPY (SELECT 1) FROM '%s' CSV" % good,
        copy(good, more=" WHERE nothing = 1"),
        copy(good, more=" WHERE id"),
        copy(good, more=" WHERE max(id) = 1"),
        copy(good, more=" WHERE id = (SELECT 1)"),
        copy(good, more=" WHERE 1 / (id - 1000) = 0"),
        copy(good, more=" WHERE generate_series(1, 2) = 1"),
        copy(f["good"] + ".nothing"),
        copy("/"),
        copy("good.csv"),
        copy("/dev/null"),
        copy(""),
        "COPY t FROM '%s' (FORMAT csv" % good,
    ]
    yield "statements that are wrong", wrong + [LOOK], 0
    yield "several statements at once", [
        "%s; %s; SELECT count(*) FROM t" % (copy(good), copy(f["few"])),
        "DELETE FROM t; %s; SELECT 1/0" % copy(good),
        LOOK,
        "INSERT INTO t VALUES (7, 'first'); %s" % copy(f["bad"]),
        LOOK,
        "%s; BEGIN; %s; COMMIT; SELECT 1/0" % (copy(f["few"]), copy(f["few"])),
        LOOK,
    ], None


def transactions(f):
    good, bad, few = copy(f["good"]), copy(f["bad"]), copy(f["few"])
    yield "savepoints", [
        "BEGIN",
        good,
        "SAVEPOINT a",
        good,
        "ROLLBACK TO a",
        few,
        "SAVEPOINT b",
        bad,
        LOOK,
        "ROLLBACK TO b",
        few,
        "RELEASE b",
        LOOK,
        "COMMIT",
        LOOK,
    ], 4
    yield "a failed transaction", ["BEGIN", good, bad, good, LOOK, "COMMIT", LOOK], 1
    yield "rolled back", ["BEGIN", good, LOOK, "ROLLBACK", LOOK], 1
    yield "prepared", ["BEGIN", good, "PREPARE TRANSACTION 'hooked'", LOOK, "COMMIT PREPARED 'hooked'", LOOK], 1
    freeze = copy(f["good"], options="FORMAT csv, FREEZE")
    yield "FREEZE", [
        freeze,
        "BEGIN",
        "TRUNCATE t",
        freeze,
        LOOK,
        "COMMIT",
        LOOK,
        "BEGIN",
        "TRUNCATE t",
        "SAVEPOINT a",
        freeze,
        "ROLLBACK TO a",
        "COMMIT",
        "BEGIN",
        "SAVEPOINT a",
        "TRUNCATE t",
        freeze,
        "RELEASE a",
        "COMMIT",
        LOOK,
        "BEGIN",
        "CREATE TABLE fresh (LIKE t)",
        copy(f["good"], "fresh", options="FORMAT csv, FREEZE"),
        "DECLARE c CURSOR FOR SELECT 1",
        copy(f["good"], "fresh", options="FORMAT csv, FREEZE"),
        "ROLLBACK",
        "BEGIN",
        "TRUNCATE t; %s" % freeze,
        "COMMIT",
        LOOK,
        "TRUNCATE t; %s" % freeze,
        LOOK,
    ], None
    yield "an open cursor", [
        "INSERT INTO t VALUES (1, 'a')",
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT id, name FROM t",
        good,
        "FETCH ALL FROM c",
        "COMMIT",
        LOOK,
    ], 1
    yield "only reading", [
        "BEGIN READ ONLY",
        good,
        "ROLLBACK",
        "CREATE TEMP TABLE own (id int, name text)",
        "BEGIN READ ONLY",
        copy(f["good"], "own"),
        "SELECT count(*) FROM own",
        good,
        "COMMIT",
        "SELECT count(*) FROM own",
        LOOK,
    ], 1
    for level in ("REPEATABLE READ", "SERIALIZABLE"):
        yield level, ["BEGIN ISOLATION LEVEL " + level, LOOK, good, LOOK, "COMMIT", LOOK], 1
    yield "temporary tables", [
        "CREATE TEMP TABLE own (LIKE t)",
        copy(f["good"], "own"),
        "SELECT count(*) FROM own",
        "BEGIN",
        "CREATE TEMP TABLE gone (LIKE t) ON COMMIT DROP",
        copy(f["good"], "gone"),
        "SELECT count(*) FROM gone",
        "COMMIT",
        copy(f["good"], "gone"),
        "BEGIN",
        "CREATE TEMP TABLE emptied (LIKE t) ON COMMIT DELETE ROWS",
        copy(f["good"], "emptied"),
        "SELECT count(*) FROM emptied",
        "COMMIT",
        "SELECT count(*) FROM emptied",
        copy(f["good"], "pg_temp.own"),
    ], 4
    yield "constraints that are checked later", [
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "INSERT INTO parent SELECT generate_series(0, 2998)",
        "CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED, name text UNIQUE DEFERRABLE)",
        "BEGIN",
        copy(f["good"], "child"),
        "SELECT count(*) FROM child",
        "COMMIT",
        "SELECT count(*) FROM child",
        "INSERT INTO parent VALUES (2999)",
        copy(f["good"], "child"),
        copy(f["good"], "child"),
        "BEGIN",
        "SET CONSTRAINTS ALL DEFERRED",
        copy(f["good"], "child"),
        "SET CONSTRAINTS ALL IMMEDIATE",
        "ROLLBACK",
        "SELECT count(*) FROM child",
    ], None


def functions(f):
    good, bad, few = copy(f["good"]), copy(f["bad"]), copy(f["few"])
    body = "CREATE FUNCTION %s LANGUAGE plpgsql AS $f$%s$f$"
    yield "DO", [
        "DO $$BEGIN %s; END$$" % good,
        LOOK,
        "DO $$BEGIN %s; END$$" % bad,
        "DO $$BEGIN EXECUTE $e$%s$e$; END$$" % good,
        LOOK,
        "DO $$DECLARE n bigint; BEGIN %s; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '%%', n; END$$" % good,
        "DO $$BEGIN COPY t FROM STDIN CSV; END$$",
        LOOK,
    ], 3
    yield "an exception block", [
        "DO $$BEGIN %s; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%% %%', SQLSTATE, SQLERRM; %s; END$$" % (bad, few),
        LOOK,
        "DO $$BEGIN BEGIN %s; RAISE EXCEPTION 'no'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%%', SQLERRM; END;"
        " %s; END$$"
        % (good, few),
        LOOK,
        "DO $$DECLARE d text; BEGIN %s; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS d = MESSAGE_TEXT;"
        " RAISE NOTICE '%%', d; END$$"
        % bad,
        LOOK,
    ], None
    yield "a function that is called again and again", [
        body
        % (
            "load(path text) RETURNS bigint",
            "DECLARE n bigint; BEGIN %s; EXECUTE format('COPY t FROM %%L CSV', path); GET DIAGNOSTICS n = ROW_COUNT;"
            " RETURN n; END" % good,
        ),
        "SELECT load('%s'), load('%s')" % (f["few"], f["good"]),
        "SELECT load('%s') FROM generate_series(1, 3)" % f["few"],
        LOOK,
        "SELECT load('%s')" % f["bad"],
        "PREPARE p AS SELECT load($1)",
        "EXECUTE p('%s')" % f["few"],
        "EXECUTE p('%s')" % f["few"],
        LOOK,
    ], None
    yield "a function in SQL", [
        "CREATE FUNCTION load() RETURNS bigint LANGUAGE sql AS $$%s; SELECT count(*) FROM t$$" % good,
        "SELECT load()",
        "SELECT load()",
        LOOK,
        "CREATE FUNCTION from_client() RETURNS void LANGUAGE sql AS 'COPY t FROM STDIN CSV'",
        "SELECT from_client()",
    ], 2
    yield "a procedure", [
        "CREATE PROCEDURE load() LANGUAGE plpgsql AS $$BEGIN %s; COMMIT; %s; ROLLBACK; %s; END$$" % (good, good, few),
        "CALL load()",
        LOOK,
    ], 3
    yield "a function that only reads", [
        body % ("load() RETURNS void STABLE", "BEGIN %s; END" % good),
        "SELECT load()",
        LOOK,
    ], 0
    yield "a condition that loads", [
        "CREATE TABLE other (id int, name text)",
        body
        % (
            "load(int) RETURNS bool",
            "BEGIN IF $1 %% 1000 = 0 THEN %s; END IF; RETURN $1 < 10; END" % copy(f["few"], "other"),
        ),
        copy(f["good"], more=" WHERE load(id)"),
        LOOK,
        "SELECT count(*) FROM other",
    ], 4
    yield "a condition that loads into the same table", [
        body % ("load(int) RETURNS bool", "BEGIN IF $1 %% 1000 = 0 THEN %s; END IF; RETURN $1 < 10; END" % few),
        copy(f["good"], more=" WHERE load(id)"),
        LOOK,
    ], 4


def run(checks, place):
    files = place.usual_files()
    for name, script, taken in scripts(files):
        compare(checks, place, name, script, taken)
