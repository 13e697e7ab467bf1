//! The backend's side of the ring.

use super::{NO_BLOCK, Ring, Summary};
use crate::sync::Ordering;

/// What there is to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next block of the awaited ticket: see [`Consumer::block`].
    Block,
    /// The ticket is finished and all of its blocks were taken. The next call is about the ticket behind it.
    Finished(Summary),
    /// Nothing yet.
    Nothing,
}

/// Takes the tickets in order. There is one consumer.
#[derive(Debug)]
pub struct Consumer {
    ring: Ring,
    ticket: u64,
    held: Option<u32>,
    /// Blocks that are kept though they were looked through, at most [`Geometry::kept`](super::Geometry::kept).
    kept: Vec<u32>,
    keeps: bool,
}

impl Consumer {
    /// A consumer at the first ticket.
    pub fn new(ring: Ring) -> Consumer {
        Consumer { ring, ticket: 0, held: None, kept: Vec::new(), keeps: false }
    }

    /// The ring.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// The number of the awaited ticket.
    pub fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Moves on to what is next. Unless there is nothing, the block taken before is given back, and who calls this
    /// should ask [`Ring::must_wake_producers`] now and then, at the latest before it sleeps.
    pub fn advance(&mut self) -> Next {
        let ring = self.ring;
        let slot = ring.slot(self.ticket);
        // First whether the ticket is finished: what is linked behind the last block before that is seen below.
        let finished = slot.finished.load(Ordering::Acquire) != 0;
        let next = match self.held {
            Some(held) => &ring.link(held).next,
            None => &slot.first,
        };
        match next.load(Ordering::Acquire) {
            NO_BLOCK if !finished => Next::Nothing,
            NO_BLOCK => {
                self.let_go();
                // SAFETY: the producer has set `finished` and does not touch the summary any more.
                let summary = unsafe { slot.summary.get().read() };
                slot.first.store(NO_BLOCK, Ordering::Relaxed);
                slot.finished.store(0, Ordering::Relaxed);
                self.ticket += 1;
                ring.head().awaited.store(self.ticket, Ordering::SeqCst);
                Next::Finished(summary)
            }
            number => {
                self.let_go();
                self.held = Some(number - 1);
                Next::Block
            }
        }
    }

    /// Whether there is something that [`Consumer::advance`] would move on to.
    pub fn has_next(&self) -> bool {
        let slot = self.ring.slot(self.ticket);
        let next = match self.held {
            Some(held) => &self.ring.link(held).next,
            None => &slot.first,
        };
        next.load(Ordering::Acquire) != NO_BLOCK || slot.finished.load(Ordering::Acquire) != 0
    }

    /// The used bytes of the block taken last; none if there is no such block.
    pub fn block(&self) -> &[u8] {
        let Some(held) = self.held else { return &[] };
        let used = self.ring.link(held).used.load(Ordering::Relaxed) as usize;
        assert!(used <= self.ring.geometry.block_size as usize, "no more is used than there is");
        // SAFETY: a published block is not written until it is given back, which needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.ring.block(held).as_ptr(), used) }
    }

    /// From now on blocks that were looked through are kept until [`Consumer::give_back`], as long as
    /// [`Consumer::may_advance`] is heeded.
    pub fn keep(&mut self) {
        self.keeps = true;
        self.kept.reserve(self.ring.geometry.kept as usize);
    }

    /// Whether there is room to keep the current block, so that [`Consumer::advance`] may be called.
    pub fn may_advance(&self) -> bool {
        !self.keeps || self.held.is_none() || self.kept.len() < self.ring.geometry.kept as usize
    }

    /// Gives all kept blocks back; the current one stays.
    pub fn give_back(&mut self) {
        for block in self.kept.drain(..) {
            self.ring.release(block);
        }
    }

    fn let_go(&mut self) {
        match self.held.take() {
            Some(held) if self.keeps => self.kept.push(held),
            Some(held) => self.ring.release(held),
            None => {}
        }
    }
}
