//! Planning `fastcsv_read`: where it stands in FROM, its scan takes the place of a function scan.
//!
//! A function scan converts every column, checks conditions row by row, and keeps all rows before the first is used. So
//! when the planner has made its paths for a function of ours, a path of our own replaces them ([`offer`]): like a
//! foreign scan it knows which columns are needed, and which conditions the threads can decide. It is left alone where
//! an argument's value is not the same for the whole scan, and where rows are wanted as a whole, which a scan of this
//! kind cannot hand on.

#![expect(unsafe_code, reason = "planner callbacks, which receive and build nodes by pointer")]

use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::constant_name;
use super::scan::{Methods, SCAN_METHODS};
use crate::fdw::{filter, plan as fdw_plan};
use crate::files;
use crate::load::may_read_server_files;
use crate::options::Source;
use crate::types;

/// The hook of the library that was loaded before; set once, when this one is loaded.
static mut NEXT: pg_sys::set_rel_pathlist_hook_type = None;

/// Pages assumed of a file that cannot be looked at.
const UNKNOWN_PAGES: f64 = 10.0;

/// The language C in the catalogs.
const C_LANGUAGE: u32 = 13;

unsafe extern "C-unwind" {
    /// The entry point that PostgreSQL knows by this name.
    fn fastcsv_read(frame: pg_sys::FunctionCallInfo) -> pg_sys::Datum;
}

/// CPU cost of a record in heap tuples, as of a foreign table's.
const PARSE_COST_FACTOR: f64 = 10.0;

static PATH_METHODS: Methods<pg_sys::CustomPathMethods> = Methods(pg_sys::CustomPathMethods {
    CustomName: super::scan::NAME.as_ptr(),
    PlanCustomPath: Some(make_plan),
    ReparameterizeCustomPathByChild: None,
});

/// Takes its place in the planner. To be called once, when the library is loaded.
pub(crate) fn install() {
    // SAFETY: PostgreSQL has one thread.
    unsafe {
        NEXT = pg_sys::set_rel_pathlist_hook;
        pg_sys::set_rel_pathlist_hook = Some(add_path);
    }
}

/// The hook: called with each relation of a query, when all of PostgreSQL's paths for it are there.
#[pg_guard]
unsafe extern "C-unwind" fn add_path(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    index: pg_sys::Index,
    entry: *mut pg_sys::RangeTblEntry,
) {
    // SAFETY: the planner passes valid nodes.
    unsafe {
        if let Some(next) = (&raw const NEXT).read() {
            next(root, relation, index, entry);
        }
        let uses_whole_row = |used| pg_sys::bms_is_member(-pg_sys::FirstLowInvalidHeapAttributeNumber, used);
        if let Some(function) = function_of(entry)
            && (*relation).lateral_relids.is_null()
            && !uses_whole_row(fdw_plan::used_attributes(relation))
        {
            offer(root, relation, function);
        }
    }
}

/// The call, if all that the entry is about is a call of our function whose arguments are the same for the whole scan.
///
/// # Safety
/// The entry must be alive.
unsafe fn function_of(entry: *mut pg_sys::RangeTblEntry) -> Option<*mut pg_sys::FuncExpr> {
    // SAFETY: the caller's promise. A function is known by the address that its symbol has in this library.
    unsafe {
        if (*entry).rtekind != pg_sys::RTEKind::RTE_FUNCTION
            || (*entry).funcordinality
            || pg_sys::list_length((*entry).functions) != 1
        {
            return None;
        }
        let function = pg_sys::list_nth((*entry).functions, 0).cast::<pg_sys::RangeTblFunction>();
        let call = (*function).funcexpr;
        if (*call).type_ != pg_sys::NodeTag::T_FuncExpr || (*function).funccolnames.is_null() {
            return None;
        }
        let call = call.cast::<pg_sys::FuncExpr>();
        let mut manager = pg_sys::FmgrInfo::default();
        if !is_in_c((*call).funcid) {
            return None;
        }
        pg_sys::fmgr_info((*call).funcid, &mut manager);
        let is_ours = manager.fn_addr.is_some_and(|address| address as usize == fastcsv_read as *const () as usize);
        let arguments = (*call).args.cast();
        let is_fixed = !pg_sys::contain_var_clause(arguments)
            && !filter::has_internal_parameters((*call).args)
            && !pg_sys::contain_volatile_functions(arguments)
            && !pg_sys::contain_subplans(arguments);
        (is_ours && is_fixed).then_some(call)
    }
}

/// Is the function written in C? Only of such a one the address tells anything.
fn is_in_c(function: pg_sys::Oid) -> bool {
    // SAFETY: a catalog lookup; the row is released.
    unsafe {
        let (cache, none) = (pg_sys::SysCacheIdentifier::PROCOID.cast_signed(), pg_sys::Datum::from(0));
        let row = pg_sys::SearchSysCache(cache, pg_sys::Datum::from(function), none, none, none);
        if row.is_null() {
            return false;
        }
        let language = (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_proc>()).prolang;
        pg_sys::ReleaseSysCache(row);
        language == pg_sys::Oid::from(C_LANGUAGE)
    }
}

/// Puts our path in the place of those that are there.
///
/// # Safety
/// All must be the planner's.
unsafe fn offer(root: *mut pg_sys::PlannerInfo, relation: *mut pg_sys::RelOptInfo, call: *mut pg_sys::FuncExpr) {
    // SAFETY: the caller's promise.
    unsafe {
        let (pages, tuples) = size(relation, call);
        let selectivity = pg_sys::clauselist_selectivity(
            root,
            (*relation).baserestrictinfo,
            0,
            pg_sys::JoinType::JOIN_INNER,
            std::ptr::null_mut(),
        );
        (*relation).tuples = tuples;
        (*relation).rows = pg_sys::clamp_row_est(tuples * selectivity);
        let per_tuple = pg_sys::cpu_tuple_cost * PARSE_COST_FACTOR + (*relation).baserestrictcost.per_tuple;
        let mut path = pgrx::PgBox::<pg_sys::CustomPath>::alloc_node(pg_sys::NodeTag::T_CustomPath);
        path.path.pathtype = pg_sys::NodeTag::T_CustomScan;
        path.path.parent = relation;
        path.path.pathtarget = (*relation).reltarget;
        path.path.rows = (*relation).rows;
        path.path.startup_cost = (*relation).baserestrictcost.startup;
        path.path.total_cost = path.path.startup_cost + pg_sys::seq_page_cost * pages + per_tuple * tuples;
        path.flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION;
        path.custom_private = pg_sys::lappend(std::ptr::null_mut(), call.cast());
        path.methods = &raw const PATH_METHODS.0;
        ((*relation).pathlist, (*relation).partial_pathlist) = (std::ptr::null_mut(), std::ptr::null_mut());
        pg_sys::add_path(relation, path.into_pg().cast());
    }
}

/// Pages and rows of the file, as of a foreign table that was never analyzed. Of a file that the user may not read,
/// nothing is told.
///
/// # Safety
/// Both must be the planner's.
unsafe fn size(relation: *mut pg_sys::RelOptInfo, call: *mut pg_sys::FuncExpr) -> (f64, f64) {
    // SAFETY: the caller's promise.
    unsafe {
        let size = match constant_name(call) {
            Some(name) if may_read_server_files() => files::size_of(Source::file(name)).map(|size| size.bytes),
            _ => None,
        };
        let pages = size.map_or(UNKNOWN_PAGES, fdw_plan::pages_of);
        let bytes = size.map_or(UNKNOWN_PAGES * f64::from(pg_sys::BLCKSZ), |size| size as f64);
        (pages, pg_sys::clamp_row_est(bytes / f64::from(fdw_plan::row_width((*relation).reltarget))))
    }
}

/// PlanCustomPath: the plan node.
#[pg_guard]
unsafe extern "C-unwind" fn make_plan(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    path: *mut pg_sys::CustomPath,
    targets: *mut pg_sys::List,
    clauses: *mut pg_sys::List,
    _children: *mut pg_sys::List,
) -> *mut pg_sys::Plan {
    // SAFETY: the planner passes valid nodes, whose numbers in the range table count from 1.
    unsafe {
        let entry = *(*root).simple_rte_array.add((*relation).relid as usize);
        let function = pg_sys::list_nth((*entry).functions, 0).cast::<pg_sys::RangeTblFunction>();
        let columns = Columns::of(function, (*relation).relid);
        let used = fdw_plan::used_attributes(relation);
        let mut scan = pgrx::PgBox::<pg_sys::CustomScan>::alloc_node(pg_sys::NodeTag::T_CustomScan);
        scan.scan.plan.targetlist = targets;
        scan.custom_exprs = match columns.converts_all(used) {
            true => filter::pushable(clauses, (*relation).relid, pg_sys::InvalidOid),
            false => std::ptr::null_mut(),
        };
        scan.scan.plan.qual = pg_sys::extract_actual_clauses(clauses, false);
        scan.flags = (*path).flags;
        scan.custom_scan_tlist = columns.targets();
        let call = pg_sys::list_nth((*path).custom_private, 0);
        scan.custom_private = pg_sys::lappend(pg_sys::lappend(std::ptr::null_mut(), call), columns.needed(used).cast());
        scan.methods = &raw const SCAN_METHODS.0;
        scan.into_pg().cast()
    }
}

/// The columns of the definition list.
struct Columns {
    function: *mut pg_sys::RangeTblFunction,
    /// The function's number in Vars.
    varno: pg_sys::Index,
    count: i32,
}

impl Columns {
    /// # Safety
    /// The function must have a definition list and live as long.
    unsafe fn of(function: *mut pg_sys::RangeTblFunction, varno: pg_sys::Index) -> Columns {
        // SAFETY: the caller's promise.
        Columns { function, varno, count: unsafe { pg_sys::list_length((*function).funccolnames) } }
    }

    /// Name, type and modifier of a column, counted from 0.
    fn column(&self, index: i32) -> (*mut pg_sys::Node, pg_sys::Oid, i32) {
        // SAFETY: the lists have an element for each column.
        unsafe {
            let function = self.function;
            (
                pg_sys::list_nth((*function).funccolnames, index).cast(),
                pg_sys::list_nth_oid((*function).funccoltypes, index),
                pg_sys::list_nth_int((*function).funccoltypmods, index),
            )
        }
    }

    /// What the scan's rows hold: all columns, in their order.
    ///
    /// # Safety
    /// As for [`Columns::of`].
    unsafe fn targets(&self) -> *mut pg_sys::List {
        let mut targets = PgList::<pg_sys::TargetEntry>::new();
        for index in 0..self.count {
            let (name, kind, modifier) = self.column(index);
            // SAFETY: the caller's promise; allocates nodes.
            unsafe {
                let number = (index + 1) as pg_sys::AttrNumber;
                let collation = pg_sys::list_nth_oid((*self.function).funccolcollations, index);
                let column = pg_sys::makeVar(self.varno as i32, number, kind, modifier, collation, 0);
                let name = (*name.cast::<pg_sys::String>()).sval;
                targets.push(pg_sys::makeTargetEntry(column.cast(), number, name, false));
            }
        }
        targets.into_pg()
    }

    /// Is the column, counted from 0, among the attributes used?
    fn is_used(used: *mut pg_sys::Bitmapset, index: i32) -> bool {
        // SAFETY: a set of attribute numbers.
        unsafe { pg_sys::bms_is_member(index + 1 - pg_sys::FirstLowInvalidHeapAttributeNumber, used) }
    }

    /// Can the threads convert every column that is used? See the foreign scan's of this name.
    fn converts_all(&self, used: *mut pg_sys::Bitmapset) -> bool {
        (0..self.count).all(|index| {
            let (_, kind, modifier) = self.column(index);
            // SAFETY: a type of the catalogs.
            !Self::is_used(used, index) || unsafe { types::kind_of(kind, modifier) }.is_some()
        })
    }

    /// The names of the columns that must be converted, in a list.
    ///
    /// # Safety
    /// As for [`Columns::of`].
    unsafe fn needed(&self, used: *mut pg_sys::Bitmapset) -> *mut pg_sys::List {
        let mut names = PgList::<pg_sys::Node>::new();
        for index in (0..self.count).filter(|&index| Self::is_used(used, index)) {
            names.push(self.column(index).0);
        }
        names.into_pg()
    }
}
