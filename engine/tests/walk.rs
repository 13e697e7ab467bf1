//! A walk goes from record to record as COPY's own reader would, and counts what COPY counts.

#[expect(dead_code, reason = "a walk looks at records, not at their fields")]
#[path = "common/reference.rs"]
mod reference;

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use fastcsv_engine::dialect::{Dialect, LineEnd};
use fastcsv_engine::job::{Encoding, Syntax};
use fastcsv_engine::locate::Checkpoint;
use fastcsv_engine::pipeline::ReadAt;
use fastcsv_engine::scan::Level;
use fastcsv_engine::walk::Walker;
use proptest::prelude::*;

/// A file in memory, whose reads are cut short and sometimes interrupted.
struct File<'b> {
    bytes: &'b [u8],
    most: usize,
    reads: AtomicU32,
}

impl<'b> File<'b> {
    fn new(bytes: &'b [u8], most: usize) -> File<'b> {
        File { bytes, most, reads: AtomicU32::new(0) }
    }
}

impl ReadAt for File<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.reads.fetch_add(1, Ordering::Relaxed) % 4 == 3 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len()).min(self.most);
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

fn syntax(quote: u8, escape: u8, line_end: LineEnd) -> Syntax {
    Syntax { delimiter: b',', quote, escape, line_end, null: vec![], default: None, has_end_marker: false }
}

fn dialect(quote: u8, escape: u8) -> Dialect {
    Dialect::builder().quote(Some(quote)).escape(Some(escape)).build().expect("a valid dialect")
}

/// Every place a walk comes to, its end included.
fn walk(dialect: &Dialect, at: Checkpoint, file: &File<'_>) -> Vec<Checkpoint> {
    let mut walker = Walker::new(dialect, Level::detect(), at, file.bytes.len() as u64);
    let mut places = vec![walker.at()];
    while walker.step(file).expect("the file can be read") {
        places.push(walker.at());
    }
    places
}

/// The line end that COPY finds: that of the first line, or none.
fn style(quote: u8, escape: u8, bytes: &[u8]) -> Option<LineEnd> {
    let whole = |line_end: LineEnd| {
        let reading = reference::read(&syntax(quote, escape, line_end), &Encoding::AnyByte, bytes, 0);
        reading.records.first().is_some_and(|record| bytes[..record.end].ends_with(line_end.bytes()))
    };
    [LineEnd::CrLf, LineEnd::Lf, LineEnd::Cr].into_iter().find(|&line_end| whole(line_end))
}

/// The places that the plain reader gives, up to the first error of COPY's.
fn places(quote: u8, escape: u8, bytes: &[u8]) -> (Vec<Checkpoint>, bool) {
    let line_end = style(quote, escape, bytes);
    let reading =
        reference::read(&syntax(quote, escape, line_end.unwrap_or(LineEnd::Lf)), &Encoding::AnyByte, bytes, 0);
    let mut at = Checkpoint::START;
    let mut places = vec![at];
    for (index, record) in reading.records.iter().enumerate() {
        // While the style is unknown COPY counts carriage returns.
        let is_first_of_lf = index == 0 && line_end.is_none_or(|line_end| line_end == LineEnd::Lf);
        let carriage_returns = record.text.iter().filter(|&&byte| byte == b'\r').count() as u64;
        let inner = if is_first_of_lf { carriage_returns } else { record.inner.into() };
        let has_line_end = line_end.is_some_and(|line_end| bytes[..record.end].ends_with(line_end.bytes()));
        at = Checkpoint {
            byte: record.end as u64,
            line: at.line + u64::from(record.lines) - u64::from(!has_line_end),
            record: at.record + 1,
            number: at.number + 1 + inner,
            line_end,
        };
        places.push(at);
    }
    (places, reading.stop.is_none())
}

const PIECES: &[&[u8]] = &[b"\"", b"\"", b",", b"x", b"yy", b"\\", b"\n", b"\n", b"\r\n", b"\r"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_walk_comes_to_the_places_that_the_plain_reader_gives(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..80),
        (quote, escape) in prop::sample::select(vec![(b'"', b'"'), (b'"', b'\\'), (b'x', b'y'), (b'"', b',')]),
        most in 1_usize..40,
    ) {
        let bytes = pieces.concat();
        let (expected, is_whole) = places(quote, escape, &bytes);
        let found = walk(&dialect(quote, escape), Checkpoint::START, &File::new(&bytes, most));
        prop_assert_eq!(&found[..expected.len()], &expected[..], "{}", bytes.escape_ascii());
        if is_whole {
            prop_assert_eq!(found.len(), expected.len());
        }
        // From any record on it is the same walk.
        for (index, place) in expected.iter().enumerate().skip(1) {
            let rest = walk(&dialect(quote, escape), *place, &File::new(&bytes, most));
            prop_assert_eq!(&rest[..], &found[index..]);
        }
    }
}

#[test]
fn a_record_longer_than_any_buffer_is_one_step() {
    let text = format!("a\n\"{}\",b\nc", "more\nof it\r".repeat(30_000));
    let file = File::new(text.as_bytes(), usize::MAX);
    let dialect = Dialect::copy_csv(LineEnd::Lf);
    let found: Vec<(u64, u64, u64)> =
        walk(&dialect, Checkpoint::START, &file).iter().map(|at| (at.byte, at.line, at.number)).collect();
    let end = text.len() as u64;
    assert_eq!(found, [(0, 1, 1), (2, 2, 2), (end - 1, 30_003, 30_003), (end, 30_003, 30_004)]);
}

#[test]
fn a_record_that_the_files_end_cuts_off_inside_quotes_is_one() {
    let text = b"a,b\n\"c\nd\ne";
    let found = walk(&Dialect::copy_csv(LineEnd::Lf), Checkpoint::START, &File::new(text, 5));
    assert_eq!(found.iter().map(|at| at.byte).collect::<Vec<_>>(), [0, 4, 10]);
}

#[test]
fn a_file_that_is_shorter_than_it_was_is_an_error() {
    let file = File::new(b"a,b\nc,d\n", 3);
    let mut walker = Walker::new(&Dialect::copy_csv(LineEnd::Lf), Level::detect(), Checkpoint::START, 100);
    assert!(walker.step(&file).expect("the record is there"));
    assert!(walker.step(&file).expect("this one too"));
    assert_eq!(walker.step(&file).map_err(|error| error.kind()), Err(io::ErrorKind::UnexpectedEof));
}

#[test]
fn what_is_behind_the_size_is_not_walked_over() {
    let file = File::new(b"a\nb\nc\n", 100);
    let mut walker = Walker::new(&Dialect::copy_csv(LineEnd::Lf), Level::detect(), Checkpoint::START, 4);
    assert_eq!([0; 3].map(|_| walker.step(&file).expect("it can be read")), [true, true, false]);
    assert_eq!(walker.at().byte, 4);
}
