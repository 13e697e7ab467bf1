//! `numeric`: a header and digits of base 10,000, as PostgreSQL stores them.
//!
//! The content of the varlena is one header word for short values (sign, digits after the point, weight of the first
//! base-10,000 digit) or two for long ones, and then the digits, without zeros at either end. Nearly all numbers of a
//! file are plain and fit in two 64-bit integers, one before the point and one after it: [`plain`]. The others go digit
//! by digit: [`long`].

mod long;

use super::Scratch;
use super::digits::{POWERS, value, with_or_without_blanks};

/// The base of the stored digits.
const BASE: u64 = 10_000;

/// Header of the short form, with its flags and fields; a dscale is the number of decimals that are shown.
const SHORT: u16 = 0x8000;
const SHORT_NEGATIVE: u16 = 0x2000;
const SHORT_DSCALE_SHIFT: u32 = 7;
const SHORT_DSCALE_MAX: usize = 63;
const SHORT_WEIGHT_BITS: u16 = 0x007f;

/// The header word of NaN, which is all there is of it.
const NAN: u16 = 0xc000;

/// Digits of the widest number that fits in 64 bits whatever its digits are.
const WHOLE_DIGITS: usize = 19;

/// Digits after the point on the plain path: four stored digits.
const FRACTION_DIGITS: usize = 16;

/// The stored form of a number, rounded to `limit` (precision and scale).
#[inline]
pub(super) fn numeric<'a>(field: &[u8], limit: Option<(i32, i32)>, scratch: &'a mut Scratch) -> Option<&'a [u8]> {
    let parts = split(field, limit);
    if let Some(rounded) = parts.and_then(|parts| round(parts, limit)) {
        return Some(plain(rounded, scratch));
    }
    unusual(field, limit, scratch)
}

/// A number's parts: its value is (whole + fraction / 10^digits), negative or not.
#[derive(Clone, Copy)]
struct Parts {
    negative: bool,
    whole: u64,
    fraction: u64,
    /// Digits of the fraction, zeros included, at most [`FRACTION_DIGITS`].
    digits: usize,
    /// Decimals that are shown; not less than the fraction's digits, at most [`SHORT_DSCALE_MAX`].
    dscale: usize,
}

/// The parts of a plain number: a sign perhaps, digits, and perhaps a point among them.
#[inline]
fn split(field: &[u8], limit: Option<(i32, i32)>) -> Option<Parts> {
    let (negative, body) = match field {
        [b'-', body @ ..] => (true, body),
        [b'+', body @ ..] => (false, body),
        body => (false, body),
    };
    let (whole, fraction) = match point(body, limit) {
        Some(point) => (&body[..point], &body[point + 1..]),
        None => (body, &body[..0]),
    };
    if whole.len() > WHOLE_DIGITS || fraction.len() > FRACTION_DIGITS || whole.len() + fraction.len() == 0 {
        return None;
    }
    let part = |digits: &[u8]| if digits.is_empty() { Some(0) } else { value(digits) };
    let digits = fraction.len();
    Some(Parts { negative, whole: part(whole)?, fraction: part(fraction)?, digits, dscale: digits })
}

/// Where the point is. Most numbers of a column have as many decimals as its type, so it is looked for there first.
#[inline]
fn point(body: &[u8], limit: Option<(i32, i32)>) -> Option<usize> {
    let usual = limit.and_then(|(_, scale)| body.len().checked_sub(1 + usize::try_from(scale).ok()?));
    match usual {
        Some(usual) if body[usual] == b'.' => Some(usual),
        _ => body.iter().position(|byte| *byte == b'.'),
    }
}

/// Rounds half away from zero to the limit's scale; `None` where the limit is exceeded or is an unusual one.
#[inline]
fn round(mut parts: Parts, limit: Option<(i32, i32)>) -> Option<Parts> {
    let Some((precision, scale)) = limit else { return Some(parts) };
    let scale = usize::try_from(scale).ok().filter(|scale| *scale <= SHORT_DSCALE_MAX)?;
    let whole_digits = usize::try_from(precision).ok()?.checked_sub(scale)?;
    if parts.digits > scale {
        let unit = POWERS[parts.digits - scale];
        parts.fraction = parts.fraction / unit + u64::from(parts.fraction % unit >= unit / 2);
        parts.digits = scale;
        if parts.fraction == POWERS[scale] {
            parts.fraction = 0;
            parts.whole += 1; // at most 10^19, which fits
        }
    }
    parts.dscale = scale;
    let fits = POWERS.get(whole_digits).is_none_or(|bound| parts.whole < *bound);
    fits.then_some(parts)
}

/// Writes a number of the short form.
#[inline]
fn plain(parts: Parts, scratch: &mut Scratch) -> &[u8] {
    // Words 1 to 5 are the whole part, right-aligned; 6 to 9 the fraction. The header goes before the first used one.
    const POINT: usize = 6;
    let words = scratch.room(2 * (POINT + FRACTION_DIGITS / 4));
    let mut put = |index: usize, word: u16| words[2 * index..2 * index + 2].copy_from_slice(&word.to_ne_bytes());
    let (mut first, mut end) = (POINT, POINT);
    let mut whole = parts.whole;
    while whole != 0 {
        first -= 1;
        put(first, (whole % BASE) as u16);
        whole /= BASE;
    }
    let mut fraction = parts.fraction * POWERS[FRACTION_DIGITS - parts.digits];
    while fraction != 0 {
        let digit = fraction / POWERS[12];
        fraction = (fraction - digit * POWERS[12]) * BASE;
        if digit == 0 && first == end {
            first += 1; // no digit has come yet, so this zero is none either
        }
        put(end, digit as u16);
        end += 1;
    }
    let mut weight = POINT.wrapping_sub(first + 1) as u16;
    if first == end {
        weight = 0;
    } else if end == POINT {
        // The fraction is zero, so the whole part's trailing zeros are dropped too.
        let mut rest = parts.whole;
        while rest.is_multiple_of(BASE) {
            rest /= BASE;
            end -= 1;
        }
    }
    let sign = if parts.negative && first != end { SHORT_NEGATIVE } else { 0 };
    let dscale = (parts.dscale as u16) << SHORT_DSCALE_SHIFT;
    put(first - 1, SHORT | sign | dscale | (weight & SHORT_WEIGHT_BITS));
    &scratch.bytes[2 * (first - 1)..2 * end]
}

/// Everything that is not plain.
#[cold]
fn unusual<'a>(field: &[u8], limit: Option<(i32, i32)>, scratch: &'a mut Scratch) -> Option<&'a [u8]> {
    if with_or_without_blanks(field, |text| text.eq_ignore_ascii_case(b"nan").then_some(())).is_some() {
        let word = scratch.room(2);
        word.copy_from_slice(&NAN.to_ne_bytes());
        return Some(word);
    }
    long::numeric(field, limit, scratch)
}
