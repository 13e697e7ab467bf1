//! Decimal digits, eight at a time, and the ASCII blanks around them.

/// Powers of ten that fit in 64 bits.
pub(super) const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut exponent = 1;
    while exponent < 20 {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// A byte in every byte of a word.
const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Up to eight bytes as a little-endian word, zero beyond the last. Two overlapping loads instead of a loop.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    match bytes {
        [_, _, _, _, _, _, _, _] => u64::from_le_bytes(array(bytes)),
        [a, b, c, d, ..] => {
            let high = u32::from_le_bytes(array(&bytes[length - 4..]));
            u64::from(u32::from_le_bytes([*a, *b, *c, *d])) | u64::from(high) << (8 * (length - 4))
        }
        [a, b, ..] => {
            let high = u16::from_le_bytes(array(&bytes[length - 2..]));
            u64::from(u16::from_le_bytes([*a, *b])) | u64::from(high) << (8 * (length - 2))
        }
        [a] => u64::from(*a),
        [] => 0,
    }
}

/// A slice of a known length as an array.
#[inline]
pub(super) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the slice was cut to this length")
}

/// The value of eight digits in a word, the first of them in the lowest byte. Neighbours are joined to pairs, pairs to
/// fours, fours to eight.
#[inline]
pub(super) fn eight(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

/// Is every byte of the word at most 9?
#[inline]
pub(super) fn all_digits(word: u64) -> bool {
    // A byte above 9 carries into its highest bit; a byte with that bit set may disturb its neighbours, but is caught
    // itself.
    (word.wrapping_add(every(0x80 - 10)) | word) & every(0x80) == 0
}

/// The value of 1 to 8 digits, or `None` if there is anything else.
#[inline]
fn short(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    // The digits are moved to the top, so that zeros stand before them.
    let shift = 64 - 8 * bytes.len();
    let digits = (word(bytes) ^ (every(b'0') >> shift)) << shift;
    all_digits(digits).then(|| eight(digits))
}

/// The value of digits and nothing else, or `None`, also if it does not fit in 64 bits or has more than 24 digits.
#[inline]
pub(super) fn value(bytes: &[u8]) -> Option<u64> {
    if bytes.len() <= 8 { short(bytes) } else { long(bytes) }
}

/// [`value`] of 9 digits and more.
#[inline]
fn long(bytes: &[u8]) -> Option<u64> {
    let (head, tail) = bytes.split_at(bytes.len() - 8);
    let low = short(tail)?;
    if head.len() <= 8 {
        return Some(short(head)? * POWERS[8] + low);
    }
    let (top, middle) = head.split_at(head.len() - 8);
    if top.len() > 8 {
        return None;
    }
    let high = short(top)?.checked_mul(POWERS[16])?;
    high.checked_add(short(middle)? * POWERS[8] + low)
}

/// A one- or two-digit number at the start, and what follows it.
pub(super) fn leading_two(text: &[u8]) -> Option<(u32, &[u8])> {
    let length = text.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    Some((u32::try_from(short(digits)?).ok()?, rest))
}

/// Is this a blank to C's `isspace`, in every locale?
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The text without the blanks before and after it.
pub(super) fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [blank, rest @ ..] = text
        && is_blank(*blank)
    {
        text = rest;
    }
    while let [rest @ .., blank] = text
        && is_blank(*blank)
    {
        text = rest;
    }
    text
}

/// Tries a text as it is, and if that fails and blanks stand around it, without them.
#[inline]
pub(super) fn with_or_without_blanks<T>(text: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    parse(text).or_else(|| retry_trimmed(text, parse))
}

#[cold]
fn retry_trimmed<T>(text: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    let inner = trimmed(text);
    if inner.len() < text.len() { parse(inner) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_at_every_length() {
        let text = b"987654321098765432109876543210";
        for length in 1..=20 {
            for start in 0..10 {
                let digits = &text[start..start + length];
                let plain = std::str::from_utf8(digits).expect("ASCII").parse::<u64>().ok();
                assert_eq!(value(digits), plain, "{length} digits from {start}");
            }
        }
    }

    #[test]
    fn a_byte_that_is_no_digit_is_found_at_every_place() {
        for length in 1..=20 {
            for place in 0..length {
                for byte in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                    let mut digits = vec![b'1'; length];
                    digits[place] = byte;
                    assert_eq!(value(&digits), None, "byte {byte} at {place} of {length}");
                }
            }
        }
    }

    #[test]
    fn blanks_are_those_of_c() {
        let blanks: Vec<u8> = (0..=255).filter(|byte| is_blank(*byte)).collect();
        assert_eq!(blanks, b"\t\n\x0b\x0c\r ");
        assert_eq!(trimmed(b" \t\r\n\x0b\x0c1 2 \n"), b"1 2");
        assert_eq!(trimmed(b"  "), b"");
    }
}
