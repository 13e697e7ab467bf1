//! Running a scan: the referee reads the first record; the rest is read by a worker if it is worth one, else by the
//! referee too. A rescan starts over.

#![expect(unsafe_code, reason = "executor callbacks, which receive state nodes by pointer")]

use std::time::Instant;

use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, pg_sys};

use super::filter::Parameters;
use super::job::Serial;
use super::parallel::{Parallel, Start};
use super::plan::Private;
use crate::last_run::{self, Run};
use crate::options::{Source, TableOptions, report};
use crate::referee::Referee;

/// A scan in progress, in the query's memory. Everything in it that has a destructor is in `parallel`, whose destructor
/// runs when that memory goes; PostgreSQL closes the file at abort, and [`end`] does so otherwise.
pub(super) struct Scan {
    source: Source,
    options: *mut pg_sys::List,
    referee: *mut Referee,
    /// Where DEFAULT values are computed.
    executor: *mut pg_sys::EState,
    /// Whether only the number of rows matters.
    count_only: bool,
    filter: Option<Parameters>,
    /// Rows delivered, or read by the referee.
    rows_read: u64,
    started: Option<Instant>,
    path: Path,
}

/// Who reads the records.
pub(super) enum Path {
    /// The referee, until it is known whether the rest is worth a worker.
    Undecided,
    /// The referee, for this reason.
    Serial(Serial),
    /// A worker. It is dropped with the query's memory at the latest.
    Parallel(*mut Option<Parallel>),
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
        let private = Private::of((*plan).fdw_private);
        let options = pg_sys::list_concat(copy, private.options);
        let scan: *mut Scan = pg_sys::palloc(size_of::<Scan>()).cast();
        let executor = pg_sys::CreateExecutorState();
        let referee = Referee::open(relation, source, options);
        let count_only = private.count_only;
        let path = Path::Undecided;
        let filter = (!(*plan).fdw_exprs.is_null()).then(|| Parameters::of(node));
        let started = None;
        scan.write(Scan { source, options, referee, executor, count_only, filter, rows_read: 0, started, path });
        (*node).fdw_state = scan.cast();
    }
}

/// IterateForeignScan: the next row, in the scan's slot; an empty slot at the end.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn iterate(node: *mut pg_sys::ForeignScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: `begin` has run. The slot has one element a column. Nothing alive here has a destructor.
    unsafe {
        let scan = (*node).fdw_state.cast::<Scan>();
        let slot = (*node).ss.ss_ScanTupleSlot;
        pg_sys::ExecClearTuple(slot);
        if matches!((*scan).path, Path::Undecided) {
            if (*scan).rows_read > 0 {
                decide(node, scan);
            } else {
                (*scan).started = Some(Instant::now());
            }
        }
        let expressions = per_tuple_context((*scan).executor);
        match (*scan).path {
            Path::Parallel(parallel) => {
                let parallel = (*parallel).as_mut().expect("a scan that has not ended");
                (*scan).rows_read += u64::from(Parallel::next(parallel, slot, expressions));
            }
            Path::Undecided | Path::Serial(_) => serial_row(scan, slot, expressions),
        }
        slot
    }
}

/// Reads the next row with the referee.
///
/// # Safety
/// All must be alive; nothing with a destructor on the caller's frames. What a row's values are made of lives until the
/// next row: in the expressions' per-tuple memory.
unsafe fn serial_row(scan: *mut Scan, slot: *mut pg_sys::TupleTableSlot, expressions: *mut pg_sys::ExprContext) {
    // SAFETY: the caller's promise.
    unsafe {
        let values = (*expressions).ecxt_per_tuple_memory;
        loop {
            pg_sys::MemoryContextReset(values);
            let caller = pg_sys::MemoryContextSwitchTo(values);
            let found = Referee::next_row((*scan).referee, expressions, (*slot).tts_values, (*slot).tts_isnull);
            pg_sys::MemoryContextSwitchTo(caller);
            if !found {
                (*scan).path = Path::Serial("the file ends with its first record");
                return;
            }
            (*scan).rows_read += 1;
            if !Referee::row_was_skipped((*scan).referee) {
                pg_sys::ExecStoreVirtualTuple(slot);
                return;
            }
            pgrx::check_for_interrupts!();
        }
    }
}

/// Is what comes behind the first row worth a worker?
///
/// # Safety
/// `node` must be a scan in progress, `scan` its state.
unsafe fn decide(node: *mut pg_sys::ForeignScanState, scan: *mut Scan) {
    // SAFETY: the caller's promise. The scan's state is dropped with the query's memory.
    unsafe {
        let query = (*(*node).ss.ps.state).es_query_cxt;
        let caller = pg_sys::MemoryContextSwitchTo(query);
        let plan = (*node).ss.ps.plan.cast::<pg_sys::ForeignScan>();
        let start = Start {
            referee: (*scan).referee,
            relation: (*node).ss.ss_currentRelation,
            count_only: (*scan).count_only,
            takes_apart: (*plan).fsSystemCol,
            rows_read: (*scan).rows_read,
            filter: (*scan).filter.and_then(|parameters| parameters.filter(node)),
        };
        (*scan).path = match Parallel::start(&start) {
            Ok(parallel) => {
                let place = PgMemoryContexts::For(query).leak_and_drop_on_delete(Some(parallel));
                Path::Parallel(place)
            }
            Err(reason) => {
                ereport_serial(reason);
                Path::Serial(reason)
            }
        };
        pg_sys::MemoryContextSwitchTo(caller);
    }
}

/// Tells whoever wants to know why a scan is serial.
fn ereport_serial(reason: Serial) {
    let message = format!("fastcsv reads serially: {reason}");
    report(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message).report(PgLogLevel::DEBUG1);
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
        Scan::note_run(scan);
        // The slot may still hold a row of the worker's memory.
        pg_sys::ExecClearTuple((*node).ss.ss_ScanTupleSlot);
        Scan::let_worker_go(scan);
        Referee::end((*scan).referee);
        let caller = pg_sys::MemoryContextSwitchTo((*(*node).ss.ps.state).es_query_cxt);
        (*scan).referee = Referee::open((*node).ss.ss_currentRelation, (*scan).source, (*scan).options);
        (*scan).path = Path::Undecided;
        (*scan).rows_read = 0;
        (*scan).started = None;
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
            Scan::note_run(scan);
            pg_sys::ExecClearTuple((*node).ss.ss_ScanTupleSlot);
            Scan::let_worker_go(scan);
            Referee::end((*scan).referee);
            pg_sys::FreeExecutorState((*scan).executor);
        }
    }
}

impl Scan {
    /// Stops the worker, if there is one.
    ///
    /// # Safety
    /// `this` must be alive, and no slot hold a row of the worker's memory.
    unsafe fn let_worker_go(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Path::Parallel(parallel) = (*this).path {
                (*parallel).take();
            }
        }
    }

    /// What the scan has done so far; `None` if it has not begun.
    pub(super) fn run(&self) -> Option<Run> {
        let run = Run { operation: "scan", rows: self.rows_read, time: self.started?.elapsed(), ..Run::default() };
        Some(match self.path {
            Path::Undecided => Run { path: "serial", ..run },
            Path::Serial(reason) => Run { path: "serial", reason: Some(reason), ..run },
            // SAFETY: the scan's parallel part lives as long as the scan.
            Path::Parallel(parallel) => match unsafe { &*parallel } {
                Some(parallel) => parallel.add_to(run),
                None => run,
            },
        })
    }

    /// Tells `fastcsv_last_run()`.
    ///
    /// # Safety
    /// `this` must be alive.
    unsafe fn note_run(this: *mut Self) {
        // SAFETY: the caller's promise.
        if let Some(run) = unsafe { (*this).run() } {
            last_run::note(run);
        }
    }
}
