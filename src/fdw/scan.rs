//! Running a scan: one referee from the first record to the last, started over on a rescan.

#![expect(unsafe_code, reason = "executor callbacks, which receive state nodes by pointer")]

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::options::{Source, TableOptions};
use crate::referee::Referee;

/// A scan in progress, in the query's memory. It owns nothing with a destructor: PostgreSQL closes the file and
/// frees the memory at abort, and [`end`] does so otherwise.
struct Scan {
    source: Source,
    options: *mut pg_sys::List,
    referee: *mut Referee,
    /// Where DEFAULT values are computed.
    executor: *mut pg_sys::EState,
}

/// BeginForeignScan: opens the file, unless the plan is only to be shown.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn begin(node: *mut pg_sys::ForeignScanState, flags: std::ffi::c_int) {
    if flags & pg_sys::EXEC_FLAG_EXPLAIN_ONLY.cast_signed() != 0 {
        return;
    }
    // SAFETY: the executor passes a valid node, whose relation stays open and locked until the scan ends; the
    // current memory context is the query's. `TableOptions` and the rest are plain pointers.
    unsafe {
        let relation = (*node).ss.ss_currentRelation;
        let TableOptions { source, copy } = TableOptions::of((*relation).rd_id);
        let plan = (*node).ss.ps.plan.cast::<pg_sys::ForeignScan>();
        let options = pg_sys::list_concat(copy, (*plan).fdw_private);
        let scan: *mut Scan = pg_sys::palloc(size_of::<Scan>()).cast();
        let executor = pg_sys::CreateExecutorState();
        scan.write(Scan { source, options, executor, referee: Referee::open(relation, source, options) });
        (*node).fdw_state = scan.cast();
    }
}

/// IterateForeignScan: the next row, in the scan's slot; an empty slot at the end.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn iterate(node: *mut pg_sys::ForeignScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: `begin` has run. The slot has one element a column. What a row's values are made of lives until the
    // next row: in the scan's own per-tuple context, reset here before it is filled again. Nothing alive here has
    // a destructor.
    unsafe {
        let scan = (*node).fdw_state.cast::<Scan>();
        let slot = (*node).ss.ss_ScanTupleSlot;
        pg_sys::ExecClearTuple(slot);
        let expressions = per_tuple_context((*scan).executor);
        let values = (*expressions).ecxt_per_tuple_memory;
        loop {
            pg_sys::MemoryContextReset(values);
            let caller = pg_sys::MemoryContextSwitchTo(values);
            let found = Referee::next_row((*scan).referee, expressions, (*slot).tts_values, (*slot).tts_isnull);
            pg_sys::MemoryContextSwitchTo(caller);
            if found && Referee::row_was_skipped((*scan).referee) {
                pgrx::check_for_interrupts!();
                continue;
            }
            return if found { pg_sys::ExecStoreVirtualTuple(slot) } else { slot };
        }
    }
}

/// The expression context of an executor state that exists for this alone.
///
/// # Safety
/// `executor` must be alive.
unsafe fn per_tuple_context(executor: *mut pg_sys::EState) -> *mut pg_sys::ExprContext {
    // SAFETY: the caller's promise.
    unsafe {
        if (*executor).es_per_tuple_exprcontext.is_null() {
            pg_sys::MakePerTupleExprContext(executor)
        } else {
            (*executor).es_per_tuple_exprcontext
        }
    }
}

/// ReScanForeignScan: starts over from the first record.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn rescan(node: *mut pg_sys::ForeignScanState) {
    // SAFETY: `begin` has run; the new referee must outlive this call, so it is made in the query's memory.
    unsafe {
        let scan = (*node).fdw_state.cast::<Scan>();
        Referee::end((*scan).referee);
        let caller = pg_sys::MemoryContextSwitchTo((*(*node).ss.ps.state).es_query_cxt);
        (*scan).referee = Referee::open((*node).ss.ss_currentRelation, (*scan).source, (*scan).options);
        pg_sys::MemoryContextSwitchTo(caller);
    }
}

/// EndForeignScan: closes the file, if `begin` opened one.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn end(node: *mut pg_sys::ForeignScanState) {
    // SAFETY: the state is null or what `begin` made.
    unsafe {
        let scan = (*node).fdw_state.cast::<Scan>();
        if !scan.is_null() {
            Referee::end((*scan).referee);
            pg_sys::FreeExecutorState((*scan).executor);
        }
    }
}
