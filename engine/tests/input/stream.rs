//! A stream, however it comes and however it is cut, gives what the same bytes give as a file.

#![expect(unsafe_code, reason = "makes a ring of bytes")]

use std::io::{self, Read};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use fastcsv_engine::byte_ring::{ByteRing, Writer};
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::entry::{EntryKind, Mark};
use fastcsv_engine::job::{self, Io, Job, Output, Syntax};
use fastcsv_engine::pipeline::{Input, ReadAt};
use fastcsv_engine::ring::{Geometry, Outcome, Ring, Summary};
use proptest::prelude::*;

use crate::common::csv_like;
use crate::run::{Delivered, Spawn, job, run, run_fed, spawn};

const GEOMETRY: Geometry = Geometry { tickets: 8, blocks: 8, kept: 0, block_size: 256 };

/// Bytes as a file.
struct Memory(Vec<u8>);

impl ReadAt for Memory {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (&self.0[self.0.len().min(offset as usize)..]).read(buffer)
    }
}

/// A ring of bytes in ordinary memory, which stays for good.
fn byte_ring(capacity: usize) -> ByteRing {
    #[repr(C, align(64))]
    struct CacheLine([u8; 64]);
    // Where a leak checker finds it.
    static KEPT: Mutex<Vec<Box<[CacheLine]>>> = Mutex::new(Vec::new());
    let lines = ByteRing::bytes(capacity).div_ceil(64);
    let mut memory: Box<[CacheLine]> = (0..lines).map(|_| CacheLine([0; 64])).collect();
    // The ring is the only way to these bytes.
    assert_eq!(memory[0].0[0], 0);
    let start = NonNull::new(memory.as_mut_ptr()).expect("a box's memory");
    KEPT.lock().unwrap().push(memory);
    // SAFETY: large enough, aligned, and never freed.
    unsafe { ByteRing::create(start.cast(), capacity) }
}

/// Writes all of the content in pieces of these sizes, over and over; 0 is a pause. Then it ends, or is broken off.
fn feed(mut writer: Writer, content: &[u8], pieces: &[usize], breaks_off: bool, ring: Ring) {
    let mut rest = content;
    for piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        if *piece == 0 {
            thread::sleep(Duration::from_micros(200));
        }
        let (mut now, later) = rest.split_at(rest.len().min(*piece));
        rest = later;
        while !now.is_empty() {
            let room = writer.room();
            let length = room.len().min(now.len());
            room[..length].copy_from_slice(&now[..length]);
            writer.wrote(length);
            now = &now[length..];
            if writer.must_wake_reader() {
                ring.wake_all();
            }
            if length == 0 {
                if ring.is_stopped() {
                    return;
                }
                thread::yield_now();
            }
        }
    }
    if breaks_off {
        writer.break_off();
    } else {
        writer.close();
    }
    ring.wake_all();
}

/// How a stream comes.
#[derive(Clone, Debug)]
struct Way {
    pieces: Vec<usize>,
    capacity: usize,
    segment_size: usize,
    /// Whether there is only one thread.
    alone: bool,
    breaks_off: bool,
}

fn run_stream(job: &Job, content: &[u8], way: &Way) -> Delivered {
    let ring = byte_ring(way.capacity);
    // SAFETY: one of each.
    let (writer, reader) = unsafe { (ring.writer(), ring.reader()) };
    let input = job::Input::Stream { start: 0, segment_size: way.segment_size, coding: None };
    let job = Job { input, ..job.clone() };
    let started = AtomicUsize::new(0);
    let one: Spawn<'_> = &|body| match started.fetch_add(1, Ordering::Relaxed) {
        0 | 2 => spawn(body), // the second try is for one thread
        _ => Err(io::ErrorKind::WouldBlock.into()),
    };
    let spawn: Spawn<'_> = if way.alone { one } else { &spawn };
    run_fed(
        job,
        Input::Stream(Box::new(reader)),
        GEOMETRY,
        spawn,
        |_| (),
        |ring| {
            feed(writer, content, &way.pieces, way.breaks_off, ring);
        },
    )
}

fn run_file(job: &Job, content: &[u8]) -> Delivered {
    let size = content.len() as u64;
    let input = job::Input::File { start: 0, size, range_size: size.max(1), io: Io::Pread };
    run(Job { input, ..job.clone() }, Input::File(Box::new(Memory(content.to_vec()))), GEOMETRY, |_| ())
}

/// What was delivered up to the first anomaly, with places in the whole input.
#[derive(Debug, Default, PartialEq)]
struct Prefix {
    entries: Vec<(EntryKind, Mark, Vec<u8>)>,
    end: u64,
    records: u64,
    lines: u64,
    inner: u64,
    is_plain: bool,
}

impl Prefix {
    fn of(delivered: &Delivered) -> Prefix {
        let mut prefix = Prefix { is_plain: true, ..Prefix::default() };
        let mut first = 0;
        for &(summary, last) in &delivered.tickets {
            for (kind, mark, payload) in &delivered.entries[first..last] {
                if !is_rest(*kind) {
                    prefix.entries.push((*kind, prefix.place(mark.expect("rows come with places")), payload.clone()));
                }
            }
            first = last;
            prefix.add(&summary);
            if summary.outcome != Outcome::Plain {
                prefix.is_plain = false;
                break;
            }
        }
        prefix
    }

    fn place(&self, mark: Mark) -> Mark {
        Mark {
            records: mark.records + self.records as u32,
            lines: mark.lines + self.lines as u32,
            inner: mark.inner + self.inner as u32,
            ..mark
        }
    }

    fn add(&mut self, summary: &Summary) {
        self.end = summary.end;
        self.records += summary.records;
        self.lines += summary.lines;
        self.inner += summary.inner;
    }
}

fn is_rest(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Rest | EntryKind::LastRest)
}

/// Each segment with an anomaly ships its own rest, and some of what follows.
fn check_rests(delivered: &Delivered, content: &[u8]) {
    let mut first = 0;
    for &(summary, last) in &delivered.tickets {
        let rests: Vec<_> = delivered.entries[first..last].iter().filter(|(kind, ..)| is_rest(*kind)).collect();
        assert_eq!(rests.len(), usize::from(summary.outcome == Outcome::Anomaly));
        for (kind, mark, payload) in rests {
            let mark = mark.expect("a rest has its place");
            assert_eq!(mark.byte, summary.end);
            let rest = &content[mark.byte as usize..];
            assert!(rest.starts_with(payload), "it is what the stream holds");
            assert!(*kind == EntryKind::Rest || payload.len() == rest.len(), "nothing follows the last rest");
            let own = mark.length as usize;
            assert!(payload.len() == rest.len() || summary.is_last || payload.len() == own + 4, "four bytes follow");
        }
        first = last;
    }
}

fn csv_job(columns: usize, line_end: LineEnd, escape: u8, output: Output) -> Job {
    let job = job(columns, line_end, job::Input::Stream { start: 0, segment_size: 1, coding: None });
    Job { syntax: Syntax { escape, ..job.syntax }, output, ..job }
}

fn ways() -> impl Strategy<Value = Way> {
    let piece = prop_oneof![1 => Just(0_usize), 3 => 1_usize..8, 2 => 1_usize..300];
    (prop::collection::vec(piece, 1..6), 1_usize..200, 1_usize..200, any::<bool>()).prop_filter_map(
        "something must come",
        |(pieces, capacity, segment_size, alone)| {
            pieces.iter().any(|piece| *piece > 0).then_some(Way {
                pieces,
                capacity,
                segment_size,
                alone,
                breaks_off: false,
            })
        },
    )
}

/// Mostly plain records, so that more than the first few are looked at.
fn plain_csv() -> impl Strategy<Value = Vec<u8>> {
    let field = prop_oneof![
        4 => "[a-z0-9]{0,12}",
        2 => "\"([a-z,\n\r]|\"\"){0,12}\"",
        1 => Just("caf\u{e9} \u{1d11e}".to_owned()),
    ];
    let record = (field.clone(), field).prop_map(|(a, b)| format!("{a},{b}"));
    let end = prop_oneof![9 => Just(true), 1 => Just(false)];
    (prop::collection::vec(record, 0..60), prop::sample::select(vec!["\n", "\r\n", "\r"]), end).prop_map(
        |(records, line_end, has_end)| {
            let mut text = records.join(line_end);
            if has_end {
                text.push_str(line_end);
            }
            text.into_bytes()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_give_what_they_give_as_a_file(
        content in prop_oneof![csv_like(400), plain_csv()],
        way in ways(),
        line_end in prop::sample::select(vec![LineEnd::Lf, LineEnd::CrLf, LineEnd::Cr]),
        escape in prop::sample::select(vec![b'"', b'#']),
        columns in 1_usize..4,
        count in any::<bool>(),
    ) {
        let output = if count { Output::Count } else { Output::PlacedRows };
        let job = csv_job(columns, line_end, escape, output);
        let job = if count { without_columns(job) } else { job };
        let stream = run_stream(&job, &content, &way);
        check_rests(&stream, &content);
        // A file without bytes has no ranges at all; a stream has a last segment in any case.
        let file = if content.is_empty() { nothing() } else { Prefix::of(&run_file(&job, &content)) };
        prop_assert_eq!(Prefix::of(&stream), file);
    }
}

/// The job of a query that needs no column.
fn without_columns(mut job: Job) -> Job {
    for field in &mut job.fields {
        field.target = None;
    }
    job
}

fn nothing() -> Prefix {
    Prefix { is_plain: true, ..Prefix::default() }
}

#[test]
fn a_record_that_is_too_long_is_handed_over_with_all_that_follows() {
    let before = b"a,b\n".repeat(1000);
    let long = [&b"x,\""[..], &vec![b'y'; 300_000], b"\"\n"].concat();
    let content = [&before[..], &long, b"c,d\n"].concat();
    let job = Job { longest_record: 100_000, ..csv_job(2, LineEnd::Lf, b'"', Output::Rows) };
    for alone in [false, true] {
        let way = Way { pieces: vec![5000], capacity: 4096, segment_size: 1000, alone, breaks_off: false };
        let delivered = run_stream(&job, &content, &way);
        check_rests(&delivered, &content);
        let (last, _) = delivered.tickets.last().unwrap();
        assert_eq!((last.outcome, last.is_last, last.end), (Outcome::Anomaly, true, before.len() as u64));
        let rows = delivered.entries.iter().filter(|(kind, ..)| *kind == EntryKind::Row).count();
        assert_eq!(rows, 1000);
        let (_, _, raw) = delivered.entries.last().unwrap();
        assert!(raw.len() > 100_000 && raw.len() < 110_000, "what was read of it: {}", raw.len());
    }
}

#[test]
fn what_is_left_of_a_stream_that_is_broken_off_is_handed_over() {
    let content = b"a,b\n\"c\n\",d\ne,f\ng,\"h\n";
    let job = csv_job(2, LineEnd::Lf, b'"', Output::Rows);
    for length in 0..=content.len() {
        for (segment_size, alone) in [(1, false), (9, true), (1000, false), (1000, true)] {
            let way = Way { pieces: vec![3, 0], capacity: 10, segment_size, alone, breaks_off: true };
            let delivered = run_stream(&job, &content[..length], &way);
            let (last, _) = delivered.tickets.last().unwrap();
            assert_eq!((last.outcome, last.is_last), (Outcome::Anomaly, true));
            // A record's end is seen when so much is there behind it.
            let whole = [4, 11, 15].into_iter().filter(|end| end + 4 <= length).max().unwrap_or(0);
            let rows = delivered.entries.iter().filter(|(kind, ..)| *kind == EntryKind::Row).count();
            assert_eq!((rows, last.end), ([0, 4, 11, 15].iter().position(|end| *end == whole).unwrap(), whole as u64));
            let (kind, _, rest) = delivered.entries.last().unwrap();
            assert_eq!((*kind, &rest[..]), (EntryKind::Rest, &content[whole..length]));
        }
    }
}

#[test]
fn rows_come_with_the_beginning_of_their_records_if_that_is_wanted() {
    let content = b"short,1\n\"quoted, and longer\",2\n,\n";
    let job = Job { text: 10, ..csv_job(2, LineEnd::Lf, b'"', Output::PlacedRows) };
    let plain = Job { text: 0, ..job.clone() };
    let way = Way { pieces: vec![7], capacity: 10, segment_size: 20, alone: false, breaks_off: false };
    let (with, without) = (run_stream(&job, content, &way), run_stream(&plain, content, &way));
    let texts = [&b"short,1"[..], b"\"quoted, a", b","];
    assert_eq!(with.entries.len(), texts.len());
    for (((_, mark, payload), (_, _, tuple)), text) in with.entries.iter().zip(&without.entries).zip(texts) {
        assert_eq!(mark.unwrap().text as usize, text.len());
        assert_eq!(payload, &[&tuple[..], text].concat());
    }
}

#[test]
fn whole_records_do_not_wait_for_a_full_segment() {
    let ring = byte_ring(1000);
    // SAFETY: one of each.
    let (mut writer, reader) = unsafe { (ring.writer(), ring.reader()) };
    let input = job::Input::Stream { start: 0, segment_size: 1 << 20, coding: None };
    let job = Job { input, ..csv_job(2, LineEnd::Lf, b'"', Output::Rows) };
    let blocks = AtomicUsize::new(0);
    let (seen, feeder_sees) = (&blocks, &blocks);
    let delivered = run_fed(
        job,
        Input::Stream(Box::new(reader)),
        GEOMETRY,
        &spawn,
        |_| _ = seen.fetch_add(1, Ordering::SeqCst),
        move |ring| {
            writer.room()[..10].copy_from_slice(b"a,b\nc,d\ne,");
            writer.wrote(10);
            ring.wake_all();
            // A row comes although no more than these bytes has come; the second lacks the look-ahead.
            while feeder_sees.load(Ordering::SeqCst) == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            writer.room()[..1].copy_from_slice(b"f");
            writer.wrote(1);
            writer.close();
            ring.wake_all();
        },
    );
    assert_eq!(delivered.entries.len(), 3);
    assert_eq!(delivered.tickets.len(), 2);
}

#[test]
fn a_stream_that_fails_says_so_behind_what_came_before() {
    struct Failing(&'static [u8]);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::from_raw_os_error(5)),
                length => Ok(length),
            }
        }
    }
    let input = job::Input::Stream { start: 0, segment_size: 4, coding: None };
    let job = Job { input, ..csv_job(2, LineEnd::Lf, b'"', Output::Rows) };
    let delivered = run(job, Input::Stream(Box::new(Failing(b"a,b\nc,d\ne,f\n"))), GEOMETRY, |_| ());
    let (last, entries) = delivered.tickets.last().unwrap();
    assert_eq!((last.outcome, last.errno), (Outcome::ReadError, 5));
    assert_eq!(*entries, 2);
}
