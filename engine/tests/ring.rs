//! The ring: every block goes to one owner at a time, tickets and their blocks arrive in order, and nobody waits in
//! vain, however small the pool is. (Every order of events is tried, of a small ring, in `ring_model`.)

#[path = "common/memory.rs"]
mod memory;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use fastcsv_engine::ring::{BlockMut, Consumer, Geometry, Next, Outcome, Producer, RESERVE, Ring, Summary};
use memory::Memory;
use proptest::prelude::*;

const SMALL: Geometry = Geometry { tickets: 2, blocks: RESERVE + 2, kept: 0, block_size: 64 };

/// A wait that takes so long is one in vain.
const PATIENCE: Duration = Duration::from_secs(30);

fn with_ring(geometry: Geometry, test: impl FnOnce(Ring)) {
    let mut memory = Memory::new(geometry);
    test(memory.ring(geometry));
}

/// Takes a block, writes one byte and publishes it.
fn publish(producer: &mut Producer, byte: u8) {
    let mut block = producer.take().expect("a block is free");
    block[0] = byte;
    producer.publish(block, 1);
}

fn summary(records: u64) -> Summary {
    Summary { records, ..Summary::default() }
}

#[test]
fn blocks_arrive_in_the_order_of_their_tickets_whoever_was_first() {
    with_ring(Geometry { blocks: 16, tickets: 3, ..SMALL }, |ring| {
        let mut consumer = Consumer::new(ring);
        let (mut first, mut second) = (Producer::begin(ring, 0), Producer::begin(ring, 1));
        publish(&mut second, 20);
        publish(&mut second, 21);
        second.finish(summary(2));
        assert!(!consumer.has_next());
        assert_eq!(consumer.advance(), Next::Nothing);
        publish(&mut first, 10);
        assert_eq!((consumer.advance(), consumer.block()), (Next::Block, &[10][..]));
        assert_eq!(consumer.advance(), Next::Nothing);
        publish(&mut first, 11);
        assert_eq!((consumer.advance(), consumer.block()), (Next::Block, &[11][..]));
        first.finish(summary(1));
        assert!(consumer.has_next());
        assert_eq!(consumer.advance(), Next::Finished(summary(1)));
        assert_eq!((consumer.advance(), consumer.block()), (Next::Block, &[20][..]));
        assert_eq!((consumer.advance(), consumer.block()), (Next::Block, &[21][..]));
        assert_eq!(consumer.advance(), Next::Finished(summary(2)));
        assert_eq!((consumer.advance(), consumer.ticket()), (Next::Nothing, 2));
        assert_eq!(ring.free_blocks(), 16);
    });
}

#[test]
fn a_ticket_without_blocks_is_finished_by_its_summary_which_comes_through_whole() {
    with_ring(SMALL, |ring| {
        let summary = Summary {
            outcome: Outcome::ReadError,
            errno: 5,
            start: 1 << 40,
            end: u64::MAX,
            has_records: true,
            wrong_guess: true,
            is_last: true,
            records: 2,
            lines: 3,
            inner: 4,
            filtered: 5,
            declined: 6,
        };
        Producer::begin(ring, 0).finish(summary);
        assert_eq!(Consumer::new(ring).advance(), Next::Finished(summary));
    });
}

#[test]
fn the_last_blocks_are_for_the_awaited_ticket() {
    with_ring(Geometry { blocks: RESERVE + 3, kept: 1, ..SMALL }, |ring| {
        let (awaited, other) = (Producer::begin(ring, 0), Producer::begin(ring, 1));
        let taken: Vec<BlockMut> = std::iter::from_fn(|| other.take()).collect();
        assert_eq!(taken.len(), 2, "all but the reserve and what the backend may keep");
        let rest: Vec<BlockMut> = std::iter::from_fn(|| awaited.take()).collect();
        assert_eq!((rest.len() as u32, ring.free_blocks()), (RESERVE + 1, 0));
        drop(taken);
        assert_eq!((ring.free_blocks(), ring.peak_blocks()), (2, RESERVE + 3));
        assert!(other.take().is_none() && awaited.take().is_some(), "a block that nobody published is free again");
    });
}

#[test]
fn a_slot_is_free_when_the_backend_is_near_enough() {
    with_ring(SMALL, |ring| {
        let mut consumer = Consumer::new(ring);
        assert_eq!([0, 1, 2].map(|ticket| ring.has_slot(ticket)), [true, true, false]);
        Producer::begin(ring, 0).finish(summary(0));
        assert!(!ring.has_slot(2));
        assert!(matches!(consumer.advance(), Next::Finished(_)));
        assert_eq!([2, 3].map(|ticket| ring.has_slot(ticket)), [true, false]);
        assert!(std::panic::catch_unwind(|| Producer::begin(ring, 3)).is_err());
    });
}

#[test]
fn kept_blocks_stay_as_they_are_until_they_are_given_back() {
    with_ring(Geometry { blocks: 8, kept: 2, ..SMALL }, |ring| {
        let mut consumer = Consumer::new(ring);
        consumer.keep();
        let mut producer = Producer::begin(ring, 0);
        (1..=4).for_each(|byte| publish(&mut producer, byte));
        assert_eq!(consumer.advance(), Next::Block);
        let kept = consumer.block().as_ptr();
        assert_eq!((consumer.advance(), consumer.may_advance()), (Next::Block, true));
        assert_eq!((consumer.advance(), consumer.may_advance()), (Next::Block, false));
        assert_eq!((ring.free_blocks(), consumer.block()), (4, &[3][..]));
        let free: Vec<BlockMut> = std::iter::from_fn(|| producer.take()).collect();
        assert!(free.iter().all(|block| block.as_ptr() != kept));
        drop(free);
        consumer.give_back();
        assert_eq!((ring.free_blocks(), consumer.block()), (6, &[3][..]));
        assert!(consumer.may_advance());
    });
}

#[test]
fn each_side_is_to_be_woken_once_and_only_if_it_sleeps() {
    with_ring(SMALL, |ring| {
        assert!(!ring.must_wake_consumer(0) && !ring.wake_sleepers(true));
        ring.consumer_sleeps(true);
        assert_eq!([1, 0, 0].map(|ticket| ring.must_wake_consumer(ticket)), [false, true, false]);
        ring.consumer_sleeps(true);
        ring.consumer_sleeps(false);
        assert!(!ring.must_wake_consumer(0));
        let is_ready = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| ring.wait_for(|| is_ready.load(Ordering::SeqCst).then_some(7)));
            while !ring.wake_sleepers(true) {
                std::thread::yield_now(); // it has not gone to sleep yet
            }
            is_ready.store(true, Ordering::SeqCst);
            while !waiting.is_finished() {
                ring.wake_sleepers(true);
            }
            assert_eq!(waiting.join().unwrap(), Some(7));
        });
        assert!(!ring.wake_sleepers(true));
    });
}

#[test]
#[expect(unsafe_code, reason = "attaches a ring as another process would")]
fn who_attaches_sees_the_same_ring() {
    with_ring(SMALL, |ring| {
        // SAFETY: a ring was made there, and its memory outlives this.
        let other = unsafe { Ring::attach(ring.base()) };
        assert_eq!(other.geometry(), SMALL);
        publish(&mut Producer::begin(other, 0), 9);
        let mut consumer = Consumer::new(ring);
        assert_eq!((consumer.advance(), consumer.block()), (Next::Block, &[9][..]));
        ring.stop();
        assert!(other.is_stopped());
    });
}

/// A wake-up call for the consumer that is not lost if it comes before the sleep.
#[derive(Default)]
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
        let is_set = self.is_set.lock().unwrap();
        let (mut is_set, wait) = self.changed.wait_timeout_while(is_set, PATIENCE, |is_set| !*is_set).unwrap();
        assert!(!wait.timed_out(), "nobody has woken the consumer");
        *is_set = false;
    }
}

/// What threads and consumer of one run share.
struct Run {
    ring: Ring,
    latch: Latch,
    next: AtomicU64,
    tickets: u64,
    /// Whether the block with this stamp has arrived.
    arrived: Vec<AtomicBool>,
}

impl Run {
    fn new(ring: Ring, tickets: u64) -> Run {
        let arrived = (0..tickets * 8).map(|_| AtomicBool::new(false)).collect();
        Run { ring, latch: Latch::default(), next: AtomicU64::new(0), tickets, arrived }
    }

    /// How many blocks a ticket has.
    fn blocks(ticket: u64) -> u64 {
        ticket * 7 % 5
    }

    /// A thread: ticket after ticket, each with its blocks.
    fn produce(&self) {
        while let Some(Some(ticket)) = self.ring.wait_for(|| self.claim()) {
            let mut producer = Producer::begin(self.ring, ticket);
            for number in 0..Run::blocks(ticket) {
                let Some(mut block) = self.ring.wait_for(|| producer.take()) else { return };
                let stamp = (ticket * 8 + number).to_le_bytes();
                block.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&stamp));
                std::thread::yield_now();
                assert!(block.chunks_exact(8).all(|part| part == stamp), "somebody else writes to the block");
                producer.publish(block, 64);
                self.tell(ticket);
            }
            producer.finish(summary(ticket));
            self.tell(ticket);
        }
    }

    fn claim(&self) -> Option<Option<u64>> {
        let ticket = self.next.load(Ordering::Relaxed);
        if ticket >= self.tickets {
            return Some(None);
        }
        if !self.ring.has_slot(ticket) {
            return None;
        }
        let won = self.next.compare_exchange(ticket, ticket + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if won { Some(Some(ticket)) } else { self.claim() }
    }

    fn tell(&self, ticket: u64) {
        if self.ring.must_wake_consumer(ticket) {
            self.latch.set();
        }
    }

    /// The consumer: everything in order, until `most` blocks were taken.
    fn consume(&self, keeps: bool, most: u64) {
        let mut consumer = Consumer::new(self.ring);
        if keeps {
            consumer.keep();
        }
        let (mut taken, mut expected) = (0, 0);
        while consumer.ticket() < self.tickets && taken < most {
            if !consumer.may_advance() {
                consumer.give_back();
            }
            let ticket = consumer.ticket();
            match self.next(&mut consumer) {
                Next::Block => {
                    let stamp = (ticket * 8 + expected).to_le_bytes();
                    assert!(consumer.block().chunks_exact(8).all(|part| part == stamp), "ticket {ticket}");
                    let first_time = !self.arrived[(ticket * 8 + expected) as usize].swap(true, Ordering::Relaxed);
                    assert!(first_time);
                    (taken, expected) = (taken + 1, expected + 1);
                }
                Next::Finished(found) => {
                    assert_eq!((found, expected), (summary(ticket), Run::blocks(ticket)));
                    expected = 0;
                }
                Next::Nothing => unreachable!("`next` waits"),
            }
        }
        consumer.give_back();
        self.ring.stop();
        self.ring.wake_all();
    }

    fn next(&self, consumer: &mut Consumer) -> Next {
        loop {
            for is_asleep in [false, true] {
                self.ring.consumer_sleeps(is_asleep);
                match consumer.advance() {
                    Next::Nothing => {}
                    next => {
                        self.ring.consumer_sleeps(false);
                        return next;
                    }
                }
            }
            self.ring.wake_sleepers(true);
            self.latch.wait();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn threads_and_consumer_come_to_the_end_with_pools_of_any_size(
        threads in 1_usize..5,
        tickets in 1_u32..6,
        more_blocks in 1_u32..6,
        kept in 0_u32..3,
        most in prop_oneof![2 => Just(u64::MAX), 1 => 0_u64..100],
    ) {
        let geometry = Geometry { tickets, blocks: RESERVE + kept + more_blocks, kept, block_size: 64 };
        with_ring(geometry, |ring| {
            let run = Run::new(ring, 100);
            std::thread::scope(|scope| {
                (0..threads).for_each(|_| { scope.spawn(|| run.produce()); });
                run.consume(kept > 0, most);
            });
        });
    }
}
