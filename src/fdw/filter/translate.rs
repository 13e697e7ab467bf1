//! A clause's nodes, one by one, as a condition; `None` wherever there is something that a filter cannot decide
//! exactly.

use fastcsv_engine::convert::Kind;
use fastcsv_engine::filter::{Class, Comparison, Condition, Constant, Pattern};
use pgrx::pg_sys::{self, NodeTag};

use super::operator::{self, Operator};
use super::{nodes, value};
use crate::types;

/// What is known of a constant.
#[derive(Clone, Copy)]
pub(crate) enum Given {
    /// It is a parameter, whose value will be known when the scan runs.
    Later,
    Null,
    Value(pg_sys::Datum),
}

/// One side of an operator.
enum Operand {
    Column(u32, Kind),
    Constant(Given),
}

/// Stands for whatever a condition will be once its parameters are given.
fn later() -> Condition {
    Condition::constant(None)
}

/// Translates the clauses of one scan. Of all its functions, the nodes that they take must be planned expressions about
/// the scan's table.
pub(super) struct Translator<'a> {
    varno: pg_sys::Index,
    table: pg_sys::Oid,
    parameter: &'a mut dyn FnMut(*mut pg_sys::Param) -> Given,
    /// Was there a pattern that will be given later, and may be none then?
    uncertain: bool,
}

impl<'a> Translator<'a> {
    /// For the clauses about `table`, which is number `varno` in their Vars. `parameter` tells the value of each
    /// parameter that is met.
    pub(super) fn new(
        varno: pg_sys::Index,
        table: pg_sys::Oid,
        parameter: &'a mut dyn FnMut(*mut pg_sys::Param) -> Given,
    ) -> Self {
        Translator { varno, table, parameter, uncertain: false }
    }

    /// Will all conditions so far be conditions whatever is given later? A pattern may turn out to be one that
    /// PostgreSQL refuses.
    pub(super) fn is_certain(&self) -> bool {
        !self.uncertain
    }

    /// The condition that a boolean expression is. (While a parameter's value is not given, the condition is worth
    /// nothing but for being there.)
    ///
    /// # Safety
    /// See [`Translator`].
    pub(super) unsafe fn condition(&mut self, node: *mut pg_sys::Node) -> Option<Condition> {
        // SAFETY: the caller's promise: a node is of the struct that its tag names.
        unsafe {
            match (*node).type_ {
                NodeTag::T_BoolExpr => self.boolean(node.cast()),
                NodeTag::T_OpExpr => self.operation(node.cast()),
                NodeTag::T_DistinctExpr => self.distinct(node.cast()),
                NodeTag::T_ScalarArrayOpExpr => self.array_operation(node.cast()),
                NodeTag::T_NullTest => self.null_test(node.cast()),
                NodeTag::T_BooleanTest => self.boolean_test(node.cast()),
                _ => self.boolean_value(node),
            }
        }
    }

    /// AND, OR, NOT.
    ///
    /// # Safety
    /// See [`Translator`].
    unsafe fn boolean(&mut self, node: *mut pg_sys::BoolExpr) -> Option<Condition> {
        // SAFETY: the caller's promise.
        unsafe {
            let mut arguments = Vec::new();
            for argument in nodes((*node).args) {
                arguments.push(self.condition(argument)?);
            }
            match (*node).boolop {
                pg_sys::BoolExprType::AND_EXPR => Some(Condition::all(arguments)),
                pg_sys::BoolExprType::OR_EXPR => Some(Condition::any(arguments)),
                _ => arguments.pop().map(Condition::negated),
            }
        }
    }

    /// A boolean column, or a constant.
    ///
    /// # Safety
    /// See [`Translator`].
    unsafe fn boolean_value(&mut self, node: *mut pg_sys::Node) -> Option<Condition> {
        // SAFETY: the caller's promise.
        match unsafe { self.operand(node)? } {
            Operand::Column(number, Kind::Bool) => {
                let operator =
                    Operator::Compare { left: Class::Bool, comparison: Comparison::Equal, right: Class::Bool };
                let is_true = Operand::Constant(Given::Value(pg_sys::Datum::from(true)));
                // SAFETY: the constant is a boolean.
                unsafe { apply(operator, &Operand::Column(number, Kind::Bool), &is_true) }
            }
            Operand::Column(..) => None,
            Operand::Constant(Given::Value(value)) => Some(Condition::constant(Some(value.value() != 0))),
            Operand::Constant(Given::Null) => Some(Condition::constant(None)),
            Operand::Constant(Given::Later) => Some(later()),
        }
    }

    /// # Safety
    /// See [`Translator`].
    unsafe fn operation(&mut self, node: *mut pg_sys::OpExpr) -> Option<Condition> {
        // SAFETY: the caller's promise.
        unsafe {
            let operator = operator::meaning((*node).opno, (*node).inputcollid)?;
            let (left, right) = self.operands((*node).args)?;
            self.note_pattern(operator, &right);
            apply(operator, &left, &right)
        }
    }

    fn note_pattern(&mut self, operator: Operator, right: &Operand) {
        self.uncertain |= matches!((operator, right), (Operator::Like { .. }, Operand::Constant(Given::Later)));
    }

    /// IS DISTINCT FROM, whose operator is that of equality: not equal for sure, and not NULL both.
    ///
    /// # Safety
    /// See [`Translator`].
    unsafe fn distinct(&mut self, node: *mut pg_sys::OpExpr) -> Option<Condition> {
        // SAFETY: the caller's promise.
        unsafe {
            let equality = operator::meaning((*node).opno, (*node).inputcollid)?;
            let (left, right) = self.operands((*node).args)?;
            let equal = apply(equality, &left, &right)?.is(Some(true));
            let both_null = Condition::all(vec![is_null(&left), is_null(&right)]);
            Some(Condition::any(vec![equal, both_null]).negated())
        }
    }

    /// IN, NOT IN, and other operators with ANY or ALL of an array's elements.
    ///
    /// # Safety
    /// See [`Translator`].
    unsafe fn array_operation(&mut self, node: *mut pg_sys::ScalarArrayOpExpr) -> Option<Condition> {
        // SAFETY: the caller's promise; the right side is an array whose elements are what the operator takes.
        unsafe {
            let operator = operator::meaning((*node).opno, (*node).inputcollid)?;
            let (left, right) = self.operands((*node).args)?;
            self.note_pattern(operator, &right);
            let Operand::Constant(array) = right else { return None };
            let elements = match array {
                // As an element of either kind would be applied: is the operator one for this column at all?
                Given::Later | Given::Null => return apply(operator, &left, &right).map(|_| Condition::constant(None)),
                Given::Value(array) => value::elements(array),
            };
            if elements.is_empty() {
                return Some(Condition::constant(Some(!(*node).useOr)));
            }
            if let Some(condition) = membership(operator, (*node).useOr, &left, &elements) {
                return Some(condition);
            }
            let mut each = Vec::with_capacity(elements.len());
            for element in elements {
                let element = element.map_or(Given::Null, Given::Value);
                each.push(apply(operator, &left, &Operand::Constant(element))?);
            }
            Some(if (*node).useOr { Condition::any(each) } else { Condition::all(each) })
        }
    }

    /// # Safety
    /// See [`Translator`].
    unsafe fn null_test(&mut self, node: *mut pg_sys::NullTest) -> Option<Condition> {
        // SAFETY: the caller's promise.
        unsafe {
            if (*node).argisrow {
                return None;
            }
            let argument = (*node).arg.cast();
            let null = match self.operand(argument) {
                Some(operand) => is_null(&operand),
                None => self.condition(argument)?.is(None),
            };
            let wanted = (*node).nulltesttype == pg_sys::NullTestType::IS_NULL;
            Some(if wanted { null } else { null.negated() })
        }
    }

    /// IS TRUE, IS NOT TRUE and their like.
    ///
    /// # Safety
    /// See [`Translator`].
    unsafe fn boolean_test(&mut self, node: *mut pg_sys::BooleanTest) -> Option<Condition> {
        // SAFETY: the caller's promise.
        let (condition, test) = unsafe { (self.condition((*node).arg.cast())?, (*node).booltesttype) };
        Some(match test {
            pg_sys::BoolTestType::IS_TRUE => condition.is(Some(true)),
            pg_sys::BoolTestType::IS_NOT_TRUE => condition.is(Some(true)).negated(),
            pg_sys::BoolTestType::IS_FALSE => condition.is(Some(false)),
            pg_sys::BoolTestType::IS_NOT_FALSE => condition.is(Some(false)).negated(),
            pg_sys::BoolTestType::IS_UNKNOWN => condition.is(None),
            _ => condition.is(None).negated(),
        })
    }

    /// The two arguments of an operator.
    ///
    /// # Safety
    /// See [`Translator`].
    unsafe fn operands(&mut self, arguments: *mut pg_sys::List) -> Option<(Operand, Operand)> {
        // SAFETY: the caller's promise.
        unsafe {
            let mut arguments = nodes(arguments);
            let (left, right) = (arguments.next()?, arguments.next()?);
            Some((self.operand(left)?, self.operand(right)?))
        }
    }

    /// A column or a constant, also behind casts that change nothing but the type's name.
    ///
    /// # Safety
    /// See [`Translator`].
    unsafe fn operand(&mut self, mut node: *mut pg_sys::Node) -> Option<Operand> {
        // SAFETY: the caller's promise.
        unsafe {
            while (*node).type_ == NodeTag::T_RelabelType {
                node = (*node.cast::<pg_sys::RelabelType>()).arg.cast();
            }
            match (*node).type_ {
                NodeTag::T_Var => self.column(node.cast()),
                NodeTag::T_Const => {
                    let constant = node.cast::<pg_sys::Const>();
                    let is_null = (*constant).constisnull;
                    Some(Operand::Constant(if is_null { Given::Null } else { Given::Value((*constant).constvalue) }))
                }
                NodeTag::T_Param => Some(Operand::Constant((self.parameter)(node.cast()))),
                _ => None,
            }
        }
    }

    /// A column that the file's values are converted for. A generated one has no value in the file.
    ///
    /// # Safety
    /// See [`Translator`].
    unsafe fn column(&mut self, node: *mut pg_sys::Var) -> Option<Operand> {
        // SAFETY: the caller's promise.
        unsafe {
            let var = &*node;
            let ours = var.varno as pg_sys::Index == self.varno && var.varlevelsup == 0;
            // Below 1 are the whole row and the system columns.
            let number = u32::try_from(var.varattno).ok().filter(|&number| ours && number > 0)?;
            let is_table = self.table != pg_sys::InvalidOid;
            let stored = !is_table || pg_sys::get_attgenerated(self.table, var.varattno) == 0;
            stored.then(|| types::kind_of(var.vartype, var.vartypmod))?.map(|kind| Operand::Column(number, kind))
        }
    }
}

/// The operator applied to two operands, of which one must be a column.
///
/// # Safety
/// The constants must be what the operator takes on their side.
unsafe fn apply(operator: Operator, left: &Operand, right: &Operand) -> Option<Condition> {
    match (operator, left, right) {
        (Operator::Compare { left: class, comparison, right: other }, Operand::Column(number, kind), right) => {
            if !class.fits(kind) {
                return None;
            }
            match right {
                Operand::Column(right, kind) => {
                    let fitting = other.fits(kind);
                    fitting.then(|| Condition::compare_columns((*number, class), comparison, (*right, other)))?
                }
                // SAFETY: the caller's promise.
                Operand::Constant(Given::Value(value)) => unsafe {
                    Condition::compare(*number, class, comparison, constant(*value, other))
                },
                Operand::Constant(Given::Null) => Some(Condition::constant(None)),
                Operand::Constant(Given::Later) => Some(later()),
            }
        }
        (Operator::Compare { left: other, comparison, right: class }, constant, column @ Operand::Column(..)) => {
            let operator = Operator::Compare { left: class, comparison: comparison.commuted(), right: other };
            // SAFETY: the caller's promise, sides exchanged.
            unsafe { apply(operator, column, constant) }
        }
        (Operator::Like { class, characters, negated }, Operand::Column(number, kind), Operand::Constant(pattern)) => {
            if !class.fits(kind) {
                return None;
            }
            let like = match pattern {
                // SAFETY: the caller's promise: the pattern of a LIKE is a varlena.
                Given::Value(pattern) => unsafe {
                    Condition::like(*number, class, Pattern::new(value::content(*pattern), characters)?)?
                },
                Given::Null => Condition::constant(None),
                Given::Later => later(),
            };
            Some(if negated { like.negated() } else { like })
        }
        _ => None,
    }
}

/// `= ANY` or `<> ALL` of a list of constants, in which a NULL makes unknown what is not found.
///
/// # Safety
/// The elements must be what the operator takes on its right side.
unsafe fn membership(
    operator: Operator,
    any: bool,
    left: &Operand,
    elements: &[Option<pg_sys::Datum>],
) -> Option<Condition> {
    let (Operator::Compare { left: class, comparison, right: other }, Operand::Column(number, kind)) = (operator, left)
    else {
        return None;
    };
    let is_membership = matches!((comparison, any), (Comparison::Equal, true) | (Comparison::NotEqual, false));
    if !is_membership || !class.fits(kind) {
        return None;
    }
    // SAFETY: the caller's promise.
    let constants = elements.iter().flatten().map(|&element| unsafe { constant(element, other) });
    let mut found = Condition::one_of(*number, class, constants.collect())?;
    if elements.contains(&None) {
        found = Condition::any(vec![found, Condition::constant(None)]);
    }
    Some(if any { found } else { found.negated() })
}

/// # Safety
/// `value` must be one that operators read as `class`.
unsafe fn constant(value: pg_sys::Datum, class: Class) -> Constant {
    // SAFETY: the caller's promise; the constant has a copy of what the datum points to.
    unsafe { class.constant(value::datum(value, class)) }
}

fn is_null(operand: &Operand) -> Condition {
    match operand {
        Operand::Column(number, _) => Condition::null(*number),
        Operand::Constant(Given::Null) => Condition::constant(Some(true)),
        Operand::Constant(Given::Value(_)) => Condition::constant(Some(false)),
        Operand::Constant(Given::Later) => later(),
    }
}
