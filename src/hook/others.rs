//! Loads behind other libraries' hooks.
//!
//! Every hook hands a statement on to the next, and the last to PostgreSQL, which runs COPY by a function that nobody
//! can get in the way of. So PostgreSQL, and nobody before it, must find another statement there than COPY: one that
//! calls us. Two of its interfaces make that possible.
//!
//! * A statement that belongs to somebody else is copied by PostgreSQL before it does anything; and a node of an
//!   extension in it is copied by that extension. The statement sent here carries a [`Ticket`] among its parts, before
//!   the part that says what it is. While PostgreSQL copies the ticket, the COPY behind it is exchanged.
//! * What stands there then is `SHOW fastcsv.taken_over`. A setting may be shown by a function, and that of this one
//!   ([`arrived`]) does the load and fills in COPY's command tag. It is no function of SQL: nobody has to be granted
//!   it, no other library hears of its call, and it is there in every database.
//!
//! So every library sees the COPY as it was written, and after it the rows it has loaded. One that copies the statement
//! itself, to change it, sees the SHOW. Those that do so look after tables of their own, and a COPY into these does not
//! come here.

#![expect(unsafe_code, reason = "builds a parse tree and passes pointers through it")]

use std::ffi::{CStr, c_char, c_void};

use pgrx::pg_sys;

use super::{Utility, complete};
use crate::load::{Statement, Target};

/// The setting that is shown instead of the COPY.
pub(crate) const SETTING: &CStr = c"fastcsv.taken_over";

/// A kind of node that copying it exchanges a statement.
const TICKET: &CStr = c"fastcsv_ticket";

/// A load on its way through the hooks; lives on the frame of the hook that sent it.
struct Passenger {
    utility: Utility,
    statement: Statement,
    target: Target,
    /// What travels instead of the statement that came.
    planned: *mut pg_sys::PlannedStmt,
    /// What PostgreSQL is to find in it.
    show: *mut pg_sys::Node,
    is_exchanged: bool,
}

/// Who is on the way.
static mut PASSENGER: *mut c_void = std::ptr::null_mut();

/// Part of a statement that travels.
#[repr(C)]
struct Ticket {
    base: pg_sys::ExtensibleNode,
    /// Whose it is; null in a copy.
    passenger: *mut Passenger,
}

unsafe extern "C-unwind" {
    fn fastcsv_shim_pass_on(
        place: *mut *mut c_void,
        value: *mut c_void,
        next: pg_sys::ProcessUtility_hook_type,
        planned: *mut pg_sys::PlannedStmt,
        text: *const c_char,
        context: pg_sys::ProcessUtilityContext::Type,
        parameters: pg_sys::ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        destination: *mut pg_sys::DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    );
}

/// Makes tickets known to PostgreSQL. To be called once, when the library is loaded.
pub(super) fn install() {
    static mut METHODS: pg_sys::ExtensibleNodeMethods = pg_sys::ExtensibleNodeMethods {
        extnodename: TICKET.as_ptr(),
        node_size: size_of::<Ticket>(),
        nodeCopy: Some(exchange),
        nodeEqual: Some(is_same),
        nodeOut: Some(write),
        nodeRead: Some(read),
    };
    // SAFETY: the methods stay where they are, and nobody changes them.
    unsafe { pg_sys::RegisterExtensibleNodeMethods(&raw const METHODS) }
}

/// Does the load behind the other hooks.
///
/// # Safety
/// As for [`Utility::take_over`]; `next` must be the hook that is next, and the target the statement's.
pub(super) unsafe fn load(
    utility: Utility,
    next: pg_sys::ProcessUtility_hook_type,
    statement: Statement,
    target: Target,
) {
    // SAFETY: the caller's promise; the passenger lives longer than the call. Only statements that have a plan use this
    // list.
    unsafe {
        let planned: *mut pg_sys::PlannedStmt = pg_sys::palloc(size_of::<pg_sys::PlannedStmt>()).cast();
        planned.copy_from_nonoverlapping(utility.planned, 1);
        let mut passenger = Passenger { utility, statement, target, planned, show: show(), is_exchanged: false };
        let passenger = &raw mut passenger;
        (*planned).invalItems = pg_sys::lappend(std::ptr::null_mut(), ticket(passenger).cast());
        let Utility { text, context, parameters, environment, completion, .. } = utility;
        let nowhere = pg_sys::CreateDestReceiver(pg_sys::CommandDest::DestNone);
        fastcsv_shim_pass_on(
            &raw mut PASSENGER,
            passenger.cast(),
            next,
            planned,
            text,
            context,
            parameters,
            environment,
            nowhere,
            completion,
        );
    }
}

/// # Safety
/// Allocates.
unsafe fn show() -> *mut pg_sys::Node {
    // SAFETY: allocates nodes.
    unsafe {
        let mut show = pgrx::PgBox::<pg_sys::VariableShowStmt>::alloc_node(pg_sys::NodeTag::T_VariableShowStmt);
        show.name = pg_sys::pstrdup(SETTING.as_ptr());
        show.into_pg().cast()
    }
}

/// # Safety
/// The passenger must live as long as the statement is on its way.
unsafe fn ticket(passenger: *mut Passenger) -> *mut Ticket {
    // SAFETY: allocates a node.
    unsafe {
        let ticket: *mut Ticket = pg_sys::palloc(size_of::<Ticket>()).cast();
        let base = pg_sys::ExtensibleNode { type_: pg_sys::NodeTag::T_ExtensibleNode, extnodename: TICKET.as_ptr() };
        ticket.write(Ticket { base, passenger });
        ticket
    }
}

/// The statement is being copied: the copy shows the setting.
unsafe extern "C-unwind" fn exchange(new: *mut pg_sys::ExtensibleNode, old: *const pg_sys::ExtensibleNode) {
    // SAFETY: both are tickets, which nobody else makes; the passenger of the one made here waits for the statement.
    unsafe {
        let passenger = (*old.cast::<Ticket>()).passenger;
        (*new.cast::<Ticket>()).passenger = std::ptr::null_mut();
        if !passenger.is_null() {
            (*(*passenger).planned).utilityStmt = (*passenger).show;
            (*passenger).is_exchanged = true;
        }
    }
}

unsafe extern "C-unwind" fn is_same(one: *const pg_sys::ExtensibleNode, other: *const pg_sys::ExtensibleNode) -> bool {
    std::ptr::eq(one, other)
}

/// Whoever prints the statement need not know of the ticket.
unsafe extern "C-unwind" fn write(_text: *mut pg_sys::StringInfoData, _ticket: *const pg_sys::ExtensibleNode) {}

unsafe extern "C-unwind" fn read(_ticket: *mut pg_sys::ExtensibleNode) {}

/// What the setting shows: nothing. If a load is on its way, this is where it arrives.
#[pgrx::pg_guard]
pub(crate) unsafe extern "C-unwind" fn arrived() -> *const c_char {
    // SAFETY: the passenger waits for the end of the call. Nothing here has a destructor.
    unsafe {
        let passenger: *mut Passenger = PASSENGER.cast();
        if !passenger.is_null() && (*passenger).is_exchanged {
            PASSENGER = std::ptr::null_mut();
            let Passenger { utility, statement, target, planned, .. } = *passenger;
            // Who still looks at it sees what it was; what others noted in it, they would have noted in the one that
            // came.
            (*planned).utilityStmt = statement.copy.cast();
            (*utility.planned).queryId = (*planned).queryId;
            let processed = match statement.load(target) {
                Some(processed) => processed,
                None => statement.leave_to_copy((*planned).stmt_location, (*planned).stmt_len),
            };
            complete(utility.completion, processed);
        }
    }
    c"".as_ptr()
}
