//! Memory for Rust code in processes that must not abort.
//!
//! Where memory runs out PostgreSQL raises an error, but Rust aborts the process, and a backend or worker that aborts
//! takes the whole cluster down with it. So whatever grows with a file or a query is allocated fallibly (`try_reserve`,
//! or behind [`expect_room`]). What is left is small: a box, a message, a node of a list. For that there is a
//! **reserve** inside the library's own data, which the allocator turns to when the system has nothing left. It is
//! enough to come to the next place that asks [`ran_out`] and raises an error. Pages of it that nobody touches cost
//! nothing.

#![expect(unsafe_code, reason = "a global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pgrx::prelude::*;

use crate::options::{raise, report};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

static RESERVE: Reserve = Reserve::new();

/// Whether the system has refused memory since the last [`forget`].
static RAN_OUT: AtomicBool = AtomicBool::new(false);

/// For tests: how many allocations are still granted, plus one; 0 if nobody counts.
static GRANTED: AtomicU64 = AtomicU64::new(0);

/// The largest piece the reserve gives away. What is larger was asked for fallibly.
const LARGEST_PIECE: usize = 64 * 1024;

/// What pieces are at least aligned to: two cache lines, as what threads keep apart wants it.
const ALIGN: usize = 128;

/// Has memory run out since the last [`forget`]? What goes on meanwhile lives on the reserve, and should end.
pub(crate) fn ran_out() -> bool {
    RAN_OUT.load(Ordering::Relaxed)
}

/// A new statement begins. If `failing` is set, which is for tests, all allocations from that one on (the first is 1)
/// fail.
pub(crate) fn forget(failing: Option<u64>) {
    RAN_OUT.store(false, Ordering::Relaxed);
    GRANTED.store(failing.unwrap_or(0), Ordering::Relaxed);
}

/// The error for when memory has run out.
pub(crate) fn raise_out_of_memory() -> ! {
    raise(report(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, "out of memory"))
}

/// So many zeros; `None` if there is no memory for them.
pub(crate) fn zeroed(length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, 0);
    Some(bytes)
}

/// Makes sure that so many bytes can be had right now, for code that allocates them infallibly.
///
/// # Errors
/// Raises PostgreSQL's error if not.
pub(crate) fn expect_room(bytes: usize) {
    if !has_room(bytes) {
        raise_out_of_memory();
    }
}

/// Can so many bytes be had right now? Nobody else in this process should be allocating.
pub(crate) fn has_room(bytes: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let is_there = room.try_reserve_exact(bytes).is_ok();
    // So that the compiler does not see that nobody uses it, and leaves it out.
    std::hint::black_box(&room);
    is_there && !ran_out()
}

/// The system's allocator, with the reserve behind it.
struct Allocator;

// SAFETY: every piece comes from the system's allocator or from the reserve, whose pieces do not overlap, and goes back
// to where it came from, which its address tells. Nothing here unwinds.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let found = if is_granted() { unsafe { System.alloc(layout) } } else { std::ptr::null_mut() };
        if found.is_null() { RESERVE.take(layout) } else { found }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise; a piece of the reserve is as long as the layout says.
        unsafe {
            let found = if is_granted() { System.alloc_zeroed(layout) } else { std::ptr::null_mut() };
            if !found.is_null() {
                return found;
            }
            let piece = RESERVE.take(layout);
            if !piece.is_null() {
                piece.write_bytes(0, layout.size());
            }
            piece
        }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if RESERVE.holds(place) {
            RESERVE.give_back(place);
        } else {
            // SAFETY: the caller's promise; it did not come from the reserve.
            unsafe { System.dealloc(place, layout) }
        }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise, which covers the new layout; both pieces are at least as long as what is
        // copied.
        unsafe {
            if !RESERVE.holds(place) && is_granted() {
                let moved = System.realloc(place, layout, size);
                if !moved.is_null() {
                    return moved;
                }
            }
            let new = Layout::from_size_align_unchecked(size, layout.align());
            let moved = if RESERVE.holds(place) { self.alloc(new) } else { RESERVE.take(new) };
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(place, layout.size().min(size));
                self.dealloc(place, layout);
            }
            moved
        }
    }
}

/// Counts an allocation, where somebody wants some to fail.
#[inline]
fn is_granted() -> bool {
    GRANTED.load(Ordering::Relaxed) == 0 || is_counted_in()
}

#[cold]
fn is_counted_in() -> bool {
    let left = GRANTED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(1).max(1)));
    left.is_ok_and(|left| left > 1)
}

/// Memory that was there from the beginning: pieces of three sizes, and for each a bit that says whether it is away.
#[repr(C, align(128))]
struct Reserve {
    bytes: UnsafeCell<[u8; RESERVE_BYTES]>,
    small: [AtomicU64; SMALL.words()],
    medium: [AtomicU64; MEDIUM.words()],
    large: [AtomicU64; LARGE.words()],
}

// SAFETY: the bytes are only handed out, each to one owner at a time.
unsafe impl Sync for Reserve {}

/// Pieces of one size, one behind the other.
#[derive(Clone, Copy)]
struct Pieces {
    /// Where the first one starts in the reserve.
    start: usize,
    size: usize,
    count: usize,
}

impl Pieces {
    const fn end(self) -> usize {
        self.start + self.size * self.count
    }

    const fn words(self) -> usize {
        self.count.div_ceil(u64::BITS as usize)
    }
}

// Nearly all that errors are made of is small; the largest are buffers for input and output.
const SMALL: Pieces = Pieces { start: 0, size: 256, count: 1024 };
const MEDIUM: Pieces = Pieces { start: SMALL.end(), size: 4 * 1024, count: 64 };
const LARGE: Pieces = Pieces { start: MEDIUM.end(), size: LARGEST_PIECE, count: 8 };
const RESERVE_BYTES: usize = LARGE.end();

impl Reserve {
    const fn new() -> Reserve {
        Reserve {
            bytes: UnsafeCell::new([0; RESERVE_BYTES]),
            small: [const { AtomicU64::new(0) }; SMALL.words()],
            medium: [const { AtomicU64::new(0) }; MEDIUM.words()],
            large: [const { AtomicU64::new(0) }; LARGE.words()],
        }
    }

    fn sizes(&self) -> [(Pieces, &[AtomicU64]); 3] {
        [(SMALL, &self.small), (MEDIUM, &self.medium), (LARGE, &self.large)]
    }

    /// The smallest free piece that is large enough; null if there is none.
    #[cold]
    fn take(&self, layout: Layout) -> *mut u8 {
        RAN_OUT.store(true, Ordering::Relaxed);
        if layout.align() > ALIGN {
            return std::ptr::null_mut();
        }
        for (pieces, words) in self.sizes().into_iter().filter(|(pieces, _)| layout.size() <= pieces.size) {
            if let Some(index) = take_bit(words, pieces.count) {
                return self.bytes.get().cast::<u8>().wrapping_add(pieces.start + index * pieces.size);
            }
        }
        std::ptr::null_mut()
    }

    fn offset(&self, place: *const u8) -> usize {
        place.addr().wrapping_sub(self.bytes.get().addr())
    }

    fn holds(&self, place: *const u8) -> bool {
        self.offset(place) < RESERVE_BYTES
    }

    /// Takes back a piece that [`Reserve::holds`].
    #[cold]
    fn give_back(&self, place: *const u8) {
        let offset = self.offset(place);
        for (pieces, words) in self.sizes() {
            if (pieces.start..pieces.end()).contains(&offset) {
                let index = (offset - pieces.start) / pieces.size;
                words[index / 64].fetch_and(!(1 << (index % 64)), Ordering::Release);
            }
        }
    }
}

/// Sets one of the first `count` bits that are not set, and says which.
fn take_bit(words: &[AtomicU64], count: usize) -> Option<usize> {
    for (place, word) in words.iter().enumerate() {
        loop {
            let bit = word.load(Ordering::Relaxed).trailing_ones() as usize;
            if bit == 64 || place * 64 + bit >= count {
                break;
            }
            if word.fetch_or(1 << bit, Ordering::Acquire) & (1 << bit) == 0 {
                return Some(place * 64 + bit);
            }
        }
    }
    None
}
