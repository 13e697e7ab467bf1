//! A look at a file's beginning: how it is written.
//!
//! Every guess about the syntax is tried by splitting the sample with it: a delimiter is right if the records it makes
//! all have the same number of fields, more than one, and better still if columns of values come out. Whether the first
//! record is a header is told by the types of the others: a name does not fit into a column of numbers.

mod encoding;
mod header;
mod syntax;

pub use encoding::SniffedEncoding;

use std::borrow::Cow;

use crate::convert::Settings;
use crate::dialect::{Dialect, LineEnd};
use crate::first_record::{FirstRecord, first_record};
use crate::tuple::OutOfMemory;

/// What the caller knows already.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The delimiter.
    pub delimiter: Option<u8>,
    /// The quote.
    pub quote: Option<u8>,
    /// The escape.
    pub escape: Option<u8>,
    /// The text of NULL.
    pub null: Option<Vec<u8>>,
    /// Whether the first record is a header.
    pub header: Option<bool>,
    /// Whether the encoding is known, so that it is not looked for.
    pub encoding: bool,
}

/// How a file seems to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// Its encoding, unless it was given.
    pub encoding: Option<SniffedEncoding>,
    /// The delimiter.
    pub delimiter: u8,
    /// The quote.
    pub quote: u8,
    /// The escape.
    pub escape: u8,
    /// The line end.
    pub line_end: LineEnd,
    /// Whether the first record is a header.
    pub header: bool,
    /// Whether that was only assumed: all columns are text.
    pub header_is_assumed: bool,
    /// The fields of the first record; none if the file is empty.
    pub first: Vec<Vec<u8>>,
    /// The text of NULL.
    pub null: Vec<u8>,
    /// The sample in UTF-8, if the file is in UTF-16.
    pub recoded: Option<Vec<u8>>,
}

impl Sniffed {
    /// The dialect.
    pub fn dialect(&self) -> Option<Dialect> {
        syntax::dialect(self.delimiter, self.quote, self.escape, self.line_end)
    }
}

/// Looks at the first bytes of a file; `is_whole` says that there are no more.
///
/// # Errors
/// If memory runs out.
pub fn sniff(sample: &[u8], is_whole: bool, given: &Given, settings: &Settings) -> Result<Sniffed, OutOfMemory> {
    let encoding = (!given.encoding).then(|| encoding::of(sample));
    let recoded = match encoding {
        Some(found) => encoding::to_utf8(sample, found)?,
        None => None,
    };
    let text = recoded.as_deref().unwrap_or(sample);
    let text = text.strip_prefix(encoding::BOM).unwrap_or(text);
    let syntax = syntax::find(text, is_whole, given, settings)?;
    let mut sniffed = Sniffed {
        encoding,
        delimiter: syntax.delimiter,
        quote: syntax.quote,
        escape: syntax.escape,
        line_end: syntax.line_end,
        header: given.header.unwrap_or(false),
        header_is_assumed: false,
        first: Vec::new(),
        null: given.null.clone().unwrap_or_default(),
        recoded: None,
    };
    let FirstRecord::Complete(first) = first_record(text, is_whole, syntax.delimiter, syntax.quote, syntax.escape)
    else {
        sniffed.recoded = recoded;
        return Ok(sniffed);
    };
    sniffed.first = first;
    let records = whole_records(text, is_whole, syntax.line_end)?;
    let mut surveyor = syntax.surveyor(sniffed.first.len(), &sniffed.null, given.null.is_some(), settings)?;
    let first_length = surveyor.take(&records, records.len(), 1)?;
    let with_first = surveyor.findings().clone();
    surveyor.clear();
    surveyor.take(&records[first_length..], records.len(), u64::MAX)?;
    if given.header.is_none() {
        (sniffed.header, sniffed.header_is_assumed) = header::decide(&sniffed.first, surveyor.findings(), settings);
    }
    if given.null.is_none() {
        let mut data = if sniffed.header { surveyor.findings().clone() } else { with_first };
        if !sniffed.header {
            data.merge(surveyor.into_findings());
        }
        sniffed.null = data.null_word().map(|word| word.as_bytes().to_vec()).unwrap_or_default();
    }
    sniffed.recoded = recoded;
    Ok(sniffed)
}

/// The sample, its last record ended if the file ends there.
fn whole_records(text: &[u8], is_whole: bool, line_end: LineEnd) -> Result<Cow<'_, [u8]>, OutOfMemory> {
    if !is_whole || text.ends_with(line_end.bytes()) {
        return Ok(Cow::Borrowed(text));
    }
    let mut ended = Vec::new();
    ended.try_reserve_exact(text.len() + 2).map_err(|_| OutOfMemory)?;
    ended.extend_from_slice(text);
    ended.extend_from_slice(line_end.bytes());
    Ok(Cow::Owned(ended))
}
