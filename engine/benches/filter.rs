//! How long a filter takes to decide: rows a second on one thread, over the converted rows of TPC-H lineitem.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use fastcsv_engine::convert::{Converter, Datum, Kind, Scratch, Settings};
use fastcsv_engine::filter::{Characters, Class, Comparison, Condition, Filter, Pattern};
use tpchgen::generators::LineItemGenerator;

/// Rows to decide on: no pattern that a branch predictor learns, but few enough for the second-level cache.
const ROWS: usize = 8_192;

// The columns that are looked at, by their place in a row.
const ORDER_KEY: u32 = 0;
const QUANTITY: u32 = 1;
const DISCOUNT: u32 = 2;
const SHIP_DATE: u32 = 3;
const COMMIT_DATE: u32 = 4;
const SHIP_MODE: u32 = 5;
const COMMENT: u32 = 6;
const COLUMNS: usize = 7;

/// A value that owns its bytes.
enum Stored {
    Word(u64),
    Bytes(Vec<u8>),
}

fn convert(kind: Kind, text: &str) -> Stored {
    let mut scratch = Scratch::default();
    match Converter::new(kind).convert(text.as_bytes(), &Settings::default(), &mut scratch) {
        Some(Datum::Word(word)) => Stored::Word(word),
        Some(Datum::Bytes(bytes)) => Stored::Bytes(bytes.to_vec()),
        None => panic!("{text} is a plain value"),
    }
}

fn rows() -> Vec<[Stored; COLUMNS]> {
    let numeric = || Kind::Numeric { limit: None };
    let items = LineItemGenerator::new(0.01, 1, 1);
    let row = |item: tpchgen::generators::LineItem| {
        [
            convert(Kind::Int8, &item.l_orderkey.to_string()),
            convert(numeric(), &item.l_quantity.to_string()),
            convert(numeric(), &item.l_discount.to_string()),
            convert(Kind::Date, &item.l_shipdate.to_string()),
            convert(Kind::Date, &item.l_commitdate.to_string()),
            convert(Kind::Text, item.l_shipmode),
            convert(Kind::Text, item.l_comment),
        ]
    };
    items.iter().take(ROWS).map(row).collect()
}

fn text(column: u32, comparison: Comparison, constant: &str) -> Condition {
    let constant = Class::Bytes.constant(Datum::Bytes(constant.as_bytes()));
    Condition::compare(column, Class::Bytes, comparison, constant).expect("both are texts")
}

fn compare(column: u32, class: Class, comparison: Comparison, kind: Kind, constant: &str) -> Condition {
    let constant = match convert(kind, constant) {
        Stored::Word(word) => class.constant(Datum::Word(word)),
        Stored::Bytes(bytes) => class.constant(Datum::Bytes(&bytes)),
    };
    Condition::compare(column, class, comparison, constant).expect("the constant is of the column's class")
}

fn date(column: u32, comparison: Comparison, constant: &str) -> Condition {
    compare(column, Class::Int4, comparison, Kind::Date, constant)
}

fn numeric(column: u32, comparison: Comparison, constant: &str) -> Condition {
    compare(column, Class::Numeric, comparison, Kind::Numeric { limit: None }, constant)
}

fn like(pattern: &str) -> Condition {
    let pattern = Pattern::new(pattern.as_bytes(), Characters::Utf8).expect("the pattern is valid");
    Condition::like(COMMENT, Class::Bytes, pattern).expect("a comment is a text")
}

/// One of `count` order keys, every other of which is there.
fn keys(count: u64) -> Condition {
    let constants = (0..count).map(|key| Class::Int8.constant(Datum::Word(key * 7))).collect();
    Condition::one_of(ORDER_KEY, Class::Int8, constants).expect("keys are integers")
}

fn modes(modes: &[&str]) -> Condition {
    let constants = modes.iter().map(|mode| Class::Bytes.constant(Datum::Bytes(mode.as_bytes()))).collect();
    Condition::one_of(SHIP_MODE, Class::Bytes, constants).expect("modes are texts")
}

fn filters() -> Vec<(&'static str, Condition)> {
    use Comparison::{Equal, GreaterEqual, Less, LessEqual};
    let year = || [date(SHIP_DATE, GreaterEqual, "1994-01-01"), date(SHIP_DATE, Less, "1995-01-01")];
    let discount = [numeric(DISCOUNT, GreaterEqual, "0.05"), numeric(DISCOUNT, LessEqual, "0.07")];
    let query_6 = year().into_iter().chain(discount).chain([numeric(QUANTITY, Less, "24")]);
    let dates = Condition::compare_columns((SHIP_DATE, Class::Int4), Less, (COMMIT_DATE, Class::Int4));
    vec![
        ("date range", Condition::all(year().to_vec())),
        ("numeric", numeric(QUANTITY, Less, "24")),
        ("TPC-H 6", Condition::all(query_6.collect())),
        ("two columns", dates.expect("both are dates")),
        ("text equal", text(SHIP_MODE, Equal, "TRUCK")),
        ("text in 2", modes(&["MAIL", "SHIP"])),
        ("text or", Condition::any(vec![text(SHIP_MODE, Equal, "MAIL"), text(SHIP_MODE, Equal, "SHIP")])),
        ("integer in 4", keys(4)),
        ("integer in 1000", keys(1000)),
        ("like prefix", like("fur%")),
        ("like inside", like("%special%requests%")),
        ("like one", like("%s_ecial%")),
    ]
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let rows = rows();
    let datum = |stored: &'static Stored| match stored {
        Stored::Word(word) => Some(Datum::Word(*word)),
        Stored::Bytes(bytes) => Some(Datum::Bytes(bytes)),
    };
    let rows: &'static [[Stored; COLUMNS]] = rows.leak();
    let rows: Vec<[Option<Datum>; COLUMNS]> = rows.iter().map(|row| row.each_ref().map(datum)).collect();
    let mut group = criterion.benchmark_group("filter");
    group.throughput(Throughput::Elements(ROWS as u64));
    for (name, condition) in filters() {
        let filter = Filter::new(condition);
        group.bench_function(name, |bencher| {
            bencher.iter(|| rows.iter().filter(|row| black_box(&filter).passes(&row[..])).count());
        });
    }
    group.finish();
    criterion.final_summary();
}
