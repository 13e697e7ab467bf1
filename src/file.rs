//! A file that COPY holds open, read at offsets of our own, so that COPY's place in it is not moved.

#![expect(unsafe_code, reason = "borrows a descriptor that PostgreSQL owns and closes")]

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use fastcsv_engine::locate::{Checkpoint, Place};
use fastcsv_engine::pipeline::ReadAt;

use crate::position::place_at;
use crate::referee::Feed;

/// A file's size and when its bytes were last written (seconds and nanoseconds), at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    written: (i64, i64),
}

impl Stamp {
    /// Why the bytes that were there at the earlier time `self` may not be those that were read since, if that is so.
    /// What was appended changes none of them.
    pub(crate) fn change(&self, now: Stamp) -> Option<Change> {
        match now.size.cmp(&self.size) {
            std::cmp::Ordering::Less => Some(Change::Shorter),
            std::cmp::Ordering::Equal if now.written != self.written => Some(Change::Overwritten),
            _ => None,
        }
    }
}

/// What has become of a file while it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Shorter,
    Overwritten,
}

/// A file behind a descriptor that somebody else owns and closes.
pub(crate) struct Borrowed(ManuallyDrop<File>);

impl Borrowed {
    /// # Safety
    /// The descriptor must be open for as long as this is used.
    pub(crate) unsafe fn new(descriptor: RawFd) -> Self {
        // SAFETY: the caller's promise; it is never closed here.
        Self(ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) }))
    }

    /// Its descriptor.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// What it is like now.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn stamp(&self) -> io::Result<Stamp> {
        let found = self.0.metadata()?;
        Ok(Stamp { size: found.len(), written: (found.mtime(), found.mtime_nsec()) })
    }
}

impl ReadAt for Borrowed {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        fastcsv_engine::pipeline::patiently(|| FileExt::read_at(&*self.0, buffer, offset))
    }
}

/// One record's own bytes, for the referee.
pub(crate) struct RecordFeed {
    bytes: *const [u8],
    descriptor: Option<RawFd>,
    start: Checkpoint,
}

impl RecordFeed {
    /// A feed without bytes; the whole file can be read again by the descriptor, if there is one.
    pub(crate) fn new(descriptor: Option<RawFd>) -> Self {
        let none = std::ptr::slice_from_raw_parts(std::ptr::NonNull::dangling().as_ptr(), 0);
        Self { bytes: none, descriptor, start: Checkpoint::START }
    }

    /// The bytes to feed next, which must stay where they are until the referee has read the record, and the record's
    /// place.
    pub(crate) fn set(&mut self, bytes: *const [u8], start: Checkpoint) {
        (self.bytes, self.start) = (bytes, start);
    }
}

impl Feed for RecordFeed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: `set` was promised that they are still there.
        let bytes = unsafe { &*self.bytes };
        let (now, later) = bytes.split_at(bytes.len().min(buffer.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.bytes = later;
        Ok(now.len())
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.descriptor
    }

    fn place(&self, copy_line: u64) -> Option<Place> {
        place_at(self.start, copy_line)
    }
}

/// A file from an offset on, for the referee, up to the size that it had when the read began.
pub(crate) struct RangeFeed {
    file: Borrowed,
    offset: u64,
    size: u64,
}

impl RangeFeed {
    /// # Safety
    /// As for [`Borrowed::new`].
    pub(crate) unsafe fn new(descriptor: RawFd, size: u64) -> Self {
        // SAFETY: the caller's promise.
        Self { file: unsafe { Borrowed::new(descriptor) }, offset: 0, size }
    }

    /// Goes on at another offset.
    pub(crate) fn set(&mut self, offset: u64) {
        self.offset = offset;
    }
}

impl Feed for RangeFeed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most =
            usize::try_from(self.size.saturating_sub(self.offset)).map_or(buffer.len(), |left| left.min(buffer.len()));
        let count = self.file.read_at(&mut buffer[..most], self.offset)?;
        if count == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.offset += count as u64;
        Ok(count)
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.file.descriptor())
    }
}
