//! A job made ready: what all threads look at and none changes.

use crate::convert::{Converter, Kind, Settings};
use crate::dialect::{Dialect, DialectError, LineEnd};
use crate::filter::Filter;
use crate::infer::Surveyor;
use crate::job::{Attribute, Constant, Encoding, Job, Layout, Output};
use crate::scan::{Level, Scanner};
use crate::tuple::{Former, OutOfMemory};

/// The job, resolved.
pub(super) struct Plan {
    pub(super) dialect: Dialect,
    pub(super) level: Level,
    pub(super) scanner: Scanner,
    pub(super) line_end: LineEnd,
    pub(super) quote: u8,
    pub(super) escape: u8,
    pub(super) null: Vec<u8>,
    pub(super) default: Option<Vec<u8>>,
    pub(super) has_end_marker: bool,
    /// Fields of every record.
    pub(super) fields: usize,
    /// The values of a row, in the order of its attributes; those left out are NULL.
    pub(super) steps: Vec<Step>,
    /// Whether a value of a field is needed.
    pub(super) needs_field: bool,
    pub(super) encoding: Encoding,
    /// Whether some byte is invalid in the file's encoding although it is no NUL (single-byte encodings only).
    pub(super) has_invalid_bytes: bool,
    /// Over the values that it looks at alone, and how many these are.
    pub(super) filter: Option<Filter>,
    pub(super) filter_columns: usize,
    pub(super) output: Output,
    pub(super) text: usize,
    pub(super) layout: Layout,
    pub(super) settings: Settings,
    /// The same where there are none but ASCII characters.
    pub(super) ascii_settings: Settings,
    pub(super) longest_record: usize,
}

/// A value of every row.
pub(super) struct Step {
    /// The attribute it goes to, 0-based, and how that is stored.
    pub(super) attribute: usize,
    pub(super) form: Attribute,
    pub(super) source: Source,
    /// Its place in the row that the filter looks at, if it does look at it.
    pub(super) seen: Option<usize>,
}

/// Where a value comes from.
pub(super) enum Source {
    Field(Needed),
    Constant(Constant),
}

/// A field that somebody needs.
pub(super) struct Needed {
    /// Its place in the record, 0-based.
    pub(super) field: usize,
    pub(super) converter: Converter,
    pub(super) force_not_null: bool,
    pub(super) force_null: bool,
}

impl Plan {
    /// # Errors
    /// If the job's syntax is none that the scans know.
    pub(super) fn new(mut job: Job, level: Level) -> Result<Plan, DialectError> {
        let dialect = job.syntax.dialect()?;
        let fields = job.fields.len();
        let columns = job.filter.as_ref().map(Filter::columns).unwrap_or_default();
        let place = |column| columns.binary_search(&column).ok();
        let steps = steps(&mut job, |attribute| place(attribute as u32));
        let known = |column| place(column).expect("it is one of the filter's") as u32;
        let ascii_settings = Settings { single_byte: true, utf8: false, ..job.settings.clone() };
        let has_invalid_bytes = match &job.encoding {
            Encoding::Table(table) => table.iter().skip(1).any(Vec::is_empty),
            Encoding::Utf8 | Encoding::AnyByte => false,
        };
        Ok(Plan {
            scanner: Scanner::new(&dialect, level),
            dialect,
            level,
            line_end: job.syntax.line_end,
            quote: job.syntax.quote,
            escape: job.syntax.escape,
            null: job.syntax.null,
            default: job.syntax.default,
            has_end_marker: job.syntax.has_end_marker,
            fields,
            needs_field: steps.iter().any(|step| matches!(step.source, Source::Field(_))),
            steps,
            encoding: job.encoding,
            has_invalid_bytes,
            filter: job.filter.map(|filter| filter.with_columns(known)),
            filter_columns: columns.len(),
            output: job.output,
            text: job.text,
            layout: job.layout,
            settings: job.settings,
            ascii_settings,
            longest_record: job.longest_record,
        })
    }

    /// Is no value needed to count a record? (Without a column, a filter may still refuse all rows: `x < ANY ('{}')`.)
    pub(super) fn decides_nothing(&self) -> bool {
        !self.needs_field && self.filter.is_none()
    }

    /// What forms the rows.
    pub(super) fn former(&self) -> Former {
        let set: Vec<_> = self.steps.iter().map(|step| step.attribute).collect();
        Former::new(&self.layout, &set)
    }

    /// What surveys the records, if the job asks for that.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(super) fn surveyor(&self) -> Result<Option<Surveyor>, OutOfMemory> {
        let Output::Survey { null_is_certain } = self.output else { return Ok(None) };
        let (fields, null) = (self.fields, &self.null[..]);
        let surveyor = Surveyor::new(&self.dialect, self.level, fields, null, null_is_certain, &self.settings)?;
        Ok(Some(surveyor.with_end_marker(self.has_end_marker)))
    }
}

/// What a row's attributes come from, and their places in the row that the filter looks at.
fn steps(job: &mut Job, seen: impl Fn(usize) -> Option<usize>) -> Vec<Step> {
    let attributes = &job.layout.attributes;
    let step = |attribute, source| Step { attribute, form: attributes[attribute], source, seen: seen(attribute) };
    let mut steps = Vec::new();
    for (field, wanted) in job.fields.iter_mut().enumerate() {
        if let Some(target) = wanted.target.take() {
            let (force_not_null, force_null) = (target.force_not_null, target.force_null);
            // What only PostgreSQL can convert travels as text.
            let converter = Converter::new(target.kind.unwrap_or(Kind::Text));
            let needed = Needed { field, converter, force_not_null, force_null };
            steps.push(step(target.attribute, Source::Field(needed)));
        }
    }
    for (attribute, constant) in std::mem::take(&mut job.layout.constants) {
        steps.push(step(attribute, Source::Constant(constant)));
    }
    steps.sort_by_key(|step| step.attribute);
    steps
}
