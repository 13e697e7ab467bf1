//! Where a stream's bytes come from: whoever has some, and the pipes and FIFOs among them.

#![expect(unsafe_code, reason = "reads descriptors that PostgreSQL owns")]

use std::ffi::c_char;
use std::io;
use std::os::fd::RawFd;

use fastcsv_engine::coding::Coding;
use pgrx::pg_sys;

use crate::file::Change;
use crate::referee::shim;

/// Bytes that a pipe is asked to hold, instead of the system's 64 KiB: the most that everybody may ask for. Whoever
/// writes into it then seldom waits.
const PIPE: libc::c_int = 1 << 20;

/// What was read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    Bytes(usize),
    /// There is nothing now.
    Nothing,
    End,
    /// Something else than data: it is left for [`Supply::read`], which may raise an error, when all before it is done
    /// with.
    Other,
}

/// Where a stream's bytes come from.
pub(crate) trait Supply {
    /// Reads what there is now: `None` if that is nothing, 0 at the end.
    ///
    /// # Errors
    /// Those of the system.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// As `read`, for somebody who reads on while what came before is still worked at.
    ///
    /// # Errors
    /// Those of the system.
    fn read_ahead(&mut self, buffer: &mut [u8]) -> io::Result<Ahead> {
        Ok(match self.read(buffer)? {
            None => Ahead::Nothing,
            Some(0) => Ahead::End,
            Some(length) => Ahead::Bytes(length),
        })
    }

    /// What becomes readable when there is something.
    fn descriptor(&self) -> RawFd;

    /// Is it the client? What it sends is taken as it comes, and taken to its end even if the data ends before: only
    /// then it listens.
    fn is_client(&self) -> bool {
        false
    }

    /// Closes what is not COPY's. Called once, at the end of a read without errors: after an error PostgreSQL does it.
    fn close(&mut self);

    /// How the text is put into the bytes of a file, if the supply is the text: it can then be read again.
    fn coding(&self) -> Option<Coding> {
        None
    }

    /// The file's own size.
    fn file_size(&self) -> u64 {
        0
    }

    /// Goes on at another offset of what the file holds.
    ///
    /// # Errors
    /// If there is no memory for it.
    fn go_to(&mut self, _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What has become of the file since it was opened, if that matters.
    ///
    /// # Errors
    /// Those of the system.
    fn change(&self) -> io::Result<Option<Change>> {
        Ok(None)
    }
}

/// A descriptor as a supply.
pub(crate) struct Pipe {
    descriptor: RawFd,
    /// Whether it is a transient file of ours rather than COPY's.
    is_own: bool,
}

impl Pipe {
    /// COPY's own input.
    pub(crate) fn of_copy(descriptor: RawFd) -> Pipe {
        Pipe { descriptor, is_own: false }.widened()
    }

    /// Opens a FIFO without waiting for a writer. It is closed at the end of the transaction at the latest.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Safety
    /// The name must be a C string.
    pub(crate) unsafe fn open_fifo(name: *const c_char) -> io::Result<Pipe> {
        // SAFETY: the caller's promise.
        let descriptor = unsafe { pg_sys::OpenTransientFile(name, libc::O_RDONLY | libc::O_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Pipe { descriptor, is_own: true }.widened())
    }

    /// What is no pipe, and a pipe that may not be widened, stays as it is.
    fn widened(self) -> Pipe {
        // SAFETY: a plain system call.
        unsafe { libc::fcntl(self.descriptor, libc::F_SETPIPE_SZ, PIPE) };
        self
    }
}

impl Supply for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let mut asked = libc::pollfd { fd: self.descriptor, events: libc::POLLIN, revents: 0 };
        // SAFETY: one struct and a buffer of that length. What says that it is readable does not make a read wait; a
        // FIFO that nobody has opened for writing yet does not say so, though a read would find its end.
        let count = unsafe {
            if libc::poll(&mut asked, 1, 0) <= 0 {
                return Ok(None);
            }
            libc::read(self.descriptor, buffer.as_mut_ptr().cast(), buffer.len())
        };
        if count >= 0 {
            return Ok(Some(count as usize));
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => Ok(None),
            _ => Err(error),
        }
    }

    fn descriptor(&self) -> RawFd {
        self.descriptor
    }

    fn close(&mut self) {
        if self.is_own {
            // SAFETY: it was opened as such, and is not used again.
            unsafe { pg_sys::CloseTransientFile(self.descriptor) };
        }
    }
}

/// Is the file a FIFO? Whatever cannot be looked at is none.
///
/// # Safety
/// The name must be a C string.
pub(crate) unsafe fn is_fifo(name: *const c_char) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the caller's promise; `stat` fills the struct when it succeeds.
    unsafe { libc::stat(name, found.as_mut_ptr()) == 0 && found.assume_init().st_mode & libc::S_IFMT == libc::S_IFIFO }
}

/// The progress view's word for a FIFO's bytes: that they come from a file, though COPY gets them through a callback.
pub(crate) fn tell_progress_file() {
    let (parameter, kind) = (pg_sys::PROGRESS_COPY_TYPE, pg_sys::PROGRESS_COPY_TYPE_FILE);
    // SAFETY: a counter of the session's own.
    unsafe { pg_sys::pgstat_progress_update_param(parameter.cast_signed(), i64::from(kind)) };
}

/// Raises that a FIFO cannot be opened.
pub(crate) fn raise_open_error(error: &io::Error, name: *const c_char) -> ! {
    shim::raise_file_error(error, c"open", name)
}
