-- Scans by a worker and its threads: which path is taken, and that rows, counts and errors are the same.
SET fastcsv.min_parallel_size = 0;
SET fastcsv.range_size = 1000;
COPY (SELECT g AS a, g % 7 AS b, CASE WHEN g % 5 = 0 THEN NULL ELSE 'text ' || g END AS c,
             CASE WHEN g % 100 = 0 THEN E'two\nlines, "quoted"' ELSE 'plain' END AS d, '{"n": ' || g || '}' AS e
      FROM generate_series(1, 1000) g)
    TO '/tmp/fastcsv_parallel.csv' (FORMAT csv, HEADER);
CREATE FOREIGN TABLE wide (a int, b int, c text, d text, e jsonb)
    SERVER fastcsv OPTIONS (filename '/tmp/fastcsv_parallel.csv', header 'true');

SELECT count(a), sum(a), count(c), sum(length(d)), max(e->>'n') FROM wide;
SELECT operation, path, reason, threads > 0 AS threads, ranges > 10 AS ranges, rereads, declined, rows, bytes > 30000 AS bytes
FROM fastcsv_last_run();

-- Counting ships no rows; a condition that the threads can decide is decided there.
EXPLAIN (COSTS OFF) SELECT count(*) FROM wide;
SELECT count(*) FROM wide;
EXPLAIN (COSTS OFF) SELECT count(*), count(1) FROM wide WHERE b = 3 AND c IS NOT NULL;
SELECT count(*), count(1) FROM wide WHERE b = 3 AND c IS NOT NULL;
SELECT path, filtered, rows FROM fastcsv_last_run();
EXPLAIN (COSTS OFF) SELECT count(*) FROM wide WHERE length(c) = 7;
SELECT count(*) FROM wide WHERE length(c) = 7;
EXPLAIN (COSTS OFF) SELECT b, count(*) FROM wide GROUP BY b;
SELECT b, count(*) FROM wide WHERE a <= 700 GROUP BY b ORDER BY b;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT a FROM wide WHERE a BETWEEN 10 AND 12;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, FORMAT json) SELECT a FROM wide WHERE a BETWEEN 10 AND 12;
SELECT count(*) FROM (SELECT 1 FROM wide OFFSET 0) AS rows_without_columns;
PREPARE above (int) AS SELECT count(*) FROM wide WHERE a > $1;
EXECUTE above (990);
EXECUTE above (995);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE above (995);
EXECUTE above (995);
RESET plan_cache_mode;

-- File order, rescans, cursors, joins, system columns.
SELECT a FROM wide OFFSET 497 LIMIT 4;
SELECT x.a, (SELECT count(*) FROM wide y WHERE y.a < x.a) FROM wide x WHERE x.a IN (1, 500, 1000);
BEGIN;
DECLARE forth CURSOR FOR SELECT a, d FROM wide WHERE a > 98;
FETCH 3 FROM forth;
CLOSE forth;
COMMIT;
SELECT count(*) FROM wide x JOIN wide y ON x.a = y.a WHERE x.b = y.b;
SELECT DISTINCT tableoid::regclass FROM wide;
SELECT xmin FROM wide LIMIT 1;

-- An error in the middle: the rows before it come first, the place is exact.
\! sed '600s/^[0-9]*/bad/' /tmp/fastcsv_parallel.csv > /tmp/fastcsv_parallel_bad.csv
ALTER FOREIGN TABLE wide OPTIONS (SET filename '/tmp/fastcsv_parallel_bad.csv');
SELECT sum(a) FROM wide;
SELECT count(*) FROM wide;
BEGIN;
DECLARE early CURSOR FOR SELECT a FROM wide;
MOVE 590 FROM early;
FETCH 2 FROM early;
MOVE 10 FROM early;
ROLLBACK;
\! head -n 300 /tmp/fastcsv_parallel.csv > /tmp/fastcsv_parallel_bad.csv; printf '5,5,"open,5\n6,6,6,6,6\n' >> /tmp/fastcsv_parallel_bad.csv
SELECT sum(a) FROM wide;

-- A JSON value that is none, in a column that only PostgreSQL can convert.
\! sed '700s/{""n""/{n/' /tmp/fastcsv_parallel.csv > /tmp/fastcsv_parallel_bad.csv
SELECT count(e) FROM wide;

-- What is read serially, and why.
ALTER FOREIGN TABLE wide OPTIONS (SET filename '/tmp/fastcsv_parallel.csv');
SET fastcsv.min_parallel_size = '1MB';
SELECT count(*) FROM wide;
SELECT path, reason FROM fastcsv_last_run();
SET fastcsv.min_parallel_size = 0;
ALTER FOREIGN TABLE wide OPTIONS (ADD escape '\');
SELECT count(a) FROM wide;
SELECT path, reason FROM fastcsv_last_run();
SHOW fastcsv.range_size;
SET fastcsv.simd = 'mmx';
DROP FOREIGN TABLE wide;
\! rm -f /tmp/fastcsv_parallel.csv /tmp/fastcsv_parallel_bad.csv
