-- What a file may be besides one of plain text.

-- Compressed files are known by their first bytes.
CREATE FOREIGN TABLE packed (id int, name text, born date, note text)
    SERVER fastcsv OPTIONS (filename '../pg_regress/data/people.csv.gz', header 'true');
SELECT * FROM packed;
EXPLAIN (COSTS OFF) SELECT id FROM packed;
SELECT count(*) FROM packed WHERE born IS NULL;
ALTER FOREIGN TABLE packed OPTIONS (SET filename '../pg_regress/data/people.csv.bz2');
SELECT count(*) FROM packed;
CREATE TABLE people (id int, name text, born date, note text);
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv.zst');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv.xz');
SELECT count(*), count(DISTINCT people) FROM people;
-- Positions are those in what the file holds.
ALTER FOREIGN TABLE packed ALTER COLUMN note TYPE int;
SELECT * FROM packed;
-- The option says whether they are decompressed.
ALTER FOREIGN TABLE packed OPTIONS (ADD compression 'gzip');
ALTER FOREIGN TABLE packed OPTIONS (ADD compression 'none', SET filename '../pg_regress/data/people.csv.gz');
EXPLAIN (COSTS OFF) SELECT id FROM packed;
SELECT count(*) FROM packed;
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv.gz', header => true, compression => 'none');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv.gz', compression => 'gzip');
-- What is wrong with them.
SELECT fastcsv_copy('people', '../pg_regress/data/cut.csv.gz');
SELECT count(*) FROM people;
DROP FOREIGN TABLE packed;
DROP TABLE people;
