//! COPY taken over: `COPY ... FROM ... (FORMAT csv)` goes through the engine, whoever has written it.
//!
//! While the library is loaded, PostgreSQL hands every utility statement to [`process_utility`]. It takes over those
//! that the engine reads faster than COPY, as long as `fastcsv.accelerate_copy` is on; whatever else there is goes on,
//! untouched, to the next library's hook, or to PostgreSQL.
//!
//! Libraries that were loaded **later** have their hooks around this one and see everything. Those that were loaded
//! **earlier** are behind it: they count statements, write an audit log, refuse something. They must see the statement
//! too, and at its end its time and its rows. So a load is then done behind their hooks, in the place where PostgreSQL
//! would do it ([`others`]).

#![expect(unsafe_code, reason = "a hook, which PostgreSQL calls with pointers")]

mod others;

use std::ffi::c_char;

use pgrx::pg_sys;

use crate::load::Statement;
use crate::{pg_raw, settings};

pub(crate) use others::{SETTING, arrived};

/// The hook of the library that was loaded before this one; set once, when this one is loaded.
static mut NEXT: pg_sys::ProcessUtility_hook_type = None;

/// A utility statement, with all that PostgreSQL hands over with it.
#[derive(Clone, Copy)]
struct Utility {
    planned: *mut pg_sys::PlannedStmt,
    text: *const c_char,
    read_only_tree: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    parameters: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    destination: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
}

/// Takes its place before the hook that is there now. To be called once, when the library is loaded.
pub(crate) fn install() {
    // SAFETY: PostgreSQL has one thread.
    unsafe {
        NEXT = pg_sys::ProcessUtility_hook;
        pg_sys::ProcessUtility_hook = Some(process_utility);
    }
    others::install();
}

/// The hook. Nothing on its frame has a destructor.
#[pgrx::pg_guard]
#[expect(clippy::too_many_arguments, reason = "the hook's signature")]
unsafe extern "C-unwind" fn process_utility(
    planned: *mut pg_sys::PlannedStmt,
    text: *const c_char,
    read_only_tree: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    parameters: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    destination: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    let utility = Utility { planned, text, read_only_tree, context, parameters, environment, destination, completion };
    // SAFETY: PostgreSQL's promise: all of it is alive, and the statement is a utility statement.
    unsafe {
        if settings::accelerates_copy()
            && let Some(statement) = utility.copy_from()
            && statement.is_fit()
            && utility.take_over(statement)
        {
            return;
        }
        utility.pass_on();
    }
}

impl Utility {
    /// The statement, if it is a COPY.
    ///
    /// # Safety
    /// All parts must be alive; so for all that follows.
    unsafe fn copy_from(self) -> Option<Statement> {
        // SAFETY: the caller's promise.
        unsafe {
            let node = (*self.planned).utilityStmt;
            let is_copy = (*node).type_ == pg_sys::NodeTag::T_CopyStmt;
            is_copy.then_some(Statement { copy: node.cast(), text: self.text, environment: self.environment })
        }
    }

    /// Does the load, if that is possible; false if nothing has happened.
    ///
    /// # Safety
    /// The statement must be fit.
    unsafe fn take_over(self, statement: Statement) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            pg_sys::check_stack_depth();
            let Some(target) = statement.target() else { return false };
            let next = (&raw const NEXT).read();
            if next.is_some() {
                others::load(self, next, statement, target);
                return true;
            }
            let Some(processed) = statement.load(target) else { return false };
            complete(self.completion, processed);
            pg_sys::CommandCounterIncrement();
            true
        }
    }

    /// Hands the statement on as it is.
    ///
    /// # Safety
    /// As above.
    unsafe fn pass_on(self) {
        // SAFETY: the caller's promise; what comes next takes what this hook was given. Neither is guarded: an ERROR
        // passes over this frame on its way.
        unsafe {
            let next = (&raw const NEXT).read().unwrap_or(pg_raw::standard_ProcessUtility);
            next(
                self.planned,
                self.text,
                self.read_only_tree,
                self.context,
                self.parameters,
                self.environment,
                self.destination,
                self.completion,
            );
        }
    }
}

/// Notes what the command tag is to say.
///
/// # Safety
/// `completion` must be alive, or null.
unsafe fn complete(completion: *mut pg_sys::QueryCompletion, processed: u64) {
    if !completion.is_null() {
        // SAFETY: the caller's promise.
        unsafe { pg_sys::SetQueryCompletion(completion, pg_sys::CommandTag::CMDTAG_COPY, processed) }
    }
}
