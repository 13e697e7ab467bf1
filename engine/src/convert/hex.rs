//! Hexadecimal digits, eight at a time.

use super::digits::every;

/// A set top bit for every byte of `word` in `from..=to`. No byte of the word may have its own top bit set.
#[inline]
fn within(word: u64, from: u8, to: u8) -> u64 {
    let reaches = word.wrapping_add(every(0x80 - from));
    let exceeds = word.wrapping_add(every(0x7f - to));
    reaches & !exceeds & every(0x80)
}

/// The four bytes that eight digits mean; the first digit is the word's lowest byte.
#[inline]
pub(super) fn eight(digits: u64) -> Option<[u8; 4]> {
    if digits & every(0x80) != 0 {
        return None;
    }
    let lower = digits | every(0x20); // letters lose their case, and no other byte becomes a letter or digit from none
    let decimal = within(digits, b'0', b'9');
    let letter = within(lower, b'a', b'f');
    if decimal | letter != every(0x80) {
        return None;
    }
    // The low four bits of a digit are its value, those of a letter its value less 9.
    let values = (digits & every(0x0f)) + (letter >> 7) * 9;
    let pairs = ((values << 4) | (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | (pairs >> 8)) & 0x0000_ffff_0000_ffff;
    let bytes = (fours | (fours >> 16)).to_le_bytes();
    Some([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// The value of one digit.
#[inline]
pub(super) fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_is_judged_as_one_alone() {
        for place in 0..8 {
            for byte in 0..=255_u8 {
                let mut digits = *b"0fA9c3E7";
                digits[place] = byte;
                let plain: Option<Vec<u8>> = digits.iter().map(|byte| digit(*byte)).collect();
                let plain = plain.map(|values| [0, 2, 4, 6].map(|at| values[at] << 4 | values[at + 1]));
                assert_eq!(eight(u64::from_le_bytes(digits)), plain, "byte {byte} at {place}");
            }
        }
    }
}
