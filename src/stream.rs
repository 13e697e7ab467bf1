//! Input whose next byte comes only after its last: a program's output, a FIFO, a device; or what a compressed file
//! holds ([`crate::archive`]).
//!
//! **The backend reads it**, because it is the process that may. COPY has opened it (or, for a FIFO, has made all of
//! its checks), and is then told to take its bytes from a [`Stream`]: so nothing here ever waits inside a system call,
//! and a statement that waits for bytes can be cancelled. A FIFO is opened without waiting for a writer; to the one who
//! reads it looks like any other that has nothing to say yet.
//!
//! While COPY's parser reads, a [`Trail`] beside it knows where each record starts. When a worker takes over, what COPY
//! has buffered and not used goes to the worker first ([`crate::worker`]). It can come back to COPY's parser with the
//! bytes that nobody has used: if there turns out to be no worker, or for a record that is too long for one.

#![expect(unsafe_code, reason = "reads and waits for descriptors that PostgreSQL owns")]

mod rest;
mod supply;

use std::io::{self, Read};
use std::os::fd::RawFd;

use fastcsv_engine::coding::Coding;
use fastcsv_engine::dialect::Dialect;
use fastcsv_engine::locate::{Checkpoint, Place};
use fastcsv_engine::scan::Level;
use fastcsv_engine::trail::Trail;
use pgrx::pg_sys;

use crate::file::Change;
use crate::header::BYTE_ORDER_MARK;
use crate::memory;
use crate::pg_compat;
use crate::pg_raw;
use crate::referee::Feed;
use crate::settings;
pub(crate) use rest::RestFeed;
pub(crate) use supply::{Ahead, Pipe, Supply, is_fifo, raise_open_error, tell_progress_file};

/// A stream that is being read. It stays at one place in PostgreSQL's memory, because COPY's parser reads from it.
pub(crate) struct Stream {
    supply: Box<dyn Supply>,
    /// Bytes that come before those of the supply, from `served` on.
    held: Vec<u8>,
    served: usize,
    trail: Option<Trail>,
    /// Whether a header comes before the first record that the parser tells of.
    header_pending: bool,
    /// Bytes of the supply so far.
    received: u64,
    is_at_end: bool,
    /// Whether a byte order mark may come yet that is to be left out.
    drops_mark: bool,
    /// What is wrong with the file, once a read has said so. Errors that jump own nothing, so this is not in them.
    damage: String,
}

impl Stream {
    /// A stream from its beginning. Without a dialect nobody can tell where its records start.
    pub(crate) fn new(supply: Box<dyn Supply>, dialect: Option<&Dialect>, has_header: bool) -> Stream {
        let trail = dialect.map(|dialect| new_trail(dialect, Checkpoint::START));
        Stream {
            supply,
            held: Vec::new(),
            served: 0,
            trail,
            header_pending: has_header,
            received: 0,
            is_at_end: false,
            drops_mark: false,
            damage: String::new(),
        }
    }

    /// Bytes that have come so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Whether the end was seen; bytes before it may still be held.
    pub(crate) fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// The file whose text it is, if there is one, and how that is put into bytes.
    pub(crate) fn archive(&self) -> Option<(RawFd, Coding)> {
        self.supply.coding().map(|coding| (self.supply.descriptor(), coding))
    }

    /// A byte order mark before the text is not for COPY. For nobody has read yet.
    pub(crate) fn drop_mark(&mut self) {
        self.drops_mark = true;
    }

    /// The size of that file; 0 if there is none.
    pub(crate) fn file_size(&self) -> u64 {
        self.supply.file_size()
    }

    /// See [`Supply::change`].
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn change(&self) -> io::Result<Option<Change>> {
        self.supply.change()
    }

    /// What is wrong with the file, after a read has failed with [`io::ErrorKind::InvalidData`].
    pub(crate) fn damage(&self) -> &str {
        &self.damage
    }

    /// Of a compressed file, these bytes come next, which are at the offset, and then those that follow them in the
    /// file, unless they are the last.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(crate) fn go_on_at(&mut self, offset: u64, bytes: &[u8], are_last: bool) -> io::Result<()> {
        let mut held = Vec::new();
        held.try_reserve(bytes.len())?;
        held.extend_from_slice(bytes);
        (self.held, self.served, self.is_at_end) = (held, 0, are_last);
        if are_last { Ok(()) } else { self.supply.go_to(offset + bytes.len() as u64) }
    }

    /// What becomes readable when there is more; `None` at the end.
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        (!self.is_at_end).then(|| self.supply.descriptor())
    }

    /// Where the next record starts and the bytes of it and of what follows that the parser has got already; `None` if
    /// that is not known.
    pub(crate) fn unused(&self) -> Option<(Checkpoint, &[u8])> {
        let trail = self.trail.as_ref()?;
        Some((trail.at()?, trail.rest()?))
    }

    /// The parser does not get any more: what it has not used goes to somebody else, before all that comes. Returns how
    /// many bytes that is.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(crate) fn hold_unused(&mut self) -> io::Result<usize> {
        let unused = self.unused().map_or(&[][..], |(_, unused)| unused);
        let mut held = Vec::new();
        held.try_reserve_exact(unused.len())?;
        held.extend_from_slice(unused);
        let length = held.len();
        (self.held, self.served) = (held, 0);
        Ok(length)
    }

    /// The bytes in `before` come next, and then those that come out of `ring`, which were meant for somebody who
    /// does not want them; of all these, `skip` bytes are left out.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(crate) fn take_back(&mut self, before: &[u8], ring: &mut impl Read, skip: usize) -> io::Result<()> {
        let mut held = Vec::new();
        held.try_reserve(before.len())?;
        held.extend_from_slice(before);
        let mut buffer = memory::zeroed(64 * 1024).ok_or(io::ErrorKind::OutOfMemory)?;
        // A ring says that it is dry, or that it was closed; there is no other error.
        while let Ok(length @ 1..) = ring.read(&mut buffer) {
            held.try_reserve(length)?;
            held.extend_from_slice(&buffer[..length]);
        }
        held.try_reserve(self.held.len() - self.served)?;
        held.extend_from_slice(&self.held[self.served..]);
        (self.held, self.served) = (held, skip);
        Ok(())
    }

    /// The parser goes on at `at`, where the bytes come from that it gets next.
    pub(crate) fn follow(&mut self, dialect: &Dialect, at: Checkpoint) {
        self.trail = Some(new_trail(dialect, at));
        self.header_pending = false;
    }

    /// Nobody tells what the parser takes.
    pub(crate) fn lose_track(&mut self) {
        self.trail = None;
    }

    /// Reads what there is now: `None` if that is nothing, 0 at the end.
    ///
    /// # Errors
    /// Those of the system.
    fn read_now(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(known) = self.read_known(buffer) {
            return Ok(Some(known));
        }
        let read = self.supply.read(buffer).map_err(|error| self.noted(error))?;
        self.received += read.unwrap_or(0) as u64;
        self.is_at_end = read == Some(0) && !buffer.is_empty();
        Ok(read)
    }

    /// As `read_now`, for somebody who reads on while what came before is still worked at.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn read_ahead(&mut self, buffer: &mut [u8]) -> io::Result<Ahead> {
        match self.read_known(buffer) {
            Some(0) => return Ok(Ahead::End),
            Some(length) => return Ok(Ahead::Bytes(length)),
            None => {}
        }
        let read = self.supply.read_ahead(buffer).map_err(|error| self.noted(error))?;
        match read {
            Ahead::Bytes(length) => self.received += length as u64,
            Ahead::End => self.is_at_end = true,
            Ahead::Nothing | Ahead::Other => {}
        }
        Ok(read)
    }

    /// What can be read without asking the supply: bytes that are held, or that there are no more.
    fn read_known(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let held = &self.held[self.served..];
        if !held.is_empty() && !buffer.is_empty() {
            let length = held.len().min(buffer.len());
            buffer[..length].copy_from_slice(&held[..length]);
            self.served += length;
            if self.served == self.held.len() {
                (self.held, self.served) = (Vec::new(), 0);
            }
            return Some(length);
        }
        self.is_at_end.then_some(0)
    }

    /// See [`Supply::is_client`].
    pub(crate) fn is_client(&self) -> bool {
        self.supply.is_client()
    }

    /// The error, without anything that it owns.
    fn noted(&mut self, error: io::Error) -> io::Error {
        if error.raw_os_error().is_some() {
            return error;
        }
        let kind = error.kind();
        if kind == io::ErrorKind::InvalidData {
            self.damage = error.to_string();
        }
        kind.into()
    }

    /// Sleeps until there may be more, or something else has happened that the session must look at.
    ///
    /// # Errors
    /// Raises that the statement was cancelled or the session is to end. Nothing with a destructor may be alive on the
    /// callers' frames.
    fn wait(&self) {
        wait_for(self.descriptor(), -1, wait_event(self.is_client()));
        // SAFETY: as above.
        unsafe { pg_raw::check_for_interrupts() };
    }

    /// The data has ended, whatever comes yet.
    ///
    /// # Errors
    /// Those of reading; and raises what [`Stream::wait`] raises.
    pub(crate) fn end_data(&mut self) -> io::Result<()> {
        if self.supply.is_client() {
            let mut buffer = [0; 8192];
            loop {
                match self.read_now(&mut buffer)? {
                    Some(0) => break,
                    Some(_) => {}
                    None => self.wait(),
                }
            }
        }
        Ok(())
    }

    /// See [`Supply::close`].
    pub(crate) fn close(&mut self) {
        self.supply.close();
    }
}

fn new_trail(dialect: &Dialect, at: Checkpoint) -> Trail {
    let limit = usize::try_from(settings::memory() / 2).unwrap_or(usize::MAX);
    Trail::new(dialect, Level::detect(), at, limit)
}

/// What a session shows that waits for a stream, or for the worker that reads one.
pub(crate) fn wait_event(is_for_client: bool) -> u32 {
    if is_for_client { pg_sys::WaitEventClient::WAIT_EVENT_CLIENT_READ } else { pg_compat::wait_event() }
}

/// Sleeps until the session's latch is set or the descriptor is readable, at most so many milliseconds (-1: any time).
pub(crate) fn wait_for(descriptor: Option<RawFd>, milliseconds: i64, event: u32) {
    let mut events = pg_sys::WL_LATCH_SET | pg_sys::WL_EXIT_ON_PM_DEATH;
    if milliseconds >= 0 {
        events |= pg_sys::WL_TIMEOUT;
    }
    // SAFETY: waits on the session's own latch, and on a descriptor that is open. It was just asked whether it is
    // readable and said no, so it can be waited for.
    unsafe {
        match descriptor {
            Some(descriptor) => {
                let events = events | pg_sys::WL_SOCKET_READABLE;
                pg_raw::WaitLatchOrSocket(pg_sys::MyLatch, events.cast_signed(), descriptor, milliseconds, event);
            }
            // Which makes no descriptor of its own, and costs less.
            None => drop(pg_sys::WaitLatch(pg_sys::MyLatch, events.cast_signed(), milliseconds, event)),
        }
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}

impl Feed for Stream {
    /// Fills the buffer; but takes a client's messages one by one, as COPY itself would. What its parser makes of some
    /// rare options depends on that, and so does what has been done by the time that a client fails.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_now(&mut buffer[filled..])? {
                Some(0) => break,
                Some(length) => {
                    filled += length;
                    if self.is_client() {
                        break;
                    }
                }
                None => self.wait(),
            }
        }
        if let Some(trail) = &mut self.trail {
            trail.push(&buffer[..filled]);
        }
        // It is in the trail: places in the file are those behind it.
        if std::mem::take(&mut self.drops_mark) && buffer[..filled].starts_with(BYTE_ORDER_MARK) {
            buffer.copy_within(BYTE_ORDER_MARK.len()..filled, 0);
            filled -= BYTE_ORDER_MARK.len();
        }
        Ok(filled)
    }

    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    fn took_record(&mut self) {
        if let Some(trail) = &mut self.trail {
            if std::mem::take(&mut self.header_pending) {
                trail.step();
            }
            trail.step();
        }
    }

    fn place(&self, copy_line: u64) -> Option<Place> {
        self.trail.as_ref()?.place(copy_line)
    }
}
