"""COPY into tables of all kinds, with triggers, and from programs: the same rows, tags, notices and errors."""

from common import LOOK, copy

NOTICING = """CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_LEVEL = 'STATEMENT' OR NEW.id % 250 < 3 THEN
        RAISE NOTICE '% % % %', TG_WHEN, TG_OP, TG_LEVEL, (SELECT count(*) FROM t);
    END IF;
    RETURN NEW; END$$"""


def scripts(f):
    yield from triggers(f)
    yield from tables(f)
    yield from programs(f)


def triggers(f):
    good = copy(f["good"])
    for when in ("BEFORE", "AFTER"):
        for each in ("ROW", "STATEMENT"):
            yield "%s %s trigger" % (when, each), [
                NOTICING,
                "CREATE TRIGGER tells %s INSERT ON t FOR EACH %s EXECUTE FUNCTION tell()" % (when, each),
                copy(f["few"]),
                good,
                copy(f["bad"]),
                LOOK,
                ("COPY t FROM STDIN CSV", [b"1,a\n2,b\n", b"3,c\n"]),
                ("COPY t FROM STDIN CSV", [b"1,a\n2,b\n"], "enough"),
                LOOK,
            ], None
    yield "a trigger that loads", [
        "CREATE TABLE other (id int, name text)",
        "CREATE FUNCTION load() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN %s; RETURN NEW; END$$" % good,
        "CREATE TRIGGER loads AFTER INSERT ON other FOR EACH ROW EXECUTE FUNCTION load()",
        "INSERT INTO other VALUES (1), (2)",
        LOOK,
        copy(f["few"], "other"),
        LOOK,
        "SELECT count(*) FROM other",
    ], 13
    yield "a trigger that loads what is bad", [
        "CREATE TABLE other (id int, name text)",
        "CREATE FUNCTION load() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN BEGIN %s; EXCEPTION WHEN OTHERS THEN"
        " RAISE NOTICE '%%', SQLERRM; END; RETURN NEW; END$$" % copy(f["bad"]),
        "CREATE TRIGGER loads BEFORE INSERT ON other FOR EACH ROW EXECUTE FUNCTION load()",
        ("COPY other FROM STDIN CSV", [b"1,a\n2,b\n", b"3,c\n"]),
        "SELECT * FROM other",
        LOOK,
        ("COPY other FROM STDIN CSV", [b"1,a\n2,b\n", b"3,c\n"], "enough"),
        copy(f["few"], "other"),
        "SELECT count(*) FROM other",
    ], None
    yield "a transition table", [
        "CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        " RAISE NOTICE '%', (SELECT count(*) FROM fresh); RETURN NULL; END$$",
        "CREATE TRIGGER counts AFTER INSERT ON t REFERENCING NEW TABLE AS fresh EXECUTE FUNCTION counts()",
        good,
        ("COPY t FROM STDIN CSV", [b"1,a\n"]),
        LOOK,
    ], None


def tables(f):
    good, columns = f["good"], "id int, name text"
    yield "a view", [
        "CREATE VIEW v AS SELECT * FROM t",
        copy(good, "v"),
        "CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        " INSERT INTO t VALUES (NEW.id + 1, NEW.name); RETURN NEW; END$$",
        "CREATE TRIGGER put INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION put()",
        copy(good, "v"),
        LOOK,
        ("COPY v FROM STDIN CSV", [b"1,a\n", b"2,b\n"]),
        LOOK,
        "CREATE MATERIALIZED VIEW m AS SELECT * FROM t",
        copy(good, "m"),
        "CREATE SEQUENCE s",
        copy(good, "s"),
        "CREATE INDEX i ON t (id)",
        copy(good, "i"),
        "CREATE TYPE c AS (id int, name text)",
        copy(good, "c"),
    ], 0
    yield "partitions", [
        "CREATE TABLE p (%s) PARTITION BY RANGE (id)" % columns,
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (1000)",
        "CREATE TABLE p2 (name text, id int)",
        "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (1000) TO (2999)",
        copy(good, "p"),
        copy(good, "p1"),
        "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (2999) TO (MAXVALUE) PARTITION BY HASH (name)",
        copy(good, "p"),
        "CREATE TABLE p4 PARTITION OF p3 FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        copy(good, "p"),
        "SELECT tableoid::regclass, count(*), sum(id) FROM p GROUP BY 1" " ORDER BY 1",
        "BEGIN",
        "TRUNCATE p",
        copy(good, "p", options="FORMAT csv, FREEZE"),
        "ROLLBACK",
    ], 1
    yield "a parent", [
        "CREATE TABLE child () INHERITS (t)",
        copy(good),
        "SELECT count(*) FROM ONLY t",
        "SELECT count(*) FROM child",
    ], 1
    yield "columns of all kinds", [
        "CREATE TABLE k (id int PRIMARY KEY, name varchar(8) NOT NULL, number serial,"
        " own int GENERATED ALWAYS AS IDENTITY, twice int GENERATED ALWAYS AS (id * 2) STORED,"
        " at text DEFAULT 'x', CHECK (id < 2500))",
        copy(f["few"], "k (id, name)"),
        copy(f["few"], "k (id, name)"),
        "SELECT * FROM k",
        copy(good, "k (id, name)"),
        "ALTER TABLE k DROP CONSTRAINT k_id_check",
        copy(good, "k (id, name)"),
        "TRUNCATE k",
        copy(good, "k (id, name)"),
        copy(f["few"], "k (id, twice)"),
        copy(f["few"], "k (id, name)", " WHERE twice > 2"),
        copy(f["few"], "k"),
        "SELECT count(*), sum(twice), sum(number), sum(own), min(at) FROM k",
        "INSERT INTO k (id, name) VALUES (-1, '') RETURNING number, own",
    ], None
    yield "a foreign table", [
        "CREATE FOREIGN TABLE foreign_table (%s) SERVER fastcsv OPTIONS (filename '%s')" % (columns, good),
        copy(good, "foreign_table"),
        LOOK,
    ], 0
    yield "rules", ["CREATE RULE r AS ON INSERT TO t DO INSTEAD NOTHING", copy(good), LOOK], 1
    yield "no columns", [
        "CREATE TABLE nothing ()",
        ("COPY nothing FROM STDIN CSV", [b"\n\n"]),
        copy(f["few"], "nothing"),
        "SELECT count(*) FROM nothing",
    ], None


def programs(f):
    def program(command, options="FORMAT csv"):
        return "COPY t FROM PROGRAM $$%s$$ (%s)" % (command, options)

    yield "programs", [
        program("cat " + f["good"]),
        program("cat %s" % f["few"]),
        program("cat " + f["header"], "FORMAT csv, HEADER"),
        program("true"),
        LOOK,
    ], None
    yield "programs that fail", [
        program("cat %s; exit 3" % f["good"]),
        program("exit 2"),
        program("cat %s; kill -9 $$$" % f["good"].replace("$$", "$")),
        program("no-such-program-at-all 2>&-"),
        program("cat " + f["bad"]),
        program("cat " + f["good"], "FORMAT text"),
        program("(cat %s; echo '\\.'; yes) 2>&-" % f["good"]),
        program("cat %s; exit 1" % f["bad"]),
        LOOK,
    ], None
