//! What a CSV file may look like, resolved once.
//!
//! A [`Dialect`] is immutable and consistent: [`DialectBuilder::build`] is the only way to one, and it refuses what no
//! scanner could read unambiguously. Everything behind it (the scans of [`crate::scan`], [`crate::locate`]) can then
//! rely on these rules without checking again.
//!
//! PostgreSQL's COPY allows more than a sane file needs: its quote or escape may be a carriage return, a line feed or a
//! letter, and its escape may equal its delimiter. [`Quoting::Toggle`], which is COPY's rule, allows all of that; the
//! other rules, which are ours to define, do not.
//!
//! To add a property: a field here with its default in [`Dialect::builder`], its refusals in `build`, its meaning in
//! [`crate::scan::reference`] (which is the specification) and in the transition rules of the table-driven machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest delimiter in bytes. Real ones have one to three bytes; the bound keeps the machine's table, which has a
/// state for each matched prefix, within a few cache lines.
pub const MAX_DELIMITER: usize = 16;

/// When a quote byte opens and closes quoting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quoting {
    /// COPY's rule: a quote toggles quoting wherever it stands in a field, so `ab"c,d"e` is one field.
    Toggle,
    /// A quote opens only as the first byte of a field, and after the closing quote only a delimiter or a line end
    /// may follow. Anything else there, and a quote inside an unquoted field, is reported as malformed.
    Strict,
    /// A quote opens only as the first byte of a field; elsewhere outside quotes it is data.
    Literal,
}

/// The line end of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LineEnd {
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// A carriage return.
    Cr,
}

impl LineEnd {
    /// All styles, for tests and option lists.
    pub const ALL: [LineEnd; 3] = [LineEnd::Lf, LineEnd::CrLf, LineEnd::Cr];

    /// The bytes of one line end.
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
            LineEnd::Cr => b"\r",
        }
    }

    /// The byte that ends a physical line, as an editor counts lines: the last byte of the line end.
    pub const fn line_byte(self) -> u8 {
        match self {
            LineEnd::Lf | LineEnd::CrLf => b'\n',
            LineEnd::Cr => b'\r',
        }
    }

    /// The byte that COPY counts as one more line where it stands inside quotes.
    pub const fn copy_byte(self) -> u8 {
        match self {
            LineEnd::Lf => b'\n',
            LineEnd::CrLf | LineEnd::Cr => b'\r',
        }
    }
}

/// Which scan a dialect can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DialectClass {
    /// Whether a byte is inside quotes is the parity of the quotes before it, so a prefix XOR of the quote mask
    /// decides 64 bytes at once, and a scan that starts anywhere has only two possible starting states.
    TwoValued,
    /// Every other dialect: the table-driven machine.
    Machine,
}

/// A validated, immutable description of a CSV file's syntax.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    delimiter: Box<[u8]>,
    quote: Option<u8>,
    escape: Option<u8>,
    quoting: Quoting,
    comment: Option<u8>,
    line_end: LineEnd,
}

impl Dialect {
    /// A builder that starts from COPY's CSV defaults: comma, double quote, doubled quotes, toggling, no comments,
    /// line feeds.
    pub fn builder() -> DialectBuilder {
        DialectBuilder {
            delimiter: b",".to_vec(),
            quote: Some(b'"'),
            escape: None,
            quoting: Quoting::Toggle,
            comment: None,
            line_end: LineEnd::Lf,
        }
    }

    /// COPY's default CSV dialect with the given line end.
    pub fn copy_csv(line_end: LineEnd) -> Dialect {
        let builder = Dialect::builder().line_end(line_end);
        builder.build().expect("COPY's defaults are a valid dialect")
    }

    /// The delimiter's bytes, at least one and at most [`MAX_DELIMITER`].
    pub fn delimiter(&self) -> &[u8] {
        &self.delimiter
    }

    /// The quote byte, if the dialect has quotes.
    pub fn quote(&self) -> Option<u8> {
        self.quote
    }

    /// The escape byte. With a quote it always exists, acts only inside quotes and only before an escape or a quote
    /// (equal to the quote it means doubled quotes). Without a quote, if it exists, it makes the next byte data
    /// whatever that is, as a backslash does in COPY's text format.
    pub fn escape(&self) -> Option<u8> {
        self.escape
    }

    /// When a quote opens and closes.
    pub fn quoting(&self) -> Quoting {
        self.quoting
    }

    /// The byte that, as the first of a record, makes everything up to the line end a comment.
    pub fn comment(&self) -> Option<u8> {
        self.comment
    }

    /// The file's line end.
    pub fn line_end(&self) -> LineEnd {
        self.line_end
    }

    /// The same dialect with another line end.
    #[must_use]
    pub fn with_line_end(&self, line_end: LineEnd) -> Dialect {
        Dialect { line_end, ..self.clone() }
    }

    /// Whether a quote inside quotes is written twice.
    pub fn doubles_quotes(&self) -> bool {
        self.quote.is_some() && self.quote == self.escape
    }

    /// Which scan the dialect can run on.
    pub fn class(&self) -> DialectClass {
        let parity_decides = match self.quote {
            Some(quote) => self.quoting == Quoting::Toggle && self.doubles_quotes() && !is_line_end(quote),
            None => self.escape.is_none(),
        };
        if parity_decides && self.comment.is_none() && self.delimiter.len() == 1 {
            DialectClass::TwoValued
        } else {
            DialectClass::Machine
        }
    }
}

/// Collects the properties of a [`Dialect`] and validates them together.
#[derive(Clone, Debug)]
pub struct DialectBuilder {
    delimiter: Vec<u8>,
    quote: Option<u8>,
    escape: Option<u8>,
    quoting: Quoting,
    comment: Option<u8>,
    line_end: LineEnd,
}

impl DialectBuilder {
    /// Sets the delimiter, one byte or several.
    #[must_use]
    pub fn delimiter(mut self, delimiter: &[u8]) -> Self {
        self.delimiter = delimiter.to_vec();
        self
    }

    /// Sets the quote byte, or takes quoting away.
    #[must_use]
    pub fn quote(mut self, quote: Option<u8>) -> Self {
        self.quote = quote;
        self
    }

    /// Sets the escape byte. `None` means doubled quotes where there is a quote, and no escape at all where there is
    /// none.
    #[must_use]
    pub fn escape(mut self, escape: Option<u8>) -> Self {
        self.escape = escape;
        self
    }

    /// Sets when a quote opens and closes.
    #[must_use]
    pub fn quoting(mut self, quoting: Quoting) -> Self {
        self.quoting = quoting;
        self
    }

    /// Sets the byte that starts a comment line.
    #[must_use]
    pub fn comment(mut self, comment: Option<u8>) -> Self {
        self.comment = comment;
        self
    }

    /// Sets the line end.
    #[must_use]
    pub fn line_end(mut self, line_end: LineEnd) -> Self {
        self.line_end = line_end;
        self
    }

    /// The dialect.
    ///
    /// # Errors
    /// A [`DialectError`] names the first property that would make the file ambiguous.
    pub fn build(self) -> Result<Dialect, DialectError> {
        self.check_delimiter()?;
        self.check_quote_and_escape()?;
        self.check_comment()?;
        Ok(Dialect {
            delimiter: self.delimiter.into_boxed_slice(),
            quote: self.quote,
            escape: self.escape.or(self.quote),
            quoting: self.quoting,
            comment: self.comment,
            line_end: self.line_end,
        })
    }

    fn check_delimiter(&self) -> Result<(), DialectError> {
        if self.delimiter.is_empty() {
            return Err(DialectError::DelimiterEmpty);
        }
        if self.delimiter.len() > MAX_DELIMITER {
            return Err(DialectError::DelimiterTooLong { bytes: self.delimiter.len() });
        }
        if self.delimiter.iter().any(|&byte| is_line_end(byte)) {
            return Err(DialectError::DelimiterHoldsLineEnd);
        }
        if self.quote.is_some_and(|quote| self.delimiter.contains(&quote)) {
            return Err(DialectError::DelimiterHoldsQuote);
        }
        Ok(())
    }

    fn check_quote_and_escape(&self) -> Result<(), DialectError> {
        if self.quoting != Quoting::Toggle && self.quote.is_some_and(is_line_end) {
            return Err(DialectError::QuoteIsLineEnd);
        }
        let copy_may = self.quoting == Quoting::Toggle && self.quote.is_some();
        if !copy_may && self.escape.is_some_and(is_line_end) {
            return Err(DialectError::EscapeIsLineEnd);
        }
        // With a quote the escape acts only where the delimiter does not, and may share its byte.
        let acts_outside = self.quote.is_none();
        if acts_outside && self.escape.is_some_and(|escape| self.delimiter.contains(&escape)) {
            return Err(DialectError::DelimiterHoldsEscape);
        }
        Ok(())
    }

    fn check_comment(&self) -> Result<(), DialectError> {
        let Some(comment) = self.comment else { return Ok(()) };
        let escapes_outside = self.quote.is_none() && self.escape == Some(comment);
        if is_line_end(comment) || self.quote == Some(comment) || self.delimiter.contains(&comment) || escapes_outside {
            return Err(DialectError::CommentAmbiguous { comment });
        }
        Ok(())
    }
}

/// Why a dialect was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialectError {
    /// The delimiter has no bytes.
    DelimiterEmpty,
    /// The delimiter has more than [`MAX_DELIMITER`] bytes.
    DelimiterTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The delimiter holds a carriage return or a line feed.
    DelimiterHoldsLineEnd,
    /// The delimiter holds the quote byte.
    DelimiterHoldsQuote,
    /// The delimiter holds the escape byte in a dialect whose escape acts outside quotes.
    DelimiterHoldsEscape,
    /// The quote is a carriage return or a line feed under a rule other than [`Quoting::Toggle`].
    QuoteIsLineEnd,
    /// The escape is a carriage return or a line feed where COPY would not allow it.
    EscapeIsLineEnd,
    /// The comment byte is also a line end, the quote, part of the delimiter, or an escape that acts outside quotes.
    CommentAmbiguous {
        /// The byte.
        comment: u8,
    },
}

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DialectError::DelimiterEmpty => write!(f, "the delimiter is empty"),
            DialectError::DelimiterTooLong { bytes } => {
                write!(f, "the delimiter has {bytes} bytes, at most {MAX_DELIMITER} are possible")
            }
            DialectError::DelimiterHoldsLineEnd => write!(f, "the delimiter holds a line-end byte"),
            DialectError::DelimiterHoldsQuote => write!(f, "the delimiter holds the quote byte"),
            DialectError::DelimiterHoldsEscape => write!(f, "the delimiter holds the escape byte"),
            DialectError::QuoteIsLineEnd => write!(f, "the quote is a line-end byte"),
            DialectError::EscapeIsLineEnd => write!(f, "the escape is a line-end byte"),
            DialectError::CommentAmbiguous { comment } => {
                write!(f, "the comment byte 0x{comment:02x} has another meaning already")
            }
        }
    }
}

impl std::error::Error for DialectError {}

/// Whether a byte is a carriage return or a line feed.
fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}
