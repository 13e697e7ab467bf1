//! `fastcsv.allowed_directories`: the folders that files are read from.
//!
//! Who may read files on the server may read all that the server's account can. With this setting a superuser confines
//! everybody else to some folders, for all that is fastcsv's own: foreign tables, `fastcsv_copy` and the other
//! functions. (COPY itself is as PostgreSQL has it, taken over or not.)
//!
//! What counts is where a file really is. Before anything is opened or looked at, the path's symbolic links are
//! resolved; so nothing is told of what lies elsewhere, not even whether it is there. And when the file is open, the
//! kernel is asked what it is, because a link may have been exchanged meanwhile.

#![expect(unsafe_code, reason = "reads a setting's list and asks the kernel about a descriptor")]

use std::ffi::{CStr, OsStr, c_char};
use std::fs;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use crate::options::{Source, raise, report};
use crate::settings;

/// May the current user read the source, as far as its path tells?
///
/// # Safety
/// The source's name must be a C string, or null.
pub(crate) unsafe fn allows(source: Source) -> bool {
    if !is_confined(source) {
        return true;
    }
    // SAFETY: the caller's promise: what is confined is a file.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(source.name) }.to_bytes()));
    resolved(path).is_some_and(|path| is_inside(&path))
}

/// Raises unless the current user may read the source, as far as its path tells.
///
/// # Safety
/// As for [`allows`].
pub(crate) unsafe fn check(source: Source) {
    // SAFETY: the caller's promise.
    if !unsafe { allows(source) } {
        refuse(source);
    }
}

/// Raises unless the current user may read the file that was opened for the source.
///
/// # Safety
/// As for [`allows`]; the descriptor must be open.
pub(crate) unsafe fn check_open(source: Source, descriptor: RawFd) {
    if is_confined(source) && !real_path(descriptor).is_some_and(|path| is_inside(&path)) {
        refuse(source);
    }
}

/// Is there anything to ask at all?
pub(crate) fn is_confined(source: Source) -> bool {
    let is_file = !source.is_client() && !source.is_program && !source.is_spooled;
    // SAFETY: looks at the session's user.
    is_file && !source.is_copys && settings::confines() && !unsafe { pg_sys::superuser() }
}

fn refuse(source: Source) -> ! {
    // SAFETY: only files are refused, whose names are C strings.
    let name = unsafe { CStr::from_ptr(source.name) }.to_string_lossy();
    raise(
        report(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, format!("permission denied for file \"{name}\""))
            .set_detail("It is not in a directory that fastcsv.allowed_directories names."),
    )
}

/// The path without symbolic links. Of one that leads to nothing, what there is; `None` if nobody can tell where it
/// would be.
fn resolved(path: &Path) -> Option<PathBuf> {
    for ancestor in path.ancestors() {
        let start = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        if let Ok(real) = fs::canonicalize(start) {
            let rest = path.strip_prefix(ancestor).ok()?;
            let is_plain = rest.components().all(|component| matches!(component, Component::Normal(_)));
            return is_plain.then(|| real.join(rest));
        }
    }
    None
}

/// What the kernel says a descriptor is. A file that was removed since is where it was.
fn real_path(descriptor: RawFd) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    let bytes = path.as_os_str().as_bytes();
    Some(match bytes.strip_suffix(b" (deleted)") {
        Some(before) if !path.exists() => PathBuf::from(OsStr::from_bytes(before)),
        _ => path,
    })
}

/// Is the path, which has no symbolic links, in a folder that is allowed?
fn is_inside(path: &Path) -> bool {
    let list = settings::allowed_directories();
    list.iter().filter_map(|folder| fs::canonicalize(folder).ok()).any(|folder| path.starts_with(folder))
}

/// The folders that the text lists, separated by commas; `None` if it is no such list.
pub(crate) fn folders(text: &CStr) -> Option<Vec<PathBuf>> {
    // SAFETY: PostgreSQL's function takes the copy apart in place; the elements are C strings of the current memory
    // context.
    unsafe {
        let copy: *mut c_char = pg_sys::pstrdup(text.as_ptr());
        let mut list = std::ptr::null_mut();
        if !pg_sys::SplitDirectoriesString(copy, b',' as c_char, &mut list) {
            return None;
        }
        let path = |name: *mut c_char| PathBuf::from(OsStr::from_bytes(CStr::from_ptr(name).to_bytes()));
        Some(PgList::<c_char>::from_pg(list).iter_ptr().map(path).collect())
    }
}
