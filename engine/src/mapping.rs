//! Mapped files that may become shorter: read in place, without a signal that ends the process.
//!
//! Touching a mapped page behind the file's end raises SIGBUS, which by default kills the process, and in PostgreSQL
//! that restarts every session of the cluster. So each [`Mapping`] is **guarded**: its address range stands in a
//! registry, and a handler of SIGBUS that finds the faulting address there puts a page of zeros in its place, notes in
//! the registry where that was, and returns. The reader goes on with zeros and asks [`ReadAt::failure`] before
//! it lets anybody see what it made of them. A fault elsewhere is none of ours: the handler puts the one before it
//! back and returns, and the same instruction faults again.
//!
//! A thread that reads mappings must not have SIGBUS blocked: a fault that is blocked kills.
//!
//! Pages that are there tell nothing: the bytes between a file's end and its last page's are zeros too. So
//! [`ReadAt::failure`] also asks for the file's size.

#![expect(unsafe_code, reason = "maps files and handles a signal")]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use memmap2::{Mmap, MmapOptions};

use crate::pipeline::ReadAt;

/// Mappings that a process may have at once. A worker has one; tests have several.
const PLACES: usize = 64;

/// No fault, where the faulting byte's offset plus one stands.
const NO_FAULT: usize = 0;

/// A file mapped from its start, readable in place at any offset.
#[derive(Debug)]
pub struct Mapping {
    file: File,
    bytes: Mmap,
    place: &'static Place,
}

impl Mapping {
    /// Maps the first `size` bytes of a file, which need not be there any more.
    ///
    /// # Errors
    /// Those of the system, if the file's file system cannot map it or memory cannot be had; that the process has too
    /// many mappings already.
    ///
    /// # Safety
    /// As long as the mapping lives nobody may change bytes of the file in place; that it becomes shorter or longer
    /// does no harm.
    pub unsafe fn new(file: File, size: u64) -> io::Result<Mapping> {
        let length = usize::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?;
        install_handler()?;
        // SAFETY: that the file's bytes stay as they are is the caller's promise; that they are there at all is not
        // needed, because the mapping is guarded before the first of them is touched.
        let bytes = unsafe { MmapOptions::new().len(length).map(&file)? };
        let place = Place::take(bytes.as_ptr() as usize, length.max(1))
            .ok_or_else(|| io::Error::other("too many files are mapped in this process"))?;
        Ok(Mapping { file, bytes, place })
    }
}

impl ReadAt for Mapping {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn slice(&self, from: u64, to: u64) -> Option<&[u8]> {
        self.bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    }

    fn failure(&self) -> Option<io::Error> {
        if let Some(offset) = self.place.fault() {
            // What the system says of that byte: a disk that cannot be read faults like a file that has become shorter.
            let mut byte = [0];
            let found = self.file.read_at(&mut byte, offset);
            return Some(found.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        }
        match self.file.metadata() {
            Ok(found) if found.len() >= self.bytes.len() as u64 => None,
            Ok(_) => Some(io::ErrorKind::UnexpectedEof.into()),
            Err(error) => Some(error),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Before the addresses go to somebody else, whose faults are none of ours.
        self.place.give_back();
    }
}

/// A mapping's place in the registry, which the handler looks through: atomics only.
#[derive(Debug)]
struct Place {
    /// The address of the first byte, 0 where the place is free. Written last and cleared first.
    start: AtomicUsize,
    /// Bytes mapped; not 0 while the place is taken.
    length: AtomicUsize,
    /// The offset of the first byte that faulted plus one.
    fault: AtomicUsize,
}

static REGISTRY: [Place; PLACES] = [const { Place::free() }; PLACES];

impl Place {
    const fn free() -> Place {
        Place { start: AtomicUsize::new(0), length: AtomicUsize::new(0), fault: AtomicUsize::new(NO_FAULT) }
    }

    /// Takes a free place.
    fn take(start: usize, length: usize) -> Option<&'static Place> {
        let is_taken =
            |place: &&Place| place.length.compare_exchange(0, length, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let place = REGISTRY.iter().find(is_taken)?;
        place.fault.store(NO_FAULT, Ordering::Relaxed);
        place.start.store(start, Ordering::Release);
        Some(place)
    }

    fn give_back(&self) {
        self.start.store(0, Ordering::Release);
        self.length.store(0, Ordering::Release);
    }

    fn fault(&self) -> Option<u64> {
        self.fault.load(Ordering::Acquire).checked_sub(1).map(|offset| offset as u64)
    }

    /// The offset of an address, if it lies in the mapping.
    fn offset_of(&self, address: usize) -> Option<usize> {
        let start = self.start.load(Ordering::Acquire);
        let offset = address.checked_sub(start)?;
        (start != 0 && offset < self.length.load(Ordering::Acquire)).then_some(offset)
    }

    /// Puts a page of zeros where the address lies, if that is in this mapping; async-signal-safe.
    fn patch(&self, address: usize) -> bool {
        let Some(offset) = self.offset_of(address) else { return false };
        let page = PAGE.load(Ordering::Relaxed);
        let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
        // SAFETY: the page lies in a mapping that is alive, because a thread is just reading it, and holds nothing of
        // anybody else's: mappings are whole pages. It is only read, and its bytes were not there.
        let patched = unsafe { libc::mmap((address & !(page - 1)) as *mut _, page, protection, flags, -1, 0) };
        if patched == libc::MAP_FAILED {
            return false;
        }
        let _ = self.fault.compare_exchange(NO_FAULT, offset + 1, Ordering::AcqRel, Ordering::Relaxed);
        true
    }
}

/// Bytes of a page.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// What handled SIGBUS before; made once and never freed.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());

/// Makes [`handle`] the process's handler of SIGBUS, once.
fn install_handler() -> io::Result<()> {
    static ONCE: Once = Once::new();
    static ERROR: AtomicI32 = AtomicI32::new(0);
    ONCE.call_once(|| {
        // SAFETY: a sigaction may be all zero; `before` is leaked, so that the handler may read it at any time. The
        // handler is installed after everything that it reads is there.
        unsafe {
            let before = Box::leak(Box::new(MaybeUninit::<libc::sigaction>::zeroed().assume_init()));
            libc::sigaction(libc::SIGBUS, std::ptr::null(), before);
            BEFORE.store(before, Ordering::Release);
            PAGE.store(libc::sysconf(libc::_SC_PAGESIZE) as usize, Ordering::Release);
            let mut ours = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            ours.sa_sigaction = handle as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut ours.sa_mask);
            if libc::sigaction(libc::SIGBUS, &ours, std::ptr::null_mut()) != 0 {
                ERROR.store(*libc::__errno_location(), Ordering::Release);
            }
        }
    });
    match ERROR.load(Ordering::Acquire) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The handler. It runs in whichever thread has touched the page, between two of its instructions.
extern "C" fn handle(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the system passes a valid siginfo, whose address is that of the fault; errno is put back for the thread,
    // which does not know that anything has happened.
    unsafe {
        let errno = *libc::__errno_location();
        let address = (*info).si_addr() as usize;
        if !REGISTRY.iter().any(|place| place.patch(address)) {
            libc::sigaction(libc::SIGBUS, BEFORE.load(Ordering::Acquire), std::ptr::null_mut());
        }
        *libc::__errno_location() = errno;
    }
}
