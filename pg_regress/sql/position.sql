-- After COPY's own CONTEXT line comes ours: where in the file the record starts.
CREATE TABLE t (id int, name text, born date, note text);
CREATE FOREIGN TABLE f (id int, name text, born date, note text) SERVER fastcsv
    OPTIONS (filename '../pg_regress/data/bad_date.csv', header 'true');
SELECT * FROM f;
SELECT fastcsv_copy('t', '../pg_regress/data/bad_date.csv');
SELECT fastcsv_copy('t', '../pg_regress/data/missing_crlf.csv');
CREATE TABLE pair (id int, name text);
CREATE FOREIGN TABLE pairs (id int, name text) SERVER fastcsv OPTIONS (filename '../pg_regress/data/bad_cr.csv');
SELECT * FROM pairs;
-- Where the quote that is never closed was opened.
ALTER FOREIGN TABLE pairs OPTIONS (SET filename '../pg_regress/data/unterminated.csv');
SELECT * FROM pairs;
SELECT fastcsv_copy('pair', '../pg_regress/data/unterminated.csv');
CREATE TABLE triple (id int, name text, other text);
SELECT fastcsv_copy('triple', '../pg_regress/data/unterminated_later.csv', header => true);
-- COPY does not count a quoted line end in the first record; ours is the line an editor shows.
ALTER FOREIGN TABLE pairs OPTIONS (SET filename '../pg_regress/data/header_lines.csv', ADD header 'true');
SELECT * FROM pairs;
-- An error in the header is on line 1, and in no record.
ALTER FOREIGN TABLE pairs OPTIONS (SET filename '../pg_regress/data/header_order.csv', SET header 'match');
SELECT * FROM pairs;
SELECT fastcsv_copy('pair', '../pg_regress/data/header_order.csv', header => 'match');
-- Bytes that are not of the file's encoding.
ALTER FOREIGN TABLE pairs OPTIONS (SET filename '../pg_regress/data/latin1.csv', DROP header);
SELECT * FROM pairs;
ALTER FOREIGN TABLE pairs OPTIONS (ADD encoding 'LATIN1');
SELECT * FROM pairs;
-- Format text, where a backslash hides a line end.
ALTER FOREIGN TABLE pairs OPTIONS (SET filename '../pg_regress/data/text.tsv', DROP encoding, ADD format 'text');
SELECT * FROM pairs;
-- Errors of the table: of a row, of a batch of rows, and after the file.
CREATE TABLE keyed (id int PRIMARY KEY, name text);
SELECT fastcsv_copy('keyed', '../pg_regress/data/duplicate.csv');
CREATE TABLE checked (id int CHECK (id < 3), name text NOT NULL);
SELECT fastcsv_copy('checked', '../pg_regress/data/duplicate.csv');
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN IF NEW.id = 2 THEN RAISE 'refused'; END IF; RETURN NEW; END$$;
CREATE TRIGGER refuse BEFORE INSERT ON pair FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT fastcsv_copy('pair', '../pg_regress/data/duplicate.csv');
DROP TRIGGER refuse ON pair;
CREATE TRIGGER refuse AFTER INSERT ON pair FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT fastcsv_copy('pair', '../pg_regress/data/duplicate.csv');
DROP TRIGGER refuse ON pair;
-- A row the heap refuses: COPY names the line its reader is at, so we name none.
SELECT format('CREATE TABLE wide (id int, name text, %s)', string_agg(format('c%s name DEFAULT %L', i, i), ', '))
FROM generate_series(1, 130) i \gset create_
\set ECHO none
:create_format;
\set ECHO all
SELECT fastcsv_copy('wide', '../pg_regress/data/duplicate.csv', columns => '{id,name}');
-- A program's bytes are gone: its records were counted, its lines were not.
ALTER FOREIGN TABLE pairs OPTIONS (DROP filename, DROP format, ADD program 'printf "1,a\n2,b\nx,c\n"');
SELECT * FROM pairs;
-- A condition of the query is not the file's business, nor is a NOTICE.
ALTER FOREIGN TABLE pairs OPTIONS (DROP program, ADD filename '../pg_regress/data/no_header.csv');
SELECT 1 / (id - 2) FROM pairs;
-- A COPY inside a trigger's function has a place of its own, which is not ours.
CREATE FUNCTION copies() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN COPY triple FROM PROGRAM 'printf "a,b,c\n"' (FORMAT csv); RETURN NEW; END$$;
CREATE TRIGGER copies AFTER INSERT ON pair FOR EACH STATEMENT EXECUTE FUNCTION copies();
SELECT fastcsv_copy('pair', '../pg_regress/data/no_header.csv');
SELECT count(*) FROM pair;
DROP TABLE t, pair, triple, keyed, checked, wide;
DROP FOREIGN TABLE f, pairs;
DROP FUNCTION refuse, copies;
