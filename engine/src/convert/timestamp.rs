//! `timestamp` and `timestamptz`: microseconds since 2000-01-01, local or in UTC.
//!
//! The usual form, YYYY-MM-DD HH:MM:SS with a fraction, a T for the blank and a plain offset perhaps, is read in one
//! go; [`datetime`] knows the others. A `timestamp` drops the zone, as PostgreSQL does.

use super::calendar::UNIX_TO_POSTGRES_DAYS;
use super::datetime::{self, DateTime};
use super::digits::trimmed;
use super::time::{SECOND, rounded};
use super::{Scratch, Settings, date, time, zone};

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
pub(super) fn absolute(field: &[u8], precision: u32, settings: &Settings, scratch: &mut Scratch) -> Option<i64> {
    let found = match usual(field, settings) {
        Some((found, [])) => found,
        Some((found, [sign @ (b'+' | b'-'), tens @ b'0'..=b'9', ones @ b'0'..=b'9'])) => {
            let hours = i32::from((tens - b'0') * 10 + (ones - b'0'));
            if hours > 15 {
                return None;
            }
            DateTime { offset: Some(if *sign == b'-' { -3600 * hours } else { 3600 * hours }), ..found }
        }
        _ => unusual(field, settings)?,
    };
    let local = i64::from(found.day) * DAY + found.time;
    let offset = match found.offset {
        Some(offset) => offset,
        None => {
            let seconds = local.div_euclid(SECOND) + UNIX_TO_POSTGRES_DAYS * 86_400;
            zone::offset_at(&settings.zone, seconds, &mut scratch.zone_entry)?
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

#[cold]
fn unusual(field: &[u8], settings: &Settings) -> Option<DateTime> {
    datetime::any(trimmed(field), settings)
}
