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

-- Many files behind one name: a pattern, or a list. Each has its own header.
CREATE FOREIGN TABLE parts (source text, id int, name text)
    SERVER fastcsv OPTIONS (filename '../pg_regress/data/parts/*.csv', header 'true', filename_column 'source');
SELECT * FROM parts;
EXPLAIN (COSTS OFF) SELECT name FROM parts WHERE source LIKE '%a.csv';
SELECT count(*) FROM parts WHERE source LIKE '%a.csv';
SELECT rows, bytes FROM fastcsv_last_run();
-- An error names its file, and that file's line.
ALTER FOREIGN TABLE parts OPTIONS (SET filename '../pg_regress/data/parts/c.txt,../pg_regress/data/parts/a.csv');
SELECT * FROM parts;
SELECT name FROM parts;
ALTER FOREIGN TABLE parts OPTIONS (SET filename_column 'origin');
SELECT * FROM parts;
CREATE TABLE loaded (id int, name text, origin text);
SELECT fastcsv_copy('loaded', '../pg_regress/data/parts/?.csv', filename_column => 'origin');
SELECT fastcsv_copy('loaded', '../pg_regress/data/parts/[!a].*', columns => '{id,name}');
SELECT fastcsv_copy('loaded', '../pg_regress/data/parts/*.tsv');
SELECT * FROM loaded ORDER BY id;
SELECT * FROM fastcsv_read('../pg_regress/data/parts/b.csv,../pg_regress/data/parts/a.csv', filename_column => 'f')
    AS t (id int, f text, name text);
DROP FOREIGN TABLE parts;
DROP TABLE loaded;

-- Columns by name, behind a byte order mark. Fields that are nobody's are passed over; what is missing is NULL, or has its default in a load.
CREATE FOREIGN TABLE named (name text, id int, born date DEFAULT '2000-01-01')
    SERVER fastcsv OPTIONS (filename '../pg_regress/data/named.csv', match 'name');
SELECT * FROM named;
SELECT count(*) FROM named WHERE born IS NULL;
CREATE TABLE loaded (name text, id int, born date DEFAULT '2000-01-01');
SELECT fastcsv_copy('loaded', '../pg_regress/data/named.csv', match => 'name');
SELECT * FROM loaded;
SELECT * FROM fastcsv_read('../pg_regress/data/parts/a.csv,../pg_regress/data/named.csv', match => 'name') AS t (note text, id int);
SELECT * FROM fastcsv_read('../pg_regress/data/named.csv', match => 'name') AS t (ids int, nome text);
SELECT * FROM fastcsv_read('../pg_regress/data/named.csv', match => 'name') AS t (a int, b text);
SELECT fastcsv_copy('loaded', '../pg_regress/data/named.csv', match => 'order');
-- Marks and UTF-16.
SELECT * FROM fastcsv_read('../pg_regress/data/named.csv', header => false) AS t (a text, b text, c text) LIMIT 1;
SELECT * FROM fastcsv_read('../pg_regress/data/named.csv', bom => 'drop', header => false) AS t (a text, b text, c text) LIMIT 1;
ALTER FOREIGN TABLE named OPTIONS (SET filename '../pg_regress/data/utf16.csv', DROP match, ADD header 'true', ADD encoding 'UTF16');
SELECT name, id FROM fastcsv_read('../pg_regress/data/utf16.csv') AS t (id int, name text);
SELECT fastcsv_copy('loaded', '../pg_regress/data/utf16.csv', match => 'name');
SELECT fastcsv_copy('loaded', '../pg_regress/data/utf16.csv', header => false, bom => 'keep');
ALTER FOREIGN TABLE named OPTIONS (SET encoding 'UTF17');
DROP FOREIGN TABLE named;
DROP TABLE loaded;
