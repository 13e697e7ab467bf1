//! `bool`: the words true, false, yes, no, on and off, each in any case and cut short as long as it is clear, and the
//! digits 1 and 0.

use super::digits::with_or_without_blanks;

/// The value of a truth word.
#[inline]
pub(super) fn boolean(field: &[u8]) -> Option<bool> {
    with_or_without_blanks(field, |text| match text {
        [b't' | b'T' | b'1' | b'y' | b'Y'] => Some(true),
        [b'f' | b'F' | b'0' | b'n' | b'N'] => Some(false),
        [_, _, ..] => word(text),
        _ => None,
    })
}

fn word(text: &[u8]) -> Option<bool> {
    const WORDS: [(&[u8], bool); 6] =
        [(b"true", true), (b"false", false), (b"yes", true), (b"no", false), (b"on", true), (b"off", false)];
    let begins = |word: &[u8]| word.len() >= text.len() && word[..text.len()].eq_ignore_ascii_case(text);
    WORDS.iter().find(|(word, _)| begins(word)).map(|(_, truth)| *truth)
}
