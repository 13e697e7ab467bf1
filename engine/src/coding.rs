//! Files whose bytes are not the text yet: compressed ([`decompress`](crate::decompress)), in UTF-16, or both.
//!
//! What comes out is UTF-8. What is no character in UTF-16 (half a pair of surrogates, half a unit at the end) comes
//! out as bytes that are none in UTF-8, for whoever checks these to find. A byte order mark says which byte of a unit
//! comes first and is no part of the text.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use crate::decompress::{Decoder, Format};

/// How a file's text is put into bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coding {
    /// How it is compressed.
    pub compression: Option<Format>,
    /// In which order the bytes of UTF-16 are.
    pub utf16: Option<Endian>,
}

impl Coding {
    /// Are the file's bytes the text's?
    pub fn is_plain(self) -> bool {
        self == Coding::default()
    }
}

/// Which byte of a unit comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Endian {
    /// The low one.
    Little,
    /// The high one.
    Big,
}

impl Endian {
    /// The order that a byte order mark at the start of a file tells.
    pub fn of_mark(head: &[u8]) -> Option<Endian> {
        match head {
            // That of UTF-32.
            [0xFF, 0xFE, 0, 0, ..] => None,
            [0xFF, 0xFE, ..] => Some(Endian::Little),
            [0xFE, 0xFF, ..] => Some(Endian::Big),
            _ => None,
        }
    }

    /// The order that two characters of ASCII at the start of a file tell. In no other encoding that matters does a
    /// text hold NULs.
    pub fn of_ascii(head: &[u8]) -> Option<Endian> {
        match *head {
            [1..0x80, 0, 1..0x80, 0, ..] => Some(Endian::Little),
            [0, 1..0x80, 0, 1..0x80, ..] => Some(Endian::Big),
            _ => None,
        }
    }

    /// The order in a file without a mark, which begins with a character of ASCII most likely.
    pub fn of_text(head: &[u8]) -> Endian {
        Endian::of_mark(head).unwrap_or(match head {
            [0, low, ..] if *low != 0 => Endian::Big,
            _ => Endian::Little,
        })
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Endian::Little => u16::from_le_bytes(bytes),
            Endian::Big => u16::from_be_bytes(bytes),
        }
    }
}

/// The text of a file.
pub enum Decoded<R: Read> {
    /// The file is compressed.
    Compressed(Decoder<R>),
    /// It is in UTF-16.
    Utf16(Utf16<R>),
    /// It is both.
    Both(Utf16<Decoder<R>>),
}

impl<R: Read> Decoded<R> {
    /// The text of the file whose first byte comes first, and whose coding is not plain.
    ///
    /// # Errors
    /// If there is no memory for a decoder, or nothing to decode.
    pub fn new(coding: Coding, file: R) -> io::Result<Decoded<R>> {
        Ok(match (coding.compression, coding.utf16) {
            (Some(format), None) => Decoded::Compressed(Decoder::new(format, file)?),
            (None, Some(endian)) => Decoded::Utf16(Utf16::new(endian, file)?),
            (Some(format), Some(endian)) => Decoded::Both(Utf16::new(endian, Decoder::new(format, file)?)?),
            (None, None) => return Err(io::ErrorKind::InvalidInput.into()),
        })
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Decoded::Compressed(reader) => reader.read(buffer),
            Decoded::Utf16(reader) => reader.read(buffer),
            Decoded::Both(reader) => reader.read(buffer),
        }
    }
}

/// Bytes of UTF-16 that are recoded at once. Each two of them become three at most.
const PIECE: usize = 32 * 1024;

/// A text in UTF-16, as UTF-8.
pub struct Utf16<R> {
    endian: Endian,
    file: R,
    /// Bytes that were read, of which so many are there.
    units: Vec<u8>,
    length: usize,
    /// What they have become, and how much of it was handed out.
    text: Vec<u8>,
    served: usize,
    is_at_start: bool,
    is_at_end: bool,
}

impl<R: Read> Utf16<R> {
    /// The text of the file whose first byte comes first.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(endian: Endian, file: R) -> io::Result<Utf16<R>> {
        let (mut units, mut text) = (Vec::new(), Vec::new());
        units.try_reserve_exact(PIECE)?;
        units.resize(PIECE, 0);
        text.try_reserve_exact(PIECE / 2 * 3 + 4)?;
        Ok(Utf16 { endian, file, units, length: 0, text, served: 0, is_at_start: true, is_at_end: false })
    }

    /// Reads once and recodes what is there.
    fn fill(&mut self) -> io::Result<()> {
        match self.file.read(&mut self.units[self.length..])? {
            0 => self.is_at_end = true,
            length => self.length += length,
        }
        self.text.clear();
        self.served = 0;
        if self.is_at_start && self.length >= 2 {
            self.is_at_start = false;
            if self.endian.unit([self.units[0], self.units[1]]) == 0xFEFF {
                self.units.copy_within(2..self.length, 0);
                self.length -= 2;
            }
        }
        self.recode();
        Ok(())
    }

    /// Recodes all whole characters; at the end also what is none.
    fn recode(&mut self) {
        let mut at = 0;
        while at + 2 <= self.length {
            let unit = |at: usize| self.endian.unit([self.units[at], self.units[at + 1]]);
            let first = unit(at);
            if first < 0x80 {
                self.text.push(first as u8);
                at += 2;
                continue;
            }
            let mut point = u32::from(first);
            let mut length = 2;
            if (0xD800..0xDC00).contains(&first) {
                if at + 4 > self.length && !self.is_at_end {
                    break;
                }
                if at + 4 <= self.length && (0xDC00..0xE000).contains(&unit(at + 2)) {
                    point = 0x1_0000 + ((point - 0xD800) << 10) + (u32::from(unit(at + 2)) - 0xDC00);
                    length = 4;
                }
            }
            push(&mut self.text, point);
            at += length;
        }
        if self.is_at_end && at < self.length {
            // Half a unit.
            self.text.push(0xFF);
            at = self.length;
        }
        self.units.copy_within(at..self.length, 0);
        self.length -= at;
    }
}

/// Appends a character as UTF-8 has it, or what it would have for a surrogate.
fn push(text: &mut Vec<u8>, point: u32) {
    let tail = |shift: u32| 0x80 | (point >> shift & 0x3F) as u8;
    match point {
        0..0x800 => text.extend_from_slice(&[0xC0 | (point >> 6) as u8, tail(0)]),
        0x800..0x1_0000 => text.extend_from_slice(&[0xE0 | (point >> 12) as u8, tail(6), tail(0)]),
        _ => text.extend_from_slice(&[0xF0 | (point >> 18) as u8, tail(12), tail(6), tail(0)]),
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.served == self.text.len() {
            if self.is_at_end || buffer.is_empty() {
                return Ok(0);
            }
            self.fill()?;
        }
        let rest = &self.text[self.served..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.served += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file that comes in pieces of so many bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(self.1);
            self.0.read(&mut buffer[..length])
        }
    }

    fn recoded(endian: Endian, bytes: &[u8], piece: usize, most: usize) -> Vec<u8> {
        let mut reader = Utf16::new(endian, Pieces(bytes, piece)).unwrap();
        let (mut found, mut buffer) = (Vec::new(), vec![0; most]);
        loop {
            match reader.read(&mut buffer).unwrap() {
                0 => return found,
                length => found.extend_from_slice(&buffer[..length]),
            }
        }
    }

    fn utf16(text: &str, endian: Endian) -> Vec<u8> {
        let bytes = |unit: u16| match endian {
            Endian::Little => unit.to_le_bytes(),
            Endian::Big => unit.to_be_bytes(),
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    proptest! {
        #[test]
        fn any_text_comes_back(
            text in "(.|\n|\u{feff}|[😀-🙏]|[a-z,]){0,60}",
            big in any::<bool>(),
            marked in any::<bool>(),
            piece in 1_usize..9,
            most in 1_usize..9,
        ) {
            let endian = if big { Endian::Big } else { Endian::Little };
            let mark = if marked || text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
            let found = recoded(endian, &utf16(&format!("{mark}{text}"), endian), piece, most);
            prop_assert_eq!(String::from_utf8(found).unwrap(), text);
        }

        #[test]
        fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..60), piece in 1_usize..9) {
            let found = recoded(Endian::Little, &bytes, piece, 100);
            prop_assert_eq!(found, recoded(Endian::Little, &bytes, 1000, 3));
        }
    }

    #[test]
    fn long_texts_come_back_too() {
        let text = "a,é,€,😀\n".repeat(20_000);
        for piece in [1000, 1 << 20] {
            assert!(recoded(Endian::Little, &utf16(&text, Endian::Little), piece, 777) == text.as_bytes());
        }
    }

    #[test]
    fn what_is_no_character_is_none_in_utf8() {
        for (units, wanted) in [
            (&[0xD800_u16, b'a'.into()][..], &b"\xED\xA0\x80a"[..]),
            (&[0xDC00], b"\xED\xB0\x80"),
            (&[b'a'.into(), 0xD83D], b"a\xED\xA0\xBD"),
        ] {
            let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let found = recoded(Endian::Little, &bytes, 3, 100);
            assert_eq!(found, wanted);
            assert!(std::str::from_utf8(&found).is_err());
        }
        assert_eq!(recoded(Endian::Big, b"\0a\0", 100, 100), b"a\xFF");
    }

    #[test]
    fn marks_tell_the_order() {
        assert_eq!(Endian::of_mark(b"\xFF\xFEa\0"), Some(Endian::Little));
        assert_eq!(Endian::of_mark(b"\xFE\xFF\0a"), Some(Endian::Big));
        assert_eq!(Endian::of_mark(b"\xFF\xFE\0\0"), None);
        assert_eq!(Endian::of_mark(b"\xEF\xBB\xBF"), None);
        assert_eq!(
            (Endian::of_text(b"\0a"), Endian::of_text(b"a\0"), Endian::of_text(b"")),
            (Endian::Big, Endian::Little, Endian::Little)
        );
    }
}
