-- Loads on the parallel engine: all that a table can have, and errors at their places.
SET fastcsv.min_parallel_size = 0;
SET fastcsv.range_size = 1000;
COPY (SELECT g AS id, 'name ' || g AS name, g * 1.5 AS price, date '2020-01-01' + g AS day FROM generate_series(1, 3000) g)
    TO '/tmp/fastcsv_load.csv' (FORMAT csv, HEADER);

-- Defaults that are the same in every row, defaults that are not, generated and identity columns.
CREATE TABLE items (
    id int PRIMARY KEY, name text NOT NULL, price numeric(10,2) CHECK (price > 0), day date,
    source text DEFAULT 'file', loaded text DEFAULT current_schema(), number int GENERATED ALWAYS AS IDENTITY,
    doubled numeric GENERATED ALWAYS AS (price * 2) STORED);
SELECT fastcsv_copy('items', '/tmp/fastcsv_load.csv', columns => '{id,name,price,day}');
SELECT operation, path, reason, rows FROM fastcsv_last_run();
SELECT count(*), sum(id), sum(price), sum(doubled), min(day), max(day), min(source), sum(number), min(loaded)
FROM items;
SELECT count(*) FROM items WHERE id BETWEEN 100 AND 200;
SET enable_seqscan = off;
SELECT * FROM items WHERE id = 1234;
RESET enable_seqscan;

-- A condition, decided by the threads or not.
TRUNCATE items;
SELECT fastcsv_copy('items', '/tmp/fastcsv_load.csv', columns => '{id,name,price,day}', where_clause => 'id % 2 = 0 AND price < 300');
SELECT fastcsv_copy('items', '/tmp/fastcsv_load.csv', columns => '{id,name,price,day}', where_clause => 'id > 2990 AND id % 2 = 1');
SELECT filtered, rows FROM fastcsv_last_run();
SELECT count(*), sum(id) FROM items;

-- Errors.
SELECT fastcsv_copy('items', '/tmp/fastcsv_load.csv', columns => '{id,name,price,day}');
SELECT count(*) FROM items;
TRUNCATE items;
\! sed '2500s/,[0-9.]*,/,-1,/' /tmp/fastcsv_load.csv > /tmp/fastcsv_load_bad.csv
SELECT fastcsv_copy('items', '/tmp/fastcsv_load_bad.csv', columns => '{id,name,price,day}');
\! sed '2500s/,[0-9-]*$/,2020-02-30/' /tmp/fastcsv_load.csv > /tmp/fastcsv_load_bad.csv
SELECT fastcsv_copy('items', '/tmp/fastcsv_load_bad.csv', columns => '{id,name,price,day}');
DO $$
BEGIN
    PERFORM fastcsv_copy('items', '/tmp/fastcsv_load_bad.csv', columns => '{id,name,price,day}');
EXCEPTION WHEN datetime_field_overflow THEN
    RAISE NOTICE 'caught: %', SQLERRM;
END $$;
SELECT count(*) FROM items;

-- Triggers.
CREATE TABLE log (what text, n bigint);
CREATE FUNCTION note_rows() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN INSERT INTO log SELECT TG_WHEN || ' ' || TG_LEVEL, count(*) FROM new_rows; RETURN NULL; END$$;
CREATE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN IF NEW.id % 1000 = 0 THEN INSERT INTO log VALUES (TG_WHEN || ' ' || TG_LEVEL, NEW.id); END IF; RETURN NEW; END$$;
CREATE FUNCTION change_row() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN IF NEW.id % 3 = 0 THEN RETURN NULL; END IF; NEW.name := upper(NEW.name); RETURN NEW; END$$;
CREATE TRIGGER after_rows AFTER INSERT ON items REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_rows();
CREATE TRIGGER after_row AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION note_row();
SELECT fastcsv_copy('items', '/tmp/fastcsv_load.csv', columns => '{id,name,price,day}');
SELECT * FROM log ORDER BY what, n;
TRUNCATE items, log;
CREATE TRIGGER before_row BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION change_row();
SELECT fastcsv_copy('items', '/tmp/fastcsv_load.csv', columns => '{id,name,price,day}');
SELECT path, rows FROM fastcsv_last_run();
SELECT count(*), min(name), max(name) FROM items;
SELECT * FROM log ORDER BY what, n;
DROP TABLE items, log;

-- Partitions, one of them with other columns in another order.
CREATE TABLE days (id int, name text, price numeric, day date) PARTITION BY RANGE (day);
CREATE TABLE days_2020 PARTITION OF days FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE days_2021 (extra int, day date, id int, name text, price numeric);
ALTER TABLE days_2021 DROP COLUMN extra;
ALTER TABLE days ATTACH PARTITION days_2021 FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
CREATE TABLE days_later PARTITION OF days DEFAULT PARTITION BY LIST (id);
CREATE TABLE days_rest PARTITION OF days_later DEFAULT;
CREATE UNIQUE INDEX ON days_2021 (id);
SELECT fastcsv_copy('days', '/tmp/fastcsv_load.csv');
SELECT path FROM fastcsv_last_run();
SELECT tableoid::regclass, count(*), sum(id), sum(price), min(day), max(day) FROM days GROUP BY 1 ORDER BY 1;
SELECT fastcsv_copy('days', '/tmp/fastcsv_load.csv');
DROP TABLE days_later;
TRUNCATE days;
SELECT fastcsv_copy('days', '/tmp/fastcsv_load.csv');
SELECT count(*) FROM days;
DROP TABLE days;

-- Frozen rows; a table of another shape; a view, which COPY itself loads.
BEGIN;
CREATE TABLE fresh (id int, name text, price float8, day timestamptz, more int DEFAULT 7);
ALTER TABLE fresh DROP COLUMN more;
SELECT fastcsv_copy('fresh', '/tmp/fastcsv_load.csv', freeze => true);
COMMIT;
SELECT count(*), sum(price) FROM fresh;
SELECT fastcsv_copy('fresh', '/tmp/fastcsv_load.csv', freeze => true);
CREATE VIEW seen AS SELECT * FROM fresh;
SELECT fastcsv_copy('seen', '/tmp/fastcsv_load.csv');
DROP TABLE fresh CASCADE;
\! rm -f /tmp/fastcsv_load.csv /tmp/fastcsv_load_bad.csv
