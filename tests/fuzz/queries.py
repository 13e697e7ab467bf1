"""Random queries over one foreign table: each is a list of statements whose outcomes are compared one by one."""


class Query:
    """Statements, and how they are to be compared."""

    def __init__(self, statements, needs_no_column=False, reads_all=False):
        self.statements = statements
        # A query that needs no column makes file_fdw convert all of them, and fastcsv none.
        self.needs_no_column = needs_no_column
        # Whether it reads to the end, so that how it ran says something.
        self.reads_all = reads_all


def literal(rng, column):
    text = column.texts[0](rng)
    return "'%s'::%s" % (text.replace("'", "''"), column.kind)


def condition(rng, columns):
    """A condition on some column; some can be decided by threads and some cannot."""
    column = rng.choice(columns)
    name, kind = column.name, column.kind
    choices = ["%s IS NULL" % name, "%s IS NOT NULL" % name, "length(%s::text) > 1" % name, "(%s IS NULL) IS NOT TRUE" % name]
    if column.is_comparable:
        value = lambda: literal(rng, column)
        choices += ["%s = %s" % (name, value()), "%s <> %s" % (name, value()), "%s < %s" % (name, value()), "%s >= %s" % (name, value()),
                    "%s IN (%s, %s)" % (name, value(), value()), "%s BETWEEN %s AND %s" % (name, value(), value()),
                    "NOT (%s = %s)" % (name, value()), "%s = %s OR %s IS NULL" % (name, value(), name)]
    if kind == "text":
        choices += ["%s LIKE '%%a%%'" % name, "%s LIKE '_'" % name, "%s NOT LIKE 'x%%'" % name, "%s COLLATE \"C\" > 'b'" % name]
    if kind in ("int2", "int4", "int8"):
        choices += ["%s %% 2 = 0" % name, "1 / (%s - 1) >= 0" % name, "%s = ANY ('{1,-1,0}')" % name]
    one = rng.choice(choices)
    if rng.random() < 0.2:
        one = "%s %s %s" % (one, rng.choice(["AND", "OR"]), rng.choice(choices))
    return one


def targets(rng, columns):
    """Some output columns; now and then the whole row, or what the table has beside them."""
    kind = rng.randrange(10)
    if kind < 3:
        return "*"
    if kind == 3:
        return rng.choice(["t", "t.*::text", "t.tableoid::regclass::text, %s" % columns[0].name, "ctid, *", "xmin, %s" % columns[-1].name])
    chosen = rng.sample(columns, rng.randrange(1, len(columns) + 1))
    return ", ".join(column.name for column in chosen)


def select(rng, columns):
    where = " WHERE " + condition(rng, columns) if rng.random() < 0.35 else ""
    return "SELECT %s FROM t%s" % (targets(rng, columns), where)


def cursor(rng, columns):
    steps = ["BEGIN", "DECLARE c %sCURSOR FOR %s" % (rng.choice(["", "", "SCROLL ", "NO SCROLL "]), select(rng, columns))]
    for _ in range(rng.randrange(1, 4)):
        steps.append(rng.choice(["FETCH %d FROM c" % rng.randrange(4), "MOVE %d FROM c" % rng.randrange(4), "FETCH FROM c"]))
    steps += rng.choice([["FETCH ALL FROM c"], ["CLOSE c"], ["FETCH BACKWARD 2 FROM c", "FETCH ALL FROM c"], []])
    return steps + [rng.choice(["COMMIT", "ROLLBACK"])]


def rescan(rng, columns):
    name = rng.choice(columns).name
    row = "(SELECT %s FROM t%s LIMIT %d) u" % (name, " WHERE %s IS NOT NULL OR v.x > 1" % name if rng.random() < 0.5 else " WHERE v.x > 0",
                                               rng.choice([1, 2, 3, 1000]))
    nested = ["SET enable_hashjoin = off", "SET enable_mergejoin = off", "SET enable_material = off"]
    return rng.choice([
        ["SELECT v.x, u.* FROM (VALUES (0), (1), (2)) v(x) LEFT JOIN LATERAL %s ON true" % row],
        nested + ["SELECT count(*) FROM t a JOIN t b ON a.%s IS NOT DISTINCT FROM b.%s AND a.ctid IS NOT NULL" % (columns[0].name, columns[0].name)
                  if columns[0].is_comparable else "SELECT a.%s FROM t a, t b LIMIT 20" % name],
        ["SELECT v.x, (SELECT count(%s) FROM t WHERE v.x > 0) FROM (VALUES (0), (1), (2)) v(x)" % name],
        ["SELECT v.x, EXISTS (SELECT %s FROM t WHERE length(%s::text) > v.x) FROM (VALUES (0), (1), (20)) v(x)" % (name, name)],
    ])


def query(rng, columns, is_small):
    """One query. Those that read the file again for each of its rows are only for small ones."""
    kind = rng.randrange(20)
    comparable = [column.name for column in columns if column.is_comparable]
    if kind < 7:
        return Query([select(rng, columns)], reads_all=True)
    if kind < 9:
        return Query([rng.choice(["SELECT count(*) FROM t", "SELECT count(1) FROM t", "SELECT 1 FROM t", "SELECT FROM t", "SELECT EXISTS (SELECT FROM t)",
                                  "SELECT count(*), 'x' FROM t HAVING count(*) > 1", "SELECT count(*) FROM (SELECT FROM t LIMIT 3) u"])],
                     needs_no_column=True)
    if kind == 9:
        return Query(["SELECT count(*) FROM t WHERE " + condition(rng, columns)], reads_all=True)
    if kind == 10:
        return Query(["%s LIMIT %d" % (select(rng, columns), rng.randrange(6))])
    if kind == 11:
        return Query(["%s OFFSET %d LIMIT %d" % (select(rng, columns), rng.randrange(4), rng.randrange(5))])
    if kind == 12:
        return Query(cursor(rng, columns))
    if kind == 13 and is_small:
        return Query(rescan(rng, columns))
    if kind == 14 and comparable:
        name = rng.choice(comparable)
        return Query([rng.choice(["SELECT min({0}), max({0}), count({0}), count(*) FROM t", "SELECT DISTINCT {0} FROM t ORDER BY {0}",
                                  "SELECT {0}, count(*) FROM t GROUP BY {0} ORDER BY {0}",
                                  "SELECT {0}, row_number() OVER (ORDER BY {0}) FROM t ORDER BY 2"]).format(name)])
    if kind == 15 and comparable:
        return Query(["%s ORDER BY %s LIMIT %d" % (select(rng, columns), rng.choice(comparable), rng.choice([1, 5, 100]))])
    if kind == 16:
        made = "CREATE TEMP TABLE made AS SELECT %s FROM t" % ", ".join(column.name for column in columns)
        return Query(["BEGIN", made, "SELECT * FROM made", "ROLLBACK"])
    if kind == 17:
        column = rng.choice(columns)
        if column.is_comparable:
            prepared = "PREPARE p (%s) AS SELECT %s FROM t WHERE %s = $1 OR %s IS NULL" % (column.kind, targets(rng, columns), column.name, column.name)
            return Query([prepared] + ["EXECUTE p (%s)" % literal(rng, column) for _ in range(rng.choice([1, 2, 7]))] + ["DEALLOCATE ALL"])
    if kind == 18:
        one = select(rng, columns)
        return Query(["SELECT u::text FROM (%s) u UNION ALL SELECT w::text FROM (%s) w" % (one, one)])
    return Query(["DO $$BEGIN PERFORM * FROM t; EXCEPTION WHEN others THEN RAISE NOTICE '%', SQLERRM; END$$", select(rng, columns)])
