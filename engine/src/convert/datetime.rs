//! Dates, times and zones in their less usual forms, for all date and time types.
//!
//! A text is a date, or a date and a time with a blank or the letter T between them; the time may be followed by AM or
//! PM and by a zone: Z, UTC, or an offset. Words are read only where they have their default meaning. What PostgreSQL
//! reads beyond that (other words, other orders, parts run together) is declined.

use super::Settings;
use super::date;
use super::digits::{POWERS, is_blank, leading_two, value};
use super::time::SECOND;

/// Longer texts are declined, so that none is too long for PostgreSQL's buffers.
pub(super) const LENGTH_MAX: usize = 64;

/// Digits of a second's fraction that a `f64` still holds exactly.
const FRACTION_DIGITS: usize = 15;

/// A date and a time.
pub(crate) struct DateTime {
    /// Days since 2000-01-01.
    pub(crate) day: i32,
    /// Microseconds since midnight.
    pub(crate) time: i64,
    /// Seconds east of UTC, if a zone is named.
    pub(crate) offset: Option<i32>,
}

/// A time of day, and what follows it.
pub(crate) struct Clock<'a> {
    /// Microseconds since midnight, up to and including the next.
    pub(crate) time: i64,
    pub(crate) rest: &'a [u8],
}

/// A date and what may follow it.
pub(crate) fn any(text: &[u8], settings: &Settings) -> Option<DateTime> {
    if text.len() > LENGTH_MAX {
        return None;
    }
    let found = match date::spelled(text) {
        Some(found) if settings.default_words => found,
        _ => date::leading(text, settings.date_order)?,
    };
    let (day, rest) = found;
    let rest = match rest {
        [] => return Some(DateTime { day, time: 0, offset: None }),
        [b'T' | b't', rest @ ..] if settings.default_words => rest,
        [blank, rest @ ..] if is_blank(*blank) => without_blanks(rest),
        _ => return None,
    };
    let Clock { time, rest } = clock(rest, settings)?;
    Some(DateTime { day, time, offset: zone(rest, settings)? })
}

/// The text without the blanks before it.
fn without_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
    &text[blanks..]
}

/// A number behind a colon, and what follows it.
fn after_colon(text: &[u8]) -> Option<(u32, &[u8])> {
    leading_two(text.strip_prefix(b":")?)
}

/// Hours and minutes, and perhaps seconds, a fraction, AM or PM.
pub(crate) fn clock<'a>(text: &'a [u8], settings: &Settings) -> Option<Clock<'a>> {
    if text.len() > LENGTH_MAX {
        return None;
    }
    let (hour, rest) = leading_two(text)?;
    let (minute, second, micros, rest) = minutes(rest)?;
    let (hour, rest) = half_day(hour, rest, settings)?;
    let time = i64::from(hour * 3600 + minute * 60 + second) * SECOND + micros;
    // A day's end may be written as 24 hours.
    (time <= 86_400 * SECOND).then_some(Clock { time, rest })
}

/// Minutes, and perhaps seconds with a fraction, behind a colon: minutes, seconds, microseconds, and what follows.
fn minutes(text: &[u8]) -> Option<(u32, u32, i64, &[u8])> {
    let (minute, rest) = after_colon(text)?;
    let (second, micros, rest) = match rest {
        [b':', ..] => seconds(rest)?,
        _ => (0, 0, rest),
    };
    // What goes on like a time is another form: a fraction behind two numbers, say, makes them minutes and seconds.
    let goes_on = matches!(rest.first(), Some(b'0'..=b'9' | b':' | b'.'));
    // A 60th second may be written, but not be passed.
    let valid = !goes_on && minute < 60 && (second < 60 || (second == 60 && micros == 0));
    valid.then_some((minute, second, micros, rest))
}

/// What stands behind an interval's hours, in microseconds.
pub(super) fn behind_hours(text: &[u8]) -> Option<i64> {
    let (minute, second, micros, rest) = minutes(text)?;
    rest.is_empty().then_some(i64::from(minute * 60 + second) * SECOND + micros)
}

/// Seconds and their fraction in microseconds behind a colon, and what follows them.
fn seconds(text: &[u8]) -> Option<(u32, i64, &[u8])> {
    let (second, rest) = after_colon(text)?;
    let Some(digits) = rest.strip_prefix(b".") else { return Some((second, 0, rest)) };
    let (micros, rest) = fraction(digits)?;
    Some((second, micros, rest))
}

/// A second's fraction as microseconds. PostgreSQL rounds it as a `f64`, half to even.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length > FRACTION_DIGITS {
        return None;
    }
    let (digits, rest) = text.split_at(length);
    let fraction = value(digits)? as f64 / POWERS[length] as f64;
    Some(((fraction * 1e6).round_ties_even() as i64, rest))
}

/// The hour of 24, after AM or PM if there is one.
fn half_day<'a>(hour: u32, rest: &'a [u8], settings: &Settings) -> Option<(u32, &'a [u8])> {
    let (word, after) = match without_blanks(rest) {
        [a, b, after @ ..] if after.first().is_none_or(|byte| is_blank(*byte)) => {
            ([a.to_ascii_lowercase(), b.to_ascii_lowercase()], after)
        }
        _ => return Some((hour, rest)),
    };
    let hour = match &word {
        b"am" if hour <= 12 => hour % 12,
        b"pm" if hour <= 12 => hour % 12 + 12,
        b"am" | b"pm" => return None,
        _ => return Some((hour, rest)),
    };
    settings.default_words.then_some((hour, after))
}

/// The zone at the end of a text: `Some(None)` if there is none.
pub(super) fn zone(text: &[u8], settings: &Settings) -> Option<Option<i32>> {
    match without_blanks(text) {
        [] => Some(None),
        [sign @ (b'+' | b'-'), digits @ ..] => {
            let size = offset(digits)?;
            Some(Some(if *sign == b'-' { -size } else { size }))
        }
        word => {
            let utc = word.eq_ignore_ascii_case(b"z") || word.eq_ignore_ascii_case(b"utc");
            (utc && settings.default_words).then_some(Some(0))
        }
    }
}

/// HH, HHMM, HH:MM or HH:MM:SS in seconds.
fn offset(text: &[u8]) -> Option<i32> {
    let (hour, mut rest) = leading_two(text)?;
    let (mut minute, mut second) = (0, 0);
    if rest.first() == Some(&b':') {
        (minute, rest) = after_colon(rest)?;
        if !rest.is_empty() {
            (second, rest) = after_colon(rest)?;
        }
    } else if rest.len() == 2 && text.len() == 4 {
        (minute, rest) = leading_two(rest)?;
    }
    // Zones are less than 16 hours from UTC.
    let valid = rest.is_empty() && hour < 16 && minute < 60 && second < 60;
    valid.then(|| (hour * 3600 + minute * 60 + second).cast_signed())
}
