-- The extension's objects, and that it comes and goes.
CREATE EXTENSION fastcsv;
\dx fastcsv
SELECT pg_describe_object(classid, objid, 0) AS object
FROM pg_depend WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'fastcsv') AND deptype = 'e'
ORDER BY 1;
-- Every argument is named, and only the first two must be given.
SELECT pronargs, pronargdefaults, provolatile, proparallel, proisstrict, proargnames
FROM pg_proc WHERE proname = 'fastcsv_copy';
SELECT obj_description('fastcsv_copy'::regproc) LIKE 'loads a CSV file%' AS documented;
-- It can move to another schema, and goes with what it owns.
CREATE SCHEMA elsewhere;
ALTER EXTENSION fastcsv SET SCHEMA elsewhere;
SELECT pronamespace::regnamespace FROM pg_proc WHERE proname = 'fastcsv_copy';
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename '../pg_regress/data/empty.csv');
DROP EXTENSION fastcsv;
DROP EXTENSION fastcsv CASCADE;
SELECT count(*) FROM pg_foreign_data_wrapper WHERE fdwname = 'fastcsv';
DROP SCHEMA elsewhere;
CREATE EXTENSION fastcsv;
