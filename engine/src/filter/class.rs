//! How values are read and compared: what PostgreSQL calls an operator class.
//!
//! A [`Class`] reads a datum as a [`Value`], in which only what comparison looks at is left: a by-value type becomes a
//! 64-bit key of the same order (`key.rs`), padding is gone, a numeric is taken apart. Values of classes of one family
//! compare with each other, as PostgreSQL's cross-type operators do: the integers; the floats; text and name.
//!
//! To add a class: a variant here, its arms in [`Class::read`] and [`Class::fits`], and its generator in
//! `tests/filter`.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::key;
use super::numeric::Numeric;
use crate::convert::{Datum, Kind};

/// How the values of a type are read and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// `bool`: false before true.
    Bool,
    /// `"char"`: an unsigned byte.
    Char,
    /// `int2`.
    Int2,
    /// `int4`, and `date`, which counts days.
    Int4,
    /// `int8`, and `time`, `timestamp` and `timestamptz`, which count microseconds.
    Int8,
    /// `oid`: unsigned. Enums too, whose labels' oids tell what is equal, and nothing of their order.
    Oid,
    /// `float4`: NaN equals itself and is above all else, and the zeros are equal.
    Float4,
    /// `float8`, in the order of `float4`.
    Float8,
    /// `numeric`.
    Numeric,
    /// `interval`: by the time it spans, a month being 30 days and a day 24 hours.
    Interval,
    /// `uuid`: 16 unsigned bytes.
    Uuid,
    /// `text`, `varchar` and `bytea`: by their bytes, unsigned. For text that is equality under every
    /// deterministic collation, and order under the collation C.
    Bytes,
    /// `char(n)`: as [`Class::Bytes`], but trailing blanks mean nothing.
    Bpchar,
    /// `name`: as [`Class::Bytes`], up to the first NUL.
    Name,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Comparison {
    /// Is it true of two values that compare like this?
    #[inline]
    pub fn admits(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterEqual => ordering.is_ge(),
        }
    }

    /// The comparison that says the same with its sides exchanged.
    pub fn commuted(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
            Comparison::Equal | Comparison::NotEqual => self,
        }
    }

    /// The comparison that is true where this is false.
    pub fn negated(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Less => Comparison::GreaterEqual,
            Comparison::LessEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessEqual,
            Comparison::GreaterEqual => Comparison::Less,
        }
    }
}

/// A constant that columns are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    pub(super) class: Class,
    pub(super) value: Value<Vec<u8>>,
}

/// A value as comparison sees it; `B` holds bytes, borrowed from a row or owned by a filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Value<B> {
    /// A by-value type's key.
    Key(i64),
    /// An interval's span in microseconds.
    Span(i128),
    /// A numeric, taken apart.
    Numeric(Numeric<B>),
    /// Bytes without padding.
    Bytes(B),
}

impl Value<&[u8]> {
    /// The same value with bytes of its own.
    fn into_owned(self) -> Value<Vec<u8>> {
        match self {
            Value::Key(key) => Value::Key(key),
            Value::Span(span) => Value::Span(span),
            Value::Numeric(numeric) => Value::Numeric(numeric.into_owned()),
            Value::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        }
    }
}

impl<B: AsRef<[u8]>> Value<B> {
    /// Where this value stands to another of the same family.
    ///
    /// # Panics
    /// If the two are of different families.
    #[inline]
    pub(super) fn compare<C: AsRef<[u8]>>(&self, other: &Value<C>) -> Ordering {
        match (self, other) {
            (Value::Key(left), Value::Key(right)) => left.cmp(right),
            (Value::Bytes(left), Value::Bytes(right)) => compare_bytes(left.as_ref(), right.as_ref()),
            (Value::Numeric(left), Value::Numeric(right)) => left.compare(right),
            (Value::Span(left), Value::Span(right)) => left.cmp(right),
            _ => panic!("values of different families do not compare"),
        }
    }

    /// Is `comparison` true of this value and another of the same family?
    ///
    /// # Panics
    /// If the two are of different families.
    #[inline]
    pub(super) fn satisfies<C: AsRef<[u8]>>(&self, comparison: Comparison, other: &Value<C>) -> bool {
        // Equality of bytes sees different lengths at once.
        if let (Value::Bytes(left), Value::Bytes(right)) = (self, other)
            && matches!(comparison, Comparison::Equal | Comparison::NotEqual)
            && left.as_ref().len() != right.as_ref().len()
        {
            return comparison == Comparison::NotEqual;
        }
        comparison.admits(self.compare(other))
    }
}

impl Class {
    /// A constant of this class.
    ///
    /// # Panics
    /// If the datum is not of the form of this class.
    pub fn constant(self, datum: Datum) -> Constant {
        Constant { class: self, value: self.read(datum).into_owned() }
    }

    /// Reads a value.
    ///
    /// # Panics
    /// If the datum is not of the form of this class ([`Class::fits`] tells which kinds are).
    #[inline]
    pub(super) fn read(self, datum: Datum<'_>) -> Value<&[u8]> {
        match datum {
            Datum::Word(word) => Value::Key(self.key(word)),
            Datum::Bytes(bytes) => self.content(bytes),
        }
    }

    /// The key of a by-value type's datum, of which only the bytes of the type count.
    #[inline]
    pub(super) fn key(self, word: u64) -> i64 {
        match self {
            Class::Bool | Class::Char => i64::from(word as u8),
            Class::Int2 => i64::from(word as i16),
            Class::Int4 => i64::from(word as i32),
            Class::Int8 => word.cast_signed(),
            Class::Oid => i64::from(word as u32),
            Class::Float4 => key::of_float(f64::from(f32::from_bits(word as u32))),
            Class::Float8 => key::of_float(f64::from_bits(word)),
            Class::Numeric | Class::Interval | Class::Uuid | Class::Bytes | Class::Bpchar | Class::Name => {
                self.mismatch()
            }
        }
    }

    #[inline]
    fn content(self, bytes: &[u8]) -> Value<&[u8]> {
        match self {
            Class::Bytes | Class::Uuid => Value::Bytes(bytes),
            Class::Bpchar => Value::Bytes(without_trailing_blanks(bytes)),
            Class::Name => Value::Bytes(up_to_nul(bytes)),
            Class::Numeric => Value::Numeric(Numeric::read(bytes)),
            Class::Interval => Value::Span(span(bytes)),
            _ => self.mismatch(),
        }
    }

    #[cold]
    fn mismatch(self) -> ! {
        panic!("a value is not of the form of {self:?}")
    }

    /// Can values of `kind` be read as this class? Only their form counts, as in a binary-coercible cast: whoever built
    /// the filter knows the operator, and so the class.
    pub fn fits(self, kind: &Kind) -> bool {
        match self {
            Class::Bool | Class::Char => matches!(kind, Kind::Bool | Kind::Char),
            Class::Int2 => matches!(kind, Kind::Int2),
            Class::Int4 | Class::Oid | Class::Float4 => {
                matches!(kind, Kind::Int4 | Kind::Oid | Kind::Float4 | Kind::Date | Kind::Enum { .. })
            }
            Class::Int8 | Class::Float8 => matches!(
                kind,
                Kind::Int8 | Kind::Float8 | Kind::Time { .. } | Kind::Timestamp { .. } | Kind::Timestamptz { .. }
            ),
            Class::Numeric => matches!(kind, Kind::Numeric { .. }),
            Class::Interval => matches!(kind, Kind::Interval),
            Class::Uuid => matches!(kind, Kind::Uuid),
            Class::Bytes | Class::Bpchar => {
                matches!(kind, Kind::Text | Kind::Varchar { .. } | Kind::Bpchar { .. } | Kind::Bytea | Kind::Json)
            }
            Class::Name => matches!(kind, Kind::Name),
        }
    }

    /// Do values of the two classes compare with each other?
    pub fn compares_with(self, other: Class) -> bool {
        self.family() == other.family()
    }

    /// One class to stand for all that compare with each other.
    fn family(self) -> Class {
        match self {
            Class::Int2 | Class::Int4 => Class::Int8,
            Class::Float4 => Class::Float8,
            Class::Name => Class::Bytes,
            alone => alone,
        }
    }
}

/// The order of bytes, a prefix first.
///
/// Empty sides are seen to here. An empty vector points nowhere, and a `memcmp` of AVX-512 that is handed such a
/// pointer takes 150 ns to read nothing from it.
#[inline]
pub(super) fn compare_bytes(left: &[u8], right: &[u8]) -> Ordering {
    if left.is_empty() || right.is_empty() { left.len().cmp(&right.len()) } else { left.cmp(right) }
}

/// PostgreSQL's `bcTruelen`.
#[inline]
fn without_trailing_blanks(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &bytes[..length]
}

#[inline]
fn up_to_nul(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..length]
}

const MICROSECONDS_PER_DAY: i128 = 24 * 60 * 60 * 1_000_000;

const DAYS_PER_MONTH: i64 = 30;

/// An interval's span as PostgreSQL's `interval_cmp_value` works it out: {time: i64, day: i32, month: i32}.
#[inline]
fn span(bytes: &[u8]) -> i128 {
    let [time @ .., d0, d1, d2, d3, m0, m1, m2, m3] = *<&[u8; 16]>::try_from(bytes).expect("an interval has 16 bytes");
    let month = i64::from(i32::from_ne_bytes([m0, m1, m2, m3]));
    let days = month * DAYS_PER_MONTH + i64::from(i32::from_ne_bytes([d0, d1, d2, d3]));
    i128::from(i64::from_ne_bytes(time)) + i128::from(days) * MICROSECONDS_PER_DAY
}
