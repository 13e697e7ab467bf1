//! The referee started in the middle of a file, as an SQL function for the tests (`tests/referee`).
//!
//! The function is not part of the extension's SQL. The tests declare it themselves, which only a superuser can:
//!
//! ```sql
//! CREATE FUNCTION referee(relation regclass, byte int8, line int8, record int8, number int8, line_end text)
//!     RETURNS SETOF record LANGUAGE c AS 'fastcsv', 'fastcsv_test_referee';
//! ```
//!
//! It reads the file of a fastcsv foreign table from a record on, told what a reader would know there: the record's
//! first byte, its physical line and number (a header counted), COPY's line number for it, and the line-end style
//! (`lf`, `crlf`, `cr`, or NULL for not yet known).

#![expect(unsafe_code, reason = "a set-returning function over PostgreSQL's C interface")]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::NonNull;

use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::locate::Checkpoint;
use pgrx::{PgMemoryContexts, pg_sys};

use crate::call::Call;
use crate::options::{Source, TableOptions};
use crate::referee::{Feed, Referee, shim};

/// A file read from an offset on.
struct FileFrom {
    file: File,
    offset: u64,
}

impl Feed for FileFrom {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.file.as_raw_fd())
    }
}

/// The function's body.
pub(crate) fn read_from(call: &Call) -> pg_sys::Datum {
    let number = |index| call.datum(index).map_or(0, |datum| datum.value() as u64);
    let table = pg_sys::Oid::from(number(0) as u32);
    let start = Checkpoint {
        byte: number(1),
        line: number(2),
        record: number(3),
        number: number(4),
        line_end: call.text(5).map(line_end),
    };
    // SAFETY: the tests declare the function as described above. The feed lives, and its file is closed, with the
    // memory context of the query. Below `open_feed` nothing alive here has a destructor.
    unsafe {
        let TableOptions { source, copy, .. } = TableOptions::of(table);
        let feed = open_feed(source, start.byte);
        let relation = pg_sys::table_open(table, pg_sys::AccessShareLock.cast_signed());
        let referee = Referee::start_at(relation, source, copy, feed, start);
        return_rows(call.frame(), referee);
        Referee::report_skipped(referee, false);
        Referee::end(referee);
        pg_sys::table_close(relation, pg_sys::AccessShareLock.cast_signed());
    }
    pg_sys::Datum::null()
}

fn line_end(name: *mut std::ffi::c_char) -> LineEnd {
    // SAFETY: the argument is a C string.
    match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"lf" => LineEnd::Lf,
        b"crlf" => LineEnd::CrLf,
        b"cr" => LineEnd::Cr,
        _ => panic!("line_end must be lf, crlf or cr"),
    }
}

/// # Safety
/// The source's name must be a C string.
unsafe fn open_feed(source: Source, offset: u64) -> NonNull<dyn Feed> {
    // SAFETY: the caller's promise.
    let path = Path::new(std::ffi::OsStr::from_bytes(unsafe { CStr::from_ptr(source.name) }.to_bytes()));
    match File::open(path) {
        Ok(file) => {
            let feed = PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(FileFrom { file, offset });
            NonNull::new(feed).expect("an allocated value has an address")
        }
        Err(error) => shim::raise_file_error(&error, c"open", source.name),
    }
}

/// Puts all of the referee's rows into the function's result.
///
/// # Safety
/// `frame` must be that of a set-returning function declared to return the relation's columns.
unsafe fn return_rows(frame: pg_sys::FunctionCallInfo, referee: *mut Referee) {
    // SAFETY: the caller's promise; the result's descriptor and store are made by the first call.
    unsafe {
        pg_sys::InitMaterializedSRF(frame, pg_sys::MAT_SRF_USE_EXPECTED_DESC);
        let result = (*frame).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        let columns = (*(*result).setDesc).natts as usize;
        let values: *mut pg_sys::Datum = pg_sys::palloc0(columns.max(1) * size_of::<pg_sys::Datum>()).cast();
        let nulls: *mut bool = pg_sys::palloc0(columns.max(1)).cast();
        while Referee::next_row(referee, std::ptr::null_mut(), values, nulls) {
            pg_sys::tuplestore_putvalues((*result).setResult, (*result).setDesc, values, nulls);
        }
    }
}
