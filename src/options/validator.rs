//! The validator: which options an object may have. `file_fdw`'s checks in its order, and its words.

#![expect(unsafe_code, reason = "walks option lists that PostgreSQL hands out by pointer")]

use std::ffi::{CStr, CString, c_char};

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::{
    BOM, COLUMN_OPTIONS, COMPRESSION, FILENAME_COLUMN, IO, MATCH, SOURCES, decompresses_by, drops_mark_by, io_of,
    matches_names_by, raise, report, with_csv_format,
};
use crate::call::Call;
use crate::pg_compat;
use crate::referee::shim;
use crate::text;

/// `fastcsv_fdw_validator(options text[], catalog oid)`: refuses what is not a valid option of that kind of object.
pub(crate) fn validator(call: &Call) -> pg_sys::Datum {
    let catalog = call.oid(1).unwrap_or(pg_sys::InvalidOid);
    let options = call.datum(0).unwrap_or(pg_sys::Datum::null());
    let allowed: &[&CStr] = match catalog {
        pg_sys::ForeignTableRelationId => pg_compat::TABLE_OPTIONS,
        pg_sys::AttributeRelationId => &COLUMN_OPTIONS,
        _ => &[],
    };
    let takes_own = catalog == pg_sys::ForeignTableRelationId;
    let mut check =
        Validation { allowed, takes_own, source_given: false, column_options: Vec::new(), copy: PgList::new() };
    // SAFETY: PostgreSQL passes its own option array, which untransformRelOptions turns into a list of DefElems.
    unsafe {
        for option in PgList::<pg_sys::DefElem>::from_pg(pg_sys::untransformRelOptions(options)).iter_ptr() {
            check.option(option);
        }
        pg_sys::ProcessCopyOptions(std::ptr::null_mut(), std::ptr::null_mut(), true, with_csv_format(check.copy));
    }
    if catalog == pg_sys::ForeignTableRelationId && !check.source_given {
        raise(missing_source());
    }
    pg_sys::Datum::null()
}

/// The validator's progress through the options of one object.
struct Validation {
    allowed: &'static [&'static CStr],
    /// Whether fastcsv's own options are valid too.
    takes_own: bool,
    source_given: bool,
    column_options: Vec<&'static CStr>,
    copy: PgList<pg_sys::DefElem>,
}

impl Validation {
    /// # Safety
    /// `option` must be a DefElem with a string value.
    unsafe fn option(&mut self, option: *mut pg_sys::DefElem) {
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr((*option).defname) };
        // SAFETY: the caller's promise.
        if self.takes_own && unsafe { check_own(name, option) } {
            return;
        }
        if !self.allowed.contains(&name) {
            raise(invalid_option(name, self.allowed));
        }
        if SOURCES.contains(&name) {
            if self.source_given {
                raise(report(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "conflicting or redundant options"));
            }
            check_source_privilege(name);
            self.source_given = true;
        } else if let Some(known) = COLUMN_OPTIONS.into_iter().find(|known| *known == name) {
            if self.column_options.contains(&known) {
                let hint = format!("Option \"{}\" supplied more than once for a column.", known.to_string_lossy());
                raise(report(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "conflicting or redundant options").set_hint(hint));
            }
            self.column_options.push(known);
            // SAFETY: the caller's promise. Any legal boolean will do here; its value matters when the table is read.
            unsafe { pg_sys::defGetBoolean(option) };
        } else {
            self.copy.push(option);
        }
    }
}

/// Checks an option of fastcsv's own; false if it is none.
///
/// # Errors
/// Raises that there is no such value.
///
/// # Safety
/// `option` must be a DefElem with a string value.
unsafe fn check_own(name: &CStr, option: *mut pg_sys::DefElem) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        if name == IO {
            io_of(option);
        } else if name == COMPRESSION {
            decompresses_by(pg_sys::defGetString(option));
        } else if name == MATCH {
            matches_names_by(pg_sys::defGetString(option));
        } else if name == BOM {
            drops_mark_by(pg_sys::defGetString(option));
        } else if name != FILENAME_COLUMN && !text::is_utf16_option(option) {
            return false;
        }
    }
    true
}

/// Only who may read server files may say which file is read, and likewise for programs.
fn check_source_privilege(option: &CStr) {
    let (role, role_name) = if option == c"filename" {
        (pg_sys::Oid::from(pg_sys::ROLE_PG_READ_SERVER_FILES), "pg_read_server_files")
    } else {
        (pg_sys::Oid::from(pg_sys::ROLE_PG_EXECUTE_SERVER_PROGRAM), "pg_execute_server_program")
    };
    // SAFETY: plain catalog lookups.
    if !unsafe { pg_sys::has_privs_of_role(pg_sys::GetUserId(), role) } {
        let option = option.to_string_lossy();
        let (message, detail) = pg_compat::source_privilege_texts(&option, role_name);
        let denied = report(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, message);
        raise(match detail {
            Some(detail) => denied.set_detail(detail),
            None => denied,
        });
    }
}

pub(super) fn missing_source() -> ErrorReport {
    report(
        PgSqlErrorCode::ERRCODE_FDW_DYNAMIC_PARAMETER_VALUE_NEEDED,
        "either filename or program is required for fastcsv foreign tables",
    )
}

/// An option that does not belong here, with a hint as the server's version of file_fdw gives it: the list of valid
/// names, or from PostgreSQL 16 the one that looks most like it.
fn invalid_option(name: &CStr, allowed: &[&CStr]) -> ErrorReport {
    let invalid = report(
        PgSqlErrorCode::ERRCODE_FDW_INVALID_OPTION_NAME,
        format!("invalid option \"{}\"", name.to_string_lossy()),
    );
    if allowed.is_empty() {
        return invalid.set_hint("There are no valid options in this context.");
    }
    if pg_compat::HINT_LISTS_OPTIONS {
        let names: Vec<_> = allowed.iter().map(|option| option.to_string_lossy()).collect();
        return invalid.set_hint(format!("Valid options in this context are: {}", names.join(", ")));
    }
    match closest(name, allowed) {
        Some(option) => invalid.set_hint(format!("Perhaps you meant the option \"{}\".", option.to_string_lossy())),
        None => invalid,
    }
}

/// The allowed name that looks most like `name`, by PostgreSQL's own measure.
fn closest(name: &CStr, allowed: &[&CStr]) -> Option<CString> {
    let candidates: Vec<*const c_char> = allowed.iter().map(|option| option.as_ptr()).collect();
    let count = i32::try_from(candidates.len()).ok()?;
    // SAFETY: the candidates are C strings and outlive the call, which returns one of them or NULL. It can raise no
    // error: the names are short.
    unsafe {
        let found = shim::fastcsv_shim_closest_name(name.as_ptr(), candidates.as_ptr(), count);
        (!found.is_null()).then(|| CStr::from_ptr(found).to_owned())
    }
}
