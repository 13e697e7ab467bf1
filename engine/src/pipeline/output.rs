//! A ticket's way out: entries into blocks, blocks to the backend.

use super::{Shared, Stop};
use crate::entry::{self, EntryKind, Mark};
use crate::ring::{BlockMut, Producer, Summary};

/// The blocks of one ticket, as they are being filled.
pub(super) struct Output<'s> {
    shared: &'s Shared,
    producer: Producer,
    block: Option<BlockMut>,
    used: usize,
}

impl<'s> Output<'s> {
    /// The output of a ticket, for which there must be a slot.
    pub(super) fn begin(shared: &'s Shared, ticket: u64) -> Output<'s> {
        Output { shared, producer: Producer::begin(shared.ring, ticket), block: None, used: 0 }
    }

    /// Writes an entry, into as many blocks as it takes.
    ///
    /// # Errors
    /// [`Stop::Told`], while it waits for a block; that what was written is not what the input holds.
    #[inline]
    pub(super) fn push(&mut self, kind: EntryKind, mut mark: Option<Mark>, payload: &[u8]) -> Result<(), Stop> {
        let mut rest = payload;
        loop {
            if self.block.is_none() {
                self.next_block()?;
            }
            let block = self.block.as_mut().expect("a block was taken");
            // What fits into an empty block is not cut.
            let is_cut_in_vain = self.used > 0 && payload.len() <= block.len() / 2;
            match entry::write(block, self.used, kind, mark, rest) {
                Some((used, written)) if written == rest.len() || !is_cut_in_vain => {
                    self.used = used;
                    if written == rest.len() {
                        return Ok(());
                    }
                    rest = &rest[written..];
                    mark = None;
                    self.publish()?;
                }
                _ => self.publish()?,
            }
        }
    }

    /// The room behind an entry's head, for who writes its payload there; `None` if there is not much. Nothing is
    /// written before [`Output::wrote`].
    ///
    /// # Errors
    /// [`Stop::Told`], while it waits for a block.
    #[inline]
    pub(super) fn room(&mut self, mark: Option<Mark>) -> Result<Option<&mut [u8]>, Stop> {
        if self.block.is_none() {
            self.next_block()?;
        }
        let block = self.block.as_mut().expect("a block was taken");
        Ok(block.get_mut(self.used + entry::head(mark)..))
    }

    /// An entry's payload, of so many bytes, was written into the room for it.
    #[inline]
    pub(super) fn wrote(&mut self, kind: EntryKind, mark: Option<Mark>, payload: usize) {
        let block = self.block.as_mut().expect("there was room in it");
        self.used = entry::finish(block, self.used, kind, mark, payload, false);
    }

    #[cold]
    fn next_block(&mut self) -> Result<(), Stop> {
        let block = match self.producer.take() {
            Some(block) => block,
            None => self.shared.wait_for(|| self.producer.take())?,
        };
        self.used = 0;
        self.block = Some(block);
        Ok(())
    }

    /// Hands over what there is.
    ///
    /// # Errors
    /// That it is not what the input holds.
    pub(super) fn publish(&mut self) -> Result<(), Stop> {
        self.shared.check_input()?;
        if let Some(block) = self.block.take() {
            self.producer.publish(block, self.used);
            self.shared.tell_consumer(self.producer.ticket());
        }
        Ok(())
    }

    /// Finishes the ticket. What was not handed over is thrown away.
    pub(super) fn finish(self, summary: Summary) {
        let ticket = self.producer.ticket();
        self.producer.finish(summary);
        self.shared.tell_consumer(ticket);
    }
}
