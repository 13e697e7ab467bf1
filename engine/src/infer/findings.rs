//! What a part of a file holds. Parts that follow each other merge into what both hold together, and it does not matter
//! in which order neighbours are put together (merging is associative).

use super::column::Column;
use crate::tuple::OutOfMemory;

/// A record with another number of fields than the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ragged {
    /// The line on which it starts, counted from the start of what was surveyed, 0-based.
    pub line: u64,
    /// Its fields.
    pub fields: u64,
}

/// What was found in some records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Records.
    pub records: u64,
    /// Physical line ends.
    pub lines: u64,
    /// What is known of each column.
    pub columns: Vec<Column>,
    /// Records with another number of fields.
    pub ragged: u64,
    /// The first of them.
    pub first_ragged: Option<Ragged>,
    /// The line of the first byte that is not UTF-8.
    pub not_utf8: Option<u64>,
    /// Whether there are bytes beyond ASCII.
    pub beyond_ascii: bool,
    /// Which bytes from 0x80 to 0x9f there are, as far as they are not UTF-8: a bit for each.
    pub controls: u32,
    /// The line of the first NUL.
    pub nul: Option<u64>,
    /// The line of the first line end that is not of the file's style.
    pub stray: Option<u64>,
    /// Whether an end-of-data marker was met. What follows it is not looked at.
    pub has_ended: bool,
}

impl Findings {
    /// Nothing yet, of so many columns.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn new(columns: usize) -> Result<Findings, OutOfMemory> {
        let mut findings = Findings::default();
        findings.columns.try_reserve_exact(columns).map_err(|_| OutOfMemory)?;
        findings.columns.resize_with(columns, Column::default);
        Ok(findings)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        let mut columns = std::mem::take(&mut self.columns);
        columns.fill_with(Column::default);
        *self = Findings { columns, ..Findings::default() };
    }

    /// Adds what the part of the file that follows holds.
    pub fn merge(&mut self, later: Findings) {
        if self.has_ended {
            return;
        }
        let behind = |line: Option<u64>| line.map(|line| line + self.lines);
        self.not_utf8 = self.not_utf8.or(behind(later.not_utf8));
        self.nul = self.nul.or(behind(later.nul));
        self.stray = self.stray.or(behind(later.stray));
        let ragged = later.first_ragged.map(|first| Ragged { line: first.line + self.lines, ..first });
        self.first_ragged = self.first_ragged.or(ragged);
        for (column, later) in self.columns.iter_mut().zip(later.columns) {
            column.merge(later, self.lines);
        }
        self.ragged += later.ragged;
        self.beyond_ascii |= later.beyond_ascii;
        self.controls |= later.controls;
        self.records += later.records;
        self.lines += later.lines;
        self.has_ended = later.has_ended;
    }

    /// Bytes of memory they hold.
    pub(crate) fn memory(&self) -> usize {
        self.columns.capacity() * size_of::<Column>() + self.columns.iter().map(Column::memory).sum::<usize>()
    }
}
