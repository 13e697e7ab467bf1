//! The text family: `varchar(n)`, `char(n)`, `"char"` and `name`. Lengths are in characters, so an encoding whose
//! characters cannot be counted here leaves only texts that are short enough in bytes.

use super::digits::word;
use super::{Scratch, Settings};

/// Bytes of a `name`, with the NUL that ends it.
const NAME_SIZE: usize = 64;

/// Bytes that are padded at once.
const BLOCK: usize = 32;

/// A word of blanks.
const BLANKS: u64 = 0x2020_2020_2020_2020;

/// `varchar(limit)`: blanks beyond the limit are cut off, anything else there is an error.
#[inline]
pub(super) fn varchar<'a>(field: &'a [u8], limit: u32, settings: &Settings) -> Option<&'a [u8]> {
    let limit = limit as usize;
    // No character is shorter than a byte.
    if field.len() <= limit { Some(field) } else { cut(field, limit, settings) }
}

/// The first `limit` characters, if nothing but blanks stands behind them.
fn cut<'a>(field: &'a [u8], limit: usize, settings: &Settings) -> Option<&'a [u8]> {
    let (kept, rest) = field.split_at(bytes_of(field, limit, settings)?);
    rest.iter().all(|byte| *byte == b' ').then_some(kept)
}

/// `char(limit)`: as `varchar`, and filled up with blanks.
#[inline]
pub(super) fn bpchar<'a>(
    field: &'a [u8],
    limit: u32,
    settings: &Settings,
    scratch: &'a mut Scratch,
) -> Option<&'a [u8]> {
    let limit = limit as usize;
    let count = count(field, settings)?;
    if count >= limit {
        return if count == limit { Some(field) } else { cut(field, limit, settings) };
    }
    let length = field.len() + limit - count;
    // Blanks are stored in whole blocks and the text in whole words, which takes a few instructions where storing as
    // many as there are takes a call.
    let padded = scratch.room(length.next_multiple_of(BLOCK))?;
    for block in padded.chunks_exact_mut(BLOCK) {
        block.fill(b' ');
    }
    let (eights, rest) = field.as_chunks::<8>();
    let (places, _) = padded.as_chunks_mut::<8>();
    for (place, eight) in places.iter_mut().zip(eights) {
        *place = *eight;
    }
    if !rest.is_empty() {
        places[eights.len()] = (word(rest) | BLANKS << (8 * rest.len())).to_le_bytes();
    }
    Some(&padded[..length])
}

/// How many characters there are.
#[inline]
fn count(field: &[u8], settings: &Settings) -> Option<usize> {
    if settings.utf8 { Some(field.len() - continuations(field)) } else { settings.single_byte.then_some(field.len()) }
}

/// How many bytes look like 10xxxxxx, eight at a time.
#[inline]
fn continuations(field: &[u8]) -> usize {
    let in_word = |word: u64| (word >> 7 & !(word >> 6) & 0x0101_0101_0101_0101).count_ones() as usize;
    let (eights, rest) = field.as_chunks::<8>();
    eights.iter().fold(in_word(word(rest)), |sum, eight| sum + in_word(u64::from_le_bytes(*eight)))
}

/// In UTF-8 every character has one byte that does not look like 10xxxxxx: its first.
#[inline]
fn starts_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// How many bytes the first `limit` characters take.
fn bytes_of(field: &[u8], limit: usize, settings: &Settings) -> Option<usize> {
    if settings.utf8 {
        let mut starts = (0..field.len()).filter(|index| starts_character(field[*index]));
        Some(starts.nth(limit).unwrap_or(field.len()))
    } else {
        settings.single_byte.then_some(limit.min(field.len()))
    }
}

/// `"char"`: the first byte, or the one a backslash and three octal digits name; 0 if there is none.
#[inline]
pub(super) fn char(field: &[u8]) -> u8 {
    let octal = |digit: u8| matches!(digit, b'0'..=b'7');
    match field {
        [b'\\', a, b, c] if octal(*a) && octal(*b) && octal(*c) => ((a - b'0') << 6) + ((b - b'0') << 3) + (c - b'0'),
        [first, ..] => *first,
        [] => 0,
    }
}

/// `name`: cut to less than 64 bytes at a character's end, and filled up with zeros.
#[inline(never)]
pub(super) fn name<'a>(field: &[u8], settings: &Settings, scratch: &'a mut Scratch) -> Option<&'a [u8]> {
    let mut length = field.len();
    if length >= NAME_SIZE {
        length = NAME_SIZE - 1;
        if settings.utf8 {
            while length > 0 && !starts_character(field[length]) {
                length -= 1;
            }
        } else if !settings.single_byte {
            return None;
        }
    }
    let name = scratch.room(NAME_SIZE)?;
    name[..length].copy_from_slice(&field[..length]);
    name[length..].fill(0);
    Some(name)
}
