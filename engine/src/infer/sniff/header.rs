//! Is the first record a header?

use crate::convert::{Scratch, Settings};
use crate::infer::classify::Classifier;
use crate::infer::column::WORDS;
use crate::infer::findings::Findings;
use crate::infer::names::looks_like_name;
use crate::infer::verdict::is_typed;

/// Decides by the fields of the first record and what the records behind it hold. Returns also whether it is only
/// assumed.
pub(super) fn decide(first: &[Vec<u8>], behind: &Findings, settings: &Settings) -> (bool, bool) {
    let classifier = Classifier::new(settings);
    let mut scratch = Scratch::default();
    let (mut fits, mut misfits) = (0, 0);
    for (field, column) in first.iter().zip(&behind.columns) {
        if !is_typed(column.possible, column.signs) || field.is_empty() || is_word(field) {
            continue;
        }
        match classifier.readings(field, column.possible, &mut scratch).0.is_none() {
            true if looks_like_name(field) => misfits += 1,
            true => {}
            false => fits += 1,
        }
    }
    if misfits + fits > 0 {
        return (misfits > fits, false);
    }
    // All columns are text, or there is nothing behind: names are distinct, none is empty, and none comes again as a
    // value.
    let is_name = |field: &Vec<u8>| looks_like_name(field) && !is_word(field);
    let distinct = (1..first.len()).all(|index| !first[..index].contains(&first[index]));
    let comes_again = first.iter().zip(&behind.columns).any(|(field, column)| column.samples.contains(field));
    (first.iter().all(is_name) && distinct && !comes_again, true)
}

fn is_word(field: &[u8]) -> bool {
    WORDS.iter().any(|word| word.as_bytes() == field)
}
