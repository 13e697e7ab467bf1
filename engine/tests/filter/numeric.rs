//! Numerics, in every layout they may have.

use fastcsv_engine::convert::Datum;
use fastcsv_engine::filter::{Class, Comparison, Condition, Filter};
use proptest::prelude::*;

use super::plain::{Decimal, Plain};
use super::values::{Layout, decimal, numeric};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8_000))]

    #[test]
    fn numerics_compare_as_decimals_whatever_their_layout(left in decimal(), right in decimal()) {
        let expected = Plain::Decimal(left).compare(&Plain::Decimal(right), Class::Numeric);
        for layouts in [(Layout::Shortest, Layout::Padded), (Layout::Padded, Layout::Shortest)] {
            let (left, right) = (numeric(left, layouts.0), numeric(right, layouts.1));
            for comparison in [Comparison::Less, Comparison::Equal, Comparison::Greater] {
                let constant = Class::Numeric.constant(Datum::Bytes(&right));
                let filter = Filter::new(Condition::compare(0, Class::Numeric, comparison, constant).unwrap());
                prop_assert_eq!(filter.passes(&[Some(Datum::Bytes(&left))]), comparison.admits(expected));
            }
        }
    }
}

#[test]
fn weights_beyond_the_short_format_are_read() {
    // 10000^100 and 10000^-100, as PostgreSQL writes them: long headers, the second with 400 digits of scale.
    let words = |words: &[u16]| -> Vec<u8> { words.iter().flat_map(|word| word.to_ne_bytes()).collect() };
    let huge = words(&[0, 100, 1]);
    let tiny = words(&[400, 0_u16.wrapping_sub(100), 1]);
    let one = numeric(Decimal::Finite { units: 1, scale: 0 }, Layout::Shortest);
    let greater = |left: &[u8], right: &[u8]| {
        let constant = Class::Numeric.constant(Datum::Bytes(right));
        let condition = Condition::compare(0, Class::Numeric, Comparison::Greater, constant).unwrap();
        Filter::new(condition).passes(&[Some(Datum::Bytes(left))])
    };
    assert!(greater(&huge, &one) && greater(&one, &tiny) && greater(&huge, &tiny));
    assert!(!greater(&one, &huge) && !greater(&tiny, &one) && !greater(&tiny, &tiny));
}
