//! A query's worker filter beside its executor, as an SQL function for the tests (`tests/filters`).
//!
//! The function is not part of the extension's SQL. The tests declare it themselves, which only a superuser can:
//!
//! ```sql
//! CREATE FUNCTION filter(query text, types text[], parameters text[]) RETURNS text
//!     LANGUAGE c AS 'fastcsv', 'fastcsv_test_filter';
//! ```
//!
//! It plans the query, which must scan a fastcsv table, with parameters of the named types, and asks of every row of
//! the file both the filter made for that scan and the executor's quals. The answer is `PUSHED of CLAUSES clauses,
//! PASSED of ROWS rows, WRONG wrong: CONDITION`: how many clauses are pushed, how many rows the filter passes, of how
//! many it says what it must not, and what was pushed, as EXPLAIN spells it. It must pass what the executor returns,
//! and nothing else if every clause was pushed. Where the plan does without a scan the answer is `no scan`.

#![expect(unsafe_code, reason = "drives the planner and the executor through their C interface")]

use std::ffi::{CStr, c_char, c_int};

use fastcsv_engine::convert::{Datum, Kind};
use fastcsv_engine::filter::{Class, Filter};
use pgrx::pg_sys;

use crate::call::Call;
use crate::fdw::filter::{self, Clauses, Parameters};
use crate::types;

/// The function's body.
pub(crate) fn compare(call: &Call) -> pg_sys::Datum {
    let query = call.text(0).expect("a query is given");
    let arguments = |index| call.texts(index).unwrap_or_default();
    // SAFETY: SPI's calls in their order; the cursor and its plan live until SPI_finish.
    unsafe {
        pg_sys::SPI_connect();
        let portal = open(query, &arguments(1), &arguments(2));
        let query = (*portal).queryDesc;
        let answer = find_scan((*query).planstate).map(|node| compare_on(node, (*query).plannedstmt));
        let answer = answer.unwrap_or_else(|| "no scan".into());
        pg_sys::SPI_cursor_close(portal);
        pg_sys::SPI_finish();
        pg_sys::cstring_to_text_with_len(answer.as_ptr().cast(), answer.len() as c_int).into()
    }
}

/// Plans the query for these parameters and starts it.
///
/// # Safety
/// SPI must be connected; all strings must be C strings.
unsafe fn open(query: *const c_char, types: &[Option<*mut c_char>], values: &[Option<*mut c_char>]) -> pg_sys::Portal {
    // SAFETY: the caller's promise; the arrays are as long as the types'.
    unsafe {
        let name = |name: &Option<*mut c_char>| CStr::from_ptr(name.expect("a type has a name")).to_str();
        let mut types: Vec<pg_sys::Oid> =
            types.iter().map(|oid| pgrx::regtypein(name(oid).expect("a type's name is ASCII"))).collect();
        let read = |oid: pg_sys::Oid, text: Option<*mut c_char>| {
            let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
            pg_sys::getTypeInputInfo(oid, &mut input, &mut parameter);
            text.map_or(pg_sys::Datum::null(), |text| pg_sys::OidInputFunctionCall(input, text, parameter, -1))
        };
        let mut data: Vec<pg_sys::Datum> = types.iter().zip(values).map(|(&oid, &text)| read(oid, text)).collect();
        let nulls: Vec<c_char> = values.iter().map(|text| if text.is_none() { b'n' } else { b' ' } as c_char).collect();
        let plan = pg_sys::SPI_prepare(query, types.len() as c_int, types.as_mut_ptr());
        assert!(!plan.is_null(), "the query could not be prepared");
        pg_sys::SPI_cursor_open(std::ptr::null(), plan, data.as_mut_ptr(), nulls.as_ptr(), true)
    }
}

/// The first foreign scan of a plan.
///
/// # Safety
/// `state` must be a plan's state, or null.
unsafe fn find_scan(state: *mut pg_sys::PlanState) -> Option<*mut pg_sys::ForeignScanState> {
    if state.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the tag names the struct.
    unsafe {
        if (*state).type_ == pg_sys::NodeTag::T_ForeignScanState {
            return Some(state.cast());
        }
        find_scan((*state).lefttree).or_else(|| find_scan((*state).righttree))
    }
}

/// EXPLAIN's state when it shows a scan.
///
/// # Safety
/// `statement` must be the plan in which the scan is.
unsafe fn explain(
    statement: *mut pg_sys::PlannedStmt,
    node: *mut pg_sys::ForeignScanState,
) -> *mut pg_sys::ExplainState {
    // SAFETY: the caller's promise.
    unsafe {
        let state = pg_sys::NewExplainState();
        let relation = pg_sys::bms_make_singleton((*(*node).ss.ps.plan.cast::<pg_sys::Scan>()).scanrelid as c_int);
        let names = pg_sys::select_rtable_names_for_explain((*statement).rtable, relation);
        let context = pg_sys::deparse_context_for_plan_tree(statement, names);
        (*state).deparse_cxt = pg_sys::set_deparse_context_plan(context, (*node).ss.ps.plan, std::ptr::null_mut());
        state
    }
}

/// Asks both of every row.
///
/// # Safety
/// `node` must be a scan that has begun, and `statement` the plan that it is in.
unsafe fn compare_on(node: *mut pg_sys::ForeignScanState, statement: *mut pg_sys::PlannedStmt) -> String {
    // SAFETY: the caller's promise. The scan's own callback is called as the executor would: with per-tuple memory that
    // is reset before.
    unsafe {
        let plan = (*node).ss.ps.plan.cast::<pg_sys::ForeignScan>();
        let quals = (*plan).scan.plan.qual;
        let (pushed, clauses) = (pg_sys::list_length((*plan).fdw_exprs), pg_sys::list_length(quals));
        let caller = pg_sys::MemoryContextSwitchTo((*(*node).ss.ps.state).es_query_cxt);
        let parameters = Parameters::of(Clauses::of(node), &raw mut (*node).ss);
        pg_sys::MemoryContextSwitchTo(caller);
        let filter = parameters.filter(&raw mut (*node).ss);
        let iterate = (*(*node).fdwroutine).IterateForeignScan.expect("the wrapper can scan");
        let context = (*node).ss.ps.ps_ExprContext;
        let (mut rows, mut passed, mut wrong) = (0, 0, 0);
        loop {
            pg_sys::MemoryContextReset((*context).ecxt_per_tuple_memory);
            let slot = iterate(node);
            if u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_EMPTY != 0 {
                let condition = filter::deparsed(node, explain(statement, node));
                let condition = condition.map_or("".into(), |text| CStr::from_ptr(text).to_string_lossy());
                return format!("{pushed} of {clauses} clauses, {passed} of {rows} rows, {wrong} wrong: {condition}");
            }
            (*context).ecxt_scantuple = slot;
            let passes = filter.as_ref().is_none_or(|filter| passes(filter, slot));
            let returned = is_true((*node).ss.ps.qual, context);
            rows += 1;
            passed += i32::from(passes);
            wrong += i32::from(if pushed == clauses { passes != returned } else { returned && !passes });
        }
    }
}

/// Does the row in the slot pass the filter?
///
/// # Safety
/// The slot must hold a row of the filter's table.
unsafe fn passes(filter: &Filter, slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: the caller's promise; the filter's columns are attribute numbers of the table.
    unsafe {
        let attributes = crate::pg_compat::attributes((*slot).tts_tupleDescriptor);
        let mut row: Vec<Option<Datum>> = vec![None; attributes.len() + 1];
        for column in filter.columns() {
            let attribute = &attributes[column as usize - 1];
            let kind = types::kind_of(attribute.atttypid, attribute.atttypmod).expect("a filter's column has a kind");
            let (value, is_null) =
                ((*slot).tts_values.add(column as usize - 1), (*slot).tts_isnull.add(column as usize - 1));
            row[column as usize] = (!*is_null).then(|| filter::datum(*value, class(&kind)));
        }
        filter.passes(&row)
    }
}

/// A class of the kind's form.
fn class(kind: &Kind) -> Class {
    match kind {
        Kind::Bool => Class::Bool,
        Kind::Char => Class::Char,
        Kind::Int2 => Class::Int2,
        Kind::Int4 | Kind::Date => Class::Int4,
        Kind::Int8 | Kind::Time { .. } | Kind::Timestamp { .. } | Kind::Timestamptz { .. } => Class::Int8,
        Kind::Oid | Kind::Enum { .. } => Class::Oid,
        Kind::Float4 => Class::Float4,
        Kind::Float8 => Class::Float8,
        Kind::Numeric { .. } => Class::Numeric,
        Kind::Interval => Class::Interval,
        Kind::Uuid => Class::Uuid,
        Kind::Name => Class::Name,
        Kind::Text | Kind::Varchar { .. } | Kind::Bpchar { .. } | Kind::Bytea | Kind::Json => Class::Bytes,
    }
}

/// Are the quals true of the context's row?
///
/// # Safety
/// `quals` must be null or an initialised qual, `context` have a row.
unsafe fn is_true(quals: *mut pg_sys::ExprState, context: *mut pg_sys::ExprContext) -> bool {
    if quals.is_null() {
        return true;
    }
    let mut is_null = false;
    // SAFETY: the caller's promise; an initialised expression has a function that evaluates it.
    unsafe { (*quals).evalfunc.expect("it is initialised")(quals, context, &mut is_null).value() != 0 && !is_null }
}
