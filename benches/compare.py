#!/usr/bin/env python3
"""fastcsv beside COPY and file_fdw on one server, in one run.

  compare.py --host SOCKETDIR --file LINEITEM.csv [--port N] [--user U] [--pairs N] [--narrow-rows N]

Each row of the table is one pair of statements that do the same on the same file, run in turns (A B A B ...) so that
whatever else the machine does touches both alike. The first pair warms the caches and is not counted. Times depend on
the machine; the ratio, the median over the pairs of reference time / fastcsv time, is what to compare: above 1 means
that fastcsv is faster. The file is a TPC-H lineitem file with a header; other files are made beside it, by the server.

\copy is psql's, with fastcsv.accelerate_copy off and on. At the end: how fast fastcsv_infer reads the file, and the most memory that a scan and a
load of it held, as fastcsv_last_run() tells it.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
import pq

# The types that TPC-H names.
COLUMNS = """l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity numeric(15,2),
    l_extendedprice numeric(15,2), l_discount numeric(15,2), l_tax numeric(15,2), l_returnflag char(1),
    l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct char(25),
    l_shipmode char(10), l_comment varchar(44)"""

NARROW = "a bigint, b bigint, c text, d double precision"

# COPY is taken over once the library is there; what fastcsv is compared with is not.
OFF, ON = ("SET fastcsv.accelerate_copy = %s" % value for value in ("off", "on"))

SETUP = [
    "LOAD 'fastcsv'",
    OFF,
    "CREATE EXTENSION IF NOT EXISTS file_fdw",
    "CREATE EXTENSION IF NOT EXISTS fastcsv",
    "CREATE SERVER file_server FOREIGN DATA WRAPPER file_fdw",
    "COPY (SELECT g, g * 7, 'hello, world', g * 0.25 FROM generate_series(1, {narrow_rows}) g) TO '{narrow}' (FORMAT csv)",
    "COPY (SELECT g, g * 7, 'hello, world', g * 0.25 FROM generate_series(1, 10) g) TO '{ten}' (FORMAT csv)",
    "CREATE TABLE plain ({columns})",
    "CREATE UNLOGGED TABLE unlogged ({columns})",
    "CREATE TABLE keyed ({columns}, PRIMARY KEY (l_orderkey, l_linenumber))",
    "CREATE TABLE parted ({columns}) PARTITION BY RANGE (l_shipdate)",
    *["CREATE TABLE parted_%d PARTITION OF parted FOR VALUES FROM ('%d-01-01') TO ('%d-01-01')" % (y, y, y + 1)
      for y in range(1992, 1999)],
    "CREATE TABLE narrow_rows ({narrow_columns})",
]

FOREIGN = """CREATE FOREIGN TABLE by_file_fdw_%(name)s (%(columns)s) SERVER file_server
    OPTIONS (filename '%(file)s', format 'csv', header '%(header)s');
CREATE FOREIGN TABLE by_fastcsv_%(name)s (%(columns)s) SERVER fastcsv
    OPTIONS (filename '%(file)s', header '%(header)s')"""

Q6 = """SELECT sum(l_extendedprice * l_discount) FROM {} WHERE l_shipdate >= '1994-01-01'
    AND l_shipdate < '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"""


def load(table, file="{file}", header=True):
    before = ["TRUNCATE " + table, "CHECKPOINT"]
    return (before, "COPY %s FROM '%s' (FORMAT csv%s)" % (table, file, ", HEADER" if header else ""),
            "SELECT fastcsv_copy('%s', '%s', header => %s)" % (table, file, "true" if header else "false"))


def taken_over():
    before, reference, _ = load("plain")
    return before, reference, "%s; %s; %s" % (ON, reference, OFF)


def by_psql():
    copy = "\\copy plain from '{file}' with (format csv, header)"
    return ["TRUNCATE plain", "CHECKPOINT"], ["LOAD 'fastcsv'", OFF, copy], ["LOAD 'fastcsv'", ON, copy]


def scan(query, name="lineitem"):
    return [], query.format("by_file_fdw_" + name), query.format("by_fastcsv_" + name)


def create_as(name):
    before = ["DROP TABLE IF EXISTS made", "CHECKPOINT"]
    query = "CREATE TABLE made AS SELECT * FROM {}"
    return before, query.format("by_file_fdw_" + name), query.format("by_fastcsv_" + name)


# name: what to do before each statement, the reference, the candidate
COMPARISONS = {
    "Q6, file_fdw": scan(Q6),
    "sum(length(l_comment)), file_fdw": scan("SELECT sum(length(l_comment)) FROM {}"),
    "count(*), file_fdw": scan("SELECT count(*) FROM {}"),
    "CREATE TABLE AS SELECT *, file_fdw": create_as("lineitem"),
    "10 rows, file_fdw": scan("SELECT * FROM {}", "ten"),
    "load, COPY": load("plain"),
    "COPY taken over, COPY": taken_over(),
    "\\copy by psql": by_psql(),
    "load unlogged, COPY": load("unlogged"),
    "load with primary key, COPY": load("keyed"),
    "load into 7 partitions, COPY": load("parted"),
    "load of narrow rows, COPY": load("narrow_rows", "{narrow}", header=False),
    "load of 10 rows, COPY": load("narrow_rows", "{ten}", header=False),
}


class Bench:
    def __init__(self, host, port, user):
        self.conn = pq.Conn("host=%s port=%s user=%s dbname=postgres" % (host, port, user))
        self.psql = [os.path.join(host, "bin", "psql"), "-h", host, "-p", port, "-U", user, "-d", "postgres", "-XqAt"]

    def milliseconds(self, before, statement):
        """How long a statement takes; a list of them is run by psql."""
        for s in before:
            self.conn.must(s)
        start = time.perf_counter()
        if isinstance(statement, list):
            subprocess.run(self.psql + [word for s in statement for word in ("-c", s)], check=True)
        else:
            self.conn.must(statement)
        return (time.perf_counter() - start) * 1000


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--host", required=True)
    ap.add_argument("--port", default="5432")
    ap.add_argument("--user", default="postgres")
    ap.add_argument("--file", required=True)
    ap.add_argument("--pairs", type=int, default=5)
    ap.add_argument("--narrow-rows", type=int, default=600000)
    a = ap.parse_args()
    bench = Bench(a.host, a.port, a.user)
    conn = bench.conn
    folder = os.path.dirname(a.file)
    names = {"file": a.file, "columns": COLUMNS, "narrow_columns": NARROW, "narrow_rows": a.narrow_rows,
             "narrow": os.path.join(folder, "narrow.csv"), "ten": os.path.join(folder, "ten.csv")}
    for statement in SETUP:
        conn.must(statement.format(**names))
    for name, columns, file, header in (("lineitem", COLUMNS, a.file, "true"), ("ten", NARROW, names["ten"], "false")):
        for statement in (FOREIGN % {"name": name, "columns": columns, "file": file, "header": header}).split(";"):
            conn.must(statement)

    print("PostgreSQL %s, %.0f MB, %d pairs; times in ms, minimum / median"
          % (conn.must("SHOW server_version")["rows"][0][0], os.path.getsize(a.file) / 1e6, a.pairs))
    print("\n| what, reference | reference | fastcsv | ratio |\n|---|---:|---:|---:|")
    for name, (before, *statements) in COMPARISONS.items():
        reference, candidate = [[part.format(**names) for part in s] if isinstance(s, list) else s.format(**names)
                                for s in statements]
        pairs = [(bench.milliseconds(before, reference), bench.milliseconds(before, candidate))
                 for _ in range(a.pairs + 1)][1:]
        cells = ["%.0f / %.0f" % (min(times), statistics.median(times)) for times in zip(*pairs)]
        print("| %s | %s | %s | %.2f |" % (name, *cells, statistics.median(r / c for r, c in pairs)), flush=True)
    infer = min(bench.milliseconds([], "SELECT count(*) FROM fastcsv_infer('%s')" % a.file) for _ in range(a.pairs + 1))
    print("\nfastcsv_infer: %.0f MB/s" % (os.path.getsize(a.file) / infer / 1000))
    print("\nPeak memory of blocks and threads:")
    for what, statement in (("scan", "SELECT max(l_comment) FROM by_fastcsv_lineitem"), ("load", load("plain")[2])):
        conn.must(statement.format(**names))
        peak = conn.must("SELECT pg_size_pretty(peak_memory) FROM fastcsv_last_run()")["rows"][0][0]
        print("  %s: %s" % (what, peak))


if __name__ == "__main__":
    main()
