//! How fast records are surveyed for the types of their columns, on one thread: TPC-H lineitem, in memory.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use fastcsv_engine::convert::Settings;
use fastcsv_engine::dialect::{Dialect, LineEnd};
use fastcsv_engine::infer::Surveyor;
use fastcsv_engine::scan::Level;
use tpchgen::generators::LineItemGenerator;

/// Bytes of input.
const INPUT: usize = 16 << 20;

/// Bytes surveyed at once, as the pipeline does it.
const CHUNK: usize = 128 * 1024;

fn lineitem() -> Vec<u8> {
    let mut text = Vec::with_capacity(INPUT + 1024);
    for item in LineItemGenerator::new(1.0, 1, 1).iter() {
        // The generator's own form ends each field with a bar.
        text.extend_from_slice(item.to_string().trim_end_matches('|').as_bytes());
        text.push(b'\n');
        if text.len() >= INPUT {
            break;
        }
    }
    text
}

fn main() {
    let text = lineitem();
    let dialect = Dialect::builder().delimiter(b"|").line_end(LineEnd::Lf).build().expect("a dialect");
    let settings = Settings { default_words: true, utf8: true, ..Settings::default() };
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("infer");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(20);
    group.bench_function("lineitem", |bencher| {
        bencher.iter(|| {
            let surveyor = Surveyor::new(&dialect, Level::detect(), 16, b"", false, &settings);
            let mut surveyor = surveyor.expect("there is memory");
            let mut rest = &text[..];
            while !rest.is_empty() {
                let chunk = &rest[..CHUNK.min(rest.len())];
                let taken = surveyor.take(chunk, chunk.len(), u64::MAX).expect("there is memory");
                rest = &rest[taken..];
            }
            black_box(surveyor.findings().records)
        });
    });
    group.finish();
    criterion.final_summary();
}
