//! Compressed files: which are, and what the session itself reads of them.
//!
//! A file is taken for compressed by its first bytes, unless the user says otherwise. COPY opens it, with all of its
//! checks, and is then told to take its bytes from a [`Stream`](crate::stream::Stream) over an [`Archive`], which
//! decompresses it here. So everything that is said of streams holds; but the file can be read again. When a worker
//! takes over it opens the file itself, and decompresses it on the thread that cuts the stream into segments; what the
//! session has done so far is done once more there. Should the rest come back to COPY's parser, the session starts
//! again from the file's beginning, and passes over what was read.

#![expect(unsafe_code, reason = "reads through descriptors that PostgreSQL owns, and files named by C strings")]

use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fastcsv_engine::coding::{Coding, Decoded};
use fastcsv_engine::decompress::Format;
use fastcsv_engine::pipeline::ReadAt;

use crate::confine;
use crate::file::{Borrowed, Change, Stamp};
use crate::memory;
use crate::options::Source;
use crate::stream::Supply;

/// Bytes passed over at once, where what was read before is decompressed again.
const STRIDE: usize = 64 * 1024;

/// How the open file is compressed, if it is. What cannot be read is left for COPY to complain of.
pub(crate) fn format_of(file: &impl ReadAt) -> Option<Format> {
    let mut head = [0; Format::HEAD];
    let mut length = 0;
    while length < head.len() {
        match file.read_at(&mut head[length..], length as u64) {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
    }
    Format::of(&head[..length])
}

/// How the source is compressed, if it is a file, and one that is to be decompressed.
///
/// # Safety
/// The source's name must be a C string.
pub(crate) unsafe fn format_at(source: Source) -> Option<Format> {
    if source.is_program || source.is_client() || !source.decompresses {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { open_regular(source) }.and_then(|file| format_of(&file))
}

/// Opens a regular file; what is none, or cannot be opened, is left alone.
///
/// # Safety
/// The source's name must be a C string.
pub(crate) unsafe fn open_regular(source: Source) -> Option<File> {
    // SAFETY: the caller's promise.
    let path = unsafe { path(source.name) };
    // SAFETY: as above.
    if !unsafe { confine::allows(source) } {
        return None;
    }
    // Somebody may wait for a FIFO to be opened, and takes that for the one who reads it.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    // SAFETY: as above.
    unsafe { open(source) }.ok()
}

/// Opens a file for a look at its beginning: without waiting, whatever it is.
///
/// # Errors
/// Those of the system; that the user is confined to other folders.
///
/// # Safety
/// The source's name must be a C string.
pub(crate) unsafe fn open(source: Source) -> io::Result<File> {
    // SAFETY: the caller's promise.
    if !unsafe { confine::allows(source) } {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // SAFETY: the caller's promise.
    let path = unsafe { path(source.name) };
    // Opening a FIFO that nobody writes to would wait; this does not.
    File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// # Safety
/// The name must be a C string, and live as long as the path.
unsafe fn path<'n>(name: *const c_char) -> &'n Path {
    // SAFETY: the caller's promise.
    Path::new(std::ffi::OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
}

/// A file that COPY has open and that is compressed, or in UTF-16, as a supply of the text that it holds.
pub(crate) struct Archive {
    descriptor: RawFd,
    coding: Coding,
    /// What the file was like when it was first looked at.
    stamp: Stamp,
    decoder: Decoded<Coded>,
    /// Bytes that are still to be passed over.
    skip: u64,
    scratch: Vec<u8>,
}

impl Archive {
    /// The file behind the descriptor, from its beginning.
    ///
    /// # Errors
    /// Those of the system; that there is no memory for a decoder.
    ///
    /// # Safety
    /// The descriptor must stay open as long as this lives.
    pub(crate) unsafe fn new(descriptor: RawFd, coding: Coding) -> io::Result<Archive> {
        // SAFETY: the caller's promise.
        let (stamp, file) = unsafe { (Borrowed::new(descriptor).stamp()?, Coded::new(descriptor)) };
        let decoder = Decoded::new(coding, file)?;
        Ok(Archive { descriptor, coding, stamp, decoder, skip: 0, scratch: Vec::new() })
    }

    /// Passes over what is not wanted any more.
    ///
    /// # Errors
    /// As for reading.
    fn pass_over(&mut self) -> io::Result<()> {
        if self.scratch.is_empty() {
            self.scratch = memory::zeroed(STRIDE).ok_or(io::ErrorKind::OutOfMemory)?;
        }
        while self.skip > 0 {
            pgrx::check_for_interrupts!();
            let most = usize::try_from(self.skip).map_or(STRIDE, |skip| skip.min(STRIDE));
            match self.decoder.read(&mut self.scratch[..most])? {
                // It held more before.
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.skip -= length as u64,
            }
        }
        self.scratch = Vec::new();
        Ok(())
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.skip > 0 {
            self.pass_over()?;
        }
        self.decoder.read(buffer)
    }
}

impl Supply for Archive {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // COPY's parser does not ask while it reads a record, and a small file may hold one of any length.
        pgrx::check_for_interrupts!();
        self.read_on(buffer).map(Some).map_err(|error| {
            // A file that was cut short meanwhile is not damaged.
            let is_damaged = error.kind() == io::ErrorKind::InvalidData;
            if is_damaged && self.change().is_ok_and(|change| change == Some(Change::Shorter)) {
                return io::ErrorKind::UnexpectedEof.into();
            }
            error
        })
    }

    fn descriptor(&self) -> RawFd {
        self.descriptor
    }

    fn coding(&self) -> Option<Coding> {
        Some(self.coding)
    }

    fn file_size(&self) -> u64 {
        self.stamp.size
    }

    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        // SAFETY: `new` was promised that the descriptor stays open.
        self.decoder = Decoded::new(self.coding, unsafe { Coded::new(self.descriptor) })?;
        self.skip = offset;
        Ok(())
    }

    fn change(&self) -> io::Result<Option<Change>> {
        // SAFETY: as above.
        Ok(self.stamp.change(unsafe { Borrowed::new(self.descriptor) }.stamp()?))
    }

    /// It is COPY's.
    fn close(&mut self) {}
}

/// The file's own bytes, from one end to the other. Whoever reads them can be cancelled: they may stand for none at
/// all.
struct Coded {
    file: Borrowed,
    offset: u64,
}

impl Coded {
    /// # Safety
    /// As for [`Borrowed::new`].
    unsafe fn new(descriptor: RawFd) -> Coded {
        // SAFETY: the caller's promise.
        Coded { file: unsafe { Borrowed::new(descriptor) }, offset: 0 }
    }
}

impl Read for Coded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        pgrx::check_for_interrupts!();
        let length = self.file.read_at(buffer, self.offset)?;
        self.offset += length as u64;
        Ok(length)
    }
}
