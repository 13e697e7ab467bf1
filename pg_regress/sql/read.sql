-- Files as rows, without a table.
SELECT * FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text);
SELECT count(*) FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text);
-- The columns that are needed, and conditions, reach the scan.
EXPLAIN (COSTS OFF) SELECT name FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text)
    WHERE id > 2;
SELECT name FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text) WHERE id > 2;
SET fastcsv.min_parallel_size = 0; SET fastcsv.threads = 2; SET fastcsv.range_size = 64;
SELECT count(*), sum(a), max(c) FROM fastcsv_read('../pg_regress/data/grid.csv') AS g (a int, b int, c text) WHERE b > 1;
SELECT path, filtered > 0 AS filtered FROM fastcsv_last_run();
-- Options are COPY's.
SELECT * FROM fastcsv_read('../pg_regress/data/semicolon.csv', delimiter => ';') AS s (a text, b text) LIMIT 2;
SELECT * FROM fastcsv_read('../pg_regress/data/people.csv', delimiter => ';;') AS s (a text, b text);
SELECT id FROM fastcsv_read('../pg_regress/data/people.csv', header => false) AS p (id text, name text, born text, note text);
-- Where it is no scan of its own: a LATERAL argument, a row as a whole, WITH ORDINALITY.
SELECT f.n, p.name FROM (VALUES (2, '../pg_regress/data/people.csv')) f (n, file),
    LATERAL fastcsv_read(f.file) AS p (id int, name text, born date, note text) WHERE p.id = f.n;
SELECT p FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text) WHERE id = 1;
SELECT * FROM ROWS FROM (fastcsv_read('../pg_regress/data/people.csv') AS (id int, name text, born date, note text))
    WITH ORDINALITY LIMIT 1;
-- Parameters, rescans, cursors, views.
PREPARE named(text, int) AS
    SELECT name FROM fastcsv_read($1) AS p (id int, name text, born date, note text) WHERE id = $2;
EXECUTE named('../pg_regress/data/people.csv', 3);
SET plan_cache_mode = force_generic_plan;
EXECUTE named('../pg_regress/data/people.csv', 2);
SELECT v, (SELECT name FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text)
    WHERE id = v) FROM generate_series(1, 2) v;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text);
FETCH 2 FROM c;
COMMIT;
CREATE VIEW people_view AS
    SELECT id, name FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text);
SELECT max(id) FROM people_view;
DROP VIEW people_view;
-- What is wrong is told as of a table.
SELECT * FROM fastcsv_read('../pg_regress/data/bad_date.csv') AS p (id int, name text, born date, note text);
SELECT * FROM fastcsv_read('../pg_regress/data/no_such_file.csv') AS p (id int);
SELECT * FROM fastcsv_read(NULL) AS p (id int);
SELECT fastcsv_read('../pg_regress/data/people.csv');
CREATE ROLE reads_nothing;
SET ROLE reads_nothing;
\set VERBOSITY sqlstate
SELECT * FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text);
\set VERBOSITY default
EXPLAIN (COSTS OFF) SELECT * FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text);
RESET ROLE;
DROP ROLE reads_nothing;
