//! Numerics, in every layout they may have.

use fastcsv_engine::convert::Datum;
use fastcsv_engine::filter::{Class, Comparison, Condition, Filter};
use proptest::prelude::*;

use super::plain::Plain;
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
fn weights_of_both_formats_are_read() {
    // 10000^weight, as PostgreSQL writes it: with the short header for weights of 7 bits.
    let power = |weight: i16| -> Vec<u8> {
        let scale = if weight < 0 { -4 * weight } else { 0 } as u16;
        let short = (-64..64).contains(&weight) && scale < 64;
        let words = if short {
            vec![0x8000 | scale << 7 | weight.cast_unsigned() & 0x7F, 1]
        } else {
            vec![scale, weight.cast_unsigned(), 1]
        };
        words.into_iter().flat_map(u16::to_ne_bytes).collect()
    };
    let weights = [-100, -64, -40, -15, -1, 0, 1, 31, 32, 40, 63, 64, 100];
    for left in weights {
        for right in weights {
            let constant = Class::Numeric.constant(Datum::Bytes(&power(right)));
            let condition = Condition::compare(0, Class::Numeric, Comparison::Greater, constant).unwrap();
            let passes = Filter::new(condition).passes(&[Some(Datum::Bytes(&power(left)))]);
            assert_eq!(passes, left > right, "10000^{left} > 10000^{right}");
        }
    }
}
