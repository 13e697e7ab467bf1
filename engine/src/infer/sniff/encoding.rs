//! The encoding of a file, as far as its first bytes tell.

use crate::tuple::OutOfMemory;

/// The byte order mark in UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The longest sequence of UTF-8 that may be cut off at the sample's end, less one byte.
const CUT: usize = 3;

/// What the first bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SniffedEncoding {
    /// UTF-8, ASCII perhaps.
    Utf8,
    /// UTF-8 behind a byte order mark.
    Utf8Bom,
    /// UTF-16 with the low byte first.
    Utf16Le,
    /// UTF-16 with the high byte first.
    Utf16Be,
    /// Neither: one byte for a character, most likely.
    SingleByte,
}

/// The encoding of a sample.
pub(super) fn of(sample: &[u8]) -> SniffedEncoding {
    match sample {
        [0xef, 0xbb, 0xbf, ..] => return SniffedEncoding::Utf8Bom,
        [0xff, 0xfe, ..] => return SniffedEncoding::Utf16Le,
        [0xfe, 0xff, ..] => return SniffedEncoding::Utf16Be,
        _ => {}
    }
    let zeros = |odd: usize| sample.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), sample.len() / 2);
    // Delimiters, line ends and digits have a zero for their high byte in UTF-16, whatever the script.
    if odd * 5 > half && odd > 20 * even {
        return SniffedEncoding::Utf16Le;
    }
    if even * 5 > half && even > 20 * odd {
        return SniffedEncoding::Utf16Be;
    }
    match simdutf8::compat::from_utf8(sample) {
        Ok(_) => SniffedEncoding::Utf8,
        Err(error) if error.error_len().is_none() && sample.len() - error.valid_up_to() <= CUT => SniffedEncoding::Utf8,
        Err(_) => SniffedEncoding::SingleByte,
    }
}

/// A sample of UTF-16 in UTF-8; `None` if it is something else.
///
/// # Errors
/// If there is no memory for it.
pub(super) fn to_utf8(sample: &[u8], encoding: SniffedEncoding) -> Result<Option<Vec<u8>>, OutOfMemory> {
    let unit: fn([u8; 2]) -> u16 = match encoding {
        SniffedEncoding::Utf16Le => u16::from_le_bytes,
        SniffedEncoding::Utf16Be => u16::from_be_bytes,
        _ => return Ok(None),
    };
    let (pairs, _) = sample.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let mut text = Vec::new();
    // Two bytes become three at most.
    text.try_reserve(sample.len() / 2 * 3).map_err(|_| OutOfMemory)?;
    for character in char::decode_utf16(units) {
        let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_zeros_and_invalid_bytes_tell_the_encoding() {
        let wide = |text: &str, unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
        let text = "id;größe\n1;2\n";
        assert_eq!(of(text.as_bytes()), SniffedEncoding::Utf8);
        assert_eq!(of(&text.as_bytes()[..6]), SniffedEncoding::Utf8, "cut off in a character");
        assert_eq!(of(b"\xef\xbb\xbfa"), SniffedEncoding::Utf8Bom);
        assert_eq!(of(b"id;gr\xf6\xdfe\n1;2\n"), SniffedEncoding::SingleByte);
        assert_eq!(of(&wide(text, u16::to_le_bytes)), SniffedEncoding::Utf16Le);
        assert_eq!(of(&wide(text, u16::to_be_bytes)), SniffedEncoding::Utf16Be);
        assert_eq!(of(b"\xff\xfea\0"), SniffedEncoding::Utf16Le);
        assert_eq!(of(b""), SniffedEncoding::Utf8);
        let recoded = to_utf8(&wide(text, u16::to_be_bytes), SniffedEncoding::Utf16Be);
        assert_eq!(recoded, Ok(Some(text.as_bytes().to_vec())));
    }
}
