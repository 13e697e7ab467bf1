#!/usr/bin/env python3
"""Hold fastcsv against PostgreSQL itself: every case runs twice on the same live server, once through the
reference (core COPY, or file_fdw) and once through fastcsv, and the two outcomes must be the same.

  run.py --host SOCKETDIR --port N --mode fdw|copy|hook|stdin [--user U] [--cases cases.jsonl] [--dir DIR]
         [--program] [--fifo PATH] [--message BYTES] [--option NAME=VALUE]... [--set NAME=VALUE]... [--parallel] [--only SUBSTRING]
         [--known known.json] [--context ignore] [-v]

modes
  fdw    reference: file_fdw foreign table        candidate: foreign table on SERVER fastcsv
  copy   reference: COPY t FROM 'file'            candidate: SELECT fastcsv_copy('t', 'file', ...)
  hook   reference: COPY, acceleration off        candidate: the same COPY, fastcsv.accelerate_copy = on
  stdin  as hook, but the client sends the file; the candidate's in messages of so many bytes

Compared: rows in order and their count, or SQLSTATE, message, detail, hint, the schema/table/column/datatype/
constraint fields, and CONTEXT. The candidate may add context lines of its own AFTER the reference's lines.
--set applies to the candidate's session only: use it to force tiny ranges and the parallel path, for example
  --set fastcsv.range_size=16 --set fastcsv.min_parallel_size=0
--parallel holds each candidate without an error to the parallel path: a case that ran serially for a reason that is not in
order (tests/lib/paths.py) differs.
--option adds an option to the candidate's foreign table.
--known names cases that differ by design ({name: reason}); a known case that stops differing is reported too.
Exit status: 0 when nothing differs but what is known, 1 otherwise. Needs python3 and libpq only.
"""
import argparse, base64, json, os, shlex, sys
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import fifos
import pq
from paths import Paths, last_run
from statements import copy_sql, function_sql, ident, lit

SESSION = ["SET client_min_messages = notice", "SET timezone = 'UTC'", "SET datestyle = 'ISO, MDY'",
           "SET intervalstyle = 'postgres'", "SET extra_float_digits = 1", "SET bytea_output = 'hex'",
           "SET lc_messages = 'C'", "SET lc_monetary = 'C'"]
DATABASES = {"utf8": "ENCODING 'UTF8'", "latin1": "ENCODING 'LATIN1'", "sqlascii": "ENCODING 'SQL_ASCII'"}
ERROR_FIELDS = ["sqlstate", "message", "detail", "hint", "schema", "table", "column", "datatype", "constraint"]


def coldefs(case, foreign):
    percol = {}
    if foreign:
        for k, v in case["options"]:
            if isinstance(v, list):
                for c in v:
                    percol.setdefault(c, []).append("%s 'true'" % k)
    out = []
    for col in case["cols"]:
        name, typ, extra = col[0], col[1], col[2] if len(col) > 2 else ""
        o = " OPTIONS (%s)" % ", ".join(percol[name]) if name in percol else ""
        out.append("%s %s%s %s" % (ident(name), typ, o, extra))
    return ", ".join(out + case.get("tcons", []))


def foreign_table_sql(case, path, server, program, more):
    opts = ["program " + lit("cat " + shlex.quote(path)) if program else "filename " + lit(path)]
    for k, v in case["options"]:
        if not isinstance(v, list):
            opts.append("%s %s" % (k, lit("true" if v is None else v)))
    opts += ["%s %s" % (k, lit(v)) for k, v in more]
    return "CREATE FOREIGN TABLE t (%s) SERVER %s OPTIONS (%s)" % (coldefs(case, True), server, ", ".join(opts))


def rows(conn, sql, case):
    if case.get("db") != "sqlascii":
        conn.must("SET client_encoding = 'UTF8'")
    r = conn.exec("COPY (%s) TO STDOUT WITH (FORMAT csv)" % sql)
    if r["kind"] == "error":
        return r
    try:
        return {"kind": "rows", "csv": r["data"].decode("utf-8")}
    except UnicodeDecodeError:
        return {"kind": "rows", "csv_b64": base64.b64encode(r["data"]).decode()}


def prepare(conn):
    conn.exec("ROLLBACK")
    conn.must("DISCARD ALL")
    conn.must("SET client_min_messages = error")
    conn.must("DROP SCHEMA IF EXISTS conformance CASCADE")
    conn.must("CREATE SCHEMA conformance")
    conn.must("SET search_path = conformance, public")
    for s in SESSION:
        conn.must(s)


def watched(conn, statement, paths, messages=None):
    """Runs a statement, for which the client may have data; its result says how it ran if that is not in order."""
    before = last_run(conn) if paths else None
    r = conn.exec(statement) if messages is None else conn.copy_in(statement, messages)
    if paths and r["kind"] != "error":
        wrong = paths.note(before, last_run(conn))
        if wrong:
            return dict(r, path=wrong)
    return r


def run_load(conn, case, statement, settings, paths=None, messages=None):
    prepare(conn)
    for s in case.get("pre", []):
        conn.must(s)
    if not case.get("no_table"):
        conn.must("CREATE TABLE t (%s)" % coldefs(case, False))
    for s in case.get("post", []):
        conn.must(s)
    for s in settings + case.get("session", []):
        conn.must(s)
    r = watched(conn, statement, paths, messages)
    if r["kind"] == "error":
        conn.exec("ROLLBACK")
        res = dict(r)
    else:
        conn.exec("COMMIT")
        conn.exec("RESET ROLE")
        res = rows(conn, case.get("result_sql", "SELECT * FROM t"), case)
        if res["kind"] == "rows":
            res["loaded"] = r["tag"].split()[-1] if "tag" in r else r["rows"][0][0]
            res["path"] = r.get("path")
    conn.must("RESET ALL")
    conn.exec("RESET ROLE")
    conn.exec("DROP SCHEMA conformance CASCADE")
    return res


def run_scan(conn, case, path, server, settings, program, more=(), paths=None):
    prepare(conn)
    for s in case.get("fdw_pre", case.get("pre", [])):
        conn.must(s)
    r = conn.exec(foreign_table_sql(case, path, server, program, more))
    if r["kind"] != "error":
        for s in settings + case.get("session", []):
            conn.must(s)
        r = watched(conn, "CREATE TEMP TABLE scan_result AS " + case.get("fdw_sql", "SELECT * FROM t"), paths)
    res = dict(r) if r["kind"] == "error" else dict(rows(conn, "SELECT * FROM scan_result", case), path=r.get("path"))
    conn.exec("ROLLBACK")
    conn.must("RESET ALL")
    conn.exec("DROP SCHEMA conformance CASCADE")
    return res


def cut(data, size):
    """The messages in which a client sends the data."""
    return None if data is None else [data[at:at + size] for at in range(0, len(data), size)]


def differences(ref, got, context):
    if ref["kind"] != got["kind"]:
        return ["kind: expected %s, got %s" % (brief(ref), brief(got))]
    if ref["kind"] == "rows":
        return ["%s: expected %r, got %r" % (k, ref.get(k), got.get(k))
                for k in ("csv", "csv_b64", "loaded", "path") if str(ref.get(k)) != str(got.get(k))]
    out = ["%s: expected %r, got %r" % (k, ref.get(k), got.get(k)) for k in ERROR_FIELDS if ref.get(k) != got.get(k)]
    want, have = ref.get("context") or "", got.get("context") or ""
    if context and not (have == want or have.startswith(want + "\n") or want == ""):
        out.append("context: expected %r, got %r" % (want, have))
    return out


def brief(r):
    return r.get("sqlstate", "") + " " + r["message"] if r["kind"] == "error" else "rows"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--host", required=True)
    ap.add_argument("--port", default="5432")
    ap.add_argument("--user", default="postgres")
    ap.add_argument("--mode", choices=["fdw", "copy", "hook", "stdin"], required=True)
    ap.add_argument("--cases", default=os.path.join(HERE, "cases.jsonl"))
    ap.add_argument("--dir", help="folder the case files lie in, as the server sees it (default: beside the cases)")
    ap.add_argument("--program", action="store_true", help="scans read the output of a program that prints the file")
    ap.add_argument("--fifo", metavar="PATH", help="loads of the candidate read a FIFO, made there for each")
    ap.add_argument("--message", type=int, default=8192, help="bytes of a message of the candidate's client")
    ap.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    ap.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    ap.add_argument("--parallel", action="store_true")
    ap.add_argument("--only", default="")
    ap.add_argument("--known")
    ap.add_argument("--context", choices=["compare", "ignore"], default="compare")
    ap.add_argument("-v", "--verbose", action="store_true")
    a = ap.parse_args()
    folder = a.dir or os.path.dirname(os.path.abspath(a.cases))
    known = json.load(open(a.known)) if a.known else {}
    more = [o.split("=", 1) for o in a.option]
    settings = ["SET %s = %s" % (n, lit(v)) for n, v in (s.split("=", 1) for s in a.set)]
    admin = pq.Conn("host=%s port=%s user=%s dbname=postgres" % (a.host, a.port, a.user))
    conns = {}
    for name, enc in DATABASES.items():
        db = "cases_" + name
        if not admin.must("SELECT 1 FROM pg_database WHERE datname='%s'" % db)["rows"]:
            admin.must("CREATE DATABASE %s TEMPLATE template0 %s LC_COLLATE 'C' LC_CTYPE 'C'" % (db, enc))
        c = conns[name] = pq.Conn("host=%s port=%s user=%s dbname=%s" % (a.host, a.port, a.user, db))
        c.must("SET client_min_messages = error")
        c.must("CREATE EXTENSION IF NOT EXISTS file_fdw")
        c.exec("CREATE SERVER cases_file FOREIGN DATA WRAPPER file_fdw")
        c.must("CREATE EXTENSION IF NOT EXISTS fastcsv")
        c.must("LOAD 'fastcsv'")
    paths = Paths() if a.parallel else None
    same = skipped = 0
    failed, healed = [], []
    for line in open(a.cases):
        case = json.loads(line)
        if a.only not in case["name"] or (a.mode == "fdw" and case.get("fdw", True) is False):
            continue
        conn, path = conns[case.get("db", "utf8")], os.path.join(folder, case["file"])
        fifo = None
        if (a.fifo or a.mode == "stdin") and not os.path.isfile(path):
            continue
        if a.mode == "copy":
            candidate = function_sql(case, a.fifo or path)
            if candidate is None:
                skipped += 1
                continue
        try:
            if a.mode == "fdw":
                ref = run_scan(conn, case, path, "cases_file", [], a.program)
                got = run_scan(conn, case, path, "fastcsv", settings, a.program, more, paths)
            elif a.mode == "copy":
                ref = run_load(conn, case, copy_sql(case, path), [])
                fifo = fifos.Fifo(a.fifo, open(path, "rb").read()) if a.fifo else None
                got = run_load(conn, case, candidate, settings, paths)
            else:
                statement = copy_sql(case, path if a.mode == "hook" else None)
                data = open(path, "rb").read() if a.mode == "stdin" else None
                ref = run_load(conn, case, statement, ["SET fastcsv.accelerate_copy = off"], None, cut(data, 65536))
                on = settings + ["SET fastcsv.accelerate_copy = on"]
                got = run_load(conn, case, statement, on, paths, cut(data, a.message))
            why = differences(ref, got, a.context == "compare")
        except RuntimeError as e:
            why = ["could not run: %s" % e]
        if fifo:
            fifo.end()
        if why and case["name"] not in known:
            failed.append(case["name"])
            print("DIFFERS %s (%s)" % (case["name"], case["group"]))
            for w in why if a.verbose else why[:2]:
                print("    " + (w if a.verbose else w[:400]))
        elif not why:
            same += 1
            if case["name"] in known:
                healed.append(case["name"])
    for n in healed:
        print("KNOWN TO DIFFER, BUT SAME: %s" % n)
    if paths:
        print(paths.summary())
    print("%s: %d same, %d differ, %d known to differ, %d not sayable in this mode"
          % (a.mode, same, len(failed), len(known) - len(healed), skipped))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
