-- A file becomes a table by COPY, and by psql's \copy.
LOAD 'fastcsv';
COPY people_new FROM '../pg_regress/data/people.csv' WITH (FORMAT csv, HEADER, CREATE_TABLE);
SELECT * FROM people_new;
COPY people_new FROM '../pg_regress/data/people.csv' WITH (FORMAT csv, HEADER, CREATE_TABLE);
DROP TABLE people_new;
COPY people_new FROM STDIN WITH (FORMAT csv, CREATE_TABLE);
id,"a name",born
1,Ada,1815-12-10
2,"Grace
Hopper",1906-12-09
\.
SELECT * FROM people_new;
DROP TABLE people_new;
\copy people_new from program 'printf "a;b\n1,5;x\n2,5;y\n"' with (format csv, create_table)
SELECT * FROM people_new;
DROP TABLE people_new;
-- All or nothing, and the place of what is wrong.
COPY people_new FROM STDIN WITH (FORMAT csv, CREATE_TABLE);
a,b
1,2
3
\.
SELECT to_regclass('people_new');
-- Who may not read files on the server may send theirs.
CREATE ROLE sends_files;
CREATE SCHEMA sent AUTHORIZATION sends_files;
SET ROLE sends_files;
COPY sent.people_new FROM '../pg_regress/data/people.csv' WITH (FORMAT csv, HEADER, CREATE_TABLE);
COPY sent.people_new FROM STDIN WITH (FORMAT csv, CREATE_TABLE);
a,b
1,2
\.
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
COPY people_new FROM STDIN WITH (FORMAT csv, CREATE_TABLE, HEADER false);
\.
SET fastcsv.accelerate_copy = off;
COPY people_new FROM STDIN WITH (FORMAT csv, CREATE_TABLE);
