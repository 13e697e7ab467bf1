//! What a file holds, from one end to the other: its bytes, or what comes out of them where it is compressed. Whoever
//! reads it can be cancelled.

#![expect(unsafe_code, reason = "reads through a descriptor that COPY holds open")]

use std::io::{self, Read};

use fastcsv_engine::pipeline::ReadAt;

use super::source::Opened;
use crate::archive::Archive;
use crate::file::{Borrowed, Stamp};
use crate::memory;
use crate::stream::Supply;

/// A file that is being read.
pub(super) struct Content {
    bytes: Bytes,
    read: u64,
}

enum Bytes {
    File { file: Borrowed, offset: u64, size: u64 },
    Archive(Box<Archive>),
}

impl Content {
    /// What the file holds from an offset on; of a plain file only up to the size that it had.
    ///
    /// # Errors
    /// Those of the system; that there is no memory for a decoder.
    pub(super) fn of(opened: &Opened, stamp: Stamp, offset: u64) -> io::Result<Content> {
        let file = opened.file();
        let bytes = match opened.coding {
            None => Bytes::File { file, offset, size: stamp.size },
            Some(coding) => {
                // SAFETY: COPY keeps the file open, and this is used before it is closed.
                let mut archive = unsafe { Archive::new(file.descriptor(), coding)? };
                if offset > 0 {
                    archive.go_to(offset)?;
                }
                Bytes::Archive(Box::new(archive))
            }
        };
        Ok(Content { bytes, read: 0 })
    }

    /// Bytes read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Adds what comes next until there are so many bytes; true if there is nothing behind them.
    ///
    /// # Errors
    /// Those of reading; that there is no memory for them.
    pub(super) fn fill(&mut self, bytes: &mut Vec<u8>, most: usize) -> io::Result<bool> {
        let most = match self.bytes {
            Bytes::File { offset, size, .. } => bytes.len() + (most - bytes.len()).min((size - offset) as usize),
            Bytes::Archive(_) => most,
        };
        let mut filled = bytes.len();
        bytes.try_reserve_exact(most - filled)?;
        bytes.resize(most, 0);
        while filled < most {
            match self.read(&mut bytes[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        Ok(match self.bytes {
            Bytes::File { offset, size, .. } => offset == size,
            Bytes::Archive(_) => filled < most,
        })
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if memory::ran_out() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let count = match &mut self.bytes {
            Bytes::File { file, offset, size } => {
                pgrx::check_for_interrupts!();
                let most = usize::try_from(*size - *offset).map_or(buffer.len(), |left| left.min(buffer.len()));
                let count = file.read_at(&mut buffer[..most], *offset)?;
                if count == 0 && most > 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                *offset += count as u64;
                count
            }
            // An archive has always something to say, and looks for interrupts itself.
            Bytes::Archive(archive) => archive.read(buffer)?.unwrap_or(0),
        };
        self.read += count as u64;
        Ok(count)
    }
}

/// Bytes in memory, as a file.
pub(super) struct InMemory<'b>(pub(super) &'b [u8]);

impl ReadAt for InMemory<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}
