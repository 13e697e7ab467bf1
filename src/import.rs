//! `fastcsv_import`: a file becomes a table, in one statement. What [`crate::infer`] finds out makes the CREATE TABLE,
//! which is told to the user, and the load is `fastcsv_copy`'s.
//!
//! COPY reads a column's texts by its type's input function alone, under the session's settings. Where that does not
//! do:
//!
//! * the order of day and month is set for as long as the load takes (`DateStyle`);
//! * columns with a decimal comma, with commas between thousands, or with the other order of day and month than most,
//!   are loaded as text and then converted where they are (ALTER TABLE ... USING), in the same transaction.
//!
//! **Two phases**: first everything that is found out becomes a [`Plan`] in PostgreSQL's memory; then that is carried
//! out, with nothing alive that has a destructor, because COPY's errors jump over these frames.

#![expect(unsafe_code, reason = "runs statements and a load through PostgreSQL's C interface")]

mod from_copy;
mod plan;

use std::ffi::{CStr, c_char, c_int};

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::call::Call;
use crate::infer::{self, Request, Schema};
use crate::load;
use crate::options::{Source, raise, report};
use crate::referee::shim;
pub(crate) use from_copy::{creates_table, from_copy};
use plan::{Plan, Wishes};

pub(crate) use plan::{c_string, literal, quoted, table_name};

/// The arguments of `fastcsv_import`, numbered as `sql/` declares them.
enum Argument {
    Filename,
    TableName,
    SchemaName,
    Delimiter,
    Temporary = 9,
    Unlogged,
    SampleRows,
}

/// `fastcsv_import(filename, ...)`: returns the number of rows loaded.
pub(crate) fn import(call: &Call) -> pg_sys::Datum {
    let mut request = Request::read(call, "fastcsv_import", Argument::Filename as usize, Argument::Delimiter as usize);
    request.most = infer::sample_rows(call, Argument::SampleRows as usize);
    let is_set = |argument: Argument| call.datum(argument as usize).is_some_and(|datum| datum.value() != 0);
    let wishes = Wishes {
        table: call.text(Argument::TableName as usize),
        schema: call.text(Argument::SchemaName as usize),
        is_temporary: is_set(Argument::Temporary),
        is_unlogged: is_set(Argument::Unlogged),
    };
    // SAFETY: nothing here has a destructor but what `planned` lets go of before it returns.
    unsafe {
        let plan = planned(&request, &wishes);
        pg_sys::Datum::from(carry_out(plan, request.source(), load::schema_of(call)).cast_signed())
    }
}

/// Looks through the files and makes the plan.
///
/// # Errors
/// Raises what [`Schema::infer`] does, that there is nothing to make a table of, and that the table's schema does not
/// do.
///
/// # Safety
/// As for [`Schema::infer`].
unsafe fn planned(request: &Request, wishes: &Wishes) -> *mut Plan {
    // SAFETY: the caller's promise.
    let schema = unsafe { Schema::infer(request) };
    if schema.columns.is_empty() {
        raise(report(PgSqlErrorCode::ERRCODE_BAD_COPY_FILE_FORMAT, "the file is empty"));
    }
    Plan::of(&schema, request, wishes)
}

/// Creates the table, loads it, and converts what could only be loaded as text.
///
/// # Safety
/// The plan must be whole; nothing with a destructor may be alive on the caller's frames.
unsafe fn carry_out(plan: *mut Plan, source: Source, extension: *const c_char) -> u64 {
    // SAFETY: the caller's promise. The settings go back when the statement ends, however that is.
    unsafe {
        shim::fastcsv_shim_notice((*plan).create, std::ptr::null());
        let level = pg_sys::NewGUCNestLevel();
        set(c"search_path", c"pg_catalog, pg_temp");
        run((*plan).create);
        pg_sys::AtEOXact_GUC(true, level);
        let table = pg_sys::get_relname_relid((*plan).name, (*plan).namespace());
        if table == pg_sys::InvalidOid {
            raise(report(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, "the table that was created is gone"));
        }
        let level = pg_sys::NewGUCNestLevel();
        if let Some(style) = (*plan).date_style {
            set(c"datestyle", style);
        }
        let rows = load::load_file(table, source, (*plan).options, extension);
        pg_sys::AtEOXact_GUC(true, level);
        if !(*plan).convert.is_null() {
            let level = pg_sys::NewGUCNestLevel();
            set(c"search_path", c"pg_catalog, pg_temp");
            if let Some(style) = (*plan).convert_style {
                set(c"datestyle", style);
            }
            shim::fastcsv_shim_notice((*plan).convert, std::ptr::null());
            run((*plan).convert);
            pg_sys::AtEOXact_GUC(true, level);
        }
        rows
    }
}

/// Sets a setting until the nesting level ends.
///
/// # Safety
/// Must be called on the main thread.
unsafe fn set(name: &CStr, value: &CStr) {
    // SAFETY: the caller's promise; both are C strings.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
    }
}

/// Runs a statement that returns nothing, as the user.
///
/// # Safety
/// The text must be a C string.
unsafe fn run(text: *const c_char) {
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::SPI_connect();
        let result: c_int = pg_sys::SPI_execute(text, false, 0);
        assert_eq!(result, pg_sys::SPI_OK_UTILITY.cast_signed(), "the statement is a utility's");
        pg_sys::SPI_finish();
    }
}
