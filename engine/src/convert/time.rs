//! `time`: microseconds since midnight.

use super::Settings;
use super::datetime::{self, Clock};
use super::digits::{array, trimmed};

/// Microseconds in a second.
pub(super) const SECOND: i64 = 1_000_000;

/// The time of day, rounded to so many digits after the seconds' point.
#[inline]
pub(super) fn time(field: &[u8], precision: u32, settings: &Settings) -> Option<i64> {
    let time = match iso(field) {
        Some((time, [])) => time,
        _ => unusual(field, settings)?,
    };
    Some(rounded(time, precision))
}

#[cold]
fn unusual(field: &[u8], settings: &Settings) -> Option<i64> {
    let Clock { time, rest } = datetime::clock(trimmed(field), settings)?;
    // A zone may follow, and is dropped.
    datetime::zone(rest, settings)?;
    Some(time)
}

/// A time that begins with HH:MM:SS and perhaps a fraction of up to six digits, and what follows it.
#[inline]
pub(crate) fn iso(text: &[u8]) -> Option<(i64, &[u8])> {
    const DIGITS: u64 = u64::from_le_bytes([0x76, 0x76, 0x7f, 0x76, 0x76, 0x7f, 0x76, 0x76]);
    const TOP_BITS: u64 = 0x8080_8080_8080_8080;
    let left = u64::from_le_bytes(array(text.get(..8)?)) ^ u64::from_le_bytes(*b"00:00:00");
    if (left.wrapping_add(DIGITS) | left) & TOP_BITS != 0 {
        return None;
    }
    let two = |index: u32| ((left >> (8 * index)) as u32 & 0xf) * 10 + ((left >> (8 * index + 8)) as u32 & 0xf);
    let (hour, minute, second) = (two(0), two(3), two(6));
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    let rest = &text[8..];
    let (fraction, rest) = match rest {
        [b'.', digits @ ..] => fraction(digits)?,
        _ => (0, rest),
    };
    Some((seconds * SECOND + fraction, rest))
}

/// One to six digits as microseconds, and what follows them.
#[inline]
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let (mut micros, mut length) = (0, 0);
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9) {
        micros = micros * 10 + i64::from(digit);
        length += 1;
        if length > 6 {
            return None;
        }
    }
    const UNITS: [i64; 7] = [0, 100_000, 10_000, 1_000, 100, 10, 1];
    if length == 0 { None } else { Some((micros * UNITS[length], &text[length..])) }
}

/// Rounded half away from zero to so many digits of a second's fraction.
#[inline]
pub(super) fn rounded(time: i64, precision: u32) -> i64 {
    const UNITS: [i64; 6] = [1_000_000, 100_000, 10_000, 1_000, 100, 10];
    match UNITS.get(precision as usize) {
        None => time,
        Some(unit) if time >= 0 => (time + unit / 2) / unit * unit,
        Some(unit) => -((unit / 2 - time) / unit * unit),
    }
}
