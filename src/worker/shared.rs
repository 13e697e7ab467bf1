//! The shared memory of one scan or load.
//!
//! ```text
//! Shared | job (JSON) | ring (see fastcsv_engine::ring) | bytes of a stream (see fastcsv_engine::byte_ring)
//! ```
//!
//! The backend writes the fields that are no atomics before the worker exists. After that the backend writes nothing
//! here but through the rings; the worker writes `worker_latch` when it has started, and its verdict when it ends.

#![expect(unsafe_code, reason = "memory shared by two processes")]

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use fastcsv_engine::byte_ring::ByteRing;
use fastcsv_engine::ring::Geometry;
use pgrx::pg_sys;

use crate::fault::Fault;

/// What a job takes at most, in multiples of its written form: it is read into lists that grow by doubling, and then
/// made into others.
pub(super) const JOB_FACTOR: usize = 16;

/// The longest message of a failure, in bytes.
const MESSAGE: usize = 256;

/// What stands at the start of the shared memory.
#[repr(C, align(64))]
pub(super) struct Shared {
    /// Bytes of the job, which follows.
    pub(super) job_length: usize,
    /// Where the ring begins.
    pub(super) ring_offset: usize,
    /// Where the ring of a stream's bytes begins, if the job is about a stream.
    pub(super) stream_offset: usize,
    /// The backend, and the descriptor it has the file open by.
    pub(super) backend: libc::pid_t,
    pub(super) descriptor: i32,
    /// The file behind the descriptor.
    pub(super) device: u64,
    pub(super) inode: u64,
    /// What is to go wrong in the worker, for tests.
    pub(super) fault: Fault,
    /// The backend's latch. It lies in the main shared memory, which all processes have at the same address.
    pub(super) backend_latch: AtomicPtr<pg_sys::Latch>,
    /// The worker's latch, once it has started.
    pub(super) worker_latch: AtomicPtr<pg_sys::Latch>,
    verdict: AtomicU32,
    pub(super) threads: AtomicU32,
    message: UnsafeCell<[u8; MESSAGE]>,
    damage: UnsafeCell<[u8; MESSAGE]>,
}

// SAFETY: the message is written by whoever has moved the verdict to FAILING, and read only after FAILED. The damage is
// written by the one thread that reads the input, before it finishes the ticket that tells of it.
unsafe impl Sync for Shared {}

/// What has become of the worker, as far as it says so itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// At work, or not started yet.
    Working,
    /// Every thread has done all there was to do.
    Finished,
    /// See [`Shared::message`].
    Failed,
    /// It could not begin, and has done nothing.
    Refused(Refusal),
}

/// Why there is no worker.
#[expect(clippy::enum_variant_names, reason = "each says what there is none of")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No shared memory could be had.
    NoSharedMemory,
    /// All background worker slots are taken.
    NoSlot,
    /// The worker had too little memory of its own.
    NoMemory,
    /// The worker could not open the file through the session's descriptor.
    NoFile,
    /// The worker could not map the file.
    NoMapping,
    /// The worker could not start a thread.
    NoThread,
}

impl Refusal {
    /// As `EXPLAIN ANALYZE` and the log say it.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Refusal::NoSharedMemory => "no shared memory for a worker",
            Refusal::NoSlot => "no background worker slot is free",
            Refusal::NoMemory => "no memory for a worker",
            Refusal::NoFile => "the worker cannot open the file",
            Refusal::NoMapping => "the worker cannot map the file",
            Refusal::NoThread => "the worker cannot start a thread",
        }
    }
}

const WORKING: u32 = 0;
const FINISHED: u32 = 1;
const FAILED: u32 = 2;
/// Somebody is writing the message.
const FAILING: u32 = 3;
/// The worker's own refusals, from here on.
const REFUSED: [(u32, Refusal); 4] =
    [(4, Refusal::NoMemory), (5, Refusal::NoFile), (6, Refusal::NoMapping), (7, Refusal::NoThread)];

impl Shared {
    /// Where the ring begins behind a job of that length.
    pub(super) fn ring_offset(job_length: usize) -> usize {
        (size_of::<Shared>() + job_length).next_multiple_of(Geometry::ALIGN)
    }

    /// Where the ring of a stream's bytes begins behind the other.
    pub(super) fn stream_offset(job_length: usize, geometry: Geometry) -> usize {
        const { assert!(Geometry::ALIGN.is_multiple_of(ByteRing::ALIGN)) };
        (Self::ring_offset(job_length) + geometry.bytes()).next_multiple_of(Geometry::ALIGN)
    }

    /// The state before there is a worker.
    pub(super) fn new(
        job_length: usize,
        geometry: Geometry,
        backend: libc::pid_t,
        descriptor: i32,
        file: &libc::stat,
        fault: Fault,
    ) -> Shared {
        Shared {
            job_length,
            ring_offset: Self::ring_offset(job_length),
            stream_offset: Self::stream_offset(job_length, geometry),
            backend,
            descriptor,
            device: file.st_dev,
            inode: file.st_ino,
            fault,
            backend_latch: AtomicPtr::new(std::ptr::null_mut()),
            worker_latch: AtomicPtr::new(std::ptr::null_mut()),
            verdict: AtomicU32::new(WORKING),
            threads: AtomicU32::new(0),
            message: UnsafeCell::new([0; MESSAGE]),
            damage: UnsafeCell::new([0; MESSAGE]),
        }
    }

    /// The job's bytes.
    ///
    /// # Safety
    /// `base` must be the start of the shared memory, and the job be written.
    pub(super) unsafe fn job<'a>(base: NonNull<u8>) -> &'a [u8] {
        // SAFETY: the caller's promise; the job is never changed.
        unsafe {
            let length = base.cast::<Shared>().as_ref().job_length;
            std::slice::from_raw_parts(base.add(size_of::<Shared>()).as_ptr(), length)
        }
    }

    /// The worker's last word, if everything went well. An earlier failure stands.
    pub(super) fn finish(&self) {
        let _ = self.verdict.compare_exchange(WORKING, FINISHED, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Notes a failure; the first one counts.
    pub(super) fn fail(&self, message: &str) {
        if self.verdict.compare_exchange(WORKING, FAILING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        // SAFETY: only who has moved the verdict to FAILING writes here, and nobody reads before FAILED.
        write_text(unsafe { &mut *self.message.get() }, message);
        self.verdict.store(FAILED, Ordering::Release);
    }

    /// The worker cannot begin, for a reason of its own.
    pub(super) fn refuse(&self, why: Refusal) {
        if let Some((number, _)) = REFUSED.iter().find(|(_, refusal)| *refusal == why) {
            let _ = self.verdict.compare_exchange(WORKING, *number, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self.verdict.load(Ordering::Acquire) {
            FINISHED => Verdict::Finished,
            FAILED => Verdict::Failed,
            number => match REFUSED.iter().find(|(refused, _)| *refused == number) {
                Some((_, refusal)) => Verdict::Refused(*refusal),
                None => Verdict::Working,
            },
        }
    }

    /// The failure's message; empty unless the verdict is [`Verdict::Failed`].
    pub(super) fn message(&self) -> String {
        if self.verdict() != Verdict::Failed {
            return String::new();
        }
        // SAFETY: after FAILED nobody writes here any more.
        read_text(unsafe { &*self.message.get() })
    }

    /// Notes what is wrong with the input.
    ///
    /// # Safety
    /// Only the thread that reads the input may do so, before it finishes the ticket that tells of it.
    pub(super) unsafe fn note_damage(&self, text: &str) {
        // SAFETY: the caller's promise; nobody reads before that ticket is finished.
        write_text(unsafe { &mut *self.damage.get() }, text);
    }

    /// What is wrong with the input, after a ticket has told that something is.
    pub(super) fn damage(&self) -> String {
        // SAFETY: nothing is read of the input, and nothing written here, after such a ticket.
        read_text(unsafe { &*self.damage.get() })
    }
}

/// Writes as much of a text as there is room for, with a zero behind it.
fn write_text(place: &mut [u8; MESSAGE], text: &str) {
    let mut length = text.len().min(MESSAGE - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    place[..length].copy_from_slice(&text.as_bytes()[..length]);
    place[length] = 0;
}

fn read_text(place: &[u8; MESSAGE]) -> String {
    let length = place.iter().position(|byte| *byte == 0).unwrap_or(MESSAGE);
    String::from_utf8_lossy(&place[..length]).into_owned()
}
