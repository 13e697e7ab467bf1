//! Filters against the plainest evaluation of the same conditions, over rows and conditions made at random from values
//! that are often equal, often NULL, and often at an edge of their type.

mod conditions;
mod like;
mod numeric;
mod plain;
mod values;
