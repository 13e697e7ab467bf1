-- header => 'auto', the default: the first record is a header when every field of it names a column of the table.
CREATE TABLE t (id text, name text);
CREATE FUNCTION loaded(file text, VARIADIC options text[] DEFAULT '{}') RETURNS SETOF t LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE t;
    EXECUTE format('SELECT fastcsv_copy(%L, %L%s)', 't', '../pg_regress/data/' || file,
                   array_to_string(ARRAY(SELECT ', ' || o FROM unnest(options) o), ''));
    RETURN QUERY SELECT * FROM t;
END$$;
SELECT * FROM loaded('header_plain.csv');
SELECT * FROM loaded('no_header.csv');
SELECT * FROM loaded('empty.csv');
SELECT * FROM loaded('header_plain.csv', $$header => 'Auto'$$);
SELECT * FROM loaded('header_plain.csv', $$header => 'false'$$);
SELECT * FROM loaded('no_header.csv', 'header => true');
-- Names as SQL reads them, behind a byte order mark.
SELECT * FROM loaded('bom_header.csv');
-- In another order COPY would put values into the wrong columns, so the names are checked.
SELECT * FROM loaded('header_order.csv');
SELECT * FROM loaded('header_order.csv', $$columns => '{name,id}'$$);
-- With the dialect that is given.
SELECT * FROM loaded('semicolon.csv', $$delimiter => ';'$$);
SELECT * FROM loaded('semicolon.csv', $$columns => '{id}'$$);
-- What is wrong with the options COPY says.
SELECT * FROM loaded('header_plain.csv', $$quote => 'ab'$$);
SELECT * FROM loaded('header_plain.csv', $$encoding => 'klingon'$$);
SELECT * FROM loaded('header_plain.csv', $$format => 'text'$$, $$delimiter => ','$$);
-- What can be read only once cannot be looked at first.
SELECT fastcsv_copy('t', '/dev/zero');
SELECT fastcsv_copy('t', '/dev/null', header => false);
DROP FUNCTION loaded;
DROP TABLE t;
