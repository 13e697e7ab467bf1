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
pub(super) const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Up to eight bytes as a little-endian word, zero beyond the last. Two overlapping loads instead of a loop.
#[inline]
pub(super) fn word(bytes: &[u8]) -> u64 {
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

/// Eight digits in a word, the first of them in the lowest byte, as two numbers of four digits: the first in the lower
/// half, the second in the upper. Neighbours are joined to pairs, pairs to fours.
#[inline]
fn fours(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff
}

/// The value of eight digits in a word, the first of them in the lowest byte.
#[inline]
fn eight(digits: u64) -> u64 {
    let fours = fours(digits);
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

/// Is every byte of the word at most 9?
#[inline]
fn all_digits(word: u64) -> bool {
    // A byte above 9 carries into its highest bit; a byte with that bit set may disturb its neighbours, but is caught
    // itself.
    (word.wrapping_add(every(0x80 - 10)) | word) & every(0x80) == 0
}

/// 1 to 8 digits as a word with zeros before them, or `None` if there is anything else.
#[inline]
fn right_aligned(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    let shift = 64 - 8 * bytes.len();
    let digits = (word(bytes) ^ (every(b'0') >> shift)) << shift;
    all_digits(digits).then_some(digits)
}

/// 0 to 8 digits as a word with zeros behind them, or `None` if there is anything else.
#[inline]
fn left_aligned(bytes: &[u8]) -> Option<u64> {
    let zeros = every(b'0').checked_shr(64 - 8 * bytes.len() as u32).unwrap_or(0);
    let digits = word(bytes) ^ zeros;
    all_digits(digits).then_some(digits)
}

/// Digits and perhaps a point among them, with at most 8 digits on either side.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// Digits before the point, at least one.
    pub(crate) whole: usize,
    /// Digits after it.
    pub(crate) fraction: usize,
    /// Four digits of base 10,000 in the 16-bit parts of a word, the first in the lowest, two of them before the point.
    pub(crate) digits: u64,
}

/// A text of digits with perhaps a point among them, at most 8 on either side and at least one before it.
#[inline]
pub(crate) fn decimal(text: &[u8]) -> Option<Decimal> {
    let length = text.len();
    if !(1..=8).contains(&length) {
        return longer_decimal(text);
    }
    let word = word(text);
    let whole = length.min(place_of(word, b'.'));
    if whole == 0 {
        return None;
    }
    let digits = word ^ (every(b'0') >> (64 - 8 * length));
    // Behind the text's end, where a point that is not there would be, is zero.
    let fraction = digits.checked_shr(8 * (whole as u32 + 1)).unwrap_or(0);
    let before = digits << (64 - 8 * whole);
    let valid = all_digits(before) && all_digits(fraction);
    valid.then(|| Decimal { whole, fraction: length.saturating_sub(whole + 1), digits: around_point(before, fraction) })
}

/// [`decimal`] of other lengths.
#[inline]
fn longer_decimal(text: &[u8]) -> Option<Decimal> {
    let point = place_in(text, b'.');
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    if whole.len() > 8 || fraction.len() > 8 {
        return None;
    }
    let digits = around_point(right_aligned(whole)?, left_aligned(fraction)?);
    Some(Decimal { whole: whole.len(), fraction: fraction.len(), digits })
}

/// Eight digits before a point and eight after it as digits of base 10,000.
#[inline]
fn around_point(whole: u64, fraction: u64) -> u64 {
    let (whole, fraction) = (fours(whole), fours(fraction));
    (whole | whole >> 16) & 0xffff_ffff | ((fraction | fraction >> 16) << 32)
}

/// The first place of a byte in a word, 8 if it is not there.
#[inline]
fn place_of(word: u64, byte: u8) -> usize {
    // A byte that is zero now borrows from its highest bit; bytes behind it may be marked wrongly, none before it.
    let others = word ^ every(byte);
    let marks = others.wrapping_sub(every(1)) & !others & every(0x80);
    marks.trailing_zeros() as usize / 8
}

/// The first place of a byte that is not NUL in a text, the text's length if it is not there.
#[inline]
pub(super) fn place_in(text: &[u8], byte: u8) -> usize {
    for (index, eight) in text.chunks(8).enumerate() {
        let place = place_of(word(eight), byte);
        if place < 8 {
            return 8 * index + place;
        }
    }
    text.len()
}

/// The value of 1 to 8 digits, or `None` if there is anything else.
#[inline]
fn short(bytes: &[u8]) -> Option<u64> {
    right_aligned(bytes).map(eight)
}

/// The value of digits and nothing else, or `None`, also if it does not fit in 64 bits or has more than 24 digits.
#[inline]
pub(crate) fn value(bytes: &[u8]) -> Option<u64> {
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

/// Is it negative, and what follows the sign?
#[inline]
pub(super) fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
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
pub(crate) fn trimmed(mut text: &[u8]) -> &[u8] {
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
    fn a_decimal_has_its_point_in_the_middle_of_the_word() {
        let parts = |text: &[u8]| {
            let decimal = decimal(text)?;
            let digits = [0, 16, 32, 48].map(|shift| (decimal.digits >> shift) as u16);
            Some((decimal.whole, decimal.fraction, digits))
        };
        assert_eq!(parts(b"12345678.87654321"), Some((8, 8, [1234, 5678, 8765, 4321])));
        assert_eq!(parts(b"12345678"), Some((8, 0, [1234, 5678, 0, 0])));
        assert_eq!(parts(b"12345678."), Some((8, 0, [1234, 5678, 0, 0])));
        assert_eq!(parts(b"1"), Some((1, 0, [0, 1, 0, 0])));
        assert_eq!(parts(b"00012.5"), Some((5, 1, [0, 12, 5000, 0])));
        assert_eq!(parts(b"1234567."), Some((7, 0, [123, 4567, 0, 0])));
        assert_eq!(parts(b"12345.00012"), Some((5, 5, [1, 2345, 1, 2000])));
        for text in ["", ".1", "1.1.", "1x", "1.x", "123456789", "1.123456789", "-1", "1234567x.", "1.1234567x"] {
            assert_eq!(parts(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_place_is_the_first_one() {
        for length in 0..20 {
            for place in 0..length {
                let mut text = vec![b'/'; length];
                text[place..].fill(b'.');
                assert_eq!(place_in(&text, b'.'), place);
            }
            assert_eq!(place_in(&vec![b'-'; length], b'.'), length);
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
