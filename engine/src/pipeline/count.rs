//! The sink that counts records and checks their number of fields, and writes nothing.

use crate::scan::{Block, Sink};

/// Counts the records of one buffer, which starts at a record.
pub(super) struct Counter {
    /// Fields a record must have.
    fields: u32,
    /// Field ends since the last record's end.
    open: u32,
    records: u64,
    /// The offset behind the last record's end.
    end: usize,
    is_plain: bool,
}

impl Counter {
    pub(super) fn new(fields: u32) -> Counter {
        Counter { fields, open: 0, records: 0, end: 0, is_plain: true }
    }

    /// Whether every record has the right number of fields.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Whole records.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// The offset behind the last of them.
    pub(super) fn end(&self) -> usize {
        self.end
    }
}

impl Sink for Counter {
    #[inline(always)]
    fn block(&mut self, offset: usize, block: Block) {
        let mut ends = block.ends;
        let mut records = block.records;
        while records != 0 {
            let upto = records ^ records.wrapping_sub(1);
            self.is_plain &= self.open + (ends & upto).count_ones() == self.fields;
            self.open = 0;
            ends &= !upto;
            records &= records - 1;
        }
        self.open += ends.count_ones();
        if block.records != 0 {
            self.records += u64::from(block.records.count_ones());
            self.end = offset + block.records.ilog2() as usize + 1;
        }
    }
}
