//! Clauses that raise no error, whatever the row.

use std::ffi::c_void;

use fastcsv_engine::filter::Pattern;
use pgrx::pg_sys::{self, NodeTag};

use super::{nodes, operator, value};

/// Can the clause be evaluated on any row without an error or another effect?
///
/// That is so of functions that are marked leakproof, and of matching with a constant pattern.
///
/// # Safety
/// `clause` must be a planned expression.
pub(super) unsafe fn is_harmless(clause: *mut pg_sys::Node) -> bool {
    // SAFETY: the caller's promise.
    unsafe { !may_raise(clause, std::ptr::null_mut()) }
}

/// A walker of expressions: true, which ends the walk, at a node that may raise an error.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn may_raise(node: *mut pg_sys::Node, context: *mut c_void) -> bool {
    if node.is_null() {
        return false;
    }
    // SAFETY: the walker is given an expression's nodes, each of the struct that its tag names; those of the other
    // kinds of operator expressions start with an OpExpr's fields or are one.
    unsafe {
        let harmless = match (*node).type_ {
            NodeTag::T_Var | NodeTag::T_Const | NodeTag::T_Param | NodeTag::T_List => true,
            NodeTag::T_BoolExpr | NodeTag::T_NullTest | NodeTag::T_BooleanTest | NodeTag::T_RelabelType => true,
            NodeTag::T_OpExpr | NodeTag::T_DistinctExpr | NodeTag::T_NullIfExpr => {
                let operation = node.cast::<pg_sys::OpExpr>();
                applies_harmlessly((*operation).opno, node, (*operation).args)
            }
            NodeTag::T_ScalarArrayOpExpr => {
                let operation = node.cast::<pg_sys::ScalarArrayOpExpr>();
                applies_harmlessly((*operation).opno, node, (*operation).args)
            }
            _ => false,
        };
        !harmless || pg_sys::expression_tree_walker(node, Some(may_raise), context)
    }
}

/// # Safety
/// `expression` must apply the operator to the arguments.
unsafe fn applies_harmlessly(oid: pg_sys::Oid, expression: *mut pg_sys::Node, arguments: *mut pg_sys::List) -> bool {
    // SAFETY: the caller's promise; these read the catalog caches.
    unsafe {
        // Where the collation could not be determined, even equality refuses to compare.
        let collation = pg_sys::exprInputCollation(expression);
        let collatable = |argument: *mut pg_sys::Node| pg_sys::type_is_collatable(pg_sys::exprType(argument));
        if collation == pg_sys::InvalidOid && nodes(arguments).any(collatable) {
            return false;
        }
        pg_sys::get_func_leakproof(pg_sys::get_opcode(oid))
            || nodes(arguments).nth(1).is_some_and(|pattern| matches_harmlessly(oid, collation, pattern))
    }
}

const REGULAR_EXPRESSIONS: [u32; 6] = [
    pg_sys::OID_TEXT_REGEXEQ_OP,
    pg_sys::OID_TEXT_ICREGEXEQ_OP,
    pg_sys::OID_BPCHAR_REGEXEQ_OP,
    pg_sys::OID_BPCHAR_ICREGEXEQ_OP,
    pg_sys::OID_NAME_REGEXEQ_OP,
    pg_sys::OID_NAME_ICREGEXEQ_OP,
];

const PATTERNS: [u32; 6] = [
    pg_sys::OID_TEXT_LIKE_OP,
    pg_sys::OID_TEXT_ICLIKE_OP,
    pg_sys::OID_BPCHAR_LIKE_OP,
    pg_sys::OID_BPCHAR_ICLIKE_OP,
    pg_sys::OID_NAME_LIKE_OP,
    pg_sys::OID_NAME_ICLIKE_OP,
];

/// Is the operator one that matches a text with a pattern, and can it match with this one? A bad regular expression has
/// been refused before, when the planner estimated how much it selects.
///
/// # Safety
/// As for [`applies_harmlessly`]; `pattern` must be the second argument.
unsafe fn matches_harmlessly(oid: pg_sys::Oid, collation: pg_sys::Oid, pattern: *mut pg_sys::Node) -> bool {
    // SAFETY: the caller's promise; the patterns of these operators are texts.
    unsafe {
        let is_one_of =
            |operators: [u32; 6]| [oid, pg_sys::get_negator(oid)].iter().any(|oid| operators.contains(&oid.to_u32()));
        let constant = pattern.cast::<pg_sys::Const>();
        if (*pattern).type_ != NodeTag::T_Const || (*constant).constisnull || !operator::is_deterministic(collation) {
            return false;
        }
        let is_valid = || {
            let characters = operator::server_characters()?;
            Pattern::new(value::content((*constant).constvalue), characters)
        };
        is_one_of(REGULAR_EXPRESSIONS) || is_one_of(PATTERNS) && is_valid().is_some()
    }
}
