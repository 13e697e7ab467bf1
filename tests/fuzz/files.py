"""Random CSV files: from clean to hostile, in random dialects and encodings."""

DIALECTS = [(",", '"', '"'), (",", '"', '"'), (",", '"', '"'), (";", "'", "'"), ("\t", '"', '"'), ("|", '"', "\\"), (",", '"', "\\"),
            (",", "'", "!"), ("a", '"', '"'), (",", "1", "1"), (",", '"', ","), (",", '"', "x"), ("\\", '"', '"'), (",", "\\", "\\"),
            (",", '"', '"'), (",", '"', '"'), (";", '"', '"'), ("|", "'", "'")]
NULLS = ["", "", "", "", "NULL", "\\N", "1", "x", " "]
# The encodings of files, by that of the database; None is left to client_encoding.
ENCODINGS = {"utf8": [None] * 10 + ["UTF8"] * 6 + ["LATIN1", "LATIN1", "WIN1252", "KOI8R", "SQL_ASCII", "SJIS", "EUC_JP", "GBK"],
             "latin1": [None] * 4 + ["LATIN1", "LATIN1", "UTF8", "UTF8", "SQL_ASCII", "WIN1252", "LATIN2"],
             "sqlascii": [None] * 4 + ["SQL_ASCII", "UTF8", "LATIN1", "EUC_JP", "SJIS"]}
CLIENT_ENCODINGS = {"utf8": ["UTF8"] * 9 + ["LATIN1", "SJIS", "WIN1252"], "latin1": ["UTF8", "UTF8", "LATIN1"],
                    "sqlascii": ["UTF8", "SQL_ASCII", "LATIN1"]}
CODECS = {"UTF8": "utf-8", "LATIN1": "latin-1", "LATIN2": "iso8859-2", "WIN1252": "cp1252", "KOI8R": "koi8-r", "SJIS": "shift_jis",
          "EUC_JP": "euc_jp", "GBK": "gbk", "SQL_ASCII": "utf-8"}
LETTERS = ["\u00e9", "\u00fc", "\u20ac", "\u3042", "\u8868", "\u30bd", "\U0001f600", "\u00a0", "\u0416"]
BAD_BYTES = [b"\xff", b"\x00", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\x80", b"\x81", b"\x8f\xa1", b"\x80"]
LINE_ENDS = [b"\n", b"\n", b"\n", b"\r\n", b"\r\n", b"\r"]
FAULTS = ["missing field", "extra field", "extra field", "bad byte", "bad byte", "stray line end", "stray line end", "open quote",
          "open quote", "end marker", "end marker", "empty line", "junk"]


class File:
    """A file's bytes, and the options that say how to read it."""

    def __init__(self, rng, columns, database, version):
        self.rng, self.columns, self.version = rng, columns, version
        self.delimiter, self.quote, self.escape = rng.choice(DIALECTS)
        self.null = rng.choice(NULLS)
        if self.delimiter in self.null or self.quote in self.null:
            self.null = ""
        self.header = rng.choice(["false"] * 5 + ["true", "true", "match"])
        self.encoding = rng.choice(ENCODINGS[database])
        self.client_encoding = rng.choice(CLIENT_ENCODINGS[database])
        self.codec = CODECS[self.encoding or self.client_encoding]
        self.default = rng.choice(["", "D"]) if version >= 160000 and rng.random() < 0.1 else None
        self.end = rng.choice(LINE_ENDS)
        self.bytes = self.wild() if rng.random() < 0.12 else self.neat()

    def options(self):
        """The foreign table's options, the file's name left out."""
        rng, options = self.rng, [("format", "csv")]
        for name, value, usual in (("delimiter", self.delimiter, ","), ("quote", self.quote, '"'), ("escape", self.escape, self.quote),
                                   ("null", self.null, ""), ("header", self.header, "false"), ("encoding", self.encoding, None),
                                   ("default", self.default, None)):
            if value is not None and (value != usual or rng.random() < 0.1):
                options.append((name, value))
        if self.version >= 180000 and rng.random() < 0.15:
            options.append(("on_error", "ignore"))
            options += rng.choice([[], [("log_verbosity", "silent")], [("reject_limit", str(rng.randrange(1, 5)))]])
        return options

    # Files of records, with something wrong now and then.

    def neat(self):
        rng = self.rng
        count = rng.choice([0, 1, 2, 3, 5, 8, 10, 15, 20, 20, 40, 60])
        nulls, tame = rng.choice([0, 0.05, 0.3]), rng.random() < 0.6
        rows = [[self.value(column, nulls, tame) for column in self.columns] for _ in range(count)]
        records = [[self.field(text) for text in row] for row in rows]
        if self.header != "false":
            names = [column.name for column in self.columns]
            if rng.random() < 0.15:
                names = rng.choice([names[:-1], names + ["more"], ["two\nlines"], [], [name.upper() for name in names]])
            records.insert(0, [self.field(name) for name in names])
        for _ in range(rng.choice([0] * 6 + [1, 1, 2, 3]) if records else 0):
            self.spoil(rng.choice(records))
        data = self.end.join(self.delimiter.encode().join(record) for record in records)
        if data and rng.random() < 0.04:
            # Longer than what is read at once.
            data = self.end.join([data] * rng.randrange(2, 100000 // len(data) + 3))
        if records and rng.random() < 0.8:
            data += self.end
        if rng.random() < 0.03:
            data = b"\xef\xbb\xbf" + data
        if rng.random() < 0.08:
            place = rng.randrange(len(data) + 1)
            data = data[:place] + rng.choice(BAD_BYTES + [b"\n", b"\r", self.quote.encode()]) + data[place:]
        return data

    def value(self, column, nulls, tame):
        rng = self.rng
        if rng.random() < nulls:
            return None
        good, bad = column.texts
        if bad and not tame and rng.random() < 0.03:
            return rng.choice(bad)
        text = good(rng)
        if column.is_text and rng.random() < 0.3:
            text += rng.choice(LETTERS + ["\n", "\r", "\r\n", self.quote, self.delimiter, self.escape, "\\.", self.null, "y" * rng.randrange(200)])
        if not tame and rng.random() < 0.02 and text:
            place = rng.randrange(len(text))
            text = text[:place] + rng.choice([" ", "-", "9", ".", "e", ":", "+", ""]) + text[place + rng.randrange(2):]
        return text

    def field(self, text):
        rng = self.rng
        if text is None:
            return self.null.encode()
        must = text == self.null or text == self.default or any(c in text for c in (self.delimiter, self.quote, "\n", "\r"))
        if must or rng.random() < 0.15:
            escaped = "".join(self.escape + c if c in (self.quote, self.escape) else c for c in text)
            if rng.random() < 0.1 and len(text) > 1 and not must:
                # Quotes toggle wherever they stand.
                text = text[0] + self.quote + text[1:] + self.quote
            else:
                text = self.quote + escaped + self.quote
        return text.encode(self.codec, "replace")

    def spoil(self, record):
        rng, fault = self.rng, self.rng.choice(FAULTS)
        place = rng.randrange(len(record)) if record else 0
        if not record or fault == "empty line":
            record[:] = [b""]
        elif fault == "missing field":
            record.pop()
        elif fault == "extra field":
            record.insert(place, rng.choice([b"", b"more"]))
        elif fault == "end marker":
            record[:] = [rng.choice([b"\\.", b"\\.", b'"\\."', b"\\.x", b"\\.\r", b" \\."])]
        else:
            record[place] += {"bad byte": rng.choice(BAD_BYTES), "stray line end": rng.choice([b"\n", b"\r", b"\r\n", b"\n\r"]),
                              "open quote": self.quote.encode(), "junk": self.junk(rng.randrange(6))}[fault]

    # Files of anything.

    def wild(self):
        rng = self.rng
        return self.junk(rng.choice([0, 3, 10, 40, 40, 100, 300]))

    def junk(self, count):
        rng = self.rng
        special = [self.delimiter.encode()] * 4 + [self.quote.encode()] * 3 + [self.escape.encode(), self.end, self.end, self.end]
        plain = [b"1", b"2", b"x", b"a", b" ", self.null.encode(), b"\\.", b"NULL"]
        rare = [b"\n", b"\r", b"\r\n"] + [letter.encode(self.codec, "replace") for letter in LETTERS] + BAD_BYTES[2:]
        pools = rng.choice([[special, plain], [special, plain, plain, rare]])
        return b"".join(rng.choice(rng.choice(pools)) for _ in range(count))
