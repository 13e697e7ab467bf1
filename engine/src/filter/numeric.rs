//! Numerics, compared where they lie.
//!
//! The content of a numeric's varlena starts with a word in the machine's byte order whose two high bits tell the
//! format. Long (sign in bit 14, then the display scale), followed by a word for the weight; short, with sign, scale
//! and a 7-bit signed weight in the one word; or special, which is NaN or an infinity. Digits of base 10000 follow, a
//! word each, the first worth `10000^weight`. The display scale means nothing to comparison.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

const FORMAT: u16 = 0xC000;
const SHORT: u16 = 0x8000;
const SPECIAL: u16 = 0xC000;
/// What tells the special values apart.
const SPECIAL_VALUE: u16 = 0xF000;
const POSITIVE_INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;
const LONG_NEGATIVE: u16 = 0x4000;
const SHORT_NEGATIVE: u16 = 0x2000;
/// The short format's weight, whose highest bit is its sign.
const SHORT_WEIGHT_BITS: u32 = 7;

/// What a numeric is before its magnitude is looked at, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Rank {
    NegativeInfinity,
    Negative,
    Zero,
    Positive,
    PositiveInfinity,
    Nan,
}

/// A numeric taken apart. Its digits have no zeros at either end, so that equal numerics have equal parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Numeric<B> {
    rank: Rank,
    weight: i32,
    /// Two bytes each, as they were found.
    digits: B,
}

impl<'a> Numeric<&'a [u8]> {
    /// Takes the content of a numeric's varlena apart.
    ///
    /// # Panics
    /// If the content is shorter than its format.
    #[inline]
    pub(super) fn read(content: &'a [u8]) -> Self {
        let header = word(content, 0);
        let (negative, weight, digits) = match header & FORMAT {
            SPECIAL => return Numeric { rank: special(header), weight: 0, digits: &[] },
            SHORT => {
                let unused = u16::BITS - SHORT_WEIGHT_BITS;
                (header & SHORT_NEGATIVE != 0, (header << unused).cast_signed() >> unused, &content[2..])
            }
            sign => (sign == LONG_NEGATIVE, word(content, 2).cast_signed(), &content[4..]),
        };
        let (weight, digits) = stripped(i32::from(weight), digits);
        let rank = match (digits.is_empty(), negative) {
            (true, _) => return Numeric { rank: Rank::Zero, weight: 0, digits },
            (false, true) => Rank::Negative,
            (false, false) => Rank::Positive,
        };
        Numeric { rank, weight, digits }
    }

    pub(super) fn into_owned(self) -> Numeric<Vec<u8>> {
        Numeric { rank: self.rank, weight: self.weight, digits: self.digits.to_vec() }
    }
}

impl<B: AsRef<[u8]>> Numeric<B> {
    /// As PostgreSQL's `cmp_numerics`: NaN equals itself and is above everything.
    #[inline]
    pub(super) fn compare<C: AsRef<[u8]>>(&self, other: &Numeric<C>) -> Ordering {
        self.rank.cmp(&other.rank).then_with(|| match self.rank {
            Rank::Positive => self.compare_magnitude(other),
            Rank::Negative => self.compare_magnitude(other).reverse(),
            Rank::NegativeInfinity | Rank::Zero | Rank::PositiveInfinity | Rank::Nan => Ordering::Equal,
        })
    }

    #[inline]
    fn compare_magnitude<C: AsRef<[u8]>>(&self, other: &Numeric<C>) -> Ordering {
        // The first digits are not zero, so the weights decide; nor are the last, so more digits are more.
        self.weight.cmp(&other.weight).then_with(|| digits(self.digits.as_ref()).cmp(digits(other.digits.as_ref())))
    }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
fn digits(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.as_chunks().0.iter().map(|&digit| u16::from_ne_bytes(digit))
}

fn special(header: u16) -> Rank {
    match header & SPECIAL_VALUE {
        POSITIVE_INFINITY => Rank::PositiveInfinity,
        NEGATIVE_INFINITY => Rank::NegativeInfinity,
        _ => Rank::Nan,
    }
}

/// PostgreSQL stores no zero digits at the ends, by convention; its comparison does not rely on that.
#[inline]
fn stripped(mut weight: i32, mut digits: &[u8]) -> (i32, &[u8]) {
    while let [0, 0, rest @ ..] = digits {
        digits = rest;
        weight -= 1;
    }
    while let [rest @ .., 0, 0] = digits {
        digits = rest;
    }
    (weight, digits)
}
