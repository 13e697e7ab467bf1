//! What is counted of a ticket.

use crate::dialect::LineEnd;
use crate::entry::Mark;
use crate::ring::{Outcome, Summary};

/// What is counted of a ticket: the line bytes of [`LineEnd::line_byte`] and of [`LineEnd::copy_byte`].
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) records: u64,
    pub(super) lines: u64,
    /// Bytes that COPY would count inside quotes, also those that end records.
    pub(super) copy_bytes: u64,
    pub(super) filtered: u64,
    pub(super) declined: u64,
}

impl Tally {
    /// Counts the line ends of some bytes.
    pub(super) fn count(&mut self, line_end: LineEnd, bytes: &[u8]) {
        let count = |byte| memchr::memchr_iter(byte, bytes).count() as u64;
        let lines = count(line_end.line_byte());
        self.lines += lines;
        self.copy_bytes +=
            if line_end.line_byte() == line_end.copy_byte() { lines } else { count(line_end.copy_byte()) };
    }

    /// Counts the line ends of one record, which is known to hold none but its own.
    #[inline]
    pub(super) fn count_one(&mut self) {
        self.lines += 1;
        self.copy_bytes += 1;
    }

    /// The mark of a record that starts at a byte, behind what was counted; `after` counts it too.
    pub(super) fn mark(&self, byte: u64, after: &Tally, length: usize) -> Mark {
        Mark {
            byte,
            records: self.records as u32,
            lines: self.lines as u32,
            inner: self.inner() as u32,
            own_inner: (after.copy_bytes - self.copy_bytes).saturating_sub(1) as u32,
            length: length as u32,
            text: 0,
        }
    }

    /// Line ends inside quotes that COPY counts: where nothing is stray, all that end no record.
    pub(super) fn inner(&self) -> u64 {
        self.copy_bytes.saturating_sub(self.records)
    }

    /// The ticket's summary.
    pub(super) fn summary(&self, start: u64, end: u64, outcome: Outcome) -> Summary {
        Summary {
            outcome,
            start,
            end,
            has_records: true,
            records: self.records,
            lines: self.lines,
            inner: self.inner(),
            filtered: self.filtered,
            declined: self.declined,
            ..Summary::default()
        }
    }
}
