//! How fast all field and record boundaries are found, in bytes per second, on one thread, from memory.
//!
//! Two inputs: TPC-H lineitem without quotes (16 short fields a record), and text-heavy records whose long fields are
//! quoted and hold delimiters, doubled quotes and line feeds. On each: our scan at every level of this CPU and the
//! table-driven machine, both writing boundary lists segment by segment as the split will use them, and three peers:
//! `csv-core` (whole records), `csveee` (its SIMD parse, fixed arity, raw bytes) and `memchr` (the special bytes alone,
//! without knowing which are quoted).

use std::fmt::Write;
use std::hint::black_box;

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use csveee::{ParserBackend, ParserBuilder, QuoteHandling, RecordTerminator};
use fastcsv_engine::dialect::{Dialect, LineEnd};
use fastcsv_engine::locate::{Checkpoint, Located, locate};
use fastcsv_engine::scan::{Boundaries, Level, Scanner, State};
use tpchgen::generators::LineItemGenerator;

/// Bytes of each input: more than a core's second-level cache, so that all read from memory or the third.
const INPUT: usize = 16 << 20;

/// Bytes scanned into one boundary list.
const SEGMENT: usize = 1 << 20;

/// TPC-H lineitem as comma-separated values; comments lose their commas, so nothing needs quotes.
fn lineitem() -> Vec<u8> {
    let mut text = String::with_capacity(INPUT + 1024);
    for item in LineItemGenerator::new(1.0, 1, 1).iter() {
        let comment = item.l_comment.replace(',', ";");
        let (key, part, supplier, line) = (item.l_orderkey, item.l_partkey, item.l_suppkey, item.l_linenumber);
        let (quantity, price, discount, tax) = (item.l_quantity, item.l_extendedprice, item.l_discount, item.l_tax);
        let (flag, status, shipped) = (item.l_returnflag, item.l_linestatus, item.l_shipdate);
        let (commit, receipt, how, mode) =
            (item.l_commitdate, item.l_receiptdate, item.l_shipinstruct, item.l_shipmode);
        writeln!(
            text,
            "{key},{part},{supplier},{line},{quantity},{price},{discount},{tax},{flag},{status},{shipped},{commit},\
             {receipt},{how},{mode},{comment}"
        )
        .expect("a string takes all");
        if text.len() >= INPUT {
            break;
        }
    }
    text.into_bytes()
}

/// Records of an id, a quoted title, a quoted body with commas, doubled quotes and line feeds, and a date.
fn articles() -> Vec<u8> {
    let mut text = String::with_capacity(INPUT + 4096);
    let words =
        ["alpha", "of", "the, far", "\"\"quoted\"\"", "line\nfeed", "mountains", "a", "sentence.", "data,", "in"];
    let mut random: u32 = 1;
    let mut next = |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    for id in 0.. {
        if text.len() >= INPUT {
            break;
        }
        write!(text, "{id},\"title {}, part {}\",\"", next(1000), next(9)).expect("a string takes all");
        for _ in 0..20 + next(100) {
            text.push_str(words[next(words.len() as u32) as usize]);
            text.push(' ');
        }
        writeln!(text, "\",2024-{:02}-{:02}", 1 + next(12), 1 + next(28)).expect("a string takes all");
    }
    text.into_bytes()
}

/// Our scan, segment by segment, into one list.
fn boundaries(scanner: &Scanner, input: &[u8], list: &mut Boundaries) {
    let mut state = State::at_record(0);
    for segment in input.chunks(SEGMENT) {
        scanner.scan(&mut state, segment, list);
        black_box((list.ends(), list.records()));
    }
}

fn ours(group: &mut BenchmarkGroup<'_, WallTime>, input: &[u8]) {
    let dialect = Dialect::copy_csv(LineEnd::Lf);
    let mut list = Boundaries::new();
    for level in Level::available() {
        let scanner = Scanner::new(&dialect, level);
        group.bench_function(level.name(), |b| b.iter(|| boundaries(&scanner, input, &mut list)));
    }
    for level in [Level::detect(), Level::from_name("portable").expect("every CPU has it")] {
        let scanner = Scanner::machine(&dialect, level);
        let name = format!("machine-{}", level.name());
        group.bench_function(name, |b| b.iter(|| boundaries(&scanner, input, &mut list)));
    }
    group.bench_function("locate", |b| {
        let beyond = || locate(&mut &input[..], &dialect, Checkpoint::START, u64::MAX, &mut || true);
        b.iter(|| assert_eq!(black_box(beyond()).expect("memory can be read"), Located::Beyond));
    });
}

fn csv_core(group: &mut BenchmarkGroup<'_, WallTime>, input: &[u8]) {
    let mut output = vec![0; 1 << 16];
    let mut ends = [0; 64];
    group.bench_function("csv-core", |b| {
        b.iter(|| {
            let mut reader = csv_core::Reader::new();
            let mut rest = input;
            while !rest.is_empty() {
                let (result, read, ..) = reader.read_record(rest, &mut output, &mut ends);
                rest = &rest[read..];
                black_box((result, &ends));
            }
        });
    });
}

fn csveee<const FIELDS: usize>(group: &mut BenchmarkGroup<'_, WallTime>, input: &[u8]) {
    let mut parser = ParserBuilder::new()
        .bytes()
        .terminator(RecordTerminator::LF)
        .quote_handling(QuoteHandling::Toggle)
        .parser_backend(ParserBackend::Simd)
        .has_headers(false)
        .concurrency(1)
        .build();
    group.bench_function("csveee", |b| {
        b.iter(|| {
            let record = |records: &mut u64, fields: [&mut [u8]; FIELDS]| {
                black_box(&fields);
                *records += 1;
                Ok(())
            };
            let records = parser.parse_slice(input, || 0, record, |counts| counts.iter().sum::<u64>());
            black_box(records.expect("a well-formed input"))
        });
    });
}

fn memchr(group: &mut BenchmarkGroup<'_, WallTime>, input: &[u8]) {
    group.bench_function("memchr3", |b| {
        b.iter(|| memchr::memchr3_iter(b',', b'"', b'\n', input).map(black_box).count());
    });
}

fn all<const FIELDS: usize>(criterion: &mut Criterion, name: &str, input: &[u8]) {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Bytes(input.len() as u64));
    ours(&mut group, input);
    csv_core(&mut group, input);
    csveee::<FIELDS>(&mut group, input);
    memchr(&mut group, input);
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    all::<16>(&mut criterion, "lineitem", &lineitem());
    all::<4>(&mut criterion, "articles", &articles());
    criterion.final_summary();
}
