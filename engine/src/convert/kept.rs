//! A converted value by itself, in memory that is used again.

use super::{Datum, FEW, Sink};

/// Where one value after the other is kept. Before the first, and behind [`Kept::clear`], there is none: NULL.
#[derive(Debug, Default)]
pub struct Kept {
    found: Found,
    word: u64,
    few: [u8; FEW],
    length: usize,
    long: Vec<u8>,
}

/// What was put there.
#[derive(Clone, Copy, Debug, Default)]
enum Found {
    #[default]
    Null,
    Word,
    Few,
    Long,
    /// A content for which there was no memory.
    OutOfMemory,
}

impl Kept {
    /// Forgets the value.
    #[inline]
    pub fn clear(&mut self) {
        self.found = Found::Null;
    }

    /// The value; `None` for NULL, or if there was no memory for it.
    #[inline]
    pub fn value(&self) -> Option<Datum<'_>> {
        match self.found {
            Found::Null | Found::OutOfMemory => None,
            Found::Word => Some(Datum::Word(self.word)),
            Found::Few => Some(Datum::Bytes(&self.few[..self.length])),
            Found::Long => Some(Datum::Bytes(&self.long)),
        }
    }

    /// Whether there was no memory for the value.
    #[inline]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self.found, Found::OutOfMemory)
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.long.capacity()
    }
}

impl Sink for Kept {
    #[inline]
    fn word(&mut self, word: u64) {
        (self.found, self.word) = (Found::Word, word);
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.padded(bytes, 0);
    }

    #[inline]
    fn few(&mut self, content: [u8; FEW], length: usize) {
        (self.found, self.few, self.length) = (Found::Few, content, length);
    }

    #[inline]
    fn padded(&mut self, text: &[u8], blanks: usize) {
        self.long.clear();
        if self.long.try_reserve(text.len() + blanks).is_err() {
            self.found = Found::OutOfMemory;
            return;
        }
        self.found = Found::Long;
        self.long.extend_from_slice(text);
        self.long.resize(text.len() + blanks, b' ');
    }
}

/// Where values go that only have to be right.
#[derive(Debug)]
pub struct Nowhere;

impl Sink for Nowhere {
    #[inline]
    fn word(&mut self, _word: u64) {}

    #[inline]
    fn bytes(&mut self, _bytes: &[u8]) {}

    #[inline]
    fn few(&mut self, _content: [u8; FEW], _length: usize) {}

    #[inline]
    fn padded(&mut self, _text: &[u8], _blanks: usize) {}
}
