//! `interval`: microseconds, days and months, each on its own.
//!
//! Read are the forms that PostgreSQL writes in its styles `postgres` and `iso_8601`: whole numbers with units, and a
//! time last (`1 year 2 mons -3 days 04:05:06.7`), or P1Y2M3DT4H5M6.7S. Each unit may come once.

use super::digits::{signed, trimmed, value};
use super::time::SECOND;
use super::{Settings, Workspace, datetime};

/// Digits of a number: with no more of them no sum leaves 32 bits, on the way to the result either.
const NUMBER_DIGITS: usize = 8;

/// Seconds with a fraction are read as one `f64` in the ISO form; below this the fraction comes out exact.
const ISO_SECONDS_MAX: i64 = 1_000_000;

/// Units; each one's number is its bit in [`Sums::given`]. Those of the time of day are the last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

/// The sums so far.
#[derive(Default)]
struct Sums {
    months: i64,
    days: i64,
    micros: i64,
    /// Bits of the units that were given.
    given: u32,
}

/// The 16 bytes: microseconds, days, months.
#[inline(never)]
pub(super) fn interval<'a>(field: &[u8], settings: &Settings, workspace: &'a mut Workspace) -> Option<&'a [u8]> {
    let text = trimmed(field);
    if text.len() > datetime::LENGTH_MAX || (settings.interval_sql_standard && text.first() == Some(&b'-')) {
        return None;
    }
    let sums = match text {
        // Blanks may stand before the other form only.
        [b'P', rest @ ..] if text.len() == field.len() => iso(rest)?,
        _ => words(text)?,
    };
    let bytes = workspace.room(16)?;
    bytes[..8].copy_from_slice(&sums.micros.to_ne_bytes());
    bytes[8..12].copy_from_slice(&i32::try_from(sums.days).ok()?.to_ne_bytes());
    bytes[12..].copy_from_slice(&i32::try_from(sums.months).ok()?.to_ne_bytes());
    Some(bytes)
}

impl Sums {
    /// Adds a unit that was not given before.
    fn add(&mut self, unit: Unit, number: i64) -> Option<()> {
        let bit = 1 << unit as u32;
        if self.given & bit != 0 {
            return None;
        }
        self.given |= bit;
        match unit {
            Unit::Year => self.months += 12 * number,
            Unit::Month => self.months += number,
            Unit::Week => self.days += 7 * number,
            Unit::Day => self.days += number,
            Unit::Hour => self.micros += 3600 * SECOND * number,
            Unit::Minute => self.micros += 60 * SECOND * number,
            Unit::Second => self.micros += SECOND * number,
        }
        Some(())
    }
}

/// Digits at the start as a number, and what follows them.
fn leading_number(text: &[u8]) -> Option<(i64, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    let number = value(digits).filter(|_| length <= NUMBER_DIGITS)?;
    Some((number.cast_signed(), rest))
}

/// Numbers and units with one blank between them, and a time at the end.
fn words(text: &[u8]) -> Option<Sums> {
    let mut sums = Sums::default();
    let mut words = text.split(|byte| *byte == b' ');
    while let Some(word) = words.next() {
        let (negative, digits) = signed(word);
        let sign = if negative { -1 } else { 1 };
        let (number, rest) = leading_number(digits)?;
        if rest.is_empty() {
            sums.add(unit(words.next()?)?, sign * number)?;
            continue;
        }
        // A time stands for hours, minutes and seconds, so none of them may have been given, and is the end.
        if sums.given >> Unit::Hour as u32 != 0 || words.next().is_some() {
            return None;
        }
        sums.micros = sign * (number * 3600 * SECOND + datetime::behind_hours(rest)?);
    }
    Some(sums)
}

fn unit(word: &[u8]) -> Option<Unit> {
    Some(match word {
        b"year" | b"years" => Unit::Year,
        b"mon" | b"mons" | b"month" | b"months" => Unit::Month,
        b"week" | b"weeks" => Unit::Week,
        b"day" | b"days" => Unit::Day,
        b"hour" | b"hours" => Unit::Hour,
        b"min" | b"mins" | b"minute" | b"minutes" => Unit::Minute,
        b"sec" | b"secs" | b"second" | b"seconds" => Unit::Second,
        _ => return None,
    })
}

/// The ISO 8601 form with designators, behind its P.
fn iso(text: &[u8]) -> Option<Sums> {
    let mut sums = Sums::default();
    let (mut rest, mut in_time) = (text, false);
    while !rest.is_empty() {
        if let [b'T', time @ ..] = rest
            && !in_time
            && !time.is_empty()
        {
            (rest, in_time) = (time, true);
        }
        let negative = rest.strip_prefix(b"-");
        let (number, after) = leading_number(negative.unwrap_or(rest))?;
        let sign = if negative.is_some() { -1 } else { 1 };
        let (letter, after) = after.split_first()?;
        rest = match (letter, in_time) {
            (b'Y', false) => sums.iso(Unit::Year, sign * number, after)?,
            (b'M', false) => sums.iso(Unit::Month, sign * number, after)?,
            (b'W', false) => sums.iso(Unit::Week, sign * number, after)?,
            (b'D', false) => sums.iso(Unit::Day, sign * number, after)?,
            (b'H', true) => sums.iso(Unit::Hour, sign * number, after)?,
            (b'M', true) => sums.iso(Unit::Minute, sign * number, after)?,
            (b'S', true) => sums.iso(Unit::Second, sign * number, after)?,
            (b'.', true) => sums.iso_seconds(sign, number, after)?,
            _ => return None,
        };
    }
    (sums.given != 0).then_some(sums)
}

impl Sums {
    /// Adds a number and hands back what follows it.
    fn iso<'a>(&mut self, unit: Unit, number: i64, rest: &'a [u8]) -> Option<&'a [u8]> {
        self.add(unit, number).map(|()| rest)
    }

    /// Seconds of which the whole part and the point were read.
    fn iso_seconds<'a>(&mut self, sign: i64, whole: i64, text: &'a [u8]) -> Option<&'a [u8]> {
        let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = text.split_at(length);
        let rest = rest.strip_prefix(b"S")?;
        if length > 6 || whole >= ISO_SECONDS_MAX {
            return None;
        }
        let unit = 10_i64.pow(6 - length as u32);
        self.add(Unit::Second, sign * whole)?;
        self.micros += sign * value(digits)?.cast_signed() * unit;
        Some(rest)
    }
}
