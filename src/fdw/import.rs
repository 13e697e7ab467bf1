//! IMPORT FOREIGN SCHEMA: a foreign table for each file of a folder, or of those that match a pattern, with its columns
//! and options as [`crate::infer`] finds them.
//!
//! A foreign table's dates are read under the `DateStyle` of whoever reads it, and its numbers by `numeric` alone. So a
//! column whose texts mean something only if they are read in another way (31/01/2024, 1,5) is text.

#![expect(unsafe_code, reason = "a callback that reads a statement's nodes and returns a list of C strings")]

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fastcsv_engine::infer::{Reading, Type, names};
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use crate::import::{c_string, literal, quoted, table_name};
use crate::infer::{self, Opened, Request, Schema, SchemaColumn};
use crate::options::{Source, raise, report};
use crate::referee::shim;
use crate::{confine, load};

/// The names of files that a folder's tables are made of, as their endings.
const ENDINGS: [&str; 5] = ["csv", "tsv", "tab", "psv", "txt"];

/// Endings that say how a file is compressed; what is before them counts.
const COMPRESSIONS: [&str; 4] = ["gz", "bz2", "xz", "zst"];

/// The statement's options.
const OPTIONS: [&CStr; 8] =
    [c"path", c"delimiter", c"quote", c"escape", c"null", c"header", c"encoding", c"sample_rows"];

/// ImportForeignSchema: the CREATE FOREIGN TABLE statements.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn import(
    statement: *mut pg_sys::ImportForeignSchemaStmt,
    server: pg_sys::Oid,
) -> *mut pg_sys::List {
    // SAFETY: PostgreSQL passes a statement and the oid of a server of this wrapper. While a file is looked at, only
    // what a raised error may leave behind is alive here.
    unsafe {
        let (path, request) = options(statement);
        let pattern = path.unwrap_or((*statement).remote_schema);
        load::require_read_server_files(pattern);
        confine::check(Source::file(pattern));
        let server_name = (*pg_sys::GetForeignServer(server)).servername;
        let mut statements = std::ptr::null_mut();
        let files = tables(pattern);
        for index in 0..pg_sys::list_length(files) {
            let file: *mut File = pg_sys::list_nth(files, index).cast();
            if !pg_sys::IsImportableForeignTable((*file).table, statement) {
                continue;
            }
            pgrx::check_for_interrupts!();
            let request = Request { filename: (*file).name, ..request };
            let create = create_statement(&request, (*file).table, server_name);
            if !create.is_null() {
                statements = pg_sys::lappend(statements, create.cast_mut().cast());
            }
        }
        statements
    }
}

/// A file, and the name of its table, in PostgreSQL's memory.
struct File {
    name: *mut c_char,
    table: *const c_char,
}

/// The statement's options: another place for the path, which as a name is cut after 63 bytes, and what is known of the
/// files.
///
/// # Errors
/// Raises that there is no such option, or what is wrong with its value.
///
/// # Safety
/// The statement must be alive.
unsafe fn options(statement: *mut pg_sys::ImportForeignSchemaStmt) -> (Option<*mut c_char>, Request) {
    let mut path = None;
    let mut request = Request::of_file(std::ptr::null_mut());
    // SAFETY: the caller's promise; options are DefElems.
    unsafe {
        for option in PgList::<pg_sys::DefElem>::from_pg((*statement).options).iter_ptr() {
            let value = pg_sys::defGetString(option);
            match CStr::from_ptr((*option).defname).to_bytes() {
                b"path" => path = Some(value),
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
    (path, request)
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

/// The files that a path means, in the order of their names, each with its table's name: a list of [`File`].
///
/// # Errors
/// Raises that there is none.
///
/// # Safety
/// The path must be a C string.
unsafe fn tables(path: *const c_char) -> *mut pg_sys::List {
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    let mut files = match Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())) {
        folder if folder.is_dir() => in_folder(folder),
        _ => matching(path),
    };
    // A pattern may lead elsewhere, and nobody is told of what is there.
    // SAFETY: a C string.
    files.retain(|file| unsafe { confine::allows(Source::file(c_string(file.as_os_str().as_bytes()))) });
    files.sort();
    if files.is_empty() {
        let message = format!("no file matches \"{}\"", path.to_string_lossy());
        let error = report(PgSqlErrorCode::ERRCODE_UNDEFINED_FILE, message);
        raise(error.set_hint(
            "The remote schema is a folder, a file or a pattern such as \"/data/*.csv\". \
                              Names longer than 63 bytes are cut off; give them as OPTIONS (path '...').",
        ));
    }
    let found: Vec<CString> = files.iter().filter_map(|file| CString::new(file.as_os_str().as_bytes()).ok()).collect();
    let base = |file: &CString| {
        // SAFETY: both are C strings.
        unsafe { CStr::from_ptr(table_name(file.as_ptr())) }.to_string_lossy().into_owned()
    };
    // Two files may come to the same name.
    let names = names::names(&found.iter().map(base).collect::<Vec<_>>(), false);
    let mut list = std::ptr::null_mut();
    for (file, name) in found.iter().zip(names) {
        // SAFETY: palloc returns memory large and aligned enough; the strings are copied.
        unsafe {
            let place: *mut File = pg_sys::palloc(size_of::<File>()).cast();
            place.write(File { name: pg_sys::pstrdup(file.as_ptr()), table: c_string(name.as_bytes()) });
            list = pg_sys::lappend(list, place.cast());
        }
    }
    list
}

/// The files of a folder that look like tables.
fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let is_ending = |path: &Path, endings: &[&str]| {
        path.extension().is_some_and(|found| endings.iter().any(|ending| found.eq_ignore_ascii_case(ending)))
    };
    let looks_like_table = |path: &PathBuf| {
        let plain = match is_ending(path, &COMPRESSIONS) {
            true => path.with_extension(""),
            false => path.clone(),
        };
        is_ending(&plain, &ENDINGS) && path.is_file()
    };
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).filter(looks_like_table).collect(),
        Err(error) => {
            let message = format!("could not open directory \"{}\": {error}", folder.display());
            raise(report(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, message))
        }
    }
}

/// The files that match a pattern.
fn matching(pattern: &CStr) -> Vec<PathBuf> {
    // SAFETY: a glob_t may be all zero; what glob has filled in is read while it is alive, and then freed.
    unsafe {
        let mut found: libc::glob_t = std::mem::zeroed();
        let mut files = Vec::new();
        if libc::glob(pattern.as_ptr(), libc::GLOB_NOSORT, None, &mut found) == 0 {
            for index in 0..found.gl_pathc {
                let path = CStr::from_ptr(*found.gl_pathv.add(index)).to_bytes();
                files.push(PathBuf::from(std::ffi::OsStr::from_bytes(path)));
            }
        }
        libc::globfree(&mut found);
        files.retain(|file| file.is_file());
        files
    }
}

/// The CREATE FOREIGN TABLE for a file, or null if there is nothing to make a table of.
///
/// # Errors
/// Raises what opening and reading the file raise.
///
/// # Safety
/// All must be C strings; nothing with a destructor may be alive on the caller's frames.
unsafe fn create_statement(request: &Request, table: *const c_char, server: *const c_char) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe {
        let opened = Opened::open(request);
        let statement = match infer::schema_of(&opened) {
            Ok(schema) => statement_of(&schema, request.filename, table, server),
            Err(failure) => infer::fail(failure, &opened),
        };
        opened.close();
        statement
    }
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
