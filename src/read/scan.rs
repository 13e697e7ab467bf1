//! Running `fastcsv_read` as a scan: a foreign table's scan, of what is no table.

#![expect(unsafe_code, reason = "executor callbacks, which receive state nodes by pointer")]

use std::ffi::CStr;

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::{Request, constant_name, frame, shape};
use crate::call::Call;
use crate::fdw::explain::{Shown, show_columns, show_source};
use crate::fdw::filter::Clauses;
use crate::fdw::scan::Scan;
use crate::load::may_read_server_files;
use crate::options::Source;
use crate::pg_raw;
use crate::reader::Wanted;

/// The scan's name in plans.
pub(super) const NAME: &CStr = c"fastcsv_read";

/// PostgreSQL only reads it.
pub(super) struct Methods<T>(pub(super) T);

// SAFETY: names and function pointers that never change; PostgreSQL has one thread.
unsafe impl<T> Sync for Methods<T> {}

pub(super) static SCAN_METHODS: Methods<pg_sys::CustomScanMethods> =
    Methods(pg_sys::CustomScanMethods { CustomName: NAME.as_ptr(), CreateCustomScanState: Some(create) });

static EXEC_METHODS: Methods<pg_sys::CustomExecMethods> = Methods(pg_sys::CustomExecMethods {
    CustomName: NAME.as_ptr(),
    BeginCustomScan: Some(begin),
    ExecCustomScan: Some(next),
    EndCustomScan: Some(end),
    ReScanCustomScan: Some(rescan),
    MarkPosCustomScan: None,
    RestrPosCustomScan: None,
    EstimateDSMCustomScan: None,
    InitializeDSMCustomScan: None,
    ReInitializeDSMCustomScan: None,
    InitializeWorkerCustomScan: None,
    ShutdownCustomScan: None,
    ExplainCustomScan: Some(explain),
});

/// The scan's state: PostgreSQL's, with ours behind it.
#[repr(C)]
struct State {
    node: pg_sys::CustomScanState,
    scan: *mut Scan,
}

/// The parts of a plan that `plan.rs` has put there.
#[derive(Clone, Copy)]
struct Parts {
    function: *mut pg_sys::FuncExpr,
    /// Names of the columns that must be converted.
    needed: *mut pg_sys::List,
    columns: i32,
    clauses: *mut pg_sys::List,
}

impl Parts {
    /// # Safety
    /// `node` must be a scan of this kind.
    unsafe fn of(node: *mut pg_sys::CustomScanState) -> Parts {
        // SAFETY: the caller's promise.
        unsafe {
            let plan = (*node).ss.ps.plan.cast::<pg_sys::CustomScan>();
            Parts {
                function: pg_sys::list_nth((*plan).custom_private, 0).cast(),
                needed: pg_sys::list_nth((*plan).custom_private, 1).cast(),
                columns: pg_sys::list_length((*plan).custom_scan_tlist),
                clauses: (*plan).custom_exprs,
            }
        }
    }

    /// COPY's option that names the columns to convert, in a list; no list where that is all of them, or none.
    ///
    /// # Safety
    /// The plan must be alive.
    unsafe fn option(self) -> *mut pg_sys::List {
        // SAFETY: the caller's promise; allocates nodes.
        unsafe {
            if pg_sys::list_length(self.needed) == self.columns {
                return std::ptr::null_mut();
            }
            let names = self.needed.cast();
            let option = pg_sys::makeDefElem(c"convert_selectively".as_ptr().cast_mut(), names, -1);
            pg_sys::lappend(std::ptr::null_mut(), option.cast())
        }
    }
}

/// CreateCustomScanState.
#[pg_guard]
unsafe extern "C-unwind" fn create(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    // SAFETY: the state may be all zero but for its tag and methods.
    unsafe {
        let state: *mut State = pg_sys::palloc0(size_of::<State>()).cast();
        (*state).node.ss.ps.type_ = pg_sys::NodeTag::T_CustomScanState;
        (*state).node.methods = &raw const EXEC_METHODS.0;
        state.cast()
    }
}

/// BeginCustomScan: opens the file, unless the plan is only to be shown.
#[pg_guard]
unsafe extern "C-unwind" fn begin(
    node: *mut pg_sys::CustomScanState,
    _executor: *mut pg_sys::EState,
    flags: std::ffi::c_int,
) {
    if flags & pg_sys::EXEC_FLAG_EXPLAIN_ONLY.cast_signed() != 0 {
        return;
    }
    // SAFETY: the executor passes what `create` made; the current memory context is the query's. Nothing here has a
    // destructor.
    unsafe {
        let (parts, state) = (Parts::of(node), &raw mut (*node).ss);
        let descriptor = (*(*state).ss_ScanTupleSlot).tts_tupleDescriptor;
        let request = Request::of(&Call::new(frame(parts.function, state)));
        let options = pg_sys::list_concat(request.options, parts.option());
        let wanted = Wanted { count_only: parts.needed.is_null(), takes_apart: true, ..Wanted::default() };
        let opening = request.opening(shape::relation(descriptor), options);
        (*node.cast::<State>()).scan = Scan::open(state, &opening, wanted, Clauses::of_columns(parts.clauses));
    }
}

/// ExecCustomScan: the next row that satisfies the conditions, projected.
#[pg_guard]
unsafe extern "C-unwind" fn next(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: `begin` has run.
    unsafe { pg_raw::ExecScan(&raw mut (*node).ss, Some(fetch), Some(recheck)) }
}

/// The next row of the file, in the scan's slot; an empty slot at the end.
#[pg_guard]
unsafe extern "C-unwind" fn fetch(node: *mut pg_sys::ScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the scan's state begins with what the executor passes.
    unsafe {
        let slot = (*node).ss_ScanTupleSlot;
        Scan::next(node, (*node.cast::<State>()).scan, slot);
        slot
    }
}

/// Rows are not locked, so there is nothing to check again.
#[pg_guard]
unsafe extern "C-unwind" fn recheck(_node: *mut pg_sys::ScanState, _slot: *mut pg_sys::TupleTableSlot) -> bool {
    true
}

/// ReScanCustomScan.
#[pg_guard]
unsafe extern "C-unwind" fn rescan(node: *mut pg_sys::CustomScanState) {
    // SAFETY: `begin` has run.
    unsafe {
        Scan::rescan(&raw mut (*node).ss, (*node.cast::<State>()).scan);
        pg_sys::ExecScanReScan(&raw mut (*node).ss);
    }
}

/// EndCustomScan.
#[pg_guard]
unsafe extern "C-unwind" fn end(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the scan is null or what `begin` made.
    unsafe {
        let scan = (*node.cast::<State>()).scan;
        if !scan.is_null() {
            Scan::end_reader(&raw mut (*node).ss, scan);
        }
    }
}

/// ExplainCustomScan: what EXPLAIN shows of a foreign table.
#[pg_guard]
unsafe extern "C-unwind" fn explain(
    node: *mut pg_sys::CustomScanState,
    ancestors: *mut pg_sys::List,
    state: *mut pg_sys::ExplainState,
) {
    // SAFETY: EXPLAIN passes valid nodes.
    unsafe {
        let parts = Parts::of(node);
        // The size is nobody's business who may not read the file.
        if let Some(name) = constant_name(parts.function) {
            match may_read_server_files() {
                true => show_source(Source::file(name), state),
                false => pg_sys::ExplainPropertyText(c"Foreign File".as_ptr(), name, state),
            }
        }
        show_columns(parts.option(), parts.needed.is_null(), state);
        if !parts.clauses.is_null() {
            let context = pg_sys::set_deparse_context_plan((*state).deparse_cxt, (*node).ss.ps.plan, ancestors);
            let condition = pg_sys::make_ands_explicit(parts.clauses).cast();
            let condition = pg_sys::deparse_expression(condition, context, false, false);
            pg_sys::ExplainPropertyText(c"Worker Filter".as_ptr(), condition, state);
        }
        let scan = (*node.cast::<State>()).scan;
        if (*state).analyze
            && !scan.is_null()
            && let Some(run) = (*scan).run()
        {
            Shown { state }.run(&run);
        }
    }
}
