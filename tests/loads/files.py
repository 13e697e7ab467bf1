"""Random files for a table, and the loads of them."""
import values
from statements import ident

FAULTS = ["bad value", "bad value", "missing field", "extra field", "duplicate", "duplicate", "null", "bad byte", "stray line end",
          "open quote", "no partition", "end marker", "huge value"]
CONDITIONS = ["k > 5", "k % 2 = 0", "g IN (1, 2)", "k BETWEEN 3 AND 400 AND g <> 2", "g IS NOT NULL AND k < 1000", "k <> 7 OR g = 1"]
UNDECIDED = ["careful(k)", "1000 / (k - 21) > 0", "k + g > 3", "seen() >= 0", "tick() % 2 = 0", "g = 1 AND careful(k)",
             "tableoid IS NOT NULL", "k::text LIKE '%1%'", "(k > 2 AND seen() < 1000000) OR g = 2", "false", "NULL"]


class Load:
    """A file's bytes, and what COPY is told: the dict that `statements` wants."""

    def __init__(self, rng, table, version):
        self.rng, self.table, self.version = rng, table, version
        self.faults = []
        self.choose_columns()
        self.choose_options()
        self.make_rows()
        for _ in range(rng.choice([0, 0, 0, 0, 0, 1, 1, 2, 3])):
            self.spoil()
        self.write()

    def chance(self, probability):
        return self.rng.random() < probability

    def choose_columns(self):
        rng = self.rng
        possible = [column for column in self.table.columns if not column.is_generated]
        self.columns, self.listed = possible, None
        wants_list = any(column.has_default for column in possible)
        if self.chance(0.8 if wants_list else 0.3):
            self.columns = [c for c in possible if (c.is_needed and not c.has_default) or self.chance(0.25 if c.has_default else 0.85)]
            if self.chance(0.5):
                rng.shuffle(self.columns)
            self.listed = [column.name for column in self.columns]

    def choose_options(self):
        rng, names = self.rng, [column.name for column in self.columns]
        self.options = [("format", "csv")]
        self.delimiter = rng.choice([",", ",", ",", ";", "|", "\t"])
        self.quote = rng.choice(['"', '"', '"', "'", "~"])
        self.escape = rng.choice([*[self.quote] * 8, "\\", "!", "!"])
        self.null = rng.choice(["", "", "", "", "NULL", "-", "\\N"])
        self.encoding = rng.choice([*["UTF8"] * 12, "LATIN1", "LATIN1", "WIN1252", "SJIS"])
        for name, value, default in (("delimiter", self.delimiter, ","), ("quote", self.quote, '"'), ("null", self.null, ""),
                                     ("escape", self.escape, self.quote)):
            if value != default:
                self.options.append((name, value))
        if self.encoding != "UTF8" or self.chance(0.2):
            self.options.append(("encoding", self.encoding))
        self.header = rng.choice([None, None, "true", "true", "match", "false", "auto"])
        if self.header == "auto" and (self.encoding == "SJIS" or self.listed is None and self.table.target in self.table.leaves):
            self.header = None  # the names cannot be spelled, or a partition may have its columns in another order
        if self.header and self.header != "auto":
            self.options.append(("header", self.header))
        if self.chance(0.1):
            self.options.append(("force_not_null", rng.sample(names, rng.randrange(1, len(names) + 1))))
        if self.chance(0.1):
            self.options.append(("force_null", rng.sample(names, rng.randrange(1, len(names) + 1))))
        if self.chance(0.08):
            self.options.append(("freeze", "true"))
        self.default = None
        if self.version >= 160000 and self.chance(0.2):
            self.default = "#"
            self.options.append(("default", self.default))
        if self.version >= 170000 and self.chance(0.35):
            self.options.append(("on_error", "ignore"))
            if self.chance(0.4):
                self.options.append(("log_verbosity", rng.choice(["verbose", "default"] + (["silent"] if self.version >= 180000 else []))))
            if self.version >= 180000 and self.chance(0.5):
                self.options.append(("reject_limit", str(rng.choice([1, 2, 5]))))
        self.where = rng.choice(CONDITIONS) if self.chance(0.2) else rng.choice(UNDECIDED) if self.chance(0.12) else None

    def make_rows(self):
        rng = self.rng
        count = rng.choice([0, 1, 2, 5, 20, 20, 60, 60, 60, 300])
        if self.chance(0.12) and len(self.columns) < 8:
            count = rng.choice([999, 1000, 1001, 2001, 2600])
        first, spread = rng.choice([0, 0, 1, -3]), rng.choice([1, 1, 1, 3, 7])
        keys = [first + index * spread for index in range(count)]
        if self.chance(0.4):
            rng.shuffle(keys)
        if self.chance(0.15):
            keys = [rng.randrange(count) for _ in keys]
        huge = {rng.randrange(count) for _ in range(3)} if count and self.chance(0.05) else ()
        wide = 40 if self.chance(0.06) else 1
        self.rows = []
        for key in keys:
            row = []
            for column in self.columns:
                if column.name == "k":
                    text = str(key)
                elif column.name == "g":
                    text = None if self.chance(0.02) else str(rng.randrange(5))
                else:
                    text = values.value(rng, column.kind)
                    if text is not None and column.kind == "text" and wide > 1:
                        text = (text or "w") * wide
                    if column.kind == "text" and len(self.rows) in huge:
                        text = "".join(map(str, range(rng.randrange(60000) // 4))) * rng.choice([1, 1, 5])
                    if text is None and "NOT NULL" in column.extra:
                        text = values.TYPES[column.kind][0](rng)
                    if self.default and (column.has_default or column.kind == "small_domain") and self.chance(0.3):
                        text = self.default
                row.append(text)
            self.rows.append(row)

    def spoil(self):
        """Puts something wrong into the file."""
        fault = self.rng.choice(FAULTS)
        whole = [row for row in self.rows if len(row) == len(self.columns) and not any(isinstance(text, bytes) for text in row)]
        if not whole or not self.columns:
            return
        row, other = self.rng.choice(whole), self.rng.choice(whole)
        index = self.rng.randrange(len(row))
        places = [place for place, column in enumerate(self.columns) if column.name in ("k", "g")]
        if fault == "bad value":
            bad = values.TYPES[self.columns[index].kind][1]
            row[index] = self.rng.choice(bad) if bad else row[index]
        elif fault == "missing field":
            row.pop()
        elif fault == "extra field":
            row.append("more")
        elif fault == "duplicate":
            for place in places:
                row[place] = other[place]
        elif fault == "null":
            row[index] = None
        elif fault == "no partition":
            for place in places:
                row[place] = "100000"
        elif fault == "huge value":
            row[index] = "x" * 9000
        else:
            row[index] = {"bad byte": b"b\xff\x00d", "stray line end": b"s\rt\nu", "open quote": self.quote.encode() + b"open",
                          "end marker": b"\\."}[fault]
        self.faults.append("%s in row %d" % (fault, self.rows.index(row)))

    # The bytes.

    def field(self, text):
        if isinstance(text, bytes):
            return text
        if text is None:
            return self.null.encode()
        if text == self.default:
            return text.encode()
        must = text == self.null or any(c in text for c in (self.delimiter, self.quote, "\n", "\r"))
        if self.escape != self.quote and self.escape in text and self.chance(0.5):
            must = True
        if must or self.chance(0.1):
            text = "".join(self.escape + c if c in (self.quote, self.escape) else c for c in text)
            text = self.quote + text + self.quote
        codec = {"UTF8": "utf-8", "LATIN1": "latin-1", "WIN1252": "cp1252", "SJIS": "shift_jis"}[self.encoding]
        return text.encode(codec, "replace")

    def write(self):
        end = self.rng.choice([b"\n", b"\n", b"\n", b"\r\n", b"\r"])
        records = [self.delimiter.encode().join(self.field(text) for text in row) for row in self.rows]
        if self.header in ("true", "match", "auto"):
            names = [column.name for column in self.columns]
            if self.header == "true" and self.chance(0.3):
                names = ["whatever"] * self.rng.randrange(1, 4)
            records.insert(0, self.delimiter.encode().join(self.field(name) for name in names))
        self.bytes = end.join(records)
        if records and self.chance(0.85):
            self.bytes += end

    def case(self):
        """The load; where the header is to be found out, there is one."""
        found_out = [("header", "match")] if self.header == "auto" else []
        return {"options": self.options + found_out, "columns": self.listed, "where": self.where,
                "target_sql": self.table.target}


def settings(rng):
    """Settings of fastcsv: the parallel path always, in many shapes."""
    return ["SET fastcsv.min_parallel_size = 0",
            "SET fastcsv.range_size = %d" % rng.choice([1, 7, 64, 300, 1000, 4096, 65536, 1 << 20]),
            "SET fastcsv.threads = %d" % rng.choice([1, 2, 2, 4]),
            "SET fastcsv.memory = '%dMB'" % rng.choice([1, 2, 64]),
            "SET fastcsv.simd = %s" % rng.choice(["auto", "auto", "portable", "sse2"])]
