//! Conversion: from a field's text to the bytes of a PostgreSQL datum, or "declined".
//!
//! A converter handles only what it can prove: for a text that it accepts it yields the bytes that the type's own input
//! function yields, and everything else it declines: rare spellings, whatever depends on a setting the job does not
//! carry, every error. A declined value is no error; PostgreSQL's own code looks at the row again and decides. So there
//! is no message in here, and no bug of a converter's caution can be seen but in the time a scan takes.
//!
//! One file for each type or family of types. To add one: a variant of [`Kind`], its arm in [`Converter::convert`], its
//! row in the extension's table of types, and its generator in `tests/convert`.

mod boolean;
mod bytea;
mod calendar;
pub(crate) mod date;
pub(crate) mod datetime;
pub(crate) mod digits;
mod enums;
mod float;
mod hex;
mod integer;
mod interval;
mod json;
mod kept;
mod numeric;
mod text;
pub(crate) mod time;
mod timestamp;
mod uuid;
pub mod zone;

pub use kept::{Kept, Nowhere};

use serde::{Deserialize, Serialize};

/// The bytes of a value as PostgreSQL stores them, without alignment and without a varlena header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datum<'a> {
    /// A fixed-length value of up to 8 bytes: its low bytes, sign- or zero-extended as the type wants it.
    Word(u64),
    /// A longer fixed-length value, or the content of a varlena.
    Bytes(&'a [u8]),
}

/// Bytes of a content that [`Sink::few`] takes.
pub const FEW: usize = 16;

/// Where a converted value goes: one call for each value.
pub trait Sink {
    /// See [`Datum::Word`].
    fn word(&mut self, word: u64);
    /// See [`Datum::Bytes`].
    fn bytes(&mut self, bytes: &[u8]);
    /// The content of a varlena: the first `length` bytes of these.
    fn few(&mut self, content: [u8; FEW], length: usize);
    /// The content of a varlena: a text, and so many blanks behind it.
    fn padded(&mut self, text: &[u8], blanks: usize);
}

/// What a column's values are converted to. Types that are stored and spelled alike share a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// `bool`, one byte.
    Bool,
    /// `int2`, two bytes.
    Int2,
    /// `int4`, four bytes.
    Int4,
    /// `int8`, eight bytes.
    Int8,
    /// `oid`, four bytes.
    Oid,
    /// `float4`, four bytes.
    Float4,
    /// `float8`, eight bytes.
    Float8,
    /// `numeric`, a varlena; precision and scale where the type's modifier names them.
    Numeric {
        /// Digits in all and digits after the point (which may be negative from PostgreSQL 15 on).
        limit: Option<(i32, i32)>,
    },
    /// `text` and `varchar` without a limit: the field's own bytes.
    Text,
    /// `varchar(n)`.
    Varchar {
        /// At most so many characters.
        limit: u32,
    },
    /// `char(n)`: padded with blanks.
    Bpchar {
        /// Exactly so many characters; `None` for `bpchar` without a limit.
        limit: Option<u32>,
    },
    /// `"char"`, one byte.
    Char,
    /// `name`, 64 bytes.
    Name,
    /// `date`, four bytes.
    Date,
    /// `time`, eight bytes; digits of the seconds' fraction where the type's modifier names them.
    Time {
        /// 0 to 6, 6 if the type names none.
        precision: u32,
    },
    /// `timestamp`, eight bytes.
    Timestamp {
        /// 0 to 6, 6 if the type names none.
        precision: u32,
    },
    /// `timestamptz`, eight bytes.
    Timestamptz {
        /// 0 to 6, 6 if the type names none.
        precision: u32,
    },
    /// `interval` without a modifier, 16 bytes.
    Interval,
    /// `uuid`, 16 bytes.
    Uuid,
    /// `bytea`, a varlena.
    Bytea,
    /// `json`, a varlena: the field's own bytes, checked.
    Json,
    /// An enum, four bytes: the label's oid.
    Enum {
        /// Labels in byte order, each with its oid.
        labels: Vec<(Vec<u8>, u32)>,
    },
}

/// The order of day and month in dates that do not say it themselves (PostgreSQL's `DateStyle`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DateOrder {
    /// Year, month, day.
    Ymd,
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    #[default]
    Mdy,
}

/// The settings of the session that the meaning of a text depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// For dates such as 01/02/2003.
    pub date_order: DateOrder,
    /// Whether `IntervalStyle` is `sql_standard`, which changes what a leading sign of an interval means.
    pub interval_sql_standard: bool,
    /// The session's time zone, for timestamps with time zone that name none: since when (Unix seconds) which offset
    /// from UTC (seconds, east positive) has been in force, in ascending order. Empty if it is not known; else it
    /// covers all times from [`zone::KNOWN_FROM`] to [`zone::KNOWN_UNTIL`].
    pub zone: Vec<(i64, i32)>,
    /// Whether the words T, Z, UTC, AM, PM and the months mean in dates and times what they mean by default. The
    /// session's `timezone_abbreviations` can change that; texts with such words are declined then.
    pub default_words: bool,
    /// Whether a character of the server's encoding is always one byte long.
    pub single_byte: bool,
    /// Whether the server's encoding is UTF-8. If it is neither this nor single-byte, limits count nothing known.
    pub utf8: bool,
}

/// Memory for values that are built rather than borrowed. One for each thread, used again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    workspace: Workspace,
    /// The value that [`Converter::convert`] returns.
    kept: Kept,
}

impl Scratch {
    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.workspace.memory() + self.kept.memory()
    }
}

/// The part of it that [`Converter::write`] needs.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Where values are built; the last one is somewhere in it.
    bytes: Vec<u8>,
    /// Decimal digits of a long number.
    digits: Vec<u8>,
    /// The entry of the zone that was in force at the last time.
    zone_entry: usize,
}

impl Workspace {
    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.digits.capacity()
    }

    /// So many bytes, with anything in them; `None` if there is no memory for them, and the value is declined.
    #[inline]
    fn room(&mut self, size: usize) -> Option<&mut [u8]> {
        if self.bytes.len() < size {
            self.bytes.try_reserve(size - self.bytes.len()).ok()?;
            self.bytes.resize(size, 0);
        }
        Some(&mut self.bytes[..size])
    }
}

/// One column's converter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converter {
    kind: Kind,
}

impl Converter {
    /// A converter to `kind`.
    pub fn new(kind: Kind) -> Converter {
        Converter { kind }
    }

    /// The kind it converts to.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The bytes of the datum that the type's input function makes of `field`, or `None` if they are not certain.
    ///
    /// `field` is in the server's encoding, was found valid in it, and holds no NUL. What is returned lies in
    /// `scratch`.
    pub fn convert<'a>(&self, field: &[u8], settings: &Settings, scratch: &'a mut Scratch) -> Option<Datum<'a>> {
        let Scratch { workspace, kept } = scratch;
        self.write(field, settings, workspace, kept)?;
        kept.value()
    }

    /// As [`Converter::convert`], but the value goes into a sink; `None` if it is declined, and nothing goes there.
    ///
    /// Only dispatches: one function with all conversions in it would save and restore every register for each value.
    #[inline]
    pub fn write(
        &self,
        field: &[u8],
        settings: &Settings,
        workspace: &mut Workspace,
        sink: &mut impl Sink,
    ) -> Option<()> {
        match &self.kind {
            Kind::Int4 => integer::<i32>(field, sink),
            Kind::Int8 => integer::<i64>(field, sink),
            Kind::Numeric { limit } => numeric::numeric(field, *limit, workspace, sink),
            Kind::Varchar { limit } => text::varchar(field, *limit, settings, sink),
            Kind::Bpchar { limit: Some(limit) } => text::bpchar(field, *limit, settings, sink),
            Kind::Text | Kind::Bpchar { limit: None } => text::text(field, sink),
            Kind::Date => date(field, settings, sink),
            _ => self.write_other(field, settings, workspace, sink),
        }
    }

    /// [`Converter::write`] for all but the most frequent kinds.
    #[inline(never)]
    fn write_other(
        &self,
        field: &[u8],
        settings: &Settings,
        workspace: &mut Workspace,
        sink: &mut impl Sink,
    ) -> Option<()> {
        let signed = i64::cast_unsigned;
        match &self.kind {
            Kind::Bool => boolean::boolean(field).map(|truth| sink.word(truth.into())),
            Kind::Int2 => integer::<i16>(field, sink),
            Kind::Oid => integer::oid(field).map(|oid| sink.word(oid.into())),
            Kind::Float4 => float::float4(field).map(|bits| sink.word(bits.into())),
            Kind::Float8 => float::float8(field).map(|bits| sink.word(bits)),
            Kind::Char => Some(text::char(field)).map(|byte| sink.word(byte.into())),
            Kind::Name => text::name(field, settings, workspace).map(|name| sink.bytes(name)),
            Kind::Time { precision } => time::time(field, *precision, settings).map(|time| sink.word(signed(time))),
            Kind::Timestamp { precision } => {
                timestamp::local(field, *precision, settings).map(|time| sink.word(signed(time)))
            }
            Kind::Timestamptz { precision } => {
                timestamp::absolute(field, *precision, settings, workspace).map(|time| sink.word(signed(time)))
            }
            Kind::Interval => interval::interval(field, settings, workspace).map(|bytes| sink.bytes(bytes)),
            Kind::Uuid => uuid::uuid(field, workspace).map(|bytes| sink.bytes(bytes)),
            Kind::Bytea => bytea::bytea(field, workspace).map(|bytes| sink.bytes(bytes)),
            Kind::Json => json::is_json(field).then(|| sink.bytes(field)),
            Kind::Enum { labels } => enums::oid(field, labels).map(|oid| sink.word(oid.into())),
            Kind::Int4
            | Kind::Int8
            | Kind::Numeric { .. }
            | Kind::Varchar { .. }
            | Kind::Bpchar { .. }
            | Kind::Text
            | Kind::Date => unreachable!("`write` does these"),
        }
    }
}

/// A signed integer.
#[inline(never)]
fn integer<T: TryFrom<i64> + Into<i64>>(field: &[u8], sink: &mut impl Sink) -> Option<()> {
    integer::signed::<T>(field).map(|number| sink.word(number.into().cast_unsigned()))
}

/// A date.
#[inline(never)]
fn date(field: &[u8], settings: &Settings, sink: &mut impl Sink) -> Option<()> {
    date::date(field, settings).map(|day| sink.word(i64::from(day).cast_unsigned()))
}
