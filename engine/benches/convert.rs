//! How long a value takes to convert, for each kind: elements a second on one thread, over the values of a column that
//! lie one behind the other as in a file.
//!
//! `lineitem` converts all columns of TPC-H lineitem, record by record, as a load does; its elements are values too.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use fastcsv_engine::convert::{Converter, Datum, Kind, Scratch, Settings};
use tpchgen::generators::LineItemGenerator;

/// Values of a column: enough to be no pattern that a branch predictor learns, few enough for the second-level cache.
const VALUES: usize = 8_192;

/// A column's values, one behind the other.
struct Column {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Column {
    /// `make` gets 64 random bits for each value.
    fn new(make: impl Fn(u64) -> String) -> Column {
        let mut random = 1_u64;
        let mut column = Column { text: Vec::new(), ends: Vec::new() };
        for _ in 0..VALUES {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            column.text.extend(make(random ^ (random >> 31)).as_bytes());
            column.ends.push(column.text.len());
        }
        column
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }
}

/// Lets the optimizer know nothing of a datum.
fn used(datum: Datum<'_>) -> u64 {
    match datum {
        Datum::Word(word) => word,
        Datum::Bytes(bytes) => bytes.len() as u64 + u64::from(bytes.last().copied().unwrap_or(0)),
    }
}

fn settings() -> Settings {
    // Central Europe's changes of the years 1996 to 2095, roughly: one each half-year.
    let changes = (0..200).map(|half| (828_234_000 + half * 15_778_476, 3600 * (1 + (half as i32 + 1) % 2)));
    let zone = std::iter::once((-62_135_596_800, 3600)).chain(changes).collect();
    Settings { utf8: true, default_words: true, zone, ..Settings::default() }
}

fn date(random: u64) -> String {
    format!("{}-{:02}-{:02}", 1992 + random % 7, 1 + random / 7 % 12, 1 + random / 84 % 28)
}

fn time(random: u64) -> String {
    format!("{:02}:{:02}:{:02}", random / 2352 % 24, random / 56_448 % 60, random / 3_386_880 % 60)
}

fn word(random: u64) -> String {
    let words = ["AIR", "TRUCK", "DELIVER IN PERSON", "NONE", "COLLECT COD", "blithely ironic requests. furious"];
    words[random as usize % words.len()].into()
}

/// Each kind with the values it is measured on.
fn columns() -> Vec<(&'static str, Kind, Column)> {
    let money = |random: u64| format!("{}.{:02}", random % 100_000, random / 100_000 % 100);
    let labels = ["blue", "cyan", "green", "red"].map(|label| (label.as_bytes().to_vec(), 1)).to_vec();
    let uuid = |random: u64| {
        let (high, low) = (random.wrapping_mul(0x9e37_79b9_7f4a_7c15), random);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low << 16 >> 16
        )
    };
    let json =
        |random: u64| format!(r#"{{"id": {}, "tags": ["a", "b\n"], "on": true, "at": {}.5e3}}"#, random, random % 100);
    vec![
        ("bool", Kind::Bool, Column::new(|random| if random & 1 == 0 { "t".into() } else { "f".into() })),
        ("int2", Kind::Int2, Column::new(|random| (random % 30_000).to_string())),
        ("int4-short", Kind::Int4, Column::new(|random| (random % 50).to_string())),
        ("int4", Kind::Int4, Column::new(|random| (random % 200_000).to_string())),
        ("int8", Kind::Int8, Column::new(|random| (random % 10_000_000_000).to_string())),
        ("int8-any", Kind::Int8, Column::new(|random| ((random as i64) >> (random % 60)).to_string())),
        ("float4", Kind::Float4, Column::new(|random| format!("{}", (random % 100_000) as f32 / 64.0))),
        ("float8", Kind::Float8, Column::new(|random| format!("{}", (random % 100_000_000) as f64 / 1000.0))),
        ("float8-17", Kind::Float8, Column::new(|random| format!("{:?}", random as f64 / 3e12))),
        ("numeric", Kind::Numeric { limit: None }, Column::new(money)),
        ("numeric(15,2)", Kind::Numeric { limit: Some((15, 2)) }, Column::new(money)),
        (
            "numeric(15,2)-whole",
            Kind::Numeric { limit: Some((15, 2)) },
            Column::new(|random| (random % 50).to_string()),
        ),
        (
            "numeric-30",
            Kind::Numeric { limit: None },
            Column::new(|random| format!("{random:020}.{:010}", random % 10_000_000)),
        ),
        ("text", Kind::Text, Column::new(word)),
        ("varchar(44)", Kind::Varchar { limit: 44 }, Column::new(word)),
        ("char(1)", Kind::Bpchar { limit: Some(1) }, Column::new(|random| ["A", "N", "R"][random as usize % 3].into())),
        ("char(25)", Kind::Bpchar { limit: Some(25) }, Column::new(|random| word(random % 5))),
        ("date", Kind::Date, Column::new(date)),
        (
            "date-slashes",
            Kind::Date,
            Column::new(|random| format!("{:02}/{:02}/{}", 1 + random % 12, 1 + random / 12 % 28, 1992 + random % 7)),
        ),
        ("time", Kind::Time { precision: 6 }, Column::new(time)),
        (
            "timestamp",
            Kind::Timestamp { precision: 6 },
            Column::new(|random| format!("{} {}", date(random), time(random))),
        ),
        (
            "timestamp-micros",
            Kind::Timestamp { precision: 6 },
            Column::new(|random| format!("{} {}.{:06}", date(random), time(random), random % 1_000_000)),
        ),
        (
            "timestamptz-offset",
            Kind::Timestamptz { precision: 6 },
            Column::new(|random| format!("{} {}+02", date(random), time(random))),
        ),
        (
            "timestamptz-Z",
            Kind::Timestamptz { precision: 6 },
            Column::new(|random| format!("{}T{}Z", date(random), time(random))),
        ),
        (
            "timestamptz-zone",
            Kind::Timestamptz { precision: 6 },
            Column::new(|random| format!("2003-01-{:02} {}", 6 + random % 20, time(random))),
        ),
        (
            "timestamptz-zone-any",
            Kind::Timestamptz { precision: 6 },
            Column::new(|random| format!("{}-01-15 {}", 1997 + random % 90, time(random))),
        ),
        ("interval", Kind::Interval, Column::new(|random| format!("{} days {}", random % 1000, time(random)))),
        ("uuid", Kind::Uuid, Column::new(uuid)),
        ("bytea", Kind::Bytea, Column::new(|random| format!("\\x{random:016x}{random:016x}"))),
        ("json", Kind::Json, Column::new(json)),
        (
            "enum",
            Kind::Enum { labels },
            Column::new(|random| ["red", "blue", "green", "cyan"][random as usize % 4].into()),
        ),
    ]
}

fn kinds(criterion: &mut Criterion) {
    let (settings, mut scratch) = (settings(), Scratch::default());
    let mut group = criterion.benchmark_group("convert");
    group.throughput(Throughput::Elements(VALUES as u64));
    for (name, kind, column) in columns() {
        let converter = Converter::new(kind);
        let accepts =
            column.fields().filter(|field| converter.convert(field, &settings, &mut scratch).is_some()).count();
        assert!(accepts * 100 > VALUES * 95, "{name} accepts {accepts} of {VALUES}");
        group.bench_function(name, |b| {
            b.iter(|| {
                let all =
                    column.fields().filter_map(|field| converter.convert(field, &settings, &mut scratch).map(used));
                black_box(all.fold(0, u64::wrapping_add))
            });
        });
    }
    group.finish();
}

/// The kinds of lineitem's columns as TPC-H declares them.
fn lineitem_kinds() -> [Kind; 16] {
    let money = || Kind::Numeric { limit: Some((15, 2)) };
    let char = |limit| Kind::Bpchar { limit: Some(limit) };
    [
        Kind::Int8,
        Kind::Int4,
        Kind::Int4,
        Kind::Int4,
        money(),
        money(),
        money(),
        money(),
        char(1),
        char(1),
        Kind::Date,
        Kind::Date,
        Kind::Date,
        char(25),
        char(10),
        Kind::Varchar { limit: 44 },
    ]
}

fn lineitem(criterion: &mut Criterion) {
    let mut text = String::new();
    for item in LineItemGenerator::new(1.0, 1, 1).iter().take(4096) {
        writeln!(text, "{item}").expect("a string takes all");
    }
    let records: Vec<Vec<&[u8]>> =
        text.lines().map(|line| line.trim_end_matches('|').split('|').map(str::as_bytes).collect()).collect();
    let converters = lineitem_kinds().map(Converter::new);
    let (settings, mut scratch) = (settings(), Scratch::default());
    let mut group = criterion.benchmark_group("convert");
    group.throughput(Throughput::Elements(16 * records.len() as u64));
    group.bench_function("lineitem", |b| {
        b.iter(|| {
            let mut sum = 0_u64;
            for record in &records {
                for (converter, field) in converters.iter().zip(record) {
                    let datum = converter.convert(field, &settings, &mut scratch).expect("lineitem is plain");
                    sum = sum.wrapping_add(used(datum));
                }
            }
            black_box(sum)
        });
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    kinds(&mut criterion);
    lineitem(&mut criterion);
    criterion.final_summary();
}
