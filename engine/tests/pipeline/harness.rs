//! A pipeline over bytes in memory, and a consumer that takes what comes of it, as the backend does.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use fastcsv_engine::entry::{self, EntryKind, Mark};
use fastcsv_engine::job::Job;
use fastcsv_engine::pipeline::{Input, Pipeline, ReadAt, StartError, Wake};
use fastcsv_engine::ring::{Consumer, Geometry, Next, Outcome, Ring, Summary};

use crate::memory::Memory;

/// Longer than any wait may be: who waits so long was forgotten.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a consumer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Takes everything at once.
    Prompt,
    /// Lets the threads wait for blocks, and gives them back only when it has nothing to do.
    Slow,
    /// Keeps blocks as long as it may.
    Keeping,
    /// Stops everybody after so many entries.
    StopsAfter(usize),
}

/// What came for one ticket.
#[derive(Debug, Default)]
pub struct Ticket {
    pub entries: Vec<Entry>,
    pub summary: Summary,
}

/// One entry, its parts joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: EntryKind,
    pub mark: Option<Mark>,
    pub payload: Vec<u8>,
}

/// What came of a job.
#[derive(Debug, Default)]
pub struct Delivered {
    /// Finished tickets in order, up to the last or the first that failed.
    pub tickets: Vec<Ticket>,
    /// The message of a thread's panic.
    pub panic: Option<String>,
}

/// What wakes the consumer: a latch, once set it stays set until it is waited for.
#[derive(Default)]
pub struct Latch {
    state: Mutex<LatchState>,
    changed: Condvar,
}

#[derive(Default)]
struct LatchState {
    is_set: bool,
    panic: Option<String>,
    finished: u32,
}

impl Latch {
    fn wait(&self) {
        let state = self.state.lock().unwrap();
        let (mut state, wait) = self.changed.wait_timeout_while(state, PATIENCE, |state| !state.is_set).unwrap();
        assert!(!wait.timed_out(), "nobody has woken the consumer");
        state.is_set = false;
    }

    fn set(&self, change: impl FnOnce(&mut LatchState)) {
        let mut state = self.state.lock().unwrap();
        change(&mut state);
        state.is_set = true;
        self.changed.notify_all();
    }
}

struct Waker(Arc<Latch>);

impl Wake for Waker {
    fn consumer(&self) {
        self.0.set(|_| ());
    }

    fn finished(&self) {
        self.0.set(|state| state.finished += 1);
    }

    fn panicked(&self, message: &str) {
        self.0.set(|state| state.panic = Some(message.to_owned()));
    }
}

/// A thread of the test's own.
pub fn spawn_thread(body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().spawn(body)
}

/// Runs a job to its end, or as far as the consumer goes.
pub fn run(job: Job, source: Box<dyn ReadAt>, geometry: Geometry, pace: Pace) -> Delivered {
    run_with(job, source, geometry, pace, &spawn_thread).expect("the job can be started")
}

/// The same with threads that are started in another way.
pub fn run_with(
    job: Job,
    source: Box<dyn ReadAt>,
    geometry: Geometry,
    pace: Pace,
    spawn: &dyn Fn(Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>,
) -> Result<Delivered, StartError> {
    let mut memory = Memory::new(geometry);
    let ring = memory.ring(geometry);
    let latch = Arc::new(Latch::default());
    let waker = Box::new(Waker(Arc::clone(&latch)));
    let pipeline = Pipeline::start(job, ring, Input::File(source), waker, spawn)?;
    let mut reader = Reader { consumer: Consumer::new(ring), latch: &latch, pace, entries: 0 };
    if pace == Pace::Keeping {
        reader.consumer.keep();
    }
    let tickets = reader.read();
    let is_whole = tickets.last().is_some_and(|ticket| ticket.summary.is_last);
    pipeline.end();
    let state = latch.state.lock().unwrap();
    assert_eq!(state.finished, 1, "the last thread says so, once");
    if is_whole && pace != Pace::Keeping {
        assert_eq!(ring.free_blocks(), geometry.blocks, "every block was given back");
    }
    Ok(Delivered { tickets, panic: state.panic.clone() })
}

struct Reader<'p> {
    consumer: Consumer,
    latch: &'p Latch,
    pace: Pace,
    entries: usize,
}

impl Reader<'_> {
    fn read(&mut self) -> Vec<Ticket> {
        let mut tickets = Vec::new();
        let mut ticket = Ticket::default();
        let mut is_open = false;
        while let Some(next) = self.next() {
            let Next::Finished(summary) = next else {
                is_open = take_entries(self.consumer.block(), is_open, &mut ticket.entries, &mut self.entries);
                if self.pace == Pace::Slow && self.entries.is_multiple_of(8) {
                    std::thread::sleep(Duration::from_micros(50));
                }
                continue;
            };
            assert!(!is_open, "an entry's last part comes with its ticket");
            let is_end = summary.is_last || !matches!(summary.outcome, Outcome::Plain | Outcome::Anomaly);
            tickets.push(Ticket { summary, ..std::mem::take(&mut ticket) });
            if is_end {
                break;
            }
        }
        tickets
    }

    /// What is next, waited for; `None` if there is nothing more to come.
    fn next(&mut self) -> Option<Next> {
        let ring = self.consumer.ring();
        loop {
            if matches!(self.pace, Pace::StopsAfter(entries) if self.entries >= entries) {
                return None;
            }
            if !self.consumer.may_advance() {
                self.consumer.give_back();
            }
            match self.consumer.advance() {
                Next::Nothing => {}
                next => {
                    if self.pace != Pace::Slow {
                        ring.wake_sleepers(false);
                    }
                    return Some(next);
                }
            }
            ring.consumer_sleeps(true);
            match self.consumer.advance() {
                Next::Nothing if ring.is_stopped() => return None,
                Next::Nothing => self.sleep(ring),
                next => {
                    ring.consumer_sleeps(false);
                    return Some(next);
                }
            }
        }
    }

    fn sleep(&mut self, ring: Ring) {
        ring.wake_sleepers(true);
        self.latch.wait();
        ring.consumer_sleeps(false);
    }
}

/// Adds the entries of a block; `is_open` says whether its first goes on with the last one, and what is returned
/// whether the next block's does.
fn take_entries(block: &[u8], mut is_open: bool, entries: &mut Vec<Entry>, count: &mut usize) -> bool {
    let mut offset = 0;
    while let Some((part, next)) = entry::read(block, offset) {
        offset = next;
        if is_open {
            let last = entries.last_mut().expect("an entry is open");
            assert_eq!((part.kind, part.mark), (last.kind, None), "a part is like the entry's first, without the mark");
            last.payload.extend_from_slice(part.payload);
        } else {
            entries.push(Entry { kind: part.kind, mark: part.mark, payload: part.payload.to_vec() });
        }
        assert_eq!(part.payload.as_ptr().align_offset(8), 0, "payloads are aligned");
        is_open = part.more;
        *count += usize::from(!is_open);
    }
    assert!(offset >= block.len(), "entries fill the used part of a block");
    is_open
}
