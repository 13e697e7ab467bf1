//! The filter, asked about one record after the other, and what it has said so far.

use crate::convert::Datum;
use crate::filter::Filter;
use crate::tuple::OutOfMemory;

/// One record of so many may pass a filter that is asked before rows are formed.
const SELECTIVE: u32 = 8;

/// Records that are remembered for that.
const MEMORY: u32 = 4096;

/// One thread's use of the filter.
pub(super) struct Asked<'s> {
    filter: &'s Filter,
    /// Memory for a row's values; there are none between two questions.
    values: Vec<Option<Datum<'static>>>,
    records: u32,
    passed: u32,
}

impl<'s> Asked<'s> {
    /// A filter over so many columns.
    ///
    /// # Errors
    /// If there is no memory for their values.
    pub(super) fn new(filter: &'s Filter, columns: usize) -> Result<Asked<'s>, OutOfMemory> {
        let mut values = Vec::new();
        values.try_reserve_exact(columns).map_err(|_| OutOfMemory)?;
        Ok(Asked { filter, values, records: 0, passed: 0 })
    }

    /// Whether few of the records pass, so that it is better asked before a row is formed.
    #[inline]
    pub(super) fn is_selective(&self) -> bool {
        SELECTIVE * self.passed <= self.records
    }

    /// Does a record with these values pass? What was long ago counts less and less.
    #[inline]
    pub(super) fn passes<'v>(&mut self, found: impl Iterator<Item = Option<Datum<'v>>>) -> bool {
        let mut values = reuse(std::mem::take(&mut self.values));
        values.extend(found);
        let passes = self.filter.passes(&values);
        self.values = reuse(values);
        self.records += 1;
        self.passed += u32::from(passes);
        if self.records == MEMORY {
            (self.records, self.passed) = (self.records / 2, self.passed / 2);
        }
        passes
    }
}

/// A list of values of one lifetime as an empty one of another, with the same memory.
fn reuse<'a>(mut values: Vec<Option<Datum<'_>>>) -> Vec<Option<Datum<'a>>> {
    values.clear();
    values.into_iter().map(|_| None).collect()
}
