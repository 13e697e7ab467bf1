//! The job: everything the worker is told, in the form in which it travels.
//!
//! The backend knows the query, the table and the session; the worker knows only this. It is serialised into the shared
//! memory before the worker starts and never changes.

use serde::{Deserialize, Serialize};

use crate::coding::Coding;
use crate::convert::{Kind, Settings};
use crate::dialect::{Dialect, DialectError, LineEnd, Quoting};
use crate::filter::Filter;

/// What to read, how to read it and what to make of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The file's syntax.
    pub syntax: Syntax,
    /// Where the bytes come from.
    pub input: Input,
    /// How the bytes are checked and turned into the server's encoding.
    pub encoding: Encoding,
    /// The fields of a record, in the file's order.
    pub fields: Vec<Field>,
    /// The rows to make of them.
    pub layout: Layout,
    /// What a row must satisfy, if anything; its columns are attributes, 0-based.
    pub filter: Option<Filter>,
    /// What to deliver.
    pub output: Output,
    /// Settings of the session that conversions depend on.
    pub settings: Settings,
    /// So many bytes of each record's beginning come behind its row, where rows come with their places: for whoever
    /// cannot read them again.
    pub text: usize,
    /// Threads that parse, at least 1.
    pub threads: usize,
    /// The longest record that is parsed here, in bytes; a longer one is an anomaly. Bounds a thread's memory.
    pub longest_record: usize,
    /// The instruction set to use (see [`Level::NAMES`](crate::scan::Level::NAMES)), or `None` for the best.
    pub level: Option<String>,
}

/// COPY's syntax options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syntax {
    /// The delimiter byte.
    pub delimiter: u8,
    /// The quote byte.
    pub quote: u8,
    /// The escape byte.
    pub escape: u8,
    /// The file's line end.
    pub line_end: LineEnd,
    /// What an unquoted NULL is written as.
    pub null: Vec<u8>,
    /// What stands, unquoted, for a column's default; such records are left to COPY.
    pub default: Option<Vec<u8>>,
    /// Whether a record of just `\.` ends the data (PostgreSQL before 18).
    pub has_end_marker: bool,
}

impl Syntax {
    /// The dialect.
    ///
    /// # Errors
    /// If it is none that the scans know.
    pub fn dialect(&self) -> Result<Dialect, DialectError> {
        Dialect::builder()
            .delimiter(&[self.delimiter])
            .quote(Some(self.quote))
            .escape(Some(self.escape))
            .quoting(Quoting::Toggle)
            .line_end(self.line_end)
            .build()
    }
}

/// Where the bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// A file that can be read at any offset, cut into ranges.
    File {
        /// The byte at which the first record to parse starts.
        start: u64,
        /// The file's size when the scan began; what comes behind it is not read. More than `start`.
        size: u64,
        /// Bytes of a range.
        range_size: u64,
        /// How its bytes come into memory.
        io: Io,
    },
    /// Bytes that come one after the other, cut into segments of whole records.
    Stream {
        /// The offset of the first byte in the whole input; a record starts there.
        start: u64,
        /// Bytes of a segment, roughly.
        segment_size: usize,
        /// Where the bytes are the text of a file that the worker opens itself: how it is put into bytes.
        coding: Option<Coding>,
    },
}

/// How the bytes of a file that can be read at any offset come into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Io {
    /// Each range is read into a buffer of its thread's.
    #[default]
    Pread,
    /// The file is mapped, and looked at where it lies. Nobody may write into it meanwhile.
    Mmap,
}

/// How a file's bytes become the server's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// Both are UTF-8, which is checked.
    Utf8,
    /// Every byte but NUL is valid and stays as it is.
    AnyByte,
    /// The file's encoding has one byte for a character: what each byte becomes, or nothing where it is invalid. The
    /// lower half is ASCII and stays as it is.
    Table(Vec<Vec<u8>>),
}

/// One field of each record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// What becomes of it; `None` if nobody needs it.
    pub target: Option<Target>,
}

/// What becomes of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The row's attribute it goes to, 0-based.
    pub attribute: usize,
    /// What it is converted to; `None` if it travels as text, for PostgreSQL's input function.
    pub kind: Option<Kind>,
    /// COPY's FORCE_NOT_NULL: an unquoted null string is a value.
    pub force_not_null: bool,
    /// COPY's FORCE_NULL: a quoted null string is NULL too.
    pub force_null: bool,
}

/// How rows are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The attributes of the row, dropped ones included.
    pub attributes: Vec<Attribute>,
    /// The row type's oid, as `heap_form_tuple` notes it.
    pub type_id: u32,
    /// The row type's modifier.
    pub type_modifier: i32,
    /// Attributes that are the same in every row (0-based), with their values; others that no field goes to are NULL.
    pub constants: Vec<(usize, Constant)>,
}

/// A value that is the same in every row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Constant {
    /// See [`Datum::Word`](crate::convert::Datum::Word).
    Word(u64),
    /// See [`Datum::Bytes`](crate::convert::Datum::Bytes).
    Bytes(Vec<u8>),
}

/// How one attribute is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Its bytes; `None` for a varlena.
    pub length: Option<u16>,
    /// What it is aligned to: 1, 2, 4 or 8 bytes.
    pub align: u8,
    /// Whether a short varlena may have a header of one byte.
    pub packable: bool,
}

/// What the worker delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// Rows.
    Rows,
    /// Rows, each with its place.
    PlacedRows,
    /// Rows in which some attributes are text, for PostgreSQL's input functions; each comes with its place.
    MixedRows,
    /// Only how many rows there are (that satisfy the filter).
    Count,
    /// What each range's records hold, as [`Findings`](crate::infer::Findings).
    Survey {
        /// Whether what stands for NULL is certain, so that no other word is looked for.
        null_is_certain: bool,
    },
}
