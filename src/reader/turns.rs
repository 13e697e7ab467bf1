//! The files of a read, one after the other: each is opened in memory of its own, and closed before the next.

#![expect(unsafe_code, reason = "lives in PostgreSQL's memory")]

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::{Path, Reader, Wanted, each};
use crate::confine;
use crate::options::{Source, raise, report};
use crate::referee::{Opening, Referee, shim};

impl Reader {
    /// Nobody should see rows of the first files where it is known already that one of the others cannot be read.
    ///
    /// # Errors
    /// As for `open`.
    ///
    /// # Safety
    /// As for `open_file`.
    pub(super) unsafe fn check_files(this: *mut Self) {
        // SAFETY: the caller's promise; the list is one of C strings.
        unsafe {
            for file in 1..pg_sys::list_length((*this).names) {
                let name = pg_sys::list_nth((*this).names, file).cast_const().cast();
                let is_allowed = confine::allows(Source { name, ..(*this).opening.source });
                if !is_allowed || libc::faccessat(libc::AT_FDCWD, name, libc::R_OK, libc::AT_EACCESS) != 0 {
                    // COPY says what is wrong with it.
                    (*this).file = file;
                    Self::open_file(this);
                    Self::end_file(this);
                }
            }
            (*this).file = 0;
        }
    }

    /// Opens the file whose turn it is, in memory of its own.
    ///
    /// # Errors
    /// As for `open`.
    ///
    /// # Safety
    /// `this` must be alive, with no file open.
    pub(super) unsafe fn open_file(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).memory = pg_sys::AllocSetContextCreateInternal(
                (*this).query_memory,
                c"fastcsv file".as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            );
            let caller = pg_sys::MemoryContextSwitchTo((*this).memory);
            let name = match (*this).names.is_null() {
                true => (*this).opening.source.name,
                false => pg_sys::list_nth((*this).names, (*this).file).cast_const().cast(),
            };
            let each = each::opening_for(&(*this).opening, name);
            (*this).expressions = pg_sys::CreateStandaloneExprContext();
            let shown = Opening { relation: each.shown, ..each.opening };
            (*this).referee = Referee::open(&shown);
            Referee::widen((*this).referee, each.shown, each.opening.relation);
            Referee::fix((*this).referee, each.fixed, each.fixed_count);
            if !each.selected.is_null() {
                shim::fastcsv_shim_select(Referee::copy((*this).referee), each.selected);
            }
            ((*this).rows, (*this).path) = (0, Path::Undecided);
            pg_sys::MemoryContextSwitchTo(caller);
        }
    }

    /// Lets COPY insert all rows of all files into its table; returns how many.
    ///
    /// # Errors
    /// Raises COPY's errors.
    ///
    /// # Safety
    /// As for `open`.
    pub(crate) unsafe fn copy_all(opening: &Opening) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let this = Self::open(opening, Wanted::default());
            let mut processed = 0;
            loop {
                if Referee::is_wide((*this).referee) {
                    let message = "fields that are not the target's can be passed over only in loads of tables";
                    raise(report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message));
                }
                processed += Referee::copy_all((*this).referee);
                if !(*this).has_next_file() {
                    break;
                }
                Self::next_file(this);
            }
            Self::end_file(this);
            processed
        }
    }

    /// Ends the file that has been read, and opens the next; for whoever was told [`Item::EndOfFile`].
    ///
    /// # Errors
    /// As for `open`, and for `end`.
    ///
    /// # Safety
    /// `this` must be alive, and another file follow; no slot may hold a row, and no error context of the
    /// referee be on the stack.
    pub(crate) unsafe fn next_file(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            let skipped = Referee::skipped((*this).referee);
            (*this).done = (*this).run("").unwrap_or_default();
            Self::end_file(this);
            (*this).file += 1;
            Self::open_file(this);
            Referee::add_skipped((*this).referee, skipped);
        }
    }

    /// Stops the worker and closes the file.
    ///
    /// # Safety
    /// As for `end`.
    pub(super) unsafe fn end_file(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Path::Parallel(parallel) = (*this).path {
                (*parallel).take();
            }
            Referee::end((*this).referee);
            pg_sys::FreeExprContext((*this).expressions, true);
            pg_sys::MemoryContextDelete((*this).memory);
            (*this).path = Path::Undecided;
        }
    }

    /// Does another file follow the one that is being read?
    pub(super) fn has_next_file(&self) -> bool {
        // SAFETY: looks at a list's length.
        self.file + 1 < unsafe { pg_sys::list_length(self.names) }
    }
}
