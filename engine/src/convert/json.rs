//! `json`: the field's own bytes, if they are well-formed.
//!
//! The grammar is RFC 8259's, as PostgreSQL's parser has it. Declined are deep nesting, which PostgreSQL refuses at a
//! depth that depends on its stack, and escapes of no character (`\u0000`, half a surrogate pair), about which its
//! types and versions differ.

use super::digits::{every, word};
use super::hex;

/// The deepest nesting that is accepted. PostgreSQL's parser uses some hundred bytes of stack for each level, and its
/// smallest limit for the stack is 100 kB.
const DEPTH_MAX: usize = 64;

/// Is this one JSON value with nothing but blanks around it?
#[inline(never)]
pub(super) fn is_json(text: &[u8]) -> bool {
    let mut parser = Parser { text, at: 0 };
    parser.document().is_some()
}

/// What is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Array,
    Object,
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn document(&mut self) -> Option<()> {
        let mut open = [Open::Array; DEPTH_MAX];
        let mut depth = 0;
        loop {
            // A value begins here. An opening bracket is a value of its own only where it is closed at once.
            let opened = match self.next_token()? {
                b'[' => Some(Open::Array),
                b'{' => Some(Open::Object),
                first => {
                    self.scalar(first)?;
                    None
                }
            };
            if let Some(kind) = opened
                && !self.closes_at_once(kind)
            {
                *open.get_mut(depth)? = kind;
                depth += 1;
                if kind == Open::Object {
                    self.key()?;
                }
                continue;
            }
            // A value has ended: what it was in goes on or ends.
            loop {
                if depth == 0 {
                    self.skip_blanks();
                    return (self.at == self.text.len()).then_some(());
                }
                match (self.next_token()?, open[depth - 1]) {
                    (b',', Open::Array) => break,
                    (b',', Open::Object) => {
                        self.key()?;
                        break;
                    }
                    (b']', Open::Array) | (b'}', Open::Object) => depth -= 1,
                    _ => return None,
                }
            }
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    /// The next byte that is no blank; it is consumed.
    fn next_token(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.take()
    }

    fn take(&mut self) -> Option<u8> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn closes_at_once(&mut self, kind: Open) -> bool {
        self.skip_blanks();
        let bracket = if kind == Open::Array { b']' } else { b'}' };
        let closes = self.text.get(self.at) == Some(&bracket);
        self.at += usize::from(closes);
        closes
    }

    /// A member's name and the colon behind it.
    fn key(&mut self) -> Option<()> {
        if self.next_token()? != b'"' {
            return None;
        }
        self.string()?;
        (self.next_token()? == b':').then_some(())
    }

    /// A value without parts, whose first byte was taken.
    fn scalar(&mut self, first: u8) -> Option<()> {
        match first {
            b'"' => self.string(),
            b'-' => {
                let digit = self.take()?;
                self.number(digit)
            }
            b'0'..=b'9' => self.number(first),
            b't' => self.word(b"rue"),
            b'f' => self.word(b"alse"),
            b'n' => self.word(b"ull"),
            _ => None,
        }
    }

    fn word(&mut self, rest: &[u8]) -> Option<()> {
        let found = self.text[self.at..].starts_with(rest);
        self.at += rest.len();
        // Whatever goes on here is no delimiter, and refused as the next token.
        found.then_some(())
    }

    fn number(&mut self, first: u8) -> Option<()> {
        match first {
            b'0' => {}
            b'1'..=b'9' => self.skip_digits(),
            _ => return None,
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    fn skip_digits(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    /// At least one digit.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        self.skip_digits();
        (self.at > start).then_some(())
    }

    /// The rest of a string whose opening quote was taken.
    fn string(&mut self) -> Option<()> {
        loop {
            let rest = &self.text[self.at..];
            let next = rest.first_chunk::<8>().map_or_else(|| word(rest), |eight| u64::from_le_bytes(*eight));
            let plain = plain_bytes(next);
            self.at += plain;
            if plain == 8 {
                continue;
            }
            match self.take()? {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        match self.take()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => match self.code_unit()? {
                0 | 0xdc00..=0xdfff => None,
                0xd800..=0xdbff => {
                    let marked = self.take()? == b'\\' && self.take()? == b'u';
                    (marked && matches!(self.code_unit()?, 0xdc00..=0xdfff)).then_some(())
                }
                _ => Some(()),
            },
            _ => None,
        }
    }

    fn code_unit(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit << 4 | u32::from(hex::digit(self.take()?)?)))
    }
}

/// How many bytes of a word stand before the first quote, backslash or control character. (The zeros that fill up a
/// text's last word are such.)
#[inline]
fn plain_bytes(word: u64) -> usize {
    // A byte below the limit borrows, so a byte behind a marked one may be marked wrongly; none before it is.
    let below = |word: u64, limit: u8| word.wrapping_sub(every(limit)) & !word;
    let marks = below(word, 0x20) | below(word ^ every(b'"'), 1) | below(word ^ every(b'\\'), 1);
    (marks & every(0x80)).trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_seen_at_every_place_of_a_word() {
        for place in 0..8 {
            for byte in 0..=255_u8 {
                let mut word = *b"abcdefgh";
                word[place] = byte;
                let plain = byte >= 0x20 && byte != b'"' && byte != b'\\';
                let count = if plain { 8 } else { place };
                assert_eq!(plain_bytes(u64::from_le_bytes(word)), count, "byte {byte} at {place}");
            }
        }
    }
}
