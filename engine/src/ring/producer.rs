//! The threads' side of the ring.

use std::ops::{Deref, DerefMut};

use super::{NO_BLOCK, Ring, Summary};
use crate::sync::Ordering;

/// One ticket in the hands of the thread that fills it.
#[derive(Debug)]
pub struct Producer {
    ring: Ring,
    ticket: u64,
    last: Option<u32>,
}

impl Producer {
    /// Begins a ticket, for which a slot must be free ([`Ring::has_slot`]). Each ticket has one producer.
    ///
    /// # Panics
    /// If no slot is free.
    pub fn begin(ring: Ring, ticket: u64) -> Producer {
        assert!(ring.has_slot(ticket), "a ticket is begun when there is a slot for it");
        Producer { ring, ticket, last: None }
    }

    /// The ticket's number.
    pub fn ticket(&self) -> u64 {
        self.ticket
    }

    /// A free block, if this ticket may have one now.
    pub fn take(&self) -> Option<BlockMut> {
        self.ring.take(self.ticket).map(|number| BlockMut { ring: self.ring, number })
    }

    /// Hands the first `used` bytes of a block to the backend. Who calls this must then ask
    /// [`Ring::must_wake_consumer`].
    pub fn publish(&mut self, block: BlockMut, used: usize) {
        assert!(used <= block.len(), "no more is used than there is");
        let number = block.number;
        std::mem::forget(block);
        let link = self.ring.link(number);
        link.next.store(NO_BLOCK, Ordering::Relaxed);
        link.used.store(used as u32, Ordering::Relaxed);
        let previous = match self.last {
            Some(last) => &self.ring.link(last).next,
            None => &self.ring.slot(self.ticket).first,
        };
        previous.store(number + 1, Ordering::Release);
        self.last = Some(number);
    }

    /// Finishes the ticket. Who calls this must then ask [`Ring::must_wake_consumer`].
    pub fn finish(self, summary: Summary) {
        let slot = self.ring.slot(self.ticket);
        // SAFETY: until `finished` is set the summary belongs to this ticket's producer.
        unsafe { slot.summary.get().write(summary) };
        slot.finished.store(1, Ordering::Release);
    }
}

/// A block that belongs to whoever holds it. Dropped without having been published it goes back to the pool.
#[derive(Debug)]
pub struct BlockMut {
    ring: Ring,
    number: u32,
}

impl Deref for BlockMut {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the block was taken from the pool and is ours alone; shared memory is initialised.
        unsafe {
            std::slice::from_raw_parts(self.ring.block(self.number).as_ptr(), self.ring.geometry.block_size as usize)
        }
    }
}

impl DerefMut for BlockMut {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.ring.block(self.number).as_ptr(),
                self.ring.geometry.block_size as usize,
            )
        }
    }
}

impl Drop for BlockMut {
    fn drop(&mut self) {
        self.ring.release(self.number);
    }
}
