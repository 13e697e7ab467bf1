//! Schema inference: what a file is written in, and the narrowest type that holds every value of each of its columns.
//!
//! 1. [`sniff`] looks at the file's beginning: encoding, delimiter, quote, line end, and whether the first record is a
//!    header.
//! 2. A [`Surveyor`] reads records and keeps a [`Column`] for each field. A column starts out as anything and a value
//!    takes away the types that cannot hold it ([`classify`]), so a field is tested only against what is left. What
//!    becomes of a range are [`Findings`]; those of neighbouring ranges merge, in order, into those of both, however
//!    the file was cut.
//! 3. [`Verdict`] is what the findings of the whole file come to: a type for each column, and the line that ruled out
//!    the next narrower one.
//!
//! **Certain, not likely.** A type is inferred only if PostgreSQL's input function takes every value of the column (the
//! converters of [`crate::convert`] prove it) and nothing is lost by it: a code with leading zeros is no number, an
//! offset from UTC makes no `timestamp`, and what could be read in two ways is said to be so.
//!
//! [`names`] makes column names of header texts.

mod classify;
mod column;
mod fields;
mod findings;
pub mod names;
mod read;
mod sniff;
mod survey;
mod types;
mod verdict;
mod wire;

pub use column::{Column, Refusal, WORDS};
pub use fields::fields;
pub use findings::{Findings, Ragged};
pub use read::survey;
pub use sniff::{Given, Sniffed, SniffedEncoding, sniff};
pub use survey::Surveyor;
pub use types::{Candidates, Type};
pub use verdict::{Doubt, Evidence, Reading, Verdict};
