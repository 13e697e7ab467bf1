"""The table, the file and the random conditions of the filter tests."""
import csv

TYPES = [
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
    "ALTER TYPE mood ADD VALUE 'bored' BEFORE 'sad'",
    "CREATE DOMAIN plain_int AS int",
    "CREATE DOMAIN plain_text AS text",
    "CREATE DOMAIN checked_int AS int CHECK (value < 1000000)",
]
NONDETERMINISTIC = "CREATE COLLATION nondeterministic (provider = icu, locale = 'und', deterministic = false)"


class Column:
    """A column: its values in the file, and the family of types it compares with, if a filter knows it."""

    def __init__(self, name, type_, values, family=None):
        self.name, self.type, self.values, self.family = name, type_, values, family
        self.base = type_.split(" COLLATE ")[0]


INTS = ["-2", "-1", "0", "1", "2", "3", "100"]
FLOATS = ["0", "-0", "1", "-1", "0.1", "1.5", "NaN", "Infinity", "-Infinity"]
NUMERICS = ["0", "0.00", "1", "1.0", "1.50", "-1.5", "2.5", "100", "9999", "10000", "10000.0001", "99999999.99", "-0.0001", "NaN"]
TEXTS = ["", "a", "ab", "abc", "abd", "b", "B", "caf\u00e9", "x%y", "x_y", "a\\b", "10%", "abc ", "100 years", "\u20ac1"]
MOMENTS = ["2020-01-01 00:00:00", "2020-01-01 12:34:56.789", "1999-12-31 23:59:59.999999", "infinity", "-infinity"]
INTERVALS = ["1 day", "24:00:00", "1 mon", "30 days", "-1 day", "1 year", "360 days", "00:00:01"]

COLUMNS = [
    Column("id", "int", None),
    Column("b", "bool", ["t", "f"], "bool"),
    Column("c", '"char"', ["a", "b", "z", "A", "\u00e9"], "char"),
    Column("i2", "int2", INTS + ["32767", "-32768"], "int"),
    Column("i4", "int4", INTS + ["2147483647", "-2147483648"], "int"),
    Column("i8", "int8", INTS + ["9223372036854775807", "-9223372036854775808"], "int"),
    Column("o", "oid", ["0", "1", "2", "16384", "4294967295"], "oid"),
    Column("f4", "float4", FLOATS, "float"),
    Column("f8", "float8", FLOATS + ["1e300", "5e-324"], "float"),
    Column("n", "numeric", NUMERICS + ["Infinity", "-Infinity", "1e70", "1e-70", "-1e200"], "numeric"),
    Column("n2", "numeric(14,3)", NUMERICS, "numeric"),
    Column("t", "text", TEXTS, "text"),
    Column("tc", 'text COLLATE "C"', TEXTS, "text"),
    Column("v", "varchar(12)", TEXTS, "text"),
    Column("bp", "char(6)", ["ab", "ab ", "abc", "", "x", "b"], "bpchar"),
    Column("bpc", 'char(4) COLLATE "C"', ["ab", "ab ", "abc", "", "x", "b"], "bpchar"),
    Column("nm", "name", TEXTS, "text"),
    Column("d", "date", ["2020-01-01", "2020-01-02", "1999-12-31", "0044-03-15 BC", "infinity", "-infinity"], "date"),
    Column("tm", "time", ["00:00", "12:34:56.789", "23:59:59.999999", "24:00"], "time"),
    Column("ts", "timestamp", MOMENTS, "timestamp"),
    Column("ts2", "timestamp(0)", MOMENTS, "timestamp"),
    Column("tz", "timestamptz", MOMENTS + ["2020-01-01 02:00:00+02"], "timestamptz"),
    Column("iv", "interval", INTERVALS, "interval"),
    Column("u", "uuid", ["%x0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1%x" % pair for pair in ((10, 1), (10, 2), (11, 1), (0, 0))], "uuid"),
    Column("y", "bytea", ["\\x", "\\x00", "\\x00ff", "\\x01", "\\x6162", "\\xff"], "bytea"),
    Column("m", "mood", ["sad", "ok", "happy", "bored"], "mood"),
    Column("di", "plain_int", INTS, "int"),
    Column("dt", "plain_text", TEXTS, "text"),
    Column("j", "json", ["{}", "[1, 2]"]),
    Column("jb", "jsonb", ["{}", '{"a": 1}']),
    Column("ar", "int[]", ["{1,2}", "{}"]),
    Column("dc", "checked_int", INTS),
    Column("i0", "interval(0)", INTERVALS),
    Column("tt", "timetz", ["12:00+00", "14:00+02"]),
    Column("nd", "text COLLATE nondeterministic", ["abc", "ABC"]),
]

KNOWN = [column for column in COLUMNS if column.family]
TEXTUAL = [column for column in COLUMNS if column.family in ("text", "bpchar")]
ORDER = ["<", "<=", ">", ">="]


def quoted(text):
    """An SQL literal."""
    return " E'"[1 if "\\" in text else 2:] + text.replace("\\", "\\\\").replace("'", "''") + "'"


def quoted_or_null(text):
    return "NULL" if text is None else quoted(text)


def write_file(path, rng, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
        for number in range(rows):
            record = [str(number)]
            for column in COLUMNS[1:]:
                record.append("" if rng.random() < 0.15 else rng.choice(column.values))
            # The empty string would be NULL; the csv module quotes it only where it must.
            writer.writerow(record)


class Maker:
    """Makes one condition, of several clauses."""

    def __init__(self, rng):
        self.rng, self.types, self.parameters = rng, [], []
        self.may_raise = False
        # Literals, parameters or subqueries as constants; one of them for the whole condition, or a mix.
        self.styles = rng.choice([["literal"], ["parameter"], ["literal", "parameter", "subquery"]])

    def where(self):
        """The condition, and the types and values of its parameters."""
        clauses = [self.condition(self.rng.choice([0, 0, 1, 2])) for _ in range(self.rng.choice([1, 1, 2, 3]))]
        return " AND ".join(clauses), self.types, self.parameters

    def condition(self, depth):
        if depth == 0:
            return self.rng.choice([self.comparison] * 6 + [self.columns, self.in_list, self.in_list, self.null, self.like,
                                   self.like, self.array, self.boolean, self.distinct, self.other])()
        inner = [self.condition(depth - 1) for _ in range(self.rng.choice([1, 2, 2, 3]))]
        kind = self.rng.choice(["AND", "OR", "OR", "NOT", "IS"])
        if kind == "NOT":
            return "NOT (%s)" % " AND ".join(inner)
        if kind == "IS":
            test = self.rng.choice(["TRUE", "FALSE", "UNKNOWN", "NULL"])
            return "(%s) IS %s%s" % (" OR ".join(inner), self.rng.choice(["", "NOT "]), test)
        return "(%s)" % (" %s " % kind).join(inner)

    def operator(self):
        return self.rng.choice(["=", "=", "<>"] + ORDER)

    def constant(self, type_, value):
        style = self.rng.choice(self.styles)
        if self.rng.random() < 0.05:
            value = None
        if style == "parameter":
            self.types.append(type_)
            self.parameters.append(value)
            return "$%d" % len(self.types)
        literal = "%s::%s" % (quoted_or_null(value), type_)
        return "(SELECT %s)" % literal if style == "subquery" else literal

    def value_for(self, column):
        """A constant that the column compares with: its own type, or another of its family."""
        others = [other for other in KNOWN if other.family == column.family]
        other = self.rng.choice([column, self.rng.choice(others)])
        if other.family == "text" and other.base == "name" and column.base != "name":
            other = column
        return self.constant(other.base, self.rng.choice(other.values))

    def comparison(self):
        column = self.rng.choice(KNOWN)
        if self.rng.random() < 0.15:
            return "%s BETWEEN %s AND %s" % (column.name, self.value_for(column), self.value_for(column))
        sides = [column.name + self.collation(column), self.value_for(column)]
        if self.rng.random() < 0.2:
            sides.reverse()
        return "%s %s %s" % (sides[0], self.operator(), sides[1])

    def collation(self, column):
        return ' COLLATE "C"' if column in TEXTUAL and self.rng.random() < 0.3 else ""

    def columns(self):
        left = self.rng.choice(KNOWN)
        right = self.rng.choice([other for other in KNOWN if other.family == left.family])
        collation = ' COLLATE "C"' if left in TEXTUAL else ""
        return "%s %s %s%s" % (left.name, self.operator(), right.name, collation)

    def in_list(self):
        column = self.rng.choice(KNOWN)
        values = [self.rng.choice(column.values) for _ in range(self.rng.choice([1, 2, 3, 12]))]
        listed = ["%s::%s" % (quoted(value), column.base) for value in values]
        if self.rng.random() < 0.2:
            listed.append("NULL")
        return "%s %s (%s)" % (column.name, self.rng.choice(["IN", "IN", "NOT IN"]), ", ".join(listed))

    def array(self):
        column = self.rng.choice(KNOWN)
        values = [quoted(self.rng.choice(column.values)) for _ in range(self.rng.choice([0, 1, 3, 12]))]
        if self.rng.random() < 0.3:
            values.append("NULL")
        type_ = column.base.split("(")[0] if column.base.startswith(("char", "varchar")) else column.base
        type_ = {"char": "bpchar"}.get(type_, type_)
        array = "ARRAY[%s]::%s[]" % (", ".join(values), type_)
        if self.rng.random() < 0.3:
            array = "(SELECT %s)::%s[]" % (array, type_)
        return "%s %s %s (%s)" % (column.name, self.operator(), self.rng.choice(["ANY", "ALL"]), array)

    def null(self):
        return "%s IS %sNULL" % (self.rng.choice(COLUMNS).name, self.rng.choice(["", "NOT "]))

    def like(self):
        column = self.rng.choice(TEXTUAL + [column for column in COLUMNS if column.name == "y"])
        pattern = "".join(self.rng.choice(["a", "b", "c", "%", "%", "_", "\u00e9", "\\%", "0", " "])
                          for _ in range(self.rng.randrange(5)))
        type_ = "text"
        if column.name == "y":
            pattern, type_ = pattern.replace("\\", "").replace("\u00e9", "a"), "bytea"
        return "%s %s %s" % (column.name, self.rng.choice(["LIKE", "NOT LIKE"]), self.constant(type_, pattern))

    def boolean(self):
        return self.rng.choice(["b", "NOT b", "b IS TRUE", "b IS NOT TRUE", "b IS FALSE", "b IS UNKNOWN", "b IS NOT NULL"])

    def distinct(self):
        column = self.rng.choice(KNOWN)
        other = self.value_for(column) if column in TEXTUAL or self.rng.random() < 0.5 else column.name
        return "%s IS %sDISTINCT FROM %s" % (column.name, self.rng.choice(["", "NOT "]), other)

    def other(self):
        """A condition that is not pushed, perhaps one that raises an error on some row."""
        other = self.rng.choice(["lower(t) = 'abc'", "length(v) > 2", "t ~ '^a'", "t ILIKE '%B%'", "i4 % 2 = 0", "jb ? 'a'",
                                 "d < ts", "10 / i4 > 0", "i2 * i2 > 4", "i4 = ANY (ar)", "m < 'ok'", "dc > 0"])
        self.may_raise = self.may_raise or "/" in other or "*" in other
        return other
