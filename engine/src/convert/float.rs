//! `float4` and `float8`: decimal numbers, rounded to the nearest float as C's `strtof` and `strtod` do. Hexadecimal
//! ones are declined, and so is what overflows, or becomes zero without being it: PostgreSQL refuses both.

use std::str::FromStr;

use super::digits::{value, with_or_without_blanks};

/// The powers of ten that a float holds exactly.
trait Float: FromStr + Copy + PartialEq + 'static {
    /// Up to here every whole number is a float.
    const EXACT: u64;
    /// 10^0, 10^1, ...
    const TENS: &'static [Self];
    const ZERO: Self;
    fn is_finite(self) -> bool;
    fn from_exact(whole: u64) -> Self;
    fn divided(self, by: Self) -> Self;
    fn negated(self) -> Self;
    fn special(kind: Special) -> Self;
}

/// Values that are no numbers.
enum Special {
    NaN,
    Infinity,
}

macro_rules! float {
    ($float:ident, $tens:expr) => {
        impl Float for $float {
            const EXACT: u64 = 1 << $float::MANTISSA_DIGITS;
            const TENS: &'static [Self] = &$tens;
            const ZERO: Self = 0.0;
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            fn from_exact(whole: u64) -> Self {
                whole as Self
            }
            fn divided(self, by: Self) -> Self {
                self / by
            }
            fn negated(self) -> Self {
                -self
            }
            fn special(kind: Special) -> Self {
                match kind {
                    Special::NaN => Self::NAN,
                    Special::Infinity => Self::INFINITY,
                }
            }
        }
    };
}

float!(f32, [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10]);
float!(
    f64,
    [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22
    ]
);

/// The bits of a `float4`.
#[inline]
pub(super) fn float4(field: &[u8]) -> Option<u32> {
    with_or_without_blanks(field, parse::<f32>).map(f32::to_bits)
}

/// The bits of a `float8`.
#[inline]
pub(super) fn float8(field: &[u8]) -> Option<u64> {
    with_or_without_blanks(field, parse::<f64>).map(f64::to_bits)
}

#[inline]
fn parse<F: Float>(text: &[u8]) -> Option<F> {
    let (negative, body) = match text {
        [b'-', body @ ..] => (true, body),
        [b'+', body @ ..] => (false, body),
        body => (false, body),
    };
    let size: F = exact(body).or_else(|| inexact(body))?;
    Some(if negative { size.negated() } else { size })
}

/// A plain number whose digits and power of ten are both floats: one division gives the nearest float to their
/// quotient. (Clinger, "How to read floating point numbers accurately", 1990.)
#[inline]
fn exact<F: Float>(body: &[u8]) -> Option<F> {
    let point = body.iter().position(|byte| *byte == b'.');
    let (whole, decimals) = match point {
        None => (value(body)?, 0),
        Some(point) => {
            let (whole, fraction) = (&body[..point], &body[point + 1..]);
            let scale = super::digits::POWERS.get(fraction.len())?;
            (value(whole)?.checked_mul(*scale)?.checked_add(value(fraction)?)?, fraction.len())
        }
    };
    let tens = *F::TENS.get(decimals)?;
    (whole <= F::EXACT).then(|| F::from_exact(whole).divided(tens))
}

/// Any other number, and the words for what is none.
fn inexact<F: Float>(body: &[u8]) -> Option<F> {
    let is = |word: &str| body.eq_ignore_ascii_case(word.as_bytes());
    match body.first()? {
        b'0'..=b'9' | b'.' => number(body),
        b'n' | b'N' if is("nan") => Some(F::special(Special::NaN)),
        b'i' | b'I' if is("inf") || is("infinity") => Some(F::special(Special::Infinity)),
        _ => None,
    }
}

fn number<F: Float>(body: &[u8]) -> Option<F> {
    let text = std::str::from_utf8(body).ok()?;
    let number = text.parse::<F>().ok().filter(|number| number.is_finite())?;
    let mantissa = body.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    let is_zero = mantissa.filter(|byte| byte.is_ascii_digit()).all(|digit| *digit == b'0');
    (is_zero || number != F::ZERO).then_some(number)
}
