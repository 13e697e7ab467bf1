"""Random tables, with all that may hang on a table."""
import values
from statements import ident

# Functions that triggers and defaults call, in the schema of the tables. What a trigger sees is told by a NOTICE: its
# order, its values and its error context are compared.
FUNCTIONS = """
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF TG_LEVEL = 'STATEMENT' THEN
        RAISE NOTICE '% % %', TG_NAME, TG_WHEN, TG_TABLE_NAME;
        RETURN NULL;
    END IF;
    RAISE NOTICE '% % % % %', TG_NAME, TG_WHEN, TG_TABLE_NAME, NEW.tableoid::regclass, NEW;
    RETURN NEW;
END$$;
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    RAISE NOTICE '% % % sees % rows', TG_NAME, TG_WHEN, TG_TABLE_NAME, (SELECT count(*) FROM TARGET);
    IF TG_LEVEL = 'STATEMENT' THEN RETURN NULL; END IF;
    RETURN NEW;
END$$;
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    INSERT INTO log (what) VALUES (format('%s %s %s', TG_NAME, TG_TABLE_NAME, NEW));
    RETURN NEW;
END$$;
CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF NEW.k % 3 = 0 THEN RETURN NULL; END IF;
    RETURN NEW;
END$$;
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    NEW.k := NEW.k + 1;
    RETURN NEW;
END$$;
CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    NEW.g := (NEW.g + 1) % 5;
    RETURN NEW;
END$$;
CREATE FUNCTION deny() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF NEW.k % 50 = 49 THEN RAISE EXCEPTION 'no % here', NEW.k; END IF;
    RETURN NEW;
END$$;
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    IF pg_trigger_depth() = 1 AND NEW.k % 7 = 1 THEN INSERT INTO TARGET (k, g) VALUES (NEW.k + 100000, NEW.g); END IF;
    RETURN NEW;
END$$;
CREATE FUNCTION sum_up() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    RAISE NOTICE '% % % got %', TG_NAME, TG_LEVEL, TG_TABLE_NAME,
        (SELECT count(*) || ': ' || left(string_agg(r::text, ';'), 500) FROM new_rows r);
    RETURN NULL;
END$$;
CREATE FUNCTION store() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    INSERT INTO below SELECT NEW.*;
    RETURN NEW;
END$$;
CREATE FUNCTION seen() RETURNS int LANGUAGE plpgsql VOLATILE AS $$BEGIN RETURN (SELECT count(*) FROM TARGET); END$$;
CREATE FUNCTION steady() RETURNS int LANGUAGE sql STABLE AS $$SELECT 17$$;
CREATE FUNCTION tick() RETURNS bigint LANGUAGE sql VOLATILE AS $$SELECT nextval('ticks')$$;
CREATE FUNCTION loud(int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$BEGIN
    RAISE NOTICE 'loud %', $1;
    RETURN $1;
END$$;
CREATE FUNCTION loud_now() RETURNS int8 LANGUAGE plpgsql VOLATILE AS $$BEGIN
    RAISE NOTICE 'default sees %', (SELECT count(*) FROM TARGET);
    RETURN nextval('ticks');
END$$;
CREATE FUNCTION careful(int8) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$BEGIN
    IF $1 = 77 THEN RAISE EXCEPTION 'careful with %', $1; END IF;
    RETURN true;
END$$;
"""


class Column:
    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.extra = ""
        # generated columns are not in files; columns with a default, or that may be NULL, need not be
        self.is_generated = self.has_default = self.is_needed = False

    def declared(self):
        return " ".join([ident(self.name), self.kind] + ([self.extra] if self.extra else []))


class Table:
    """A table to load into: `statements` make it, `columns` are its columns in order."""

    def __init__(self, rng, version):
        self.rng, self.version = rng, version
        self.columns = []
        self.statements = []
        self.kind = rng.choices(["plain", "partitioned", "child", "parent", "unlogged", "temp", "view"],
                                [40, 30, 4, 4, 5, 8, 3])[0]
        self.name = rng.choice(["t", "t", "t", "Odd Name", 'qu"ote', "\u00fcber"])
        if self.kind != "temp" and rng.random() < 0.2:
            self.schema = "elsewhere"
        else:
            self.schema = "pg_temp" if self.kind == "temp" else "loads"
        self.target = ident(self.schema) + "." + ident(self.name)
        self.leaves = []
        self.make_columns()
        self.statements += ["CREATE SCHEMA elsewhere", "CREATE SEQUENCE ticks", "CREATE SEQUENCE numbers",
                            "CREATE TABLE log (n bigint GENERATED ALWAYS AS IDENTITY, what text)",
                            "CREATE TABLE known (id int PRIMARY KEY)", "INSERT INTO known SELECT generate_series(0, 4)"]
        self.statements += [FUNCTIONS.replace("TARGET", self.target)]
        getattr(self, "make_" + {"unlogged": "plain", "temp": "plain"}.get(self.kind, self.kind))()
        if self.kind != "view":
            self.add_indexes()
        self.add_triggers()

    def chance(self, probability):
        return self.rng.random() < probability

    # Columns.

    def make_columns(self):
        key, group = Column("k", self.rng.choice(["int4", "int4", "int8"])), Column("g", "int4")
        columns = [key, group]
        for index in range(self.rng.choice([0, 1, 2, 2, 3, 4, 5, 12])):
            name = self.rng.choice(["c%d", "c%d", "C %d", "\u00e9%d"]) % index
            columns.insert(self.rng.randrange(len(columns) + 1), self.some_column(name))
        self.columns = columns
        if self.chance(0.3):
            key.extra = "NOT NULL"
        key.is_needed = group.is_needed = True

    def some_column(self, name):
        column, chance = Column(name, values.some_type(self.rng)), self.rng.random()
        if chance < 0.12:
            column.kind = self.rng.choice(["int8", "text"])
            expression = {"int8": ["k * 2", "g", "coalesce(k, 0) + 1", "loud(k)", "1000 / (k - 18)"],
                          "text": ["k::text || 'x'", "repeat('y', g)"]}
            column.extra = "GENERATED ALWAYS AS (%s) STORED" % self.rng.choice(expression[column.kind])
            if self.version >= 180000 and self.chance(0.4) and not any(word in column.extra for word in ("loud", "1000 /")):
                column.extra = column.extra.replace("STORED", "VIRTUAL")
            column.is_generated = True
        elif chance < 0.18 and self.kind in ("plain", "unlogged"):
            column.kind = "int8"
            column.extra = "GENERATED %s AS IDENTITY" % self.rng.choice(["ALWAYS", "BY DEFAULT"])
            column.has_default = column.is_needed = True
        elif chance < 0.4:
            column.has_default = True
            column.extra = "DEFAULT " + self.some_default(column)
        column.is_needed = column.is_needed or column.kind == "given_domain"
        if not column.is_generated and self.chance(0.15):
            column.extra = (column.extra + " NOT NULL").strip()
            column.is_needed = True
        return column

    def some_default(self, column):
        chance = self.rng.random()
        if chance < 0.5 and column.kind in values.CONSTANTS:
            return values.CONSTANTS[column.kind]
        column.kind = "int8" if chance < 0.9 else "text"
        if column.kind == "text":
            return "current_schema()"
        computed = ["steady()", "steady() + 1", "seen()", "tick()", "loud_now()", "1 + 2"]
        return self.rng.choice(["nextval('numbers')", "nextval('numbers')"] + computed)

    # Kinds of tables.

    def checks(self, columns):
        """Constraints that nearly all rows keep."""
        found = []
        for column in columns:
            if self.chance(0.12):
                name = ident(column.name)
                if column.kind in values.INTEGERS:
                    check = self.rng.choice(["# <> 41", "# IS NULL OR # > -2000000000", "careful(#)", "loud(#) < 2000000000"])
                    found.append("CHECK (%s)" % check.replace("#", name))
                elif column.kind in values.TEXTS:
                    found.append("CHECK (length(%s) < 150)" % name)
        return ["CONSTRAINT %s %s" % (ident("c%d" % self.rng.randrange(10**6)), check) for check in found]

    def create(self, target, columns, prefix="TABLE", suffix="", dropped=True):
        """Statements that make a table of these columns, with columns dropped from it, and added to it later."""
        declared, drops = [column.declared() for column in columns], []
        if dropped and self.chance(0.35):
            for index in range(self.rng.randrange(1, 3)):
                extra = "d%d %s" % (index, self.rng.choice(["int", "text", "int8 NOT NULL"]))
                declared.insert(self.rng.randrange(len(declared) + 1), extra)
                drops.append("ALTER TABLE %s DROP COLUMN d%d" % (target, index))
        later = []
        last = columns[-1]
        may_come_later = last.name not in ("k", "g") and not last.is_needed and declared[-1] == last.declared()
        if dropped and may_come_later and self.chance(0.15):
            later.append("ALTER TABLE %s ADD COLUMN %s" % (target, declared.pop()))
            columns = columns[:-1]
        return ["CREATE %s %s (%s)%s" % (prefix, target, ", ".join(declared + self.checks(columns)), suffix)] + drops + later

    def make_plain(self):
        prefix = {"plain": "TABLE", "unlogged": "UNLOGGED TABLE", "temp": "TEMP TABLE"}[self.kind]
        suffix = self.rng.choice(["", "", "", " WITH (fillfactor = 30)", " WITH (toast_tuple_target = 200)", " USING heap_again"])
        target = ident(self.name) if self.kind == "temp" else self.target
        self.statements += self.create(target, self.columns, prefix, suffix)
        self.leaves.append(self.target)

    def make_child(self):
        first = next(column for column in self.columns if not column.is_generated)
        self.statements += ["CREATE TABLE above (%s)" % first.declared()]
        self.statements += self.create(self.target, self.columns, suffix=" INHERITS (above)", dropped=False)
        self.leaves.append(self.target)

    def make_parent(self):
        self.statements += self.create(self.target, self.columns)
        self.statements += ["CREATE TABLE beside (more int) INHERITS (%s)" % self.target]
        self.leaves.append(self.target)

    def make_view(self):
        columns = [column for column in self.columns if not column.is_generated]
        self.columns = columns
        for column in columns:
            column.extra, column.has_default, column.is_needed = "", False, False
        self.statements += self.create("below", columns, dropped=False)
        self.statements += ["CREATE VIEW %s AS SELECT * FROM below" % self.target,
                            "CREATE TRIGGER instead INSTEAD OF INSERT ON %s FOR EACH ROW EXECUTE FUNCTION %s()"
                            % (self.target, self.rng.choice(["store", "note"]))]

    def make_partitioned(self):
        how = self.rng.choice(["range", "list", "hash"])
        key = "g" if how == "list" else "k"
        self.statements += self.create(self.target, self.columns, suffix=" PARTITION BY %s (%s)" % (how, key))
        count, inner = self.rng.choice([1, 2, 3, 5, 5, 40]), 0
        if how == "list":
            bounds = ["IN (%s)" % ("NULL, 0" if g == 0 else g) for g in range(min(count, 5))]
        elif how == "hash":
            bounds = ["WITH (MODULUS %d, REMAINDER %d)" % (count, index) for index in range(count)]
        else:
            step = self.rng.choice([3, 20, 300])
            bounds = ["FROM (%s) TO (%d)" % ("MINVALUE" if i == 0 else i * step, (i + 1) * step) for i in range(count)]
        bounds = ["FOR VALUES " + bound for bound in bounds]
        if how != "hash" and self.chance(0.75):
            bounds.append("DEFAULT")
        for index, bound in enumerate(bounds):
            leaf = "loads." + ident("p%d" % index)
            if self.chance(0.3) and count < 10:
                self.attach(leaf, self.target, bound)
                self.leaves.append(leaf)
            elif self.chance(0.2) and inner < 2:
                inner += 1
                self.statements.append("CREATE TABLE %s PARTITION OF %s %s PARTITION BY LIST ((g %% 2))" % (leaf, self.target, bound))
                for part, which in (("a", "FOR VALUES IN (0)"), ("b", "DEFAULT")):
                    below = "loads." + ident("p%d%s" % (index, part))
                    if self.chance(0.3):
                        self.attach(below, leaf, which)
                    else:
                        self.statements.append("CREATE TABLE %s PARTITION OF %s %s" % (below, leaf, which))
                    self.leaves.append(below)
            else:
                self.statements.append("CREATE TABLE %s PARTITION OF %s %s" % (leaf, self.target, bound))
                self.leaves.append(leaf)
        if self.chance(0.1):
            self.target = self.rng.choice(self.leaves)

    def attach(self, leaf, parent, bound):
        columns = list(self.columns)
        self.rng.shuffle(columns)
        self.statements += self.create(leaf, columns)
        self.statements += ["ALTER TABLE %s ADD CONSTRAINT %s" % (leaf, check.split(" ", 1)[1]) for check in self.root_checks()]
        self.statements.append("ALTER TABLE %s ATTACH PARTITION %s %s" % (parent, leaf, bound))

    def root_checks(self):
        """The root's constraints, which a table that becomes its partition must have."""
        create = next(statement for statement in self.statements if statement.startswith("CREATE TABLE %s (" % self.target))
        start = create.find("CONSTRAINT ")
        if start < 0:
            return []
        listed = create[start:create.rindex(") PARTITION BY")].split(", CONSTRAINT ")
        return [listed[0]] + ["CONSTRAINT " + check for check in listed[1:]]

    # Indexes, foreign keys and triggers.

    def add_indexes(self):
        target, partitioned = self.target, self.kind == "partitioned"
        others = [c for c in self.columns if c.name not in ("k", "g") and c.kind not in ("json", "pair") and "VIRTUAL" not in c.extra]
        later = self.rng.choice(["", "", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED"])
        on = lambda leaf: self.rng.choice(self.leaves) if leaf else target
        keys = "k, g" if partitioned else "k"
        if self.chance(0.25):
            what = self.rng.choice(["PRIMARY KEY", "UNIQUE"])
            # Nor can there be one for partitions by an expression.
            has_inner = any("PARTITION BY LIST ((g" in statement for statement in self.statements)
            self.statements.append("ALTER TABLE %s ADD %s (%s)%s" % (on(has_inner or self.chance(0.4)), what, keys, later))
        if self.chance(0.1):
            self.statements.append("CREATE UNIQUE INDEX ON %s (k) WHERE g > 1" % on(partitioned))
        if self.chance(0.1):
            self.statements.append("CREATE UNIQUE INDEX ON %s ((k * 2))" % on(partitioned))
        if self.chance(0.05):
            self.statements.append("CREATE INDEX ON %s (loud(k))" % on(partitioned))
        if self.chance(0.05):
            self.statements.append("CREATE INDEX ON %s ((1000 / (k - 55)))" % on(partitioned))
        if self.chance(0.08):
            exclude = "EXCLUDE USING gist (int8range(k::int8, k::int8 + 1) WITH &&)"
            self.statements.append("ALTER TABLE %s ADD %s%s" % (on(partitioned), exclude, later))
        if others and self.chance(0.25):
            column = self.rng.choice(others)
            self.statements.append("CREATE INDEX ON %s (%s)" % (on(False), ident(column.name)))
        if self.chance(0.1):
            self.statements.append("CREATE INDEX ON %s USING %s (k)" % (on(partitioned), self.rng.choice(["hash", "brin"])))
        if self.chance(0.12) and self.kind != "temp":
            after = self.rng.choice(["", "", " DEFERRABLE INITIALLY DEFERRED"])
            self.statements.append("ALTER TABLE %s ADD FOREIGN KEY (g) REFERENCES known%s" % (target, after))

    def add_triggers(self):
        for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2, 4])):
            self.add_trigger()
        if self.kind != "view" and self.chance(0.05):
            self.statements.append("ALTER TABLE %s DISABLE TRIGGER USER" % self.target)

    def add_trigger(self):
        rng = self.rng
        name = "tg%d" % rng.randrange(10**6)
        on = rng.choice(self.leaves) if self.leaves and self.chance(0.5) else self.target
        when = rng.choice(["", "", "", " WHEN (NEW.k % 2 = 0)", " WHEN (NEW.g IS NOT NULL)", " WHEN (100 / (NEW.k - 33) IS NOT NULL)"])
        kind = rng.choice(["before", "before", "after", "after", "constraint", "statement", "statement", "tables", "tables"])
        if self.kind == "view" and kind != "statement":
            return
        if kind == "before":
            events = ["note", "note", "watch", "keep", "skip", "change", "move", "deny"] + (["again"] if self.kind == "plain" else [])
            clause = "BEFORE INSERT ON %s FOR EACH ROW%s EXECUTE FUNCTION %s()" % (on, when, rng.choice(events))
        elif kind == "after":
            function = rng.choice(["note", "note", "watch", "keep", "deny", "again"])
            clause = "AFTER INSERT ON %s FOR EACH ROW%s EXECUTE FUNCTION %s()" % (on, when, function)
        elif kind == "constraint":
            later = rng.choice(["", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED"])
            self.statements.append("CREATE CONSTRAINT TRIGGER %s AFTER INSERT ON %s%s FOR EACH ROW%s EXECUTE FUNCTION %s()"
                                   % (name, on, later, when, rng.choice(["note", "watch", "deny"])))
            return
        elif kind == "statement":
            time, function = rng.choice(["BEFORE", "AFTER"]), rng.choice(["note", "watch"])
            clause = "%s INSERT ON %s FOR EACH STATEMENT EXECUTE FUNCTION %s()" % (time, on, function)
        else:
            may_be_row = self.kind not in ("partitioned", "child", "parent")
            level = rng.choice(["STATEMENT", "STATEMENT", "ROW"]) if may_be_row else "STATEMENT"
            clause = "AFTER INSERT ON %s REFERENCING NEW TABLE AS new_rows FOR EACH %s EXECUTE FUNCTION sum_up()" % (on, level)
        self.statements.append("CREATE TRIGGER %s %s" % (name, clause))
