//! Conditions: tests of columns, joined in SQL's three-valued logic.
//!
//! The third value is never computed. A condition is asked whether it *holds* a wanted value, true or false, and is
//! unknown if it holds neither. So NOT asks for the opposite, AND and OR are each other's mirror image, a test of a
//! NULL holds nothing, and every question ends as soon as it is settled.

use serde::{Deserialize, Serialize};

use super::test::Test;
use super::{Class, Comparison, Constant, Pattern, Row};

/// A condition on a row, which is true, false or unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition(Node);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Node {
    /// The same for every row.
    Constant(Option<bool>),
    /// AND, from left to right.
    All(Vec<Condition>),
    /// OR, from left to right.
    Any(Vec<Condition>),
    Not(Box<Condition>),
    /// IS TRUE, IS FALSE, IS UNKNOWN: never unknown itself.
    Is(Box<Condition>, Option<bool>),
    /// IS NULL of a column.
    Null(u32),
    /// A test of a column, unknown where that is NULL.
    Test(u32, Test),
    /// A comparison of two columns, unknown where either is NULL.
    Columns {
        left: (u32, Class),
        comparison: Comparison,
        right: (u32, Class),
    },
}

impl Condition {
    /// True, false or unknown (`None`) whatever the row.
    pub fn constant(value: Option<bool>) -> Condition {
        Condition(Node::Constant(value))
    }

    /// All of the conditions (AND); true if there are none.
    pub fn all(conditions: Vec<Condition>) -> Condition {
        let mut all: Vec<Condition> = Vec::with_capacity(conditions.len());
        for condition in conditions.into_iter().flat_map(Condition::into_conjuncts) {
            match all.last_mut() {
                Some(last) if let Some(merged) = last.merged(&condition) => *last = merged,
                _ => all.push(condition),
            }
        }
        Condition(Node::All(all))
    }

    /// Any of the conditions (OR); false if there are none.
    pub fn any(conditions: Vec<Condition>) -> Condition {
        Condition(Node::Any(conditions))
    }

    /// NOT the condition: unknown where that is.
    pub fn negated(self) -> Condition {
        Condition(Node::Not(Box::new(self)))
    }

    /// Is the condition true, false or unknown (`None`)? Itself never unknown.
    pub fn is(self, value: Option<bool>) -> Condition {
        Condition(Node::Is(Box::new(self), value))
    }

    /// Is the column NULL?
    pub fn null(column: u32) -> Condition {
        Condition(Node::Null(column))
    }

    /// The column, read as `class`, compared with a constant; `None` if that is of another family.
    pub fn compare(column: u32, class: Class, comparison: Comparison, constant: Constant) -> Option<Condition> {
        let matching = class.compares_with(constant.class);
        matching.then(|| Condition(Node::Test(column, Test::compare(class, comparison, constant.value))))
    }

    /// Two columns, each with the class it is read as, compared; `None` if the classes are of different families.
    pub fn compare_columns(left: (u32, Class), comparison: Comparison, right: (u32, Class)) -> Option<Condition> {
        left.1.compares_with(right.1).then_some(Condition(Node::Columns { left, comparison, right }))
    }

    /// The column, read as `class`, equal to one of the constants (IN). `None` if one of them is of another family.
    ///
    /// If there are none it is false, even where the column is NULL.
    pub fn one_of(column: u32, class: Class, constants: Vec<Constant>) -> Option<Condition> {
        if constants.is_empty() {
            return Some(Condition::constant(Some(false)));
        }
        let matching = constants.iter().all(|constant| class.compares_with(constant.class));
        let values = constants.into_iter().map(|constant| constant.value);
        matching.then(|| Condition(Node::Test(column, Test::one_of(class, values.collect()))))
    }

    /// The text in the column matches the pattern (LIKE); `None` if `class` does not read a text. LIKE sees the
    /// trailing blanks of a `char(n)`, so the class to read it as is [`Class::Bytes`].
    pub fn like(column: u32, class: Class, pattern: Pattern) -> Option<Condition> {
        let is_text = matches!(class, Class::Bytes | Class::Name);
        is_text.then_some(Condition(Node::Test(column, Test::Like { class, pattern })))
    }

    /// Is the condition's value for `row` the one that is wanted?
    #[inline]
    pub(super) fn holds(&self, row: &Row, wanted: bool) -> bool {
        let value = |column: u32| row[column as usize];
        match &self.0 {
            Node::Test(column, test) => value(*column).is_some_and(|datum| test.answer(datum) == wanted),
            Node::All(conditions) if wanted => conditions.iter().all(|condition| condition.holds(row, true)),
            Node::All(conditions) => conditions.iter().any(|condition| condition.holds(row, false)),
            Node::Any(conditions) if wanted => conditions.iter().any(|condition| condition.holds(row, true)),
            Node::Any(conditions) => conditions.iter().all(|condition| condition.holds(row, false)),
            Node::Not(condition) => condition.holds(row, !wanted),
            Node::Is(condition, Some(asked)) => condition.holds(row, *asked) == wanted,
            Node::Is(condition, None) => (condition.holds(row, true) || condition.holds(row, false)) != wanted,
            Node::Null(column) => value(*column).is_none() == wanted,
            Node::Columns { left, comparison, right } => match (value(left.0), value(right.0)) {
                (Some(a), Some(b)) => left.1.read(a).satisfies(*comparison, &right.1.read(b)) == wanted,
                _ => false,
            },
            Node::Constant(constant) => *constant == Some(wanted),
        }
    }

    /// The conditions whose conjunction this is.
    pub(super) fn into_conjuncts(self) -> Vec<Condition> {
        match self.0 {
            Node::All(conditions) => conditions,
            alone => vec![Condition(alone)],
        }
    }

    /// One condition for this and another, where one test of the same column can say both.
    fn merged(&self, other: &Condition) -> Option<Condition> {
        match (&self.0, &other.0) {
            (Node::Test(column, test), Node::Test(other_column, other)) if column == other_column => {
                Some(Condition(Node::Test(*column, test.merged(other)?)))
            }
            _ => None,
        }
    }

    /// Adds the numbers of the columns that it looks at to the list, some perhaps several times.
    pub(super) fn columns(&self, list: &mut Vec<u32>) {
        self.clone().renumber(&mut |column| {
            list.push(column);
            column
        });
    }

    /// Replaces each column number by its place.
    pub(super) fn renumber(&mut self, place: &mut impl FnMut(u32) -> u32) {
        match &mut self.0 {
            Node::All(conditions) | Node::Any(conditions) => {
                conditions.iter_mut().for_each(|condition| condition.renumber(place));
            }
            Node::Not(condition) | Node::Is(condition, _) => condition.renumber(place),
            Node::Null(column) | Node::Test(column, _) => *column = place(*column),
            Node::Columns { left, right, .. } => {
                left.0 = place(left.0);
                right.0 = place(right.0);
            }
            Node::Constant(_) => {}
        }
    }
}
