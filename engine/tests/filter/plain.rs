//! Values and conditions in their plainest form, and SQL's three-valued logic written out.

use std::cmp::Ordering;

use fastcsv_engine::filter::{Class, Comparison};

/// A decimal number, or one of numeric's special values.
#[derive(Clone, Copy, Debug)]
pub enum Decimal {
    NegativeInfinity,
    /// `units / 10^scale`.
    Finite {
        units: i128,
        scale: u32,
    },
    PositiveInfinity,
    Nan,
}

/// A value of one class.
#[derive(Clone, Debug)]
pub enum Plain {
    Integer(i64),
    Float(f64),
    Decimal(Decimal),
    Interval { time: i64, day: i32, month: i32 },
    Bytes(Vec<u8>),
}

impl Decimal {
    fn compare(self, other: Decimal) -> Ordering {
        let rank = |decimal| match decimal {
            Decimal::NegativeInfinity => 0,
            Decimal::Finite { .. } => 1,
            Decimal::PositiveInfinity => 2,
            Decimal::Nan => 3,
        };
        match (self, other) {
            (Decimal::Finite { units: a, scale: p }, Decimal::Finite { units: b, scale: q }) => {
                let scale = p.max(q);
                (a * 10_i128.pow(scale - p)).cmp(&(b * 10_i128.pow(scale - q)))
            }
            (left, right) => rank(left).cmp(&rank(right)),
        }
    }
}

impl Plain {
    /// How two values of a class, or of two classes of one family, compare.
    pub fn compare(&self, other: &Plain, class: Class) -> Ordering {
        match (self, other) {
            (Plain::Integer(left), Plain::Integer(right)) => left.cmp(right),
            (Plain::Float(left), Plain::Float(right)) => match (left.is_nan(), right.is_nan()) {
                (false, false) => left.partial_cmp(right).expect("neither is NaN"),
                (left, right) => left.cmp(&right),
            },
            (Plain::Decimal(left), Plain::Decimal(right)) => left.compare(*right),
            (Plain::Interval { .. }, Plain::Interval { .. }) => self.span().cmp(&other.span()),
            (Plain::Bytes(left), Plain::Bytes(right)) if class == Class::Bpchar => {
                let trimmed =
                    |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().trim_end_matches(' ').to_owned();
                trimmed(left).cmp(&trimmed(right))
            }
            (Plain::Bytes(left), Plain::Bytes(right)) => left.cmp(right),
            _ => unreachable!("the generator compares within a family"),
        }
    }

    fn span(&self) -> i128 {
        let Plain::Interval { time, day, month } = *self else { unreachable!("only intervals have a span") };
        i128::from(time) + (i128::from(month) * 30 + i128::from(day)) * 86_400_000_000
    }
}

/// A condition over columns by number.
#[derive(Clone, Debug)]
pub enum Expression {
    Constant(Option<bool>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Not(Box<Expression>),
    Is(Box<Expression>, Option<bool>),
    Null(usize),
    /// A column against a constant of a class, which may be NULL.
    Compare(usize, Comparison, Class, Option<Plain>),
    Columns(usize, Comparison, usize),
    In(usize, Class, Vec<Plain>),
    Like(usize, String),
}

/// The value of a condition for a row whose columns have these classes.
pub fn evaluate(expression: &Expression, row: &[Option<Plain>], classes: &[Class]) -> Option<bool> {
    let each = |conditions: &[Expression]| -> Vec<Option<bool>> {
        conditions.iter().map(|condition| evaluate(condition, row, classes)).collect()
    };
    match expression {
        Expression::Constant(value) => *value,
        Expression::And(conditions) => match each(conditions) {
            values if values.contains(&Some(false)) => Some(false),
            values if values.contains(&None) => None,
            _ => Some(true),
        },
        Expression::Or(conditions) => match each(conditions) {
            values if values.contains(&Some(true)) => Some(true),
            values if values.contains(&None) => None,
            _ => Some(false),
        },
        Expression::Not(condition) => evaluate(condition, row, classes).map(|value| !value),
        Expression::Is(condition, value) => Some(evaluate(condition, row, classes) == *value),
        Expression::Null(column) => Some(row[*column].is_none()),
        Expression::Compare(column, comparison, _, constant) => {
            compared(row[*column].as_ref(), *comparison, constant.as_ref(), classes[*column])
        }
        Expression::Columns(left, comparison, right) => {
            compared(row[*left].as_ref(), *comparison, row[*right].as_ref(), classes[*left])
        }
        Expression::In(_, _, constants) if constants.is_empty() => Some(false),
        Expression::In(column, _, constants) => {
            let value = row[*column].as_ref()?;
            Some(constants.iter().any(|constant| value.compare(constant, classes[*column]).is_eq()))
        }
        Expression::Like(column, pattern) => match row[*column].as_ref()? {
            Plain::Bytes(text) => Some(super::like::matches(text, pattern.as_bytes(), true)),
            _ => unreachable!("the generator matches texts"),
        },
    }
}

fn compared(left: Option<&Plain>, comparison: Comparison, right: Option<&Plain>, class: Class) -> Option<bool> {
    let ordering = left?.compare(right?, class);
    Some(match comparison {
        Comparison::Equal => ordering == Ordering::Equal,
        Comparison::NotEqual => ordering != Ordering::Equal,
        Comparison::Less => ordering == Ordering::Less,
        Comparison::LessEqual => ordering != Ordering::Greater,
        Comparison::Greater => ordering == Ordering::Greater,
        Comparison::GreaterEqual => ordering != Ordering::Less,
    })
}
