//! Row images are the tuples that `heap_form_tuple` makes, and what is looked for in them is found.

#[path = "common/image.rs"]
mod image;

use fastcsv_engine::convert::{Datum, FEW, Sink};
use fastcsv_engine::job::{Attribute, Layout};
use fastcsv_engine::tuple::{Former, Found, find};
use image::image;
use proptest::prelude::*;

/// Every form in which a type can be stored here, with the lengths its values may have.
const FORMS: &[(Attribute, &[usize])] = &[
    (fixed(1, 1), &[]),
    (fixed(2, 2), &[]),
    (fixed(4, 4), &[]),
    (fixed(8, 8), &[]),
    (fixed(16, 1), &[16]),
    (fixed(16, 8), &[16]),
    (fixed(64, 1), &[64]),
    (varlena(4, true), &[0, 1, 2, 3, 60, 124, 125, 126, 127, 128, 300]),
    (varlena(4, false), &[0, 1, 2, 3, 60, 124, 125, 126, 127, 128, 300]),
    (varlena(8, true), &[0, 1, 125, 126, 127]),
];

const fn fixed(length: u16, align: u8) -> Attribute {
    Attribute { length: Some(length), align, packable: false }
}

const fn varlena(align: u8, packable: bool) -> Attribute {
    Attribute { length: None, align, packable }
}

/// A value: a word, or bytes.
#[derive(Clone, Debug)]
enum Value {
    Word(u64),
    Bytes(Vec<u8>),
}

fn value(lengths: &'static [usize]) -> BoxedStrategy<Value> {
    if lengths.is_empty() {
        return any::<u64>().prop_map(Value::Word).boxed();
    }
    // Zeros would hide padding that is wrong.
    let bytes = |length| {
        (prop::collection::vec(1_u8.., length), 0_usize..40).prop_map(|(mut bytes, blanks)| {
            let text = bytes.len().saturating_sub(blanks);
            bytes[text..].fill(b' ');
            bytes
        })
    };
    prop::sample::select(lengths).prop_flat_map(bytes).prop_map(Value::Bytes).boxed()
}

/// An attribute and its value.
fn column() -> impl Strategy<Value = (Attribute, Option<Value>)> {
    prop::sample::select(FORMS)
        .prop_flat_map(|(form, lengths)| (Just(form), prop::option::weighted(0.8, value(lengths))))
}

fn datum(value: &Value) -> Datum<'_> {
    match value {
        Value::Word(word) => Datum::Word(*word),
        Value::Bytes(bytes) => Datum::Bytes(bytes),
    }
}

fn layout(attributes: Vec<Attribute>) -> Layout {
    Layout { attributes, type_id: 0x0102_0304, type_modifier: -7, constants: vec![] }
}

/// The row of these values. What is NULL is left out, or said.
fn form(layout: &Layout, values: &[Option<Datum<'_>>], leaves_out: bool) -> Vec<u8> {
    let set: Vec<_> = (0..values.len()).filter(|index| !leaves_out || values[*index].is_some()).collect();
    let former = Former::new(layout, &set);
    // What was there before must not show, and neither how many bytes it takes to know that there are enough.
    let (mut bytes, mut enough) = (Vec::new(), None);
    loop {
        let mut row = former.row(&mut bytes);
        for (index, (form, value)) in layout.attributes.iter().zip(values).enumerate() {
            let mut place = row.attribute(*form);
            match value {
                Some(Datum::Word(word)) => place.word(*word),
                // All forms in which a content can come, by turns.
                Some(Datum::Bytes(bytes)) if form.length.is_none() && index % 3 == 0 && bytes.len() <= FEW => {
                    place.few(few(bytes), bytes.len());
                }
                Some(Datum::Bytes(bytes)) if form.length.is_none() && index % 3 == 1 => {
                    let text = text_length(bytes);
                    place.padded(&bytes[..text], bytes.len() - text);
                }
                Some(Datum::Bytes(bytes)) => place.bytes(bytes),
                None if leaves_out => {}
                None => row.null(index),
            }
        }
        match row.finish() {
            Ok(length) => {
                assert!(enough.is_none_or(|enough| length <= enough && bytes.len() < enough + 97));
                bytes.truncate(length);
                return bytes;
            }
            Err(most) => assert_eq!(*enough.get_or_insert(most), most, "it does not depend on how many there are"),
        }
        bytes = vec![0xa5; bytes.len() + 97];
    }
}

/// The bytes, and others behind them.
fn few(bytes: &[u8]) -> [u8; FEW] {
    let mut few = [0xee; FEW];
    few[..bytes.len()].copy_from_slice(bytes);
    few
}

/// Bytes before the blanks at the end.
fn text_length(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_row_image_is_the_tuple_that_heap_form_tuple_makes(
        rows in prop::collection::vec(column(), 0..40).prop_flat_map(|columns| {
            let others = columns.iter().map(|(form, _)| FORMS.iter().find(|(other, _)| other == form).unwrap().1);
            let row: Vec<_> = others.map(|lengths| prop::option::of(value(lengths))).collect();
            (Just(columns), row)
        }),
    ) {
        let (columns, second) = rows;
        let (attributes, first): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let layout = layout(attributes);
        for row in [&first, &second] {
            let values: Vec<_> = row.iter().map(|value| value.as_ref().map(datum)).collect();
            prop_assert_eq!(form(&layout, &values, false), image(&layout, &values));
            prop_assert_eq!(form(&layout, &values, true), image(&layout, &values));
        }
    }

    #[test]
    fn what_is_set_is_found_where_it_was_put(
        columns in prop::collection::vec((column(), prop::bool::weighted(0.4)), 1..60),
    ) {
        let layout = layout(columns.iter().map(|((form, _), _)| *form).collect());
        let values: Vec<_> = columns
            .iter()
            .map(|((_, value), is_wanted)| value.as_ref().filter(|_| *is_wanted).map(datum))
            .collect();
        let indexed = columns.iter().enumerate();
        let wanted: Vec<_> = indexed.filter(|(_, column)| column.1).map(|(index, column)| (index, column.0.0)).collect();
        let tuple = form(&layout, &values, false);
        let mut places = Vec::new();
        find(&tuple, &wanted, |place, found| places.push((place, found)));
        prop_assert_eq!(places.len(), wanted.len());
        for ((place, found), (index, form)) in places.into_iter().zip(&wanted) {
            prop_assert_eq!(wanted[place], (*index, *form));
            match (found, values[*index]) {
                (Found::Null, None) => {}
                (Found::At(at), Some(value)) => prop_assert!(holds(&tuple[at..], *form, value), "{:?} at {}", value, at),
                (found, value) => prop_assert!(false, "{:?} was found as {:?}", value, found),
            }
            if let (Found::At(at), Some(_)) = (found, form.length) {
                prop_assert_eq!(at % usize::from(form.align), 0);
            }
        }
    }
}

/// Whether the stored value at the start of `bytes` is this one.
fn holds(bytes: &[u8], form: Attribute, value: Datum<'_>) -> bool {
    match (value, form.length) {
        (Datum::Word(word), Some(length)) => bytes.starts_with(&word.to_le_bytes()[..usize::from(length)]),
        (Datum::Bytes(content), Some(_)) => bytes.starts_with(content),
        (Datum::Bytes(content), None) if form.packable && content.len() < 127 => {
            bytes[0] == (2 * content.len() as u8 + 3) && bytes[1..].starts_with(content)
        }
        (Datum::Bytes(content), None) => {
            bytes.starts_with(&(4 * content.len() as u32 + 16).to_le_bytes()) && bytes[4..].starts_with(content)
        }
        (Datum::Word(_), None) => false,
    }
}

#[test]
fn sixteen_hundred_attributes_make_a_tuple() {
    let layout = layout(vec![varlena(4, true); 1600]);
    for set in [0, 1, 7, 8, 1599, 1600] {
        let values: Vec<_> = (0..1600).map(|index| (index < set).then_some(Datum::Bytes(b"x"))).collect();
        assert_eq!(form(&layout, &values, false), image(&layout, &values));
    }
}
