//! `date`: days since 2000-01-01.
//!
//! Nearly all dates of files are written YYYY-MM-DD, which means the same under every `DateStyle`: [`iso`] reads it in
//! one go. [`leading`] knows the other usual forms, and [`spelled`] those with the month's name.

use super::calendar;
use super::datetime;
use super::digits::{array, is_blank, leading_two, trimmed, value};
use super::{DateOrder, Settings};

/// The day of a date. What follows it, a time and a zone, must be right and is dropped.
#[inline]
pub(super) fn date(field: &[u8], settings: &Settings) -> Option<i32> {
    if field.len() == 10
        && let Some(day) = iso(field)
    {
        return Some(day);
    }
    unusual(field, settings)
}

#[cold]
fn unusual(field: &[u8], settings: &Settings) -> Option<i32> {
    Some(datetime::any(trimmed(field), settings)?.day)
}

/// A date that begins with YYYY-MM-DD.
#[inline]
pub(crate) fn iso(text: &[u8]) -> Option<i32> {
    /// What is added to a byte, after the expected one was taken off, to set its top bit if it is no digit (more than
    /// 9 is left) or not the hyphen (anything is left).
    const YEAR_MONTH: u64 = u64::from_le_bytes([0x76, 0x76, 0x76, 0x76, 0x7f, 0x76, 0x76, 0x7f]);
    const TOP_BITS: u64 = 0x8080_8080_8080_8080;
    let left = u64::from_le_bytes(array(text.get(..8)?)) ^ u64::from_le_bytes(*b"0000-00-");
    let (tens, ones) = (text.get(8)?.wrapping_sub(b'0'), text.get(9)?.wrapping_sub(b'0'));
    if (left.wrapping_add(YEAR_MONTH) | left) & TOP_BITS != 0 || tens > 9 || ones > 9 {
        return None;
    }
    let digit = |index: u32| (left >> (8 * index)) as u32 & 0xf;
    let year = digit(0) * 1000 + digit(1) * 100 + digit(2) * 10 + digit(3);
    calendar::day(year, digit(5) * 10 + digit(6), u32::from(tens * 10 + ones))
}

/// The date at the start of a text, and what follows it.
pub(super) fn leading(text: &[u8], order: DateOrder) -> Option<(i32, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match length {
        8 => {
            let (year, month, day) = (&text[..4], &text[4..6], &text[6..8]);
            Some((calendar::day(small(year)?, small(month)?, small(day)?)?, &text[8..]))
        }
        4 => year_first(small(&text[..4])?, &text[4..]),
        1 | 2 => {
            let (first, rest) = leading_two(text)?;
            match rest {
                [b'-', letter, ..] if letter.is_ascii_alphabetic() => named_month(first, &rest[1..], order),
                _ => by_order(first, rest, order),
            }
        }
        _ => None,
    }
}

/// The date at the start of a text that spells its month out or cuts it short, blanks between its parts: Jan 2 2024,
/// January 2, 2024, or 2 Jan 2024; and what follows it, after a blank. A year of four digits is one in every order.
pub(crate) fn spelled(text: &[u8]) -> Option<(i32, &[u8])> {
    let (day, month, rest) = if text.first()?.is_ascii_alphabetic() {
        let (month, rest) = leading_month(text)?;
        let (day, rest) = leading_two(after_blanks(rest)?)?;
        (day, month, rest.strip_prefix(b",").unwrap_or(rest))
    } else {
        let (day, rest) = leading_two(text)?;
        let (month, rest) = leading_month(after_blanks(rest)?)?;
        (day, month, rest)
    };
    let (year, rest) = after_blanks(rest)?.split_at_checked(4)?;
    let ends = rest.first().is_none_or(|byte| is_blank(*byte));
    if ends { Some((calendar::day(small(year)?, month, day)?, rest)) } else { None }
}

/// What follows at least one blank.
fn after_blanks(text: &[u8]) -> Option<&[u8]> {
    let blanks = text.iter().take_while(|byte| is_blank(**byte)).count();
    (blanks > 0).then(|| &text[blanks..])
}

/// The month's name at the start of a text, and what follows it.
fn leading_month(text: &[u8]) -> Option<(u32, &[u8])> {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at(letters);
    Some((month(word)?, rest))
}

/// A few digits.
fn small(digits: &[u8]) -> Option<u32> {
    u32::try_from(value(digits)?).ok()
}

/// The delimiters of three-part dates; both of a date must be the same.
fn delimiter(byte: u8) -> bool {
    matches!(byte, b'-' | b'/' | b'.')
}

/// A number behind a delimiter, and what follows it.
fn delimited(text: &[u8], delimiter: u8) -> Option<(u32, &[u8])> {
    let (found, rest) = text.split_first()?;
    if *found == delimiter { leading_two(rest) } else { None }
}

/// Month and day after a year of four digits, which comes first in every order.
fn year_first(year: u32, rest: &[u8]) -> Option<(i32, &[u8])> {
    let mark = *rest.first().filter(|byte| delimiter(**byte))?;
    let (month, rest) = delimited(rest, mark)?;
    let (day, rest) = delimited(rest, mark)?;
    Some((calendar::day(year, month, day)?, rest))
}

/// Three numbers of which the first has one or two digits.
fn by_order(first: u32, rest: &[u8], order: DateOrder) -> Option<(i32, &[u8])> {
    let mark = *rest.first().filter(|byte| delimiter(**byte))?;
    let (second, rest) = delimited(rest, mark)?;
    let rest = rest.strip_prefix(&[mark])?;
    let (day, month, (year, rest)) = match order {
        DateOrder::Ymd => {
            let (third, rest) = leading_two(rest)?;
            (third, second, (century(first), rest))
        }
        DateOrder::Dmy => (first, second, trailing_year(rest)?),
        DateOrder::Mdy => (second, first, trailing_year(rest)?),
    };
    Some((calendar::day(year, month, day)?, rest))
}

/// A year of one, two or four digits.
fn trailing_year(text: &[u8]) -> Option<(u32, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match length {
        1 | 2 => leading_two(text).map(|(year, rest)| (century(year), rest)),
        4 => Some((small(&text[..4])?, &text[4..])),
        _ => None,
    }
}

/// Years of one or two digits are those from 1970 to 2069.
fn century(year: u32) -> u32 {
    if year < 70 { year + 2000 } else { year + 1900 }
}

/// Month and year of a date such as 02-Jan-2024.
fn named_month(day: u32, text: &[u8], order: DateOrder) -> Option<(i32, &[u8])> {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let month = month(&text[..letters])?;
    let text = text[letters..].strip_prefix(b"-")?;
    let (year, rest) = trailing_year(text)?;
    // Where the year comes first, PostgreSQL sees that the first number is none by the last one having four digits.
    let clear = order != DateOrder::Ymd || text.len() - rest.len() == 4;
    // A letter right behind would belong to this word.
    let ends = rest.first().is_none_or(|byte| is_blank(*byte));
    if clear && ends { Some((calendar::day(year, month, day)?, rest)) } else { None }
}

/// A month's name or its first three letters.
fn month(word: &[u8]) -> Option<u32> {
    const MONTHS: [&[u8]; 12] = [
        b"january",
        b"february",
        b"march",
        b"april",
        b"may",
        b"june",
        b"july",
        b"august",
        b"september",
        b"october",
        b"november",
        b"december",
    ];
    let is = |name: &&[u8]| word.eq_ignore_ascii_case(name) || word.eq_ignore_ascii_case(&name[..3]);
    (1..).zip(MONTHS).find(|(_, name)| is(name)).map(|(number, _)| number)
}
