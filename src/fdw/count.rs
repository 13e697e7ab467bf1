//! `count(*)`, answered by counting.
//!
//! A query that asks a foreign table for nothing but the number of its rows, or of those that satisfy conditions the
//! worker's threads can decide, gets a plan of one node: a foreign scan that *is* the aggregate and returns one row.
//! The threads then ship no row at all. Where the file is read serially, and for records that the threads leave to
//! PostgreSQL, this node checks the conditions as the executor would have.

#![expect(unsafe_code, reason = "planner and executor callbacks, which receive nodes by pointer")]

use std::ffi::{c_char, c_void};

use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::filter::{self, Clauses};
use super::plan::{self, Private};
use super::scan::Scan;
use crate::pg_compat::{self, PathParts};
use crate::pg_raw;
use crate::reader::{Found, Reader};

/// `count(*)`.
const COUNT_STAR: u32 = 2803;

/// `count(expression)`.
const COUNT_ANY: u32 = 2147;

/// GetForeignUpperPaths: for an aggregation that only counts, the path that does it.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn add_paths(
    root: *mut pg_sys::PlannerInfo,
    stage: pg_sys::UpperRelationKind::Type,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    _extra: *mut c_void,
) {
    // SAFETY: the planner passes valid nodes; the input's table is locked.
    unsafe {
        let is_plain_table = (*input).reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL;
        if stage != pg_sys::UpperRelationKind::UPPERREL_GROUP_AGG || !is_plain_table || !only_counts(root, output) {
            return;
        }
        let entry = *(*root).simple_rte_array.add((*input).relid as usize);
        let Some(clauses) = filter::decided((*input).baserestrictinfo, (*input).relid, (*entry).relid) else { return };
        if filter::has_internal_parameters(clauses) {
            return;
        }
        let scan = (*input).cheapest_total_path;
        if scan.is_null() || (*scan).type_ != pg_sys::NodeTag::T_ForeignPath {
            return;
        }
        let private = Private::of((*scan.cast::<pg_sys::ForeignPath>()).fdw_private);
        let private = Private { count_only: true, clauses, varno: (*input).relid, ..private };
        let total_cost = (*scan).total_cost;
        let parts = PathParts { rows: 1.0, startup_cost: total_cost, total_cost, private: private.into_list() };
        pg_sys::add_path(output, pg_compat::foreign_upper_path(root, output, &parts));
    }
}

/// Is the aggregation one over all rows, of counts and nothing else?
///
/// # Safety
/// Both must be the planner's.
unsafe fn only_counts(root: *mut pg_sys::PlannerInfo, output: *mut pg_sys::RelOptInfo) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let query = (*root).parse;
        let plain = (*query).groupClause.is_null()
            && (*query).groupingSets.is_null()
            && (*query).havingQual.is_null()
            && !(*query).hasTargetSRFs;
        let targets = PgList::<pg_sys::Node>::from_pg((*(*output).reltarget).exprs);
        plain && !targets.is_empty() && targets.iter_ptr().all(|target| counts_rows(target))
    }
}

/// Is the expression a plain `count(*)`, or `count` of a constant?
///
/// # Safety
/// `node` must be an expression.
unsafe fn counts_rows(node: *mut pg_sys::Node) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        if (*node).type_ != pg_sys::NodeTag::T_Aggref {
            return false;
        }
        let aggregate = node.cast::<pg_sys::Aggref>();
        let plain = (*aggregate).aggfilter.is_null()
            && (*aggregate).aggdistinct.is_null()
            && (*aggregate).aggorder.is_null()
            && (*aggregate).agglevelsup == 0
            && (*aggregate).aggsplit == pg_sys::AggSplit::AGGSPLIT_SIMPLE;
        let arguments = PgList::<pg_sys::TargetEntry>::from_pg((*aggregate).args);
        let of_constant = || {
            arguments.len() == 1
                && arguments.iter_ptr().all(|argument| {
                    let value = (*argument).expr.cast::<pg_sys::Const>();
                    (*value).xpr.type_ == pg_sys::NodeTag::T_Const && !(*value).constisnull
                })
        };
        plain
            && match (*aggregate).aggfnoid.to_u32() {
                COUNT_STAR => (*aggregate).aggstar,
                COUNT_ANY => of_constant(),
                _ => false,
            }
    }
}

/// GetForeignPlan for such a path.
///
/// # Safety
/// All must be the planner's.
pub(super) unsafe fn make_plan(
    relation: *mut pg_sys::RelOptInfo,
    private: *mut pg_sys::List,
    targets: *mut pg_sys::List,
) -> *mut pg_sys::ForeignScan {
    let none = std::ptr::null_mut();
    // SAFETY: the caller's promise. The scan's tuples are the counts, one for each aggregate.
    unsafe {
        let tuple = pg_sys::add_to_flat_tlist(none, (*(*relation).reltarget).exprs);
        pg_sys::make_foreignscan(targets, none, 0, none, private, tuple, none, std::ptr::null_mut())
    }
}

/// What counting needs while it runs; plain pointers into the query's memory.
#[derive(Clone, Copy)]
pub(super) struct Count {
    /// For the rows that come as rows.
    slot: *mut pg_sys::TupleTableSlot,
    /// The conditions, for those rows.
    conditions: *mut pg_sys::ExprState,
    expressions: *mut pg_sys::ExprContext,
    is_done: bool,
}

impl Count {
    /// # Safety
    /// `node` must be a scan that begins, in the query's memory.
    pub(super) unsafe fn begin(
        node: *mut pg_sys::ForeignScanState,
        relation: pg_sys::Relation,
        clauses: Clauses,
    ) -> Count {
        // SAFETY: the caller's promise.
        unsafe {
            Count {
                slot: pg_sys::MakeSingleTupleTableSlot((*relation).rd_att, &raw const pg_sys::TTSOpsHeapTuple),
                conditions: pg_sys::ExecInitQual(clauses.list, node.cast()),
                expressions: pg_sys::CreateExprContext((*node).ss.ps.state),
                is_done: false,
            }
        }
    }

    /// Forgets the row in the slot.
    pub(super) fn clear(&mut self) {
        // SAFETY: the slot lives until `end`.
        unsafe { pg_sys::ExecClearTuple(self.slot) };
    }

    /// Starts over.
    pub(super) fn rescan(&mut self) {
        self.is_done = false;
    }

    pub(super) fn end(&mut self) {
        // SAFETY: `begin` made it, and it is not used again.
        unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.slot) };
    }

    /// Does the row in the slot satisfy the conditions?
    ///
    /// # Safety
    /// The scan must be running; nothing with a destructor on the caller's frames.
    unsafe fn passes(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            if self.conditions.is_null() {
                return true;
            }
            pg_sys::MemoryContextReset((*self.expressions).ecxt_per_tuple_memory);
            (*self.expressions).ecxt_scantuple = self.slot;
            let evaluate = (*self.conditions).evalfunc.expect("an initialised expression can be evaluated");
            let mut is_null = false;
            let caller = pg_sys::MemoryContextSwitchTo((*self.expressions).ecxt_per_tuple_memory);
            let value = evaluate(self.conditions, self.expressions, &mut is_null);
            pg_sys::MemoryContextSwitchTo(caller);
            value.value() != 0
        }
    }
}

/// IterateForeignScan: counts all rows at the first call, and has nothing at the second.
///
/// # Safety
/// As for [`Scan::decide`]; `count` must be the scan's.
pub(super) unsafe fn iterate(
    node: *mut pg_sys::ForeignScanState,
    scan: *mut Scan,
    count: &mut Count,
    slot: *mut pg_sys::TupleTableSlot,
) {
    // SAFETY: the caller's promise.
    unsafe { pg_raw::clear_slot(slot) };
    if std::mem::replace(&mut count.is_done, true) {
        return;
    }
    // SAFETY: the caller's promise. The result has one column for each aggregate, all of the same value.
    unsafe {
        let mut total: u64 = 0;
        loop {
            pg_raw::check_for_interrupts();
            Scan::decide(&raw mut (*node).ss, scan);
            match Reader::next((*scan).reader, count.slot) {
                Found::Row => total += u64::from(count.passes()),
                Found::Rows(rows) => total += rows,
                Found::End => break,
            }
        }
        let columns = (*(*slot).tts_tupleDescriptor).natts.unsigned_abs() as usize;
        std::slice::from_raw_parts_mut((*slot).tts_values, columns).fill(pg_sys::Datum::from(total.cast_signed()));
        std::slice::from_raw_parts_mut((*slot).tts_isnull, columns).fill(false);
        pg_raw::ExecStoreVirtualTuple(slot);
    }
}

/// The conditions as EXPLAIN spells them, or `None` if there are none.
///
/// # Safety
/// Both must be what EXPLAIN passed.
pub(super) unsafe fn deparsed_conditions(
    node: *mut pg_sys::ForeignScanState,
    state: *mut pg_sys::ExplainState,
) -> Option<*mut c_char> {
    // SAFETY: the caller's promise. The Vars' number may have changed since planning; the copy gets the new one.
    unsafe {
        let clauses = Clauses::of(node);
        if clauses.list.is_null() {
            return None;
        }
        let now = plan::scanned_index(node);
        let condition = pg_sys::make_ands_explicit(pg_sys::copyObjectImpl(clauses.list.cast()).cast());
        pg_sys::ChangeVarNodes(condition.cast(), clauses.varno as i32, now, 0);
        let context = pg_sys::set_deparse_context_plan((*state).deparse_cxt, (*node).ss.ps.plan, std::ptr::null_mut());
        Some(pg_sys::deparse_expression(condition.cast(), context, (*state).verbose, false))
    }
}
