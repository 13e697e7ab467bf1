//! `uuid`: 32 hexadecimal digits, as they are or in the usual groups of 8, 4, 4, 4 and 12.

use super::Workspace;
use super::digits::array;
use super::hex;

/// The 16 bytes.
#[inline]
pub(super) fn uuid<'a>(field: &[u8], workspace: &'a mut Workspace) -> Option<&'a [u8]> {
    let words = match field.len() {
        36 => {
            if [field[8], field[13], field[18], field[23]] != [b'-'; 4] {
                return None;
            }
            let joined = |first: usize, second: usize| {
                let low = u32::from_le_bytes(array(&field[first..first + 4]));
                u64::from(low) | u64::from(u32::from_le_bytes(array(&field[second..second + 4]))) << 32
            };
            [joined(0, 4), joined(9, 14), joined(19, 24), joined(28, 32)]
        }
        32 => [0, 8, 16, 24].map(|start| u64::from_le_bytes(array(&field[start..start + 8]))),
        _ => return None,
    };
    let bytes = workspace.room(16)?;
    for (four, digits) in bytes.chunks_exact_mut(4).zip(words) {
        four.copy_from_slice(&hex::eight(digits)?);
    }
    Some(bytes)
}
