//! The backend's hold on its worker.

#![expect(unsafe_code, reason = "makes shared memory and registers a background worker")]

use std::ffi::c_char;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use fastcsv_engine::byte_ring::ByteRing;
use fastcsv_engine::job::Job;
use fastcsv_engine::ring::{Consumer, Geometry, Next, Ring};
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::inflow::{Inflow, Wait};
use super::shared::{JOB_FACTOR, Refusal, Shared, Verdict};
use crate::fault::Fault;
use crate::options::{raise, report};
use crate::pg_raw;
use crate::referee::shim;
use crate::settings;
use crate::stream::{self, Stream, wait_for};

/// How long the backend sleeps at most before it looks whether its worker is alive, in milliseconds. It is woken when
/// there is anything to do; this is for what nobody is left to tell.
const LONGEST_SLEEP: i64 = 1000;

/// What a worker reads.
pub(crate) enum Input {
    /// The file behind a descriptor, which the worker opens and reads itself.
    File(RawFd),
    /// A stream, of which so many bytes are on their way at once.
    Stream(*mut Stream, usize),
}

/// Why nothing comes from a worker.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It could not begin; somebody else must do all of its work.
    Refused(Refusal),
    /// Its input could not be read.
    Read(io::Error),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Trouble {
        Trouble::Refused(refusal)
    }
}

/// A worker that has been asked for, and the backend's side of the ring. Dropped, it stops the worker and lets go of
/// the memory.
pub(crate) struct Worker {
    /// What it reads, if that must be read for it.
    inflow: Option<Inflow>,
    segment: *mut pg_sys::dsm_segment,
    handle: *mut pg_sys::BackgroundWorkerHandle,
    shared: NonNull<Shared>,
    pub(crate) consumer: Consumer,
}

impl Worker {
    /// Starts a worker on a job over the input. Must be called in a memory context that lives as long as the worker.
    ///
    /// # Errors
    /// A [`Refusal`] where a worker cannot be had; the caller goes on without.
    ///
    /// # Safety
    /// The input's descriptor must stay open, or its stream live, as long as the worker.
    pub(crate) unsafe fn launch(job: &Job, input: Input, geometry: Geometry, fault: Fault) -> Result<Worker, Refusal> {
        let job = Written::of(job).ok_or(Refusal::NoMemory)?;
        if (JOB_FACTOR * job.len()) as u64 > settings::memory() {
            return Err(Refusal::NoMemory);
        }
        let stream_offset = Shared::stream_offset(job.len(), geometry);
        let (descriptor, bytes) = match input {
            Input::File(descriptor) => (descriptor, 0),
            Input::Stream(_, capacity) => (-1, ByteRing::bytes(capacity)),
        };
        let segment = create_segment(stream_offset + bytes).ok_or(Refusal::NoSharedMemory)?;
        // SAFETY: the segment is mapped, aligned to pages, large enough, and nobody else knows it yet.
        let (base, shared, ring) = unsafe {
            let base = NonNull::new(pg_sys::dsm_segment_address(segment).cast::<u8>()).expect("it is mapped");
            let shared = base.cast::<Shared>();
            let stat = stat(descriptor);
            shared.write(Shared::new(job.len(), geometry, pg_sys::MyProcPid, descriptor, &stat, fault));
            shared.as_ref().backend_latch.store(pg_sys::MyLatch, Ordering::Relaxed);
            base.add(size_of::<Shared>()).copy_from_nonoverlapping(NonNull::from(&job[..]).cast(), job.len());
            (base, shared, Ring::create(base.add(Shared::ring_offset(job.len())), geometry))
        };
        // From here on the memory is let go of when this is dropped.
        let consumer = Consumer::new(ring);
        let mut worker = Worker { inflow: None, segment, handle: std::ptr::null_mut(), shared, consumer };
        let inflow = match input {
            Input::File(_) => None,
            Input::Stream(stream, capacity) => {
                // SAFETY: as above.
                Some((stream, unsafe { ByteRing::create(base.add(stream_offset), capacity) }))
            }
        };
        if !worker.register() {
            return Err(Refusal::NoSlot);
        }
        // Only now, because from here on the bytes are the worker's.
        if let Some((stream, ring)) = inflow {
            // SAFETY: the caller's promise.
            let inflow = unsafe { Inflow::new(stream, ring) };
            worker.inflow = Some(inflow.map_err(|_| Refusal::NoMemory)?);
        }
        Ok(worker)
    }

    fn register(&mut self) -> bool {
        // SAFETY: a BackgroundWorker may be all zero; the handle is allocated in the current memory context.
        unsafe {
            let mut worker: pg_sys::BackgroundWorker = std::mem::zeroed();
            let backend = pg_sys::MyProcPid;
            copy_name(&mut worker.bgw_name, &format!("fastcsv worker for PID {backend}"));
            copy_name(&mut worker.bgw_type, "fastcsv worker");
            copy_name(&mut worker.bgw_library_name, "fastcsv");
            copy_name(&mut worker.bgw_function_name, "fastcsv_worker_main");
            worker.bgw_flags = pg_sys::BGWORKER_SHMEM_ACCESS.cast_signed();
            worker.bgw_start_time = pg_sys::BgWorkerStartTime::BgWorkerStart_ConsistentState;
            worker.bgw_restart_time = pg_sys::BGW_NEVER_RESTART;
            worker.bgw_main_arg = pg_sys::Datum::from(pg_sys::dsm_segment_handle(self.segment));
            worker.bgw_notify_pid = pg_sys::MyProcPid;
            pg_sys::RegisterDynamicBackgroundWorker(&mut worker, &mut self.handle)
        }
    }

    /// The next thing the worker has for us. Waits for it, and can be cancelled meanwhile.
    ///
    /// # Errors
    /// [`Trouble`]. Raises an ERROR if the worker has failed or died.
    pub(crate) fn next(&mut self) -> Result<Next, Trouble> {
        loop {
            self.pump()?;
            match self.consumer.advance() {
                Next::Nothing => {}
                next => return Ok(next),
            }
            let ring = self.consumer.ring();
            ring.consumer_sleeps(true);
            match self.consumer.advance() {
                Next::Nothing => self.sleep(ring)?,
                next => {
                    ring.consumer_sleeps(false);
                    return Ok(next);
                }
            }
        }
    }

    /// Blocks were given back: wakes the worker's threads if they wait for that, and there is so much for them to do
    /// that it is worth it.
    pub(crate) fn gave_back(&self) {
        self.wake_waiting(false);
    }

    fn wake_waiting(&self, urgent: bool) {
        if self.consumer.ring().wake_sleepers(urgent) {
            self.fail_if_told();
        }
    }

    /// Wakes the worker's main thread if that is where a fault is to happen.
    fn fail_if_told(&self) {
        if self.shared().fault.needs_main_thread() {
            self.wake_main_thread();
        }
    }

    /// Hands on what has come of a stream.
    ///
    /// # Errors
    /// Those of reading it.
    fn pump(&mut self) -> Result<(), Trouble> {
        if let Some(inflow) = &mut self.inflow
            && inflow.pump().map_err(Trouble::Read)?
        {
            self.consumer.ring().wake_all();
            self.fail_if_told();
        }
        Ok(())
    }

    /// Gives the stream back to COPY's parser: the bytes in `before` first, then those that the worker has not read. It
    /// must not read any more; `is_begun` tells whether it has read at all.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(crate) fn give_stream_back(&mut self, before: &[u8], is_begun: bool) -> io::Result<()> {
        match self.inflow.take() {
            Some(mut inflow) => inflow.give_back(before, is_begun),
            None => Ok(()),
        }
    }

    #[cold]
    fn sleep(&mut self, ring: Ring) -> Result<(), Trouble> {
        self.wake_waiting(true);
        self.check()?;
        let inflow = self.inflow.as_ref();
        let event = stream::wait_event(inflow.is_some_and(Inflow::waits_for_client));
        match inflow.map_or(Wait::Worker, Inflow::wait) {
            Wait::Not => {}
            Wait::Worker => wait_for(None, LONGEST_SLEEP, event),
            Wait::Readable(descriptor) => wait_for(Some(descriptor), LONGEST_SLEEP, event),
        }
        ring.consumer_sleeps(false);
        pgrx::check_for_interrupts!();
        Ok(())
    }

    /// Looks whether anything will ever come.
    ///
    /// # Errors
    /// If the worker could not begin.
    fn check(&self) -> Result<(), Refusal> {
        let mut pid = 0;
        // First whether it is gone: what it said and did before that is seen below.
        // SAFETY: the handle lives as long as this.
        let status = unsafe { pg_sys::GetBackgroundWorkerPid(self.handle, &mut pid) };
        let shared = self.shared();
        match shared.verdict() {
            Verdict::Refused(refusal) => return Err(refusal),
            Verdict::Failed => {
                let message = shared.message();
                raise(report(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "a fastcsv worker failed").set_detail(message));
            }
            Verdict::Working | Verdict::Finished => {}
        }
        if status == pg_sys::BgwHandleStatus::BGWH_STOPPED && !self.consumer.has_next() {
            let error =
                report(PgSqlErrorCode::ERRCODE_ADMIN_SHUTDOWN, "a fastcsv worker ended before its work was done");
            raise(error.set_hint("It was terminated, or could not start; the server's log may tell more."));
        }
        Ok(())
    }

    /// What is wrong with a compressed file, once a ticket has ended with that; in PostgreSQL's memory.
    pub(crate) fn damage(&self) -> *const c_char {
        shim::palloced(&self.shared().damage())
    }

    /// Threads that were started, and the most memory they held, in bytes, the ring included.
    pub(crate) fn usage(&self) -> (u32, u64) {
        let shared = self.shared();
        let ring = self.consumer.ring();
        let blocks = u64::from(ring.peak_blocks()) * u64::from(ring.geometry().block_size);
        (shared.threads.load(Ordering::Relaxed), ring.peak_memory() + blocks)
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the memory is mapped until this is dropped.
        unsafe { self.shared.as_ref() }
    }

    /// Tells everybody to stop: nothing more is wanted.
    pub(crate) fn stop(&self) {
        self.consumer.ring().stop();
        self.consumer.ring().wake_all();
        self.wake_main_thread();
    }

    fn wake_main_thread(&self) {
        let latch = self.shared().worker_latch.load(Ordering::Acquire);
        if !latch.is_null() {
            // SAFETY: the latch lies in the main shared memory. If the worker has ended, another process may own it by
            // now, and is woken for nothing.
            unsafe { pg_raw::SetLatch(latch) };
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
        // SAFETY: the segment was pinned, so it is ours to detach; nothing of it is used after this.
        unsafe { pg_sys::dsm_detach(self.segment) };
    }
}

/// A segment that lives until it is detached, or `None` where there is no room for one.
fn create_segment(size: usize) -> Option<*mut pg_sys::dsm_segment> {
    // SAFETY: on an error the segment's entry is released with a resource owner of its own, so that nothing is left
    // behind in the transaction; on success it is pinned and the owner has nothing to release.
    unsafe {
        let outer = pg_sys::CurrentResourceOwner;
        let owner = pg_sys::ResourceOwnerCreate(outer, c"fastcsv shared memory".as_ptr());
        pg_sys::CurrentResourceOwner = owner;
        let created = PgTryBuilder::new(|| {
            let segment = pg_sys::dsm_create(size, pg_sys::DSM_CREATE_NULL_IF_MAXSEGMENTS.cast_signed());
            if !segment.is_null() {
                pg_sys::dsm_pin_mapping(segment);
            }
            (!segment.is_null()).then_some(segment)
        })
        .catch_when(PgSqlErrorCode::ERRCODE_DISK_FULL, |_| None)
        .catch_when(PgSqlErrorCode::ERRCODE_INSUFFICIENT_RESOURCES, |_| None)
        .catch_when(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, |_| None)
        .execute();
        pg_sys::CurrentResourceOwner = outer;
        for phase in [
            pg_sys::ResourceReleasePhase::RESOURCE_RELEASE_BEFORE_LOCKS,
            pg_sys::ResourceReleasePhase::RESOURCE_RELEASE_LOCKS,
            pg_sys::ResourceReleasePhase::RESOURCE_RELEASE_AFTER_LOCKS,
        ] {
            pg_sys::ResourceOwnerRelease(owner, phase, false, false);
        }
        pg_sys::ResourceOwnerDelete(owner);
        created
    }
}

/// A job as it travels.
#[derive(Default)]
struct Written(Vec<u8>);

impl Written {
    /// `None` if there is no memory for it.
    fn of(job: &Job) -> Option<Vec<u8>> {
        let mut written = Written::default();
        serde_json::to_writer(&mut written, job).ok()?;
        Some(written.0)
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is known of an open file.
fn stat(descriptor: RawFd) -> libc::stat {
    let mut found = MaybeUninit::zeroed();
    // SAFETY: the descriptor is open; the struct may be all zero, which is what it stays if the call fails.
    unsafe {
        libc::fstat(descriptor, found.as_mut_ptr());
        found.assume_init()
    }
}

/// Copies a name into a fixed array that is zero before.
fn copy_name(place: &mut [c_char], name: &str) {
    let room = place.len() - 1;
    for (to, from) in place[..room].iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
}
