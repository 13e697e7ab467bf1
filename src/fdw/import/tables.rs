//! Which tables a path stands for: one for each file of a folder or of those that match a pattern, or one for all.
//!
//! Of a folder those files count whose names look like it. What a foreign table's `filename` says is looked up when the
//! table is read, so one table for a folder has patterns for its name: one for each ending that there is.

#![expect(unsafe_code, reason = "reads C strings, and returns a list in PostgreSQL's memory")]

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fastcsv_engine::glob;
use fastcsv_engine::infer::names;
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use crate::import::{c_string, table_name};
use crate::options::{Source, raise, report};
use crate::{confine, files};

/// The names of files that a folder's tables are made of, as their endings.
const ENDINGS: [&str; 5] = ["csv", "tsv", "tab", "psv", "txt"];

/// Endings that say how a file is compressed; what is before them counts.
const COMPRESSIONS: [&str; 4] = ["gz", "bz2", "xz", "zst"];

const HINT: &str = "The remote schema is a folder, a file or a pattern such as \"/data/*.csv\". Names longer than 63 bytes \
                    are cut off; give them as OPTIONS (path '...').";

/// A table to be, in PostgreSQL's memory.
#[derive(Clone, Copy)]
pub(super) struct Table {
    /// The file or files it reads, as its option says it.
    pub(super) filename: *mut c_char,
    pub(super) name: *const c_char,
}

/// A table for each of the files that a path stands for, named after it, in the files' order: a list of [`Table`].
///
/// # Errors
/// Raises that there is none.
///
/// # Safety
/// The path must be a C string.
pub(super) unsafe fn each(path: *mut c_char) -> *mut pg_sys::List {
    // SAFETY: the caller's promise; the lists are of C strings.
    unsafe {
        let found: Vec<CString> = match folder(path) {
            Some(folder) => in_folder(folder).iter().filter_map(|file| c_name(file)).collect(),
            None => {
                let names = PgList::<c_char>::from_pg(files::names_or_hint(Source::file(path), HINT));
                match names.is_empty() {
                    true => vec![CStr::from_ptr(path).to_owned()],
                    false => names.iter_ptr().map(|name| CStr::from_ptr(name).to_owned()).collect(),
                }
            }
        };
        let base = |file: &CString| CStr::from_ptr(table_name(file.as_ptr())).to_string_lossy().into_owned();
        // Two files may come to the same name.
        let names = names::names(&found.iter().map(base).collect::<Vec<_>>(), false);
        let tables = found
            .iter()
            .zip(names)
            .map(|(file, name)| Table { filename: pg_sys::pstrdup(file.as_ptr()), name: c_string(name.as_bytes()) });
        list(tables)
    }
}

/// One table for all files that a path stands for.
///
/// # Errors
/// As for [`each`]; that the folder's name cannot be in a pattern.
///
/// # Safety
/// Both must be C strings.
pub(super) unsafe fn one(path: *mut c_char, name: *const c_char) -> *mut pg_sys::List {
    // SAFETY: the caller's promise.
    unsafe {
        let filename = match folder(path) {
            Some(folder) => c_string(&pattern_for(folder)).cast_mut(),
            None => {
                files::names_or_hint(Source::file(path), HINT);
                path
            }
        };
        list(std::iter::once(Table { filename, name }))
    }
}

fn list(tables: impl Iterator<Item = Table>) -> *mut pg_sys::List {
    let mut list = std::ptr::null_mut();
    for table in tables {
        // SAFETY: palloc returns memory large and aligned enough.
        unsafe {
            let place: *mut Table = pg_sys::palloc(size_of::<Table>()).cast();
            place.write(table);
            list = pg_sys::lappend(list, place.cast());
        }
    }
    list
}

/// The path, if it is a folder's.
///
/// # Safety
/// The path must be a C string, and live as long as what is returned.
unsafe fn folder<'p>(path: *const c_char) -> Option<&'p Path> {
    // SAFETY: the caller's promise.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    path.is_dir().then_some(path)
}

/// The files of a folder that look like tables and that the user may read, in the order of their names.
///
/// # Errors
/// Raises that there is none.
fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            let message = format!("could not open directory \"{}\": {error}", folder.display());
            raise(report(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, message))
        }
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    // A link may lead elsewhere, and nobody is told of what is there.
    // SAFETY: a C string.
    let may_read =
        |file: &PathBuf| c_name(file).is_some_and(|name| unsafe { confine::allows(Source::file(name.as_ptr())) });
    files.retain(|file| ending(file).is_some() && may_read(file) && file.is_file());
    if files.is_empty() {
        let message = format!("no file in \"{}\" looks like a table", folder.display());
        raise(report(PgSqlErrorCode::ERRCODE_UNDEFINED_FILE, message).set_hint(HINT));
    }
    files.sort();
    files
}

fn c_name(file: &Path) -> Option<CString> {
    CString::new(file.as_os_str().as_bytes()).ok()
}

/// The ending of a file's name, if it is that of a table: `csv`, or `csv.gz`. Hidden files are none.
fn ending(file: &Path) -> Option<String> {
    let is_hidden = file.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    let of = |path: &Path, endings: &[&str]| {
        let ending = path.extension()?.to_str()?;
        endings.iter().any(|known| ending.eq_ignore_ascii_case(known)).then(|| ending.to_owned())
    };
    match of(file, &COMPRESSIONS) {
        _ if is_hidden => None,
        Some(compression) => Some(format!("{}.{compression}", of(&file.with_extension(""), &ENDINGS)?)),
        None => of(file, &ENDINGS),
    }
}

/// The pattern that matches the tables of a folder, or several in a list.
///
/// # Errors
/// Raises that there are no tables, or that the folder's name has a comma, which separates patterns.
fn pattern_for(folder: &Path) -> Vec<u8> {
    let endings: BTreeSet<String> = in_folder(folder).iter().filter_map(|file| ending(file)).collect();
    let name = folder.as_os_str().as_bytes();
    if name.contains(&b',') {
        let message = format!("the name of directory \"{}\" has a comma", folder.display());
        let error = report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message);
        raise(error.set_detail("The files of one table are named by a list in which commas separate."));
    }
    let name = name.strip_suffix(b"/").unwrap_or(name);
    let parts: Vec<Vec<u8>> = name.split(|byte| *byte == b'/').map(glob::escaped).collect();
    let folder = parts.join(&b"/"[..]);
    let patterns: Vec<Vec<u8>> =
        endings.iter().map(|ending| [&folder[..], b"/*.", ending.as_bytes()].concat()).collect();
    patterns.join(&b","[..])
}
