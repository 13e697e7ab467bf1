-- No new power: what a role may not do with COPY and file_fdw it may not do with fastcsv.
CREATE ROLE regress_fastcsv_plain;
CREATE ROLE regress_fastcsv_reader IN ROLE pg_read_server_files;
CREATE ROLE regress_fastcsv_runner IN ROLE pg_execute_server_program;
GRANT USAGE ON FOREIGN SERVER fastcsv TO regress_fastcsv_plain, regress_fastcsv_reader, regress_fastcsv_runner;
GRANT CREATE ON SCHEMA public TO regress_fastcsv_plain, regress_fastcsv_reader, regress_fastcsv_runner;
CREATE TABLE t (id int, name text);
CREATE FOREIGN TABLE f (id int, name text) SERVER fastcsv OPTIONS (filename '../pg_regress/data/no_header.csv');
-- A plain role.
SET ROLE regress_fastcsv_plain;
CREATE FOREIGN TABLE g (id int) SERVER fastcsv OPTIONS (filename '/etc/passwd');
CREATE FOREIGN TABLE g (id int) SERVER fastcsv OPTIONS (program 'id');
SELECT * FROM f;
-- It is refused before anything is looked at: the table's rights, the file, its header.
SELECT fastcsv_copy('t', '../pg_regress/data/no_header.csv');
SELECT fastcsv_copy('t', '../pg_regress/data/no_such_file.csv');
RESET ROLE;
-- Reading a table needs SELECT on it and nothing more; changing it validates all options again.
GRANT SELECT ON f TO regress_fastcsv_plain;
ALTER FOREIGN TABLE f OWNER TO regress_fastcsv_plain;
SET ROLE regress_fastcsv_plain;
SELECT * FROM f;
ALTER FOREIGN TABLE f OPTIONS (ADD delimiter ';');
RESET ROLE;
-- Who may read files needs the table's rights too.
SET ROLE regress_fastcsv_reader;
SELECT fastcsv_copy('t', '../pg_regress/data/no_header.csv');
CREATE FOREIGN TABLE g (id int, name text) SERVER fastcsv OPTIONS (filename '../pg_regress/data/no_header.csv');
SELECT * FROM g;
ALTER FOREIGN TABLE g OPTIONS (DROP filename, ADD program 'id');
RESET ROLE;
GRANT INSERT (id) ON t TO regress_fastcsv_reader;
SET ROLE regress_fastcsv_reader;
SELECT fastcsv_copy('t', '../pg_regress/data/no_header.csv');
SELECT fastcsv_copy('t', '../pg_regress/data/no_header.csv', columns => '{id}');
RESET ROLE;
GRANT INSERT ON t TO regress_fastcsv_reader;
SET ROLE regress_fastcsv_reader;
SELECT fastcsv_copy('t', '../pg_regress/data/no_header.csv', where_clause => 'id > 1');
SELECT fastcsv_copy('t', '../pg_regress/data/no_header.csv');
RESET ROLE;
-- A function that runs as its owner.
CREATE FUNCTION trusted() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS
    $$SELECT fastcsv_copy('t', '../pg_regress/data/no_header.csv')$$;
SET ROLE regress_fastcsv_plain;
SELECT trusted();
RESET ROLE;
-- Row security.
CREATE POLICY even ON t USING (id % 2 = 0);
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE regress_fastcsv_reader;
SELECT fastcsv_copy('t', '../pg_regress/data/no_header.csv');
RESET ROLE;
SELECT fastcsv_copy('t', '../pg_regress/data/no_header.csv');
-- A table in a schema the role cannot use.
CREATE SCHEMA hidden;
CREATE TABLE hidden.t (id int, name text);
GRANT INSERT ON hidden.t TO regress_fastcsv_reader;
SELECT 'hidden.t'::regclass::oid AS hidden \gset
SET ROLE regress_fastcsv_reader;
SELECT fastcsv_copy(:hidden, '../pg_regress/data/no_header.csv');
RESET ROLE;
-- Programs.
SET ROLE regress_fastcsv_runner;
CREATE FOREIGN TABLE p (id int) SERVER fastcsv OPTIONS (program 'echo 1');
SELECT * FROM p;
CREATE FOREIGN TABLE q (id int) SERVER fastcsv OPTIONS (filename '/etc/passwd');
RESET ROLE;
DROP FOREIGN TABLE f, g, p;
DROP FUNCTION trusted;
DROP TABLE t, hidden.t;
DROP SCHEMA hidden;
DROP OWNED BY regress_fastcsv_plain, regress_fastcsv_reader, regress_fastcsv_runner;
DROP ROLE regress_fastcsv_plain, regress_fastcsv_reader, regress_fastcsv_runner;
