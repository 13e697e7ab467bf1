//! The row image: a finished heap tuple, byte for byte what `heap_form_tuple` makes.
//!
//! ```text
//! datum length, typmod, type id (12) | invalid ctid (6) | infomask2 (2) | infomask (2) | hoff (1) | null bitmap | data
//! ```
//!
//! The null bitmap is there only if something is NULL. The data start at the next multiple of 8 and hold each value
//! that is not NULL at its type's alignment. A varlena of up to 126 bytes gets a header of one byte and no alignment,
//! if its storage allows it; a longer one gets four bytes. Padding is zero.

use crate::convert::{FEW, Sink};
use crate::job::{Attribute, Layout};

/// Bytes before the null bitmap.
const HEADER: usize = 23;

/// What tuples and their data are aligned to.
const MAX_ALIGN: usize = 8;

/// The longest content of a varlena with a header of one byte.
const SHORT: usize = 126;

/// The longest content of a varlena at all: one GiB less one byte, header included.
pub const LONGEST_VARLENA: usize = (1 << 30) - 1 - 4;

/// Bytes that are padded at once.
const BLOCK: usize = 32;

/// Where the infomask's low byte is, and bits of it.
const MASK: usize = 20;
const HAS_NULL: u8 = 1;
const HAS_VARIABLE_WIDTH: u8 = 2;

// Varlena headers are laid out differently on big-endian machines.
const _: () = assert!(cfg!(target_endian = "little"));

/// Why a row cannot be formed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// Forms the rows of one layout: [`Former::row`], then each attribute in ascending order ([`Row::attribute`] or
/// [`Row::null`]), then [`Row::finish`].
#[derive(Debug)]
pub struct Former {
    /// What a row begins with: header, bitmap if attributes are left out, and the padding behind it.
    begin: Vec<u8>,
    /// The same with a bitmap in which all attributes are set; empty if rows begin with one anyway.
    begin_with_bitmap: Vec<u8>,
    /// Bytes that everything but the contents of varlenas may take at most.
    frame: usize,
}

impl Former {
    /// A former of rows. `set` tells the attributes, 0-based, that are put or said to be NULL; others are NULL in every
    /// row.
    pub fn new(layout: &Layout, set: &[usize]) -> Former {
        let attributes = layout.attributes.len();
        // Each value may need up to 7 bytes of padding and a header of 4, and those which are stored whole words at a
        // time some more; and a store past the last one must fit.
        let length = |attribute: &Attribute| attribute.length.map_or(4 + FEW, usize::from) + MAX_ALIGN;
        let values: usize = layout.attributes.iter().map(length).sum();
        let frame = HEADER + attributes.div_ceil(8) + 2 * MAX_ALIGN + values + BLOCK;
        let with_bitmap = begin(layout, Some(set));
        if set.len() < attributes {
            Former { begin: with_bitmap, begin_with_bitmap: Vec::new(), frame }
        } else {
            Former { begin: begin(layout, None), begin_with_bitmap: with_bitmap, frame }
        }
    }

    /// Begins a row at the start of some bytes, whatever they hold. They must be more than the row comes to: if there
    /// are too few, [`Row::finish`] says so.
    #[inline]
    pub fn row<'b>(&'b self, bytes: &'b mut [u8]) -> Row<'b> {
        let data = self.begin.len();
        let is_full = self.frame > bytes.len();
        if !is_full {
            copy(bytes, &self.begin);
        }
        let has_bitmap = self.begin_with_bitmap.is_empty();
        Row {
            former: self,
            bytes,
            data,
            at: data,
            has_bitmap,
            has_variable_width: false,
            is_full,
            contents: 0,
            last: 0,
        }
    }
}

/// What a row begins with, up to where its data begin. With a bitmap if one is to be there, in which so many attributes
/// are set.
fn begin(layout: &Layout, bitmap: Option<&[usize]>) -> Vec<u8> {
    let attributes = layout.attributes.len();
    let length = HEADER + bitmap.map_or(0, |_| attributes.div_ceil(8));
    let mut begin = vec![0; length.next_multiple_of(MAX_ALIGN)];
    begin[4..8].copy_from_slice(&layout.type_modifier.to_le_bytes());
    begin[8..12].copy_from_slice(&layout.type_id.to_le_bytes());
    begin[12..18].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0]);
    begin[18..20].copy_from_slice(&(attributes as u16).to_le_bytes());
    begin[MASK] = if bitmap.is_some() { HAS_NULL } else { 0 };
    begin[22] = begin.len() as u8;
    for index in bitmap.unwrap_or_default() {
        begin[HEADER + index / 8] |= 1 << (index % 8);
    }
    begin
}

/// A row that is being formed.
///
/// It is written in one pass, though whether it has a null bitmap is known only at its end. Unless attributes are left
/// out it begins without one; the first NULL moves what is there by the bitmap's length, which keeps all alignments,
/// since data start at a multiple of [`MAX_ALIGN`] either way.
#[derive(Debug)]
pub struct Row<'b> {
    former: &'b Former,
    bytes: &'b mut [u8],
    /// Where the row's data begin, and end so far.
    data: usize,
    at: usize,
    has_bitmap: bool,
    has_variable_width: bool,
    /// Whether there were too few bytes; then nothing more is written.
    is_full: bool,
    /// Bytes of the contents so far, also of those that were not written.
    contents: usize,
    /// The word, or the length of the content, that was put last.
    last: u64,
}

impl<'b> Row<'b> {
    /// Where the value of the next attribute goes, which is stored in this form.
    #[inline(always)]
    pub fn attribute(&mut self, form: Attribute) -> Place<'_, 'b> {
        Place { row: self, form }
    }

    /// Says that an attribute is NULL.
    #[inline]
    pub fn null(&mut self, index: usize) {
        if self.is_full {
            return;
        }
        if !self.has_bitmap {
            self.insert_bitmap();
        }
        self.bytes[HEADER + index / 8] &= !(1 << (index % 8));
    }

    /// Bytes of the row, now that it is whole.
    ///
    /// # Errors
    /// If there were too few bytes for it: how many are enough.
    #[inline]
    pub fn finish(&mut self) -> Result<usize, usize> {
        if self.is_full {
            // Behind any part of the frame that the row takes there must be room for all of it.
            return Err(self.contents + 2 * self.former.frame);
        }
        self.bytes[0..4].copy_from_slice(&((self.at as u32) << 2).to_le_bytes());
        self.bytes[MASK] |= if self.has_variable_width { HAS_VARIABLE_WIDTH } else { 0 };
        Ok(self.at)
    }

    /// The value that was put last, of this form; `None` if there was no room for it.
    #[inline]
    pub(crate) fn last(&self, form: Attribute) -> Option<Last> {
        match form.length {
            _ if self.is_full => None,
            Some(1..=8) => Some(Last::Word(self.last)),
            _ => Some(Last::Content { end: self.at - self.data, length: self.last as usize }),
        }
    }

    /// The bytes of a content that was put.
    #[inline]
    pub(crate) fn content(&self, end: usize, length: usize) -> &[u8] {
        let end = self.data + end;
        &self.bytes[end - length..end]
    }

    /// Whether there is room for a content, and for the frame of all that may follow.
    #[inline(always)]
    fn has_room(&mut self, content: usize) -> bool {
        self.contents += content;
        self.is_full |= self.at + content + self.former.frame > self.bytes.len();
        !self.is_full
    }

    /// Moves on to where a value of that alignment goes; what lies between is zero then.
    #[inline(always)]
    fn pad(&mut self, align: u8) {
        self.bytes[self.at..self.at + MAX_ALIGN].fill(0);
        self.at = align_up(self.at, align);
    }

    /// Writes the header of a varlena, padding before it.
    #[inline(always)]
    fn head(&mut self, attribute: Attribute, length: usize) {
        self.has_variable_width = true;
        if attribute.packable && length <= SHORT {
            self.bytes[self.at] = ((length as u8 + 1) << 1) | 1;
            self.at += 1;
        } else {
            self.pad(attribute.align);
            self.bytes[self.at..self.at + 4].copy_from_slice(&((length as u32 + 4) << 2).to_le_bytes());
            self.at += 4;
        }
    }

    /// Gives the row a bitmap, in which all attributes are set.
    #[cold]
    fn insert_bitmap(&mut self) {
        let begin = &self.former.begin_with_bitmap;
        self.bytes.copy_within(self.data..self.at, begin.len());
        self.bytes[..begin.len()].copy_from_slice(begin);
        self.at += begin.len() - self.data;
        self.data = begin.len();
        self.has_bitmap = true;
    }
}

/// Where one value goes.
#[derive(Debug)]
pub struct Place<'r, 'b> {
    row: &'r mut Row<'b>,
    form: Attribute,
}

impl Sink for Place<'_, '_> {
    #[inline(always)]
    fn word(&mut self, word: u64) {
        let Place { row, form } = self;
        if row.is_full {
            return;
        }
        row.pad(form.align);
        // All 8 bytes, whatever the length: what is too many is overwritten by what follows.
        row.bytes[row.at..row.at + MAX_ALIGN].copy_from_slice(&word.to_le_bytes());
        row.at += usize::from(form.length.expect("a varlena's content is bytes"));
        row.last = word;
    }

    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        let Place { row, form } = self;
        if !row.has_room(bytes.len()) {
            return;
        }
        match form.length {
            Some(_) => row.pad(form.align),
            None => row.head(*form, bytes.len()),
        }
        copy(&mut row.bytes[row.at..], bytes);
        row.at += bytes.len();
        row.last = bytes.len() as u64;
    }

    #[inline(always)]
    fn few(&mut self, content: [u8; FEW], length: usize) {
        let Place { row, form } = self;
        if row.is_full {
            return;
        }
        row.head(*form, length);
        row.bytes[row.at..row.at + FEW].copy_from_slice(&content);
        row.at += length;
        row.last = length as u64;
    }

    #[inline(always)]
    fn padded(&mut self, text: &[u8], blanks: usize) {
        let Place { row, form } = self;
        let length = text.len() + blanks;
        if !row.has_room(length) {
            return;
        }
        row.head(*form, length);
        let place = &mut row.bytes[row.at..row.at + length.next_multiple_of(BLOCK)];
        // Blanks are stored in whole blocks, which takes a few instructions where storing as many as there are takes a
        // call.
        for block in place.chunks_exact_mut(BLOCK) {
            block.fill(b' ');
        }
        copy(place, text);
        row.at += length;
        row.last = length as u64;
    }
}

/// A value that was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// See [`Sink::word`].
    Word(u64),
    /// A content: so many bytes before an offset in the row's data.
    Content { end: usize, length: usize },
}

/// The next multiple of an alignment.
#[inline(always)]
fn align_up(at: usize, align: u8) -> usize {
    // An alignment is a power of two; the library's function for any number divides.
    let below = usize::from(align) - 1;
    (at + below) & !below
}

/// Copies a content to the start of some bytes. Most are short: two overlapping stores instead of a call.
#[inline(always)]
fn copy(to: &mut [u8], content: &[u8]) {
    fn both<const N: usize>(to: &mut [u8], content: &[u8]) {
        let last = content.len() - N;
        to[..N].copy_from_slice(&content[..N]);
        to[last..last + N].copy_from_slice(&content[last..]);
    }
    match content.len() {
        0 => {}
        1 => to[0] = content[0],
        2..4 => both::<2>(to, content),
        4..8 => both::<4>(to, content),
        8..16 => both::<8>(to, content),
        16..=32 => both::<16>(to, content),
        length => to[..length].copy_from_slice(content),
    }
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
    let has_null = tuple[MASK] & HAS_NULL != 0;
    let mut at = usize::from(tuple[22]);
    for (place, (index, attribute)) in wanted.iter().enumerate() {
        if has_null && tuple[HEADER + index / 8] >> (index % 8) & 1 == 0 {
            found(place, Found::Null);
            continue;
        }
        let Some(length) = attribute.length else {
            // A short header is odd; padding and the long header's first byte are even.
            if tuple[at] & 1 == 0 {
                at = align_up(at, attribute.align);
            }
            found(place, Found::At(at));
            at += varlena_length(&tuple[at..]);
            continue;
        };
        at = align_up(at, attribute.align);
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
