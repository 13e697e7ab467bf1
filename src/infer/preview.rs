//! `fastcsv_preview`: a file's first records, field by field.

#![expect(unsafe_code, reason = "answers PostgreSQL's executor, which passes pointers")]

use std::io;

use fastcsv_engine::infer::fields;
use fastcsv_engine::locate::Checkpoint;
use fastcsv_engine::pipeline::ReadAt;
use fastcsv_engine::walk::Walker;
use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, pg_sys};

use super::content::{Content, InMemory};
use super::look::{Failure, Sample, level, out_of_memory};
use super::schema::{sampled_encoding, text_array, to_server};
use super::source::{Next, Opened, Request};
use crate::call::Call;
use crate::file::Borrowed;
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

/// What is shown, which is kept in PostgreSQL's memory while files are opened.
struct Preview {
    shown: Vec<Shown>,
    /// So many records more, headers not counted.
    left: u64,
}

/// `fastcsv_preview(filename, rows, ...)`: the first records, of one file after the other until there are enough.
pub(crate) fn preview(call: &Call) -> pg_sys::Datum {
    let request = Request::read(call, "fastcsv_preview", Argument::Filename as usize, Argument::Delimiter as usize);
    let rows = call.datum(Argument::Rows as usize).map_or(10, |rows| rows.value() as i32);
    let Ok(rows) = u64::try_from(rows) else {
        raise(report(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "rows must not be negative"))
    };
    // SAFETY: nothing here has a destructor while files are opened; the state lives as long as the current memory
    // context.
    let shown = unsafe {
        let preview = Preview { shown: Vec::new(), left: rows };
        let preview: *mut Preview = PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(preview);
        request.each(preview, add);
        std::mem::take(&mut (*preview).shown)
    };
    call.rows(shown.into_iter().map(|record| {
        let number = |number: u64| Some(pg_sys::Datum::from(number.cast_signed()));
        let fields = text_array(record.fields.iter().map(Option::as_deref));
        vec![number(record.number), number(record.line), Some(fields)]
    }))
}

/// Adds a file's first records, as many as are wanted yet, and the header.
fn add(preview: &mut Preview, opened: &Opened) -> Result<Next, Failure> {
    let mut sample = Sample::of(opened, &opened.given())?;
    if !sample.sniffed.first.is_empty() {
        let records = records(opened, &mut sample, preview.left)?;
        preview.left -= records.iter().filter(|record| record.number > 0).count() as u64;
        preview.shown.extend(records);
    }
    Ok(if preview.left == 0 { Next::Enough } else { Next::File })
}

/// The first records of a file, so many behind the header.
fn records(opened: &Opened, sample: &mut Sample, rows: u64) -> Result<Vec<Shown>, Failure> {
    if let Some(recoded) = sample.sniffed.recoded.take() {
        let start = if recoded.starts_with(BOM) { BOM.len() as u64 } else { 0 };
        return Ok(walk(&InMemory(&recoded), start, recoded.len() as u64, opened, sample, rows)?.0);
    }
    let start = if sample.has_bom() { BOM.len() as u64 } else { 0 };
    if opened.coding.is_none() {
        let size = sample.stamp.size;
        return Ok(walk(&Interruptible(&opened.file()), start, size, opened, sample, rows)?.0);
    }
    // Records are read twice, and what a compressed file holds only from its beginning: as much of that as it takes.
    let mut content = Content::of(opened, sample.stamp, 0)?;
    let (mut bytes, mut most) = (Vec::new(), FIRST_PIECE);
    loop {
        let is_whole = content.fill(&mut bytes, most)?;
        let length = bytes.len() as u64;
        let (shown, end) = walk(&InMemory(&bytes), start, length, opened, sample, rows)?;
        if is_whole || end < length {
            return Ok(shown);
        }
        if length > settings::memory() {
            let message = format!("{rows} records of file \"{}\" need too much memory", shown_name(opened));
            let error = report(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message);
            return Err(error.set_hint("Ask for fewer rows, or raise fastcsv.memory.").into());
        }
        most *= 4;
    }
}

fn shown_name(opened: &Opened) -> String {
    String::from_utf8_lossy(opened.name()).into_owned()
}

/// Bytes that are decompressed before anybody looks whether they are enough.
const FIRST_PIECE: usize = 256 * 1024;

/// The byte order mark in UTF-8.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Goes from record to record; returns also where it came to.
fn walk(
    source: &dyn ReadAt,
    start: u64,
    size: u64,
    opened: &Opened,
    sample: &Sample,
    rows: u64,
) -> Result<(Vec<Shown>, u64), Failure> {
    let (dialect, encoding) = (sample.dialect()?, sampled_encoding(opened, sample));
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
            return Err(error.set_hint("A quote may open in it and never close.").into());
        }
        let record = read(source, at.byte, length)?;
        let fields = fields(&record, &dialect, &sample.sniffed.null).map_err(|_| out_of_memory())?;
        let fields = fields.into_iter().map(|field| field.map(|field| to_server(encoding, &field)));
        shown.push(Shown { number: at.record - is_header, line: at.line, fields: fields.collect() });
    }
    Ok((shown, walker.at().byte))
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

/// A file that is read by somebody who can be cancelled.
struct Interruptible<'f>(&'f Borrowed);

impl ReadAt for Interruptible<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        pgrx::check_for_interrupts!();
        if memory::ran_out() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.0.read_at(buffer, offset)
    }
}
