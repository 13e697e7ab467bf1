//! The ring under a model checker: many thousand interleavings of a few threads, each chosen by the checker, with no
//! wake-up lost, nobody stuck, each block once and in order.
//!
//!     cargo test -p fastcsv-engine --features shuttle --test ring_model
//!
//! The checker (shuttle) runs one thread at a time and switches at every atomic, lock and wait; a run in which all
//! threads wait fails. It takes all atomics to be sequentially consistent, so it proves the protocol, not its memory
//! orderings.

#[path = "common/memory.rs"]
mod memory;

use fastcsv_engine::ring::{Consumer, Geometry, Next, Producer, RESERVE, Ring, Summary};
use memory::Memory;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner, thread};

/// Interleavings of each kind that a test tries.
const ITERATIONS: usize = 1000;

/// What is being run: threads, tickets with so many blocks each, and where the consumer stops.
#[derive(Clone, Copy)]
struct Plan {
    geometry: Geometry,
    threads: usize,
    tickets: &'static [u64],
    keeps: bool,
    /// Blocks after which the consumer wants no more.
    most: u64,
}

/// The smallest ring: one block beside the reserve, one slot.
const SMALLEST: Plan = Plan {
    geometry: Geometry { tickets: 1, blocks: RESERVE + 1, kept: 0, block_size: 64 },
    threads: 2,
    tickets: &[2, 0, 3],
    keeps: false,
    most: u64::MAX,
};

/// Checks a plan under both schedulers: one that chooses at random, and one that seeks out rare orders.
fn check(plan: Plan) {
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(1_000_000);
    config.failure_persistence = FailurePersistence::Print;
    Runner::new(RandomScheduler::new(ITERATIONS), config.clone()).run(move || run(plan));
    Runner::new(PctScheduler::new(4, ITERATIONS), config).run(move || run(plan));
}

/// The backend's latch: set, it stays set until it is waited for.
struct Latch {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Latch {
    fn set(&self) {
        *self.is_set.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let mut is_set = self.is_set.lock().unwrap();
        while !*is_set {
            is_set = self.changed.wait(is_set).unwrap();
        }
        *is_set = false;
    }
}

/// What threads and consumer share.
struct Shared {
    ring: Ring,
    latch: Latch,
    next: AtomicU64,
    tickets: &'static [u64],
}

fn run(plan: Plan) {
    let mut memory = Memory::new(plan.geometry);
    let ring = memory.ring(plan.geometry);
    let latch = Latch { is_set: Mutex::new(false), changed: Condvar::new() };
    let shared = Arc::new(Shared { ring, latch, next: AtomicU64::new(0), tickets: plan.tickets });
    let threads: Vec<_> = (0..plan.threads)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.produce())
        })
        .collect();
    shared.consume(plan);
    for thread in threads {
        thread.join().unwrap();
    }
    if plan.most == u64::MAX {
        assert_eq!(ring.free_blocks(), plan.geometry.blocks);
    }
}

impl Shared {
    /// A parser thread: ticket after ticket, as the pipeline claims, fills and tells of them.
    fn produce(&self) {
        while let Some(Some(ticket)) = self.ring.wait_for(|| self.claim()) {
            let mut producer = Producer::begin(self.ring, ticket);
            for number in 0..self.tickets[ticket as usize] {
                let Some(mut block) = self.ring.wait_for(|| producer.take()) else { return };
                (block[0], block[1]) = (ticket as u8, number as u8);
                thread::yield_now();
                assert_eq!((block[0], block[1]), (ticket as u8, number as u8), "somebody else writes to the block");
                producer.publish(block, 2);
                self.tell(ticket);
            }
            producer.finish(Summary { records: ticket, ..Summary::default() });
            self.tell(ticket);
        }
    }

    fn claim(&self) -> Option<Option<u64>> {
        let ticket = self.next.load(Ordering::Relaxed);
        if ticket as usize >= self.tickets.len() {
            return Some(None);
        }
        if !self.ring.has_slot(ticket) {
            return None;
        }
        // Who has lost the race tries again.
        let won = self.next.compare_exchange(ticket, ticket + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if won { Some(Some(ticket)) } else { self.claim() }
    }

    fn tell(&self, ticket: u64) {
        if self.ring.must_wake_consumer(ticket) {
            self.latch.set();
        }
    }

    /// The backend: everything in order, then it stops everybody.
    fn consume(&self, plan: Plan) {
        let mut consumer = Consumer::new(self.ring);
        if plan.keeps {
            consumer.keep();
        }
        let (mut taken, mut number) = (0, 0);
        while (consumer.ticket() as usize) < self.tickets.len() && taken < plan.most {
            if !consumer.may_advance() {
                consumer.give_back();
            }
            let ticket = consumer.ticket();
            match self.next(&mut consumer) {
                Next::Block => {
                    assert_eq!(consumer.block(), [ticket as u8, number as u8]);
                    (taken, number) = (taken + 1, number + 1);
                }
                Next::Finished(summary) => {
                    assert_eq!((summary.records, number), (ticket, self.tickets[ticket as usize]));
                    number = 0;
                }
                Next::Nothing => unreachable!("`next` waits"),
            }
        }
        consumer.give_back();
        self.ring.stop();
        self.ring.wake_all();
    }

    /// As the backend waits on its latch.
    fn next(&self, consumer: &mut Consumer) -> Next {
        loop {
            match consumer.advance() {
                Next::Nothing => {}
                next => return next,
            }
            self.ring.consumer_sleeps(true);
            match consumer.advance() {
                Next::Nothing => {}
                next => {
                    self.ring.consumer_sleeps(false);
                    return next;
                }
            }
            self.ring.wake_sleepers(true);
            self.latch.wait();
            self.ring.consumer_sleeps(false);
        }
    }
}

#[test]
fn the_smallest_ring_comes_to_its_end() {
    check(SMALLEST);
}

#[test]
fn threads_far_ahead_leave_the_awaited_ticket_what_it_needs() {
    let geometry = Geometry { tickets: 3, blocks: RESERVE + 2, ..SMALLEST.geometry };
    check(Plan { geometry, threads: 3, tickets: &[3, 2, 2, 1], ..SMALLEST });
}

#[test]
fn a_backend_that_keeps_blocks_gets_the_next() {
    let geometry = Geometry { tickets: 2, blocks: RESERVE + 3, kept: 2, ..SMALLEST.geometry };
    check(Plan { geometry, tickets: &[2, 3, 1], keeps: true, ..SMALLEST });
}

#[test]
fn tickets_without_blocks_pass_through() {
    let geometry = Geometry { tickets: 2, ..SMALLEST.geometry };
    check(Plan { geometry, tickets: &[0, 0, 1, 0, 0], threads: 3, ..SMALLEST });
}

#[test]
fn a_backend_that_stops_anywhere_leaves_nobody_waiting() {
    for most in 0..4 {
        check(Plan { tickets: &[2, 2, 1], most, ..SMALLEST });
    }
}
