//! `bytea`: the hexadecimal form without blanks, and the escape form where there is nothing to unescape.

use super::Workspace;
use super::digits::array;
use super::hex;

/// The bytes meant.
#[inline(never)]
pub(super) fn bytea<'a>(field: &'a [u8], workspace: &'a mut Workspace) -> Option<&'a [u8]> {
    match field {
        [b'\\', b'x', digits @ ..] => hexadecimal(digits, workspace),
        _ => (!field.contains(&b'\\')).then_some(field),
    }
}

fn hexadecimal<'a>(digits: &[u8], workspace: &'a mut Workspace) -> Option<&'a [u8]> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let bytes = workspace.room(digits.len() / 2)?;
    let (eights, rest) = digits.split_at(digits.len() / 8 * 8);
    let (fours, ones) = bytes.split_at_mut(eights.len() / 2);
    for (four, digits) in fours.chunks_exact_mut(4).zip(eights.chunks_exact(8)) {
        four.copy_from_slice(&hex::eight(u64::from_le_bytes(array(digits)))?);
    }
    for (one, pair) in ones.iter_mut().zip(rest.chunks_exact(2)) {
        *one = hex::digit(pair[0])? << 4 | hex::digit(pair[1])?;
    }
    Some(bytes)
}
