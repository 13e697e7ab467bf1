-- fastcsv_copy: COPY's features through a function.
CREATE TABLE people (id int, name text, born date, note text);
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv');
SELECT * FROM people;
-- Arguments that are NULL are not given; the first two must be.
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', NULL, NULL, header => NULL, delimiter => NULL,
                    quote => NULL, freeze => NULL, force_null => NULL, format => NULL);
SELECT fastcsv_copy(NULL, 'x');
SELECT fastcsv_copy('people', NULL);
-- Columns, conditions, null strings.
TRUNCATE people;
SELECT fastcsv_copy('people', '../pg_regress/data/no_header.csv', columns => '{id,name}', where_clause => 'id > 1');
SELECT fastcsv_copy('people', '../pg_regress/data/no_header.csv', '{name,note}', null_string => 'a',
                    force_not_null => '{note}', header => false);
SELECT fastcsv_copy('people', '../pg_regress/data/semicolon.csv', '{id,name}', delimiter => ';');
SELECT fastcsv_copy('people', '../pg_regress/data/latin1.csv', '{id,name}', encoding => 'latin1');
SELECT fastcsv_copy('people', '../pg_regress/data/text.tsv', '{name,note}', format => 'text');
SELECT * FROM people;
-- Booleans and numbers need no quotes.
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', header => true);
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', header => 1);
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', header => 'perhaps');
BEGIN;
CREATE TABLE frozen (id int, name text);
SELECT fastcsv_copy('frozen', '../pg_regress/data/no_header.csv', freeze => true);
COMMIT;
SELECT id, name FROM frozen;
SELECT fastcsv_copy('frozen', '../pg_regress/data/no_header.csv', freeze => 'on');
-- COPY's own refusals.
SELECT fastcsv_copy('people', '../pg_regress/data/no_such_file.csv');
SELECT fastcsv_copy('people', '../pg_regress/data');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', columns => '{id,zip}');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', columns => '{id,id}');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', columns => '{}');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', columns => '{id,NULL}');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', delimiter => '||');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', force_null => '{}');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', force_quote => '{id}');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', format => 'xml');
CREATE VIEW folk AS SELECT * FROM people;
SELECT fastcsv_copy('folk', '../pg_regress/data/people.csv');
CREATE INDEX people_id ON people (id);
SELECT fastcsv_copy('people_id', '../pg_regress/data/people.csv');
SELECT fastcsv_copy(4294967295, '../pg_regress/data/people.csv');
-- Conditions are parsed by COPY's grammar, and positions point into them.
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', where_clause => 'zip = 1');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', where_clause => 'id = ');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', where_clause => 'id = 1) OR (true');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', where_clause => 'true; DROP TABLE people');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', where_clause => '');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', where_clause => 'id = (SELECT 1)');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', where_clause => 'id');
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv', where_clause => 'note LIKE ''%two%'' -- a comment');
-- Names that need quotes, and tables out of the search path.
CREATE SCHEMA "Odd One";
CREATE TABLE "Odd One"."T ""x""" ("A b" int, "select" text);
SELECT fastcsv_copy('"Odd One"."T ""x"""', '../pg_regress/data/no_header.csv', columns => '{A b,select}');
SELECT * FROM "Odd One"."T ""x""";
CREATE TEMP TABLE temporary (id int, name text);
SELECT fastcsv_copy('temporary', '../pg_regress/data/no_header.csv');
SELECT * FROM temporary;
-- A command in the caller's transaction: it sees what came before and is undone with it.
BEGIN;
CREATE TABLE master (id int PRIMARY KEY);
CREATE TABLE detail (id int REFERENCES master, name text);
INSERT INTO master VALUES (1), (2);
SELECT fastcsv_copy('detail', '../pg_regress/data/no_header.csv');
SAVEPOINT s;
SELECT fastcsv_copy('detail', '../pg_regress/data/duplicate.csv');
ROLLBACK TO s;
SELECT count(*) FROM detail;
ROLLBACK;
DO $$
BEGIN
    PERFORM fastcsv_copy('people', '../pg_regress/data/bad_date.csv');
EXCEPTION WHEN others THEN
    RAISE NOTICE '%: %', SQLSTATE, SQLERRM;
END$$;
BEGIN READ ONLY;
SELECT fastcsv_copy('people', '../pg_regress/data/people.csv');
ROLLBACK;
BEGIN READ ONLY;
SELECT fastcsv_copy('temporary', '../pg_regress/data/no_header.csv');
ROLLBACK;
-- From a function of another user's, and twice in one query.
CREATE FUNCTION loads() RETURNS bigint LANGUAGE sql AS
    $$SELECT fastcsv_copy('temporary', '../pg_regress/data/no_header.csv')$$;
SELECT loads() + loads();
SELECT count(*) FROM temporary;
-- Partitions, triggers, identity, generated columns, defaults.
CREATE TABLE parted (id int, name text, made text DEFAULT 'here', twice int GENERATED ALWAYS AS (id * 2) STORED,
                     n int GENERATED ALWAYS AS IDENTITY) PARTITION BY LIST (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_rest PARTITION OF parted DEFAULT;
CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN RAISE NOTICE '% % %', TG_WHEN, TG_LEVEL, (SELECT count(*) FROM rows); RETURN NULL; END$$;
CREATE TRIGGER seen AFTER INSERT ON parted REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION seen();
SELECT fastcsv_copy('parted', '../pg_regress/data/duplicate.csv', '{id,name}');
SELECT tableoid::regclass, * FROM parted ORDER BY n;
DROP SCHEMA "Odd One" CASCADE;
DROP TABLE people, frozen, temporary, parted CASCADE;
DROP FUNCTION loads, seen;
