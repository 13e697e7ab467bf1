//! The survey of records: structure by the scan, each field to its column.
//!
//! Nothing is an error here. What COPY would refuse (a line end of another style, an invalid byte, a record with
//! another number of fields) is noted with its line, and COPY will say it in its own words when somebody reads the
//! file.

use super::classify::Classifier;
use super::column::Shared;
use super::findings::{Findings, Ragged};
use crate::convert::{Scratch, Settings};
use crate::dialect::{Dialect, LineEnd};
use crate::record::unquote;
use crate::scan::{Boundaries, Level, QUOTED, Scanner, State};
use crate::tuple::OutOfMemory;

/// Surveys records, chunk by chunk.
pub struct Surveyor {
    scanner: Scanner,
    line_end: LineEnd,
    quote: u8,
    escape: u8,
    null: Vec<u8>,
    null_is_certain: bool,
    has_end_marker: bool,
    classifier: Classifier,
    boundaries: Boundaries,
    findings: Findings,
    unquoted: Vec<u8>,
    scratch: Scratch,
}

impl Surveyor {
    /// A survey of records of so many fields, by COPY's rules for quotes. Unless it is certain what stands for NULL,
    /// some usual words are noted as what else may.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(
        dialect: &Dialect,
        level: Level,
        fields: usize,
        null: &[u8],
        null_is_certain: bool,
        settings: &Settings,
    ) -> Result<Surveyor, OutOfMemory> {
        let quote = dialect.quote().unwrap_or(b'"');
        Ok(Surveyor {
            scanner: Scanner::new(dialect, level),
            line_end: dialect.line_end(),
            quote,
            escape: dialect.escape().unwrap_or(quote),
            null: null.to_vec(),
            null_is_certain,
            has_end_marker: false,
            classifier: Classifier::new(settings),
            boundaries: Boundaries::new(),
            findings: Findings::new(fields)?,
            unquoted: Vec::new(),
            scratch: Scratch::default(),
        })
    }

    /// Whether a record of `\.` is an end-of-data marker, as in some versions of COPY.
    pub fn with_end_marker(self, has_end_marker: bool) -> Surveyor {
        Surveyor { has_end_marker, ..self }
    }

    /// What was found since the last [`Surveyor::clear`].
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The findings themselves.
    pub fn into_findings(self) -> Findings {
        self.findings
    }

    /// Forgets what was found.
    pub fn clear(&mut self) {
        self.findings.clear();
    }

    /// Bytes of memory it holds.
    pub(crate) fn memory(&self) -> usize {
        let built = self.unquoted.capacity() + self.scratch.memory();
        self.boundaries.memory() + self.findings.memory() + built
    }

    /// Takes whole records from the start of `bytes`, where one starts: those that begin before `limit`, and at most so
    /// many. Returns the bytes taken; 0 if no record ends in them.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn take(&mut self, bytes: &[u8], limit: usize, most: u64) -> Result<usize, OutOfMemory> {
        let mut state = State::at_record(0);
        self.scanner.scan(&mut state, bytes, &mut self.boundaries);
        if self.boundaries.is_exhausted() {
            return Err(OutOfMemory);
        }
        let boundaries = std::mem::take(&mut self.boundaries);
        let end = end_of_records(&boundaries, limit, most);
        let taken = &bytes[..end];
        let is_simple = count(self.line_end.line_byte(), taken) == count_records(&boundaries, end);
        let before = self.findings.lines;
        let looked_at = self.take_records(taken, &boundaries, is_simple);
        if let Ok(looked_at) = looked_at {
            self.note_bytes(&taken[..looked_at], before, state.stray().filter(|stray| *stray < looked_at as u64));
        }
        self.boundaries = boundaries;
        looked_at.map(|_| end)
    }

    /// Returns the bytes up to an end-of-data marker, or all.
    fn take_records(&mut self, bytes: &[u8], boundaries: &Boundaries, is_simple: bool) -> Result<usize, OutOfMemory> {
        let ends = boundaries.ends();
        let end_bytes = self.line_end.bytes().len();
        let (mut start, mut first_field) = (0, 0);
        for &fields in boundaries.records() {
            let fields = fields as usize;
            let end = (ends[fields - 1] & !QUOTED) as usize + 1;
            if end > bytes.len() || self.findings.has_ended {
                break;
            }
            if self.has_end_marker && &bytes[start..end - end_bytes] == b"\\." {
                self.findings.has_ended = true;
                break;
            }
            self.take_record(&bytes[..end], start, &ends[first_field..fields], end_bytes)?;
            let lines = if is_simple { 1 } else { count(self.line_end.line_byte(), &bytes[start..end]) as u64 };
            self.findings.lines += lines;
            self.findings.records += 1;
            (start, first_field) = (end, fields);
        }
        Ok(start)
    }

    #[inline]
    fn take_record(&mut self, bytes: &[u8], start: usize, ends: &[u32], end_bytes: usize) -> Result<(), OutOfMemory> {
        let shared = Shared { classifier: &self.classifier, null: &self.null, null_is_certain: self.null_is_certain };
        let line = self.findings.lines;
        if ends.len() != self.findings.columns.len() {
            self.findings.ragged += 1;
            self.findings.first_ragged.get_or_insert(Ragged { line, fields: ends.len() as u64 });
        }
        let mut from = start;
        let last = ends.len() - 1;
        for (index, (&end, column)) in ends.iter().zip(&mut self.findings.columns).enumerate() {
            let behind = (end & !QUOTED) as usize + 1;
            let raw = &bytes[from..behind - if index == last { end_bytes } else { 1 }];
            from = behind;
            let is_quoted = end & QUOTED != 0;
            let content = if is_quoted { unquote(raw, self.quote, self.escape, &mut self.unquoted)? } else { raw };
            column.take(content, is_quoted, line, &shared, &mut self.scratch);
        }
        Ok(())
    }

    /// Notes what is wrong with the bytes of records, of which the first starts on `line`.
    fn note_bytes(&mut self, bytes: &[u8], line: u64, stray: Option<u64>) {
        let line_byte = self.line_end.line_byte();
        let line_of = |place: usize| line + count(line_byte, &bytes[..place]) as u64;
        if let Some(stray) = stray {
            self.findings.stray.get_or_insert_with(|| line_of(stray as usize));
        }
        if let Some(nul) = memchr::memchr(0, bytes) {
            self.findings.nul.get_or_insert_with(|| line_of(nul));
        }
        if bytes.is_ascii() {
            return;
        }
        self.findings.beyond_ascii = true;
        if simdutf8::basic::from_utf8(bytes).is_err() {
            let invalid = simdutf8::compat::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
            self.findings.not_utf8.get_or_insert_with(|| line_of(invalid));
            for byte in bytes.iter().filter(|byte| matches!(byte, 0x80..0xa0)) {
                self.findings.controls |= 1 << (byte - 0x80);
            }
        }
    }
}

fn count(byte: u8, bytes: &[u8]) -> usize {
    memchr::memchr_iter(byte, bytes).count()
}

/// The end of the last record that is taken.
fn end_of_records(boundaries: &Boundaries, limit: usize, most: u64) -> usize {
    let ends = boundaries.ends();
    let end = |fields: &u32| (ends[*fields as usize - 1] & !QUOTED) as usize + 1;
    let records = boundaries.records();
    let records = &records[..records.len().min(usize::try_from(most).unwrap_or(usize::MAX))];
    // The last record that starts before the limit: the first that ends at it or behind it.
    let whole = records.partition_point(|fields| end(fields) < limit);
    let last = records.get(whole).or_else(|| records.last());
    last.map_or(0, end)
}

/// How many records end in the first so many bytes.
fn count_records(boundaries: &Boundaries, bytes: usize) -> usize {
    let ends = boundaries.ends();
    boundaries.records().partition_point(|fields| ((ends[*fields as usize - 1] & !QUOTED) as usize) < bytes)
}
