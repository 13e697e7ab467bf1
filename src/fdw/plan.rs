//! Planning a scan: how many rows, what they cost, and which columns are needed at all.
//!
//! Estimates follow `file_fdw`'s: the file's size against the density an ANALYZE found, else against the width the
//! planner expects of a row; a row costs ten times a heap tuple's CPU, for parsing.

#![expect(unsafe_code, reason = "planner callbacks, which receive and build nodes by pointer")]

use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::{count, filter};
use crate::archive;
use crate::files;
use crate::options::{TableOptions, is_binary, name_node};
use crate::pg_compat::{self, PathParts};
use crate::types;

/// Pages assumed of a file that cannot be looked at, or of a program's output.
const UNKNOWN_PAGES: u64 = 10;

/// CPU cost of a record in heap tuples.
const PARSE_COST_FACTOR: f64 = 10.0;

/// How much more a compressed file is taken to hold than its size, while no ANALYZE has counted its rows.
const COMPRESSION_FACTOR: f64 = 4.0;

/// Bytes of a heap tuple's header without its null bitmap.
const HEAP_TUPLE_HEADER: i32 = std::mem::offset_of!(pg_sys::HeapTupleHeaderData, t_bits) as i32;

/// What planning a table's scan found out, kept in `RelOptInfo.fdw_private` between the callbacks.
struct Estimate {
    pages: f64,
    tuples: f64,
}

/// GetForeignRelSize: sets the number of rows the scan is expected to return.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn estimate_size(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    table: pg_sys::Oid,
) {
    // SAFETY: the planner passes valid nodes and holds a lock on the table.
    unsafe {
        let source = TableOptions::of(table).source;
        let unknown = UNKNOWN_PAGES * u64::from(pg_sys::BLCKSZ);
        let found = if source.is_program { None } else { files::size_of(source) };
        let size = found.as_ref().map_or(unknown, |found| found.bytes);
        let pages = pages_of(size);
        let tuples = if (*relation).tuples >= 0.0 && (*relation).pages > 0 {
            pg_sys::clamp_row_est((*relation).tuples / f64::from((*relation).pages) * pages)
        } else {
            let is_compressed = found.is_some_and(|found| archive::format_at(found.first).is_some());
            let factor = if is_compressed { COMPRESSION_FACTOR } else { 1.0 };
            pg_sys::clamp_row_est(size as f64 * factor / f64::from(row_width((*relation).reltarget)))
        };
        let selectivity = pg_sys::clauselist_selectivity(
            root,
            (*relation).baserestrictinfo,
            0,
            pg_sys::JoinType::JOIN_INNER,
            std::ptr::null_mut(),
        );
        (*relation).rows = pg_sys::clamp_row_est(tuples * selectivity);
        let estimate: *mut Estimate = pg_sys::palloc(size_of::<Estimate>()).cast();
        estimate.write(Estimate { pages, tuples });
        (*relation).fdw_private = estimate.cast();
    }
}

/// Bytes that a heap tuple with these values is expected to have.
///
/// # Safety
/// The target must be the planner's.
pub(crate) unsafe fn row_width(target: *const pg_sys::PathTarget) -> i32 {
    // SAFETY: the caller's promise.
    aligned(unsafe { (*target).width }) + aligned(HEAP_TUPLE_HEADER)
}

/// Rounded up to PostgreSQL's widest alignment.
fn aligned(width: i32) -> i32 {
    let align = pg_sys::MAXIMUM_ALIGNOF as i32;
    (width + align - 1) / align * align
}

/// The file's size in PostgreSQL's pages, at least 1 so that "never analyzed" can be told apart.
pub(crate) fn pages_of(size: u64) -> f64 {
    size.div_ceil(u64::from(pg_sys::BLCKSZ)).clamp(1, u64::from(u32::MAX - 1)) as f64
}

/// GetForeignPaths: the one way to scan, from the first record to the last.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn add_paths(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    table: pg_sys::Oid,
) {
    // SAFETY: the planner passes valid nodes; `estimate_size` has run before and left its estimate.
    unsafe {
        let estimate = &*(*relation).fdw_private.cast::<Estimate>();
        let per_tuple = pg_sys::cpu_tuple_cost * PARSE_COST_FACTOR + (*relation).baserestrictcost.per_tuple;
        let startup_cost = (*relation).baserestrictcost.startup;
        let total_cost = startup_cost + pg_sys::seq_page_cost * estimate.pages + per_tuple * estimate.tuples;
        let parts = PathParts {
            rows: (*relation).rows,
            startup_cost,
            total_cost,
            private: needed_columns(relation, table).into_list(),
        };
        pg_sys::add_path(relation, pg_compat::foreign_scan_path(root, relation, &parts));
    }
}

/// What the plan keeps for the executor, as a list of nodes that can be copied.
#[derive(Clone, Copy)]
pub(super) struct Private {
    /// COPY's option that names the columns to convert, alone in a list; or no list where all of them are needed.
    pub(super) options: *mut pg_sys::List,
    /// Whether no column is needed, so that only the number of rows matters.
    pub(super) count_only: bool,
    /// The conditions of a scan that counts; others have theirs in `fdw_exprs`.
    pub(super) clauses: *mut pg_sys::List,
    /// The table's number in the Vars of these.
    pub(super) varno: pg_sys::Index,
}

impl Private {
    /// # Safety
    /// The list must come from [`Private::into_list`].
    pub(super) unsafe fn of(list: *mut pg_sys::List) -> Private {
        // SAFETY: the caller's promise.
        unsafe {
            let number = |index| (*pg_sys::list_nth(list, index).cast::<pg_sys::Integer>()).ival;
            Private {
                options: pg_sys::list_nth(list, 0).cast(),
                count_only: number(1) != 0,
                clauses: pg_sys::list_nth(list, 2).cast(),
                varno: number(3).cast_unsigned(),
            }
        }
    }

    pub(super) fn into_list(self) -> *mut pg_sys::List {
        // SAFETY: allocates nodes.
        unsafe {
            let count_only = pg_sys::makeInteger(i32::from(self.count_only));
            let varno = pg_sys::makeInteger(self.varno.cast_signed());
            let list = pg_sys::lappend(std::ptr::null_mut(), self.options.cast());
            let list = pg_sys::lappend(list, count_only.cast());
            let list = pg_sys::lappend(list, self.clauses.cast());
            pg_sys::lappend(list, varno.cast())
        }
    }
}

/// Is the node a scan that counts, rather than one of a table's rows?
///
/// # Safety
/// `node` must be a scan of this wrapper.
pub(super) unsafe fn is_count(node: *mut pg_sys::ForeignScanState) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*(*node).ss.ps.plan.cast::<pg_sys::ForeignScan>()).scan.scanrelid == 0 }
}

/// The number of the scanned table in the plan's range table.
///
/// # Safety
/// As for `is_count`.
pub(super) unsafe fn scanned_index(node: *mut pg_sys::ForeignScanState) -> i32 {
    // SAFETY: the caller's promise. A scan that counts is over one table.
    unsafe {
        let plan = (*node).ss.ps.plan.cast::<pg_sys::ForeignScan>();
        match (*plan).scan.scanrelid {
            0 => pg_sys::bms_next_member((*plan).fs_relids, -1),
            relid => relid.cast_signed(),
        }
    }
}

/// The scanned table.
///
/// # Safety
/// As for `is_count`, and the plan must have been made ready to run.
pub(super) unsafe fn scanned_table(node: *mut pg_sys::ForeignScanState) -> pg_sys::Oid {
    // SAFETY: the caller's promise; the range table has an entry of that number, counted from 1.
    unsafe {
        let entries = (*(*node).ss.ps.state).es_range_table;
        (*pg_sys::list_nth(entries, scanned_index(node) - 1).cast::<pg_sys::RangeTblEntry>()).relid
    }
}

/// The columns that the scan must convert.
///
/// As in `file_fdw`: a scan that needs no column at all names none, which COPY takes for all; and rows of the binary
/// format cannot be converted in part.
///
/// # Safety
/// `relation` must be the planner's and a lock on `table` be held.
unsafe fn needed_columns(relation: *mut pg_sys::RelOptInfo, table: pg_sys::Oid) -> Private {
    let everything =
        Private { options: std::ptr::null_mut(), count_only: false, clauses: std::ptr::null_mut(), varno: 0 };
    // SAFETY: the caller's promise.
    unsafe {
        if is_binary(TableOptions::of(table).copy) {
            return everything;
        }
        let used = used_attributes(relation);
        let heap = pg_sys::table_open(table, pg_sys::AccessShareLock.cast_signed());
        let is_used = |number: i16| {
            let bit = i32::from(number) - pg_sys::FirstLowInvalidHeapAttributeNumber;
            pg_sys::bms_is_member(bit, used)
        };
        let mut names = PgList::<pg_sys::Node>::new();
        let mut present = 0;
        for attribute in pg_compat::attributes((*heap).rd_att) {
            present += usize::from(!attribute.attisdropped);
            // COPY does not take generated columns in a column list.
            if is_used(attribute.attnum) && !attribute.attisdropped && attribute.attgenerated == 0 {
                names.push(name_node(attribute));
            }
        }
        pg_sys::table_close(heap, pg_sys::AccessShareLock.cast_signed());
        let whole_row = is_used(0);
        if whole_row || names.len() == present {
            return everything;
        }
        let count_only = names.is_empty();
        let option = pg_sys::makeDefElem(c"convert_selectively".as_ptr().cast_mut(), names.into_pg().cast(), -1);
        Private { options: pg_sys::lappend(std::ptr::null_mut(), option.cast()), count_only, ..everything }
    }
}

/// Can the threads convert every column that the scan must convert? A row whose values only PostgreSQL can judge must
/// reach it, even if a condition refuses the row: one of them may be an error.
///
/// # Safety
/// As for `needed_columns`.
unsafe fn converts_all(relation: *mut pg_sys::RelOptInfo, table: pg_sys::Oid) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let used = used_attributes(relation);
        let is_used = |number: i32| pg_sys::bms_is_member(number - pg_sys::FirstLowInvalidHeapAttributeNumber, used);
        let whole_row = is_used(0);
        let heap = pg_sys::table_open(table, pg_sys::AccessShareLock.cast_signed());
        let converts_all = pg_compat::attributes((*heap).rd_att).iter().all(|attribute| {
            let is_needed = !attribute.attisdropped
                && attribute.attgenerated == 0
                && (whole_row || is_used(i32::from(attribute.attnum)));
            !is_needed || types::kind_of(attribute.atttypid, attribute.atttypmod).is_some()
        });
        pg_sys::table_close(heap, pg_sys::AccessShareLock.cast_signed());
        converts_all
    }
}

/// The attributes that the query's output, joins and conditions use.
///
/// # Safety
/// `relation` must be the planner's.
pub(crate) unsafe fn used_attributes(relation: *mut pg_sys::RelOptInfo) -> *mut pg_sys::Bitmapset {
    let mut used = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::pull_varattnos((*(*relation).reltarget).exprs.cast(), (*relation).relid, &mut used);
        for condition in PgList::<pg_sys::RestrictInfo>::from_pg((*relation).baserestrictinfo).iter_ptr() {
            pg_sys::pull_varattnos((*condition).clause.cast(), (*relation).relid, &mut used);
        }
    }
    used
}

/// GetForeignPlan: the plan node. The executor checks every condition; those that the worker's threads can decide are
/// handed to them too.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn make_plan(
    _root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    table: pg_sys::Oid,
    best_path: *mut pg_sys::ForeignPath,
    targets: *mut pg_sys::List,
    conditions: *mut pg_sys::List,
    outer_plan: *mut pg_sys::Plan,
) -> *mut pg_sys::ForeignScan {
    let none = std::ptr::null_mut();
    // SAFETY: the planner passes valid nodes.
    unsafe {
        let private = (*best_path).fdw_private;
        if (*relation).reloptkind == pg_sys::RelOptKind::RELOPT_UPPER_REL {
            return count::make_plan(relation, private, targets);
        }
        let pushed = match converts_all(relation, table) {
            true => filter::pushable(conditions, (*relation).relid, table),
            false => none,
        };
        let conditions = pg_sys::extract_actual_clauses(conditions, false);
        pg_sys::make_foreignscan(targets, conditions, (*relation).relid, pushed, private, none, none, outer_plan)
    }
}

/// IsForeignScanParallelSafe: reading a file in one of PostgreSQL's parallel workers works as it does in the leader.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn is_parallel_safe(
    _root: *mut pg_sys::PlannerInfo,
    _relation: *mut pg_sys::RelOptInfo,
    _entry: *mut pg_sys::RangeTblEntry,
) -> bool {
    true
}
