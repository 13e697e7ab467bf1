//! How fast the whole engine is: bytes in memory to finished row images, on one thread and on two.
//!
//! TPC-H lineitem with its own column types. The consumer looks at each block and gives it back, as a backend would
//! that does nothing with the rows.

use std::alloc::{Layout as Memory, alloc_zeroed};
use std::hint::black_box;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use fastcsv_engine::convert::{Kind, Settings};
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::job::{Attribute, Encoding, Field, Input as JobInput, Job, Layout, Output, Syntax, Target};
use fastcsv_engine::pipeline::{Input, Pipeline, ReadAt, Wake};
use fastcsv_engine::ring::{Consumer, Geometry, Next, Ring};
use tpchgen::generators::LineItemGenerator;

/// Bytes of input: enough that starting threads is a small part.
const INPUT: usize = 64 << 20;

/// The file, in memory.
struct Bytes(Arc<Vec<u8>>);

impl ReadAt for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = &self.0[offset as usize..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

/// The consumer does not sleep, so nobody has to wake it.
struct Awake;

impl Wake for Awake {
    fn consumer(&self) {}
    fn finished(&self) {}
    fn panicked(&self, message: &str) {
        panic!("{message}");
    }
}

fn lineitem() -> Vec<u8> {
    let mut text = Vec::with_capacity(INPUT + 1024);
    for item in LineItemGenerator::new(1.0, 1, 1).iter() {
        let row = item.to_string();
        // The generator's own form ends each field with a bar.
        text.extend(row.trim_end_matches('|').bytes().map(|byte| match byte {
            b',' => b';',
            b'|' => b',',
            byte => byte,
        }));
        text.push(b'\n');
        if text.len() >= INPUT {
            break;
        }
    }
    text
}

/// The table's columns: what each is converted to, its length, its alignment.
fn columns() -> Vec<(Kind, Attribute)> {
    let fixed = |length: u16| Attribute { length: Some(length), align: length as u8, packable: false };
    let varlena = Attribute { length: None, align: 4, packable: true };
    let money = || (Kind::Numeric { limit: Some((15, 2)) }, varlena);
    let blanks = |limit| (Kind::Bpchar { limit: Some(limit) }, varlena);
    let date = || (Kind::Date, fixed(4));
    let mut columns =
        vec![(Kind::Int8, fixed(8)), (Kind::Int8, fixed(8)), (Kind::Int8, fixed(8)), (Kind::Int4, fixed(4))];
    columns.extend([money(), money(), money(), money(), blanks(1), blanks(1), date(), date(), date()]);
    columns.extend([blanks(25), blanks(10), (Kind::Varchar { limit: 44 }, varlena)]);
    columns
}

fn job(size: u64, threads: usize) -> Job {
    let columns = columns();
    let target = |attribute, kind| Target { attribute, kind: Some(kind), force_not_null: false, force_null: false };
    let attributes = columns.iter().map(|(_, attribute)| *attribute).collect();
    let fields = columns.into_iter().enumerate();
    Job {
        syntax: Syntax {
            delimiter: b',',
            quote: b'"',
            escape: b'"',
            line_end: LineEnd::Lf,
            null: Vec::new(),
            default: None,
            has_end_marker: true,
        },
        input: JobInput::File { start: 0, size, range_size: 1 << 20, io: fastcsv_engine::job::Io::Pread },
        encoding: Encoding::Utf8,
        fields: fields.map(|(attribute, (kind, _))| Field { target: Some(target(attribute, kind)) }).collect(),
        layout: Layout { attributes, type_id: 0, type_modifier: -1, constants: Vec::new() },
        filter: None,
        output: Output::Rows,
        settings: Settings { utf8: true, ..Settings::default() },
        text: 0,
        threads,
        longest_record: 1 << 20,
        level: None,
    }
}

/// Runs the job and returns the number of records.
fn run(bytes: &Arc<Vec<u8>>, threads: usize) -> u64 {
    let geometry = Geometry { tickets: 64, blocks: 128, kept: 0, block_size: 64 * 1024 };
    let memory = Memory::from_size_align(geometry.bytes(), Geometry::ALIGN).expect("a valid layout");
    #[expect(unsafe_code, reason = "memory for the ring")]
    // SAFETY: the memory is of the ring's size and alignment, is used by nobody else, and is not freed while it runs.
    let ring = unsafe { Ring::create(NonNull::new(alloc_zeroed(memory)).expect("there is memory"), geometry) };
    let spawn = |body: Box<dyn FnOnce() + Send>| std::thread::Builder::new().spawn(body);
    let input = Input::File(Box::new(Bytes(Arc::clone(bytes))));
    let job = job(bytes.len() as u64, threads);
    let pipeline = Pipeline::start(job, ring, input, Box::new(Awake), &spawn).expect("a pipeline");
    let mut consumer = Consumer::new(ring);
    let mut records = 0;
    loop {
        match consumer.advance() {
            Next::Block => {
                black_box(consumer.block());
                ring.wake_sleepers(false);
            }
            Next::Finished(summary) => {
                assert_eq!(summary.declined, 0);
                records += summary.records;
                ring.wake_sleepers(false);
                if summary.is_last {
                    break;
                }
            }
            Next::Nothing => {
                ring.wake_sleepers(true);
                std::thread::yield_now();
            }
        }
    }
    pipeline.end();
    #[expect(unsafe_code, reason = "memory for the ring")]
    // SAFETY: it was allocated with this layout, and the pipeline has ended.
    unsafe {
        std::alloc::dealloc(ring_base(ring), memory);
    }
    records
}

fn ring_base(ring: Ring) -> *mut u8 {
    ring.base().as_ptr()
}

fn main() {
    let bytes = Arc::new(lineitem());
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let mut group = criterion.benchmark_group("pipeline");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    for threads in [1, 2] {
        group.bench_function(format!("lineitem-{threads}"), |bencher| bencher.iter(|| run(&bytes, threads)));
    }
    group.finish();
    criterion.final_summary();
}
