//! Ranges: a file that can be read at any offset is cut every so many bytes, wherever that falls.
//!
//! Range `i` covers the bytes from `low` up to `high`, and **owns the records that start there**. Its owner reads on
//! past `high` to the end of its last record. A record that starts exactly at `low` shows itself only by the line end
//! before, so the owner also reads two bytes ([`LOOK_BACK`]) before `low`.
//!
//! Where the first record of a range starts depends on everything before it. How little is enough to know of the ranges
//! before is told in [`chain`].

pub(crate) mod chain;

use memchr::memmem;

use crate::dialect::LineEnd;
use crate::scan::{Block, Scanner, Sink, State};

/// Bytes before a range that its owner looks at: the longest line end.
const LOOK_BACK: u64 = 2;

/// Bytes scanned at first in search of a record's end.
const STEP: usize = 512;

/// How the file is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges {
    /// Where the first record starts.
    pub(crate) start: u64,
    /// The file's size.
    pub(crate) size: u64,
    /// Bytes of a range.
    pub(crate) range_size: u64,
}

impl Ranges {
    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        (self.size - self.start).div_ceil(self.range_size)
    }

    /// One of them.
    pub(crate) fn range(&self, index: u64) -> Range {
        let low = self.start + index * self.range_size;
        Range {
            index,
            from: self.start.max(low.saturating_sub(LOOK_BACK)),
            low,
            high: self.size.min(low.saturating_add(self.range_size)),
            is_last: index + 1 == self.count(),
        }
    }
}

/// One range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// Its number, which is its ticket.
    pub(crate) index: u64,
    /// The first byte its owner looks at.
    pub(crate) from: u64,
    /// Its first byte.
    pub(crate) low: u64,
    /// The byte behind its last.
    pub(crate) high: u64,
    /// Whether no range follows.
    pub(crate) is_last: bool,
}

impl Range {
    /// The part of `bytes`, which start at [`Range::from`], whose quotes lie between this range's first look and the
    /// next one's.
    pub(crate) fn parity_part<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let end = self.high.saturating_sub(LOOK_BACK).max(self.from);
        &bytes[..bytes.len().min((end - self.from) as usize)]
    }

    /// The first record start in the range, if [`Range::from`] is inside quotes or not; `bytes` start there.
    pub(crate) fn first_start(&self, scanner: &Scanner, bytes: &[u8], inside: bool) -> Option<u64> {
        if self.index == 0 {
            return Some(self.low);
        }
        let state = if inside { State::inside_quotes(self.from) } else { State::at_record(self.from) };
        // A record that starts below `high` has the line end before it below `high - 1`.
        let within = &bytes[..bytes.len().min((self.high - self.from).saturating_sub(1) as usize)];
        first_record_end(scanner, state, within, self.low - 1).map(|end| end + 1)
    }

    /// Where a record starts if a line end outside quotes is the first one there is; `bytes` start at [`Range::from`].
    pub(crate) fn guess(&self, line_end: LineEnd, bytes: &[u8]) -> Option<u64> {
        if self.index == 0 {
            return Some(self.low);
        }
        let pattern = line_end.bytes();
        // So that the line end's last byte is at `low - 1` or behind it.
        let skip = (self.low - self.from).saturating_sub(pattern.len() as u64) as usize;
        let end = skip + memmem::find(bytes.get(skip..)?, pattern)? + pattern.len();
        let start = self.from + end as u64;
        (start < self.high).then_some(start)
    }
}

/// The position of the first byte at `least` or behind it that ends a record, in `bytes` scanned from `state` on.
pub(crate) fn first_record_end(scanner: &Scanner, mut state: State, bytes: &[u8], least: u64) -> Option<u64> {
    let mut rest = bytes;
    let mut step = STEP;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(step.min(rest.len()));
        let mut found = FirstEnd { base: state.position(), least, position: None };
        scanner.scan(&mut state, piece, &mut found);
        if found.position.is_some() {
            return found.position;
        }
        rest = after;
        step *= 2;
    }
    None
}

/// The first record end at a position or behind it.
struct FirstEnd {
    base: u64,
    least: u64,
    position: Option<u64>,
}

impl Sink for FirstEnd {
    #[inline(always)]
    fn block(&mut self, offset: usize, block: Block) {
        if block.records == 0 || self.position.is_some() {
            return;
        }
        let first = self.base + offset as u64;
        let before = self.least.saturating_sub(first);
        let records = if before >= 64 { 0 } else { block.records & (u64::MAX << before) };
        if records != 0 {
            self.position = Some(first + u64::from(records.trailing_zeros()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::scan::Level;
    use crate::scan::reference::outline;
    use proptest::prelude::*;

    /// Bytes in which something happens, a file's start and the size of its ranges.
    fn files() -> impl Strategy<Value = (Vec<u8>, u64, u64)> {
        let bytes = prop::collection::vec(prop::sample::select(&b"\"\",\n\n\r\n\r\\xxxx"[..]), 1..300);
        (bytes, 0_u64..5, 1_u64..80).prop_filter("a file has a record", |(bytes, start, _)| *start < bytes.len() as u64)
    }

    fn dialects() -> Vec<Dialect> {
        LineEnd::ALL.map(Dialect::copy_csv).to_vec()
    }

    /// Where the file's records start, behind its own first.
    fn starts(dialect: &Dialect, bytes: &[u8], start: u64) -> Vec<u64> {
        let ends = outline(dialect, false, &bytes[start as usize..]).records;
        std::iter::once(start).chain(ends.into_iter().map(|end| start + end + 1)).collect()
    }

    proptest! {
        #[test]
        fn ranges_cover_the_file_and_each_finds_the_first_record_that_starts_in_it(
            (bytes, start, range_size) in files(),
            dialect in prop::sample::select(dialects()),
        ) {
            let scanner = Scanner::new(&dialect, Level::detect());
            let size = bytes.len() as u64;
            let ranges = Ranges { start, size, range_size };
            let starts = starts(&dialect, &bytes, start);
            let (mut covered, mut inside) = (start, false);
            for index in 0..ranges.count() {
                let range = ranges.range(index);
                prop_assert_eq!((range.low, range.is_last), (covered, range.high == size));
                covered = range.high;
                let rest = &bytes[range.from as usize..];
                let first = starts.iter().copied().find(|at| (range.low..range.high).contains(at));
                prop_assert_eq!(range.first_start(&scanner, rest, inside), first, "range {}", index);
                inside ^= scanner.quotes_are_odd(range.parity_part(rest));
            }
            prop_assert_eq!(covered, size);
        }

        #[test]
        fn a_guess_is_the_place_behind_the_first_line_end(
            (bytes, start, range_size) in files(),
            line_end in prop::sample::select(&LineEnd::ALL[..]),
        ) {
            let ranges = Ranges { start, size: bytes.len() as u64, range_size };
            for range in (0..ranges.count()).map(|index| ranges.range(index)) {
                let is_start = |at: &u64| bytes[start as usize..*at as usize].ends_with(line_end.bytes());
                let first = (range.low..range.high).find(|at| range.index == 0 || is_start(at));
                prop_assert_eq!(range.guess(line_end, &bytes[range.from as usize..]), first, "range {}", range.index);
            }
        }

        #[test]
        fn the_first_record_end_is_found_however_far_it_is(
            (bytes, start, gap) in files(),
            is_inside in any::<bool>(),
            dialect in prop::sample::select(dialects()),
        ) {
            let ordinary = vec![b'x'; 40 * gap as usize];
            let bytes = [&ordinary[..], &bytes].concat();
            let least = start + 20 * gap;
            let state = if is_inside { State::inside_quotes(7) } else { State::at_record(7) };
            let ends = outline(&dialect, is_inside, &bytes).records;
            let expected = ends.into_iter().map(|end| end + 7).find(|end| *end >= least);
            let scanner = Scanner::new(&dialect, Level::detect());
            prop_assert_eq!(first_record_end(&scanner, state, &bytes, least), expected);
        }
    }

    #[test]
    fn a_record_that_starts_at_a_ranges_first_byte_is_that_ranges() {
        for line_end in LineEnd::ALL {
            let scanner = Scanner::new(&Dialect::copy_csv(line_end), Level::detect());
            let bytes = [b"abc", line_end.bytes(), b"d"].concat();
            let low = 3 + line_end.bytes().len() as u64;
            let ranges = Ranges { start: 0, size: bytes.len() as u64, range_size: low };
            let (first, second) = (ranges.range(0), ranges.range(1));
            assert_eq!(first.first_start(&scanner, &bytes, false), Some(0));
            assert_eq!(second.first_start(&scanner, &bytes[second.from as usize..], false), Some(low));
            assert_eq!(second.guess(line_end, &bytes[second.from as usize..]), Some(low));
        }
    }
}
