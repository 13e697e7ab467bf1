//! `int2`, `int4`, `int8` and `oid`: decimal digits with an optional sign. Other bases and digit separators, which
//! PostgreSQL reads from 16 on, are declined.

use super::digits::{value, with_or_without_blanks};

/// A number that a signed type of `i64` or fewer bits may hold.
#[inline]
pub(super) fn signed<T: TryFrom<i64>>(field: &[u8]) -> Option<T> {
    T::try_from(with_or_without_blanks(field, parse)?).ok()
}

#[inline]
fn parse(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => 0_i64.checked_sub_unsigned(value(digits)?),
        [b'+', digits @ ..] => i64::try_from(value(digits)?).ok(),
        digits => i64::try_from(value(digits)?).ok(),
    }
}

/// An oid. Signed ones, which PostgreSQL takes modulo 2^32, are declined, and so are leading zeros, which from 16 on
/// make it an octal number.
#[inline]
pub(super) fn oid(field: &[u8]) -> Option<u32> {
    with_or_without_blanks(field, |text| match text {
        [b'0', _, ..] => None,
        digits => u32::try_from(value(digits)?).ok(),
    })
}
