//! What the worker's threads read: the file that the backend has open, mapped or not; what it holds, if it is
//! compressed; or a stream that the backend reads for them.

#![expect(unsafe_code, reason = "shared memory, and mapped files")]

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use fastcsv_engine::byte_ring::{ByteRing, Reader};
use fastcsv_engine::coding::{Coding, Decoded};
use fastcsv_engine::decompress::From;
use fastcsv_engine::job::{self, Io};
use fastcsv_engine::mapping::Mapping;
use fastcsv_engine::pipeline::{Input, ReadAt, patiently};
use fastcsv_engine::ring::Ring;

use super::main::{Failure, wake};
use super::shared::{Refusal, Shared};
use crate::fault::Point;
use crate::memory;

/// Opens the file, and maps it if the job says so; or attaches to the stream.
pub(super) fn open_input(shared: &'static Shared, input: &job::Input) -> Result<Input, Failure> {
    let panics = AtomicU64::new(shared.fault.at(Point::ThreadPanic).unwrap_or(0));
    if let job::Input::Stream { start, coding: Some(coding), .. } = *input {
        let file = open_file(shared).map_err(|_| Refusal::NoFile)?;
        let decoding = Decoding::new(file, coding, start, shared).map_err(|_| Refusal::NoMemory)?;
        return Ok(Input::Stream(Box::new(Watched { file: decoding, panics })));
    }
    if let job::Input::Stream { .. } = input {
        // SAFETY: the backend has made the ring before it registered us, and writes into it; nobody else reads.
        let reader = unsafe {
            let base = NonNull::from(shared).cast::<u8>();
            ByteRing::attach(base.add(shared.stream_offset)).reader()
        };
        return Ok(Input::Stream(Box::new(Watched { file: Incoming { reader, shared }, panics })));
    }
    let file = open_file(shared).map_err(|_| Refusal::NoFile)?;
    match *input {
        job::Input::File { size, io: Io::Mmap, .. } => {
            // SAFETY: that nobody writes into the file is what the user says by asking for it; what a thread makes of
            // bytes that change under it is a wrong row at worst, since no bound or length is taken from the file's
            // bytes without a check.
            let mapping = unsafe { Mapping::new(file, size) };
            let mapping = mapping.map_err(|_| Refusal::NoMapping)?;
            Ok(Input::File(Box::new(Watched { file: mapping, panics })))
        }
        _ => Ok(Input::File(Box::new(Watched { file, panics }))),
    }
}

/// A stream's bytes, which the backend is told of when there is room for more.
struct Incoming {
    reader: Reader,
    shared: &'static Shared,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        if self.reader.must_wake_writer() {
            wake(&self.shared.backend_latch);
        }
        read
    }
}

/// The text of a file, from an offset on.
struct Decoding {
    reader: From<Decoded<Coded>>,
    shared: &'static Shared,
}

impl Decoding {
    /// # Errors
    /// If there is no memory for a decoder.
    fn new(file: File, coding: Coding, start: u64, shared: &'static Shared) -> io::Result<Decoding> {
        // SAFETY: the backend has made the ring before it registered us.
        let ring = unsafe { Ring::attach(NonNull::from(shared).cast::<u8>().add(shared.ring_offset)) };
        let decoder = Decoded::new(coding, Coded { file, offset: 0, ring })?;
        Ok(Decoding { reader: From::new(decoder, start), shared })
    }
}

impl Read for Decoding {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        if let Err(error) = &read
            && error.kind() == io::ErrorKind::InvalidData
        {
            // SAFETY: the pipeline reads the input on one thread, and no more after an error.
            unsafe { self.shared.note_damage(&error.to_string()) };
        }
        read
    }
}

/// The bytes of a compressed file. There may be many between two that are decompressed.
struct Coded {
    file: File,
    offset: u64,
    ring: Ring,
}

impl Read for Coded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ring.is_stopped() {
            return Err(io::Error::from_raw_os_error(libc::ECANCELED));
        }
        let length = patiently(|| ReadAt::read_at(&self.file, buffer, self.offset))?;
        self.offset += length as u64;
        Ok(length)
    }
}

/// The input, as long as there is memory to work with.
struct Watched<R> {
    file: R,
    /// For tests: the number of the read that panics; 0 for none.
    panics: AtomicU64,
}

impl<R> Watched<R> {
    /// # Errors
    /// If memory has run out.
    fn look(&self) -> io::Result<()> {
        if memory::ran_out() {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        if self.panics.load(Ordering::Relaxed) != 0 {
            assert!(self.panics.fetch_sub(1, Ordering::Relaxed) != 1, "fault point thread-panic");
        }
        Ok(())
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.look()?;
        self.file.read(buffer)
    }
}

impl<R: ReadAt> ReadAt for Watched<R> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.look()?;
        self.file.read_at(buffer, offset)
    }

    fn slice(&self, from: u64, to: u64) -> Option<&[u8]> {
        if self.look().is_err() { None } else { self.file.slice(from, to) }
    }

    fn failure(&self) -> Option<io::Error> {
        if memory::ran_out() {
            return Some(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        self.file.failure()
    }
}

/// The file that the backend has open, and no other that has taken its name since.
fn open_file(shared: &Shared) -> io::Result<File> {
    let file = File::open(format!("/proc/{}/fd/{}", shared.backend, shared.descriptor))?;
    let found = file.metadata()?;
    if (found.dev(), found.ino()) != (shared.device, shared.inode) {
        return Err(io::Error::other("it is not the one that the session has opened"));
    }
    Ok(file)
}
