//! The text family: `varchar(n)`, `char(n)`, `"char"` and `name`. Lengths are in characters, so an encoding whose
//! characters cannot be counted here leaves only texts that are short enough in bytes.

use super::digits::word;
use super::{Settings, Sink, Workspace};

/// Bytes of a `name`, with the NUL that ends it.
const NAME_SIZE: usize = 64;

/// `varchar(limit)`: blanks beyond the limit are cut off, anything else there is an error.
#[inline(never)]
pub(super) fn varchar(field: &[u8], limit: u32, settings: &Settings, sink: &mut impl Sink) -> Option<()> {
    let limit = limit as usize;
    // No character is shorter than a byte.
    sink.bytes(if field.len() <= limit { field } else { cut(field, limit, settings)? });
    Some(())
}

/// `text`: the field itself.
#[inline(never)]
pub(super) fn text(field: &[u8], sink: &mut impl Sink) -> Option<()> {
    sink.bytes(field);
    Some(())
}

/// The first `limit` characters, if nothing but blanks stands behind them.
fn cut<'a>(field: &'a [u8], limit: usize, settings: &Settings) -> Option<&'a [u8]> {
    let (kept, rest) = field.split_at(bytes_of(field, limit, settings)?);
    rest.iter().all(|byte| *byte == b' ').then_some(kept)
}

/// `char(limit)`: as `varchar`, and filled up with blanks.
#[inline(never)]
pub(super) fn bpchar(field: &[u8], limit: u32, settings: &Settings, sink: &mut impl Sink) -> Option<()> {
    let limit = limit as usize;
    match limit.checked_sub(count(field, settings)?) {
        Some(blanks) => sink.padded(field, blanks),
        None => sink.bytes(cut(field, limit, settings)?),
    }
    Some(())
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
pub(super) fn name<'a>(field: &[u8], settings: &Settings, workspace: &'a mut Workspace) -> Option<&'a [u8]> {
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
    let name = workspace.room(NAME_SIZE)?;
    name[..length].copy_from_slice(&field[..length]);
    name[length..].fill(0);
    Some(name)
}
