//! Filters: conditions on a row's converted values, so that rows which fail need go no further.
//!
//! A [`Filter`] is built from [`Condition`]s on the main thread, travels to the threads that convert (it is
//! serialisable), and is asked of every row there. What it says is what PostgreSQL's executor says of the condition it
//! was made from: a row [passes](Filter::passes) exactly if the condition is true, not if it is false or unknown.
//!
//! * [`Condition`]: AND, OR, NOT, IS, and the tests that they join, in three-valued logic.
//! * [`Class`]: how values of a type are read and compared, what PostgreSQL calls an operator class.
//! * [`Pattern`]: what LIKE matches.
//!
//! Columns are numbered by whoever builds the filter, and renumbered by whoever holds the rows
//! ([`Filter::with_columns`]). Nothing is allocated to look at a row.
//!
//! ```
//! use fastcsv_engine::convert::Datum;
//! use fastcsv_engine::filter::{Class, Comparison, Condition, Filter};
//!
//! // Column 3 > 10 AND column 7 IS NOT NULL, for rows in which these two stand side by side.
//! let ten = Class::Int8.constant(Datum::Word(10));
//! let large = Condition::compare(3, Class::Int4, Comparison::Greater, ten).unwrap();
//! let filter = Filter::new(Condition::all(vec![large, Condition::null(7).negated()]));
//! assert_eq!(filter.columns(), [3, 7]);
//! let filter = filter.with_columns(|column| if column == 3 { 0 } else { 1 });
//! assert!(filter.passes(&[Some(Datum::Word(11)), Some(Datum::Bytes(b"text"))]));
//! assert!(!filter.passes(&[None, Some(Datum::Bytes(b"text"))]));
//! ```

mod class;
mod condition;
mod key;
mod like;
mod numeric;
mod test;

use serde::{Deserialize, Serialize};

pub use class::{Class, Comparison, Constant};
pub use condition::Condition;
pub use like::{Characters, Pattern};

use crate::convert::Datum;

/// A row's values by column number, 0-based; `None` is NULL.
pub type Row<'a> = [Option<Datum<'a>>];

/// What a row must satisfy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// Tried in this order; the first that is not true settles it.
    conjuncts: Vec<Condition>,
}

impl Filter {
    /// The filter that rows pass for which `condition` is true.
    pub fn new(condition: Condition) -> Filter {
        Filter { conjuncts: condition.into_conjuncts() }
    }

    /// Is the condition true of `row`?
    ///
    /// # Panics
    /// If `row` lacks a column of the filter, or holds a value that is not of the form of its class.
    #[inline]
    pub fn passes(&self, row: &Row) -> bool {
        self.conjuncts.iter().all(|condition| condition.holds(row, true))
    }

    /// The numbers of the columns that it looks at, ascending.
    pub fn columns(&self) -> Vec<u32> {
        let mut columns = Vec::new();
        self.conjuncts.iter().for_each(|condition| condition.columns(&mut columns));
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The same filter over rows in which column `n` stands at `place(n)`.
    pub fn with_columns(mut self, mut place: impl FnMut(u32) -> u32) -> Filter {
        self.conjuncts.iter_mut().for_each(|condition| condition.renumber(&mut place));
        self
    }
}
