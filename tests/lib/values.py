"""Column types for random tables, and the texts that a file may hold for them."""

WORDS = ["", "x", "abc", "two words", "a,b", 'say "hi"', "line\nend", "cr\rhere", "crlf\r\nhere", "caf\u00e9", "\u00fc\u00df",
         "NULL", "\\N", " edge ", "it's", "0", "tab\there", "\\", "long " * 30]


def number(low, high):
    return lambda rng: str(rng.choice([0, 1, -1, low, high, rng.randrange(low, high + 1), rng.randrange(-99, 100)]))


def numeric(rng):
    return rng.choice(["0", "1.5", "-2.25", "99.999", "1e2", "NaN", "%d.%d" % (rng.randrange(1000), rng.randrange(100))])


def real(rng):
    return rng.choice(["0", "-0", "1.5", "NaN", "Infinity", "1e10", "-1e-5", "%.3f" % rng.uniform(-100, 100)])


def word(rng):
    return rng.choice(WORDS)


def short(rng):
    return rng.choice(["", "a", "abc", "abcde", "ab   ", "caf\u00e9"])


def day(rng):
    return "%04d-%02d-%02d" % (rng.randrange(1900, 2100), rng.randrange(1, 13), rng.randrange(1, 29))


def clock(rng):
    return "%02d:%02d:%02d%s" % (rng.randrange(24), rng.randrange(60), rng.randrange(60), rng.choice(["", ".5", ".123456"]))


def moment(rng):
    return "%s %s" % (day(rng), clock(rng))


def zoned(rng):
    return moment(rng) + rng.choice(["", "+00", "-05:30", " UTC"])


def span(rng):
    return rng.choice(["1 day", "02:03:04", "1 mon -3 days", "P1Y2M", "-00:00:01", "5 years 3 hours"])


def uuid(rng):
    return "%08x-%04x-4%03x-a%03x-%012x" % tuple(rng.randrange(16 ** n) for n in (8, 4, 3, 3, 12))


def hexadecimal(rng):
    return "\\x" + "".join("%02x" % rng.randrange(256) for _ in range(rng.randrange(8)))


def json(rng):
    return rng.choice(["1", "null", '{"a": 1}', '[1, "two", null]', '"text"', '{"b": {"c": []}}'])


def integers(rng):
    return rng.choice(["{}", "{1,2,3}", "{NULL,4}", "{{1,2},{3,4}}"])


def one_of(*texts):
    return lambda rng: rng.choice(texts)


def of_key(rng):
    low = rng.randrange(1000)
    return "[%d,%d)" % (low, low + rng.randrange(1, 5))


# Types: how their values look, texts that are none, and a weight. Those in a schema of ours are made by `TYPES_SQL`.
TYPES = {
    "int2": (number(-32768, 32767), ["32768", "1x", ""], 2),
    "int4": (number(-2**31, 2**31 - 1), ["2147483648", "1.5", "abc"], 5),
    "int8": (number(-2**63, 2**63 - 1), ["9223372036854775808", "--1"], 3),
    "numeric": (numeric, ["1..2", "x"], 2),
    "numeric(6,2)": (numeric, ["123456.7", "x"], 2),
    "float4": (real, ["1e400", "x"], 1),
    "float8": (real, ["1e400", "x"], 2),
    "bool": (one_of("t", "f", "true", "no", "1", "OFF"), ["maybe", "2"], 2),
    "text": (word, [], 6),
    "varchar(5)": (short, ["abcdef"], 2),
    "char(5)": (short, ["abcdef"], 2),
    '"char"': (one_of("a", "", "z"), [], 1),
    "name": (word, [], 1),
    "oid": (number(0, 2**31), ["x"], 1),
    "date": (day, ["2020-02-30", "today ago"], 3),
    "time": (clock, ["25:00", "x"], 1),
    "timestamp": (moment, ["2020-13-01", "x"], 2),
    "timestamptz": (zoned, ["2020-01-01 00:00 Nowhere/Zone", "x"], 2),
    "interval": (span, ["1 parsec"], 1),
    "uuid": (uuid, ["123"], 1),
    "bytea": (hexadecimal, ["\\x123", "\\xzz"], 1),
    "json": (json, ["{", ""], 1),
    "jsonb": (json, ["{", "\"\\u0000\""], 1),
    "int4[]": (integers, ["{1,", "1,2"], 1),
    "inet": (one_of("10.0.0.1", "::1", "192.168.0.0/16"), ["300.0.0.1"], 1),
    "int4range": (of_key, ["[2,1)", "x"], 1),
    "mood": (one_of("sad", "ok", "happy"), ["angry", ""], 2),
    "pair": (one_of("(1,a)", "(,)", '(2,"x,y")'), ["(1", "(x,y)"], 1),
    "plain_domain": (number(-1000, 1000), ["x"], 1),
    "small_domain": (number(0, 90), ["91", "x"], 2),
    "given_domain": (word, [None], 1),
}

# A second access method makes the load use slots that are not heap tuples', as far as it can tell.
TYPES_SQL = ["CREATE ACCESS METHOD heap_again TYPE TABLE HANDLER heap_tableam_handler",
             "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')", "CREATE TYPE pair AS (a int, b text)",
             "CREATE DOMAIN plain_domain AS int", "CREATE DOMAIN small_domain AS int DEFAULT 7 CHECK (VALUE < 91)",
             "CREATE DOMAIN given_domain AS text NOT NULL"]

INTEGERS = {"int2", "int4", "int8", "plain_domain", "small_domain"}
TEXTS = {"text", "varchar(5)", "name", "given_domain"}


def value(rng, kind):
    """A text that the type takes, or None for NULL."""
    make, _, _ = TYPES[kind]
    nulls = 0 if kind == "given_domain" else 0.08
    return None if rng.random() < nulls else make(rng)


def some_type(rng):
    return rng.choices(list(TYPES), [weight for _, _, weight in TYPES.values()])[0]


# Constants for DEFAULT clauses.
CONSTANTS = {"int2": "3", "int4": "42", "int8": "-5", "numeric": "1.50", "numeric(6,2)": "2.5", "float8": "0.5", "bool": "true",
             "text": "'some text'", "varchar(5)": "'vc'", "char(5)": "'ch'", "date": "'2001-02-03'", "timestamptz": "'2001-02-03'",
             "uuid": "'00000000-0000-4000-8000-000000000000'", "mood": "'ok'", "jsonb": "'{\"d\": 1}'", "int4[]": "'{7}'",
             "pair": "'(9,nine)'", "name": "'somebody'", "plain_domain": "8", "given_domain": "'given'"}
