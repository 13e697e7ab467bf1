//! Running a scan: its rows come from a [`Reader`], started over on a rescan.
//!
//! The same callbacks run the scans that only count ([`super::count`]).

#![expect(unsafe_code, reason = "executor callbacks, which receive state nodes by pointer")]

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::count::{self, Count};
use super::filter::{Clauses, Parameters};
use super::plan::{self, Private};
use crate::last_run::Run;
use crate::options::TableOptions;
use crate::pg_raw;
use crate::reader::{Found, Reader, Wanted};
use crate::referee::Opening;

/// A scan in progress, in the query's memory. It owns nothing with a destructor.
pub(crate) struct Scan {
    pub(super) relation: pg_sys::Relation,
    opening: Opening,
    wanted: Wanted,
    /// The conditions that the threads can decide.
    parameters: Option<Parameters>,
    pub(super) reader: *mut Reader,
    /// Rows of which only the number was told, and that are still to be returned.
    pending: u64,
    /// For a scan that counts.
    count: Option<Count>,
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
        let plan = (*node).ss.ps.plan.cast::<pg_sys::ForeignScan>();
        let private = Private::of((*plan).fdw_private);
        let is_count = plan::is_count(node);
        let relation = if is_count {
            pg_sys::table_open(plan::scanned_table(node), pg_sys::NoLock.cast_signed())
        } else {
            (*node).ss.ss_currentRelation
        };
        let options = TableOptions::of((*relation).rd_id);
        let io = options.io;
        let opening = options.opening(relation, pg_sys::list_concat(options.copy, private.options));
        let wanted = Wanted { count_only: private.count_only, takes_apart: (*plan).fsSystemCol, places: false, io };
        let clauses = Clauses::of(node);
        let count = is_count.then(|| Count::begin(node, relation, clauses));
        let scan = Scan::open(&raw mut (*node).ss, &opening, wanted, clauses);
        (*scan).count = count;
        (*node).fdw_state = scan.cast();
    }
}

/// IterateForeignScan: the next row, in the scan's slot; an empty slot at the end.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn iterate(node: *mut pg_sys::ForeignScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: `begin` has run. Nothing alive here has a destructor.
    unsafe {
        let scan = (*node).fdw_state.cast::<Scan>();
        let slot = (*node).ss.ss_ScanTupleSlot;
        match &raw mut (*scan).count {
            count if (*count).is_some() => count::iterate(node, scan, (*count).as_mut().expect("it is there"), slot),
            _ => Scan::next(&raw mut (*node).ss, scan, slot),
        }
        slot
    }
}

impl Scan {
    /// Opens the source, in the current memory context, which must be the query's.
    ///
    /// # Errors
    /// As for [`Reader::open`].
    ///
    /// # Safety
    /// As for [`Reader::open`]; `state` must be the scan's, and the clauses its own.
    pub(crate) unsafe fn open(
        state: *mut pg_sys::ScanState,
        opening: &Opening,
        wanted: Wanted,
        clauses: Clauses,
    ) -> *mut Scan {
        // SAFETY: the caller's promise.
        unsafe {
            let parameters = (!clauses.list.is_null()).then(|| Parameters::of(clauses, state));
            let scan: *mut Scan = pg_sys::palloc(size_of::<Scan>()).cast();
            let reader = Reader::open(opening, wanted);
            let (opening, relation) = (*opening, opening.relation);
            scan.write(Scan { relation, opening, wanted, parameters, reader, pending: 0, count: None });
            scan
        }
    }

    /// Puts the next row into the slot, or none at the end.
    ///
    /// # Safety
    /// `node` must be a scan in progress, `scan` its state; nothing with a destructor on the caller's frames.
    pub(crate) unsafe fn next(node: *mut pg_sys::ScanState, scan: *mut Scan, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: the caller's promise.
        unsafe {
            if (*scan).pending == 0 {
                Self::decide(node, scan);
                match Reader::next((*scan).reader, slot) {
                    Found::Rows(rows) => (*scan).pending = rows,
                    Found::Row | Found::End => return,
                }
            }
            (*scan).pending -= 1;
            pg_raw::clear_slot(slot);
            let columns = (*(*slot).tts_tupleDescriptor).natts.unsigned_abs() as usize;
            std::slice::from_raw_parts_mut((*slot).tts_isnull, columns).fill(true);
            pg_raw::ExecStoreVirtualTuple(slot);
        }
    }

    /// Behind the first row: who reads on?
    ///
    /// # Safety
    /// As for `next`.
    pub(super) unsafe fn decide(node: *mut pg_sys::ScanState, scan: *mut Scan) {
        // SAFETY: the caller's promise.
        unsafe {
            if (*(*scan).reader).is_undecided() {
                let filter = (*scan).parameters.and_then(|parameters| parameters.filter(node));
                Reader::decide((*scan).reader, filter, Vec::new());
            }
        }
    }

    /// Starts over from the first record.
    ///
    /// # Errors
    /// As for [`Reader::open`] and [`Reader::end`].
    ///
    /// # Safety
    /// As for `next`.
    pub(crate) unsafe fn rescan(node: *mut pg_sys::ScanState, scan: *mut Scan) {
        // SAFETY: the caller's promise; the new reader must outlive this call, so it is made in the query's memory.
        unsafe {
            Self::end_reader(node, scan);
            (*scan).pending = 0;
            let caller = pg_sys::MemoryContextSwitchTo((*(*node).ps.state).es_query_cxt);
            (*scan).reader = Reader::open(&(*scan).opening, (*scan).wanted);
            if let Some(count) = &mut (*scan).count {
                count.rescan();
            }
            pg_sys::MemoryContextSwitchTo(caller);
        }
    }

    /// Ends the reader, of whose memory no slot may hold a row then.
    ///
    /// # Errors
    /// As for [`Reader::end`].
    ///
    /// # Safety
    /// As for `next`; the scan is not used again before a rescan.
    pub(crate) unsafe fn end_reader(node: *mut pg_sys::ScanState, scan: *mut Scan) {
        // SAFETY: the caller's promise.
        unsafe {
            pg_sys::ExecClearTuple((*node).ss_ScanTupleSlot);
            if let Some(count) = &mut (*scan).count {
                count.clear();
            }
            Reader::end((*scan).reader, "scan");
        }
    }

    /// What the scan has done so far; `None` if it has not begun.
    pub(crate) fn run(&self) -> Option<Run> {
        // SAFETY: the reader lives as long as the scan.
        unsafe { (*self.reader).run("scan") }
    }
}

/// ReScanForeignScan: starts over from the first record.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn rescan(node: *mut pg_sys::ForeignScanState) {
    // SAFETY: `begin` has run.
    unsafe { Scan::rescan(&raw mut (*node).ss, (*node).fdw_state.cast()) }
}

/// EndForeignScan: closes the file, if `begin` opened one.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn end(node: *mut pg_sys::ForeignScanState) {
    // SAFETY: the state is null or what `begin` made.
    unsafe {
        let scan = (*node).fdw_state.cast::<Scan>();
        if scan.is_null() {
            return;
        }
        Scan::end_reader(&raw mut (*node).ss, scan);
        if let Some(count) = &mut (*scan).count {
            count.end();
            pg_sys::table_close((*scan).relation, pg_sys::NoLock.cast_signed());
        }
    }
}
