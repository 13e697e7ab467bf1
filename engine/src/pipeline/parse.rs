//! Chunks: whole records of a segment, split, converted and written out.
//!
//! A segment is parsed a chunk at a time, so that a chunk is still in the cache when it is converted after it was
//! scanned, and so that the boundary list stays small however many fields there are. Each chunk starts at a record;
//! what is left at its end, a record whose end is not in it, is the next chunk's beginning.
//!
//! **Plain or not.** A record is plain if it holds no stray line end, no invalid byte, is no end-of-data marker, has
//! the right number of fields, and each value that is needed was converted. If only a value or the number of fields is
//! in doubt, the record's bounds are certain all the same: it travels as it is, and COPY reads it. Anything else is an
//! **anomaly**: the segment ends before that record, and COPY reads the file from there.

use super::count::Counter;
use super::form::Rows;
use super::output::Output;
use super::plan::Plan;
use super::records::{Record, Records};
use super::tally::Tally;
use super::{Shared, Stop};
use crate::dialect::LineEnd;
use crate::entry::EntryKind;
use crate::infer::Surveyor;
use crate::job::{self, Encoding};
use crate::scan::{Boundaries, QUOTED, State};
use crate::tuple::OutOfMemory;

/// Bytes of a chunk: a quarter of a core's second-level cache, with its boundary list in another.
const CHUNK: usize = 128 * 1024;

/// The longest character of UTF-8, in bytes.
pub(super) const LONGEST_CHARACTER: usize = 4;

/// What one thread needs for parsing, kept from ticket to ticket.
pub(super) struct Parser<'s> {
    shared: &'s Shared,
    plan: &'s Plan,
    boundaries: Boundaries,
    rows: Rows<'s>,
    /// Findings, as they are written.
    written: Vec<u8>,
    /// What surveys the records, where that is what is wanted.
    surveyor: Option<Surveyor>,
    accounted: usize,
}

/// The bytes of a segment that are in memory, from the next record on.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'b> {
    /// The bytes; the first is a record's.
    pub(super) bytes: &'b [u8],
    /// The first byte's offset in the input.
    pub(super) base: u64,
    /// Records that start here or behind are not this segment's.
    pub(super) limit: u64,
    /// Whether the input ends with these bytes.
    pub(super) is_end: bool,
}

/// How far a chunk was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// So many bytes, to the end of a record; not zero.
    Bytes(usize),
    /// Nothing: no record ends in the chunk.
    NeedsMore,
    /// So many bytes; the record behind them is an anomaly.
    Anomaly(usize),
}

impl<'s> Parser<'s> {
    /// # Errors
    /// If there is no memory for it.
    pub(super) fn new(shared: &'s Shared) -> Result<Parser<'s>, OutOfMemory> {
        let plan = &shared.plan;
        Ok(Parser {
            shared,
            plan,
            boundaries: Boundaries::new(),
            rows: Rows::new(plan)?,
            written: Vec::new(),
            surveyor: plan.surveyor()?,
            accounted: 0,
        })
    }

    /// Parses the records of a chunk, or of its beginning if it is long.
    ///
    /// # Errors
    /// [`Stop`]: told to, or out of memory.
    pub(super) fn parse(&mut self, chunk: Chunk<'_>, tally: &mut Tally, out: &mut Output<'_>) -> Result<Parsed, Stop> {
        let Chunk { bytes, base, limit, is_end } = chunk;
        let mut length = CHUNK.min(bytes.len());
        loop {
            let part = Chunk { bytes: &bytes[..length], base, limit, is_end: is_end && length == bytes.len() };
            let parsed = match self.plan.output {
                job::Output::Count if self.plan.decides_nothing() => match self.count(part, tally) {
                    Some(parsed) => parsed,
                    None => self.parse_part(part, tally, out)?,
                },
                job::Output::Survey { .. } => self.survey(part, tally)?,
                _ => self.parse_part(part, tally, out)?,
            };
            if parsed != Parsed::NeedsMore || length == bytes.len() {
                self.account();
                return Ok(parsed);
            }
            length = bytes.len().min(2 * length);
        }
    }

    /// Counts the chunk's records if all of them are this segment's and plain.
    fn count(&self, chunk: Chunk<'_>, tally: &mut Tally) -> Option<Parsed> {
        let Chunk { bytes, base, limit, is_end } = chunk;
        let near_limit = base + bytes.len() as u64 > limit;
        if near_limit || self.plan.has_end_marker && self.plan.fields == 1 || self.plan.default.is_some() {
            return None;
        }
        let mut counter = Counter::new(self.plan.fields as u32);
        let mut state = State::at_record(base);
        self.plan.scanner.scan(&mut state, bytes, &mut counter);
        let end = counter.end();
        let is_seen = self.plan.line_end != LineEnd::Cr || is_end || end + LONGEST_CHARACTER <= bytes.len();
        let plain = counter.is_plain() && state.stray().is_none() && self.first_invalid(bytes, end).is_none();
        if !plain || !is_seen || end == 0 {
            return None;
        }
        tally.records += counter.records();
        tally.count(self.plan.line_end, &bytes[..end]);
        Some(Parsed::Bytes(end))
    }

    /// Surveys the records that end in these bytes.
    fn survey(&mut self, chunk: Chunk<'_>, tally: &mut Tally) -> Result<Parsed, OutOfMemory> {
        let surveyor = self.surveyor.as_mut().expect("the plan asks for a survey");
        let limit = usize::try_from(chunk.limit - chunk.base).unwrap_or(usize::MAX);
        let taken = surveyor.take(chunk.bytes, limit, u64::MAX)?;
        tally.records = surveyor.findings().records;
        tally.lines = surveyor.findings().lines;
        Ok(if taken == 0 { Parsed::NeedsMore } else { Parsed::Bytes(taken) })
    }

    /// The ticket's records are done with: writes out what was found in all of them together.
    ///
    /// # Errors
    /// [`Stop`]: told to, or out of memory.
    pub(super) fn finish(&mut self, out: &mut Output<'_>) -> Result<(), Stop> {
        if let Some(surveyor) = &mut self.surveyor {
            surveyor.findings().write(&mut self.written)?;
            surveyor.clear();
            out.push(EntryKind::Findings, None, &self.written)?;
        }
        Ok(())
    }

    /// Parses the records that end in these bytes.
    fn parse_part(&mut self, chunk: Chunk<'_>, tally: &mut Tally, out: &mut Output<'_>) -> Result<Parsed, Stop> {
        let Chunk { bytes, base, limit, is_end } = chunk;
        let mut state = State::at_record(base);
        self.plan.scanner.scan(&mut state, bytes, &mut self.boundaries);
        if self.boundaries.is_exhausted() {
            return Err(OutOfMemory.into());
        }
        let boundaries = std::mem::take(&mut self.boundaries);
        let stray = state.stray().map(|position| (position - base) as usize);
        let records = Records { boundaries: &boundaries, bytes, stray, limit: limit - base, is_end };
        let parsed = self.parse_records(&records, base, tally, out);
        self.boundaries = boundaries;
        parsed
    }

    fn parse_records(
        &mut self,
        all: &Records<'_>,
        base: u64,
        tally: &mut Tally,
        out: &mut Output<'_>,
    ) -> Result<Parsed, Stop> {
        let ends = all.boundaries.ends();
        let is_cr = self.plan.line_end == LineEnd::Cr;
        let (span, whole) = all.span(is_cr);
        self.rows.is_ascii = all.bytes[..span].is_ascii();
        let mut bad = self.first_invalid(all.bytes, span).unwrap_or(usize::MAX);
        if is_cr && bad < usize::MAX {
            bad = bad.saturating_sub(1); // COPY looks at the byte behind a carriage return before it takes the line
        }
        bad = bad.min(all.stray.unwrap_or(usize::MAX));
        let end_bytes = self.plan.line_end.bytes().len();
        let (mut start, mut first_field) = (0, 0);
        let mut is_anomaly = false;
        let is_simple = self.is_simple(all, span, whole);
        for &fields in all.boundaries.records() {
            let end = (ends[fields as usize - 1] & !QUOTED) as usize + 1;
            if start as u64 >= all.limit || end > span {
                break;
            }
            let record = Record {
                bytes: &all.bytes[..end],
                start,
                ends: &ends[first_field..fields as usize],
                line_end: end_bytes,
            };
            if bad < end || self.plan.has_end_marker && record.content() == b"\\." {
                is_anomaly = true;
                break;
            }
            let mut after = *tally;
            if is_simple {
                after.count_one();
            } else {
                after.count(self.plan.line_end, &all.bytes[start..end]);
            }
            if !self.is_plain(&record, tally, out)? {
                self.ship(&record, base, tally, &after, out)?;
            }
            (tally.lines, tally.copy_bytes) = (after.lines, after.copy_bytes);
            tally.records += 1;
            (start, first_field) = (end, fields as usize);
        }
        Ok(match start {
            _ if is_anomaly => Parsed::Anomaly(start),
            0 if all.stray.is_some() && all.boundaries.records().is_empty() => Parsed::Anomaly(0),
            0 => Parsed::NeedsMore,
            _ => Parsed::Bytes(start),
        })
    }

    /// Whether every line end of the `records` in the first `span` bytes ends one.
    fn is_simple(&self, all: &Records<'_>, span: usize, records: usize) -> bool {
        let bytes = &all.bytes[..span];
        let count = |byte| memchr::memchr_iter(byte, bytes).count();
        let line_end = self.plan.line_end;
        all.stray.is_none()
            && count(line_end.line_byte()) == records
            && (line_end.line_byte() == line_end.copy_byte() || count(line_end.copy_byte()) == records)
    }

    /// Converts a record and writes it out, if it is plain and nothing more than a row is wanted of it.
    #[inline]
    fn is_plain(&mut self, record: &Record<'_>, tally: &mut Tally, out: &mut Output<'_>) -> Result<bool, Stop> {
        if record.ends.len() != self.plan.fields || self.plan.default.as_ref().is_some_and(|text| record.has(text)) {
            return Ok(false);
        }
        match self.plan.output {
            job::Output::Count if self.plan.decides_nothing() => Ok(true),
            job::Output::MixedRows | job::Output::PlacedRows | job::Output::Survey { .. } => Ok(false),
            job::Output::Rows | job::Output::Count => self.rows.convert(record, None, tally, out),
        }
    }

    /// Writes out a record that is not plain, or a row that comes with its place.
    fn ship(
        &mut self,
        record: &Record<'_>,
        base: u64,
        tally: &mut Tally,
        after: &Tally,
        out: &mut Output<'_>,
    ) -> Result<(), Stop> {
        let length = self.plan.recoded_length(record.content());
        let mark = tally.mark(base + record.start as u64, after, length);
        let may_convert = matches!(self.plan.output, job::Output::MixedRows | job::Output::PlacedRows)
            && record.ends.len() == self.plan.fields
            && !self.plan.default.as_ref().is_some_and(|text| record.has(text));
        if may_convert && self.rows.convert(record, Some(mark), tally, out)? {
            return Ok(());
        }
        tally.declined += 1;
        out.push(EntryKind::Record, Some(mark), &record.bytes[record.start..])
    }

    /// The first byte of `bytes[..end]` that is not valid in the file's encoding. In a file of CR also that of the
    /// character that follows, or one behind it, where a character may only be cut off.
    fn first_invalid(&self, bytes: &[u8], end: usize) -> Option<usize> {
        let look_ahead = if self.plan.line_end == LineEnd::Cr { LONGEST_CHARACTER } else { 0 };
        let bytes = &bytes[..bytes.len().min(end + look_ahead)];
        let nul = memchr::memchr(0, bytes);
        let invalid = match &self.plan.encoding {
            Encoding::Utf8 => match simdutf8::basic::from_utf8(bytes) {
                Ok(_) => None,
                Err(_) => first_invalid_utf8(bytes),
            },
            Encoding::Table(table) if self.plan.has_invalid_bytes && !bytes.is_ascii() => {
                bytes.iter().position(|&byte| table[usize::from(byte)].is_empty())
            }
            Encoding::Table(_) | Encoding::AnyByte => None,
        };
        nul.into_iter().chain(invalid).min()
    }

    fn account(&mut self) {
        let surveyor = self.surveyor.as_ref().map_or(0, Surveyor::memory);
        let now = self.boundaries.memory() + self.rows.memory() + self.written.capacity() + surveyor;
        self.shared.account(self.accounted, now);
        self.accounted = now;
    }
}

/// Where UTF-8 stops being valid.
#[cold]
fn first_invalid_utf8(bytes: &[u8]) -> Option<usize> {
    simdutf8::compat::from_utf8(bytes).err().map(|error| error.valid_up_to())
}
