//! COPY FROM statements that are not ours: loads that somebody has written as COPY, and that are done here.
//!
//! What is refused, and what only COPY knows how to do, is left to COPY, from its first step: nothing has happened by
//! then but what COPY would have done first as well, which is to lock the table and to ask whether the user may insert
//! into it.

#![expect(unsafe_code, reason = "reads a parse tree and runs the load that it stands for")]

use std::ffi::{CStr, c_char};

use pgrx::{PgList, pg_sys};

use super::{may_read_server_files, owner, prepare, run_here};
use crate::import;
use crate::options::Source;
use crate::pg_raw;
use crate::reader::{Beyond, Files};

/// A COPY FROM statement on its way through PostgreSQL.
#[derive(Clone, Copy)]
pub(crate) struct Statement {
    pub(crate) copy: *mut pg_sys::CopyStmt,
    /// The text it stands in.
    pub(crate) text: *const c_char,
    pub(crate) environment: *mut pg_sys::QueryEnvironment,
}

/// The table of a statement.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// A table there is, locked.
    Table(pg_sys::Oid),
    /// One that the statement is to create.
    New,
}

impl Statement {
    /// Is it a statement that may be taken over, as far as that can be told without looking at the table?
    ///
    /// # Safety
    /// The statement must be alive; so for all that follows.
    pub(crate) unsafe fn is_fit(self) -> bool {
        // SAFETY: the caller's promise; catalog lookups and flags.
        unsafe {
            let copy = self.copy;
            if !(*copy).is_from || (*copy).relation.is_null() || !is_csv((*copy).options) {
                return false;
            }
            let has_client = pg_sys::whereToSendOutput == pg_sys::CommandDest::DestRemote;
            if import::creates_table((*copy).options) {
                return !(*copy).filename.is_null() || has_client;
            }
            let may_read = match ((*copy).filename.is_null(), (*copy).is_program) {
                (true, _) => has_client,
                (false, true) => may_run_programs(),
                (false, false) => may_read_server_files(),
            };
            may_read
                && !pg_sys::RecoveryInProgress()
                && !pg_sys::IsInParallelMode()
                && prepare::worth_it(self.source(), (*copy).options).is_ok()
        }
    }

    /// The table, if there is one whose rows are PostgreSQL's to insert, or none is to be there yet.
    ///
    /// # Safety
    /// The statement must be fit, with a snapshot at hand; nothing with a destructor on the caller's frames.
    pub(crate) unsafe fn target(self) -> Option<Target> {
        // SAFETY: the caller's promise.
        unsafe {
            if import::creates_table((*self.copy).options) {
                return Some(Target::New);
            }
            let (lock, flags) = (pg_sys::RowExclusiveLock.cast_signed(), pg_sys::RVROption::RVR_MISSING_OK);
            let none = std::ptr::null_mut();
            let table = pg_raw::RangeVarGetRelidExtended((*self.copy).relation, lock, flags, None, none);
            let is_ours = table != pg_sys::InvalidOid && owner::of(table, std::ptr::null()).is_none();
            is_ours.then_some(Target::Table(table))
        }
    }

    /// Does the load and returns the number of rows; `None` if COPY is to do it.
    ///
    /// # Errors
    /// Raises COPY's errors, and those of creating a table.
    ///
    /// # Safety
    /// As for [`Statement::target`], which must have said this target.
    pub(crate) unsafe fn load(self, target: Target) -> Option<u64> {
        // SAFETY: the caller's promise. COPY analyses the statement anew, from its own copy, if it is left to it.
        unsafe {
            let copy: *mut pg_sys::CopyStmt = pg_sys::copyObjectImpl(self.copy.cast()).cast();
            let table = match target {
                Target::Table(table) => table,
                Target::New => return Some(import::from_copy(copy)),
            };
            let parse = self.parse_state();
            let processed = match prepare::prepare(
                parse,
                copy,
                self.source(),
                Beyond { files: Files::One, ..Beyond::NOTHING },
                table,
            ) {
                Ok(opening) => Some(run_here(&opening)),
                Err(_) => None,
            };
            pg_sys::free_parsestate(parse);
            processed
        }
    }

    /// Where the data comes from. COPY decompresses nothing.
    ///
    /// # Safety
    /// As for [`Statement::is_fit`].
    unsafe fn source(self) -> Source {
        // SAFETY: the caller's promise.
        unsafe {
            let (name, is_program) = ((*self.copy).filename, (*self.copy).is_program);
            Source { is_program, decompresses: false, is_copys: true, ..Source::file(name) }
        }
    }

    /// Lets COPY do it, as PostgreSQL would.
    ///
    /// # Errors
    /// Raises COPY's errors.
    ///
    /// # Safety
    /// As for [`Statement::load`].
    pub(crate) unsafe fn leave_to_copy(self, location: i32, length: i32) -> u64 {
        // SAFETY: the caller's promise. The statement may be a plan's, which COPY must not change.
        unsafe {
            let (parse, mut processed) = (self.parse_state(), 0);
            let copy: *mut pg_sys::CopyStmt = pg_sys::copyObjectImpl(self.copy.cast()).cast();
            pg_raw::DoCopy(parse, copy, location, length, &mut processed);
            pg_sys::free_parsestate(parse);
            processed
        }
    }

    /// # Safety
    /// As for [`Statement::load`].
    unsafe fn parse_state(self) -> *mut pg_sys::ParseState {
        // SAFETY: allocates a struct.
        unsafe {
            let parse = pg_sys::make_parsestate(std::ptr::null_mut());
            (*parse).p_sourcetext = self.text;
            (*parse).p_queryEnv = self.environment;
            parse
        }
    }
}

/// Do COPY's options say csv? COPY itself must tell of an option that is given twice.
///
/// # Safety
/// The list must be one of DefElems.
unsafe fn is_csv(options: *mut pg_sys::List) -> bool {
    // SAFETY: the caller's promise. The value is looked at only where it is a word.
    unsafe {
        let options = PgList::<pg_sys::DefElem>::from_pg(options);
        let mut formats = options.iter_ptr().filter(|option| CStr::from_ptr((**option).defname) == c"format");
        match (formats.next(), formats.next()) {
            (Some(format), None) => {
                let value = (*format).arg;
                !value.is_null()
                    && (*value).type_ == pg_sys::NodeTag::T_String
                    && CStr::from_ptr(pg_sys::defGetString(format)) == c"csv"
            }
            _ => false,
        }
    }
}

fn may_run_programs() -> bool {
    let role = pg_sys::Oid::from(pg_sys::ROLE_PG_EXECUTE_SERVER_PROGRAM);
    // SAFETY: plain catalog lookups.
    unsafe { pg_sys::has_privs_of_role(pg_sys::GetUserId(), role) }
}
