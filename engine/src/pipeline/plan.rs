//! A job made ready: what all threads look at and none changes.

use crate::convert::{Converter, Settings};
use crate::dialect::{Dialect, DialectError, LineEnd};
use crate::filter::Filter;
use crate::infer::Surveyor;
use crate::job::{Encoding, Job, Layout, Output};
use crate::scan::{Level, Scanner};
use crate::tuple::OutOfMemory;

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
    /// The fields that somebody needs, in the file's order.
    pub(super) needed: Vec<Needed>,
    pub(super) encoding: Encoding,
    /// Whether some byte is invalid in the file's encoding although it is no NUL (single-byte encodings only).
    pub(super) has_invalid_bytes: bool,
    pub(super) filter: Option<Filter>,
    pub(super) output: Output,
    pub(super) text: usize,
    pub(super) layout: Layout,
    pub(super) settings: Settings,
    pub(super) longest_record: usize,
}

/// A field that somebody needs.
pub(super) struct Needed {
    /// Its place in the record, 0-based.
    pub(super) field: usize,
    /// The attribute it goes to, 0-based.
    pub(super) attribute: usize,
    /// `None` if it travels as text.
    pub(super) converter: Option<Converter>,
    pub(super) force_not_null: bool,
    pub(super) force_null: bool,
}

impl Plan {
    /// # Errors
    /// If the job's syntax is none that the scans know.
    pub(super) fn new(job: Job, level: Level) -> Result<Plan, DialectError> {
        let dialect = job.syntax.dialect()?;
        let fields = job.fields.len();
        let needed = job.fields.into_iter().enumerate().filter_map(|(field, wanted)| {
            wanted.target.map(|target| Needed {
                field,
                attribute: target.attribute,
                converter: target.kind.map(Converter::new),
                force_not_null: target.force_not_null,
                force_null: target.force_null,
            })
        });
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
            needed: needed.collect(),
            encoding: job.encoding,
            has_invalid_bytes,
            filter: job.filter,
            output: job.output,
            text: job.text,
            layout: job.layout,
            settings: job.settings,
            longest_record: job.longest_record,
        })
    }

    /// Is no value needed to count a record? (Without a column, a filter may still refuse all rows: `x < ANY ('{}')`.)
    pub(super) fn decides_nothing(&self) -> bool {
        self.needed.is_empty() && self.filter.is_none()
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
