"""What SQL does to a scan or load in the middle: transactions, cursors, other nodes, other sessions. Rows 47 to 51."""
import os

from harness import GATE, LOAD, RECORDS, SCAN, record, row
from server import wait_until

TOTAL = str(RECORDS * (RECORDS + 1) // 2)


def no_worker(t):
    """No worker is left, although the transaction goes on."""
    assert wait_until(lambda: not t.server.workers(), 2), "a worker is left within the transaction"


def bad_file(t):
    """The file with a bad value behind the gate."""
    path = os.path.join(t.folder, "bad.csv")
    with open(path, "w") as file:
        for index in range(1, RECORDS + 1):
            file.write(record(index) if index != GATE + 1 else "bad,bad,bad\n")
    return path


@row("47", "savepoints around loads", operations=(LOAD,))
def savepoints(t):
    bad = bad_file(t)
    t.session.must("BEGIN")
    t.session.must(t.sql())
    for _ in range(3):
        t.session.must("SAVEPOINT s")
        t.expect_error(t.session.exec(t.sql(bad)), "22P02", context=r"^COPY t, line %d, column id" % (GATE + 1))
        t.session.must("ROLLBACK TO s")
        no_worker(t)
        assert t.session.value("SELECT count(*) FROM t") == str(RECORDS)
    t.session.must("COMMIT")
    t.errors_allowed = 3
    assert t.session.value("SELECT count(*) FROM t") == str(RECORDS)


@row("47", "a cursor outlives a savepoint in which another scan fails", operations=(SCAN,))
def cursor_and_savepoint(t):
    t.session.must("BEGIN")
    t.session.must("DECLARE c CURSOR FOR SELECT id FROM f")
    t.session.must("FETCH 10 FROM c")
    t.session.must("SAVEPOINT s")
    t.expect_error(t.session.exec("SELECT sum(1 / (id - %d)) FROM f" % GATE), "22012")
    t.session.must("ROLLBACK TO s")
    assert wait_until(lambda: len(t.server.workers()) == 1, 2), t.server.workers()
    assert t.session.value("FETCH c") == "11"
    t.session.must("MOVE %d IN c" % (RECORDS - 12))
    assert t.session.must("FETCH ALL FROM c")["rows"] == [[str(RECORDS)]]
    t.session.must("COMMIT")


@row("47", "an EXCEPTION block catches what happens in the middle")
def exception_block(t):
    if t.operation == LOAD:
        body = "PERFORM fastcsv_copy('t', '%s', header => false)" % bad_file(t)
        expected = "22P02"
    else:
        body = "FOR r IN SELECT id FROM f LOOP IF r.id = %d THEN RAISE 'no more' USING ERRCODE = 'P0007'; END IF; END LOOP"
        body, expected = body % GATE, "P0007"
    t.session.must("BEGIN")
    for _ in range(5):
        block = "DO $$ DECLARE r record; BEGIN BEGIN %s; EXCEPTION WHEN OTHERS THEN" % body
        block += " PERFORM set_config('test.caught', SQLSTATE, false); END; END $$"
        t.session.must(block)
        assert t.session.value("SHOW test.caught") == expected
    no_worker(t)
    assert t.session.value("SELECT count(*) FROM t") == "0"
    t.session.must("COMMIT")


@row("47", "inside a function, a trigger and another statement", operations=(LOAD,))
def nested(t):
    t.session.must("CREATE TEMP TABLE files (name text)")
    t.session.must("""CREATE FUNCTION pg_temp.load() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM fastcsv_copy('t', NEW.name, header => false); RETURN NEW; END $$""")
    t.session.must("CREATE TRIGGER load BEFORE INSERT ON files FOR EACH ROW EXECUTE FUNCTION pg_temp.load()")
    t.session.must("INSERT INTO files VALUES ('%s')" % t.file)
    assert t.session.value("SELECT count(*) FROM t") == str(RECORDS)
    t.session.must("TRUNCATE t")
    t.expect_error(t.session.exec("INSERT INTO files VALUES ('%s')" % bad_file(t)), "22P02")
    assert t.session.value("WITH l AS (%s) SELECT count(*) FROM l" % t.sql()) == "1"


@row("47", "cursors closed early, left open at the end, or held", operations=(SCAN,))
def cursors(t):
    for end in ("CLOSE c; COMMIT", "COMMIT", "ROLLBACK"):
        t.session.must("BEGIN; DECLARE c CURSOR FOR SELECT id FROM f; FETCH 100 FROM c")
        assert t.server.workers(t.session.pid), "there is no worker"
        t.session.must(end)
        no_worker(t)
    t.session.must("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT id FROM f; FETCH 100 FROM c; COMMIT")
    no_worker(t)
    t.session.must("MOVE %d IN c" % (RECORDS - 101))
    assert t.session.must("FETCH ALL FROM c")["rows"] == [[str(RECORDS)]]
    t.session.must("CLOSE c")
    t.session.must("BEGIN; DECLARE c CURSOR FOR SELECT id FROM f; FETCH 100 FROM c")
    t.expect_error(t.session.exec("SELECT 1/0"), "22012")
    no_worker(t)
    t.session.must("ROLLBACK")
    outcome = t.session.exec("BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM f; FETCH 5 FROM c; FETCH PRIOR FROM c")
    assert outcome["rows"] == [["4"]], outcome
    t.session.must("COMMIT")


@row("47", "PREPARE TRANSACTION")
def prepared(t):
    t.session.must("BEGIN")
    if t.operation == SCAN:
        t.session.must("DECLARE c CURSOR FOR SELECT id FROM f; FETCH 100 FROM c")
    else:
        t.session.must(t.sql())
    t.session.must("PREPARE TRANSACTION 'p'")
    no_worker(t)
    assert t.session.value("SELECT count(*) FROM t") == "0"
    t.session.must("COMMIT PREPARED 'p'")
    assert t.session.value("SELECT count(*) FROM t") == (str(RECORDS) if t.operation == LOAD else "0")


@row("48", "an error in another node", operations=(SCAN,))
def other_node(t):
    queries = ["SELECT sum(1 / (id - %d)) FROM f" % GATE,
               "SELECT count(*) FROM f JOIN generate_series(1, 10) g ON g / (f.id - %d) = g" % GATE,
               "SELECT * FROM f ORDER BY 1 / (id - %d)" % GATE,
               "INSERT INTO t SELECT id / (id - %d), name, x FROM f" % GATE]
    for query in queries:
        t.expect_error(t.session.exec(query), "22012")
        no_worker(t)
    t.errors_allowed = len(queries)


@row("48", "LIMIT, rescans, joins and parallel plans", operations=(SCAN,))
def plans(t):
    few = "(SELECT id, name FROM f WHERE id <= 20000) "
    queries = {
        "SELECT count(*) FROM (SELECT id FROM f LIMIT 50) s": "50",
        "SELECT count(*) FROM generate_series(1, 5) g, LATERAL (SELECT id FROM f WHERE id > g LIMIT 7) s": "35",
        "SELECT count(*) FROM generate_series(1, 3) g LEFT JOIN LATERAL (SELECT count(*) FROM f WHERE id % 3 <> g) s ON"
        " true": "3",
        "SELECT sum(a.id) FROM f a JOIN f b USING (id)": TOTAL,
        "SELECT count(*) FROM %s a, LATERAL (SELECT 1 WHERE EXISTS (TABLE f)) b" % few: "20000",
        "SELECT count(*) FROM f WHERE id = ANY (ARRAY(SELECT g FROM generate_series(1, 100) g))": "100",
    }
    force = "debug_parallel_query" if t.session.version >= 160000 else "force_parallel_mode"
    parallel = ("max_parallel_workers_per_gather = 2", "parallel_setup_cost = 0", "parallel_tuple_cost = 0", force + " = on")
    for settings in ([], ["enable_hashjoin = off"], ["enable_material = off"], parallel):
        session = t.open(*settings)  # which keeps some shared memory of PostgreSQL's behind a parallel query
        for query, expected in queries.items():
            found = session.value(query)
            assert found == expected, "%s (%s): %s" % (query, settings, found)
        no_worker(t)
        session.close()
        t.sessions.remove(session)


@row("48", "rows that another session has changed are looked at again", operations=(SCAN,))
def rechecked(t):
    t.session.must("INSERT INTO t SELECT id, name, x FROM f WHERE id <= 10")
    t.control.must("BEGIN; UPDATE t SET x = -1 WHERE id = 5")
    t.session.start("UPDATE t SET name = f.name || '!' FROM f WHERE f.id = t.id")
    waits = "SELECT 1 FROM pg_locks WHERE pid = %d AND NOT granted" % t.session.pid
    assert wait_until(lambda: t.control.must(waits)["rows"], 20), t.session.outcome
    t.control.must("COMMIT")
    t.session.wait()
    assert t.session.must("SELECT name, x FROM t WHERE id = 5")["rows"] == [["name of 5!", "-1"]]
    assert t.session.value("SELECT count(*) FROM t WHERE name LIKE '%!'") == "10"
    t.session.must("TRUNCATE t")


@row("49", "a read-only transaction", operations=(LOAD,))
def read_only(t):
    t.session.must("BEGIN READ ONLY")
    t.expect_error(t.session.exec(t.sql()), "25006", "cannot execute COPY FROM in a read-only transaction")


@row("50", "DDL in another session waits for the load", operations=(LOAD,))
def ddl_waits(t):
    t.control.must("CREATE INDEX t_id ON t (id)")
    t.start_at_gate()
    other = t.open("lock_timeout = '50ms'")
    for statement in ("TRUNCATE t", "DROP TABLE t", "ALTER TABLE t ADD c int", "REINDEX TABLE t", "CREATE INDEX ON t (x)",
                      "REINDEX INDEX CONCURRENTLY t_id"):
        t.expect_error(other.exec(statement), "55P03")
    other.exec("SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index WHERE NOT indisvalid")
    t.open_gate()
    t.expect_rows(t.session.wait())
    t.allowed_in_log.append("REINDEX")
    left = other.must("SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 't'::regclass")["rows"]
    for index in left:
        other.must("DROP INDEX %s" % index[0])


@row("50", "DDL on the foreign table waits for the scan; what was dropped is gone", operations=(SCAN,))
def ddl_on_foreign_table(t):
    t.start_at_gate()
    other = t.open("lock_timeout = '50ms'")
    for statement in ("ALTER FOREIGN TABLE f OPTIONS (SET filename '/nowhere')", "DROP FOREIGN TABLE f"):
        t.expect_error(other.exec(statement), "55P03")
    t.open_gate()
    t.expect_rows(t.session.wait())
