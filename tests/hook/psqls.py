r"""psql as people use it: \copy from files, programs and its own input, and data that stands in a script.

The server's commands come from a script, from arguments and from a pipe; what psql prints is the same with acceleration
and without.
"""

import os
import subprocess

from common import SCHEMA, csv

LOOK = "SELECT count(*), sum(id), max(name) FROM t;\n"
LAST_RUN = "SELECT operation, path, rows, coalesce(reason, '-') FROM public.fastcsv_last_run()"


class Psql:
    def __init__(self, place, on, size="0"):
        self.place = place
        settings = ["LOAD 'fastcsv'"] if place.load else []
        settings += [
            "SET " + setting
            for setting in (
                "search_path = hooked, public",
                "fastcsv.accelerate_copy = %s" % ("on" if on else "off"),
                "fastcsv.min_parallel_size = '%s'" % size,
                "fastcsv.range_size = 65536",
            )
        ]
        self.settings = "\\set QUIET on\n" + ";\n".join(settings) + ";\n\\set QUIET off\n"

    def run(self, *arguments, script=None, stdin="", commands=()):
        """What psql prints, without the lines that fastcsv adds to errors, and its exit status."""
        path = None
        if script is not None:
            path = self.place.file("script.sql", self.settings + script)
        prepared = self.place.file("settings.sql", self.settings)
        program = [
            "psql",
            "-XAt",
            "-h",
            self.place.host,
            "-p",
            self.place.port,
            "-U",
            self.place.user,
            "-d",
            "postgres",
            *arguments,
        ]
        program += ["-f", path] if path else ["-f", prepared] if commands else []
        for command in commands:
            program += ["-c", command]
        if not path and not commands:
            stdin = self.settings + stdin
        found = subprocess.run(program, input=stdin, capture_output=True, text=True, timeout=60, check=False)
        lines = [
            line for line in (found.stdout + "--\n" + found.stderr).split("\n") if not line.startswith("fastcsv: ")
        ]
        return [found.returncode] + lines


def cases(f):
    """A name, psql's arguments, and lines that its output must have."""

    def of_script(*lines, **more):
        return {"script": "\n".join(lines) + "\n" + LOOK + LAST_RUN + ";\n", **more}

    yield "a file with a header", of_script(r"\copy t from '%s' csv header" % f["header"]), ["COPY 3000"]
    yield "ways to say it", of_script(
        r"\copy t (id, name) from '%s' with (format csv, header true, delimiter ',')" % f["header"],
        r"\copy hooked.t from %s csv" % f["good"],
        r"\COPY t FROM '%s' CSV WHERE id < 10" % f["good"],
        r"\copy t from '%s' delimiter ';' csv" % f["semicolon"],
    ), ["COPY 3000", "COPY 10"]
    yield "a program", of_script(r"\copy t from program 'cat %s | head -n 2000' csv" % f["good"]), ["COPY 2000"]
    yield "a program that fails", of_script(r"\copy t from program 'cat %s; exit 3' csv" % f["good"]), []
    yield "data in the script", of_script(
        "COPY t FROM STDIN CSV;",
        csv(2000) + "\\.",
        "SELECT 1;",
        r"\copy t from stdin csv",
        csv(100) + "\\.",
        "SELECT 2;",
        "copy t from stdin (format csv, header);",
        "id,name",
        "\\.",
    ), ["COPY 2000", "COPY 100", "COPY 0"]
    yield "bad data in the script", of_script(
        "COPY t FROM STDIN CSV;",
        csv(2000, {1000: "x,y"}) + "\\.",
        "SELECT 1;",
        r"\copy t from stdin csv",
        csv(100, {99: "7"}) + "\\.",
        "SELECT 2;",
        "COPY nothing FROM STDIN CSV;",
        "1,a",
        "\\.",
    ), ["1", "2"]
    yield "a script that stops at an error", of_script(
        "SELECT 1;", "COPY t FROM STDIN CSV;", csv(2000, {1000: "x,y"}) + "\\.", "SELECT 2;"
    ), []
    yield "one transaction", of_script(
        "COPY t FROM STDIN CSV;", csv(2000) + "\\.", r"\copy t from '%s' csv" % f["bad"], "SELECT 1;"
    ), []
    yield "a bad file", of_script(r"\copy t from '%s' csv" % f["bad"], "SELECT 1;"), ["1"]
    yield "no file", of_script(
        r"\copy t from '%s.nothing' csv" % f["good"],
        r"\copy t from '/' csv",
        r"\copy t from /dev/null csv",
        "SELECT 1;",
    ), ["COPY 0", "1"]
    yield "several statements at once", of_script(
        "SELECT 1\\; COPY t FROM STDIN CSV\\; SELECT 2;", csv(2000) + "\\.", "SELECT 3;"
    ), ["3"]
    yield "in a transaction", of_script(
        "BEGIN;",
        r"\copy t from '%s' csv" % f["good"],
        "SAVEPOINT a;",
        r"\copy t from '%s' csv" % f["bad"],
        "ROLLBACK TO a;",
        r"\copy t from '%s' csv" % f["few"],
        "COMMIT;",
    ), ["COPY 3000", "COPY 10", "COMMIT"]
    yield "psql's own input", {"commands": [r"\copy t from pstdin csv", LOOK, LAST_RUN], "stdin": csv(2000)}, [
        "COPY 2000"
    ]
    yield "psql's own input, with what is no data", {
        "commands": [r"\copy t from pstdin csv", LOOK],
        "stdin": csv(2000) + "\\.\nx,y\n",
    }, ["COPY 2000"]
    yield "commands and data through a pipe", {"stdin": "COPY t FROM STDIN CSV;\n" + csv(2000) + "\\.\n" + LOOK}, [
        "COPY 2000"
    ]
    yield "data through a pipe that ends too early", {"stdin": LOOK + "COPY t FROM STDIN CSV;\n" + csv(2000)}, [
        "COPY 2000"
    ]
    yield "arguments", {
        "commands": ["COPY t FROM '%s' CSV" % f["good"], LOOK, "COPY t FROM '%s' CSV; SELECT 1" % f["few"], LAST_RUN]
    }, ["COPY 3000"]


def run(checks, place):
    files = place.usual_files()
    control = place.control()
    control.must("SET client_min_messages = warning")

    def both(name, size="0", arguments=(), **case):
        found = []
        for on in (False, True):
            for statement in SCHEMA:
                control.must(statement)
            found.append(Psql(place, on, size).run(*arguments, **case))
        return found

    for name, case, wanted in cases(files):
        if not checks.wants(name):
            continue
        arguments = {"a script that stops at an error": ["-v", "ON_ERROR_STOP=1"], "one transaction": ["-1"]}.get(
            name, []
        )
        off, on = both(name, arguments=arguments, **case)
        is_run = lambda line: isinstance(line, str) and line.startswith(("load|", "|||-"))
        checks.same(name, [line for line in off if not is_run(line)], [line for line in on if not is_run(line)])
        # From 18 on the server takes "\\." in CSV for data; an older psql sends it.
        if not (control.version >= 180000 and "\\.\n" in str(case.get("script", "")) + case.get("stdin", "")):
            checks.equal(name + ": output", [line for line in wanted if line not in on], [])
        runs = [line for line in on if is_run(line)]
        if runs and wanted[-1:] not in ([], ["COPY 0"]) and wanted[-1].startswith("CO"):
            checks.equal(name + ": taken over", [run.split("|")[1] for run in runs], ["parallel"])
    large(checks, place, both)


def large(checks, place, both):
    """Some megabytes, at the sizes that people have; and a file that is too small for the threads."""
    megabytes = 200 if os.environ.get("FULL") else 8
    path = place.file("large.csv", "id,name\n" + "".join("%d,%s\n" % (n, "x" * 90) for n in range(megabytes * 10000)))
    for name, size, source, expected in (
        ("large", "1MB", path, "load|parallel|%d|-" % (megabytes * 10000)),
        (
            "small",
            "1MB",
            place.file("small.csv", "id,name\n1,a\n"),
            "load|serial|1|the input is smaller than fastcsv.min_parallel_size",
        ),
    ):
        if checks.wants(name):
            off, on = both(name, size, script="\\copy t from '%s' csv header\n%s%s;\n" % (source, LOOK, LAST_RUN))
            checks.equal(
                name,
                [line for line in off if "|" not in str(line)] + [line for line in off if str(line).startswith("load")],
                [line for line in on if "|" not in str(line)],
            )
            checks.check(name + ": " + expected, None if expected in on else repr(on))
