-- A file becomes a table by COPY, and by psql's \copy.
LOAD 'fastcsv';
COPY people_new FROM '../pg_regress/data/people.csv' WITH (FORMAT csv, HEADER, CREATE_TABLE);
SELECT * FROM people_new;
COPY people_new FROM '../pg_regress/data/people.csv' WITH (FORMAT csv, HEADER, CREATE_TABLE);
DROP TABLE people_new;
\copy people_new from program 'printf "id,\"a name\",born\n1,Ada,1815-12-10\n2,\"Grace\nHopper\",1906-12-09\n"' with (format csv, create_table)
SELECT * FROM people_new;
DROP TABLE people_new;
\copy people_new from program 'printf "a;b\n1,5;x\n2,5;y\n"' with (format csv, create_table)
SELECT * FROM people_new;
DROP TABLE people_new;
-- All or nothing, and the place of what is wrong.
\copy people_new from program 'printf "a,b\n1,2\n3\n"' with (format csv, create_table)
SELECT to_regclass('people_new');
-- Who may not read files on the server may send theirs.
CREATE ROLE sends_files;
CREATE SCHEMA sent AUTHORIZATION sends_files;
SET ROLE sends_files;
\set VERBOSITY sqlstate
COPY sent.people_new FROM '../pg_regress/data/people.csv' WITH (FORMAT csv, HEADER, CREATE_TABLE);
\set VERBOSITY default
\copy sent.people_new from program 'printf "a,b\n1,2\n"' with (format csv, create_table)
SELECT * FROM sent.people_new;
RESET ROLE;
DROP SCHEMA sent CASCADE;
DROP ROLE sends_files;
-- What it cannot have.
COPY people_new (a) FROM STDIN WITH (FORMAT csv, CREATE_TABLE);
COPY people_new FROM PROGRAM 'true' WITH (FORMAT csv, CREATE_TABLE);
COPY people_new FROM STDIN WITH (FORMAT csv, CREATE_TABLE) WHERE a > 1;
COPY people_new FROM STDIN WITH (FORMAT csv, CREATE_TABLE, FREEZE);
COPY people_new FROM STDIN WITH (FORMAT csv, CREATE_TABLE perhaps);
\copy people_new from program 'true' with (format csv, create_table)
-- With acceleration off it is an option that COPY does not know.
CREATE TABLE people_new (a int);
SET fastcsv.accelerate_copy = off;
COPY people_new FROM STDIN WITH (FORMAT csv, CREATE_TABLE);
DROP TABLE people_new;
