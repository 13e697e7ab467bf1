//! From a record to a row: its needed fields converted, each straight into its place, and the filter asked.
//!
//! A row is formed where it goes to, in a block of the ring. How long it becomes is known only when it is done; where
//! there turns out to be no room for it, it is formed once more in memory of the thread's own, and travels in parts.

use super::Stop;
use super::output::Output;
use super::plan::{Plan, Source};
use super::probe::{Nowhere, Probe};
use super::records::Record;
use super::tally::Tally;
use super::values::{ColumnScratch, Known, Value};
use crate::convert::{Datum, Sink};
use crate::entry::{EntryKind, Mark};
use crate::job::{self, Constant};
use crate::tuple::{Former, Last, OutOfMemory};

/// Bytes of memory for a row to begin with.
const LEAST_ROW: usize = 8 * 1024;

/// One record of so many may pass a filter that is asked before rows are formed.
const SELECTIVE: u32 = 8;

/// Records that are remembered for that.
const MEMORY: u32 = 4096;

/// What the filter says of a record.
enum Probed {
    /// A row is wanted of it.
    Passes,
    Filtered,
    /// A value was declined.
    Declined,
}

/// What became of a record.
enum Formed {
    /// A row of so many bytes.
    Row(usize),
    /// A row that is not wanted.
    Filtered,
    /// A value was declined.
    Declined,
    /// There is not enough room for it.
    NeedsMore,
}

/// What forms the rows of one thread, with the memory it takes.
pub(super) struct Rows<'s> {
    plan: &'s Plan,
    former: Former,
    /// Memory for the values of each step.
    scratches: Vec<ColumnScratch>,
    /// Whether the records hold none but ASCII characters.
    pub(super) is_ascii: bool,
    /// Where the values are that the filter looks at, and these.
    seen: Vec<Option<Last>>,
    values: Vec<Option<Datum<'static>>>,
    /// These, where the filter is asked before a row is formed; and how many of the records so far passed.
    probes: Vec<Probe>,
    probed: u32,
    passed: u32,
    /// A row that is not formed where it goes to, and perhaps the beginning of its record.
    row: Vec<u8>,
}

impl<'s> Rows<'s> {
    /// # Errors
    /// If there is no memory for it.
    pub(super) fn new(plan: &'s Plan) -> Result<Rows<'s>, OutOfMemory> {
        let (mut scratches, mut seen, mut values) = (Vec::new(), Vec::new(), Vec::new());
        scratches.try_reserve_exact(plan.steps.len()).map_err(|_| OutOfMemory)?;
        scratches.resize_with(plan.steps.len(), ColumnScratch::default);
        seen.try_reserve_exact(plan.filter_columns).map_err(|_| OutOfMemory)?;
        seen.resize(plan.filter_columns, None);
        values.try_reserve_exact(plan.filter_columns).map_err(|_| OutOfMemory)?;
        let mut probes = Vec::new();
        probes.try_reserve_exact(plan.filter_columns).map_err(|_| OutOfMemory)?;
        probes.resize_with(plan.filter_columns, Probe::default);
        let (former, row) = (plan.former(), Vec::new());
        Ok(Rows { plan, former, scratches, is_ascii: false, seen, values, probes, probed: 0, passed: 0, row })
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let column =
            |scratch: &ColumnScratch| scratch.unquoted.capacity() + scratch.recoded.capacity() + scratch.built.memory();
        let probes: usize = self.probes.iter().map(Probe::memory).sum();
        self.row.capacity() + self.scratches.iter().map(column).sum::<usize>() + probes
    }

    /// Converts a record's needed fields and writes out the row; false if a value was declined.
    #[inline]
    pub(super) fn convert(
        &mut self,
        record: &Record<'_>,
        mark: Option<Mark>,
        tally: &mut Tally,
        out: &mut Output<'_>,
    ) -> Result<bool, Stop> {
        let is_count = self.plan.output == job::Output::Count;
        if self.plan.filter.is_some() && (is_count || self.is_selective()) {
            match self.probe(record)? {
                Probed::Declined => return Ok(false),
                Probed::Filtered => {
                    tally.filtered += 1;
                    return Ok(true);
                }
                Probed::Passes if is_count => return Ok(true),
                Probed::Passes => {}
            }
        }
        let kind = match self.plan.output {
            job::Output::MixedRows => EntryKind::MixedRow,
            job::Output::PlacedRows => EntryKind::PlacedRow,
            job::Output::Rows => EntryKind::Row,
            job::Output::Count | job::Output::Survey { .. } => return self.convert_apart(record, None, tally, out),
        };
        let Some(room) = out.room(mark)? else {
            return self.convert_apart(record, Some((kind, mark)), tally, out);
        };
        match self.form(record, room)? {
            Formed::Declined => return Ok(false),
            Formed::Filtered => tally.filtered += 1,
            Formed::NeedsMore => return self.convert_apart(record, Some((kind, mark)), tally, out),
            Formed::Row(length) => {
                let text = self.text(record, mark);
                let Some(place) = room.get_mut(length..length + text.len()) else {
                    return self.convert_apart(record, Some((kind, mark)), tally, out);
                };
                place.copy_from_slice(text);
                let mark = mark.map(|mark| Mark { text: text.len() as u32, ..mark });
                out.wrote(kind, mark, length + text.len());
            }
        }
        Ok(true)
    }

    /// Whether few of the records pass the filter, so that it is asked before a row is formed. Their values are then
    /// converted twice.
    #[inline]
    fn is_selective(&self) -> bool {
        SELECTIVE * self.passed <= self.probed
    }

    /// Counts a record that the filter was asked about. What was long ago counts less and less.
    #[inline]
    fn count(&mut self, passes: bool) {
        self.probed += 1;
        self.passed += u32::from(passes);
        if self.probed == MEMORY {
            (self.probed, self.passed) = (self.probed / 2, self.passed / 2);
        }
    }

    /// Converts a record's needed fields, and asks the filter.
    #[inline]
    fn probe(&mut self, record: &Record<'_>) -> Result<Probed, OutOfMemory> {
        let (plan, known) = (self.plan, self.known());
        self.probes.iter_mut().for_each(Probe::clear);
        for (step, scratch) in plan.steps.iter().zip(&mut self.scratches) {
            let value = match (&step.source, step.seen.map(|place| &mut self.probes[place])) {
                (Source::Field(needed), Some(probe)) => {
                    plan.value(needed, record.field(needed.field), known, scratch, probe)?
                }
                (Source::Field(needed), None) => {
                    plan.value(needed, record.field(needed.field), known, scratch, &mut Nowhere)?
                }
                (Source::Constant(constant), Some(probe)) => write_constant(constant, probe),
                (Source::Constant(_), None) => Value::Written,
            };
            if matches!(value, Value::Declined) {
                return Ok(Probed::Declined);
            }
        }
        if self.probes.iter_mut().any(Probe::has_run_out) {
            return Err(OutOfMemory);
        }
        let mut values = reuse(std::mem::take(&mut self.values));
        values.extend(self.probes.iter().map(Probe::value));
        let passes = plan.filter.as_ref().is_none_or(|filter| filter.passes(&values));
        self.values = reuse(values);
        self.count(passes);
        Ok(if passes { Probed::Passes } else { Probed::Filtered })
    }

    /// What is known of all fields.
    #[inline]
    fn known(&self) -> Known<'s> {
        let settings = if self.is_ascii { &self.plan.ascii_settings } else { &self.plan.settings };
        Known { is_ascii: self.is_ascii, settings }
    }

    /// What follows the row of a record: its beginning, if that is wanted with its place.
    fn text<'r>(&self, record: &Record<'r>, mark: Option<Mark>) -> &'r [u8] {
        let content = record.content();
        if mark.is_some() { &content[..self.plan.text.min(content.len())] } else { &[] }
    }

    /// As [`Rows::convert`], by way of memory of its own; the row goes nowhere if nothing is said about it.
    #[inline(never)]
    fn convert_apart(
        &mut self,
        record: &Record<'_>,
        entry: Option<(EntryKind, Option<Mark>)>,
        tally: &mut Tally,
        out: &mut Output<'_>,
    ) -> Result<bool, Stop> {
        let mut row = std::mem::take(&mut self.row);
        let formed = loop {
            match self.form(record, &mut row)? {
                Formed::NeedsMore => {
                    let more = row.len().max(LEAST_ROW);
                    row.try_reserve_exact(more).map_err(|_| OutOfMemory)?;
                    row.resize(row.len() + more, 0);
                }
                formed => break formed,
            }
        };
        self.row = row;
        match (formed, entry) {
            (Formed::Declined, _) => return Ok(false),
            (Formed::Filtered, _) => tally.filtered += 1,
            (Formed::Row(length), Some((kind, mark))) => {
                let text = self.text(record, mark);
                let whole = length + text.len();
                if self.row.len() < whole {
                    self.row.try_reserve(whole - self.row.len()).map_err(|_| OutOfMemory)?;
                    self.row.resize(whole, 0);
                }
                self.row[length..whole].copy_from_slice(text);
                let mark = mark.map(|mark| Mark { text: text.len() as u32, ..mark });
                out.push(kind, mark, &self.row[..whole])?;
            }
            (Formed::Row(_) | Formed::NeedsMore, _) => {}
        }
        Ok(true)
    }

    /// Converts a record's needed fields into a row at the start of some bytes.
    #[inline]
    fn form(&mut self, record: &Record<'_>, bytes: &mut [u8]) -> Result<Formed, OutOfMemory> {
        let (plan, known) = (self.plan, self.known());
        let mut row = self.former.row(bytes);
        self.seen.fill(None);
        for (step, scratch) in plan.steps.iter().zip(&mut self.scratches) {
            let mut place = row.attribute(step.form);
            let value = match &step.source {
                Source::Field(needed) => plan.value(needed, record.field(needed.field), known, scratch, &mut place)?,
                Source::Constant(constant) => write_constant(constant, &mut place),
            };
            match value {
                Value::Declined => return Ok(Formed::Declined),
                Value::Null => row.null(step.attribute),
                Value::Written => {
                    if let Some(place) = step.seen {
                        self.seen[place] = row.last(step.form);
                    }
                }
            }
        }
        let Some(length) = row.finish() else { return Ok(Formed::NeedsMore) };
        let Some(filter) = &plan.filter else { return Ok(Formed::Row(length)) };
        let mut values = reuse(std::mem::take(&mut self.values));
        values.extend(self.seen.iter().map(|seen| match (*seen)? {
            Last::Word(word) => Some(Datum::Word(word)),
            Last::Content { end, length } => Some(Datum::Bytes(row.content(end, length))),
        }));
        let passes = filter.passes(&values);
        self.values = reuse(values);
        self.count(passes);
        Ok(if passes { Formed::Row(length) } else { Formed::Filtered })
    }
}

/// A value that is the same in every row.
#[inline]
fn write_constant(constant: &Constant, sink: &mut impl Sink) -> Value {
    match constant {
        Constant::Word(word) => sink.word(*word),
        Constant::Bytes(bytes) => sink.bytes(bytes),
    }
    Value::Written
}

/// A list of values of one lifetime as an empty one of another, with the same memory.
fn reuse<'a>(mut values: Vec<Option<Datum<'_>>>) -> Vec<Option<Datum<'a>>> {
    values.clear();
    values.into_iter().map(|_| None).collect()
}
