//! PostgreSQL functions called without pgrx's guard.
//!
//! A guarded call (`pg_sys::f`) catches PostgreSQL's ERROR, rebuilds it as a Rust panic and raises it anew at the
//! edge of Rust. On that way the error's CONTEXT lines and its schema, table, column, datatype and constraint
//! fields are lost. These calls must lose nothing, and some of them happen once a row, where the guard's cost
//! shows. So they are declared here bare: an ERROR in them jumps straight over the Rust frames below, to whoever
//! catches it. **Whoever calls one must have nothing alive on its frames that has a destructor.**

#![expect(unsafe_code, reason = "declarations of C functions")]

use std::ffi::{c_char, c_int, c_void};

use pgrx::pg_sys;

unsafe extern "C-unwind" {
    /// Prepares a COPY FROM: checks options and columns, opens the file or starts the program.
    pub(crate) fn BeginCopyFrom(
        pstate: *mut pg_sys::ParseState,
        rel: pg_sys::Relation,
        where_clause: *mut pg_sys::Node,
        filename: *const c_char,
        is_program: bool,
        source: pg_sys::copy_data_source_cb,
        columns: *mut pg_sys::List,
        options: *mut pg_sys::List,
    ) -> pg_sys::CopyFromState;

    /// Reads and converts the next row; false at the end of the data.
    pub(crate) fn NextCopyFrom(
        state: pg_sys::CopyFromState,
        expressions: *mut pg_sys::ExprContext,
        values: *mut pg_sys::Datum,
        nulls: *mut bool,
    ) -> bool;

    /// Closes the file or waits for the program, and frees the state.
    pub(crate) fn EndCopyFrom(state: pg_sys::CopyFromState);

    /// Writes COPY's CONTEXT line; its argument is the `CopyFromState`.
    pub(crate) fn CopyFromErrorCallback(state: *mut c_void);

    /// Runs a COPY statement with all of its checks.
    pub(crate) fn DoCopy(
        pstate: *mut pg_sys::ParseState,
        statement: *const pg_sys::CopyStmt,
        location: c_int,
        length: c_int,
        processed: *mut u64,
    );

    /// Parses SQL text into raw statements.
    pub(crate) fn raw_parser(text: *const c_char, mode: pg_sys::RawParseMode::Type) -> *mut pg_sys::List;

    /// Wakes who waits on a latch. Atomics and `kill`: it may be called from any thread.
    pub(crate) fn SetLatch(latch: *mut pg_sys::Latch);

    /// Puts a tuple that somebody else keeps into a slot for heap tuples.
    pub(crate) fn ExecStoreHeapTuple(
        tuple: pg_sys::HeapTuple,
        slot: *mut pg_sys::TupleTableSlot,
        should_free: bool,
    ) -> *mut pg_sys::TupleTableSlot;

    /// Marks a slot whose arrays were filled as holding a row.
    pub(crate) fn ExecStoreVirtualTuple(slot: *mut pg_sys::TupleTableSlot) -> *mut pg_sys::TupleTableSlot;

    /// Takes a tuple apart.
    pub(crate) fn heap_deform_tuple(
        tuple: pg_sys::HeapTuple,
        descriptor: pg_sys::TupleDesc,
        values: *mut pg_sys::Datum,
        nulls: *mut bool,
    );

    /// Calls a type's input function; null stands for NULL.
    pub(crate) fn InputFunctionCall(
        function: *mut pg_sys::FmgrInfo,
        text: *mut c_char,
        parameter: pg_sys::Oid,
        modifier: i32,
    ) -> pg_sys::Datum;
}

/// Empties a slot.
///
/// # Safety
/// The slot must be alive.
#[inline]
pub(crate) unsafe fn clear_slot(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: the caller's promise; every kind of slot can be emptied.
    unsafe { (*(*slot).tts_ops).clear.expect("a slot can be emptied")(slot) }
}
