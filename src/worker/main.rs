//! The worker process: one thread that PostgreSQL knows, which sleeps, and the engine's threads, which work.
//!
//! The main thread makes and ends the pipeline; the backend sets its latch when everybody is to stop, and wakes the
//! other threads itself. These have all signals blocked and call nothing of PostgreSQL's but `SetLatch`, which is made
//! of atomics and `kill`.

#![expect(unsafe_code, reason = "a background worker's main function, which attaches shared memory")]

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{Builder, JoinHandle};

use fastcsv_engine::job::Job;
use fastcsv_engine::pipeline::{Pipeline, StartError, Wake};
use fastcsv_engine::ring::Ring;
use pgrx::pg_sys;

use super::input::open_input;
use super::shared::{JOB_FACTOR, Refusal, Shared};
use crate::fault::Point;
use crate::memory;
use crate::pg_compat;
use crate::pg_raw;

/// What starting takes at most beside the job, in bytes: for itself, and for each thread.
const START_MEMORY: usize = 1 << 20;
const THREAD_MEMORY: usize = 16 * 1024;

/// The pipeline of this process, for the callback that runs when the process exits early.
static PIPELINE: AtomicPtr<Pipeline> = AtomicPtr::new(std::ptr::null_mut());

/// The worker's main function.
pub(crate) fn run(handle: pg_sys::Datum) {
    pg_compat::handle_terminate_by_flag();
    // SAFETY: a background worker's main function starts with signals blocked. The segment may be gone, since the
    // backend need not wait for us; then there is nothing to do.
    let base = unsafe {
        pg_sys::BackgroundWorkerUnblockSignals();
        let segment = pg_sys::dsm_attach(handle.value() as pg_sys::dsm_handle);
        if segment.is_null() {
            return;
        }
        pg_sys::dsm_pin_mapping(segment);
        NonNull::new(pg_sys::dsm_segment_address(segment).cast::<u8>()).expect("a segment is mapped somewhere")
    };
    // SAFETY: the backend has written all of it before it registered us, and the mapping lasts as long as the process.
    let (shared, job, ring): (&'static Shared, _, _) = unsafe {
        let shared = base.cast::<Shared>().as_ref();
        (shared, Shared::job(base), Ring::attach(base.add(shared.ring_offset)))
    };
    // SAFETY: MyLatch is this process's latch, in the main shared memory.
    shared.worker_latch.store(unsafe { pg_sys::MyLatch }, Ordering::Release);
    shared.fault.begin_in_worker();
    match start(shared, job, ring) {
        Ok(pipeline) => work(shared, ring, pipeline),
        Err(Failure::Refused(refusal)) => shared.refuse(refusal),
        Err(Failure::Failed(message)) => shared.fail(&message),
    }
    wake(&shared.backend_latch);
}

/// Why the worker does nothing.
pub(super) enum Failure {
    /// Something that the session can do without.
    Refused(Refusal),
    /// Something that should not happen.
    Failed(String),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}

/// Opens the file and starts the threads.
fn start(shared: &'static Shared, job: &[u8], ring: Ring) -> Result<Pipeline, Failure> {
    if !memory::has_room(START_MEMORY + JOB_FACTOR * job.len()) {
        return Err(Refusal::NoMemory.into());
    }
    let read: Result<Job, _> = serde_json::from_slice(job);
    let job = read.map_err(|error| Failure::Failed(format!("could not read the job: {error}")))?;
    if !memory::has_room(START_MEMORY + THREAD_MEMORY * job.threads) {
        return Err(Refusal::NoMemory.into());
    }
    let input = open_input(shared, &job.input)?;
    let wake = Box::new(Wakers { shared });
    let (fails, started) = (shared.fault.at(Point::ThreadStart), Cell::new(0));
    let spawn = |body| {
        started.set(started.get() + 1);
        match fails {
            Some(start) if start == 1 || start == started.get() => Err(io::Error::from_raw_os_error(libc::EAGAIN)),
            _ => spawn_thread(body),
        }
    };
    Pipeline::start(job, ring, input, wake, &spawn).map_err(|error| match error {
        StartError::Threads(_) => Refusal::NoThread.into(),
        error => Failure::Failed(error.to_string()),
    })
}

/// Sleeps until there is nothing left to do.
fn work(shared: &Shared, ring: Ring, pipeline: Pipeline) {
    shared.threads.store(pipeline.threads() as u32, Ordering::Relaxed);
    let pipeline = Box::into_raw(Box::new(pipeline));
    PIPELINE.store(pipeline, Ordering::Release);
    // SAFETY: `end_early` is called at most once, when the process exits.
    unsafe { pg_sys::before_shmem_exit(Some(end_early), pg_sys::Datum::from(0)) };
    // SAFETY: only this thread takes it back, below or in `end_early`.
    let threads = unsafe { &*pipeline };
    let (mut panic, mut exit) = (shared.fault.countdown(Point::WorkerPanic), shared.fault.countdown(Point::WorkerExit));
    while !threads.is_finished() && !ring.is_stopped() {
        let events = pg_sys::WL_LATCH_SET | pg_sys::WL_EXIT_ON_PM_DEATH;
        // SAFETY: waits on this process's own latch.
        unsafe {
            pg_sys::WaitLatch(pg_sys::MyLatch, events.cast_signed(), -1, pg_sys::PG_WAIT_EXTENSION);
            pg_sys::ResetLatch(pg_sys::MyLatch);
        }
        pgrx::check_for_interrupts!();
        assert!(!panic.is_now(), "fault point worker-panic");
        if exit.is_now() {
            // SAFETY: ends the process as an error would.
            unsafe { pg_sys::proc_exit(1) };
        }
    }
    end_pipeline();
    shared.finish();
}

/// Joins all threads: behind this nobody in this process writes to the shared memory any more.
fn end_pipeline() {
    let pipeline = PIPELINE.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if !pipeline.is_null() {
        // SAFETY: it comes from `Box::into_raw`, and the swap gives it to one caller.
        unsafe { Box::from_raw(pipeline) }.end();
    }
}

/// The process exits before its work is done: it was terminated, or the postmaster died.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn end_early(_code: i32, _argument: pg_sys::Datum) {
    end_pipeline();
}

/// Starts a thread with all signals blocked but that of a mapped page which is not there: they are the main thread's.
fn spawn_thread(body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are written before they are read; the mask is put back below.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::sigdelset(all.as_mut_ptr(), libc::SIGBUS);
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let thread = Builder::new().name("fastcsv".into()).spawn(body);
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    thread
}

/// How threads wake the two processes' main threads.
struct Wakers {
    shared: &'static Shared,
}

impl Wake for Wakers {
    fn consumer(&self) {
        wake(&self.shared.backend_latch);
    }

    fn finished(&self) {
        wake(&self.shared.worker_latch);
    }

    fn panicked(&self, message: &str) {
        self.shared.fail(message);
    }
}

/// Sets a latch, if it is known.
pub(super) fn wake(latch: &AtomicPtr<pg_sys::Latch>) {
    let latch = latch.load(Ordering::Acquire);
    if !latch.is_null() {
        // SAFETY: latches lie in the main shared memory, which lasts as long as any process. SetLatch may be called
        // from any thread: it is made of atomics and `kill`.
        unsafe { pg_raw::SetLatch(latch) };
    }
}
