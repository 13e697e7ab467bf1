//! Conditions that the converting threads can decide: from a query's clauses to the engine's [`Filter`].
//!
//! Three steps, for a scan's three stages:
//!
//! 1. **Plan.** [`pushable`] picks the clauses that a filter can decide. They go into the plan's `fdw_exprs`, where
//!    PostgreSQL adjusts them as it does all of a plan's expressions, *and stay in its quals*: the executor checks again
//!    what it is given. So a filter may pass too much; what it must never do is hold back a row that the executor would
//!    have returned, or on which it would have raised an error.
//! 2. **Begin.** [`Parameters::of`] prepares the parameters in these clauses for evaluation.
//! 3. **First row**, again after each rescan. [`Parameters::filter`] makes the filter, with the parameters' values of
//!    that moment. Not earlier: the value may be a subquery's, or come from the outer side of a join, and is not there
//!    yet when the scan begins.
//!
//! The filter's columns are attribute numbers (1-based); `Filter::columns` lists them and `Filter::with_columns`
//! renumbers them. EXPLAIN's line is [`deparsed`].
//!
//! A clause is read node by node in `translate.rs`, the same way at each stage, with more or less known of its
//! parameters. What an operator means is told in `operator.rs`, by its oid and place in PostgreSQL's own operator
//! families, never by its name.

#![expect(unsafe_code, reason = "walks the planner's and the executor's nodes")]

mod harmless;
mod operator;
mod translate;
mod value;

use std::ffi::c_char;

use fastcsv_engine::filter::{Condition, Filter};
use pgrx::pg_sys;

use super::plan::{self, Private};
use translate::{Given, Translator};
pub(crate) use value::datum;

/// The clauses that a filter can decide, bare and in the same order.
///
/// `clauses` are those that GetForeignPlan gets: RestrictInfos, in the order in which the executor will check them.
/// (Bare ones will do where no security barrier is.) `varno` is the relation's number in their Vars.
///
/// Two things keep a clause back that a filter could decide.
///
/// * One before it may raise an error. The executor meets that one first, on rows too that the later clause refuses, so
///   they must still reach it. (The planner puts cheap clauses first, and what a filter can decide is as cheap as any.)
/// * One before it hides rows from the user (of a view that is a security barrier, or by a policy) and is not pushed.
///   Of hidden rows only what is leakproof may be asked: EXPLAIN ANALYZE tells how many the filter refuses.
///
/// # Safety
/// `clauses` must be a list of planned boolean expressions, and `table` the locked table that they are about, or
/// invalid if that is no table.
pub(crate) unsafe fn pushable(
    clauses: *mut pg_sys::List,
    varno: pg_sys::Index,
    table: pg_sys::Oid,
) -> *mut pg_sys::List {
    let mut chosen = std::ptr::null_mut();
    let mut lowest_left = None;
    // SAFETY: the caller's promise.
    unsafe {
        let mut later = |_| Given::Later;
        let mut translator = Translator::new(varno, table, &mut later);
        for Clause { expression, security_level, leakproof } in nodes(clauses).filter_map(|node| Clause::of(node)) {
            let hidden_before = lowest_left.is_some_and(|lowest| lowest < security_level);
            if (leakproof || !hidden_before) && translator.condition(expression).is_some() {
                chosen = pg_sys::lappend(chosen, expression.cast());
            } else if harmless::is_harmless(expression) {
                lowest_left = Some(lowest_left.map_or(security_level, |lowest| security_level.min(lowest)));
            } else {
                break;
            }
        }
    }
    chosen
}

/// The clauses, bare, if a filter will decide every single one of them, whatever values its parameters will have: such
/// a filter passes what satisfies the clauses and nothing else, and no executor need check again. `None` if there is
/// one that it may leave undecided.
///
/// # Safety
/// As for [`pushable`].
pub(crate) unsafe fn decided(
    clauses: *mut pg_sys::List,
    varno: pg_sys::Index,
    table: pg_sys::Oid,
) -> Option<*mut pg_sys::List> {
    let mut chosen = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe {
        let mut later = |_| Given::Later;
        let mut translator = Translator::new(varno, table, &mut later);
        for node in nodes(clauses) {
            let expression = Clause::of(node)?.expression;
            translator.condition(expression)?;
            chosen = pg_sys::lappend(chosen, expression.cast());
        }
        translator.is_certain().then_some(chosen)
    }
}

/// A clause as the planner keeps it.
struct Clause {
    expression: *mut pg_sys::Node,
    /// Clauses of a lower level decide which rows one of a higher level may see.
    security_level: pg_sys::Index,
    /// It may see all; known only where there are levels.
    leakproof: bool,
}

impl Clause {
    /// `None` if the clause is not checked row by row.
    ///
    /// # Safety
    /// `node` must be a RestrictInfo or a boolean expression.
    unsafe fn of(node: *mut pg_sys::Node) -> Option<Clause> {
        // SAFETY: the caller's promise; the tag names the struct.
        unsafe {
            if (*node).type_ != pg_sys::NodeTag::T_RestrictInfo {
                return Some(Clause { expression: node, security_level: 0, leakproof: false });
            }
            let info = &*node.cast::<pg_sys::RestrictInfo>();
            let clause = Clause {
                expression: info.clause.cast(),
                security_level: info.security_level,
                leakproof: info.leakproof,
            };
            (!info.pseudoconstant).then_some(clause)
        }
    }
}

/// The pushed clauses of a plan.
#[derive(Clone, Copy)]
pub(crate) struct Clauses {
    /// The clauses.
    pub(crate) list: *mut pg_sys::List,
    /// The table's number in their Vars.
    pub(crate) varno: pg_sys::Index,
    table: pg_sys::Oid,
}

impl Clauses {
    /// Those of a scan of what is no table: Vars are numbers of the scan's own columns.
    pub(crate) fn of_columns(list: *mut pg_sys::List) -> Clauses {
        Clauses { list, varno: pg_sys::INDEX_VAR as pg_sys::Index, table: pg_sys::InvalidOid }
    }

    /// Those of a scan, or of one that counts.
    ///
    /// # Safety
    /// `node` must be a scan of this wrapper.
    pub(crate) unsafe fn of(node: *mut pg_sys::ForeignScanState) -> Clauses {
        // SAFETY: the caller's promise.
        unsafe {
            let plan = (*node).ss.ps.plan.cast::<pg_sys::ForeignScan>();
            let table = plan::scanned_table(node);
            if !plan::is_count(node) {
                return Clauses { list: (*plan).fdw_exprs, varno: (*plan).scan.scanrelid, table };
            }
            let private = Private::of((*plan).fdw_private);
            Clauses { list: private.clauses, varno: private.varno, table }
        }
    }
}

/// The filter of clauses without parameters that belong to no plan, as far as they can be decided.
///
/// # Safety
/// As for [`pushable`].
pub(crate) unsafe fn of_clauses(
    clauses: *mut pg_sys::List,
    varno: pg_sys::Index,
    table: pg_sys::Oid,
) -> Option<Filter> {
    // SAFETY: the caller's promise.
    unsafe {
        let list = pushable(clauses, varno, table);
        let mut none = |_| Given::Later;
        let conditions = conditions(Clauses { list, varno, table }, &mut none);
        (!conditions.is_empty()).then(|| Filter::new(Condition::all(conditions)))
    }
}

/// Is there a parameter in the clauses whose value comes from elsewhere in the plan?
///
/// # Safety
/// They must be planned expressions.
pub(crate) unsafe fn has_internal_parameters(clauses: *mut pg_sys::List) -> bool {
    // SAFETY: the caller's promise; the walker gets its own context.
    unsafe { find_internal_parameter(clauses.cast(), std::ptr::null_mut()) }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn find_internal_parameter(node: *mut pg_sys::Node, context: *mut std::ffi::c_void) -> bool {
    // SAFETY: PostgreSQL's walker passes nodes.
    unsafe {
        if node.is_null() {
            return false;
        }
        let is_parameter = (*node).type_ == pg_sys::NodeTag::T_Param;
        if is_parameter && (*node.cast::<pg_sys::Param>()).paramkind != pg_sys::ParamKind::PARAM_EXTERN {
            return true;
        }
        pg_sys::expression_tree_walker(node, Some(find_internal_parameter), context)
    }
}

/// The parameters of a scan's pushed clauses, ready to be evaluated. All of it lives in the query's memory, and nothing
/// of it has a destructor.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    /// The Params, as they stand in the clauses.
    nodes: *mut pg_sys::List,
    clauses: Clauses,
    /// Their expression states, in the same order.
    states: *mut pg_sys::List,
}

impl Parameters {
    /// For BeginForeignScan.
    ///
    /// # Safety
    /// `node` must be a scan whose clauses are what [`pushable`] chose; the current memory context must be the
    /// query's.
    pub(crate) unsafe fn of(clauses: Clauses, node: *mut pg_sys::ScanState) -> Parameters {
        let mut nodes = std::ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            let mut collect = |parameter: *mut pg_sys::Param| {
                nodes = pg_sys::lappend(nodes, parameter.cast());
                Given::Later
            };
            conditions(clauses, &mut collect);
            Parameters { nodes, clauses, states: pg_sys::ExecInitExprList(nodes, node.cast()) }
        }
    }

    /// For the first row after BeginForeignScan or ReScanForeignScan: the filter for the parameters' values as they are
    /// now, or `None` if there is nothing to decide.
    ///
    /// To evaluate a parameter may run a subquery of the user's, whose errors must come through whole: the caller must
    /// have nothing alive that has a destructor.
    ///
    /// # Safety
    /// `self` must be `of` the same scan, which is running.
    pub(crate) unsafe fn filter(self, node: *mut pg_sys::ScanState) -> Option<Filter> {
        // SAFETY: the caller's promise. The values are of no use once the filter is made, which copies them.
        unsafe {
            let context = (*node).ps.ps_ExprContext;
            let caller = pg_sys::MemoryContextSwitchTo((*context).ecxt_per_tuple_memory);
            let values = self.evaluate(context);
            let mut known = |parameter: *mut pg_sys::Param| {
                let index = nodes(self.nodes).position(|known| known == parameter.cast::<pg_sys::Node>());
                index.map_or(Given::Later, |index| *values.add(index))
            };
            let conditions = conditions(self.clauses, &mut known);
            pg_sys::MemoryContextSwitchTo(caller);
            (!conditions.is_empty()).then(|| Filter::new(Condition::all(conditions)))
        }
    }

    /// The parameters' values, in an array as long as their list, allocated in the current memory context.
    ///
    /// # Safety
    /// As for `filter`, of whose node `context` must be the expression context.
    unsafe fn evaluate(self, context: *mut pg_sys::ExprContext) -> *mut Given {
        // SAFETY: the caller's promise. The array has room for each state's value. The evaluation function is
        // PostgreSQL's and is called bare; nothing alive here has a destructor.
        unsafe {
            let values: *mut Given = pg_sys::palloc(length(self.states).max(1) * size_of::<Given>()).cast();
            for (index, state) in nodes(self.states).enumerate() {
                let state = state.cast::<pg_sys::ExprState>();
                let evaluate = (*state).evalfunc.expect("an initialised expression can be evaluated");
                let mut is_null = false;
                let value = evaluate(state, context, &mut is_null);
                values.add(index).write(if is_null { Given::Null } else { Given::Value(value) });
            }
            values
        }
    }
}

/// The conditions of a scan's pushed clauses, up to the first that cannot be decided after all: a pattern that came as
/// a parameter may be one that PostgreSQL refuses.
///
/// # Safety
/// As for [`Parameters::of`].
unsafe fn conditions(clauses: Clauses, parameter: &mut dyn FnMut(*mut pg_sys::Param) -> Given) -> Vec<Condition> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut translator = Translator::new(clauses.varno, clauses.table, parameter);
        nodes(clauses.list).map_while(|clause| translator.condition(clause)).collect()
    }
}

/// The pushed clauses as EXPLAIN spells conditions, or `None` if there are none.
///
/// For ExplainForeignScan. It relies on what EXPLAIN has done before: shown the scan's quals, among which the pushed
/// clauses are, and for that set `deparse_cxt` to this plan and to its ancestors, which only EXPLAIN knows.
///
/// # Safety
/// `node` and `state` must be what EXPLAIN passed.
pub(crate) unsafe fn deparsed(
    node: *mut pg_sys::ForeignScanState,
    state: *mut pg_sys::ExplainState,
) -> Option<*mut c_char> {
    // SAFETY: the caller's promise.
    unsafe {
        let clauses = (*(*node).ss.ps.plan.cast::<pg_sys::ForeignScan>()).fdw_exprs;
        let conjunction = || pg_sys::make_ands_explicit(clauses).cast();
        (!clauses.is_null())
            .then(|| pg_sys::deparse_expression(conjunction(), (*state).deparse_cxt, (*state).verbose, false))
    }
}

/// The nodes of a list.
///
/// # Safety
/// `list` must be a list of nodes, or null, and stay as it is while it is walked.
unsafe fn nodes(list: *mut pg_sys::List) -> impl Iterator<Item = *mut pg_sys::Node> {
    // SAFETY: the caller's promise; a list has as many cells as its length says.
    (0..unsafe { length(list) }).map(move |index| unsafe { (*(*list).elements.add(index)).ptr_value.cast() })
}

/// # Safety
/// `list` must be a list, or null.
unsafe fn length(list: *mut pg_sys::List) -> usize {
    // SAFETY: the caller's promise.
    if list.is_null() { 0 } else { usize::try_from(unsafe { (*list).length }).unwrap_or(0) }
}
