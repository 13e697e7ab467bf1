//! The row image: a finished heap tuple, byte for byte what `heap_form_tuple` makes.
//!
//! ```text
//! datum length, typmod, type id (12) | invalid ctid (6) | infomask2 (2) | infomask (2) | hoff (1) | null bitmap | data
//! ```
//!
//! The null bitmap is there only if something is NULL. The data start at the next multiple of 8 and hold each value
//! that is not NULL at its type's alignment. A varlena of up to 126 bytes gets a header of one byte and no alignment,
//! if its storage allows it; a longer one gets four bytes. Padding is zero.

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
    /// Bytes that everything but the contents of varlenas may take at most.
    frame: usize,
    /// Storage, which only grows.
    bytes: Vec<u8>,
}

impl Former {
    /// A former of rows.
    pub fn new(layout: Layout) -> Former {
        let attributes = &layout.attributes;
        // Each value may need up to 7 bytes of padding and a header of 4; and a store of 8 bytes past the last one must
        // fit.
        let length = |attribute: &Attribute| attribute.length.map_or(4, usize::from) + MAX_ALIGN;
        let values: usize = attributes.iter().map(length).sum();
        let frame = HEADER + attributes.len().div_ceil(8) + 2 * MAX_ALIGN + values;
        Former { layout, frame, bytes: Vec::new() }
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
        let has_null = self.reserve(values)?;
        let bitmap = if has_null { values.len().div_ceil(8) } else { 0 };
        let data_offset = (HEADER + bitmap).next_multiple_of(MAX_ALIGN);
        let bytes = &mut self.bytes[..];
        bytes[HEADER..data_offset].fill(0);
        let mut at = data_offset;
        let mut has_variable_width = false;
        for (attribute, value) in self.layout.attributes.iter().zip(values) {
            at = match (value, attribute.length) {
                (None, _) => at,
                (Some(Datum::Word(word)), length) => {
                    let at = pad(bytes, at, attribute.align);
                    // All 8 bytes, whatever the length: what is too many is overwritten by what follows.
                    bytes[at..at + MAX_ALIGN].copy_from_slice(&word.to_le_bytes());
                    at + usize::from(length.expect("a varlena's content is bytes"))
                }
                (Some(Datum::Bytes(content)), Some(_)) => {
                    let at = pad(bytes, at, attribute.align);
                    put(bytes, at, content)
                }
                (Some(Datum::Bytes(content)), None) => {
                    has_variable_width = true;
                    put_varlena(bytes, at, *attribute, content)
                }
            };
        }
        if has_null {
            for (i, _) in values.iter().enumerate().filter(|(_, value)| value.is_some()) {
                bytes[HEADER + i / 8] |= 1 << (i % 8);
            }
        }
        let mask = if has_null { HAS_NULL } else { 0 } | if has_variable_width { HAS_VARIABLE_WIDTH } else { 0 };
        self.write_header(at, mask, data_offset);
        Ok(&self.bytes[..at])
    }

    /// Makes room, so that nothing after it allocates; says whether something is NULL.
    fn reserve(&mut self, values: &[Option<Datum<'_>>]) -> Result<bool, OutOfMemory> {
        let (mut most, mut has_null) = (self.frame, false);
        for value in values {
            match value {
                None => has_null = true,
                Some(Datum::Bytes(content)) => most += content.len(),
                Some(Datum::Word(_)) => {}
            }
        }
        if most > self.bytes.len() {
            self.bytes.try_reserve(most - self.bytes.len()).map_err(|_| OutOfMemory)?;
            self.bytes.resize(most, 0);
        }
        Ok(has_null)
    }

    fn write_header(&mut self, length: usize, mask: u16, data_offset: usize) {
        let attributes = self.layout.attributes.len() as u16;
        let header = &mut self.bytes[..HEADER];
        header[0..4].copy_from_slice(&((length as u32) << 2).to_le_bytes());
        header[4..8].copy_from_slice(&self.layout.type_modifier.to_le_bytes());
        header[8..12].copy_from_slice(&self.layout.type_id.to_le_bytes());
        header[12..18].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0]);
        header[18..20].copy_from_slice(&attributes.to_le_bytes());
        header[20..22].copy_from_slice(&mask.to_le_bytes());
        header[22] = data_offset as u8;
    }
}

/// Where the next value of that alignment goes; what lies between is zero then.
#[inline(always)]
fn pad(bytes: &mut [u8], at: usize, align: u8) -> usize {
    bytes[at..at + MAX_ALIGN].fill(0);
    at.next_multiple_of(usize::from(align))
}

/// Copies a content; returns where it ends.
#[inline(always)]
fn put(bytes: &mut [u8], at: usize, content: &[u8]) -> usize {
    let end = at + content.len();
    bytes[at..end].copy_from_slice(content);
    end
}

#[inline(always)]
fn put_varlena(bytes: &mut [u8], at: usize, attribute: Attribute, content: &[u8]) -> usize {
    if attribute.packable && content.len() <= SHORT {
        bytes[at] = ((content.len() as u8 + 1) << 1) | 1;
        return put(bytes, at + 1, content);
    }
    let at = pad(bytes, at, attribute.align);
    bytes[at..at + 4].copy_from_slice(&((content.len() as u32 + 4) << 2).to_le_bytes());
    put(bytes, at + 4, content)
}

/// What a reader of one attribute finds in a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The value's offset in the tuple.
    At(usize),
    /// NULL.
    Null,
}

/// Finds the attributes of a tuple that [`Former`] made and in which no others are set: in ascending order, and each
/// found goes to `found` with its place in `wanted`.
///
/// PostgreSQL's own way through a tuple looks at each attribute before the one that is wanted. Where only a few of many
/// are set, this looks at those alone.
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
