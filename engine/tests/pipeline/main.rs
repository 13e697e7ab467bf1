//! The pipeline against a plain reader: the same rows, marks and counts, in the same order, whatever the dialect, the
//! size of ranges and blocks, the number of threads, the instruction set and the consumer's pace.

#[path = "../common/image.rs"]
mod image;
#[path = "../common/memory.rs"]
mod memory;
#[path = "../common/reference.rs"]
mod reference;

mod expected;
mod faults;
mod generate;
mod harness;
mod shapes;

use fastcsv_engine::job::{Input, Job};
use fastcsv_engine::pipeline::ReadAt;
use fastcsv_engine::ring::Geometry;
use harness::Pace;
use proptest::prelude::*;

/// Bytes in memory as a file.
struct Bytes(Vec<u8>);

impl ReadAt for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

/// Runs the job over the bytes and compares.
fn check(mut job: Job, bytes: &[u8], geometry: Geometry, pace: Pace) {
    if bytes.is_empty() {
        return; // an empty file is no job
    }
    if let Input::File { size, .. } = &mut job.input {
        *size = bytes.len() as u64;
    }
    let delivered = harness::run(job.clone(), Box::new(Bytes(bytes.to_vec())), geometry, pace);
    expected::check(&job, bytes, &delivered, !matches!(pace, Pace::StopsAfter(_)));
}

/// The job with at most some hundred ranges, each of which costs the look-ahead behind it.
fn with_sane_ranges(mut job: Job, size: usize) -> Job {
    if let Input::File { range_size, .. } = &mut job.input {
        *range_size = (*range_size).max(size as u64 / 400);
    }
    job
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn random_bytes_give_what_the_plain_reader_gives(
        (job, wild, geometry, pace) in (generate::job(), generate::wild(), generate::geometry(), generate::pace()),
    ) {
        let bytes = wild.bytes(&job.syntax);
        check(job, &bytes, geometry, pace);
    }

    #[test]
    fn random_records_give_what_the_plain_reader_gives(
        (job, neat, geometry, pace) in (generate::job(), generate::neat(), generate::geometry(), generate::pace()),
    ) {
        let bytes = neat.bytes(&job.syntax, job.fields.len());
        check(with_sane_ranges(job, bytes.len()), &bytes, geometry, pace);
    }
}
