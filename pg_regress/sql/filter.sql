-- Conditions that are pushed to the converting threads: which, and what EXPLAIN shows of them.
SET plan_cache_mode = force_generic_plan;
CREATE FOREIGN TABLE filtered (id int, name text, born date, note text)
    SERVER fastcsv OPTIONS (filename '../pg_regress/data/people.csv', header 'true');

-- All of them, none, and some.
EXPLAIN (COSTS OFF) SELECT id FROM filtered
    WHERE born BETWEEN '1900-01-01' AND '1950-12-31' AND name LIKE 'A%' AND id IN (1, 2, 3);
EXPLAIN (COSTS OFF) SELECT id FROM filtered WHERE lower(name) = 'ada';
EXPLAIN (COSTS OFF) SELECT id FROM filtered WHERE lower(name) = 'ada' AND (note IS NULL OR id <> 1);
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM filtered WHERE name < 'B' AND name < 'B' COLLATE "C";

-- A condition behind one that may raise an error stays behind it.
EXPLAIN (COSTS OFF) SELECT id FROM filtered WHERE name ~ note AND id = 1;
EXPLAIN (COSTS OFF) SELECT id FROM filtered WHERE name ~ 'a' AND id = 1;

-- Parameters: of a prepared statement, and from elsewhere in the plan.
PREPARE by_name (text, text[]) AS SELECT id FROM filtered WHERE name = $1 OR name = ANY ($2);
EXPLAIN (COSTS OFF) EXECUTE by_name('Ada', '{Alan,Grace}');
EXECUTE by_name('Ada', NULL);
DEALLOCATE by_name;
EXPLAIN (COSTS OFF) SELECT k, (SELECT min(name) FROM filtered WHERE id = k) FROM generate_series(1, 2) k;

-- Of the rows that a policy hides, only what tells nothing about them may be asked.
CREATE TABLE all_people (id int, name text, born date, note text) PARTITION BY LIST (id);
CREATE FOREIGN TABLE some_people PARTITION OF all_people DEFAULT
    SERVER fastcsv OPTIONS (filename '../pg_regress/data/people.csv', header 'true');
CREATE ROLE regress_fastcsv_reader;
GRANT SELECT ON all_people TO regress_fastcsv_reader;
ALTER TABLE all_people ENABLE ROW LEVEL SECURITY;
CREATE POLICY names ON all_people USING (name ILIKE 'A%');
SET ROLE regress_fastcsv_reader;
EXPLAIN (COSTS OFF) SELECT * FROM all_people WHERE name LIKE 'Ad%' AND born > '1800-01-01';
RESET ROLE;
DROP POLICY names ON all_people;
CREATE POLICY names ON all_people USING (name = 'Ada');
SET ROLE regress_fastcsv_reader;
EXPLAIN (COSTS OFF) SELECT * FROM all_people WHERE name LIKE 'Ad%' AND born > '1800-01-01';
RESET ROLE;

DROP TABLE all_people;
DROP FOREIGN TABLE filtered;
DROP ROLE regress_fastcsv_reader;
RESET plan_cache_mode;
