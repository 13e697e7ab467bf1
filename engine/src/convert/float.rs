//! `float4` and `float8`: decimal numbers, rounded to the nearest float as C's `strtof` and `strtod` do. Hexadecimal
//! ones are declined, and so is what overflows, or becomes zero without being it: PostgreSQL refuses both.

use std::str::FromStr;

use super::digits::{POWERS, place_in, signed, value, with_or_without_blanks};

/// The powers of ten that a `f64` holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Up to here every whole number is a `f64`.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// The bits of a `float8`.
#[inline]
pub(super) fn float8(field: &[u8]) -> Option<u64> {
    let parse = |text: &[u8]| {
        let (negative, body) = signed(text);
        let size = nearest(body).or_else(|| other(body))?;
        Some(if negative { -size } else { size })
    };
    with_or_without_blanks(field, parse).map(f64::to_bits)
}

/// The bits of a `float4`.
#[inline]
pub(super) fn float4(field: &[u8]) -> Option<u32> {
    let parse = |text: &[u8]| {
        let (negative, body) = signed(text);
        let size = nearest(body).and_then(narrowed).or_else(|| other(body))?;
        Some(if negative { -size } else { size })
    };
    with_or_without_blanks(field, parse).map(f32::to_bits)
}

/// A plain number whose digits and power of ten are both a `f64`: one division gives the nearest one to their quotient.
/// (Clinger, "How to read floating point numbers accurately", 1990.)
#[inline]
fn nearest(body: &[u8]) -> Option<f64> {
    let point = place_in(body, b'.');
    let whole = value(&body[..point])?;
    let (digits, decimals) = if point == body.len() {
        (whole, 0)
    } else {
        let fraction = &body[point + 1..];
        let shifted = whole.checked_mul(*POWERS.get(fraction.len())?)?;
        (shifted.checked_add(value(fraction)?)?, fraction.len())
    };
    (digits <= EXACT).then(|| digits as f64 / TENS[decimals])
}

/// The nearest `f32` to a number of which only the nearest `f64` is known. `None` where that lies half way between two
/// `f32`, because then the number itself may be on either side. What [`nearest`] gives is far from both ends of `f32`.
#[inline]
fn narrowed(number: f64) -> Option<f32> {
    const DROPPED: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;
    let half_way = number.to_bits() & ((1 << DROPPED) - 1) == 1 << (DROPPED - 1);
    (!half_way).then_some(number as f32)
}

/// What the two types have in common.
trait Float: FromStr + PartialEq {
    const ZERO: Self;
    const NAN: Self;
    const INFINITY: Self;
}

impl Float for f32 {
    const ZERO: Self = 0.0;
    const NAN: Self = f32::NAN;
    const INFINITY: Self = f32::INFINITY;
}

impl Float for f64 {
    const ZERO: Self = 0.0;
    const NAN: Self = f64::NAN;
    const INFINITY: Self = f64::INFINITY;
}

/// Any other number, and the words for what is none.
fn other<F: Float>(body: &[u8]) -> Option<F> {
    let is = |word: &str| body.eq_ignore_ascii_case(word.as_bytes());
    match body.first()? {
        b'0'..=b'9' | b'.' => number(body),
        b'n' | b'N' if is("nan") => Some(F::NAN),
        b'i' | b'I' if is("inf") || is("infinity") => Some(F::INFINITY),
        _ => None,
    }
}

fn number<F: Float>(body: &[u8]) -> Option<F> {
    let text = std::str::from_utf8(body).ok()?;
    let number = text.parse::<F>().ok().filter(|number| *number != F::INFINITY)?;
    let mantissa = body.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    let is_zero = || mantissa.filter(|byte| byte.is_ascii_digit()).all(|digit| *digit == b'0');
    (number != F::ZERO || is_zero()).then_some(number)
}
