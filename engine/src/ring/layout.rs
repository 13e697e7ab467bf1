//! Where everything lies in the shared memory.

use std::cell::UnsafeCell;

use super::{Counter32, Counter64, NO_BLOCK};

/// A ring's dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Geometry {
    /// Slots for tickets: so far may threads be ahead of the backend.
    pub tickets: u32,
    /// Blocks in the pool, more than `kept` and [`RESERVE`](super::RESERVE).
    pub blocks: u32,
    /// Blocks that the backend may keep beside the one it looks at ([`Consumer::keep`](super::Consumer::keep)).
    pub kept: u32,
    /// Bytes in a block, a multiple of [`Geometry::ALIGN`].
    pub block_size: u32,
}

impl Geometry {
    /// What the memory and every block in it are aligned to: a cache line.
    pub const ALIGN: usize = 64;

    /// Bytes of shared memory a ring of these dimensions takes.
    pub fn bytes(self) -> usize {
        self.block_offset(self.blocks)
    }

    pub(super) fn slot_offset(self, index: u32) -> usize {
        size_of::<Head>() + index as usize * size_of::<Slot>()
    }

    pub(super) fn link_offset(self, block: u32) -> usize {
        self.slot_offset(self.tickets) + block as usize * size_of::<Link>()
    }

    pub(super) fn block_offset(self, block: u32) -> usize {
        let start = self.link_offset(self.blocks).next_multiple_of(Self::ALIGN);
        start + block as usize * self.block_size as usize
    }
}

/// How a ticket ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Outcome {
    /// Every record of the segment is in the ticket's blocks (or was filtered out, or counted).
    #[default]
    Plain,
    /// The record at [`Summary::end`] is no plain success; what comes from there on is to be read again.
    Anomaly,
    /// Reading the file failed at [`Summary::end`] with [`Summary::errno`].
    ReadError,
    /// The file ended at [`Summary::end`], earlier than it did when the scan began.
    Short,
    /// Memory ran out.
    OutOfMemory,
    /// What the input's bytes stand for cannot be made out behind [`Summary::end`]: a compressed file is damaged.
    Damaged,
}

/// What a thread tells of its ticket when it finishes it. Counts are of the records up to [`Summary::end`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Summary {
    /// How it ended.
    pub outcome: Outcome,
    /// The system's error number, for [`Outcome::ReadError`].
    pub errno: i32,
    /// The byte at which the first record of the segment starts; equal to `end` if there is none.
    pub start: u64,
    /// The byte behind the last record handled.
    pub end: u64,
    /// Whether any record starts in the segment at all.
    pub has_records: bool,
    /// Whether its first record did not start where it was guessed to.
    pub wrong_guess: bool,
    /// Whether this is the last ticket of the input.
    pub is_last: bool,
    /// Records, those included that a filter removed.
    pub records: u64,
    /// Physical line ends.
    pub lines: u64,
    /// Line ends inside quotes that COPY counts.
    pub inner: u64,
    /// Records that the filter removed.
    pub filtered: u64,
    /// Records that travel as they are because a value of theirs was declined.
    pub declined: u64,
}

/// The head of the shared memory. What different processes write often lies in different cache lines.
#[repr(C, align(64))]
pub(super) struct Head {
    pub(super) geometry: Geometry,
    pub(super) stop: Counter32,
    apart: [u8; 44],
    /// The stack of free blocks: the top's number plus one, and a count of changes above it.
    pub(super) stack: Counter64,
    /// Blocks on the stack, or about to be: only who has taken one off this count may pop.
    pub(super) free: Counter32,
    pub(super) least_free: Counter32,
    further_apart: [u8; 48],
    /// The ticket the backend waits for.
    pub(super) awaited: Counter64,
    pub(super) consumer_sleeps: Counter32,
    pub(super) producers_sleep: Counter32,
    /// How often the threads were woken; they sleep on this.
    pub(super) wakes: Counter32,
    apart_again: [u8; 44],
    /// Bytes of memory that the threads hold beside the ring, and the most they held.
    pub(super) memory: Counter64,
    pub(super) peak_memory: Counter64,
}

impl Head {
    pub(super) fn new(geometry: Geometry) -> Head {
        Head {
            geometry,
            stop: Counter32::new(0),
            apart: [0; 44],
            stack: Counter64::new(u64::from(NO_BLOCK)),
            free: Counter32::new(0),
            least_free: Counter32::new(geometry.blocks),
            further_apart: [0; 48],
            awaited: Counter64::new(0),
            consumer_sleeps: Counter32::new(0),
            producers_sleep: Counter32::new(0),
            wakes: Counter32::new(0),
            apart_again: [0; 44],
            memory: Counter64::new(0),
            peak_memory: Counter64::new(0),
        }
    }
}

/// A ticket's slot.
#[repr(C, align(64))]
pub(super) struct Slot {
    /// The ticket's first block.
    pub(super) first: Counter32,
    /// Not zero once the ticket is finished and the summary is there.
    pub(super) finished: Counter32,
    pub(super) summary: UnsafeCell<Summary>,
}

impl Slot {
    pub(super) fn new() -> Slot {
        Slot {
            first: Counter32::new(NO_BLOCK),
            finished: Counter32::new(0),
            summary: UnsafeCell::new(Summary::default()),
        }
    }
}

/// What is known of a block apart from its bytes.
#[repr(C)]
pub(super) struct Link {
    /// The next block of the ticket, or of the stack of free ones.
    pub(super) next: Counter32,
    /// Bytes used.
    pub(super) used: Counter32,
}

impl Link {
    pub(super) fn new() -> Link {
        Link { next: Counter32::new(NO_BLOCK), used: Counter32::new(0) }
    }
}
