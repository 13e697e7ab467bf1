//! `fastcsv_infer`: how a file is written, and the types of its columns. What it finds is also what `fastcsv_import`
//! creates and what IMPORT FOREIGN SCHEMA tells.
//!
//! 1. [`source`] lets COPY check the options that were given and open the file, so whatever is wrong with either is
//!    said in COPY's words. A compressed file is then read by [`content`].
//! 2. [`look`] reads the file's beginning for what was not given, and surveys its records: in this process those of a
//!    small file, else on the threads of a worker ([`survey`]).
//! 3. [`together`] makes one of what several files hold.
//! 4. [`schema`] puts the findings into SQL's words.
//!
//! Only who may read files on the server comes as far as that.

#![expect(unsafe_code, reason = "answers PostgreSQL's executor, which passes pointers")]

mod content;
mod look;
mod preview;
mod schema;
mod source;
mod survey;
mod together;

use std::io;

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::call::Call;
use crate::options::{raise, report};
use crate::referee::shim;
use look::Failure;
pub(crate) use preview::preview;
pub(crate) use schema::{Schema, SchemaColumn};
use source::Opened;
pub(crate) use source::Request;

/// The arguments of `fastcsv_infer`, numbered as `sql/` declares them.
enum Argument {
    Filename,
    Delimiter,
    Quote,
    Escape,
    NullString,
    Header,
    Encoding,
    SampleRows,
}

impl Request {
    /// Reads a file's name and its dialect from a call: `filename` is that argument's number, `delimiter` that of the
    /// first of six that follow each other.
    ///
    /// # Errors
    /// Raises that the file's name is null.
    pub(crate) fn read(call: &Call, function: &str, filename: usize, delimiter: usize) -> Request {
        let Some(filename) = call.text(filename) else {
            raise(report(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("filename of {function} must not be null"),
            ))
        };
        let text = |argument: Argument| call.text(delimiter + argument as usize - Argument::Delimiter as usize);
        let header = delimiter + Argument::Header as usize - Argument::Delimiter as usize;
        Request {
            filename,
            is_spooled: false,
            delimiter: text(Argument::Delimiter),
            quote: text(Argument::Quote),
            escape: text(Argument::Escape),
            null: text(Argument::NullString),
            header: call.datum(header).map(|datum| datum.value() != 0),
            encoding: text(Argument::Encoding),
            most: None,
        }
    }
}

/// `fastcsv_infer(filename, ...)`: a row for each column.
pub(crate) fn infer(call: &Call) -> pg_sys::Datum {
    let mut request = Request::read(call, "fastcsv_infer", Argument::Filename as usize, Argument::Delimiter as usize);
    request.most = sample_rows(call, Argument::SampleRows as usize);
    // SAFETY: nothing here has a destructor while files are opened.
    let schema = unsafe { Schema::infer(&request) };
    call.rows(schema.columns.iter().enumerate().map(|(index, column)| row(&schema, index, column)))
}

/// The argument that says how many records are looked at.
///
/// # Errors
/// Raises that it is not positive.
pub(crate) fn sample_rows(call: &Call, argument: usize) -> Option<u64> {
    call.datum(argument).map(|rows| match u64::try_from(rows.value().cast_signed()) {
        Ok(rows @ 1..) => rows,
        _ => raise(report(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "sample_rows must be greater than zero")),
    })
}

/// Raises what went wrong. By now nothing is alive on the frames below that has a destructor.
fn fail(failure: Failure, opened: &Opened) -> ! {
    let name = opened.request.filename;
    match failure {
        Failure::Read(error) if error.kind() == io::ErrorKind::InvalidData => {
            let detail = shim::palloced(&error.to_string());
            drop(error);
            // SAFETY: both are C strings.
            unsafe { shim::raise_damaged(name, detail) }
        }
        Failure::Read(error) => shim::raise_read_error(&error, name),
        // SAFETY: the file is still open.
        Failure::Overwritten => unsafe { crate::referee::Referee::raise_overwritten(opened.referee) },
        Failure::Said(report) => raise(*report),
    }
}

fn row(schema: &Schema, index: usize, column: &SchemaColumn) -> Vec<Option<pg_sys::Datum>> {
    let text = |text: &[u8]| Some(schema::text_datum(text));
    let number = |number: u64| Some(pg_sys::Datum::from(number.cast_signed()));
    let verdict = &column.verdict;
    vec![
        Some(pg_sys::Datum::from(index as i32 + 1)),
        text(&column.name),
        column.header.as_deref().map(schema::text_datum),
        text(verdict.kind.name().as_bytes()),
        Some(pg_sys::Datum::from(verdict.nulls > 0)),
        number(column.values),
        number(verdict.nulls),
        Some(schema::text_array(column.samples.iter().map(|sample| Some(&sample[..])))),
        column.reason.as_deref().map(schema::text_datum),
        if index == 0 { text(&schema.dialect_text()) } else { None },
    ]
}
