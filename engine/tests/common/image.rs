//! `heap_form_tuple`, written plainly: what the engine's row images are held against.

use fastcsv_engine::convert::Datum;
use fastcsv_engine::job::Layout;

/// The tuple that PostgreSQL would form of these values, all of its bytes.
pub fn image(layout: &Layout, values: &[Option<Datum<'_>>]) -> Vec<u8> {
    let bitmap_bytes = if values.contains(&None) { values.len().div_ceil(8) } else { 0 };
    let header = (23 + bitmap_bytes).div_ceil(8) * 8;
    let (data, has_varlena) = data(layout, values);
    let mut tuple = Vec::new();
    tuple.extend(((header + data.len()) as u32 * 4).to_le_bytes());
    tuple.extend(layout.type_modifier.to_le_bytes());
    tuple.extend(layout.type_id.to_le_bytes());
    tuple.extend([0xff, 0xff, 0xff, 0xff, 0, 0]); // an invalid item pointer
    tuple.extend((values.len() as u16).to_le_bytes());
    let mask = u16::from(bitmap_bytes > 0) + 2 * u16::from(has_varlena);
    tuple.extend(mask.to_le_bytes());
    tuple.push(header as u8);
    for eight in values.chunks(8).take(bitmap_bytes) {
        let bits = eight.iter().enumerate().map(|(bit, value)| u8::from(value.is_some()) << bit);
        tuple.push(bits.sum());
    }
    tuple.resize(header, 0);
    tuple.extend(data);
    tuple
}

/// The values, aligned as if their first byte were, and whether one of them is a varlena.
fn data(layout: &Layout, values: &[Option<Datum<'_>>]) -> (Vec<u8>, bool) {
    let mut data = Vec::new();
    let mut has_varlena = false;
    for (attribute, value) in layout.attributes.iter().zip(values) {
        let Some(value) = value else { continue };
        let word;
        let (mut bytes, is_varlena) = match (value, attribute.length) {
            (Datum::Word(value), length) => {
                word = value.to_le_bytes();
                (&word[..usize::from(length.expect("a word has a fixed length"))], false)
            }
            (Datum::Bytes(bytes), length) => (*bytes, length.is_none()),
        };
        let is_short = is_varlena && attribute.packable && bytes.len() < 127;
        if !is_short {
            while data.len() % usize::from(attribute.align) != 0 {
                data.push(0);
            }
        }
        has_varlena |= is_varlena;
        if is_short {
            data.push(2 * (bytes.len() as u8 + 1) + 1);
        } else if is_varlena {
            data.extend((4 * (bytes.len() as u32 + 4)).to_le_bytes());
        } else {
            bytes = &bytes[..usize::from(attribute.length.expect("it is no varlena"))];
        }
        data.extend(bytes);
    }
    (data, has_varlena)
}
