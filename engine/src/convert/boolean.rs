//! `bool`: the words true, false, yes, no, on and off, each in any case and cut short as long as it is clear, and the
//! digits 1 and 0.

use super::digits::with_or_without_blanks;

/// The value of a truth word.
#[inline]
pub(super) fn boolean(field: &[u8]) -> Option<bool> {
    match field {
        [letter] => letter_value(*letter),
        _ => longer(field),
    }
}

#[inline(never)]
fn longer(field: &[u8]) -> Option<bool> {
    with_or_without_blanks(field, |text| match text {
        [letter] => letter_value(*letter),
        [_, _, ..] => word(text),
        [] => None,
    })
}

/// The value of a single letter or digit, by two bit sets: values in a file are in no order, and a jump for each would
/// be predicted wrongly half the time.
#[inline]
fn letter_value(letter: u8) -> Option<bool> {
    let bit = |set: u128| letter < 128 && set >> letter & 1 != 0;
    bit(TRUE | FALSE).then(|| bit(TRUE))
}

const TRUE: u128 = set(b"tTyY1");
const FALSE: u128 = set(b"fFnN0");

/// The bits of some ASCII bytes.
const fn set(bytes: &[u8]) -> u128 {
    let (mut set, mut index) = (0, 0);
    while index < bytes.len() {
        set |= 1 << bytes[index];
        index += 1;
    }
    set
}

fn word(text: &[u8]) -> Option<bool> {
    const WORDS: [(&[u8], bool); 6] =
        [(b"true", true), (b"false", false), (b"yes", true), (b"no", false), (b"on", true), (b"off", false)];
    let begins = |word: &[u8]| word.len() >= text.len() && word[..text.len()].eq_ignore_ascii_case(text);
    WORDS.iter().find(|(word, _)| begins(word)).map(|(_, truth)| *truth)
}
