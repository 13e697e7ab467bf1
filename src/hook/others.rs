//! Loads behind other libraries' hooks.
//!
//! Every hook hands a statement on to the next, and the last to PostgreSQL, which runs COPY by a function that nobody can get in the way of.
//! But it runs CALL by calling a function, which may be ours. So the statement that goes through the hooks is, for once, a CALL in COPY's place:
//! under the COPY's text, its query identifier and its place in the text, of [`load_behind`], which does the load and fills in COPY's
//! command tag. pg_stat_statements counts the COPY with its time and its rows; pgaudit logs what the load asks privileges for, as of COPY.
//!
//! A library that wants to refuse a COPY by its parse tree does not see one. What is refused in this way is PROGRAM, so a COPY from a program goes on
//! as it is where there are other hooks. And so does every COPY in a database without the extension, which has no function to call.

#![expect(unsafe_code, reason = "builds a parse tree and passes pointers through it")]

use pgrx::pg_sys;

use super::{Utility, complete};
use crate::call::Call;
use crate::load::Statement;
use crate::pg_raw;

/// The function's name in the catalogs.
const FUNCTION: &std::ffi::CStr = c"fastcsv_take_over";

/// A load on its way through the hooks; lives on the frame of the hook that sent it.
struct Passenger {
    statement: Statement,
    completion: *mut pg_sys::QueryCompletion,
    location: i32,
    length: i32,
}

/// PostgreSQL's own way with utility statements.
pub(super) fn standard() -> unsafe extern "C-unwind" fn(
    *mut pg_sys::PlannedStmt,
    *const std::ffi::c_char,
    bool,
    pg_sys::ProcessUtilityContext::Type,
    pg_sys::ParamListInfo,
    *mut pg_sys::QueryEnvironment,
    *mut pg_sys::DestReceiver,
    *mut pg_sys::QueryCompletion,
) {
    pg_raw::standard_ProcessUtility
}

/// Does the load behind the other hooks; false if it cannot be done so, and nothing has happened.
///
/// # Safety
/// As for [`Utility::take_over`].
pub(super) unsafe fn load(utility: Utility, statement: Statement) -> bool {
    // SAFETY: the caller's promise; the passenger lives longer than the call.
    unsafe {
        if (*statement.copy).is_program {
            return false;
        }
        let function = function();
        if function == pg_sys::InvalidOid {
            return false;
        }
        let planned: *mut pg_sys::PlannedStmt = pg_sys::palloc(size_of::<pg_sys::PlannedStmt>()).cast();
        planned.copy_from_nonoverlapping(utility.planned, 1);
        let (location, length) = ((*planned).stmt_location, (*planned).stmt_len);
        let mut passenger = Passenger { statement, completion: utility.completion, location, length };
        (*planned).utilityStmt = call(function, &raw mut passenger).cast();
        Utility { planned, read_only_tree: false, ..utility }.pass_on();
        true
    }
}

/// The extension's function, or none in this database. Another of the same name is not it.
///
/// # Safety
/// A transaction must be in progress.
unsafe fn function() -> pg_sys::Oid {
    // SAFETY: catalog lookups; a list from the cache is released.
    unsafe {
        let extension = pg_sys::get_extension_oid(c"fastcsv".as_ptr(), true);
        if extension == pg_sys::InvalidOid {
            return extension;
        }
        let (cache, name) = (pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP, pg_sys::Datum::from(FUNCTION.as_ptr()));
        let none = pg_sys::Datum::from(0);
        let found = pg_sys::SearchSysCacheList(cache.cast_signed(), 1, name, none, none);
        let members = (*found).members.as_slice((*found).n_members.cast_unsigned() as usize);
        let mut function = pg_sys::InvalidOid;
        for member in members {
            let row: pg_sys::Form_pg_proc = pg_sys::GETSTRUCT(&raw mut (**member).tuple).cast();
            if pg_sys::getExtensionOfObject(pg_sys::ProcedureRelationId, (*row).oid) == extension {
                function = (*row).oid;
            }
        }
        pg_sys::ReleaseCatCacheList(found);
        function
    }
}

/// `CALL fastcsv_take_over(passenger)`. Nobody can write that in SQL: the parameter is of the type `internal`.
///
/// # Safety
/// The passenger must live as long as the statement.
unsafe fn call(function: pg_sys::Oid, passenger: *mut Passenger) -> *mut pg_sys::CallStmt {
    // SAFETY: allocates nodes.
    unsafe {
        let value = pg_sys::Datum::from(passenger);
        let argument = pg_sys::makeConst(
            pg_sys::INTERNALOID,
            -1,
            pg_sys::InvalidOid,
            size_of::<usize>() as i32,
            value,
            false,
            true,
        );
        let arguments = pg_sys::lappend(std::ptr::null_mut(), argument.cast());
        let (none, form) = (pg_sys::InvalidOid, pg_sys::CoercionForm::COERCE_EXPLICIT_CALL);
        let expression = pg_sys::makeFuncExpr(function, pg_sys::VOIDOID, arguments, none, none, form);
        let mut statement = pgrx::PgBox::<pg_sys::CallStmt>::alloc_node(pg_sys::NodeTag::T_CallStmt);
        statement.funcexpr = expression;
        statement.into_pg()
    }
}

/// `fastcsv_take_over(internal)`: does the load, or lets COPY do it.
pub(crate) fn load_behind(call: &Call) -> pg_sys::Datum {
    let passenger = call.datum(0).map_or(std::ptr::null_mut(), |value| value.cast_mut_ptr::<Passenger>());
    // SAFETY: only `call` makes a value of this type for this function; the passenger waits for the end of the call. Nothing here has a
    // destructor.
    unsafe {
        if !passenger.is_null() {
            let Passenger { statement, completion, location, length } = *passenger;
            let processed = match statement.load() {
                Some(processed) => processed,
                None => statement.copy(location, length),
            };
            complete(completion, processed);
        }
    }
    pg_sys::Datum::from(0)
}
