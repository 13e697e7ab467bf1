//! Reading: a file at any offset, or a stream from one end to the other.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::Stop;
use crate::ring::Outcome;

/// How often a read that the system puts off is tried again. A regular file never puts one off; what pretends otherwise
/// (a network file system under stress) is given a moment.
const PATIENCE: u32 = 1000;

/// Where a job's bytes come from.
pub enum Input {
    /// What can be read at any offset.
    File(Box<dyn ReadAt>),
}

/// What can be read at any offset, by several threads at once.
pub trait ReadAt: Send + Sync {
    /// Reads bytes at an offset; 0 at the end.
    ///
    /// # Errors
    /// Those of the system.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The bytes themselves, where they lie in memory: those between two offsets, both within the size that the job
    /// names.
    fn slice(&self, _from: u64, _to: u64) -> Option<&[u8]> {
        None
    }

    /// Whether what [`ReadAt::slice`] gave is not what the file holds, because the file has become shorter since.
    fn has_shrunk(&self) -> bool {
        false
    }
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
}

/// Fills `buffer` from `offset` on.
///
/// # Errors
/// The ticket's end: what the system says, or that the file ends before the buffer is full.
pub(super) fn read_exact_at(file: &dyn ReadAt, mut buffer: &mut [u8], mut offset: u64) -> Result<(), Stop> {
    while !buffer.is_empty() {
        match patiently(|| file.read_at(buffer, offset)) {
            Ok(0) => return Err(Stop::Ticket(Outcome::Short, 0)),
            Ok(length) => {
                buffer = &mut buffer[length..];
                offset += length as u64;
            }
            Err(error) => return Err(Stop::Ticket(Outcome::ReadError, error.raw_os_error().unwrap_or(0))),
        }
    }
    Ok(())
}

/// Reads, and tries again for a while if something came between.
///
/// # Errors
/// Those of the system.
pub fn patiently(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    let mut patience = PATIENCE;
    loop {
        match read() {
            Err(error) if may_be_tried_again(&error) && patience > 0 => patience -= 1,
            other => return other,
        }
    }
}

/// Whether a read failed only because something came between.
pub(super) fn may_be_tried_again(error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::Interrupted => true,
        io::ErrorKind::WouldBlock => {
            std::thread::yield_now();
            true
        }
        _ => false,
    }
}
