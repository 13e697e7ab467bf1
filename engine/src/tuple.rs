//! The row image: a finished heap tuple, byte for byte what `heap_form_tuple` makes.
//!
//! ```text
//! datum length, typmod, type id (12) | invalid ctid (6) | infomask2 (2) | infomask (2) | hoff (1) | null bitmap | data
//! ```
//!
//! The null bitmap is there only if something is NULL. The data start at the next multiple of 8 and hold each value that is
//! not NULL at its type's alignment. A varlena of up to 126 bytes gets a header of one byte and no alignment, if its
//! storage allows it; a longer one gets four bytes. Padding is zero.

use crate::convert::Datum;
use crate::job::{Attribute, Layout};

/// Bytes before the null bitmap.
const HEADER: usize = 23;

/// What tuples and their data are aligned to.
const MAX_ALIGN: usize = 8;

/// The longest content of a varlena with a header of one byte.
const SHORT: usize = 126;

/// The longest content of a varlena at all: one GiB less one byte, header included.
pub const LONGEST_VARLENA: usize = (1 << 30) - 1 - 4;

/// Bits of the infomask.
const HAS_NULL: u16 = 1;
const HAS_VARIABLE_WIDTH: u16 = 2;

// Varlena headers are laid out differently on big-endian machines.
const _: () = assert!(cfg!(target_endian = "little"));

/// Why a row cannot be formed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// Forms the rows of one layout, one after the other, in the same memory.
#[derive(Debug)]
pub struct Former {
    layout: Layout,
    bytes: Vec<u8>,
}

impl Former {
    /// A former of rows.
    pub fn new(layout: Layout) -> Former {
        Former { layout, bytes: Vec::new() }
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// The tuple that holds `values`, one for each attribute, `None` for NULL.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn form(&mut self, values: &[Option<Datum<'_>>]) -> Result<&[u8], OutOfMemory> {
        debug_assert_eq!(values.len(), self.layout.attributes.len());
        let has_null = values.iter().any(Option::is_none);
        let bitmap = if has_null { values.len().div_ceil(8) } else { 0 };
        let data_offset = (HEADER + bitmap).next_multiple_of(MAX_ALIGN);
        self.reserve(data_offset, values)?;
        let bytes = &mut self.bytes;
        bytes.resize(data_offset, 0);
        let mut has_variable_width = false;
        for (attribute, value) in self.layout.attributes.iter().zip(values) {
            let Some(value) = value else { continue };
            match (*value, attribute.length) {
                (Datum::Word(word), Some(length)) => push_word(bytes, *attribute, word, length),
                (Datum::Bytes(content), Some(_)) => {
                    pad(bytes, attribute.align);
                    bytes.extend_from_slice(content);
                }
                (Datum::Bytes(content), None) => {
                    has_variable_width = true;
                    push_varlena(bytes, *attribute, content);
                }
                (Datum::Word(_), None) => unreachable!("a varlena's content is bytes"),
            }
        }
        if has_null {
            for (i, _) in values.iter().enumerate().filter(|(_, value)| value.is_some()) {
                bytes[HEADER + i / 8] |= 1 << (i % 8);
            }
        }
        let mask = if has_null { HAS_NULL } else { 0 } | if has_variable_width { HAS_VARIABLE_WIDTH } else { 0 };
        self.write_header(mask, data_offset);
        Ok(&self.bytes)
    }

    /// Makes room, so that nothing after it allocates.
    fn reserve(&mut self, data_offset: usize, values: &[Option<Datum<'_>>]) -> Result<(), OutOfMemory> {
        let content = |value: &Option<Datum<'_>>| match value {
            Some(Datum::Bytes(content)) => content.len(),
            _ => 0,
        };
        // Each value may need 8 bytes, or a header of 4, and up to 7 of padding.
        let most = data_offset + values.iter().map(|value| 2 * MAX_ALIGN + content(value)).sum::<usize>();
        self.bytes.clear();
        self.bytes.try_reserve(most).map_err(|_| OutOfMemory)
    }

    fn write_header(&mut self, mask: u16, data_offset: usize) {
        let length = self.bytes.len() as u32;
        let attributes = self.layout.attributes.len() as u16;
        let header = &mut self.bytes[..HEADER];
        header[0..4].copy_from_slice(&(length << 2).to_le_bytes());
        header[4..8].copy_from_slice(&self.layout.type_modifier.to_le_bytes());
        header[8..12].copy_from_slice(&self.layout.type_id.to_le_bytes());
        header[12..18].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0]);
        header[18..20].copy_from_slice(&attributes.to_le_bytes());
        header[20..22].copy_from_slice(&mask.to_le_bytes());
        header[22] = data_offset as u8;
    }
}

#[inline]
fn pad(bytes: &mut Vec<u8>, align: u8) {
    let length = bytes.len().next_multiple_of(usize::from(align));
    bytes.resize(length, 0);
}

#[inline]
fn push_word(bytes: &mut Vec<u8>, attribute: Attribute, word: u64, length: u16) {
    pad(bytes, attribute.align);
    let word = word.to_le_bytes();
    match length {
        8 => bytes.extend_from_slice(&word),
        4 => bytes.extend_from_slice(&word[..4]),
        2 => bytes.extend_from_slice(&word[..2]),
        _ => bytes.push(word[0]),
    }
}

#[inline]
fn push_varlena(bytes: &mut Vec<u8>, attribute: Attribute, content: &[u8]) {
    if attribute.packable && content.len() <= SHORT {
        bytes.push(((content.len() as u8 + 1) << 1) | 1);
    } else {
        pad(bytes, attribute.align);
        bytes.extend_from_slice(&((content.len() as u32 + 4) << 2).to_le_bytes());
    }
    bytes.extend_from_slice(content);
}

/// What a reader of one attribute finds in a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The value's offset in the tuple.
    At(usize),
    /// NULL.
    Null,
}

/// Finds the attributes of a tuple that [`Former`] made and in which no others are set: in ascending order, and each found
/// goes to `found` with its place in `wanted`.
///
/// PostgreSQL's own way through a tuple looks at each attribute before the one that is wanted. Where only a few of many are
/// set, this looks at those alone.
#[inline]
pub fn find(tuple: &[u8], wanted: &[(usize, Attribute)], mut found: impl FnMut(usize, Found)) {
    let has_null = tuple[20] & HAS_NULL as u8 != 0;
    let mut at = usize::from(tuple[22]);
    for (place, (index, attribute)) in wanted.iter().enumerate() {
        if has_null && tuple[HEADER + index / 8] >> (index % 8) & 1 == 0 {
            found(place, Found::Null);
            continue;
        }
        let align = usize::from(attribute.align);
        let Some(length) = attribute.length else {
            // A short header is odd; padding and the long header's first byte are even.
            if tuple[at] & 1 == 0 {
                at = at.next_multiple_of(align);
            }
            found(place, Found::At(at));
            at += varlena_length(&tuple[at..]);
            continue;
        };
        at = at.next_multiple_of(align);
        found(place, Found::At(at));
        at += usize::from(length);
    }
}

/// Bytes of a varlena, header included.
#[inline]
fn varlena_length(bytes: &[u8]) -> usize {
    match bytes {
        [short, ..] if short & 1 == 1 => usize::from(short >> 1),
        [a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) >> 2) as usize,
        _ => 0,
    }
}
