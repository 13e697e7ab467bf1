//! The backend as the one who reads a stream for its worker: from wherever the bytes come into a ring in the shared
//! memory.

#![expect(unsafe_code, reason = "uses a stream by pointer, and shared memory")]

use std::io;
use std::os::fd::RawFd;

use fastcsv_engine::byte_ring::{ByteRing, Writer};

use crate::stream::{Ahead, Stream};

/// A stream on its way to the worker.
pub(super) struct Inflow {
    stream: *mut Stream,
    ring: ByteRing,
    writer: Writer,
    /// Bytes that COPY's parser has too, should it go on after all.
    unused: usize,
    is_closed: bool,
    /// Whether the stream had nothing more when it was asked last. What it has may not show at its descriptor: a
    /// client's message is taken as a whole.
    is_dry: bool,
}

/// What is to be waited for, beside the worker.
pub(super) enum Wait {
    /// Nothing: there is something to move.
    Not,
    /// The worker alone. It tells when there is room, and when it has done something.
    Worker,
    /// That the descriptor becomes readable.
    Readable(RawFd),
}

impl Inflow {
    /// Takes the stream over from COPY's parser.
    ///
    /// # Errors
    /// If there is no memory for what the parser has buffered.
    ///
    /// # Safety
    /// The stream must live as long as this, and nobody else write into the ring.
    pub(super) unsafe fn new(stream: *mut Stream, ring: ByteRing) -> io::Result<Inflow> {
        // SAFETY: the caller's promise.
        let (unused, writer) = unsafe { ((*stream).hold_unused()?, ring.writer()) };
        Ok(Inflow { stream, ring, writer, unused, is_closed: false, is_dry: false })
    }

    /// Moves what has come into the ring, without waiting. Returns whether the worker must be woken.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn pump(&mut self) -> io::Result<bool> {
        let mut moved = 0;
        self.is_dry = false;
        while !self.is_closed && moved < self.ring.capacity() && self.has_room() {
            // SAFETY: nobody else uses the stream while the worker is at work.
            match unsafe { (*self.stream).read_ahead(self.writer.room())? } {
                Ahead::Nothing => {
                    self.is_dry = true;
                    break;
                }
                Ahead::End => {
                    self.writer.close();
                    self.is_closed = true;
                }
                Ahead::Other => {
                    self.writer.break_off();
                    self.is_closed = true;
                }
                Ahead::Bytes(length) => {
                    self.writer.wrote(length);
                    moved += length;
                }
            }
        }
        Ok((moved > 0 || self.is_closed) && self.writer.must_wake_reader())
    }

    /// What is to be waited for, behind [`Inflow::pump`].
    pub(super) fn wait(&self) -> Wait {
        if self.is_closed {
            return Wait::Worker;
        }
        if self.is_dry {
            // SAFETY: as above.
            return unsafe { (*self.stream).descriptor() }.map_or(Wait::Worker, Wait::Readable);
        }
        if !self.has_room() {
            self.writer.sleeps();
            if !self.has_room() {
                return Wait::Worker;
            }
        }
        Wait::Not
    }

    /// Whether it is the client that the worker, which has done all that there was, waits for too.
    pub(super) fn waits_for_client(&self) -> bool {
        // SAFETY: as above.
        self.is_dry && self.writer.free() == self.ring.capacity() && unsafe { (*self.stream).is_client() }
    }

    /// Whether there is so much room that reading is worth it.
    fn has_room(&self) -> bool {
        self.writer.free() * 4 >= self.ring.capacity()
    }

    /// Gives the stream back: `before`, what is in the ring, and all that comes. The worker must not read any more.
    /// `is_begun` tells whether it has read at all; if not, COPY's parser has the first bytes already.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(super) fn give_back(&mut self, before: &[u8], is_begun: bool) -> io::Result<()> {
        let skip = if is_begun { 0 } else { self.unused };
        // SAFETY: the caller sees to it that there is no other reader; the stream is alive.
        unsafe { (*self.stream).take_back(before, &mut self.ring.reader(), skip) }
    }
}
