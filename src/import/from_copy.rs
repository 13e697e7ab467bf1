//! `COPY newtable FROM ... WITH (FORMAT csv, CREATE_TABLE)`, and so `\copy` from psql: the import of [`super`], asked
//! for in COPY's words.
//!
//! Columns can be found out only of what can be read twice. So the client's data are put into a temporary file of
//! PostgreSQL's first, which goes at the end of the transaction at the latest and counts for `temp_file_limit`.

#![expect(unsafe_code, reason = "reads a parse tree, and writes a temporary file through PostgreSQL's C interface")]

use std::ffi::{CStr, c_char};
use std::io;

use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::plan::Wishes;
use super::{carry_out, planned};
use crate::client::Client;
use crate::infer::Request;
use crate::options::{raise, report};
use crate::referee::shim;
use crate::stream::{self, Supply};
use crate::{pg_compat, pg_raw};

/// The option, which is ours.
const CREATE_TABLE: &CStr = c"create_table";

/// Bytes that are written at once.
const CHUNK: usize = 64 * 1024;

/// Do COPY's options ask for a new table?
///
/// # Errors
/// Raises that the option's value is no boolean.
///
/// # Safety
/// The list must be one of DefElems.
pub(crate) unsafe fn creates_table(options: *mut pg_sys::List) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        PgList::<pg_sys::DefElem>::from_pg(options)
            .iter_ptr()
            .any(|option| CStr::from_ptr((*option).defname) == CREATE_TABLE && pg_sys::defGetBoolean(option))
    }
}

/// Creates the statement's table and loads it; returns the number of rows.
///
/// # Errors
/// Raises COPY's errors, those of creating a table, and that the statement asks for what an import cannot do.
///
/// # Safety
/// The statement must be a COPY FROM whose options ask for it, with a client if it is FROM STDIN. Nothing with a
/// destructor may be alive on the caller's frames.
pub(crate) unsafe fn from_copy(statement: *mut pg_sys::CopyStmt) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        let mut request = request(statement);
        let target = (*statement).relation;
        if pg_raw::RangeVarGetRelidExtended(
            target,
            pg_sys::NoLock.cast_signed(),
            pg_sys::RVROption::RVR_MISSING_OK,
            None,
            std::ptr::null_mut(),
        ) != pg_sys::InvalidOid
        {
            let name = CStr::from_ptr((*target).relname).to_string_lossy();
            let message = format!("relation \"{name}\" already exists");
            raise(
                report(PgSqlErrorCode::ERRCODE_DUPLICATE_TABLE, message).set_hint("Leave CREATE_TABLE out to load it."),
            );
        }
        let wishes = Wishes {
            table: Some((*target).relname),
            schema: (!(*target).schemaname.is_null()).then_some((*target).schemaname),
            is_temporary: false,
            is_unlogged: false,
        };
        let spool = request.filename.is_null().then(|| spool());
        if let Some(file) = spool {
            request.filename = pg_sys::pstrdup(pg_sys::FilePathName(file));
            request.is_spooled = true;
        }
        let plan = planned(&request, &wishes);
        let rows = carry_out(plan, request.source(), std::ptr::null());
        if let Some(file) = spool {
            pg_sys::FileClose(file);
        }
        rows
    }
}

/// What the statement says of the file.
///
/// # Errors
/// Raises that it says what an import cannot do.
///
/// # Safety
/// As for [`from_copy`].
unsafe fn request(statement: *mut pg_sys::CopyStmt) -> Request {
    // SAFETY: the caller's promise.
    unsafe {
        let refuse = |what: &str| -> ! {
            let message = format!("COPY with CREATE_TABLE cannot have {what}");
            raise(report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message))
        };
        if (*statement).is_program {
            refuse("a program for its source");
        }
        if !(*statement).attlist.is_null() {
            refuse("a column list");
        }
        if !(*statement).whereClause.is_null() {
            refuse("a WHERE clause");
        }
        let mut request = Request::of_file((*statement).filename);
        for option in PgList::<pg_sys::DefElem>::from_pg((*statement).options).iter_ptr() {
            let text = |option| -> Option<*mut c_char> { Some(pg_sys::defGetString(option)) };
            match CStr::from_ptr((*option).defname).to_bytes() {
                b"delimiter" => request.delimiter = text(option),
                b"quote" => request.quote = text(option),
                b"escape" => request.escape = text(option),
                b"null" => request.null = text(option),
                b"encoding" => request.encoding = text(option),
                b"header" => request.header = Some(pg_sys::defGetBoolean(option)),
                b"format" | b"create_table" => {}
                other => refuse(&format!("the option \"{}\"", String::from_utf8_lossy(other))),
            }
        }
        request
    }
}

/// Puts all that the client sends into a temporary file.
///
/// # Errors
/// Raises what is wrong with the client, and that the file cannot be written.
///
/// # Safety
/// There must be a client, that waits for an answer to a COPY FROM STDIN. Nothing with a destructor on the caller's
/// frames.
unsafe fn spool() -> pg_sys::File {
    // SAFETY: the caller's promise. The client and the buffer own nothing that has a destructor.
    unsafe {
        let file = pg_sys::OpenTemporaryFile(false);
        let buffer: *mut u8 = pg_sys::palloc0(CHUNK).cast();
        let mut client = Client::ask();
        let mut offset = 0;
        loop {
            pg_raw::check_for_interrupts();
            match client.read(std::slice::from_raw_parts_mut(buffer, CHUNK)) {
                Ok(Some(0)) => break,
                Ok(Some(length)) => offset += write(file, buffer, length, offset),
                Ok(None) => stream::wait_for(Some(client.descriptor()), -1, stream::wait_event(true)),
                Err(error) => shim::raise_read_error(&error, c"STDIN".as_ptr()),
            }
        }
        pg_sys::pfree(buffer.cast());
        file
    }
}

/// Writes the bytes; returns how many.
///
/// # Errors
/// Raises that they could not be written.
///
/// # Safety
/// The file must be a temporary one, and the buffer so long.
unsafe fn write(file: pg_sys::File, buffer: *mut u8, length: usize, offset: i64) -> i64 {
    // SAFETY: the caller's promise.
    unsafe {
        if pg_compat::file_write(file, buffer, length, offset) != length as i64 {
            shim::raise_file_error(&io::Error::last_os_error(), c"write", pg_sys::FilePathName(file));
        }
    }
    length as i64
}
