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
    /// What can be read once, from one end to the other. [`io::ErrorKind::WouldBlock`] says that nothing has come now;
    /// then [`Ring::wake_all`](crate::ring::Ring::wake_all) must follow when something has.
    Stream(Box<dyn io::Read + Send>),
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

    /// Why what [`ReadAt::slice`] gave is not what the file held when the scan began, if it is not:
    /// [`io::ErrorKind::UnexpectedEof`] where the file has become shorter since. To be asked after the bytes were used.
    fn failure(&self) -> Option<io::Error> {
        None
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
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(length) => {
                buffer = &mut buffer[length..];
                offset += length as u64;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl From<io::Error> for Stop {
    /// The ticket's end.
    fn from(error: io::Error) -> Stop {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Stop::Ticket(Outcome::Short, 0),
            io::ErrorKind::OutOfMemory => Stop::Ticket(Outcome::OutOfMemory, 0),
            io::ErrorKind::InvalidData => Stop::Ticket(Outcome::Damaged, 0),
            _ => Stop::Ticket(Outcome::ReadError, error.raw_os_error().unwrap_or(0)),
        }
    }
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
