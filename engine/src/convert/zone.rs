//! The offset of the session's time zone at a local time.
//!
//! PostgreSQL decides between two offsets only near the moment where one follows the other: it looks for the first
//! change after a day before the local time (taken as if it were UTC). So farther than that from any change, and zones
//! are less than a day from UTC, the offset is simply the one in force; nearer, the value is declined.

/// Seconds in a day.
const DAY: i64 = 86_400;

/// How far from a change of offset a local time must be, in seconds: a day for PostgreSQL's step back, and a day for
/// the difference between local time and UTC.
const MARGIN: i64 = 2 * DAY;

/// Unix time of 0001-01-01, from which on a zone's offsets are known.
pub const KNOWN_FROM: i64 = -719_162 * DAY;

/// Unix time of 2100-01-01. By then every zone follows a rule (or keeps its offset) and repeats with the calendar.
pub const CYCLES_FROM: i64 = 47_482 * DAY;

/// After so many seconds, 400 years, the calendar's days and weekdays repeat, and with them the rules of summer time.
pub const CYCLE: i64 = 146_097 * DAY;

/// Unix time until which a zone's offsets must be known: a whole cycle, and the margin to see that no change follows.
pub const KNOWN_UNTIL: i64 = CYCLES_FROM + CYCLE + 2 * MARGIN;

/// The offset from UTC, in seconds, east positive, at `local`: a local time's seconds since 1970-01-01 there.
///
/// `near` is where the last search ended. It makes the next one short, as a column's times tend to lie close together.
#[inline]
pub(super) fn offset_at(zone: &[(i64, i32)], local: i64, near: &mut usize) -> Option<i32> {
    let time = if local < CYCLES_FROM { local } else { CYCLES_FROM + (local - CYCLES_FROM) % CYCLE };
    if !in_force(zone, *near, time) {
        *near = zone.partition_point(|(since, _)| *since <= time).checked_sub(1)?;
    }
    let (since, offset) = *zone.get(*near)?;
    let ends_later = zone.get(*near + 1).is_none_or(|(next, _)| next - time > MARGIN);
    let certain = time - since > MARGIN && ends_later;
    certain.then_some(offset)
}

/// Is entry `index` the one in force at `time`?
#[inline]
fn in_force(zone: &[(i64, i32)], index: usize, time: i64) -> bool {
    zone.get(index).is_some_and(|(since, _)| *since <= time) && zone.get(index + 1).is_none_or(|(next, _)| time < *next)
}
