//! From a record to a row: its needed fields converted, each straight into its place, and the filter asked.
//!
//! A row is formed where it goes to, in a block of the ring. How long it becomes is known only when it is done; where
//! there turns out to be no room for it, it is formed once more in memory of the thread's own, and travels in parts.
//!
//! Where few rows pass the filter, most values are converted only because a bad one must be found in them, and forming
//! rows of them would be in vain. Then the filter is asked first ([`Rows::look`]), and what passes is converted twice.

use super::Stop;
use super::asked::Asked;
use super::output::Output;
use super::plan::{Plan, Source};
use super::records::Record;
use super::tally::Tally;
use super::values::{ColumnScratch, Known, Value};
use crate::convert::{Datum, Kept, Nowhere, Sink};
use crate::entry::{EntryKind, Mark};
use crate::job::{Constant, Output as Wanted};
use crate::tuple::{Former, Last, OutOfMemory};

/// What became of a record.
enum Formed {
    /// A row, and what follows it: so many bytes.
    Row(usize),
    /// A row that is not wanted.
    Filtered,
    /// A value was declined.
    Declined,
    /// There is not enough room for it; there would be with so many bytes.
    NeedsMore(usize),
}

/// What forms the rows of one thread, with the memory it takes.
pub(super) struct Rows<'s> {
    plan: &'s Plan,
    former: Former,
    /// Memory for the values of each step.
    scratches: Vec<ColumnScratch>,
    /// Whether the records hold none but ASCII characters.
    pub(super) is_ascii: bool,
    /// The filter; and the values it looks at, where they are in a row, and where there is none.
    asked: Option<Asked<'s>>,
    seen: Vec<Option<Last>>,
    kept: Vec<Kept>,
    /// A row that is not formed where it goes to, and what follows it.
    row: Vec<u8>,
}

impl<'s> Rows<'s> {
    /// # Errors
    /// If there is no memory for it.
    pub(super) fn new(plan: &'s Plan) -> Result<Rows<'s>, OutOfMemory> {
        let columns = plan.filter_columns;
        Ok(Rows {
            plan,
            former: plan.former(),
            scratches: many(plan.steps.len(), ColumnScratch::default)?,
            is_ascii: false,
            asked: plan.filter.as_ref().map(|filter| Asked::new(filter, columns)).transpose()?,
            seen: many(columns, || None)?,
            kept: many(columns, Kept::default)?,
            row: Vec::new(),
        })
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let scratches: usize = self.scratches.iter().map(ColumnScratch::memory).sum();
        self.row.capacity() + scratches + self.kept.iter().map(Kept::memory).sum::<usize>()
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
        let kind = match self.plan.output {
            Wanted::MixedRows => Some(EntryKind::MixedRow),
            Wanted::PlacedRows => Some(EntryKind::PlacedRow),
            Wanted::Rows => Some(EntryKind::Row),
            Wanted::Count | Wanted::Survey { .. } => None,
        };
        if kind.is_none() || self.asked.as_ref().is_some_and(Asked::is_selective) {
            match self.look(record)? {
                None => return Ok(false),
                Some(false) => {
                    tally.filtered += 1;
                    return Ok(true);
                }
                Some(true) => {}
            }
        }
        let Some(kind) = kind else { return Ok(true) };
        let content = record.content();
        let text = if mark.is_some() { &content[..self.plan.text.min(content.len())] } else { &[] };
        let mark = mark.map(|mark| Mark { text: text.len() as u32, ..mark });
        let formed = match out.room(mark)? {
            Some(room) => self.form(record, text, room)?,
            None => Formed::NeedsMore(0),
        };
        match formed {
            Formed::Declined => return Ok(false),
            Formed::Filtered => tally.filtered += 1,
            Formed::Row(length) => out.wrote(kind, mark, length),
            Formed::NeedsMore(most) => match self.form_apart(record, text, most)? {
                Formed::Declined => return Ok(false),
                Formed::Filtered => tally.filtered += 1,
                Formed::Row(length) => out.push(kind, mark, &self.row[..length])?,
                Formed::NeedsMore(_) => unreachable!("it was given as much as it needs"),
            },
        }
        Ok(true)
    }

    /// Converts a record's needed fields, and asks the filter; `None` if a value was declined.
    #[inline]
    fn look(&mut self, record: &Record<'_>) -> Result<Option<bool>, OutOfMemory> {
        let (plan, known) = (self.plan, self.known());
        self.kept.iter_mut().for_each(Kept::clear);
        for (step, scratch) in plan.steps.iter().zip(&mut self.scratches) {
            let value = match (&step.source, step.seen.map(|place| &mut self.kept[place])) {
                (Source::Field(needed), Some(kept)) => {
                    plan.value(needed, record.field(needed.field), known, scratch, kept)?
                }
                (Source::Field(needed), None) => {
                    plan.value(needed, record.field(needed.field), known, scratch, &mut Nowhere)?
                }
                (Source::Constant(constant), Some(kept)) => write_constant(constant, kept),
                (Source::Constant(_), None) => Value::Written,
            };
            if matches!(value, Value::Declined) {
                return Ok(None);
            }
        }
        if self.kept.iter().any(Kept::is_out_of_memory) {
            return Err(OutOfMemory);
        }
        let values = self.kept.iter().map(Kept::value);
        Ok(Some(self.asked.as_mut().is_none_or(|asked| asked.passes(values))))
    }

    /// As [`Rows::form`], in memory of the thread's own, of which it is known that it takes so many bytes, if anything
    /// is known.
    #[inline(never)]
    fn form_apart(&mut self, record: &Record<'_>, text: &[u8], mut most: usize) -> Result<Formed, OutOfMemory> {
        loop {
            let mut row = std::mem::take(&mut self.row);
            if most > row.len() {
                row.try_reserve_exact(most - row.len()).map_err(|_| OutOfMemory)?;
                row.resize(most, 0);
            }
            let formed = self.form(record, text, &mut row);
            self.row = row;
            match formed? {
                Formed::NeedsMore(more) => most = more,
                formed => return Ok(formed),
            }
        }
    }

    /// Converts a record's needed fields into a row at the start of some bytes, asks the filter, and puts a text behind
    /// the row.
    #[inline]
    fn form(&mut self, record: &Record<'_>, text: &[u8], bytes: &mut [u8]) -> Result<Formed, OutOfMemory> {
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
        let length = match row.finish() {
            Ok(length) => length,
            Err(most) => return Ok(Formed::NeedsMore(most + text.len())),
        };
        if let Some(asked) = &mut self.asked {
            let passes = asked.passes(self.seen.iter().map(|seen| match (*seen)? {
                Last::Word(word) => Some(Datum::Word(word)),
                Last::Content { end, length } => Some(Datum::Bytes(row.content(end, length))),
            }));
            if !passes {
                return Ok(Formed::Filtered);
            }
        }
        let whole = length + text.len();
        let Some(place) = bytes.get_mut(length..whole) else { return Ok(Formed::NeedsMore(whole)) };
        place.copy_from_slice(text);
        Ok(Formed::Row(whole))
    }

    /// What is known of all fields.
    #[inline]
    fn known(&self) -> Known<'s> {
        let settings = if self.is_ascii { &self.plan.ascii_settings } else { &self.plan.settings };
        Known { is_ascii: self.is_ascii, settings }
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

/// So many of something.
///
/// # Errors
/// If there is no memory for them.
fn many<T>(count: usize, make: impl FnMut() -> T) -> Result<Vec<T>, OutOfMemory> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    all.resize_with(count, make);
    Ok(all)
}
