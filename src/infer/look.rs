//! Looking through a file: its beginning for how it is written, its records for what they hold.

use std::io;

use fastcsv_engine::convert::Settings;
use fastcsv_engine::dialect::Dialect;
use fastcsv_engine::infer::{Findings, Sniffed, SniffedEncoding, Surveyor, sniff};
use fastcsv_engine::job::Syntax;
use fastcsv_engine::locate::Checkpoint;
use fastcsv_engine::pipeline::ReadAt;
use fastcsv_engine::scan::Level;
use fastcsv_engine::walk::Walker;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::source::Opened;
use super::survey::{self, Survey};
use crate::file::{Borrowed, Change, Stamp};
use crate::options::report;
use crate::{memory, pg_compat, settings, types};

/// Bytes of a file's beginning that are looked at: enough records that what all of them say is so.
const SAMPLE: usize = 256 * 1024;

/// As many where the first record does not end in those.
const LONG_SAMPLE: usize = 16 * 1024 * 1024;

/// What looking at so many bytes takes in memory, in multiples: themselves, recoded, and a list of all fields.
const SAMPLE_FACTOR: usize = 8;

/// Why a file could not be looked through.
pub(crate) enum Failure {
    /// It could not be read.
    Read(io::Error),
    /// It was written to meanwhile.
    Overwritten,
    /// Something that only we say.
    Said(Box<ErrorReport>),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Read(error)
    }
}

fn out_of_memory() -> Failure {
    Failure::Read(io::ErrorKind::OutOfMemory.into())
}

/// A file's beginning.
pub(crate) struct Sample {
    pub(crate) sniffed: Sniffed,
    /// The settings that texts are read by.
    pub(crate) settings: Settings,
    /// Bytes looked at.
    length: usize,
    /// What the file was like then.
    stamp: Stamp,
}

impl Sample {
    /// Looks at the beginning of a file.
    ///
    /// # Errors
    /// A [`Failure`].
    pub(crate) fn of(opened: &Opened) -> Result<Sample, Failure> {
        let file = opened.file();
        let stamp = file.stamp()?;
        let (given, settings) = (opened.given(), types::settings());
        for most in [SAMPLE, LONG_SAMPLE] {
            memory::expect_room(SAMPLE_FACTOR * most.min(usize::try_from(stamp.size).unwrap_or(most)));
            let bytes = read_start(&file, stamp.size, most)?;
            let is_whole = bytes.len() as u64 == stamp.size;
            let data = before_end_marker(&bytes);
            let is_all = is_whole || data.len() < bytes.len();
            let sniffed = sniff(data, is_all, &given, &settings).map_err(|_| out_of_memory())?;
            if !sniffed.first.is_empty() || data.is_empty() {
                return Ok(Sample { sniffed, settings, length: bytes.len(), stamp });
            }
            if is_whole {
                break;
            }
        }
        let error =
            report(PgSqlErrorCode::ERRCODE_BAD_COPY_FILE_FORMAT, "the end of the file's first record was not found");
        Err(Failure::Said(Box::new(error.set_detail("A quote may open in it and never close."))))
    }

    /// Is the file in UTF-16?
    pub(super) fn is_utf16(&self) -> bool {
        matches!(self.sniffed.encoding, Some(SniffedEncoding::Utf16Le | SniffedEncoding::Utf16Be))
    }

    /// Does it begin with a byte order mark in UTF-8?
    pub(super) fn has_bom(&self) -> bool {
        self.sniffed.encoding == Some(SniffedEncoding::Utf8Bom)
    }

    /// The file's size.
    pub(super) fn size(&self) -> u64 {
        self.stamp.size
    }

    /// The syntax in the worker's words.
    pub(super) fn syntax(&self) -> Syntax {
        let Sniffed { delimiter, quote, escape, line_end, .. } = self.sniffed;
        Syntax {
            delimiter,
            quote,
            escape,
            line_end,
            null: self.sniffed.null.clone(),
            default: None,
            has_end_marker: pg_compat::CSV_HAS_END_MARKER,
        }
    }

    /// The dialect.
    ///
    /// # Errors
    /// If it is none: the delimiter that was given is the quote, say.
    pub(crate) fn dialect(&self) -> Result<Dialect, Failure> {
        self.sniffed.dialect().ok_or_else(|| {
            let message = "delimiter, quote and escape do not fit together";
            Failure::Said(Box::new(report(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)))
        })
    }
}

/// What there is to say about a file.
pub(crate) struct Looked {
    pub(crate) sample: Sample,
    /// What its records hold, without the header.
    pub(crate) findings: Findings,
    /// Line ends before the first of them.
    pub(crate) lines_before: u64,
    /// Whether the survey ended before the file did, at a record that has no end.
    pub(crate) is_cut_off: bool,
    /// The bytes surveyed, if that is only the file's beginning.
    pub(crate) only: Option<usize>,
}

/// Looks through a file of which the beginning is known.
///
/// # Errors
/// A [`Failure`].
pub(super) fn through(opened: &Opened, mut sample: Sample) -> Result<Looked, Failure> {
    let dialect = sample.dialect()?;
    if sample.sniffed.first.is_empty() {
        let findings = Findings::default();
        return Ok(Looked { sample, findings, lines_before: 0, is_cut_off: false, only: None });
    }
    if let Some(recoded) = sample.sniffed.recoded.take() {
        return through_recoded(&dialect, sample, &recoded);
    }
    let file = opened.file();
    let start = start_of_data(&file, &dialect, &sample)?;
    let null_is_certain = opened.request.null.is_some() || !sample.sniffed.null.is_empty();
    let mut job = Survey {
        syntax: sample.syntax(),
        fields: sample.sniffed.first.len(),
        null_is_certain,
        settings: &sample.settings,
        start: start.byte,
        size: sample.stamp.size,
        most: opened.request.most,
    };
    let (mut findings, mut is_cut_off) = survey::run(&job, &dialect, &file)?;
    if !null_is_certain && let Some(word) = findings.null_word() {
        // The beginning did not show it. What is NULL now was counted as a value.
        job.syntax.null = word.as_bytes().to_vec();
        job.null_is_certain = true;
        (findings, is_cut_off) = survey::run(&job, &dialect, &file)?;
        sample.sniffed.null = word.as_bytes().to_vec();
    }
    match sample.stamp.change(file.stamp()?) {
        None => {}
        Some(Change::Shorter) => return Err(Failure::Read(io::ErrorKind::UnexpectedEof.into())),
        Some(Change::Overwritten) => return Err(Failure::Overwritten),
    }
    Ok(Looked { sample, findings, lines_before: start.line - 1, is_cut_off, only: None })
}

/// Looks through the beginning of a file that is in UTF-16.
fn through_recoded(dialect: &Dialect, sample: Sample, recoded: &[u8]) -> Result<Looked, Failure> {
    let text = recoded.strip_prefix("\u{feff}".as_bytes()).unwrap_or(recoded);
    let Sniffed { first, null, line_end, .. } = &sample.sniffed;
    let surveyor = Surveyor::new(dialect, Level::detect(), first.len(), null, true, &sample.settings);
    let surveyor = surveyor.map_err(|_| out_of_memory())?;
    let mut surveyor = surveyor.with_end_marker(pg_compat::CSV_HAS_END_MARKER);
    let mut start = 0;
    if sample.sniffed.header {
        start = surveyor.take(text, text.len(), 1).map_err(|_| out_of_memory())?;
    }
    let lines_before = surveyor.findings().lines;
    surveyor.clear();
    let whole = if sample.length as u64 == sample.stamp.size && !text.ends_with(line_end.bytes()) {
        [&text[start..], line_end.bytes()].concat()
    } else {
        text[start..].to_vec()
    };
    surveyor.take(&whole, whole.len(), u64::MAX).map_err(|_| out_of_memory())?;
    let only = (sample.length as u64 != sample.stamp.size).then_some(sample.length);
    Ok(Looked { findings: surveyor.into_findings(), sample, lines_before, is_cut_off: false, only })
}

/// Where the first record behind the header starts.
fn start_of_data(file: &Borrowed, dialect: &Dialect, sample: &Sample) -> Result<Checkpoint, Failure> {
    let mut walker = Walker::new(dialect, Level::detect(), Checkpoint::START, sample.stamp.size);
    if sample.sniffed.header {
        walker.step(&Interruptible(file))?;
    }
    Ok(walker.at())
}

/// What comes before an end-of-data marker, where this version of COPY has one. A look at the beginning need not tell one from such a line
/// in quotes.
fn before_end_marker(bytes: &[u8]) -> &[u8] {
    if !pg_compat::CSV_HAS_END_MARKER {
        return bytes;
    }
    let is_line_end = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
    let is_line = |&place: &usize| {
        is_line_end(place.checked_sub(1).and_then(|before| bytes.get(before))) && is_line_end(bytes.get(place + 2))
    };
    let markers = bytes.windows(2).enumerate().filter(|(_, pair)| *pair == b"\\.");
    markers.map(|(place, _)| place).find(is_line).map_or(bytes, |place| &bytes[..place])
}

/// Reads the first bytes of a file.
fn read_start(file: &Borrowed, size: u64, most: usize) -> io::Result<Vec<u8>> {
    let length = usize::try_from(size).unwrap_or(most).min(most);
    let mut bytes = memory::zeroed(length).ok_or(io::ErrorKind::OutOfMemory)?;
    let mut filled = 0;
    while filled < length {
        match Interruptible(file).read_at(&mut bytes[filled..], filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(bytes)
}

/// A file that is read by somebody who can be cancelled.
pub(super) struct Interruptible<'f>(pub(super) &'f Borrowed);

impl ReadAt for Interruptible<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        pgrx::check_for_interrupts!();
        if memory::ran_out() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.0.read_at(buffer, offset)
    }
}

/// The instruction set that is pinned, or the best.
pub(super) fn level() -> Level {
    settings::simd().and_then(|name| Level::from_name(name).ok()).unwrap_or_else(Level::detect)
}
