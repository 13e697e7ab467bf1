//! Bytes from one process to another, one after the other: the way of a stream's bytes to the threads.
//!
//! A stretch of shared memory, mapped by two processes at two addresses, holds a head and a ring of bytes. One
//! [`Writer`] fills it and one [`Reader`] empties it; each owns one of two counts of bytes, which only grow, and reads
//! the other's. The bytes from the reader's count up to the writer's are the reader's, the rest is the writer's.
//!
//! **Waking.** As in [`ring`](crate::ring), how either side is woken is not this module's business. Who finds nothing
//! to do sets its flag and looks once more; who has done something looks at the other's flag, with a fence between.

#![expect(unsafe_code, reason = "one piece of memory shared by two processes")]

use std::io::{self, Read};
use std::ptr::NonNull;

use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// The shared memory, seen from one process. Copies are the same ring.
#[derive(Clone, Copy, Debug)]
pub struct ByteRing {
    base: NonNull<u8>,
    capacity: usize,
}

// SAFETY: everything reachable through it is an atomic, or bytes that belong to one side at a time.
unsafe impl Send for ByteRing {}
// SAFETY: as above.
unsafe impl Sync for ByteRing {}

/// Nothing more will come, because that was all.
const ENDED: u32 = 1;

/// Nothing more will come here, though it was not all.
const BROKEN_OFF: u32 = 2;

/// How a read says that the stream was [broken off](Writer::break_off).
pub(crate) const IS_BROKEN_OFF: io::ErrorKind = io::ErrorKind::ConnectionAborted;

/// What one side writes and the other reads, in a cache line of its own.
#[repr(C, align(64))]
struct Side {
    /// Bytes that this side is done with, since the beginning.
    count: AtomicU64,
    /// Whether this side waits for the other.
    waits: AtomicU32,
    /// Whether nothing more will come, and why: the writer's only. 0, [`ENDED`] or [`BROKEN_OFF`].
    closed: AtomicU32,
}

impl Side {
    fn new() -> Side {
        Side { count: AtomicU64::new(0), waits: AtomicU32::new(0), closed: AtomicU32::new(0) }
    }

    fn sleeps(&self) {
        self.waits.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    fn must_wake(&self) -> bool {
        fence(Ordering::SeqCst);
        self.waits.load(Ordering::Relaxed) != 0 && self.waits.swap(0, Ordering::SeqCst) != 0
    }
}

/// What lies before the bytes.
#[repr(C, align(64))]
struct Head {
    writer: Side,
    reader: Side,
    capacity: usize,
}

impl ByteRing {
    /// What the memory must be aligned to.
    pub const ALIGN: usize = align_of::<Head>();

    /// Bytes of shared memory that a ring for so many bytes takes.
    pub fn bytes(capacity: usize) -> usize {
        size_of::<Head>() + capacity
    }

    /// Makes an empty ring in `base` that holds up to `capacity` bytes, at least one.
    ///
    /// # Safety
    /// `base` must be aligned to [`ByteRing::ALIGN`] and valid for [`ByteRing::bytes`] initialised bytes as long as the
    /// ring or a copy of it is used, and nobody may use that memory but through it.
    pub unsafe fn create(base: NonNull<u8>, capacity: usize) -> ByteRing {
        assert!(capacity > 0, "a ring without room passes nothing on");
        // SAFETY: the caller's promise, and nobody reads yet.
        unsafe { base.cast::<Head>().write(Head { writer: Side::new(), reader: Side::new(), capacity }) };
        ByteRing { base, capacity }
    }

    /// The ring that another process has made in the same memory.
    ///
    /// # Safety
    /// As for [`ByteRing::create`], and a ring must have been made there.
    pub unsafe fn attach(base: NonNull<u8>) -> ByteRing {
        // SAFETY: the caller's promise; the capacity never changes.
        let capacity = unsafe { base.cast::<Head>().as_ref() }.capacity;
        ByteRing { base, capacity }
    }

    /// The most bytes it holds.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The side that writes.
    ///
    /// # Safety
    /// There must be no other at the same time.
    pub unsafe fn writer(self) -> Writer {
        Writer { ring: self }
    }

    /// The side that reads.
    ///
    /// # Safety
    /// There must be no other at the same time.
    pub unsafe fn reader(self) -> Reader {
        Reader { ring: self }
    }

    fn head(&self) -> &Head {
        // SAFETY: `create` or `attach` was promised that a head lies there.
        unsafe { self.base.cast::<Head>().as_ref() }
    }

    /// The address of the byte that follows `count` others, and how many follow it without a turn.
    fn at(&self, count: u64) -> (NonNull<u8>, usize) {
        let offset = (count % self.capacity as u64) as usize;
        // SAFETY: the offset is below the capacity.
        (unsafe { self.base.add(size_of::<Head>() + offset) }, self.capacity - offset)
    }
}

/// The side that writes.
#[derive(Debug)]
pub struct Writer {
    ring: ByteRing,
}

impl Writer {
    /// Bytes for which there is room, in one piece or two.
    pub fn free(&self) -> usize {
        let head = self.ring.head();
        let used = head.writer.count.load(Ordering::Relaxed) - head.reader.count.load(Ordering::Acquire);
        self.ring.capacity - used as usize
    }

    /// Room for the next bytes: some of it, but none only if there is none.
    pub fn room(&mut self) -> &mut [u8] {
        let (start, straight) = self.ring.at(self.ring.head().writer.count.load(Ordering::Relaxed));
        let length = straight.min(self.free());
        // SAFETY: the reader has done with these bytes, and does not look at them before they are written.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), length) }
    }

    /// The first `length` bytes of the room are written. Who calls this must then ask [`Writer::must_wake_reader`].
    ///
    /// # Panics
    /// If the room was smaller.
    pub fn wrote(&mut self, length: usize) {
        assert!(length <= self.room().len(), "no more is written than there is room");
        self.ring.head().writer.count.fetch_add(length as u64, Ordering::Release);
    }

    /// Nothing more will come. Who calls this must then ask [`Writer::must_wake_reader`].
    pub fn close(&mut self) {
        self.ring.head().writer.closed.store(ENDED, Ordering::Release);
    }

    /// What comes next is not for the reader, though the stream has not ended. Who calls this must then ask
    /// [`Writer::must_wake_reader`].
    pub fn break_off(&mut self) {
        self.ring.head().writer.closed.store(BROKEN_OFF, Ordering::Release);
    }

    /// Says that the writer is going to wait for room. It must look for room once more before it does.
    pub fn sleeps(&self) {
        self.ring.head().writer.sleeps();
    }

    /// Whether the reader must be woken by the writer that has just written or closed; asks only once.
    pub fn must_wake_reader(&self) -> bool {
        self.ring.head().reader.must_wake()
    }
}

/// The side that reads.
#[derive(Debug)]
pub struct Reader {
    ring: ByteRing,
}

impl Reader {
    /// Whether the writer must be woken by the reader that has just read: it waits for room, and there is a good deal
    /// of it. Asks only once.
    pub fn must_wake_writer(&self) -> bool {
        let head = self.ring.head();
        let left = head.writer.count.load(Ordering::Relaxed) - head.reader.count.load(Ordering::Relaxed);
        left <= self.ring.capacity as u64 / 2 && head.writer.must_wake()
    }
}

impl Read for Reader {
    /// Reads what there is: [`io::ErrorKind::WouldBlock`] where that is nothing now, 0 at the end. The reader then is
    /// known to wait. A stream that was broken off ends with another error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let head = self.ring.head();
        let read = head.reader.count.load(Ordering::Relaxed);
        let mut available = 0;
        for may_sleep in [true, false] {
            // First whether it was closed: what was written before that is seen below.
            let closed = head.writer.closed.load(Ordering::Acquire);
            available = (head.writer.count.load(Ordering::Acquire) - read) as usize;
            if available > 0 {
                break;
            }
            match closed {
                ENDED => return Ok(0),
                BROKEN_OFF => return Err(IS_BROKEN_OFF.into()),
                _ => {}
            }
            if may_sleep {
                head.reader.sleeps();
            }
        }
        if available == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let (start, straight) = self.ring.at(read);
        let length = straight.min(available).min(buffer.len());
        // SAFETY: the writer has written these bytes and leaves them alone until they are counted as read.
        let bytes = unsafe { std::slice::from_raw_parts(start.as_ptr(), length) };
        buffer[..length].copy_from_slice(bytes);
        head.reader.count.store(read + length as u64, Ordering::Release);
        Ok(length)
    }
}
