-- Reading files as tables.
CREATE FOREIGN TABLE people (id int, name text, born date, note text) SERVER fastcsv
    OPTIONS (filename '../pg_regress/data/people.csv', header 'true');
SELECT * FROM people;
SELECT name FROM people WHERE born < '1900-01-01';
SELECT count(*), count(born), count(note) FROM people;
SELECT tableoid::regclass, ctid, p FROM people p WHERE id = 3;
EXPLAIN (COSTS OFF) SELECT name FROM people WHERE id > 2;
EXPLAIN (COSTS OFF, FORMAT json) SELECT name FROM people;
-- Only columns that are needed are converted.
CREATE FOREIGN TABLE bad (id int, name text, born date, note text) SERVER fastcsv
    OPTIONS (filename '../pg_regress/data/bad_date.csv', header 'true');
SELECT id, note FROM bad;
SELECT count(*) FROM bad;
SELECT id FROM bad WHERE born IS NULL;
-- Lazily: what a cursor or a LIMIT does not come to is not read.
SELECT name, born FROM bad LIMIT 2;
BEGIN;
DECLARE c CURSOR FOR SELECT id, born FROM bad;
FETCH 2 FROM c;
FETCH 1 FROM c;
ROLLBACK;
SELECT EXISTS (SELECT FROM bad WHERE born > '1800-01-01');
-- Rescans and joins.
CREATE FOREIGN TABLE grid (a int, b int, c text) SERVER fastcsv OPTIONS (filename '../pg_regress/data/grid.csv');
SELECT count(*), sum(a), sum(b), min(c), max(c) FROM grid;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
SELECT count(*) FROM people p JOIN grid g ON g.b = p.id;
SELECT p.id, (SELECT count(*) FROM grid g WHERE g.a <= p.id) FROM people p ORDER BY 1;
SELECT p.id, l.a FROM people p, LATERAL (SELECT a FROM grid g WHERE g.a % 7 = p.id LIMIT 2) l;
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material;
BEGIN;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT a FROM grid WHERE b = 3;
FETCH 2 FROM c;
COMMIT;
FETCH BACKWARD 1 FROM c;
FETCH ABSOLUTE 5 FROM c;
CLOSE c;
-- Prepared, with both kinds of plan.
PREPARE q (int) AS SELECT count(*) FROM grid WHERE b = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE q(3);
SET plan_cache_mode = force_custom_plan;
EXECUTE q(4);
RESET plan_cache_mode;
DEALLOCATE q;
-- Row locks are taken as on any foreign table: not at all.
SELECT id FROM people WHERE id = 1 FOR UPDATE;
SELECT p.id FROM people p JOIN grid g ON g.a = p.id WHERE g.b = 2 FOR UPDATE OF p;
-- Generated columns are not in the file; defaults and constraints are not applied.
CREATE FOREIGN TABLE generated (id int NOT NULL CHECK (id > 100), twice int GENERATED ALWAYS AS (id * 2) STORED, name text)
    SERVER fastcsv OPTIONS (filename '../pg_regress/data/no_header.csv');
SELECT id, name FROM generated;
-- A dropped column is not expected in the file.
CREATE FOREIGN TABLE narrowed (gone text, id int, name text) SERVER fastcsv
    OPTIONS (filename '../pg_regress/data/no_header.csv');
ALTER FOREIGN TABLE narrowed DROP COLUMN gone;
SELECT * FROM narrowed;
-- Partitions.
CREATE TABLE parted (a int, b int, c text) PARTITION BY LIST (b);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE FOREIGN TABLE parted_rest PARTITION OF parted DEFAULT SERVER fastcsv
    OPTIONS (filename '../pg_regress/data/grid.csv');
INSERT INTO parted VALUES (1, 1, 'one');
INSERT INTO parted VALUES (2, 2, 'two');
SELECT tableoid::regclass, count(*) FROM parted GROUP BY 1 ORDER BY 1;
SELECT * FROM parted WHERE a = 7;
-- Nothing can be written.
INSERT INTO people VALUES (5);
UPDATE people SET id = 6;
DELETE FROM people;
TRUNCATE people;
COPY people FROM '/dev/null';
COPY people TO stdout;
-- ANALYZE samples, and the plans that follow know the file.
ANALYZE grid;
SELECT reltuples, relpages FROM pg_class WHERE relname = 'grid';
SELECT attname, n_distinct, null_frac FROM pg_stats WHERE tablename = 'grid' ORDER BY 1;
EXPLAIN (SUMMARY OFF) SELECT * FROM grid WHERE b = 3;
SET default_statistics_target = 1;
ANALYZE grid;
RESET default_statistics_target;
ANALYZE bad;
-- Other formats are read by the same parser.
CREATE FOREIGN TABLE tabs (id text, name text) SERVER fastcsv
    OPTIONS (filename '../pg_regress/data/text.tsv', format 'text');
SELECT * FROM tabs;
COPY (SELECT g, 'n' || g FROM generate_series(1, 3) g) TO PROGRAM 'cat > fastcsv_regress.bin' (FORMAT binary);
CREATE FOREIGN TABLE bin (id int, name text) SERVER fastcsv
    OPTIONS (filename 'fastcsv_regress.bin', format 'binary');
SELECT name FROM bin;
-- Programs.
CREATE FOREIGN TABLE prog (id int, name text) SERVER fastcsv OPTIONS (program 'printf "1,a\n2,b\n"');
SELECT * FROM prog;
EXPLAIN (COSTS OFF) SELECT * FROM prog;
ALTER FOREIGN TABLE prog OPTIONS (SET program 'printf "1,a\n"; exit 3');
SELECT * FROM prog;
ANALYZE prog;
-- Files that are not there, or not files.
CREATE FOREIGN TABLE missing (id int) SERVER fastcsv OPTIONS (filename '../pg_regress/data/no_such_file.csv');
EXPLAIN (COSTS OFF) SELECT * FROM missing;
SELECT * FROM missing;
ANALYZE missing;
ALTER FOREIGN TABLE missing OPTIONS (SET filename '../pg_regress');
SELECT * FROM missing;
ALTER FOREIGN TABLE missing OPTIONS (SET filename '/dev/null');
SELECT * FROM missing;
ALTER FOREIGN TABLE missing OPTIONS (SET filename '/dev/zero');
SELECT * FROM missing;
-- Progress is reported as COPY's: seen from inside by a function the scan calls.
CREATE FUNCTION progress() RETURNS text LANGUAGE sql VOLATILE AS
    'SELECT relid::regclass || '' '' || command || '' '' || type || '' '' || bytes_processed || ''/'' || bytes_total
     FROM pg_stat_progress_copy WHERE pid = pg_backend_pid()';
SELECT name, progress() FROM people WHERE id = 2;
SELECT count(*) FROM pg_stat_progress_copy;
DROP FOREIGN TABLE people, bad, grid, generated, narrowed, tabs, bin, prog, missing;
DROP TABLE parted;
DROP FUNCTION progress;
