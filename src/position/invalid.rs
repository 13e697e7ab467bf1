//! Which byte of a record is not of the file's encoding, and which encoding would have it.
//!
//! COPY tells the bytes and the record, not where in it they are. For files that are taken for UTF-8, the common case,
//! the place is found here; and since a file that is not UTF-8 is most often in one of two encodings, the one that fits
//! is named.

use std::io::{self, Read};

use fastcsv_engine::dialect::Dialect;
use fastcsv_engine::locate::Place;

/// Bytes looked at in one go, and in all: a record may be long.
const STRIDE: usize = 64 * 1024;
const MOST: u64 = 64 << 20;

/// Bytes that Windows-1252 does not have.
const NOT_IN_WINDOWS: [u8; 5] = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

/// A byte that no UTF-8 can have there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Invalid {
    /// The byte.
    value: u8,
    /// Its offset in the file, from 0.
    byte: u64,
    /// Its physical line, from 1.
    line: u64,
    /// The field it is in, from 1.
    field: u64,
    /// The encoding that the bytes around it may be in, in PostgreSQL's words.
    pub(super) fits: Option<&'static str>,
}

impl Invalid {
    /// The first one in the record at `place` or behind it, of a file that is read from there.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn find(file: &mut impl Read, dialect: &Dialect, place: &Place) -> io::Result<Option<Invalid>> {
        let mut walk = Walk { in_quotes: false, skips: false, line: place.line, field: 1 };
        let mut buffer = vec![0; STRIDE];
        let (mut kept, mut base) = (0, place.byte);
        while base - place.byte < MOST {
            let length = kept + read_all(file, &mut buffer[kept..])?;
            let bytes = &buffer[..length];
            let (good, bad) = match std::str::from_utf8(bytes) {
                Ok(_) => (length, false),
                // A character may go on in what is read next.
                Err(error) => (error.valid_up_to(), error.error_len().is_some() || length < STRIDE),
            };
            walk.over(&bytes[..good], dialect);
            if bad {
                let Walk { line, field, .. } = walk;
                let fits = fitting(&bytes[good..]);
                return Ok(Some(Invalid { value: bytes[good], byte: base + good as u64, line, field, fits }));
            }
            if length < STRIDE {
                break;
            }
            kept = length - good;
            buffer.copy_within(good..length, 0);
            base += good as u64;
        }
        Ok(None)
    }

    /// For the line that tells the place.
    pub(super) fn text(&self) -> String {
        let Invalid { value, byte, line, field, fits } = self;
        let place = format!("; the byte 0x{value:02x} is at line {line}, byte {byte}, in field {field}");
        fits.map_or_else(|| place.clone(), |fits| format!("{place}, and may be {fits}"))
    }
}

/// The way through a record.
struct Walk {
    in_quotes: bool,
    /// Whether the next byte is an escaped one.
    skips: bool,
    line: u64,
    field: u64,
}

impl Walk {
    fn over(&mut self, bytes: &[u8], dialect: &Dialect) {
        let (quote, escape) = (dialect.quote(), dialect.escape().filter(|escape| Some(*escape) != dialect.quote()));
        let (delimiter, line_byte) = (dialect.delimiter()[0], dialect.line_end().line_byte());
        for &byte in bytes {
            if byte == line_byte {
                self.line += 1;
            }
            if std::mem::take(&mut self.skips) {
                continue;
            }
            if self.in_quotes && Some(byte) == escape {
                self.skips = true;
            } else if Some(byte) == quote {
                self.in_quotes = !self.in_quotes;
            } else if !self.in_quotes && byte == delimiter {
                self.field += 1;
            } else if !self.in_quotes && byte == line_byte {
                self.field = 1;
            }
        }
    }
}

/// The encoding of one byte a character that has all of these bytes, if there is one of the usual.
fn fitting(bytes: &[u8]) -> Option<&'static str> {
    let is_windows = !bytes.iter().any(|byte| NOT_IN_WINDOWS.contains(byte));
    let has_letters_of_windows = bytes.iter().any(|byte| (0x80..0xa0).contains(byte));
    match (bytes.contains(&0), has_letters_of_windows, is_windows) {
        (true, ..) | (_, true, false) => None,
        (_, true, true) => Some("WIN1252"),
        (_, false, _) => Some("LATIN1"),
    }
}

fn read_all(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            length => filled += length,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use fastcsv_engine::dialect::LineEnd;

    use super::*;

    fn find(text: &[u8]) -> Option<Invalid> {
        let place = Place { line: 3, record: 2, byte: 100, end: 100, open_quote: None };
        Invalid::find(&mut { text }, &Dialect::copy_csv(LineEnd::Lf), &place).expect("memory can be read")
    }

    fn invalid(value: u8, byte: u64, line: u64, field: u64, fits: Option<&'static str>) -> Option<Invalid> {
        Some(Invalid { value, byte, line, field, fits })
    }

    #[test]
    fn the_place_is_that_of_the_byte() {
        assert_eq!(find(b"a,\xe9\n"), invalid(0xe9, 102, 3, 2, Some("LATIN1")));
        assert_eq!(find(b"a,\"x,\n\xe9\"\n"), invalid(0xe9, 106, 4, 2, Some("LATIN1")));
        assert_eq!(find("é,\u{20ac}\n,".as_bytes()), None);
        assert_eq!(find(b"a,b\nc,d,\x80\n"), invalid(0x80, 108, 4, 3, Some("WIN1252")));
        assert_eq!(find(b"\x81"), invalid(0x81, 100, 3, 1, None));
    }

    #[test]
    fn a_character_that_is_cut_off_is_invalid_at_the_end_only() {
        let long = [&b"x".repeat(STRIDE - 1)[..], "é,\u{20ac}".as_bytes(), b"\xff"].concat();
        assert_eq!(find(&long), invalid(0xff, 100 + STRIDE as u64 + 5, 3, 2, Some("LATIN1")));
        assert_eq!(find(b"a,\xe2\x82"), invalid(0xe2, 102, 3, 2, Some("WIN1252")));
    }
}
