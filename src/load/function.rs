//! `fastcsv_copy` itself: from its arguments to a load.

#![expect(unsafe_code, reason = "reads arguments that are C strings, and builds lists of nodes")]

use std::ffi::c_char;

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::statement::{self, Argument, Options};
use super::{Load, allocate, may_read_server_files, run};
use crate::call::Call;
use crate::options::{Source, decompresses_by, drops_mark_by, matches_names_by, raise, report};
use crate::reader::{Beyond, Files};
use crate::{files, header, text};

/// `fastcsv_copy(target, filename, ...)`: returns the number of rows loaded.
pub(crate) fn copy(call: &Call) -> pg_sys::Datum {
    let target = call.oid(Argument::Target as usize).unwrap_or_else(|| required("target"));
    let filename = call.text(Argument::Filename as usize).unwrap_or_else(|| required("filename"));
    // SAFETY: `prepare` leaves everything in PostgreSQL's memory, where it stays until the function returns; `run`
    // is called with nothing alive here that has a destructor.
    unsafe {
        let load = prepare(call, target, filename);
        pg_sys::Datum::from(run(load).cast_signed())
    }
}

fn required(argument: &str) -> ! {
    raise(report(
        PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        format!("{argument} of fastcsv_copy must not be null"),
    ))
}

/// Builds the load from the function's arguments.
///
/// # Safety
/// `filename` must be a C string that lives as long as the load.
unsafe fn prepare(call: &Call, target: pg_sys::Oid, filename: *mut c_char) -> *mut Load {
    let may_read_files = may_read_server_files();
    let compression = call.text(Argument::Compression as usize);
    // SAFETY: the argument is a C string.
    let decompresses = compression.is_none_or(|value| unsafe { decompresses_by(value) });
    let source = Source { decompresses, ..Source::file(filename) };
    if may_read_files {
        // The name below must mean the table that was asked for until COPY has locked it. Who may not read files is
        // refused by COPY before it looks at the table, and locks nothing here either.
        // SAFETY: takes a lock that is held until the transaction ends, as COPY's own is.
        unsafe { pg_sys::LockRelationOid(target, pg_sys::RowExclusiveLock.cast_signed()) };
    }
    let mut options = Options::read(call, |argument| Some(argument as usize));
    let header_is_auto = options.drop_auto_header();
    let mut options = options.into_list();
    let columns = call.texts(Argument::Columns as usize);
    let mut columns = statement::columns(columns.as_deref());
    // SAFETY: the function's own promise. Who may not read files is told nothing of them.
    let names = if may_read_files { unsafe { files::names_of(source) } } else { std::ptr::null_mut() };
    let filename_column =
        call.text(Argument::FilenameColumn as usize).map_or(std::ptr::null(), |name| name.cast_const());
    let matches = call.text(Argument::Match as usize);
    // SAFETY: the argument is a C string.
    let matches_names = matches.is_some_and(|value| unsafe { matches_names_by(value) });
    let mut beyond = Beyond { files: Files::One, header_is_auto: false, filename_column, matches_names, is_load: true };
    if !names.is_null() {
        beyond.files = Files::Named(names);
    }
    let drops_mark = call.text(Argument::Bom as usize);
    // SAFETY: the argument is a C string, the options a list of DefElems.
    let drops_mark = unsafe {
        let is_ours = matches_names || header_is_auto && header::is_csv(options);
        drops_mark.map_or(is_ours, |value| drops_mark_by(value))
    };
    let mut source = Source { drops_mark, ..source };
    if may_read_files && names.is_null() {
        // SAFETY: as above.
        (source, options) = unsafe { text::look(source, options) };
    }
    if may_read_files && header_is_auto {
        if beyond.is_nothing() {
            // SAFETY: as above.
            options = unsafe { header::resolve(options, &header::Columns::of(target), columns, source) };
        } else {
            beyond.header_is_auto = true;
        }
    }
    if !columns.is_null() && !filename_column.is_null() {
        // SAFETY: adds a node to a list of nodes. The user must be allowed to insert into that column too.
        columns = unsafe { statement::with_column(columns, filename_column) };
    }
    // What COPY says of the file that is opened first.
    // SAFETY: the list is one of C strings.
    let filename = if names.is_null() { filename } else { unsafe { pg_sys::list_nth(names, 0).cast() } };
    let condition = call.text(Argument::WhereClause as usize);
    // SAFETY: the caller's promise; everything else is in PostgreSQL's memory.
    unsafe {
        let statement = statement::copy_from(target, filename, columns, options);
        allocate(target, schema_of(call), may_read_files, source, beyond, statement, condition)
    }
}

/// The schema of the function that is called, quoted.
///
/// # Safety
/// The call must be in progress.
pub(crate) unsafe fn schema_of(call: &Call) -> *const c_char {
    // SAFETY: the caller's promise; the function is in the catalog, and so is its schema.
    unsafe {
        let function = (*(*call.frame()).flinfo).fn_oid;
        pg_sys::quote_identifier(pg_sys::get_namespace_name(pg_sys::get_func_namespace(function)))
    }
}
