-- How a file is written, and the types of its columns.
SELECT position, name, header_text, type, nullable, value_count, null_count, samples, reason
    FROM fastcsv_infer('../pg_regress/data/people.csv');
SELECT dialect FROM fastcsv_infer('../pg_regress/data/people.csv') WHERE position = 1;
SELECT name, type, dialect FROM fastcsv_infer('../pg_regress/data/semicolon.csv');
SELECT name, type, reason, dialect FROM fastcsv_infer('../pg_regress/data/latin1.csv');
SELECT name, type, reason, dialect FROM fastcsv_infer('../pg_regress/data/grid.csv');
SELECT name, type FROM fastcsv_infer('../pg_regress/data/grid.csv', header => true, sample_rows => 3);
SELECT * FROM fastcsv_infer('../pg_regress/data/empty.csv');
-- What is wrong is told as by COPY.
SELECT * FROM fastcsv_infer('../pg_regress/data/no_such_file.csv');
SELECT * FROM fastcsv_infer('../pg_regress/data/people.csv', delimiter => ';;');
SELECT * FROM fastcsv_infer(NULL);
-- The first records.
SELECT * FROM fastcsv_preview('../pg_regress/data/people.csv', 3);
SELECT * FROM fastcsv_preview('../pg_regress/data/semicolon.csv', header => false);
-- A file becomes a table.
CREATE SCHEMA inferred;
SET search_path = inferred, public;
SELECT fastcsv_import('../pg_regress/data/people.csv');
SELECT * FROM people;
SELECT fastcsv_import('../pg_regress/data/people.csv');
SELECT fastcsv_import('../pg_regress/data/european.csv', 'Europe', temporary => true);
SELECT * FROM pg_temp."Europe";
-- A folder, or the files that match a pattern, become foreign tables.
IMPORT FOREIGN SCHEMA "../pg_regress/data/[ep]*.csv" LIMIT TO (european, people) FROM SERVER fastcsv INTO public;
\d public.european
SELECT * FROM public.people ORDER BY 1;
IMPORT FOREIGN SCHEMA "../pg_regress/data" EXCEPT (x) FROM SERVER fastcsv INTO public OPTIONS (separator ';');
IMPORT FOREIGN SCHEMA "../pg_regress/nothing" FROM SERVER fastcsv INTO public;
DROP FOREIGN TABLE public.european, public.people;
-- Only who may read files on the server learns anything of them.
CREATE ROLE regress_fastcsv_infer;
GRANT USAGE ON FOREIGN SERVER fastcsv TO regress_fastcsv_infer;
SET ROLE regress_fastcsv_infer;
\set VERBOSITY sqlstate
SELECT * FROM fastcsv_infer('../pg_regress/data/no_such_file.csv');
SELECT * FROM fastcsv_preview('../pg_regress/data/people.csv');
SELECT fastcsv_import('../pg_regress/data/people.csv');
\set VERBOSITY default
RESET ROLE;
DROP OWNED BY regress_fastcsv_infer;
DROP ROLE regress_fastcsv_infer;
RESET search_path;
DROP SCHEMA inferred CASCADE;
