"""COPY in transactions, in functions and on tables of all kinds: the same rows, tags, notices and errors."""
from common import ROWS, compare

LOOK = "SELECT count(*), sum(id), max(name) FROM t"
NOTICING = """CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_LEVEL = 'STATEMENT' OR NEW.id % 250 < 3 THEN RAISE NOTICE '% % % %', TG_WHEN, TG_OP, TG_LEVEL, (SELECT count(*) FROM t); END IF;
    RETURN NEW; END$$"""


def copy(path, table="t", more="", options="FORMAT csv"):
    return "COPY %s FROM '%s' (%s)%s" % (table, path, options, more)


def scripts(f):
    """A name, the statements, and how many loads are done on the parallel engine."""
    good, bad, few = copy(f["good"]), copy(f["bad"]), copy(f["few"])
    rows = [b"%d,name %d\n" % (n, n) for n in range(ROWS)]
    yield "a file", [good, LOOK], 1
    yield "a few rows", [few, LOOK], 1
    yield "an empty file", [copy(f["empty"]), LOOK], None
    yield "a bad row", [bad, LOOK], 0
    yield "a missing field", [copy(f["short"]), LOOK], 0
    yield "the client's data", [("COPY t FROM STDIN CSV", rows), ("COPY t FROM STDIN (FORMAT 'csv')", [b"1,a\n"]), LOOK], None
    yield "a client that gives up", [("COPY t FROM STDIN CSV", rows, "no more"), LOOK], 0
    yield from syntax(f)
    yield from transactions(f)
    yield from functions(f)
    yield from triggers(f)
    yield from tables(f)
    yield from programs(f)


def syntax(f):
    good = f["good"]
    yield "ways to say it", [
        "COPY t FROM '%s' CSV" % good, "COPY t FROM '%s' WITH CSV HEADER" % f["header"], "COPY t (id, name) FROM '%s' DELIMITER ',' CSV" % good,
        "copy hooked.t from '%s' with (format csv, header true)" % f["header"], copy(f["semicolon"], options="FORMAT csv, DELIMITER ';'"),
        copy(f["header"], options="HEADER match, FORMAT csv"), "COPY t FROM '%s' (FORMAT csv) WHERE id %% 2 = 0" % good,
        "COPY t FROM '%s' (FORMAT csv) WHERE id < 100" % good, LOOK], 8
    options = ["FORMAT csv, FORMAT csv", 'FORMAT "CSV"', "FORMAT 1", "FORMAT", "FORMAT csv, nonsense", "FORMAT csv, HEADER maybe", "FORMAT csv, QUOTE 'xx'",
               "FORMAT csv, DELIMITER '\"'", "FORMAT csv, ENCODING 'nothing'", "FORMAT csv, FORCE_NULL (nothing)", "FORMAT csv, FREEZE maybe",
               "FORMAT csv, NULL E'\\n'", "FORMAT csv, FORCE_QUOTE *", "FORMAT text", "FORMAT binary", "HEADER", ""]
    yield "options that are wrong, or not about CSV", [copy(good, options=one) if one else "COPY t FROM '%s'" % good for one in options] + [LOOK], 0
    wrong = [copy(good, "nothing"), copy(good, "t (nothing)"), copy(good, "t (id, id)"), copy(good, "t (name)"), copy(good, "pg_class"),
             "COPY (SELECT 1) FROM '%s' CSV" % good, copy(good, more=" WHERE nothing = 1"), copy(good, more=" WHERE id"), copy(good, more=" WHERE max(id) = 1"),
             copy(good, more=" WHERE id = (SELECT 1)"), copy(good, more=" WHERE 1 / (id - 1000) = 0"), copy(good, more=" WHERE generate_series(1, 2) = 1"),
             copy(f["good"] + ".nothing"), copy("/"), copy("good.csv"), copy("/dev/null"), copy(""), "COPY t FROM '%s' (FORMAT csv" % good]
    yield "statements that are wrong", wrong + [LOOK], 0
    yield "several statements at once", [
        "%s; %s; SELECT count(*) FROM t" % (copy(good), copy(f["few"])), "DELETE FROM t; %s; SELECT 1/0" % copy(good), LOOK,
        "INSERT INTO t VALUES (7, 'first'); %s" % copy(f["bad"]), LOOK, "%s; BEGIN; %s; COMMIT; SELECT 1/0" % (copy(f["few"]), copy(f["few"])), LOOK], None


def transactions(f):
    good, bad, few = copy(f["good"]), copy(f["bad"]), copy(f["few"])
    yield "savepoints", ["BEGIN", good, "SAVEPOINT a", good, "ROLLBACK TO a", few, "SAVEPOINT b", bad, LOOK, "ROLLBACK TO b", few, "RELEASE b", LOOK,
                         "COMMIT", LOOK], 4
    yield "a failed transaction", ["BEGIN", good, bad, good, LOOK, "COMMIT", LOOK], 1
    yield "rolled back", ["BEGIN", good, LOOK, "ROLLBACK", LOOK], 1
    yield "prepared", ["BEGIN", good, "PREPARE TRANSACTION 'hooked'", LOOK, "COMMIT PREPARED 'hooked'", LOOK], 1
    freeze = copy(f["good"], options="FORMAT csv, FREEZE")
    yield "FREEZE", [
        freeze, "BEGIN", "TRUNCATE t", freeze, LOOK, "COMMIT", LOOK, "BEGIN", "TRUNCATE t", "SAVEPOINT a", freeze, "ROLLBACK TO a", "COMMIT", "BEGIN", "SAVEPOINT a",
        "TRUNCATE t", freeze, "RELEASE a", "COMMIT", LOOK, "BEGIN", "CREATE TABLE fresh (LIKE t)", copy(f["good"], "fresh", options="FORMAT csv, FREEZE"),
        "DECLARE c CURSOR FOR SELECT 1", copy(f["good"], "fresh", options="FORMAT csv, FREEZE"), "ROLLBACK",
        "BEGIN", "TRUNCATE t; %s" % freeze, "COMMIT", LOOK, "TRUNCATE t; %s" % freeze, LOOK], None
    yield "an open cursor", ["INSERT INTO t VALUES (1, 'a')", "BEGIN", "DECLARE c CURSOR FOR SELECT id, name FROM t", good, "FETCH ALL FROM c", "COMMIT", LOOK], 1
    yield "only reading", ["BEGIN READ ONLY", good, "ROLLBACK", "CREATE TEMP TABLE own (id int, name text)", "BEGIN READ ONLY", copy(f["good"], "own"),
                           "SELECT count(*) FROM own", good, "COMMIT", "SELECT count(*) FROM own", LOOK], 1
    for level in ("REPEATABLE READ", "SERIALIZABLE"):
        yield level, ["BEGIN ISOLATION LEVEL " + level, LOOK, good, LOOK, "COMMIT", LOOK], 1
    yield "temporary tables", [
        "CREATE TEMP TABLE own (LIKE t)", copy(f["good"], "own"), "SELECT count(*) FROM own", "BEGIN", "CREATE TEMP TABLE gone (LIKE t) ON COMMIT DROP",
        copy(f["good"], "gone"), "SELECT count(*) FROM gone", "COMMIT", copy(f["good"], "gone"), "BEGIN", "CREATE TEMP TABLE emptied (LIKE t) ON COMMIT DELETE ROWS",
        copy(f["good"], "emptied"), "SELECT count(*) FROM emptied", "COMMIT", "SELECT count(*) FROM emptied", copy(f["good"], "pg_temp.own")], 4
    yield "constraints that are checked later", [
        "CREATE TABLE parent (id int PRIMARY KEY)", "INSERT INTO parent SELECT generate_series(0, 2998)",
        "CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED, name text UNIQUE DEFERRABLE)", "BEGIN", copy(f["good"], "child"),
        "SELECT count(*) FROM child", "COMMIT", "SELECT count(*) FROM child", "INSERT INTO parent VALUES (2999)", copy(f["good"], "child"), copy(f["good"], "child"),
        "BEGIN", "SET CONSTRAINTS ALL DEFERRED", copy(f["good"], "child"), "SET CONSTRAINTS ALL IMMEDIATE", "ROLLBACK", "SELECT count(*) FROM child"], None


def functions(f):
    good, bad, few = copy(f["good"]), copy(f["bad"]), copy(f["few"])
    body = "CREATE FUNCTION %s LANGUAGE plpgsql AS $f$%s$f$"
    yield "DO", ["DO $$BEGIN %s; END$$" % good, LOOK, "DO $$BEGIN %s; END$$" % bad, "DO $$BEGIN EXECUTE $e$%s$e$; END$$" % good, LOOK,
                 "DO $$DECLARE n bigint; BEGIN %s; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '%%', n; END$$" % good,
                 "DO $$BEGIN COPY t FROM STDIN CSV; END$$", LOOK], 3
    yield "an exception block", [
        "DO $$BEGIN %s; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%% %%', SQLSTATE, SQLERRM; %s; END$$" % (bad, few), LOOK,
        "DO $$BEGIN BEGIN %s; RAISE EXCEPTION 'no'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%%', SQLERRM; END; %s; END$$" % (good, few), LOOK,
        "DO $$DECLARE d text; BEGIN %s; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS d = MESSAGE_TEXT; RAISE NOTICE '%%', d; END$$" % bad, LOOK], None
    yield "a function that is called again and again", [
        body % ("load(path text) RETURNS bigint", "DECLARE n bigint; BEGIN %s; EXECUTE format('COPY t FROM %%L CSV', path); GET DIAGNOSTICS n = ROW_COUNT;"
                " RETURN n; END" % good),
        "SELECT load('%s'), load('%s')" % (f["few"], f["good"]), "SELECT load('%s') FROM generate_series(1, 3)" % f["few"], LOOK,
        "SELECT load('%s')" % f["bad"], "PREPARE p AS SELECT load($1)", "EXECUTE p('%s')" % f["few"], "EXECUTE p('%s')" % f["few"], LOOK], None
    yield "a function in SQL", ["CREATE FUNCTION load() RETURNS bigint LANGUAGE sql AS $$%s; SELECT count(*) FROM t$$" % good, "SELECT load()", "SELECT load()", LOOK,
                                "CREATE FUNCTION from_client() RETURNS void LANGUAGE sql AS 'COPY t FROM STDIN CSV'", "SELECT from_client()"], 2
    yield "a procedure", ["CREATE PROCEDURE load() LANGUAGE plpgsql AS $$BEGIN %s; COMMIT; %s; ROLLBACK; %s; END$$" % (good, good, few), "CALL load()", LOOK], 3
    yield "a function that only reads", [body % ("load() RETURNS void STABLE", "BEGIN %s; END" % good), "SELECT load()", LOOK], 0
    yield "a condition that loads", [
        "CREATE TABLE other (id int, name text)", body % ("load(int) RETURNS bool", "BEGIN IF $1 %% 1000 = 0 THEN %s; END IF; RETURN $1 < 10; END" % copy(f["few"], "other")),
        copy(f["good"], more=" WHERE load(id)"), LOOK, "SELECT count(*) FROM other"], 4
    yield "a condition that loads into the same table", [
        body % ("load(int) RETURNS bool", "BEGIN IF $1 %% 1000 = 0 THEN %s; END IF; RETURN $1 < 10; END" % few), copy(f["good"], more=" WHERE load(id)"), LOOK], 4


def triggers(f):
    good = copy(f["good"])
    for when in ("BEFORE", "AFTER"):
        for each in ("ROW", "STATEMENT"):
            yield "%s %s trigger" % (when, each), [
                NOTICING, "CREATE TRIGGER tells %s INSERT ON t FOR EACH %s EXECUTE FUNCTION tell()" % (when, each), copy(f["few"]), good, copy(f["bad"]), LOOK,
                ("COPY t FROM STDIN CSV", [b"1,a\n2,b\n", b"3,c\n"]), ("COPY t FROM STDIN CSV", [b"1,a\n2,b\n"], "enough"), LOOK], None
    yield "a trigger that loads", [
        "CREATE TABLE other (id int, name text)", "CREATE FUNCTION load() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN %s; RETURN NEW; END$$" % good,
        "CREATE TRIGGER loads AFTER INSERT ON other FOR EACH ROW EXECUTE FUNCTION load()", "INSERT INTO other VALUES (1), (2)", LOOK, copy(f["few"], "other"), LOOK,
        "SELECT count(*) FROM other"], 13
    yield "a trigger that loads what is bad", [
        "CREATE TABLE other (id int, name text)", "CREATE FUNCTION load() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN BEGIN %s; EXCEPTION WHEN OTHERS THEN"
        " RAISE NOTICE '%%', SQLERRM; END; RETURN NEW; END$$" % copy(f["bad"]),
        "CREATE TRIGGER loads BEFORE INSERT ON other FOR EACH ROW EXECUTE FUNCTION load()", ("COPY other FROM STDIN CSV", [b"1,a\n2,b\n", b"3,c\n"]),
        "SELECT * FROM other", LOOK, ("COPY other FROM STDIN CSV", [b"1,a\n2,b\n", b"3,c\n"], "enough"), copy(f["few"], "other"), "SELECT count(*) FROM other"], None
    yield "a transition table", [
        "CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE '%', (SELECT count(*) FROM fresh); RETURN NULL; END$$",
        "CREATE TRIGGER counts AFTER INSERT ON t REFERENCING NEW TABLE AS fresh EXECUTE FUNCTION counts()", good, ("COPY t FROM STDIN CSV", [b"1,a\n"]), LOOK], None


def tables(f):
    good, columns = f["good"], "id int, name text"
    yield "a view", ["CREATE VIEW v AS SELECT * FROM t", copy(good, "v"),
                     "CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO t VALUES (NEW.id + 1, NEW.name); RETURN NEW; END$$",
                     "CREATE TRIGGER put INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION put()", copy(good, "v"), LOOK,
                     ("COPY v FROM STDIN CSV", [b"1,a\n", b"2,b\n"]), LOOK, "CREATE MATERIALIZED VIEW m AS SELECT * FROM t", copy(good, "m"),
                     "CREATE SEQUENCE s", copy(good, "s"), "CREATE INDEX i ON t (id)", copy(good, "i"), "CREATE TYPE c AS (id int, name text)", copy(good, "c")], 0
    yield "partitions", [
        "CREATE TABLE p (%s) PARTITION BY RANGE (id)" % columns, "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (1000)",
        "CREATE TABLE p2 (name text, id int)", "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (1000) TO (2999)", copy(good, "p"), copy(good, "p1"),
        "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (2999) TO (MAXVALUE) PARTITION BY HASH (name)", copy(good, "p"),
        "CREATE TABLE p4 PARTITION OF p3 FOR VALUES WITH (MODULUS 1, REMAINDER 0)", copy(good, "p"), "SELECT tableoid::regclass, count(*), sum(id) FROM p GROUP BY 1"
        " ORDER BY 1", "BEGIN", "TRUNCATE p", copy(good, "p", options="FORMAT csv, FREEZE"), "ROLLBACK"], 1
    yield "a parent", ["CREATE TABLE child () INHERITS (t)", copy(good), "SELECT count(*) FROM ONLY t", "SELECT count(*) FROM child"], 1
    yield "columns of all kinds", [
        "CREATE TABLE k (id int PRIMARY KEY, name varchar(8) NOT NULL, number serial, own int GENERATED ALWAYS AS IDENTITY, twice int GENERATED ALWAYS AS (id * 2) STORED,"
        " at text DEFAULT 'x', CHECK (id < 2500))", copy(f["few"], "k (id, name)"), copy(f["few"], "k (id, name)"), "SELECT * FROM k", copy(good, "k (id, name)"),
        "ALTER TABLE k DROP CONSTRAINT k_id_check", copy(good, "k (id, name)"), "TRUNCATE k", copy(good, "k (id, name)"),
        copy(f["few"], "k (id, twice)"), copy(f["few"], "k (id, name)", " WHERE twice > 2"), copy(f["few"], "k"),
        "SELECT count(*), sum(twice), sum(number), sum(own), min(at) FROM k", "INSERT INTO k (id, name) VALUES (-1, '') RETURNING number, own"], None
    yield "a foreign table", [
        "CREATE FOREIGN TABLE foreign_table (%s) SERVER fastcsv OPTIONS (filename '%s')" % (columns, good), copy(good, "foreign_table"), LOOK], 0
    yield "rules", ["CREATE RULE r AS ON INSERT TO t DO INSTEAD NOTHING", copy(good), LOOK], 1
    yield "no columns", ["CREATE TABLE nothing ()", ("COPY nothing FROM STDIN CSV", [b"\n\n"]), copy(f["few"], "nothing"), "SELECT count(*) FROM nothing"], None


def programs(f):
    def program(command, options="FORMAT csv"):
        return "COPY t FROM PROGRAM $$%s$$ (%s)" % (command, options)
    yield "programs", [program("cat " + f["good"]), program("cat %s" % f["few"]), program("cat " + f["header"], "FORMAT csv, HEADER"), program("true"), LOOK], None
    yield "programs that fail", [
        program("cat %s; exit 3" % f["good"]), program("exit 2"), program("cat %s; kill -9 $$$" % f["good"].replace("$$", "$")), program("no-such-program-at-all 2>&-"),
        program("cat " + f["bad"]), program("cat " + f["good"], "FORMAT text"), program("(cat %s; echo '\\.'; yes) 2>&-" % f["good"]),
        program("cat %s; exit 1" % f["bad"]), LOOK], None


def run(checks, place):
    files = place.usual_files()
    for name, script, taken in scripts(files):
        compare(checks, place, name, script, taken)
