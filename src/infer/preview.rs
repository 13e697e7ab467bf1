//! `fastcsv_preview`: a file's first records, field by field.

#![expect(unsafe_code, reason = "answers PostgreSQL's executor, which passes pointers")]

use std::io;

use fastcsv_engine::infer::fields;
use fastcsv_engine::locate::Checkpoint;
use fastcsv_engine::pipeline::ReadAt;
use fastcsv_engine::walk::Walker;
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::look::{Failure, Interruptible, Sample, level};
use super::schema::{text_array, to_server};
use super::source::{Opened, Request};
use super::{fail, schema};
use crate::call::Call;
use crate::options::{raise, report};
use crate::{memory, settings};

/// The arguments of `fastcsv_preview`, numbered as `sql/` declares them.
enum Argument {
    Filename,
    Rows,
    Delimiter,
}

/// What a record takes at most beside its bytes, in multiples of them: its fields, once more in the server's encoding.
const RECORD_FACTOR: u64 = 16;

/// A record to show.
struct Shown {
    /// Its number, the header's being 0.
    number: u64,
    line: u64,
    fields: Vec<Option<Vec<u8>>>,
}

/// `fastcsv_preview(filename, rows, ...)`: the first records.
pub(crate) fn preview(call: &Call) -> pg_sys::Datum {
    let request = Request::read(call, "fastcsv_preview", Argument::Filename as usize, Argument::Delimiter as usize);
    let rows = call.datum(Argument::Rows as usize).map_or(10, |rows| rows.value() as i32);
    let Ok(rows) = u64::try_from(rows) else {
        raise(report(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "rows must not be negative"))
    };
    // SAFETY: nothing here has a destructor while the file is opened.
    let opened = unsafe { Opened::open(&request) };
    match records(&opened, rows) {
        // SAFETY: the file is not used any more.
        Ok(records) => unsafe {
            opened.close();
            call.rows(records.into_iter().map(|record| {
                let number = |number: u64| Some(pg_sys::Datum::from(number.cast_signed()));
                let fields = text_array(record.fields.iter().map(Option::as_deref));
                vec![number(record.number), number(record.line), Some(fields)]
            }))
        },
        Err(failure) => fail(failure, &opened),
    }
}

/// The first records, so many behind the header.
fn records(opened: &Opened, rows: u64) -> Result<Vec<Shown>, Failure> {
    let mut sample = Sample::of(opened)?;
    let encoding = schema::sampled_encoding(opened, &sample);
    if sample.sniffed.first.is_empty() {
        return Ok(Vec::new());
    }
    match sample.sniffed.recoded.take() {
        Some(recoded) => {
            let start = if recoded.starts_with(BOM) { BOM.len() as u64 } else { 0 };
            let source = InMemory(&recoded);
            walk(&source, start, recoded.len() as u64, &sample, encoding, rows)
        }
        None => {
            let file = opened.file();
            let size = sample.size();
            let start = if sample.has_bom() { BOM.len() as u64 } else { 0 };
            walk(&Interruptible(&file), start, size, &sample, encoding, rows)
        }
    }
}

/// The byte order mark in UTF-8.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Goes from record to record.
fn walk(
    source: &dyn ReadAt,
    start: u64,
    size: u64,
    sample: &Sample,
    encoding: i32,
    rows: u64,
) -> Result<Vec<Shown>, Failure> {
    let dialect = sample.dialect()?;
    let mut walker = Walker::new(&dialect, level(), Checkpoint { byte: start, ..Checkpoint::START }, size);
    let is_header = u64::from(sample.sniffed.header);
    let mut shown = Vec::new();
    let longest = settings::memory() / RECORD_FACTOR;
    while (shown.len() as u64) < rows + is_header {
        let at = walker.at();
        if !walker.step(source)? {
            break;
        }
        let length = walker.at().byte - at.byte;
        if length > longest {
            let message = format!("the record in line {} has {length} bytes", at.line);
            let error = report(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message);
            return Err(Failure::Said(Box::new(error.set_hint("A quote may open in it and never close."))));
        }
        let record = read(source, at.byte, length)?;
        let fields = fields(&record, &dialect, &sample.sniffed.null).map_err(|_| out_of_memory())?;
        let fields = fields.into_iter().map(|field| field.map(|field| to_server(encoding, &field)));
        shown.push(Shown { number: at.record - is_header, line: at.line, fields: fields.collect() });
    }
    Ok(shown)
}

fn out_of_memory() -> Failure {
    Failure::Read(io::ErrorKind::OutOfMemory.into())
}

/// So many bytes from an offset on.
fn read(source: &dyn ReadAt, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = memory::zeroed(length as usize).ok_or(io::ErrorKind::OutOfMemory)?;
    let mut filled = 0;
    while filled < bytes.len() {
        match source.read_at(&mut bytes[filled..], offset + filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(bytes)
}

/// Bytes in memory, as a file.
struct InMemory<'b>(&'b [u8]);

impl ReadAt for InMemory<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}
