//! What is left of a stream's segment behind an anomaly.

use std::io::{self, Read};
use std::os::fd::RawFd;

use fastcsv_engine::dialect::Dialect;
use fastcsv_engine::locate::{Checkpoint, Place};
use fastcsv_engine::scan::Level;
use fastcsv_engine::trail::Trail;

use crate::referee::Feed;

/// The rest of one segment of a stream, for the referee, with a few bytes of what follows it.
#[derive(Default)]
pub(crate) struct RestFeed {
    bytes: Vec<u8>,
    served: usize,
    trail: Option<Trail>,
}

impl RestFeed {
    /// Keeps the bytes of a rest.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.clear();
        self.bytes.try_reserve(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The bytes kept.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// They are to be read from their start, which is at a record.
    pub(crate) fn begin(&mut self, dialect: &Dialect, at: Checkpoint) {
        self.served = 0;
        self.trail = Some(Trail::new(dialect, Level::detect(), at, usize::MAX));
    }

    /// Lets the bytes go.
    pub(crate) fn forget(&mut self) {
        *self = RestFeed::default();
    }

    /// Where the record that is read next starts.
    pub(crate) fn at(&self) -> Option<Checkpoint> {
        self.trail.as_ref()?.at()
    }
}

impl Feed for RestFeed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut rest = &self.bytes[self.served..];
        let length = rest.read(buffer)?;
        self.served += length;
        if let Some(trail) = &mut self.trail {
            trail.push(&buffer[..length]);
        }
        Ok(length)
    }

    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    fn took_record(&mut self) {
        if let Some(trail) = &mut self.trail {
            trail.step();
        }
    }

    fn place(&self, copy_line: u64) -> Option<Place> {
        self.trail.as_ref()?.place(copy_line)
    }
}
