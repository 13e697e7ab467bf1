-- Which options the foreign data wrapper takes, and where.
-- None on the wrapper, a server or a user mapping.
ALTER FOREIGN DATA WRAPPER fastcsv OPTIONS (format 'csv');
CREATE SERVER other FOREIGN DATA WRAPPER fastcsv OPTIONS (filename '/tmp/x');
CREATE USER MAPPING FOR CURRENT_USER SERVER fastcsv OPTIONS (delimiter ',');
-- A table needs its file, once.
CREATE FOREIGN TABLE f (a int) SERVER fastcsv;
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (format 'csv');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', program 'y');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', filename 'y');
-- Unknown options, and known ones out of place.
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', colour 'red');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', headers 'true');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', force_null 'true');
CREATE FOREIGN TABLE f (a int OPTIONS (delimiter ',')) SERVER fastcsv OPTIONS (filename 'x');
CREATE FOREIGN TABLE f (a int OPTIONS (force_null 'perhaps')) SERVER fastcsv OPTIONS (filename 'x');
-- What COPY checks, it checks: format csv is the default here, as the quote shows.
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', format 'xml');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', format 'text', quote ':');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', format 'binary', header 'true');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', quote '::');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', delimiter E'\n');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', delimiter '"');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', header '1.5');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', encoding 'klingon');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', null E'a\nb');
-- Altering validates the whole list again.
CREATE FOREIGN TABLE f (a int OPTIONS (force_null 'true')) SERVER fastcsv
    OPTIONS (filename '../pg_regress/data/empty.csv', quote ':', escape ':', delimiter ';', null 'none', header 'match');
ALTER FOREIGN TABLE f OPTIONS (SET delimiter ':');
ALTER FOREIGN TABLE f OPTIONS (DROP filename);
ALTER FOREIGN TABLE f OPTIONS (ADD program 'cat');
ALTER FOREIGN TABLE f ALTER a OPTIONS (ADD force_not_null 'off', SET force_null '0');
ALTER FOREIGN TABLE f OPTIONS (DROP filename, ADD program 'true');
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'f'::regclass;
DROP FOREIGN TABLE f;
-- fastcsv's own option, which the hints do not name.
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename 'x', io 'direct');
CREATE FOREIGN TABLE f (a int OPTIONS (io 'mmap')) SERVER fastcsv OPTIONS (filename 'x');
CREATE FOREIGN TABLE f (a int) SERVER fastcsv OPTIONS (filename '../pg_regress/data/empty.csv', io 'mmap');
ALTER FOREIGN TABLE f OPTIONS (SET io 'pread');
SELECT * FROM f;
DROP FOREIGN TABLE f;
