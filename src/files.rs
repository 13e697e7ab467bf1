//! Which files a name stands for: one, those of a list, or those that a pattern matches.
//!
//! A file of exactly that name always wins, whatever is in it. Otherwise a name with commas is a list, and in each of
//! its parts (or the name itself) `*` stands for any characters but a slash, `?` for one, and `[...]` for one of those
//! named. As in a shell, what begins with a dot is matched by what begins with one. What matches is in the order of the
//! names' bytes, whatever the locale; folders, FIFOs and devices are passed over. A list keeps its order.
//!
//! A pattern that matches nothing is an error, in COPY's words. Anything else that is wrong with a file COPY says when
//! it is opened.

#![expect(unsafe_code, reason = "hands out names in PostgreSQL's memory")]

use std::ffi::{CStr, CString, OsStr, c_char};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use fastcsv_engine::glob::{self, Pattern};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use crate::confine;
use crate::encoding;
use crate::memory;
use crate::options::{Source, raise, report};

/// COPY's hint where a file cannot be found.
const HINT: &str = "COPY FROM instructs the PostgreSQL server process to read a file. You may want a client-side \
                    facility such as psql's \\copy.";

/// The names of the files that a source stands for, in a list of C strings in the current memory context; null where it
/// is one file, a program or the client.
///
/// # Errors
/// Raises that a pattern matches no file, that a folder cannot be read, or that the user wants to cancel.
///
/// # Safety
/// The source's name must be a C string, or null.
pub(crate) unsafe fn names_of(source: Source) -> *mut pg_sys::List {
    // SAFETY: the caller's promise.
    unsafe { names_or_hint(source, HINT) }
}

/// As [`names_of`], with a hint of the caller's where nothing is found.
///
/// # Errors
/// As there.
///
/// # Safety
/// As for [`names_of`].
pub(crate) unsafe fn names_or_hint(source: Source, hint: &str) -> *mut pg_sys::List {
    // SAFETY: the caller's promise.
    match unsafe { find(source) } {
        Ok(names) => names,
        Err(problem @ Problem::NoMatch(_)) => raise(problem.report().set_hint(hint)),
        Err(problem) => raise(problem.report()),
    }
}

/// How many files a source stands for, the first of them, and their size in bytes; `None` where that cannot be found
/// out. errno then tells why.
///
/// # Safety
/// As for [`names_of`].
pub(crate) unsafe fn size_of(source: Source) -> Option<Size> {
    let size = |name: *const c_char| {
        // SAFETY: the name is a C string; errno is the thread's own.
        unsafe {
            if !confine::allows(Source { name, ..source }) {
                *libc::__errno_location() = libc::EACCES;
                return None;
            }
        }
        let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the name is a C string; on success stat fills the struct.
        unsafe { (libc::stat(name, stat.as_mut_ptr()) == 0).then(|| stat.assume_init().st_size.cast_unsigned()) }
    };
    // SAFETY: the caller's promise; the list is one of C strings.
    let names = unsafe { PgList::<c_char>::from_pg(find(source).ok()?) };
    let Some(first) = names.get_ptr(0) else {
        return Some(Size { files: 1, first: source, bytes: size(source.name)? });
    };
    let bytes: Option<u64> = names.iter_ptr().map(|name| size(name)).sum();
    Some(Size { files: names.len(), first: Source { name: first, ..source }, bytes: bytes? })
}

/// See [`size_of`].
pub(crate) struct Size {
    pub(crate) files: usize,
    pub(crate) first: Source,
    pub(crate) bytes: u64,
}

/// Why a name stands for no files.
enum Problem {
    /// The pattern matches none.
    NoMatch(Vec<u8>),
    /// A folder cannot be read.
    Unreadable(Vec<u8>, io::Error),
    /// A folder is none of the user's.
    Forbidden(Vec<u8>),
    /// A name, which the pattern matches, is no text.
    NoText(Vec<u8>, Vec<u8>),
}

impl Problem {
    fn report(&self) -> ErrorReport {
        match self {
            Problem::NoMatch(pattern) => {
                let message = format!("could not open file \"{}\" for reading: no file matches", shown(pattern));
                report(PgSqlErrorCode::ERRCODE_UNDEFINED_FILE, message)
            }
            Problem::Unreadable(folder, error) => {
                let message = format!("could not open directory \"{}\": {}", shown(folder), reason(error));
                report(code_of(error), message).set_hint(HINT)
            }
            Problem::Forbidden(folder) => {
                let message = format!("permission denied for directory \"{}\"", shown(folder));
                let detail = "It is not in a directory that fastcsv.allowed_directories names.";
                report(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, message).set_detail(detail)
            }
            Problem::NoText(pattern, name) => {
                let message = format!("the name of a file that matches \"{}\" is not valid text", shown(pattern));
                let error = report(PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE, message);
                error.set_detail(format!("The name is \"{}\".", shown(name)))
            }
        }
    }
}

/// As [`names_of`].
///
/// # Safety
/// As for [`names_of`].
unsafe fn find(source: Source) -> Result<*mut pg_sys::List, Problem> {
    if source.is_program || source.is_client() || source.is_spooled || source.is_copys {
        return Ok(std::ptr::null_mut());
    }
    let look = Look { source };
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(source.name) }.to_bytes();
    let is_special = name.contains(&b',') || glob::is_pattern(name);
    if !is_special || look.exists(name) {
        return Ok(std::ptr::null_mut());
    }
    let mut names = Names(PgList::new());
    for part in name.split(|&byte| byte == b',') {
        let part = part.trim_ascii();
        if glob::is_pattern(part) && !look.exists(part) {
            look.expand(part, &mut names)?;
        } else {
            names.push(part);
        }
    }
    Ok(names.0.into_pg())
}

/// A list of names that grows.
struct Names(PgList<c_char>);

impl Names {
    fn push(&mut self, name: &[u8]) {
        // SAFETY: copies so many bytes, and adds a NUL.
        self.0.push(unsafe { pg_sys::pnstrdup(name.as_ptr().cast(), name.len()) });
    }
}

/// A search. What the user is confined to be away from is not looked at, not even for whether it is there.
struct Look {
    source: Source,
}

impl Look {
    /// May the user know of it?
    fn may_see(&self, path: &[u8]) -> bool {
        let path = CString::new(path).unwrap_or_default();
        // SAFETY: a C string, which lives until the answer is there.
        unsafe { confine::allows(Source { name: path.as_ptr(), ..self.source }) }
    }

    /// Is there a file, or anything else, of that name?
    fn exists(&self, name: &[u8]) -> bool {
        self.may_see(name) && Path::new(OsStr::from_bytes(name)).symlink_metadata().is_ok()
    }

    /// Adds what a pattern matches.
    fn expand(&self, pattern: &[u8], names: &mut Names) -> Result<(), Problem> {
        let mut found = self.matches(pattern)?;
        if found.is_empty() {
            return Err(Problem::NoMatch(pattern.to_vec()));
        }
        found.sort_unstable();
        if let Some(name) = found.iter().find(|name| !encoding::is_valid(name)) {
            return Err(Problem::NoText(pattern.to_vec(), name.clone()));
        }
        found.iter().for_each(|name| names.push(name));
        Ok(())
    }

    /// The files that a pattern matches, in no order: part by part of the path, each in the folders that the parts
    /// before it match.
    fn matches(&self, pattern: &[u8]) -> Result<Vec<Vec<u8>>, Problem> {
        let mut parts = pattern.split(|&byte| byte == b'/').peekable();
        // What begins with a slash has an empty part before it.
        let mut found: Vec<Vec<u8>> = vec![Vec::new()];
        let mut is_first = true;
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            if glob::is_pattern(part) {
                found = self.within(&found, is_first, &Pattern::new(part), is_last)?;
            } else {
                for path in &mut found {
                    if !is_first {
                        path.push(b'/');
                    }
                    path.extend_from_slice(part);
                }
                if is_last {
                    found.retain(|path| self.may_see(path) && is_wanted(path));
                }
            }
            is_first = false;
        }
        Ok(found)
    }

    /// What matches in each of the folders: files if it is the path's last part, else whatever may be a folder.
    fn within(
        &self,
        folders: &[Vec<u8>],
        is_first: bool,
        pattern: &Pattern,
        is_last: bool,
    ) -> Result<Vec<Vec<u8>>, Problem> {
        let mut found: Vec<Vec<u8>> = Vec::new();
        for folder in folders {
            let prefix = if is_first { Vec::new() } else { [folder, &b"/"[..]].concat() };
            let place = if is_first { &b"."[..] } else { &prefix };
            if !self.may_see(place) {
                return Err(Problem::Forbidden(place.to_vec()));
            }
            let entries = match std::fs::read_dir(Path::new(OsStr::from_bytes(place))) {
                Ok(entries) => entries,
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => continue,
                Err(error) => return Err(Problem::Unreadable(folder.clone(), error)),
            };
            for entry in entries {
                pgrx::check_for_interrupts!();
                let name = entry.map_err(|error| Problem::Unreadable(folder.clone(), error))?.file_name().into_vec();
                if !pattern.matches(&name) {
                    continue;
                }
                let path = [&prefix[..], &name].concat();
                if is_last && !is_wanted(&path) {
                    continue;
                }
                if memory::ran_out() || found.try_reserve(1).is_err() {
                    memory::raise_out_of_memory();
                }
                found.push(path);
            }
        }
        Ok(found)
    }
}

/// Is it a file? What cannot be looked at is one, so that COPY says what is wrong with it; but not what is not there.
fn is_wanted(path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    match path.metadata() {
        Ok(found) => found.is_file(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.symlink_metadata().is_ok(),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => false,
        Err(_) => true,
    }
}

/// A name for a message.
fn shown(name: &[u8]) -> String {
    if encoding::is_valid(name) && std::str::from_utf8(name).is_ok() {
        return String::from_utf8_lossy(name).into_owned();
    }
    name.iter().flat_map(|byte| byte.escape_ascii()).map(char::from).collect()
}

/// What the system says, without the number that Rust adds.
fn reason(error: &io::Error) -> String {
    let number = error.raw_os_error().unwrap_or(libc::EIO);
    // SAFETY: the text is copied before anybody asks for another.
    unsafe { CStr::from_ptr(libc::strerror(number)) }.to_string_lossy().into_owned()
}

fn code_of(error: &io::Error) -> PgSqlErrorCode {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        Some(libc::EMFILE | libc::ENFILE) => PgSqlErrorCode::ERRCODE_INSUFFICIENT_RESOURCES,
        _ => PgSqlErrorCode::ERRCODE_IO_ERROR,
    }
}
