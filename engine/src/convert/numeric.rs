//! `numeric`: a header and digits of base 10,000, as PostgreSQL stores them.
//!
//! The content of the varlena is one header word for short values (sign, digits after the point, weight of the first
//! base-10,000 digit) or two for long ones, and then the digits, without zeros at either end. Nearly all numbers of a
//! file have few digits and fit their type as they are: [`few_digits`]. Of the rest, most fit in two 64-bit integers,
//! one before the point and one after it: [`plain`]. The others go digit by digit: [`long`].

mod long;

use super::digits::{POWERS, array, decimal, place_in, signed, value, with_or_without_blanks};
use super::{FEW, Sink, Workspace};

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
#[inline(never)]
pub(super) fn numeric(
    field: &[u8],
    limit: Option<(i32, i32)>,
    workspace: &mut Workspace,
    sink: &mut impl Sink,
) -> Option<()> {
    let (negative, body) = signed(field);
    if let Some((header, digits)) = few_digits(negative, body, limit) {
        let mut content = [0; FEW];
        content[..2].copy_from_slice(&header.to_ne_bytes());
        content[2..10].copy_from_slice(&in_memory(digits));
        let used = 8 - digits.leading_zeros() as usize / 16 * 2;
        sink.few(content, 2 + used);
        return Some(());
    }
    rest(field, limit, workspace).map(|content| sink.bytes(content))
}

/// Header and stored digits, in the parts of a word, the first in the lowest, of a number with at most 8 digits on
/// either side of the point that exceeds neither part of its limit.
#[inline]
fn few_digits(negative: bool, body: &[u8], limit: Option<(i32, i32)>) -> Option<(u16, u64)> {
    let number = decimal(body)?;
    let scale = match limit {
        None => number.fraction,
        Some((precision, scale)) => {
            let whole_max = usize::try_from(precision - scale).ok()?;
            let scale = usize::try_from(scale).ok()?;
            if number.whole > whole_max || number.fraction > scale || scale > SHORT_DSCALE_MAX {
                return None;
            }
            scale
        }
    };
    // Zero has weight 0 and no sign.
    let first = if number.digits == 0 { 1 } else { number.digits.trailing_zeros() / 16 };
    let weight = 1_u16.wrapping_sub(first as u16);
    let sign = if negative && number.digits != 0 { SHORT_NEGATIVE } else { 0 };
    let header = SHORT | sign | (scale as u16) << SHORT_DSCALE_SHIFT | (weight & SHORT_WEIGHT_BITS);
    Some((header, number.digits >> (16 * first)))
}

/// The 16-bit parts of a word in order, each as the machine stores it.
#[inline]
fn in_memory(word: u64) -> [u8; 8] {
    if cfg!(target_endian = "little") {
        return word.to_le_bytes();
    }
    let parts = [0, 16, 32, 48].map(|shift| ((word >> shift) as u16).to_ne_bytes());
    let bytes = parts.as_flattened();
    array(bytes)
}

/// Numbers of more digits, and everything that is not plain.
#[inline(never)]
fn rest<'a>(field: &[u8], limit: Option<(i32, i32)>, workspace: &'a mut Workspace) -> Option<&'a [u8]> {
    match parts(field).and_then(|parts| round(parts, limit)) {
        Some(rounded) => plain(rounded, workspace),
        None => unusual(field, limit, workspace),
    }
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

/// The parts of a number with an optional sign, digits that are not too many, and perhaps a point among them.
fn parts(field: &[u8]) -> Option<Parts> {
    let (negative, body) = signed(field);
    let point = place_in(body, b'.');
    let (whole, fraction) = (&body[..point], body.get(point + 1..).unwrap_or_default());
    if whole.len() > WHOLE_DIGITS || fraction.len() > FRACTION_DIGITS || whole.len() + fraction.len() == 0 {
        return None;
    }
    let part = |digits: &[u8]| if digits.is_empty() { Some(0) } else { value(digits) };
    let digits = fraction.len();
    Some(Parts { negative, whole: part(whole)?, fraction: part(fraction)?, digits, dscale: digits })
}

/// Rounds half away from zero to the limit's scale; `None` where the limit is exceeded or is an unusual one.
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
fn plain(parts: Parts, workspace: &mut Workspace) -> Option<&[u8]> {
    // Words 1 to 5 are the whole part, right-aligned; 6 to 9 the fraction. The header goes before the first used one.
    const POINT: usize = 6;
    let words = workspace.room(2 * (POINT + FRACTION_DIGITS / 4))?;
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
    Some(&workspace.bytes[2 * (first - 1)..2 * end])
}

/// Everything that is not plain.
#[cold]
fn unusual<'a>(field: &[u8], limit: Option<(i32, i32)>, workspace: &'a mut Workspace) -> Option<&'a [u8]> {
    if with_or_without_blanks(field, |text| text.eq_ignore_ascii_case(b"nan").then_some(())).is_some() {
        let word = workspace.room(2)?;
        word.copy_from_slice(&NAN.to_ne_bytes());
        return Some(word);
    }
    long::numeric(field, limit, workspace)
}
