"""What the tests of inference share: a session with a folder that the server reads, files whose types are known, and values compared as what
they mean."""
import csv
import datetime
import decimal
import io
import os

import pq
import statements

TESTS = []
LIT = statements.lit


def test(function):
    TESTS.append(function)
    return function


class Bench:
    """What a test works with: a folder that the server can read, and a session."""

    def __init__(self, arguments, folder):
        self.conninfo = "host=%s port=%s user=%s dbname=infer" % (arguments.host, arguments.port, arguments.user)
        self.folder = folder
        self.conn = pq.Conn(self.conninfo)
        self.conn.must("CREATE EXTENSION IF NOT EXISTS fastcsv")
        self.conn.must("DROP SCHEMA IF EXISTS s CASCADE")
        self.conn.must("CREATE SCHEMA s")
        self.conn.must("SET search_path = s, public")

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.chmod(os.path.dirname(path), 0o755)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, 0o644)
        return path

    def parallel(self, size=None, threads=2):
        """From now on files are read in parallel, in pieces of that size; or as usual."""
        self.conn.must("SET fastcsv.min_parallel_size = %s" % ("1024" if size is None else "0"))
        self.conn.must("SET fastcsv.range_size = %d" % (size or 1 << 20))
        self.conn.must("SET fastcsv.threads = %d" % threads)

    def infer(self, path, arguments="", columns="name, type"):
        return self.conn.must("SELECT %s FROM fastcsv_infer(%s%s)" % (columns, LIT(path), arguments))["rows"]

    def types(self, path, arguments=""):
        return dict(map(tuple, self.infer(path, arguments)))

    def dialect(self, path, arguments=""):
        return self.infer(path, arguments, "dialect")[0][0]

    def load(self, path, arguments=""):
        """Imports a file into a table t of its own, and returns how many rows there are."""
        self.conn.must("DROP TABLE IF EXISTS t")
        result = self.conn.must("SELECT fastcsv_import(%s, 't'%s)" % (LIT(path), arguments))
        return int(result["rows"][0][0])

    def value(self, sql):
        return self.conn.must(sql)["rows"][0][0]

    def rows(self, sql):
        return self.conn.must(sql)["rows"]

    def error(self, sql):
        result = self.conn.exec(sql)
        if result["kind"] != "error":
            raise AssertionError("no error: %s" % sql)
        return result


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError("%s: expected %r, got %r" % (what, wanted, found))


KNOWN = {
    "trips.csv": (
        "trip_id,started,ended,distance,fare,paid,vendor\n"
        "1,2024-01-31 10:20:30,2024-01-31T10:40:00,1.5,12.50,true,CMT\n"
        "2,2024-02-01 00:00:00,2024-02-01T00:10:11.5,0.9,7.00,false,VTS\n"
        "40000,2024-02-01 23:59:59,2024-02-02T00:20:00,,10,true,\n",
        {"trip_id": "integer", "started": "timestamp", "ended": "timestamp", "distance": "numeric", "fare": "numeric",
         "paid": "boolean", "vendor": "text"}),
    "events.csv": (
        'id,at,day,clock,payload,score\n'
        'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,2024-01-31T10:20:30Z,2024-01-31,10:20,"{""a"": 1}",1e-5\n'
        'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a12,2024-01-31T10:20:30+02:00,1999-12-31,23:59:59.25,[],12.5\n',
        {"id": "uuid", "at": "timestamptz", "day": "date", "clock": "time", "payload": "json", "score": "double precision"}),
    "zips.csv": (
        '"Zip","City","Pop","Share"\n"01001","Agawam","16576","0.5"\n"10001","New York","99999","1"\n"90210","","",""\n',
        {"zip": "text", "city": "text", "pop": "integer", "share": "numeric"}),
    "europe.csv": (
        "Datum;Größe (cm);Betrag;Menge;Straße\n31.01.2024;1,5;1.234,50;10;Weg 1\n01.02.2024;2,25;-0,10;11;\n",
        {"datum": "date", "groesse_cm": "numeric", "betrag": "numeric", "menge": "smallint", "strasse": "text"}),
    "american.csv": (
        'date,amount,phone\n1/31/2024,"1,234.50",+15551234567\n2/1/2024,"99.00",+15557654321\n',
        {"date": "date", "amount": "numeric", "phone": "text"}),
    "flights.csv": (
        "year,month,dep_delay,carrier,tailnum,time_hour\n"
        "2013,1,2,UA,N14228,2013-01-01 05:00:00\n2013,1,NA,UA,NA,2013-01-01 05:00:00\n2013,12,-4,B6,N804JB,2013-12-31 06:00:00\n",
        {"year": "smallint", "month": "smallint", "dep_delay": "smallint", "carrier": "text", "tailnum": "text",
         "time_hour": "timestamp"}),
    "pandas.csv": (
        ",x,when\n0,1.0,2024-01-01\n1,inf,2024-01-02\n2,-2.5,2024-01-03\n",
        {"column_1": "smallint", "x": "double precision", "when": "date"}),
    "tabs.tsv": (
        "id\tbig\thuge\tnote\n1\t2147483648\t9223372036854775808\tsay \"hi\"\n2\t-1\t1\ta, b; c\n",
        {"id": "smallint", "big": "bigint", "huge": "numeric", "note": "text"}),
    "pipe.txt": ("a|b\n1|x\n2|y\n", {"a": "smallint", "b": "text"}),
    "bare.csv": ("1,x,2024-01-31\n2,y,2024-02-01\n3,z,2024-03-01\n",
                 {"column_1": "smallint", "column_2": "text", "column_3": "date"}),
    "lines.csv": ('id,text\r\n1,"two\r\nlines"\r\n2,"a ""quoted"" word"\r\n', {"id": "smallint", "text": "text"}),
}


def as_value(kind, text):
    """A text as the value that it is for the type."""
    if text is None:
        return None
    if kind in ("smallint", "integer", "bigint"):
        return int(text)
    if kind == "numeric":
        return decimal.Decimal(text)
    if kind == "double precision":
        return repr(float(text.replace("Infinity", "inf")))
    if kind == "boolean":
        return text.lower() in ("t", "true", "y", "yes", "on")
    if kind == "uuid":
        return text.lower()
    if kind in ("timestamp", "timestamptz"):
        at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        return at.astimezone(datetime.timezone.utc) if at.tzinfo else at
    if kind == "time":
        return datetime.time.fromisoformat(text)
    return text


def imported(bench, path, arguments="", limit=None):
    """The types of the table that a file becomes, and what COPY TO gives of it, or of its first rows, parsed again."""
    rows = bench.load(path, arguments)
    types = [row[0] for row in bench.rows(
        "SELECT replace(replace(format_type(atttypid, atttypmod), ' without time zone', ''), 'timestamp with time zone',"
        " 'timestamptz') FROM pg_attribute WHERE attrelid = 's.t'::regclass AND attnum > 0 ORDER BY attnum")]
    rows = rows if limit is None else min(rows, limit)
    data = bench.conn.must("COPY (SELECT * FROM s.t LIMIT %d) TO STDOUT (FORMAT csv, ENCODING 'UTF8')" % rows)["data"].decode()
    values = list(csv.reader(io.StringIO(data, newline="")))
    expect(len(values), rows, "rows of " + path)
    return types, values
