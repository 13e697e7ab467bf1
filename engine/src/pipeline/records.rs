//! The records of a chunk, and the fields of a record.

use super::parse::LONGEST_CHARACTER;
use crate::scan::{Boundaries, QUOTED};

/// The records of a chunk.
pub(super) struct Records<'c> {
    pub(super) boundaries: &'c Boundaries,
    pub(super) bytes: &'c [u8],
    /// The offset of the first stray line end.
    pub(super) stray: Option<usize>,
    /// The offset from which on records are not this segment's.
    pub(super) limit: u64,
    pub(super) is_end: bool,
}

impl Records<'_> {
    /// The bytes of whole records that may be taken now, and how many records they are. In a file of CR the character
    /// behind the last must be there too, unless the input ends.
    pub(super) fn span(&self, is_cr: bool) -> (usize, usize) {
        let ends = self.boundaries.ends();
        let end = |fields: u32| (ends[fields as usize - 1] & !QUOTED) as usize + 1;
        let may_take = |end: usize| !is_cr || self.is_end || end + LONGEST_CHARACTER <= self.bytes.len();
        let records = self.boundaries.records().iter().enumerate().rev();
        let mut whole = records.map(|(before, &fields)| (end(fields), before + 1));
        whole.find(|&(end, _)| may_take(end)).unwrap_or((0, 0))
    }
}

/// One record of a chunk.
pub(super) struct Record<'c> {
    /// The chunk up to the record's end, its line end included.
    pub(super) bytes: &'c [u8],
    pub(super) start: usize,
    pub(super) ends: &'c [u32],
    /// Bytes of the line end.
    pub(super) line_end: usize,
}

impl<'c> Record<'c> {
    /// The record without its line end.
    pub(super) fn content(&self) -> &'c [u8] {
        &self.bytes[self.start..self.bytes.len() - self.line_end]
    }

    /// A field as it stands in the file, and whether it holds a quote.
    #[inline]
    pub(super) fn field(&self, index: usize) -> (&'c [u8], bool) {
        let end = self.ends[index];
        let start = if index == 0 { self.start } else { (self.ends[index - 1] & !QUOTED) as usize + 1 };
        let is_last = index + 1 == self.ends.len();
        let content_end = (end & !QUOTED) as usize + 1 - if is_last { self.line_end } else { 1 };
        (&self.bytes[start..content_end], end & QUOTED != 0)
    }

    /// Whether some field is exactly this text, unquoted.
    pub(super) fn has(&self, text: &[u8]) -> bool {
        (0..self.ends.len()).map(|index| self.field(index)).any(|(raw, is_quoted)| !is_quoted && raw == text)
    }
}
