//! The pipeline: parser threads that turn a file's bytes into blocks of rows, in ticket order.
//!
//! Thread roles:
//!
//! * **parsers** (a rayon pool): each claims the next ticket, finds where its first record starts, converts its records
//!   chunk by chunk and publishes blocks. For a file that can be read anywhere a ticket is a range ([`file`]); for a stream it
//!   is a segment that the cutter hands out ([`stream`]).
//! * the **cutter** (streams only): cuts the bytes that arrive into segments of whole records.
//! * whoever made the pipeline ends it. Who gives blocks back, or feeds a stream, wakes the threads through the ring.
//!
//! A thread waits for three things only: the chain of true starts, a slot for its ticket, and a free block. Each wait
//! ends when the ring is stopped, and each thread asks once a chunk.
//!
//! A panic in a thread is caught and told to whoever made the pipeline; the others stop.

mod asked;
mod count;
mod file;
mod form;
mod output;
mod parse;
mod plan;
mod records;
mod source;
mod stream;
mod tally;
mod values;

pub use source::{Input, ReadAt, patiently};

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::dialect::DialectError;
use crate::job::Job;
use crate::ring::{Outcome, Ring};
use crate::scan::{Level, LevelError};
use crate::sync::{AtomicU32, Ordering};
use crate::tuple::OutOfMemory;
use plan::Plan;

/// How the threads reach those who wait for them.
pub trait Wake: Send + Sync {
    /// The backend waits and there is something for it.
    fn consumer(&self);
    /// The last thread has ended.
    fn finished(&self);
    /// A thread panicked with this message. Both of the above follow.
    fn panicked(&self, message: &str);
}

/// Threads at work on a job.
pub struct Pipeline {
    shared: Arc<Shared>,
    pool: Option<ThreadPool>,
    handles: Vec<JoinHandle<()>>,
}

/// What all threads share.
pub(crate) struct Shared {
    plan: Plan,
    ring: Ring,
    wake: Box<dyn Wake>,
    work: Work,
    live: AtomicU32,
}

/// Where tickets come from.
enum Work {
    File(file::Files),
    Stream(stream::Streams),
}

/// Why a thread stops before its ticket is done.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Everybody was told to.
    Told,
    /// The ticket ends here, in this way.
    Ticket(Outcome, i32),
}

impl From<OutOfMemory> for Stop {
    fn from(_: OutOfMemory) -> Stop {
        Stop::Ticket(Outcome::OutOfMemory, 0)
    }
}

/// Why a pipeline could not be started.
#[derive(Debug)]
pub enum StartError {
    /// The job's syntax is none that the scans know.
    Dialect(DialectError),
    /// The job pins an instruction set that this machine lacks.
    Level(LevelError),
    /// Not even one thread could be made.
    Threads(String),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Dialect(error) => error.fmt(f),
            StartError::Level(error) => error.fmt(f),
            StartError::Threads(error) => write!(f, "could not start a thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl Pipeline {
    /// Starts threads on a job. `spawn_thread` starts one thread that runs what it is given; where it fails, those
    /// threads that could be started do the work.
    ///
    /// # Errors
    /// A [`StartError`].
    pub fn start(
        job: Job,
        ring: Ring,
        input: Input,
        wake: Box<dyn Wake>,
        spawn_thread: &dyn Fn(Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>,
    ) -> Result<Pipeline, StartError> {
        let level = match &job.level {
            Some(name) => Level::from_name(name).map_err(StartError::Level)?,
            None => Level::detect(),
        };
        let (work, threads) = match input {
            Input::File(file) => (Work::File(file::Files::new(&job, file)), job.threads.max(1)),
            Input::Stream(stream) => (Work::Stream(stream::Streams::new(&job, stream)), job.threads.max(1) + 1),
        };
        let plan = Plan::new(job, level).map_err(StartError::Dialect)?;
        let (pool, handles, threads) = make_pool(threads, spawn_thread)?;
        let shared = Arc::new(Shared { plan, ring, wake, work, live: AtomicU32::new(threads as u32) });
        let for_threads = Arc::clone(&shared);
        pool.spawn_broadcast(move |thread| for_threads.run_thread(thread.index(), thread.num_threads()));
        Ok(Pipeline { shared, pool: Some(pool), handles })
    }

    /// Whether every thread has ended.
    pub fn is_finished(&self) -> bool {
        self.shared.live.load(Ordering::Acquire) == 0
    }

    /// How many threads were started.
    pub fn threads(&self) -> usize {
        self.handles.len()
    }

    /// The most memory the threads held at once, in bytes, the ring left out.
    pub fn peak_memory(&self) -> u64 {
        self.shared.ring.peak_memory()
    }

    /// Stops the ring and waits until every thread has ended.
    pub fn end(mut self) {
        self.stop_and_join();
    }

    fn stop_and_join(&mut self) {
        self.shared.ring.stop();
        self.shared.notify();
        drop(self.pool.take());
        for handle in self.handles.drain(..) {
            // A panic in a thread was caught inside it and told already.
            let _ = handle.join();
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.stop_and_join();
    }
}

/// A pool of as many threads as can be made, up to `wanted`.
fn make_pool(
    wanted: usize,
    spawn_thread: &dyn Fn(Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>,
) -> Result<(ThreadPool, Vec<JoinHandle<()>>, usize), StartError> {
    let mut threads = wanted;
    loop {
        let mut handles = Vec::with_capacity(threads);
        let built = ThreadPoolBuilder::new()
            .num_threads(threads)
            .spawn_handler(|thread| {
                handles.push(spawn_thread(Box::new(move || thread.run()))?);
                Ok(())
            })
            .build();
        match built {
            Ok(pool) => return Ok((pool, handles, threads)),
            Err(error) => {
                // Those that were started end by themselves, since their pool is gone.
                let started = handles.len();
                for handle in handles {
                    let _ = handle.join();
                }
                if started == 0 {
                    return Err(StartError::Threads(error.to_string()));
                }
                threads = started;
            }
        }
    }
}

impl Shared {
    /// What the thread with that number, of so many, does from its beginning to its end.
    fn run_thread(&self, index: usize, threads: usize) {
        let result = catch_unwind(AssertUnwindSafe(|| match &self.work {
            Work::File(files) => files.run(self),
            Work::Stream(streams) => streams.run(self, index, threads),
        }));
        if let Err(panic) = result {
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
            self.wake.panicked(message.unwrap_or("unknown panic"));
            self.ring.stop();
            self.notify();
            self.wake.consumer();
        }
        if self.live.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.wake.finished();
        }
    }

    /// Wakes every thread that waits for anything.
    fn notify(&self) {
        self.ring.wake_all();
        if self.ring.is_stopped() {
            match &self.work {
                Work::File(files) => files.stop(),
                // Its threads wait behind the ring, or for the cutter, which does.
                Work::Stream(_) => {}
            }
        }
    }

    /// Waits until `attempt` yields something.
    ///
    /// # Errors
    /// [`Stop::Told`].
    fn wait_for<T>(&self, attempt: impl FnMut() -> Option<T>) -> Result<T, Stop> {
        self.ring.wait_for(attempt).ok_or(Stop::Told)
    }

    /// Has what the threads have looked at so far been what the input holds? To be asked before anybody else sees what
    /// they made of it.
    ///
    /// # Errors
    /// The ticket's end.
    fn check_input(&self) -> Result<(), Stop> {
        let failure = match &self.work {
            Work::File(files) => files.failure(),
            Work::Stream(_) => None,
        };
        failure.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Wakes the backend if it waits for this ticket.
    fn tell_consumer(&self, ticket: u64) {
        if self.ring.must_wake_consumer(ticket) {
            self.wake.consumer();
        }
    }

    /// Counts memory that a thread holds more (or less) than before.
    fn account(&self, before: usize, now: usize) {
        self.ring.account(before, now);
    }
}
