//! Blocks, tickets and back-pressure: what parser threads and the backend share.
//!
//! One stretch of shared memory, mapped by two processes at two addresses, holds three arrays behind a head:
//!
//! ```text
//! head | tickets: T slots | links: one for each block | blocks: B × block_size bytes
//! ```
//!
//! A **ticket** is a segment's place in the file. Ticket `k` lives in slot `k % T` from when the backend is no more
//! than `T` tickets behind it until the backend has passed it. A parser thread ([`Producer`]) fills **blocks** for its
//! ticket and publishes each by linking it behind the ticket's last; then it finishes the ticket with a [`Summary`].
//! The backend ([`Consumer`]) takes ticket after ticket, in each block after block, and gives each block back to the
//! pool when it has the next one. That is all the back-pressure there is.
//!
//! **Why nobody can be left waiting.** The last [`RESERVE`] free blocks are only for the ticket the backend waits for.
//! Two are enough: one that the backend still holds, because its link is where the next will appear, and one that is
//! being filled. So the awaited ticket always gets a block, whatever the tickets behind it have piled up.
//!
//! **Waking.** The backend sleeps on its latch, which is not the ring's business, the threads in [`room`]. Who goes to
//! sleep says so and looks once more; who has done something looks whether somebody said so, with a fence between, so
//! one of the two sees the other.
//!
//! Nothing here allocates or fails, and nothing blocks but the room.

#![expect(unsafe_code, reason = "one piece of memory shared by two processes")]

mod consumer;
mod layout;
mod producer;
mod room;

pub use consumer::{Consumer, Next};
pub use layout::{Geometry, Outcome, Summary};
pub use producer::{BlockMut, Producer};

use std::ptr::NonNull;

use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};
use layout::{Head, Link, Slot};

/// Free blocks that only the awaited ticket may take, beside as many as the backend may keep.
pub const RESERVE: u32 = 2;

/// No block, where a block's number plus one stands.
const NO_BLOCK: u32 = 0;

/// The shared memory, seen from one process. Copies are the same ring.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    base: NonNull<u8>,
    geometry: Geometry,
}

// SAFETY: everything reachable through a ring is an atomic, or a block or a summary that the protocol gives to one
// thread at a time.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// Makes a ring in `base`, all blocks free.
    ///
    /// # Safety
    /// `base` must be aligned to [`Geometry::ALIGN`] and valid for [`Geometry::bytes`] bytes for as long as the ring or
    /// a copy of it is used, and nobody else may use that memory but through this ring or one attached to it.
    pub unsafe fn create(base: NonNull<u8>, geometry: Geometry) -> Ring {
        let ring = Ring { base, geometry };
        // SAFETY: the caller's promise; each write is within the layout's bounds, and nobody reads yet.
        unsafe {
            base.cast::<Head>().write(Head::new(geometry));
            for ticket in 0..geometry.tickets {
                ring.part::<Slot>(geometry.slot_offset(ticket)).write(Slot::new());
            }
            for block in 0..geometry.blocks {
                ring.part::<Link>(geometry.link_offset(block)).write(Link::new());
            }
        }
        for block in (0..geometry.blocks).rev() {
            ring.release(block);
        }
        ring
    }

    /// The ring that another process has made in the same memory.
    ///
    /// # Safety
    /// As for [`Ring::create`], and a ring must have been made there.
    pub unsafe fn attach(base: NonNull<u8>) -> Ring {
        // SAFETY: the caller's promise.
        let geometry = unsafe { base.cast::<Head>().as_ref() }.geometry;
        Ring { base, geometry }
    }

    /// Where the ring lies in this process.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The ring's dimensions.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Tells everybody to stop. Who sleeps must be woken.
    pub fn stop(&self) {
        self.head().stop.store(1, Ordering::SeqCst);
    }

    /// Whether somebody has told everybody to stop.
    pub fn is_stopped(&self) -> bool {
        self.head().stop.load(Ordering::Acquire) != 0
    }

    /// The ticket the backend waits for; all before it are done with.
    pub fn awaited(&self) -> u64 {
        self.head().awaited.load(Ordering::Acquire)
    }

    /// Whether a slot is free for this ticket, so that a thread may begin it.
    pub fn has_slot(&self, ticket: u64) -> bool {
        ticket < self.awaited() + u64::from(self.geometry.tickets)
    }

    /// Free blocks, the reserved ones included.
    pub fn free_blocks(&self) -> u32 {
        self.head().free.load(Ordering::Relaxed)
    }

    /// The most blocks that were in use at once.
    pub fn peak_blocks(&self) -> u32 {
        self.geometry.blocks - self.head().least_free.load(Ordering::Relaxed)
    }

    /// Counts memory that a thread holds more (or less) than before, the ring itself left out.
    pub(crate) fn account(&self, before: usize, now: usize) {
        let head = self.head();
        if now > before {
            let more = (now - before) as u64;
            let total = head.memory.fetch_add(more, Ordering::Relaxed) + more;
            head.peak_memory.fetch_max(total, Ordering::Relaxed);
        } else if now < before {
            head.memory.fetch_sub((before - now) as u64, Ordering::Relaxed);
        }
    }

    /// The most memory that the threads have held at once so far, in bytes, the ring itself left out.
    pub fn peak_memory(&self) -> u64 {
        self.head().peak_memory.load(Ordering::Relaxed)
    }

    /// The backend says that it goes to sleep. It must look for work once more before it does.
    pub fn consumer_sleeps(&self, sleeps: bool) {
        self.head().consumer_sleeps.store(u32::from(sleeps), Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Whether the backend must be woken by who has just done something for `ticket`; asks only once.
    pub fn must_wake_consumer(&self, ticket: u64) -> bool {
        fence(Ordering::SeqCst);
        let head = self.head();
        head.consumer_sleeps.load(Ordering::Relaxed) != 0
            && ticket == self.awaited()
            && head.consumer_sleeps.swap(0, Ordering::SeqCst) != 0
    }

    /// Takes a free block for `ticket`, if it may have one.
    fn take(&self, ticket: u64) -> Option<u32> {
        let head = self.head();
        let keep = if ticket == self.awaited() { 0 } else { RESERVE + self.geometry.kept };
        let mut free = head.free.load(Ordering::Relaxed);
        loop {
            if free <= keep {
                return None;
            }
            match head.free.compare_exchange_weak(free, free - 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => free = now,
            }
        }
        head.least_free.fetch_min(free - 1, Ordering::Relaxed);
        Some(self.pop())
    }

    /// Pops a block off the stack of free ones, which holds at least as many as `take` has counted.
    fn pop(&self) -> u32 {
        let stack = &self.head().stack;
        let mut top = stack.load(Ordering::Acquire);
        loop {
            let block = (top as u32).checked_sub(1).expect("a block that was counted is on the stack");
            let next = u64::from(self.link(block).next.load(Ordering::Relaxed));
            match stack.compare_exchange_weak(top, tagged(top, next), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return block,
                Err(now) => top = now,
            }
        }
    }

    /// Gives a block back to the pool.
    fn release(&self, block: u32) {
        let stack = &self.head().stack;
        let mut top = stack.load(Ordering::Relaxed);
        loop {
            self.link(block).next.store(top as u32, Ordering::Relaxed);
            let new = tagged(top, u64::from(block) + 1);
            match stack.compare_exchange_weak(top, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        self.head().free.fetch_add(1, Ordering::Release);
    }

    fn head(&self) -> &Head {
        // SAFETY: `create` or `attach` was promised that a head lies there.
        unsafe { self.base.cast::<Head>().as_ref() }
    }

    fn slot(&self, ticket: u64) -> &Slot {
        let index = (ticket % u64::from(self.geometry.tickets)) as u32;
        // SAFETY: within the layout, and initialised by `create`.
        unsafe { self.part::<Slot>(self.geometry.slot_offset(index)).as_ref() }
    }

    fn link(&self, block: u32) -> &Link {
        assert!(block < self.geometry.blocks, "a block's number is within the pool");
        // SAFETY: within the layout, and initialised by `create`.
        unsafe { self.part::<Link>(self.geometry.link_offset(block)).as_ref() }
    }

    /// The bytes of a block.
    ///
    /// # Safety
    /// The protocol must give the block to the caller alone (to write it), or to the caller and other readers.
    unsafe fn block(&self, block: u32) -> NonNull<u8> {
        assert!(block < self.geometry.blocks, "a block's number is within the pool");
        // SAFETY: within the layout.
        unsafe { self.part(self.geometry.block_offset(block)) }
    }

    /// # Safety
    /// `offset` must come from the geometry.
    unsafe fn part<T>(&self, offset: usize) -> NonNull<T> {
        // SAFETY: the layout keeps every part inside the memory and aligned.
        unsafe { self.base.byte_add(offset).cast() }
    }
}

/// A new top of the stack: its low half names a block, its high half counts the changes, so that a top that was popped
/// and pushed again meanwhile is not taken for the same.
fn tagged(old_top: u64, block: u64) -> u64 {
    ((old_top >> 32).wrapping_add(1) << 32) | block
}

/// Types that are only named in the layout.
type Counter32 = AtomicU32;
type Counter64 = AtomicU64;
