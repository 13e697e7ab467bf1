#!/usr/bin/env python3
"""fastcsv beside COPY and file_fdw on one server, in one run.

  compare.py --host SOCKETDIR --file LINEITEM.csv [--port N] [--user U] [--pairs N]

Each row of the table is one pair of statements that do the same on the same file, run in turns (A B A B ...) so that
whatever else the machine does touches both alike. The first pair warms the caches and is not counted. Times depend on
the machine; the ratio, the median over the pairs of reference time / fastcsv time, is what to compare: above 1 means
that fastcsv is faster. The file is a TPC-H lineitem file with a header.
"""
import argparse
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
import pq

COLUMNS = """l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity numeric,
    l_extendedprice numeric, l_discount numeric, l_tax numeric, l_returnflag text, l_linestatus text, l_shipdate date,
    l_commitdate date, l_receiptdate date, l_shipinstruct text, l_shipmode text, l_comment text"""

SETUP = [
    "CREATE EXTENSION IF NOT EXISTS file_fdw",
    "CREATE EXTENSION IF NOT EXISTS fastcsv",
    "CREATE SERVER file_server FOREIGN DATA WRAPPER file_fdw",
    "CREATE FOREIGN TABLE by_file_fdw ({columns}) SERVER file_server OPTIONS (filename '{file}', format 'csv', header 'true')",
    "CREATE FOREIGN TABLE by_fastcsv ({columns}) SERVER fastcsv OPTIONS (filename '{file}', header 'true')",
    "CREATE TABLE target ({columns})",
    "CREATE UNLOGGED TABLE unlogged_target ({columns})",
]

Q6 = """SELECT sum(l_extendedprice * l_discount) FROM {} WHERE l_shipdate >= '1994-01-01'
    AND l_shipdate < '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"""


def load(table):
    before = ["TRUNCATE " + table, "CHECKPOINT"]
    return (before, "COPY %s FROM '{file}' (FORMAT csv, HEADER)" % table,
            "SELECT fastcsv_copy('%s', '{file}')" % table)


def scan(query):
    return [], query.format("by_file_fdw"), query.format("by_fastcsv")


# name: what to do before each statement, the reference, the candidate
COMPARISONS = {
    "load, COPY": load("target"),
    "load unlogged, COPY": load("unlogged_target"),
    "scan all columns, file_fdw": scan("SELECT max(t::text) FROM {} t"),
    "scan Q6, file_fdw": scan(Q6),
    "scan count(*), file_fdw": scan("SELECT count(*) FROM {}"),
}


def milliseconds(conn, before, statement):
    for s in before:
        conn.must(s)
    start = time.perf_counter()
    conn.must(statement)
    return (time.perf_counter() - start) * 1000


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--host", required=True)
    ap.add_argument("--port", default="5432")
    ap.add_argument("--user", default="postgres")
    ap.add_argument("--file", required=True)
    ap.add_argument("--pairs", type=int, default=5)
    a = ap.parse_args()
    conn = pq.Conn("host=%s port=%s user=%s dbname=postgres" % (a.host, a.port, a.user))
    names = {"file": a.file, "columns": COLUMNS}
    for statement in SETUP:
        conn.must(statement.format(**names))

    print("PostgreSQL %s, %.0f MB, %d pairs; times in ms, minimum / median"
          % (conn.must("SHOW server_version")["rows"][0][0], os.path.getsize(a.file) / 1e6, a.pairs))
    print("\n| what, reference | reference | fastcsv | ratio |\n|---|---:|---:|---:|")
    for name, (before, *statements) in COMPARISONS.items():
        reference, candidate = [s.format(**names) for s in statements]
        pairs = [(milliseconds(conn, before, reference), milliseconds(conn, before, candidate))
                 for _ in range(a.pairs + 1)][1:]
        cells = ["%.0f / %.0f" % (min(times), statistics.median(times)) for times in zip(*pairs)]
        print("| %s | %s | %s | %.2f |" % (name, *cells, statistics.median(r / c for r, c in pairs)), flush=True)


if __name__ == "__main__":
    main()
