//! Whole conditions: what a filter passes is what the plain evaluation finds true.

use fastcsv_engine::convert::Datum;
use fastcsv_engine::filter::{Characters, Class, Comparison, Condition, Filter, Pattern};
use proptest::prelude::*;
use proptest::sample::select;

use super::plain::{Expression, Plain, evaluate};
use super::values::{Stored, stored, value};

/// The columns of every row.
const CLASSES: [Class; 17] = [
    Class::Bool,
    Class::Char,
    Class::Int2,
    Class::Int4,
    Class::Int8,
    Class::Int8,
    Class::Oid,
    Class::Float4,
    Class::Float8,
    Class::Numeric,
    Class::Numeric,
    Class::Interval,
    Class::Uuid,
    Class::Bytes,
    Class::Bytes,
    Class::Bpchar,
    Class::Name,
];

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessEqual,
    Comparison::Greater,
    Comparison::GreaterEqual,
];

fn row() -> impl Strategy<Value = Vec<Option<Plain>>> {
    CLASSES.map(|class| prop::option::weighted(0.8, value(class))).to_vec()
}

/// A column and a class whose values compare with it.
fn column_and_class() -> impl Strategy<Value = (usize, Class)> {
    let classes = |column: usize| -> Vec<(usize, Class)> {
        let matching = CLASSES.into_iter().filter(|class| CLASSES[column].compares_with(*class));
        matching.map(|class| (column, class)).collect()
    };
    (0..CLASSES.len()).prop_flat_map(move |column| select(classes(column)))
}

fn leaf() -> impl Strategy<Value = Expression> {
    let comparison = || select(COMPARISONS.to_vec());
    let compare = (column_and_class(), comparison()).prop_flat_map(|((column, class), comparison)| {
        prop::option::weighted(0.95, value(class))
            .prop_map(move |constant| Expression::Compare(column, comparison, class, constant))
    });
    let columns = (column_and_class(), comparison()).prop_map(|((left, class), comparison)| {
        let right = CLASSES.iter().rposition(|&other| other == class).expect("it is the class of a column");
        Expression::Columns(left, comparison, right)
    });
    let list = column_and_class().prop_flat_map(|(column, class)| {
        prop::collection::vec(value(class), 0..20).prop_map(move |constants| Expression::In(column, class, constants))
    });
    let texts: Vec<usize> = (0..CLASSES.len()).filter(|&column| CLASSES[column] == Class::Bytes).collect();
    let like = (select(texts), "[ab%_é]{0,4}").prop_map(|(column, pattern)| Expression::Like(column, pattern));
    // Comparisons of one column, or of two that are alike, side by side.
    let neighbours = (column_and_class(), any::<bool>()).prop_flat_map(move |((column, class), same)| {
        let other = CLASSES.iter().rposition(|&other| other == CLASSES[column]).expect("it is the class of a column");
        let compare = move |column| {
            (comparison(), value(class))
                .prop_map(move |(comparison, constant)| Expression::Compare(column, comparison, class, Some(constant)))
        };
        (compare(column), compare(if same { column } else { other }))
            .prop_map(|(left, right)| Expression::And(vec![left, right]))
    });
    prop_oneof![
        3 => neighbours,
        1 => select(vec![Some(true), Some(false), None]).prop_map(Expression::Constant),
        2 => (0..CLASSES.len()).prop_map(Expression::Null),
        8 => compare,
        3 => columns,
        3 => list,
        2 => like,
    ]
}

fn expression() -> impl Strategy<Value = Expression> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        let several = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            3 => several.clone().prop_map(Expression::And),
            3 => several.prop_map(Expression::Or),
            2 => inner.clone().prop_map(|condition| Expression::Not(Box::new(condition))),
            1 => (inner, select(vec![Some(true), Some(false), None]))
                .prop_map(|(condition, value)| Expression::Is(Box::new(condition), value)),
        ]
    })
}

/// The same condition for a filter.
fn condition(expression: &Expression) -> Condition {
    let each = |conditions: &[Expression]| conditions.iter().map(condition).collect();
    let number = |column: &usize| u32::try_from(*column).unwrap();
    let constant = |class: Class, value: &Plain| class.constant(stored(value, class).datum());
    match expression {
        Expression::Constant(value) => Condition::constant(*value),
        Expression::And(conditions) => Condition::all(each(conditions)),
        Expression::Or(conditions) => Condition::any(each(conditions)),
        Expression::Not(inner) => condition(inner).negated(),
        Expression::Is(inner, value) => condition(inner).is(*value),
        Expression::Null(column) => Condition::null(number(column)),
        Expression::Compare(.., None) => Condition::constant(None),
        Expression::Compare(column, comparison, class, Some(value)) => {
            Condition::compare(number(column), CLASSES[*column], *comparison, constant(*class, value)).unwrap()
        }
        Expression::Columns(left, comparison, right) => {
            let side = |column: &usize| (number(column), CLASSES[*column]);
            Condition::compare_columns(side(left), *comparison, side(right)).unwrap()
        }
        Expression::In(column, class, values) => {
            let constants = values.iter().map(|value| constant(*class, value)).collect();
            Condition::one_of(number(column), CLASSES[*column], constants).unwrap()
        }
        Expression::Like(column, pattern) => {
            let pattern = Pattern::new(pattern.as_bytes(), Characters::Utf8).unwrap();
            Condition::like(number(column), CLASSES[*column], pattern).unwrap()
        }
    }
}

fn stored_row(row: &[Option<Plain>]) -> Vec<Option<Stored>> {
    row.iter().zip(CLASSES).map(|(value, class)| Some(stored(value.as_ref()?, class))).collect()
}

fn data(row: &[Option<Stored>]) -> Vec<Option<Datum<'_>>> {
    row.iter().map(|value| value.as_ref().map(Stored::datum)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_filter_passes_what_its_condition_is_true_of(
        expression in expression(),
        rows in prop::collection::vec(row(), 1..5),
    ) {
        let filter = Filter::new(condition(&expression));
        for row in rows {
            let stored = stored_row(&row);
            let expected = evaluate(&expression, &row, &CLASSES) == Some(true);
            prop_assert_eq!(filter.passes(&data(&stored)), expected, "{:?} of {:?}", &expression, &row);
        }
    }

    #[test]
    fn a_filter_looks_only_at_its_columns_wherever_they_stand(expression in expression(), row in row()) {
        let filter = Filter::new(condition(&expression));
        let columns = filter.columns();
        prop_assert!(columns.is_sorted_by(|a, b| a < b));
        let stored = stored_row(&row);
        let all = data(&stored);
        let needed: Vec<_> = columns.iter().map(|&column| all[column as usize]).collect();
        let place = |column| columns.binary_search(&column).unwrap() as u32;
        let moved = filter.clone().with_columns(place);
        prop_assert_eq!(moved.passes(&needed), filter.passes(&all));
    }

    #[test]
    fn a_filter_that_has_travelled_is_the_same(expression in expression(), row in row()) {
        let filter = Filter::new(condition(&expression));
        let travelled: Filter = serde_json::from_str(&serde_json::to_string(&filter).unwrap()).unwrap();
        let stored = stored_row(&row);
        prop_assert_eq!(travelled.passes(&data(&stored)), filter.passes(&data(&stored)));
        prop_assert_eq!(travelled, filter);
    }
}

#[test]
fn classes_of_different_families_do_not_compare() {
    let ten = || Class::Int4.constant(Datum::Word(10));
    assert_eq!(Condition::compare(0, Class::Float8, Comparison::Equal, ten()), None);
    assert_eq!(Condition::compare(0, Class::Oid, Comparison::Equal, ten()), None);
    assert_eq!(Condition::compare(0, Class::Bytes, Comparison::Equal, ten()), None);
    assert_eq!(Condition::one_of(0, Class::Bool, vec![ten()]), None);
    assert_eq!(Condition::compare_columns((0, Class::Bpchar), Comparison::Equal, (1, Class::Bytes)), None);
    let pattern = Pattern::new(b"a%", Characters::Utf8).unwrap();
    assert_eq!(Condition::like(0, Class::Int4, pattern), None);
}

#[test]
fn only_the_low_bytes_of_a_word_count() {
    let passes = |class: Class, word: u64, constant: u64| {
        let constant = class.constant(Datum::Word(constant));
        let filter = Filter::new(Condition::compare(0, class, Comparison::Equal, constant).unwrap());
        filter.passes(&[Some(Datum::Word(word))])
    };
    assert!(passes(Class::Int2, 0xFFFF, u64::MAX));
    assert!(passes(Class::Int4, 0xFFFF_FFFF, u64::MAX));
    assert!(passes(Class::Oid, u64::MAX, 0xFFFF_FFFF));
    assert!(passes(Class::Char, u64::MAX, 0xFF));
    assert!(passes(Class::Float4, u64::from(1_f32.to_bits()), u64::from(1_f32.to_bits()) | 1 << 63));
}

#[test]
fn one_column_read_as_two_classes_is_tested_as_each() {
    // As int4 it is -1, as oid the largest there is.
    let compare =
        |class: Class, comparison| Condition::compare(0, class, comparison, class.constant(Datum::Word(10))).unwrap();
    let both = [compare(Class::Int4, Comparison::Less), compare(Class::Oid, Comparison::Greater)];
    assert!(Filter::new(Condition::all(both.to_vec())).passes(&[Some(Datum::Word(u64::MAX))]));
}

#[test]
fn an_empty_list_is_false_even_of_null() {
    let empty = Condition::one_of(0, Class::Int4, Vec::new()).unwrap();
    assert!(Filter::new(empty.negated()).passes(&[None]));
}
