//! From a field as it stands in the file to its content.

use crate::tuple::OutOfMemory;

/// The content of a field that holds quotes, by COPY's rule: quotes toggle, and inside them an escape before an escape
/// or a quote yields that byte. It lies in `raw` where that is possible, else in `scratch`.
///
/// # Errors
/// If there is no memory for it.
pub(crate) fn unquote<'a>(
    raw: &'a [u8],
    quote: u8,
    escape: u8,
    scratch: &'a mut Vec<u8>,
) -> Result<&'a [u8], OutOfMemory> {
    if let [first, inner @ .., last] = raw
        && *first == quote
        && *last == quote
        && memchr::memchr2(quote, escape, inner).is_none()
    {
        return Ok(inner);
    }
    scratch.clear();
    scratch.try_reserve(raw.len()).map_err(|_| OutOfMemory)?;
    let mut rest = raw;
    while let Some(open) = memchr::memchr(quote, rest) {
        scratch.extend_from_slice(&rest[..open]);
        rest = inside(&rest[open + 1..], quote, escape, scratch);
    }
    scratch.extend_from_slice(rest);
    Ok(scratch)
}

/// Copies what is inside quotes and returns what follows the closing one.
fn inside<'a>(mut rest: &'a [u8], quote: u8, escape: u8, out: &mut Vec<u8>) -> &'a [u8] {
    while let Some(at) = memchr::memchr2(quote, escape, rest) {
        out.extend_from_slice(&rest[..at]);
        let byte = rest[at];
        match rest.get(at + 1) {
            Some(&next) if byte == escape && (next == escape || next == quote) => {
                out.push(next);
                rest = &rest[at + 2..];
            }
            _ if byte == quote => return &rest[at + 1..],
            _ => {
                out.push(byte);
                rest = &rest[at + 1..];
            }
        }
    }
    out.extend_from_slice(rest);
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::first_record::{FirstRecord, first_record};
    use proptest::prelude::*;

    fn content(raw: &[u8], escape: u8) -> Vec<u8> {
        unquote(raw, b'"', escape, &mut Vec::new()).expect("there is memory").to_vec()
    }

    #[test]
    fn a_field_that_is_quoted_as_a_whole_is_not_copied() {
        let raw = b"\"a,b\"";
        let mut scratch = Vec::new();
        assert_eq!(unquote(raw, b'"', b'"', &mut scratch), Ok(&b"a,b"[..]));
        assert_eq!(scratch.capacity(), 0);
    }

    #[test]
    fn quotes_toggle_wherever_they_stand() {
        assert_eq!(content(b"ab\"c\"\"d\"e", b'"'), b"abc\"de");
        assert_eq!(content(b"a\"\"b", b'"'), b"ab");
        assert_eq!(content(b"\"a\\\"b\\\\\\c\"\\", b'\\'), b"a\"b\\\\c\\");
    }

    proptest! {
        #[test]
        fn every_field_is_what_the_plain_reading_of_a_record_gives(
            raw in prop::collection::vec(prop::sample::select(&b"\"\\a"[..]), 0..20),
            escape in prop::sample::select(&b"\"\\a"[..]),
        ) {
            // A delimiter that does not occur makes the record one field.
            if let FirstRecord::Complete(fields) = first_record(&raw, true, b',', b'"', escape) {
                prop_assert_eq!(content(&raw, escape), fields[0].clone());
            }
        }
    }
}
