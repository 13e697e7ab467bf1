//! Numbers of any length, exponents, and scales that are negative or large: one decimal digit after the other.

use super::{BASE, SHORT, SHORT_DSCALE_MAX, SHORT_DSCALE_SHIFT, SHORT_NEGATIVE, SHORT_WEIGHT_BITS};
use crate::convert::Workspace;
use crate::convert::digits::{signed, trimmed, value};

/// Longer texts and exponents are declined, so that no limit of the stored form (16,383 decimals, 131,072 digits before
/// the point) can be met.
const LENGTH_MAX: usize = 4_000;
const EXPONENT_MAX: u64 = 4_000;

/// Sign and dscale of the long form's first word; the second is the weight.
const LONG_NEGATIVE: u16 = 0x4000;

/// The short form's weights.
const SHORT_WEIGHTS: std::ops::RangeInclusive<i32> = -64..=63;

/// A number as decimal digits.
struct Decimal<'a> {
    negative: bool,
    /// The value of each digit, the most significant first, none of the first ones zero.
    digits: &'a mut Vec<u8>,
    /// The power of ten of the first digit.
    weight: i32,
    /// Decimals that are shown.
    dscale: i32,
}

/// The stored form of `field`.
pub(super) fn numeric<'a>(field: &[u8], limit: Option<(i32, i32)>, workspace: &'a mut Workspace) -> Option<&'a [u8]> {
    let text = trimmed(field);
    if text.len() > LENGTH_MAX {
        return None;
    }
    let (bytes, digits) = (&mut workspace.bytes, &mut workspace.digits);
    // A digit for each byte; and a header with a word for each four digits, and one more at either end.
    digits.clear();
    digits.try_reserve(text.len()).ok()?;
    bytes.clear();
    bytes.try_reserve(text.len() / 2 + 8).ok()?;
    let mut decimal = parse(text, digits)?;
    decimal.strip();
    if let Some((precision, scale)) = limit {
        decimal.round(scale);
        if !decimal.digits.is_empty() && decimal.weight + 1 > precision - scale {
            return None;
        }
    }
    decimal.store(bytes);
    Some(bytes)
}

/// A sign, digits with a point perhaps, and an exponent perhaps.
fn parse<'a>(text: &[u8], digits: &'a mut Vec<u8>) -> Option<Decimal<'a>> {
    let (negative, body) = signed(text);
    let end = body.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(body.len());
    let exponent = if end < body.len() { exponent(&body[end + 1..])? } else { 0 };
    let mantissa = &body[..end];
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    for byte in mantissa[..point].iter().chain(mantissa.get(point + 1..).unwrap_or_default()) {
        digits.push(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    if digits.is_empty() {
        return None;
    }
    let whole = i32::try_from(point).ok()?;
    let decimals = i32::try_from(digits.len()).ok()? - whole;
    Some(Decimal { negative, digits, weight: whole - 1 + exponent, dscale: (decimals - exponent).max(0) })
}

fn exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = signed(text);
    let size = i32::try_from(value(digits).filter(|size| *size <= EXPONENT_MAX)?).ok()?;
    Some(if negative { -size } else { size })
}

impl Decimal<'_> {
    /// Drops zeros before the first digit that is none.
    fn strip(&mut self) {
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        self.weight -= zeros as i32; // at most LENGTH_MAX
    }

    /// Rounds half away from zero to so many digits after the point, or before it if negative.
    fn round(&mut self, scale: i32) {
        self.dscale = scale.max(0);
        let Ok(kept) = usize::try_from(self.weight + 1 + scale) else {
            self.digits.clear();
            return;
        };
        if kept >= self.digits.len() {
            return;
        }
        let up = self.digits[kept] >= 5;
        self.digits.truncate(kept);
        if up {
            self.increment();
        }
    }

    /// Adds one to the last digit; with none left, to the place before the first one dropped.
    fn increment(&mut self) {
        while let Some(last) = self.digits.pop() {
            if last < 9 {
                self.digits.push(last + 1);
                return;
            }
        }
        self.digits.push(1);
        self.weight += 1;
    }

    /// Appends header and base-10,000 digits.
    fn store(&self, bytes: &mut Vec<u8>) {
        let used = self.digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
        let digits = &self.digits[..used];
        let (weight, negative) =
            if digits.is_empty() { (0, false) } else { (self.weight.div_euclid(4), self.negative) };
        let dscale = self.dscale as u16; // at most LENGTH_MAX + EXPONENT_MAX
        if self.dscale <= SHORT_DSCALE_MAX as i32 && SHORT_WEIGHTS.contains(&weight) {
            let sign = if negative { SHORT_NEGATIVE } else { 0 };
            let header = SHORT | sign | (dscale << SHORT_DSCALE_SHIFT) | (weight as u16 & SHORT_WEIGHT_BITS);
            bytes.extend(header.to_ne_bytes());
        } else {
            let sign = if negative { LONG_NEGATIVE } else { 0 };
            bytes.extend((sign | dscale).to_ne_bytes());
            bytes.extend((weight as i16).to_ne_bytes());
        }
        // The first stored digit holds the decimal digits down to the next multiple of four.
        let first = (self.weight.rem_euclid(4) + 1) as usize;
        let (head, tail) = digits.split_at(first.min(digits.len()));
        let pack = |four: &[u8], width: usize| {
            let sum = four.iter().fold(0, |sum, digit| sum * 10 + u64::from(*digit));
            (sum * 10_u64.pow((width - four.len()) as u32) % BASE) as u16
        };
        if !head.is_empty() {
            bytes.extend(pack(head, first).to_ne_bytes());
        }
        for four in tail.chunks(4) {
            bytes.extend(pack(four, 4).to_ne_bytes());
        }
    }
}
