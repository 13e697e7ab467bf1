//! IMPORT FOREIGN SCHEMA: a foreign table for each file of a folder, or of those that match a pattern, with its columns
//! and options as [`crate::infer`] finds them; or one for all of them. Which files are meant is told by [`tables`].
//!
//! A foreign table's dates are read under the `DateStyle` of whoever reads it, and its numbers by `numeric` alone. So a
//! column whose texts mean something only if they are read in another way (31/01/2024, 1,5) is text.

#![expect(unsafe_code, reason = "a callback that reads a statement's nodes and returns a list of C strings")]

mod tables;

use std::ffi::{CStr, c_char};

use fastcsv_engine::infer::{Reading, Type};
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use crate::import::{c_string, literal, quoted};
use crate::infer::{Request, Schema, SchemaColumn};
use crate::options::{Source, raise, report};
use crate::referee::shim;
use crate::{confine, load};
use tables::Table;

/// The statement's options.
const OPTIONS: [&CStr; 9] =
    [c"path", c"one_table", c"delimiter", c"quote", c"escape", c"null", c"header", c"encoding", c"sample_rows"];

/// ImportForeignSchema: the CREATE FOREIGN TABLE statements.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn import(
    statement: *mut pg_sys::ImportForeignSchemaStmt,
    server: pg_sys::Oid,
) -> *mut pg_sys::List {
    // SAFETY: PostgreSQL passes a statement and the oid of a server of this wrapper. While a file is looked at, only
    // what a raised error may leave behind is alive here.
    unsafe {
        let Asked { path, one_table, request } = options(statement);
        let path = path.unwrap_or((*statement).remote_schema);
        load::require_read_server_files(path);
        confine::check(Source::file(path));
        let server_name = (*pg_sys::GetForeignServer(server)).servername;
        let mut statements = std::ptr::null_mut();
        let found = match one_table {
            Some(table) => tables::one(path, table),
            None => tables::each(path),
        };
        for index in 0..pg_sys::list_length(found) {
            let Table { filename, name } = *pg_sys::list_nth(found, index).cast::<Table>();
            if !pg_sys::IsImportableForeignTable(name, statement) {
                continue;
            }
            pgrx::check_for_interrupts!();
            let request = Request { filename, ..request };
            let create = create_statement(&request, name, server_name);
            if !create.is_null() {
                statements = pg_sys::lappend(statements, create.cast_mut().cast());
            }
        }
        statements
    }
}

/// What the statement's options say.
struct Asked {
    /// Another place for the path, which as a name is cut after 63 bytes.
    path: Option<*mut c_char>,
    /// The name of the one table for all files.
    one_table: Option<*mut c_char>,
    /// What is known of the files.
    request: Request,
}

/// Reads the statement's options.
///
/// # Errors
/// Raises that there is no such option, or what is wrong with its value.
///
/// # Safety
/// The statement must be alive.
unsafe fn options(statement: *mut pg_sys::ImportForeignSchemaStmt) -> Asked {
    let (mut path, mut one_table) = (None, None);
    let mut request = Request::of_file(std::ptr::null_mut());
    // SAFETY: the caller's promise; options are DefElems.
    unsafe {
        for option in PgList::<pg_sys::DefElem>::from_pg((*statement).options).iter_ptr() {
            let value = pg_sys::defGetString(option);
            match CStr::from_ptr((*option).defname).to_bytes() {
                b"path" => path = Some(value),
                b"one_table" => one_table = Some(value),
                b"delimiter" => request.delimiter = Some(value),
                b"quote" => request.quote = Some(value),
                b"escape" => request.escape = Some(value),
                b"null" => request.null = Some(value),
                b"encoding" => request.encoding = Some(value),
                b"header" => request.header = Some(pg_sys::defGetBoolean(option)),
                b"sample_rows" => request.most = Some(rows(value)),
                name => {
                    let message = format!("invalid option \"{}\"", String::from_utf8_lossy(name));
                    let names = OPTIONS.map(|name| name.to_string_lossy().into_owned()).join(", ");
                    let error = report(PgSqlErrorCode::ERRCODE_FDW_INVALID_OPTION_NAME, message);
                    raise(error.set_hint(format!("Valid options in this context are: {names}")));
                }
            }
        }
    }
    Asked { path, one_table, request }
}

/// # Safety
/// The value must be a C string.
unsafe fn rows(value: *const c_char) -> u64 {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(value) }.to_string_lossy();
    match text.parse() {
        Ok(rows @ 1..) => rows,
        _ => raise(report(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid value for option \"sample_rows\": \"{text}\""),
        )),
    }
}

/// The CREATE FOREIGN TABLE for a file or several, or null if there is nothing to make a table of.
///
/// # Errors
/// Raises what opening and reading the file raise.
///
/// # Safety
/// All must be C strings; nothing with a destructor may be alive on the caller's frames.
unsafe fn create_statement(request: &Request, table: *const c_char, server: *const c_char) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { statement_of(&Schema::infer(request), request.filename, table, server) }
}

/// The same, once the file was looked through.
///
/// # Safety
/// All must be C strings.
unsafe fn statement_of(
    schema: &Schema,
    filename: *const c_char,
    table: *const c_char,
    server: *const c_char,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let [filename, table, server] = unsafe { [filename, table, server].map(|text| CStr::from_ptr(text).to_bytes()) };
    let skip = |why: &[u8]| {
        let message = [b"file \"", filename, b"\" is left out: ", why].concat();
        // SAFETY: a C string, and none.
        unsafe { shim::fastcsv_shim_notice(c_string(&message), std::ptr::null()) };
        std::ptr::null()
    };
    if schema.columns.is_empty() {
        return skip(b"it is empty");
    }
    if schema.encoding.is_none() {
        return skip(b"it is in UTF-16");
    }
    let columns: Vec<Vec<u8>> = schema.columns.iter().map(|column| column_of(column, table)).collect();
    let mut options = vec![[b"filename ", &literal(filename)[..]].concat()];
    for (name, value) in schema.options() {
        options.push([name.to_bytes(), b" ", &literal(&value)].concat());
    }
    let text = [
        b"CREATE FOREIGN TABLE ",
        &quoted(table)[..],
        b" (\n    ",
        &columns.join(&b",\n    "[..]),
        b"\n) SERVER ",
        &quoted(server),
        b" OPTIONS (",
        &options.join(&b", "[..]),
        b")",
    ];
    c_string(&text.concat())
}

/// One column's definition.
fn column_of(column: &SchemaColumn, table: &[u8]) -> Vec<u8> {
    let verdict = &column.verdict;
    let kind = if verdict.reading == Reading::Plain { verdict.kind } else { Type::Text };
    if kind != verdict.kind {
        let what = match verdict.reading {
            Reading::DayFirst => "its dates have the day first",
            Reading::MonthFirst => "its dates have the month first",
            Reading::DayOrMonth => "its dates may have the day or the month first",
            Reading::DecimalComma => "its numbers have a decimal comma",
            Reading::ThousandsComma | Reading::Plain => "its numbers have commas between thousands",
        };
        let message =
            [b"column \"", &column.name[..], b"\" of foreign table \"", table, b"\" is text: ", what.as_bytes()];
        // SAFETY: a C string, and none.
        unsafe { shim::fastcsv_shim_notice(c_string(&message.concat()), std::ptr::null()) };
    }
    let forced: &[u8] =
        if kind != Type::Text && verdict.has_quoted_nulls { b" OPTIONS (force_null 'true')" } else { b"" };
    [&quoted(&column.name)[..], b" ", kind.name().as_bytes(), forced].concat()
}
