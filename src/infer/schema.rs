//! What was found out about a file, in SQL's words and the server's encoding.

#![expect(unsafe_code, reason = "makes datums")]

use std::ffi::{CStr, c_int};

use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::infer::{Doubt, Evidence, Reading, Sniffed, SniffedEncoding, Verdict, names};
use pgrx::pg_sys;

use super::look::Sample;
use super::source::Opened;
use super::together::{First, Letters, Together};
use crate::{encoding, pg_compat};

/// The bytes from 0x80 to 0x9f that Windows-1252 does not have, as bits.
const NOT_IN_1252: u32 = 1 << 0x01 | 1 << 0x0d | 1 << 0x0f | 1 << 0x10 | 1 << 0x1d;

/// A file's columns, and how it is written.
pub(crate) struct Schema {
    pub(crate) columns: Vec<SchemaColumn>,
    pub(crate) delimiter: u8,
    pub(crate) quote: u8,
    pub(crate) escape: u8,
    pub(crate) null: Vec<u8>,
    pub(crate) header: bool,
    /// The encoding's name in PostgreSQL; `None` if it is one that PostgreSQL cannot read.
    pub(crate) encoding: Option<&'static str>,
    line_end: LineEnd,
    notes: Vec<Vec<u8>>,
}

/// One column.
pub(crate) struct SchemaColumn {
    /// Its name in SQL, not quoted.
    pub(crate) name: Vec<u8>,
    /// What the header calls it.
    pub(crate) header: Option<Vec<u8>>,
    pub(crate) verdict: Verdict,
    /// Fields that are not NULL.
    pub(crate) values: u64,
    pub(crate) samples: Vec<Vec<u8>>,
    /// Why it has its type.
    pub(crate) reason: Option<Vec<u8>>,
}

impl Schema {
    /// Puts what was seen into words.
    pub(super) fn of(seen: Together) -> Schema {
        let first = seen.first.as_ref().expect("a name stands for one file at least");
        let (number, name) = files_encoding(first, &seen);
        let here = |bytes: &[u8]| to_server(number, bytes);
        let sniffed = &first.sniffed;
        let headers: Vec<Vec<u8>> = sniffed.first.iter().map(|field| here(field)).collect();
        let texts: Vec<String> = match sniffed.header {
            true => headers.iter().map(|header| String::from_utf8_lossy(header).into_owned()).collect(),
            false => vec![String::new(); headers.len()],
        };
        // SAFETY: reads a setting.
        let is_utf8 = unsafe { pg_sys::GetDatabaseEncoding() } == pg_sys::pg_enc::PG_UTF8.cast_signed();
        let names = names::names(&texts, !is_utf8);
        let findings = &seen.findings;
        let verdicts = findings.verdicts();
        let notes = notes(&seen, sniffed, name, &verdicts);
        let columns = names.into_iter().zip(headers).zip(verdicts).zip(&findings.columns);
        let columns = columns.map(|(((name, header), verdict), column)| SchemaColumn {
            name: name.into_bytes(),
            header: sniffed.header.then_some(header),
            values: findings.records.saturating_sub(verdict.nulls),
            samples: column.samples.iter().map(|sample| here(sample)).collect(),
            reason: reason(&verdict, &seen, &here),
            verdict,
        });
        Schema {
            columns: columns.collect(),
            delimiter: sniffed.delimiter,
            quote: sniffed.quote,
            escape: sniffed.escape,
            null: sniffed.null.clone(),
            header: sniffed.header,
            encoding: name,
            line_end: sniffed.line_end,
            notes,
        }
    }

    /// COPY's options for the file that are not COPY's defaults, by name, and the encoding.
    pub(crate) fn options(&self) -> Vec<(&'static CStr, Vec<u8>)> {
        let mut options = vec![(c"header", if self.header { b"true".to_vec() } else { b"false".to_vec() })];
        if self.delimiter != b',' {
            options.push((c"delimiter", vec![self.delimiter]));
        }
        if self.quote != b'"' {
            options.push((c"quote", vec![self.quote]));
        }
        if self.escape != self.quote {
            options.push((c"escape", vec![self.escape]));
        }
        if !self.null.is_empty() {
            options.push((c"null", self.null.clone()));
        }
        if let Some(encoding) = self.encoding {
            options.push((c"encoding", encoding.as_bytes().to_vec()));
        }
        options
    }

    /// How the file is written, and what there is to say about it: COPY's options first.
    pub(super) fn dialect_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let delimiter = [(c"delimiter", vec![self.delimiter])];
        let others = self.options().into_iter().filter(|(name, _)| *name != c"delimiter");
        for (index, (name, value)) in delimiter.into_iter().chain(others).enumerate() {
            text.extend_from_slice(if index > 0 { b", " } else { b"" });
            text.extend_from_slice(name.to_bytes());
            text.push(b' ');
            match name.to_bytes() {
                b"header" => text.extend_from_slice(&value),
                _ => text.extend_from_slice(&literal(&value)),
            }
        }
        let line_end = match self.line_end {
            LineEnd::Lf => "LF",
            LineEnd::CrLf => "CRLF",
            LineEnd::Cr => "CR",
        };
        text.extend_from_slice(format!("; lines end in {line_end}").as_bytes());
        for note in &self.notes {
            text.extend_from_slice(b"; ");
            text.extend_from_slice(note);
        }
        text
    }
}

/// A text as an SQL literal that shows control characters.
pub(crate) fn literal(text: &[u8]) -> Vec<u8> {
    let is_plain = text.iter().all(|byte| !byte.is_ascii_control() && *byte != b'\\');
    let mut literal = if is_plain { b"'".to_vec() } else { b"E'".to_vec() };
    for &byte in text {
        match byte {
            b'\t' => literal.extend_from_slice(b"\\t"),
            b'\\' | b'\'' => literal.extend_from_slice(&[byte, byte]),
            0..0x20 | 0x7f => literal.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
            _ => literal.push(byte),
        }
    }
    literal.push(b'\'');
    literal
}

/// The files' encoding, as PostgreSQL numbers and names it; UTF-16, which it has no name for, is UTF-8 by the time it
/// is read.
fn files_encoding(first: &First, seen: &Together) -> (c_int, Option<&'static str>) {
    if first.sniffed.encoding.is_none() && !first.is_utf16 {
        return (first.copy_encoding, pg_compat::encoding_name(first.copy_encoding).to_str().ok());
    }
    let is_single_byte = matches!(seen.letters, Some((Letters::SingleByte, _)));
    match first.encoding {
        UTF8 if first.is_utf16 => (UTF8, Some("UTF16")),
        UTF8 if !is_single_byte => (UTF8, Some("UTF8")),
        _ if seen.findings.controls == 0 || seen.findings.controls & NOT_IN_1252 != 0 => (LATIN1, Some("LATIN1")),
        _ => (WIN1252, Some("WIN1252")),
    }
}

/// The encoding of what was looked at of a file's beginning, as PostgreSQL numbers it.
pub(super) fn sampled_encoding(opened: &Opened, sample: &Sample) -> c_int {
    match sample.sniffed.encoding {
        None => opened.view.encoding,
        Some(SniffedEncoding::SingleByte) => WIN1252,
        // What was looked at of a file in UTF-16 is UTF-8 by now.
        Some(_) => UTF8,
    }
}

pub(super) const UTF8: c_int = pg_sys::pg_enc::PG_UTF8.cast_signed();
const LATIN1: c_int = pg_sys::pg_enc::PG_LATIN1.cast_signed();
const WIN1252: c_int = pg_sys::pg_enc::PG_WIN1252.cast_signed();

/// Bytes of the file in the server's encoding, as far as they can be. What is cut off in a character ends before it.
pub(super) fn to_server(number: c_int, bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..memchr_nul(bytes)];
    let converted = encoding::to_server(number, bytes).unwrap_or_default();
    // SAFETY: looks at so many bytes.
    let valid = unsafe {
        let server = pg_sys::GetDatabaseEncoding();
        pg_sys::pg_encoding_verifymbstr(server, converted.as_ptr().cast(), converted.len() as c_int)
    };
    converted[..usize::try_from(valid).unwrap_or(0).min(converted.len())].to_vec()
}

fn memchr_nul(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())
}

/// Why a column has its type.
fn reason(verdict: &Verdict, seen: &Together, here: &dyn Fn(&[u8]) -> Vec<u8>) -> Option<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut say = |evidence: &Evidence, what: &str| {
        parts.push([&seen.place(evidence.line)[..], b": \"", &here(&evidence.value), b"\" ", what.as_bytes()].concat());
    };
    if let Some(evidence) = &verdict.evidence {
        match evidence.ruled_out {
            Some(ruled_out) => say(evidence, &format!("is not {}", ruled_out.name())),
            None => say(evidence, "is text"),
        }
    }
    if let Some(evidence) = &verdict.order {
        say(evidence, if verdict.reading == Reading::DayFirst { "has the day first" } else { "has the month first" });
    }
    let reading = match verdict.reading {
        Reading::DayOrMonth => Some("day and month cannot be told apart; DateStyle decides"),
        Reading::DayFirst if verdict.order.is_none() => Some("the day first, as in another column"),
        Reading::MonthFirst if verdict.order.is_none() => Some("the month first, as in another column"),
        Reading::DecimalComma => Some("decimal comma"),
        Reading::ThousandsComma => Some("commas between thousands"),
        Reading::Plain | Reading::DayFirst | Reading::MonthFirst => None,
    };
    let doubt = match verdict.doubt {
        Some(Doubt::NoValues) => Some("no values"),
        Some(Doubt::PointOrThousands) => Some("a comma may be a decimal comma or stand between thousands"),
        Some(Doubt::OneTruthWord) => Some("one truth word only, which may be any text"),
        None => None,
    };
    let quoted = verdict.has_quoted_nulls.then_some("quoted NULLs (force_null)");
    parts.extend([reading, doubt, quoted].into_iter().flatten().map(|text| text.as_bytes().to_vec()));
    (!parts.is_empty()).then(|| parts.join(&b"; "[..]))
}

/// What else there is to say about the files.
fn notes(seen: &Together, sniffed: &Sniffed, encoding: Option<&str>, verdicts: &[Verdict]) -> Vec<Vec<u8>> {
    let findings = &seen.findings;
    let mut notes: Vec<Vec<u8>> = Vec::new();
    let mut note = |parts: Option<Vec<&[u8]>>| notes.extend(parts.map(|parts| parts.concat()));
    let several = format!("{} files", seen.parts.len());
    note(seen.are_several().then(|| vec![several.as_bytes()]));
    note(match sniffed.encoding {
        Some(SniffedEncoding::Utf8Bom) => Some(vec![b"a byte order mark comes first"]),
        Some(SniffedEncoding::Utf16Le) => Some(vec![b"UTF-16, low byte first, which COPY cannot read"]),
        Some(SniffedEncoding::Utf16Be) => Some(vec![b"UTF-16, high byte first, which COPY cannot read"]),
        _ => None,
    });
    let only = seen.only.map(|bytes| format!("only the first {bytes} bytes were looked at"));
    note(only.as_ref().map(|only| vec![only.as_bytes()]));
    note(sniffed.header_is_assumed.then(|| match sniffed.header {
        true => vec![&b"the header is only assumed: all columns are text"[..]],
        false => vec![&b"that there is no header is only assumed"[..]],
    }));
    let comma = verdicts.iter().any(|verdict| verdict.reading == Reading::DecimalComma);
    note(comma.then(|| vec![&b"decimal comma"[..]]));
    if let Some(first) = findings.first_ragged {
        let many = format!("{} records do not have {} fields, the first in ", findings.ragged, sniffed.first.len());
        let few = format!(" has {}", first.fields);
        note(Some(vec![many.as_bytes(), &seen.place(first.line), few.as_bytes()]));
    }
    let bad_byte = findings.not_utf8.filter(|_| encoding == Some("UTF8"));
    note(bad_byte.map(|at| seen.place(at)).as_ref().map(|place| vec![&place[..], b" is not UTF-8"]));
    note(findings.nul.map(|at| seen.place(at)).as_ref().map(|place| vec![&place[..], b" has a NUL byte"]));
    let stray = findings.stray.map(|at| seen.place(at));
    note(stray.as_ref().map(|place| vec![&place[..], b" ends, or has within, another line end"]));
    for place in seen.open_records() {
        note(Some(vec![b"the record in ", &place, b" does not end: a quote opens in it and never closes"]));
    }
    notes
}

/// A `text` in the current memory context.
pub(crate) fn text_datum(text: &[u8]) -> pg_sys::Datum {
    let length = c_int::try_from(text.len()).expect("a text of ours is short");
    // SAFETY: so many bytes are copied.
    unsafe { pg_sys::Datum::from(pg_sys::cstring_to_text_with_len(text.as_ptr().cast(), length)) }
}

/// A `text[]` in the current memory context; `None` is NULL.
pub(crate) fn text_array<'t>(texts: impl Iterator<Item = Option<&'t [u8]>>) -> pg_sys::Datum {
    let (mut values, mut nulls): (Vec<pg_sys::Datum>, Vec<bool>) =
        texts.map(|text| (text.map_or(pg_sys::Datum::null(), text_datum), text.is_none())).unzip();
    let (mut count, mut bound) = (values.len() as c_int, 1);
    let align = pg_sys::TYPALIGN_INT as std::ffi::c_char;
    // SAFETY: both arrays have `count` elements; the type is one whose storage is known.
    unsafe {
        let array = pg_sys::construct_md_array(
            values.as_mut_ptr(),
            nulls.as_mut_ptr(),
            1,
            &mut count,
            &mut bound,
            pg_sys::TEXTOID,
            -1,
            false,
            align,
        );
        pg_sys::Datum::from(array)
    }
}
