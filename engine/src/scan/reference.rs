//! The reference: one byte at a time, the whole input at hand, every dialect.
//!
//! This is the specification that the fast scans are tested against. It may look ahead, keeps no state over buffers and
//! uses none of their tables or masks, so that nothing is shared that could be wrong in both.

use super::{Block, Sink};
use crate::dialect::{Dialect, Quoting};

/// Everything a scan reports, as absolute positions: what the reference returns, and a sink that collects the same from
/// any other scan. The fields are those of [`Block`] and [`State`](super::State).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The last byte of each delimiter or line end that ends a field.
    pub ends: Vec<u64>,
    /// Those that end a record or a comment line.
    pub records: Vec<u64>,
    /// Those that end a comment line.
    pub comments: Vec<u64>,
    /// Those whose field holds a quote.
    pub quoted: Vec<u64>,
    /// Quotes that open quoting.
    pub opens: Vec<u64>,
    /// Line ends inside quotes that COPY counts.
    pub inner: Vec<u64>,
    /// Physical line ends.
    pub lines: u64,
    /// The first stray line end.
    pub stray: Option<u64>,
    /// The first malformed quoting.
    pub malformed: Option<u64>,
    /// Whether the input ends inside quotes.
    pub in_quotes: bool,
    /// Where the buffer being collected starts.
    base: u64,
}

impl Outline {
    /// Takes over what the state of a finished scan knows.
    #[must_use]
    pub fn closed_by(self, state: &super::State) -> Outline {
        Outline {
            lines: state.lines(),
            stray: state.stray(),
            malformed: state.malformed(),
            in_quotes: state.in_quotes(),
            base: 0,
            ..self
        }
    }
}

impl Sink for Outline {
    fn begin(&mut self, position: u64, _length: usize) {
        self.base = position;
    }

    fn block(&mut self, offset: usize, block: Block) {
        let start = self.base + offset as u64;
        let lists = [
            (&mut self.ends, block.ends),
            (&mut self.records, block.records),
            (&mut self.comments, block.comments),
            (&mut self.quoted, block.quoted),
            (&mut self.opens, block.opens),
            (&mut self.inner, block.inner),
        ];
        for (list, mut mask) in lists {
            while mask != 0 {
                list.push(start + u64::from(mask.trailing_zeros()));
                mask &= mask - 1;
            }
        }
    }
}

/// Where in a record the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    RecordStart,
    FieldStart,
    InField,
    InQuotes,
    /// Behind a closing quote, where quoting is not a toggle.
    AfterQuotes,
    InComment,
}

/// The outline of an input that starts at a record, or inside quotes.
pub fn outline(dialect: &Dialect, inside_quotes: bool, input: &[u8]) -> Outline {
    let place = if inside_quotes { Place::InQuotes } else { Place::RecordStart };
    let mut walk = Walk { dialect, input, at: 0, place, field_quoted: inside_quotes, found: Outline::default() };
    while walk.at < input.len() {
        match walk.place {
            Place::InComment => walk.in_comment(),
            Place::InQuotes => walk.in_quotes(),
            _ => walk.outside(),
        }
    }
    walk.found.in_quotes = walk.place == Place::InQuotes;
    let line_byte = dialect.line_end().line_byte();
    walk.found.lines = input.iter().filter(|&&byte| byte == line_byte).count() as u64;
    walk.found
}

struct Walk<'a> {
    dialect: &'a Dialect,
    input: &'a [u8],
    at: usize,
    place: Place,
    field_quoted: bool,
    found: Outline,
}

impl Walk<'_> {
    fn rest(&self) -> &[u8] {
        &self.input[self.at..]
    }

    fn in_comment(&mut self) {
        if !self.line_end() {
            self.at += 1;
        }
    }

    fn in_quotes(&mut self) {
        let (quote, escape) = (self.dialect.quote(), self.dialect.escape());
        let byte = self.rest().first().copied();
        let next = self.rest().get(1).copied();
        let escapes = byte == escape && next.is_some() && (next == quote || next == escape);
        let toggles = self.dialect.quoting() == Quoting::Toggle;
        // Under Toggle a doubled quote closes and opens again, which leaves the same trace as in COPY's own reader.
        if escapes && !(toggles && self.dialect.doubles_quotes()) {
            self.quoted_bytes(2);
        } else if byte != quote {
            self.quoted_bytes(1);
        } else if toggles {
            self.place = Place::InField;
            // COPY's quote may be a line-end byte, and then its closing quote is also a line end.
            if !self.line_end() {
                self.at += 1;
            }
        } else {
            self.place = Place::AfterQuotes;
            self.at += 1;
        }
    }

    /// Bytes inside quotes: COPY counts the line ends among them.
    fn quoted_bytes(&mut self, count: usize) {
        for _ in 0..count {
            if self.input[self.at] == self.dialect.line_end().copy_byte() {
                self.found.inner.push(self.at as u64);
            }
            self.at += 1;
        }
    }

    fn outside(&mut self) {
        let byte = self.input[self.at];
        let at_start = matches!(self.place, Place::RecordStart | Place::FieldStart);
        let toggles = self.dialect.quoting() == Quoting::Toggle;
        if self.place == Place::RecordStart && self.dialect.comment() == Some(byte) {
            self.place = Place::InComment;
            self.at += 1;
        } else if self.dialect.quote() == Some(byte) && (at_start || toggles) {
            self.field_quoted = true;
            self.found.opens.push(self.at as u64);
            self.quoted_bytes(1);
            self.place = Place::InQuotes;
        } else if self.line_end() {
            // The line end is taken, and the next record stands here.
        } else if self.rest().starts_with(self.dialect.delimiter()) {
            self.at += self.dialect.delimiter().len();
            self.field_end();
            self.place = Place::FieldStart;
        } else {
            self.data(byte);
        }
    }

    /// A byte outside quotes that ends nothing.
    fn data(&mut self, byte: u8) {
        let stray_line_end = byte == b'\r' || byte == b'\n';
        let is_quote = self.dialect.quote() == Some(byte);
        let misplaced = (self.place == Place::AfterQuotes && !stray_line_end) || is_quote;
        if self.dialect.quoting() == Quoting::Strict && misplaced {
            self.found.malformed.get_or_insert(self.at as u64);
        }
        let acts_outside = self.dialect.quote().is_none() && self.dialect.escape() == Some(byte);
        self.at += if acts_outside { 2 } else { 1 };
        self.place = Place::InField;
    }

    /// Whether a line end stands here, which is then taken; a stray one is noted and left.
    fn line_end(&mut self) -> bool {
        let line_end = self.dialect.line_end().bytes();
        let in_comment = self.place == Place::InComment;
        if self.rest().starts_with(line_end) {
            self.at += line_end.len();
            self.field_end();
            let last = self.at as u64 - 1;
            self.found.records.push(last);
            if in_comment {
                self.found.comments.push(last);
            }
            self.place = Place::RecordStart;
            return true;
        }
        if !in_comment && (self.rest()[0] == b'\r' || self.rest()[0] == b'\n') {
            self.found.stray.get_or_insert(self.at as u64);
        }
        false
    }

    fn field_end(&mut self) {
        let last = self.at as u64 - 1;
        self.found.ends.push(last);
        if std::mem::take(&mut self.field_quoted) {
            self.found.quoted.push(last);
        }
    }
}
