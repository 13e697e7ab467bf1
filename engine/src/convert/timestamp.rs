//! `timestamp` and `timestamptz`: microseconds since 2000-01-01, local or in UTC.
//!
//! The usual form, YYYY-MM-DD HH:MM:SS with a fraction, a T for the blank and a plain offset perhaps, is read in one
//! go; [`datetime`] knows the others. A `timestamp` drops the zone, as PostgreSQL does.

use super::calendar::UNIX_TO_POSTGRES_DAYS;
use super::datetime::{self, DateTime};
use super::digits::trimmed;
use super::time::{SECOND, rounded};
use super::{Settings, Workspace, date, time, zone};

/// Microseconds in a day.
const DAY: i64 = 86_400 * SECOND;

/// A `timestamp`, rounded to so many digits after the seconds' point.
#[inline]
pub(super) fn local(field: &[u8], precision: u32, settings: &Settings) -> Option<i64> {
    let found = match usual(field, settings) {
        Some((found, [])) => found,
        _ => unusual(field, settings)?,
    };
    Some(rounded(i64::from(found.day) * DAY + found.time, precision))
}

/// A `timestamptz`; without a zone in the text it is in the session's.
#[inline]
pub(super) fn absolute(field: &[u8], precision: u32, settings: &Settings, workspace: &mut Workspace) -> Option<i64> {
    let found = match usual(field, settings) {
        Some((found, rest)) => match usual_offset(rest, settings) {
            Some(offset) => DateTime { offset, ..found },
            None => unusual(field, settings)?,
        },
        None => unusual(field, settings)?,
    };
    let local = i64::from(found.day) * DAY + found.time;
    let offset = match found.offset {
        Some(offset) => offset,
        None => {
            let seconds = local.div_euclid(SECOND) + UNIX_TO_POSTGRES_DAYS * 86_400;
            zone::offset_at(&settings.zone, seconds, &mut workspace.zone_entry)?
        }
    };
    Some(rounded(local - i64::from(offset) * SECOND, precision))
}

/// The usual form, without its zone, and what follows it.
#[inline]
fn usual<'a>(field: &'a [u8], settings: &Settings) -> Option<(DateTime, &'a [u8])> {
    match field.get(10)? {
        b' ' => {}
        b'T' if settings.default_words => {}
        _ => return None,
    }
    let day = date::iso(field)?;
    let (time, rest) = time::iso(&field[11..])?;
    Some((DateTime { day, time, offset: None }, rest))
}

/// No zone, Z, +HH or +HH:MM.
#[inline]
fn usual_offset(text: &[u8], settings: &Settings) -> Option<Option<i32>> {
    let digit = |byte: u8| Some(i32::from(byte.wrapping_sub(b'0'))).filter(|digit| *digit <= 9);
    let (sign, hours, minutes) = match text {
        [] => return Some(None),
        [b'Z'] if settings.default_words => return Some(Some(0)),
        [sign, a, b] => (sign, digit(*a)? * 10 + digit(*b)?, 0),
        [sign, a, b, b':', c, d] => (sign, digit(*a)? * 10 + digit(*b)?, digit(*c)? * 10 + digit(*d)?),
        _ => return None,
    };
    let size = if hours < 16 && minutes < 60 { 3600 * hours + 60 * minutes } else { return None };
    match sign {
        b'+' => Some(Some(size)),
        b'-' => Some(Some(-size)),
        _ => None,
    }
}

#[cold]
fn unusual(field: &[u8], settings: &Settings) -> Option<DateTime> {
    datetime::any(trimmed(field), settings)
}
