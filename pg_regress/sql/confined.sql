-- fastcsv.allowed_directories confines everybody but superusers to some directories.
LOAD 'fastcsv';
CREATE ROLE confined;
GRANT pg_read_server_files TO confined;
GRANT USAGE ON FOREIGN SERVER fastcsv TO confined;
CREATE SCHEMA confined AUTHORIZATION confined;
SET fastcsv.allowed_directories = '"unfinished';
SELECT regexp_replace(setting, '/[^/]*$', '') AS parent FROM pg_settings WHERE name = 'data_directory' \gset
SELECT set_config('fastcsv.allowed_directories', :'parent' || '/pg_regress/data', false) <> '' AS set;
SET ROLE confined;
SET fastcsv.allowed_directories = '';
-- Inside.
SELECT name FROM fastcsv_read('../pg_regress/data/people.csv') AS p (id int, name text, born date, note text) WHERE id = 1;
SELECT name FROM fastcsv_read('../pg_regress/data/../data/people.csv') AS p (id int, name text, born date, note text) WHERE id = 1;
SELECT * FROM fastcsv_read('../pg_regress/data/no_such_file') AS p (id int);
CREATE TABLE confined.loaded (id int, name text, born date, note text);
SELECT fastcsv_copy('confined.loaded', '../pg_regress/data/people.csv');
CREATE FOREIGN TABLE confined.people (id int, name text, born date, note text) SERVER fastcsv
    OPTIONS (filename '../pg_regress/data/people.csv', header 'true');
SELECT count(*) FROM confined.people;
-- Outside, whether there is such a file or not.
SELECT * FROM fastcsv_read('PG_VERSION') AS p (version text);
SELECT * FROM fastcsv_read('no_such_file') AS p (version text);
SELECT * FROM fastcsv_read('../pg_regress/data/../../data/PG_VERSION') AS p (version text);
SELECT * FROM fastcsv_read('../pg_regress/data/no_such_folder/../../../data/PG_VERSION') AS p (version text);
SELECT * FROM fastcsv_read('../pg_regress/database') AS p (version text);
SELECT fastcsv_copy('confined.loaded', 'PG_VERSION');
SELECT * FROM fastcsv_infer('PG_VERSION');
SELECT * FROM fastcsv_preview('PG_VERSION');
SELECT fastcsv_import('PG_VERSION', 'imported', 'confined');
IMPORT FOREIGN SCHEMA "PG_VERSION" FROM SERVER fastcsv INTO confined;
IMPORT FOREIGN SCHEMA "PG_*" FROM SERVER fastcsv INTO confined;
IMPORT FOREIGN SCHEMA "../pg_regress/data/../../data/PG_*" FROM SERVER fastcsv INTO confined;
CREATE FOREIGN TABLE confined.version (version text) SERVER fastcsv OPTIONS (filename 'PG_VERSION');
SELECT * FROM confined.version;
SELECT count(*) FROM confined.version;
ANALYZE confined.version;
EXPLAIN SELECT * FROM confined.version;
-- COPY is PostgreSQL's own.
CREATE TABLE confined.version_table (version text);
COPY confined.version_table FROM 'PG_VERSION' (FORMAT csv);
RESET ROLE;
-- A superuser is not confined.
SELECT count(*) FROM confined.version;
RESET fastcsv.allowed_directories;
DROP SCHEMA confined CASCADE;
REVOKE USAGE ON FOREIGN SERVER fastcsv FROM confined;
DROP ROLE confined;
