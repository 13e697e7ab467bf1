//! Tests: what is asked of one column's value where it is not NULL.
//!
//! Each is in the form that answers fastest: a range of keys where the type has keys, sorted values for a long list, a
//! compiled pattern for LIKE.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::class::{Value, compare_bytes};
use super::key::Range;
use super::{Class, Comparison, Pattern};
use crate::convert::Datum;

/// A yes-or-no question about a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Test {
    /// Is the key in the range, or is it not?
    Range { class: Class, range: Range, inside: bool },
    /// Is the key one of these, in ascending order?
    Keys { class: Class, keys: Vec<i64> },
    /// How does the value compare with this one?
    Compare { class: Class, comparison: Comparison, constant: Value<Vec<u8>> },
    /// Is the value one of these, in the order of [`set_order`]?
    Values { class: Class, values: Vec<Value<Vec<u8>>> },
    /// Does the text match the pattern?
    Like { class: Class, pattern: Pattern },
}

impl Test {
    /// A comparison with a constant of the same family.
    pub(super) fn compare(class: Class, comparison: Comparison, constant: Value<Vec<u8>>) -> Test {
        match constant {
            Value::Key(key) => {
                let (range, inside) = Range::of(comparison, key);
                Test::Range { class, range, inside }
            }
            constant => Test::Compare { class, comparison, constant },
        }
    }

    /// Equality with any one of the constants, which are of the same family.
    pub(super) fn one_of(class: Class, mut constants: Vec<Value<Vec<u8>>>) -> Test {
        constants.sort_unstable_by(set_order);
        constants.dedup();
        let key = |value: &Value<Vec<u8>>| if let Value::Key(key) = value { Some(*key) } else { None };
        match constants.iter().map(key).collect() {
            Some(keys) => Test::Keys { class, keys },
            None => Test::Values { class, values: constants },
        }
    }

    /// The answer. Panics if the datum is not of the form of the test's class.
    #[inline]
    pub(super) fn answer(&self, datum: Datum) -> bool {
        match self {
            Test::Range { class, range, inside } => range.contains(key(*class, datum)) == *inside,
            Test::Keys { class, keys } => keys.binary_search(&key(*class, datum)).is_ok(),
            Test::Compare { class, comparison, constant } => class.read(datum).satisfies(*comparison, constant),
            Test::Values { class, values } => {
                let value = class.read(datum);
                values.binary_search_by(|other| set_order(other, &value)).is_ok()
            }
            Test::Like { class, pattern } => match class.read(datum) {
                Value::Bytes(text) => pattern.matches(text),
                _ => panic!("a pattern was compared with what is not a text"),
            },
        }
    }

    /// The test that says what this and `other` say together, if there is one.
    pub(super) fn merged(&self, other: &Test) -> Option<Test> {
        match (self, other) {
            (
                Test::Range { class, range, inside: true },
                Test::Range { class: other_class, range: other, inside: true },
            ) if class == other_class => {
                Some(Test::Range { class: *class, range: range.intersection(*other), inside: true })
            }
            _ => None,
        }
    }
}

#[inline]
fn key(class: Class, datum: Datum) -> i64 {
    match datum {
        Datum::Word(word) => class.key(word),
        Datum::Bytes(_) => panic!("a value is not of the form of {class:?}"),
    }
}

/// Any total order will do to find a value again. Lengths first, since most texts of a list differ in them.
fn set_order<B: AsRef<[u8]>, C: AsRef<[u8]>>(left: &Value<B>, right: &Value<C>) -> Ordering {
    match (left, right) {
        (Value::Bytes(left), Value::Bytes(right)) => {
            let (left, right) = (left.as_ref(), right.as_ref());
            left.len().cmp(&right.len()).then_with(|| compare_bytes(left, right))
        }
        _ => left.compare(right),
    }
}
