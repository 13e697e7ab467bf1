//! Keys: 64-bit integers in the order of the by-value types they stand for.
//!
//! With a key, every comparison with a constant is one question, whether the key lies in a range; so are several
//! comparisons of one column, such as BETWEEN. Floats take part: their bits, read as integers, have their order once
//! the negative ones are turned around.

use serde::{Deserialize, Serialize};

use super::Comparison;

/// A float's key: NaN above everything and equal to itself, the zeros equal, as PostgreSQL's `float8_cmp_internal`.
#[inline]
pub(super) fn of_float(float: f64) -> i64 {
    if float.is_nan() {
        return i64::MAX;
    }
    let bits = (float + 0.0).to_bits().cast_signed(); // -0 + 0 is 0
    // Sign and magnitude to two's complement: flip the magnitude of what is negative.
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// Keys from `low` to `high`, both included; none if `low` is above `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Range {
    low: i64,
    high: i64,
}

const EMPTY: Range = Range { low: 1, high: 0 };

impl Range {
    /// The keys of which `comparison` with `constant` is true, or false where the result is `(_, false)`.
    pub(super) fn of(comparison: Comparison, constant: i64) -> (Range, bool) {
        let below = |high: Option<i64>| high.map_or(EMPTY, |high| Range { low: i64::MIN, high });
        let above = |low: Option<i64>| low.map_or(EMPTY, |low| Range { low, high: i64::MAX });
        match comparison {
            Comparison::Equal => (Range { low: constant, high: constant }, true),
            Comparison::NotEqual => (Range { low: constant, high: constant }, false),
            Comparison::Less => (below(constant.checked_sub(1)), true),
            Comparison::LessEqual => (below(Some(constant)), true),
            Comparison::Greater => (above(constant.checked_add(1)), true),
            Comparison::GreaterEqual => (above(Some(constant)), true),
        }
    }

    /// The keys in both ranges.
    pub(super) fn intersection(self, other: Range) -> Range {
        Range { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    #[inline]
    pub(super) fn contains(self, key: i64) -> bool {
        self.low <= key && key <= self.high
    }
}
