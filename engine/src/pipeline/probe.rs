//! A look at a record's values for the filter alone, without a row.
//!
//! Where few rows pass, most values are converted only because a bad one must be found in them, and forming rows of
//! them would be in vain.

use crate::convert::{Datum, FEW, Sink};

/// A value as the filter sees it, in memory that is used again.
#[derive(Default)]
pub(super) struct Probe {
    found: Found,
    word: u64,
    few: [u8; FEW],
    length: usize,
    long: Vec<u8>,
    is_out_of_memory: bool,
}

/// What was put there.
#[derive(Clone, Copy, Default)]
enum Found {
    #[default]
    Null,
    Word,
    Few,
    Long,
}

impl Probe {
    /// NULL until something is put there.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.found = Found::Null;
    }

    #[inline]
    pub(super) fn value(&self) -> Option<Datum<'_>> {
        match self.found {
            Found::Null => None,
            Found::Word => Some(Datum::Word(self.word)),
            Found::Few => Some(Datum::Bytes(&self.few[..self.length])),
            Found::Long => Some(Datum::Bytes(&self.long)),
        }
    }

    /// Whether there was no memory for a value since this was asked last.
    pub(super) fn has_run_out(&mut self) -> bool {
        std::mem::take(&mut self.is_out_of_memory)
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.long.capacity()
    }
}

impl Sink for Probe {
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
        self.found = Found::Long;
        self.long.clear();
        if self.long.try_reserve(text.len() + blanks).is_err() {
            self.is_out_of_memory = true;
            return;
        }
        self.long.extend_from_slice(text);
        self.long.resize(text.len() + blanks, b' ');
    }
}

/// Where values go that only have to be right.
pub(super) struct Nowhere;

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
