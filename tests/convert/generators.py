"""Texts for the converters: PLAIN ones, which must not be declined, and random ones, from usual to hostile.

Each generator takes a random.Random and gives one text; mutated() then spoils some of them.
"""
import json
import struct

BLANKS = [" ", "  ", "\t", "\n", "\v", "\f", "\r"]
SPOILERS = "0123456789+-.:/eE_xXtTzZpPaAmM \t\\\"'{}[],()#@\u00e9\u3042\U0001f600\u00a0"


def mutated(rng, text):
    """Mostly the text itself, now and then with a few bytes changed."""
    if rng.random() < 0.7:
        return text
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:at] + rng.choice(SPOILERS) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + 1:]
        elif kind == 2:
            text = text[:at] + rng.choice(SPOILERS) + text[at + 1:]
        elif kind == 3:
            text = text[:at] + text[at:at + 3] + text[at:]
        elif kind == 4:
            text = rng.choice(BLANKS) + text if rng.random() < 0.5 else text + rng.choice(BLANKS)
        else:
            text = text.upper() if rng.random() < 0.5 else text.lower()
    return text


def digits(rng, most):
    """Up to so many digits, with more zeros, nines and fives than chance would give."""
    source = rng.choice(["0123456789", "0123456789", "09", "0", "9", "459", "05"])
    return "".join(rng.choice(source) for _ in range(rng.randrange(most + 1)))


def integer(rng):
    kind = rng.randrange(5)
    if kind == 0:
        bits = rng.choice([8, 15, 16, 31, 32, 63, 64])
        return str(rng.choice([1, -1]) * 2 ** bits + rng.randrange(-2, 3))
    if kind == 1:
        return rng.choice(["", "+", "-"]) + digits(rng, 26)
    if kind == 2:
        return rng.choice(["0x1F", "0b101", "0o17", "1_000", "1e3", "5.0", "", "-", "+", "--1", "007", "-0", "- 1"])
    return str(rng.randrange(-10 ** rng.randrange(1, 20), 10 ** rng.randrange(1, 20)))


def numeric(rng):
    text = rng.choice(["", "", "", "-", "+"])
    text += digits(rng, rng.choice([3, 8, 20, 45]))
    if rng.random() < 0.8:
        text += "." + digits(rng, rng.choice([2, 4, 17, 45]))
    if rng.random() < 0.15:
        text += rng.choice("eE") + rng.choice(["", "+", "-"]) + digits(rng, rng.choice([1, 2, 4, 5]))
    if rng.random() < 0.02:
        text = rng.choice(["NaN", "nan", "inf", "-Infinity", "infinity", "1_000.5", "0x10", ".", "-.", "e5", "1e", ""])
    return text


def floating(rng):
    kind = rng.randrange(10)
    if kind == 9:
        # Next to the middle between two singles, with about the digits of a double.
        bits = rng.randrange(0x30000000, 0x50000000)
        low, high = struct.unpack("2f", struct.pack("2I", bits, bits + 1))
        return "%.*g" % (rng.choice([15, 16, 16, 17]), (low + high) / 2)
    if kind == 0:
        return repr(struct.unpack("d", rng.randbytes(8))[0])
    if kind == 1:
        return repr(struct.unpack("f", rng.randbytes(4))[0])
    if kind == 2:
        single = struct.unpack("f", rng.randbytes(4))[0]
        return "%.*g" % (rng.randrange(1, 20), single)
    if kind == 3:
        return "%.*f" % (rng.randrange(0, 8), rng.uniform(-1e6, 1e6))
    if kind == 4:
        # Half way between two floats, or nearly.
        return str((2 ** rng.choice([24, 53]) + rng.randrange(2 ** 20)) * 2 + rng.choice([1, 1, 3])) + rng.choice(
            ["", ".0", ".00000000000000001", "e3", "e-30"])
    if kind == 5:
        return rng.choice(["", "-"]) + digits(rng, 20) + "e" + str(rng.randrange(-420, 420))
    if kind == 6:
        return rng.choice(["nan", "NaN", "-nan", "inf", "-inf", "+Infinity", "infinity", "infinit", "nan(1)", "0x1p3",
                           "0x1F", "1e400", "1e-400", "4.9e-324", "2e-324", "1e-45", "3.4028235e38", "3.5e38", "-0",
                           "0.0", "-0e5", ".5", "5.", ".", "", "1e", "1e+", "1d5", "1.7976931348623157e308"])
    return numeric(rng)


def boolean(rng):
    word = rng.choice(["true", "false", "yes", "no", "on", "off", "0", "1", "t", "f", "y", "n", "o", "2", "01", "tr"])
    word = word[:rng.randrange(len(word) + 1)] if rng.random() < 0.3 else word
    return "".join(rng.choice([c.upper(), c]) for c in word) if rng.random() < 0.3 else word


def string(rng):
    letters = rng.choice(["ab ", "ab ", "a\u00e9 ", "\u3042\u00e9a ", "\U0001f600a ", "x"])
    length = rng.choice([0, 1, 2, 3, 4, 5, 6, 24, 25, 26, 43, 44, 45, 62, 63, 64, 65, 130])
    text = "".join(rng.choice(letters) for _ in range(length)) + " " * rng.choice([0, 0, 0, 1, 3, 30])
    return rng.choice(["\\101", "\\377", "\\400", "\\08", "\\000", "\\"]) if rng.random() < 0.1 else text


def date(rng):
    year, month, day = rng.choice([2024, 2000, 1999, 1900, 2100, rng.randrange(1, 10000)]), rng.randrange(
        1, 13), rng.randrange(1, 32)
    if rng.random() < 0.05:
        year, month, day = rng.randrange(0, 12000), rng.randrange(0, 14), rng.randrange(0, 33)
    mark = rng.choice("--/.")
    short = "%02d" % (year % 100)
    names = ["Jan", "Feb", "MAR", "apr", "May", "june", "July", "Aug", "September", "oct", "Nov", "december", "Sept"]
    kind = rng.randrange(14)
    if kind < 6:
        return "%04d-%02d-%02d" % (year, month, day)
    return [
        "%d%s%d%s%d" % (year, mark, month, mark, day),
        "%04d%02d%02d" % (year, month, day),
        "%02d%s%02d%s%s" % (month, mark, day, mark, rng.choice(["%04d" % year, short, str(year)])),
        "%d%s%d%s%s" % (day, mark, month, mark, rng.choice(["%04d" % year, short, str(year % 10)])),
        "%s%s%02d%s%02d" % (short, mark, month, mark, day),
        "%02d-%s-%s" % (day, rng.choice(names), rng.choice(["%04d" % year, short])),
        rng.choice(["%s %d %s", "%s %02d, %s", "%s  %d,%s", "%s%d %s", "%s. %d %s"]) % (
            rng.choice(names), day, rng.choice(["%04d" % year, "%04d" % year, short])) if rng.random() < 0.5 else
        rng.choice(["%d %s %s", "%02d %s %s", "%d %s, %s", "%d%s %s"]) % (
            day, rng.choice(names), rng.choice(["%04d" % year, "%04d" % year, short])),
        rng.choice(["infinity", "-infinity", "epoch", "now", "today", "J2451187", "%04d-%02d-%02d BC" % (
            year, month, day), "January %d, %04d" % (day, year), "%04d.%03d" % (year, day), "%03d-%d-%d" % (
            year % 1000, month, day), "%04d-%03d" % (year, day * 11), "", "-"]),
    ][kind - 6]


def time(rng):
    hour, minute, second = rng.randrange(24), rng.randrange(60), rng.randrange(60)
    if rng.random() < 0.1:
        hour, minute, second = rng.randrange(27), rng.randrange(62), rng.randrange(63)
    if rng.random() < 0.05:
        hour, minute, second = rng.choice([(24, 0, 0), (23, 59, 60), (23, 59, 59), (0, 0, 60), (12, 0, 0), (0, 0, 0)])
    text = rng.choice(["%02d:%02d:%02d", "%02d:%02d:%02d", "%d:%d:%d"]) % (hour, minute, second)
    if rng.random() < 0.15:
        text = "%02d:%02d" % (hour, minute)
    if rng.random() < 0.5:
        text += "." + digits(rng, rng.choice([3, 6, 6, 7, 9, 16, 60]))
    if rng.random() < 0.15:
        text += rng.choice([" ", "", "  "]) + rng.choice(["AM", "PM", "am", "pm", "Pm"])
    return text


def zone(rng):
    return rng.choice([
        "", "", "", "Z", "z", "+00", "-08", "+05:30", "+0545", "-03:30", "+15:59:59", "+16", "-15:59", "+5", "+530",
        "+00:53:28", " +02", " -07:00", " UTC", " utc", "UTC", " Z", " GMT", " CET", " Europe/Berlin", "+1:2", "+01:60",
        "+02:", "-", "+ 03", " BC", "+05.5", "+02-03", " America/New_York", " EST", " t", "Z+1", " +02 ", "+02Z"])


def timestamp(rng):
    kind = rng.randrange(20)
    if kind == 0:
        return date(rng)
    between = rng.choice([" ", " ", " ", "T", "T", "t", "  ", "", "\t", "_"]) if kind < 15 else " "
    return date(rng) + between + time(rng) + zone(rng)


def time_of_day(rng):
    return time(rng) + zone(rng) if rng.random() < 0.95 else rng.choice([
        "allballs", "now", "040506", "0405", "04:05:06 Europe/Berlin", "T040506", "2024-01-02 04:05:06", "04"])


def interval(rng):
    number = lambda: rng.choice(["", "", "-", "+"]) + str(rng.randrange(10 ** rng.choice([1, 2, 5, 9, 10])))
    units = ["year", "years", "mon", "mons", "month", "months", "week", "weeks", "day", "days", "hour", "hours", "min",
             "mins", "minute", "minutes", "sec", "secs", "second", "seconds", "yr", "d", "h", "decade", "century",
             "millisecond", "us", "ago", "Year"]
    kind = rng.randrange(6)
    if kind == 0:
        letters = [number() + letter for letter in "YMWD" if rng.random() < 0.5]
        text = "P" + "".join(letters).replace("+", "")
        if rng.random() < 0.7:
            fraction = "." + digits(rng, 7) if rng.random() < 0.4 else ""
            text += "T" + "".join(number().replace("+", "") + letter for letter in "HM" if rng.random() < 0.5)
            text += rng.choice(["", str(rng.randrange(100)) + fraction + "S", "-%d%sS" % (rng.randrange(70), fraction)])
        return text
    if kind == 1:
        return rng.choice(["1-2", "-1-2", "1 04:05:06", "1.5 days", "@ 1 year", "04:05", "1d", "2h30m", "", "1 day ago",
                           "P1Y2M", "PT", "P", "infinity", "-1 year 2 mons", "1", "04:05.5", "1 hour 02:03:04"])
    count = rng.choice([1, 1, 2, 3])
    usual = units if rng.random() < 0.2 else units[:20]
    words = ["%s %s" % (number(), unit) for unit in sorted(rng.sample(usual, count), key=units.index)]
    if rng.random() < 0.5:
        words.append(rng.choice(["", "", "-", "+"]) + (time(rng) if rng.random() < 0.8 else "%d:%02d:%02d" % (
            rng.randrange(10 ** rng.randrange(1, 11)), rng.randrange(61), rng.randrange(61))))
    return " ".join(words)


def uuid(rng):
    text = "%032x" % rng.getrandbits(128)
    if rng.random() < 0.2:
        text = text.upper()
    kind = rng.randrange(8)
    if kind < 5:
        text = "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])
    elif kind == 5:
        text = "-".join(text[at:at + 4] for at in range(0, 32, 4))
    return "{" + text + "}" if rng.random() < 0.1 else text


def bytea(rng):
    kind = rng.randrange(5)
    if kind == 0:
        return string(rng)
    if kind == 1:
        return rng.choice(["\\\\", "\\000", "a\\134b", "\\x", "\\X41", "\\x4 1", "\\x41 42", "\\xg1", "\\x123", "\\"])
    text = rng.randbytes(rng.randrange(40)).hex()
    return "\\x" + (text.upper() if rng.random() < 0.2 else text)


def json_value(rng, depth=0):
    kind = rng.randrange(8 if depth < 5 else 5)
    if kind == 0:
        return rng.choice([True, False, None])
    if kind == 1:
        return rng.randrange(-10 ** rng.randrange(1, 20), 10 ** rng.randrange(1, 20))
    if kind == 2:
        return rng.uniform(-1, 1) * 10 ** rng.randrange(-30, 30)
    if kind < 5:
        return rng.choice(["", "text", "caf\u00e9", "\U0001f600", "a\"b\\c/\n\t", "\x01", "\u2028", " "])
    if kind == 5:
        return [json_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {string(rng): json_value(rng, depth + 1) for _ in range(rng.randrange(4))}


def json_text(rng):
    kind = rng.randrange(12)
    if kind == 0:
        return rng.choice(["", "{", "[1,]", "{\"a\":1,}", "01", "-", "1.", ".5", "1e", "+1", "tru", "truex", "nul l",
                           "\"\\u0000\"", "\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"\\ude00\"", "\"\\x\"", "{a:1}",
                           "{\"a\" 1}", "[1 2]", "1 2", "'a'", "\"a\tb\"", "[]]", "{}{}", "-0", "1E+5", "[[[]]",
                           "\"\\u00e\"", "NaN", "{\"a\":1,\"a\":2}", " \t\n\r1 ", "\v1", "\ufeff1", "[,1]", "{,}"])
    if kind == 1:
        depth = rng.choice([1, 10, 63, 64, 65, 200])
        return "[" * depth + "1" + "]" * depth
    indent = rng.choice([None, None, 1])
    return json.dumps(json_value(rng), ensure_ascii=rng.random() < 0.5, indent=indent)


def label(rng):
    return rng.choice(["red", "green", "", " ", "caf\u00e9", "Red", "red ", "a" * 63, "a" * 64, "late", "\u3042"])
