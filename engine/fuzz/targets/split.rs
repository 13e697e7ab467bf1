//! A file cut into ranges of any size gives the plain reader's rows, in order, whatever its bytes.
//!
//! The first bytes of an input choose the size of ranges, the line end, the dialect and the number of columns.
#![no_main]

#[path = "../../tests/pipeline/expected.rs"]
mod expected;
#[path = "../../tests/pipeline/harness.rs"]
mod harness;
#[path = "../../tests/common/image.rs"]
mod image;
#[path = "../../tests/common/memory.rs"]
mod memory;
#[path = "../../tests/common/reference.rs"]
mod reference;

use fastcsv_engine::convert::{Kind, Settings};
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::job::{Attribute, Encoding, Field, Input, Io, Job, Layout, Output, Syntax, Target};
use fastcsv_engine::pipeline::ReadAt;
use fastcsv_engine::ring::Geometry;
use harness::Pace;
use libfuzzer_sys::fuzz_target;

const GEOMETRY: Geometry = Geometry { tickets: 8, blocks: 8, kept: 1, block_size: 256 };

struct Bytes(Vec<u8>);

impl ReadAt for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

fn job(size: u64, range_size: u64, line_end: LineEnd, escape: u8, columns: usize) -> Job {
    let text = Attribute { length: None, align: 4, packable: true };
    let target = |attribute| Target { attribute, kind: Some(Kind::Text), force_not_null: false, force_null: false };
    Job {
        syntax: Syntax {
            delimiter: b',',
            quote: b'"',
            escape,
            line_end,
            null: vec![],
            default: None,
            has_end_marker: escape == b'"',
        },
        input: Input::File { start: 0, size, range_size, io: Io::Pread },
        encoding: Encoding::Utf8,
        fields: (0..columns).map(|column| Field { target: Some(target(column)) }).collect(),
        layout: Layout { attributes: vec![text; columns], type_id: 2249, type_modifier: -1, constants: vec![] },
        filter: None,
        output: Output::Rows,
        settings: Settings::default(),
        text: 0,
        threads: 2,
        longest_record: 1 << 20,
        level: None,
    }
}

fuzz_target!(|input: &[u8]| {
    let [range_size, shape, text @ ..] = input else { return };
    if text.is_empty() {
        return; // an empty file is no job
    }
    let line_end = LineEnd::ALL[usize::from(shape & 3) % LineEnd::ALL.len()];
    let escape = if shape & 4 == 0 { b'"' } else { b'\\' };
    let columns = usize::from(shape >> 3 & 3) + 1;
    let size = text.len() as u64;
    // At most some hundred ranges, each of which costs the look-ahead behind it.
    let range_size = (u64::from(*range_size) + 1).max(size / 400);
    let job = job(size, range_size, line_end, escape, columns);
    let pace = if shape & 0x80 == 0 { Pace::Prompt } else { Pace::StopsAfter(columns) };
    let delivered = harness::run(job.clone(), Box::new(Bytes(text.to_vec())), GEOMETRY, pace);
    expected::check(&job, text, &delivered, pace == Pace::Prompt);
});
