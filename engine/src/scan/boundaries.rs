//! The sink that writes positions: the boundary list of one buffer.
//!
//! Two lists, the layout of a sparse matrix's rows: the ends of all fields in order, and for each record the number of
//! field ends up to and including its last. Record `i` has the fields `ends[records[i - 1] .. records[i]]`. Positions
//! are four bytes because a list should stay in the cache between the scan and the split of a segment.
//!
//! How many ends a block has cannot be predicted, so the writing hardly asks: positions are written a few at a time,
//! whether there are that many or not, and only the count moves the end of the list. What was written past it is
//! overwritten by the next block.

use super::vector::BLOCK;
use super::{Block, Sink};

/// Set in an entry of [`Boundaries::ends`] whose field holds a quote that must be removed.
pub const QUOTED: u32 = 1 << 31;

/// Set in an entry of [`Boundaries::records`] that stands for a comment line, which has one end and no field.
pub const COMMENT: u32 = 1 << 31;

/// How many positions are written at once. Four was the fastest of 4, 8 and 16, on short fields and on long ones: more
/// of them are wasted on blocks with few ends, fewer mean more branches that cannot be predicted.
const STRIDE: usize = 4;

/// The field and record boundaries of the buffer scanned last.
#[derive(Clone, Debug, Default)]
pub struct Boundaries {
    ends: List,
    records: List,
}

impl Boundaries {
    /// Whether memory ran out for the lists, which are of no use then.
    pub fn is_exhausted(&self) -> bool {
        self.ends.is_exhausted || self.records.is_exhausted
    }

    /// Bytes of memory the lists take.
    pub fn memory(&self) -> usize {
        (self.ends.items.capacity() + self.records.items.capacity()) * size_of::<u32>()
    }

    /// Empty lists.
    pub fn new() -> Boundaries {
        Boundaries::default()
    }

    /// For each field the offset in the buffer of the last byte of the delimiter or line end that ends it, in order,
    /// with [`QUOTED`] where the field must be unquoted.
    pub fn ends(&self) -> &[u32] {
        &self.ends.items[..self.ends.count]
    }

    /// For each record (and comment line) the number of entries of [`Boundaries::ends`] up to and including its last,
    /// with [`COMMENT`] for a comment line.
    pub fn records(&self) -> &[u32] {
        &self.records.items[..self.records.count]
    }
}

impl Sink for Boundaries {
    /// Forgets the last buffer.
    ///
    /// # Panics
    /// If the buffer has 2 GiB or more, whose positions the list cannot hold.
    #[inline(always)]
    fn begin(&mut self, _position: u64, length: usize) {
        assert!(length < QUOTED as usize, "a buffer for a boundary list has less than 2 GiB");
        self.ends.clear();
        self.records.clear();
    }

    #[inline(always)]
    fn block(&mut self, offset: usize, block: Block) {
        let base = offset as u32;
        let fields_before = self.ends.count as u32;
        let out = self.ends.room();
        // Two copies of the loop: where nothing is quoted, the compiler leaves the flags out.
        if block.quoted == 0 {
            write_positions(out, base, block.ends, 0);
        } else {
            write_positions(out, base, block.ends, block.quoted);
        }
        self.ends.count += block.ends.count_ones() as usize;

        let out = self.records.room();
        out[0] = fields_before + rank(block.ends, block.records);
        let count = block.records.count_ones() as usize;
        if count > 1 {
            write_ranks(out, fields_before, block);
        }
        if block.comments != 0 {
            flag_comments(out, block);
        }
        self.records.count += count;
    }
}

/// How many of `ends` lie at or below the lowest of `records`.
#[inline(always)]
fn rank(ends: u64, records: u64) -> u32 {
    (ends & (records ^ records.wrapping_sub(1))).count_ones()
}

/// Writes the position of each bit of `ends`, and in its top bit that of `quoted`. What is written past the last one is
/// of no meaning.
#[inline(always)]
fn write_positions(out: &mut [u32; BLOCK], base: u32, mut ends: u64, quoted: u64) {
    for stride in out.as_chunks_mut::<STRIDE>().0 {
        for item in stride {
            let bit = ends.trailing_zeros();
            let flag = (quoted >> (bit % 64)) as u32;
            *item = (base + bit) | (flag << 31);
            ends &= ends.wrapping_sub(1);
        }
        if ends == 0 {
            return;
        }
    }
}

/// The ranks of more records than one.
#[inline(always)]
fn write_ranks(out: &mut [u32; BLOCK], fields_before: u32, block: Block) {
    let mut records = block.records;
    for item in out {
        if records == 0 {
            return;
        }
        *item = fields_before + rank(block.ends, records);
        records &= records - 1;
    }
}

/// Marks those records that are comments.
#[cold]
fn flag_comments(out: &mut [u32; BLOCK], block: Block) {
    let mut records = block.records;
    for item in out {
        if records == 0 {
            return;
        }
        if block.comments & records & records.wrapping_neg() != 0 {
            *item |= COMMENT;
        }
        records &= records - 1;
    }
}

/// A list that always has room for a block's worth of items past its end, so that writing needs one check a block.
///
/// Its size follows the input, so it grows fallibly. When it cannot, it starts over in the room it has and remembers
/// that it is of no use any more, so that the scan's own loop needs no way out.
#[derive(Clone, Debug)]
struct List {
    /// Storage: the list, then room.
    items: Vec<u32>,
    /// The length of the list.
    count: usize,
    is_exhausted: bool,
}

impl Default for List {
    fn default() -> List {
        List { items: vec![0; BLOCK], count: 0, is_exhausted: false }
    }
}

impl List {
    fn clear(&mut self) {
        self.count = 0;
        self.is_exhausted = false;
    }

    /// Room for 64 items at the end of the list.
    #[inline(always)]
    fn room(&mut self) -> &mut [u32; BLOCK] {
        if self.items.len() - self.count < BLOCK {
            self.grow();
        }
        self.items[self.count..].first_chunk_mut().expect("room was made")
    }

    #[cold]
    fn grow(&mut self) {
        let more = self.items.len() + 16 * BLOCK;
        if self.items.try_reserve_exact(more).is_ok() {
            self.items.resize(self.items.len() + more, 0);
        } else {
            self.is_exhausted = true;
            self.count = 0;
        }
    }
}
