//! Looking through a file: its beginning for how it is written, its records for what they hold.

use std::io;

use fastcsv_engine::convert::Settings;
use fastcsv_engine::dialect::Dialect;
use fastcsv_engine::infer::{Findings, Given, Sniffed, SniffedEncoding, Surveyor, sniff};
use fastcsv_engine::job::Syntax;
use fastcsv_engine::locate::Checkpoint;
use fastcsv_engine::scan::Level;
use fastcsv_engine::walk::Walker;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::content::{Content, InMemory};
use super::source::Opened;
use super::survey::{self, Survey};
use crate::file::{Change, Stamp};
use crate::header::BYTE_ORDER_MARK;
use crate::last_run::Run;
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

impl Failure {
    /// A file that is not as it should be.
    pub(super) fn bad_file(message: String) -> ErrorReport {
        report(PgSqlErrorCode::ERRCODE_BAD_COPY_FILE_FORMAT, message)
    }
}

impl From<ErrorReport> for Failure {
    fn from(error: ErrorReport) -> Failure {
        Failure::Said(Box::new(error))
    }
}

pub(super) fn out_of_memory() -> Failure {
    Failure::Read(io::ErrorKind::OutOfMemory.into())
}

/// A file's beginning.
pub(crate) struct Sample {
    pub(crate) sniffed: Sniffed,
    /// The settings that texts are read by.
    pub(crate) settings: Settings,
    /// Bytes looked at, and whether there are no more.
    pub(super) length: usize,
    pub(super) is_whole: bool,
    /// Where the second record starts.
    behind_first: Checkpoint,
    /// What the file was like then.
    pub(super) stamp: Stamp,
}

impl Sample {
    /// Looks at the beginning of a file, of which something is known.
    ///
    /// # Errors
    /// A [`Failure`].
    pub(crate) fn of(opened: &Opened, given: &Given) -> Result<Sample, Failure> {
        let stamp = opened.file().stamp()?;
        let settings = types::settings();
        for most in [SAMPLE, LONG_SAMPLE] {
            let mut bytes = Vec::new();
            let is_whole = Content::of(opened, stamp, 0)?.fill(&mut bytes, most)?;
            memory::expect_room(SAMPLE_FACTOR * bytes.len());
            let data = before_end_marker(&bytes);
            let is_all = is_whole || data.len() < bytes.len();
            let sniffed = sniff(data, is_all, given, &settings).map_err(|_| out_of_memory())?;
            if !sniffed.first.is_empty() || data.is_empty() {
                let mut sample =
                    Sample { sniffed, settings, length: bytes.len(), is_whole, behind_first: Checkpoint::START, stamp };
                if !data.is_empty() {
                    sample.behind_first = behind_first(&sample.dialect()?, data)?;
                }
                return Ok(sample);
            }
            if is_whole {
                break;
            }
        }
        let error = Failure::bad_file("the end of the file's first record was not found".to_owned());
        Err(error.set_detail("A quote may open in it and never close.").into())
    }

    /// Where the first record behind the header starts; without one, behind a byte order mark.
    pub(super) fn start(&self) -> Checkpoint {
        match (self.sniffed.header, self.has_bom()) {
            (true, _) => self.behind_first,
            (false, true) => Checkpoint { byte: BYTE_ORDER_MARK.len() as u64, ..Checkpoint::START },
            (false, false) => Checkpoint::START,
        }
    }

    /// Is the file in UTF-16?
    pub(super) fn is_utf16(&self) -> bool {
        matches!(self.sniffed.encoding, Some(SniffedEncoding::Utf16Le | SniffedEncoding::Utf16Be))
    }

    /// Does it begin with a byte order mark in UTF-8?
    pub(super) fn has_bom(&self) -> bool {
        self.sniffed.encoding == Some(SniffedEncoding::Utf8Bom)
    }

    /// The syntax in the worker's words, with the text of NULL.
    fn syntax(&self, null: &[u8]) -> Syntax {
        let Sniffed { delimiter, quote, escape, line_end, .. } = self.sniffed;
        let has_end_marker = pg_compat::CSV_HAS_END_MARKER;
        Syntax { delimiter, quote, escape, line_end, null: null.to_vec(), default: None, has_end_marker }
    }

    /// The dialect.
    ///
    /// # Errors
    /// If it is none: the delimiter that was given is the quote, say.
    pub(crate) fn dialect(&self) -> Result<Dialect, Failure> {
        self.sniffed.dialect().ok_or_else(|| {
            let message = "delimiter, quote and escape do not fit together";
            report(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message).into()
        })
    }
}

/// Where the second record starts.
fn behind_first(dialect: &Dialect, beginning: &[u8]) -> io::Result<Checkpoint> {
    let mut walker = Walker::new(dialect, level(), Checkpoint::START, beginning.len() as u64);
    walker.step(&InMemory(beginning))?;
    Ok(walker.at())
}

/// How a file's records are to be taken, where that is not its own business.
pub(super) struct Terms<'t> {
    /// Fields of a record.
    pub(super) fields: usize,
    /// The text of NULL, and whether nothing else may be it.
    pub(super) null: &'t [u8],
    pub(super) null_is_certain: bool,
}

/// What there is to say about a file.
pub(super) struct Looked {
    /// What its records hold, without the header.
    pub(super) findings: Findings,
    /// Whether the survey ended before the file did, at a record that has no end.
    pub(super) is_cut_off: bool,
    /// Line ends before the first record.
    pub(super) lines_before: u64,
    /// Whether only the beginning was looked at that is the sample.
    pub(super) is_sample: bool,
    pub(super) run: Run,
}

/// Looks through a file of which the beginning is known, and is not empty.
///
/// # Errors
/// A [`Failure`].
pub(super) fn through(opened: &Opened, sample: &mut Sample, terms: &Terms<'_>) -> Result<Looked, Failure> {
    let dialect = sample.dialect()?;
    if let Some(recoded) = sample.sniffed.recoded.take() {
        return through_recoded(&dialect, sample, terms, &recoded);
    }
    let job = Survey { opened, sample, dialect: &dialect, syntax: sample.syntax(terms.null), terms };
    let surveyed = survey::run(&job);
    let is_damaged = matches!(&surveyed, Err(Failure::Read(error)) if error.kind() == io::ErrorKind::InvalidData);
    if surveyed.is_ok() || is_damaged {
        match sample.stamp.change(opened.file().stamp()?) {
            Some(Change::Shorter) => return Err(Failure::Read(io::ErrorKind::UnexpectedEof.into())),
            Some(Change::Overwritten) if !is_damaged => return Err(Failure::Overwritten),
            Some(Change::Overwritten) | None => {}
        }
    }
    let (findings, is_cut_off, run) = surveyed?;
    Ok(Looked { findings, is_cut_off, lines_before: sample.start().line - 1, is_sample: false, run })
}

/// Looks through the beginning of a file that is in UTF-16.
fn through_recoded(dialect: &Dialect, sample: &Sample, terms: &Terms<'_>, recoded: &[u8]) -> Result<Looked, Failure> {
    let text = recoded.strip_prefix("\u{feff}".as_bytes()).unwrap_or(recoded);
    let Sniffed { line_end, header, .. } = sample.sniffed;
    let surveyor = Surveyor::new(dialect, Level::detect(), terms.fields, terms.null, true, &sample.settings);
    let surveyor = surveyor.map_err(|_| out_of_memory())?;
    let mut surveyor = surveyor.with_end_marker(pg_compat::CSV_HAS_END_MARKER);
    let mut start = 0;
    if header {
        start = surveyor.take(text, text.len(), 1).map_err(|_| out_of_memory())?;
    }
    let lines_before = surveyor.findings().lines;
    surveyor.clear();
    let whole = if sample.is_whole && !text.ends_with(line_end.bytes()) {
        [&text[start..], line_end.bytes()].concat()
    } else {
        text[start..].to_vec()
    };
    surveyor.take(&whole, whole.len(), u64::MAX).map_err(|_| out_of_memory())?;
    let findings = surveyor.into_findings();
    let (rows, bytes) = (findings.records, Some(sample.length as u64));
    let run = Run { rows, bytes, ..survey::serial("the file is in UTF-16") };
    Ok(Looked { findings, is_cut_off: false, lines_before, is_sample: !sample.is_whole, run })
}

/// What comes before an end-of-data marker, where this version of COPY has one. A look at the beginning need not tell
/// one from such a line in quotes.
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

/// The instruction set that is pinned, or the best.
pub(super) fn level() -> Level {
    settings::simd().and_then(|name| Level::from_name(name).ok()).unwrap_or_else(Level::detect)
}
