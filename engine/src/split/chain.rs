//! The chain of true starts: what each range's owner must know of the ranges before it, and no more.
//!
//! In a two-valued dialect a range needs one bit: whether its first byte is inside quotes. That bit is the parity of
//! all quotes before it, so each owner counts the quotes of its own range, which is much cheaper than splitting it, and
//! leaves a [`Note`]. The notes' running sum is the chain; an owner has to wait only until the ranges before its own,
//! all of which are in some thread's hands already, have been counted.
//!
//! In every other dialect the bit is not enough. The owner **guesses** that a record starts behind the range's first
//! line end, runs the structure scan from there to where the next range's first record would start, and notes both. If
//! the chain arrives with the same start the guess was right, and the next range's start is known at once. If it
//! arrives with another, nothing follows from the note; the owner, who is told its true start, runs the scan **a second
//! time** and notes what is then exact.
//!
//! Ranges are claimed in order, so every range before one that is waited for has an owner who is at work on it or has
//! noted it, and none waits for a later one: the chain cannot get stuck.

use std::collections::VecDeque;

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What is known of where a range starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Whether the first byte the owner looks at is inside quotes.
    Inside(bool),
    /// Where the first record at or behind the range's first byte starts.
    At(u64),
}

/// What an owner tells of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// Whether its quotes are odd.
    Odd(bool),
    /// If its first record starts at `start`, the next range's starts at `next`.
    Guess {
        /// The guess, if there was one.
        start: Option<u64>,
        /// What follows from it.
        next: u64,
        /// The range's end: a start at or behind it is the next range's start too.
        high: u64,
    },
    /// The next range's first record starts there.
    Exact(u64),
}

impl Note {
    /// The next range's start, given this one's, if the note tells it.
    fn next(self, start: Start) -> Option<Start> {
        match (self, start) {
            (Note::Odd(odd), Start::Inside(inside)) => Some(Start::Inside(inside ^ odd)),
            (Note::Guess { high, .. }, Start::At(at)) if at >= high => Some(start),
            (Note::Guess { start: Some(guess), next, .. }, Start::At(at)) if guess == at => Some(Start::At(next)),
            (Note::Exact(next), _) => Some(Start::At(next)),
            _ => None,
        }
    }
}

/// The chain as far as it is known.
#[derive(Debug)]
pub(crate) struct Chain {
    links: Mutex<Links>,
    advanced: Condvar,
}

#[derive(Debug)]
struct Links {
    /// The range that the first of `starts` and of `notes` is about.
    first: u64,
    /// Starts that are known, from `first` on; at least one.
    starts: VecDeque<Start>,
    /// Notes, from the range of the last known start on.
    notes: VecDeque<Option<Note>>,
    /// A range of which there may never be a note.
    broken: Option<u64>,
    is_stopped: bool,
}

impl Chain {
    /// The chain of a file whose first range starts so.
    pub(crate) fn new(start: Start) -> Chain {
        let starts = VecDeque::from([start]);
        let links = Links { first: 0, starts, notes: VecDeque::new(), broken: None, is_stopped: false };
        Chain { links: Mutex::new(links), advanced: Condvar::new() }
    }

    /// Leaves the note of a range.
    pub(crate) fn note(&self, index: u64, note: Note) {
        let mut links = self.lock();
        let links = &mut *links;
        let known = links.first + links.starts.len() as u64 - 1;
        let place = index.checked_sub(known).expect("a range is noted until its successor's start is known") as usize;
        if links.notes.len() <= place {
            links.notes.resize(place + 1, None);
        }
        links.notes[place] = Some(note);
        let before = links.starts.len();
        while let Some(Some(note)) = links.notes.front()
            && let Some(next) = note.next(*links.starts.back().expect("a start is known"))
        {
            links.notes.pop_front();
            links.starts.push_back(next);
        }
        if links.starts.len() > before {
            self.advanced.notify_all();
        }
    }

    /// A range's owner has failed, and may not have left a note. Ranges before it are not concerned.
    pub(crate) fn break_at(&self, index: u64) {
        let mut links = self.lock();
        links.broken = Some(links.broken.map_or(index, |broken| broken.min(index)));
        self.advanced.notify_all();
    }

    /// Waits until a range's start is known, and returns it; `None` if it never will be, or everybody is to stop.
    pub(crate) fn start(&self, index: u64) -> Option<Start> {
        let mut links = self.lock();
        loop {
            if links.is_stopped {
                return None;
            }
            let place = (index - links.first) as usize;
            if let Some(start) = links.starts.get(place) {
                return Some(*start);
            }
            if links.broken.is_some_and(|broken| broken < index) {
                return None;
            }
            links = self.advanced.wait(links).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Forgets the starts of ranges before `index`, which nobody will ask for any more.
    pub(crate) fn forget_before(&self, index: u64) {
        let mut links = self.lock();
        while links.first < index && links.starts.len() > 1 {
            links.starts.pop_front();
            links.first += 1;
        }
    }

    /// Tells everybody who waits to stop.
    pub(crate) fn stop(&self) {
        self.lock().is_stopped = true;
        self.advanced.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    fn guess(start: Option<u64>, next: u64, high: u64) -> Note {
        Note::Guess { start, next, high }
    }

    /// The start if it is known, without waiting for it.
    fn known(chain: &Chain, index: u64) -> Option<Start> {
        let links = chain.lock();
        links.starts.get((index - links.first) as usize).copied()
    }

    #[test]
    fn parities_add_up_in_whatever_order_they_are_noted() {
        let chain = Chain::new(Start::Inside(false));
        chain.note(2, Note::Odd(true));
        chain.note(1, Note::Odd(true));
        assert_eq!(known(&chain, 1), None);
        chain.note(0, Note::Odd(false));
        let starts = [false, false, true, false].map(Start::Inside);
        assert_eq!([0, 1, 2, 3].map(|index| chain.start(index)), starts.map(Some));
    }

    #[test]
    fn a_right_guess_tells_the_next_start() {
        let chain = Chain::new(Start::At(0));
        chain.note(0, guess(Some(0), 12, 10));
        assert_eq!(chain.start(1), Some(Start::At(12)));
    }

    #[test]
    fn nothing_follows_from_a_wrong_guess_until_the_range_is_scanned_again() {
        let chain = Chain::new(Start::At(0));
        chain.note(1, guess(Some(15), 20, 20));
        chain.note(2, guess(Some(23), 30, 30));
        chain.note(0, guess(Some(0), 12, 10));
        assert_eq!(chain.start(1), Some(Start::At(12)));
        assert_eq!(known(&chain, 2), None);
        chain.note(1, Note::Exact(23));
        assert_eq!(chain.start(2), Some(Start::At(23)));
        assert_eq!(chain.start(3), Some(Start::At(30)), "the range behind had guessed right");
    }

    #[test]
    fn a_range_without_a_guess_is_told_its_start_and_then_tells_the_next() {
        let chain = Chain::new(Start::At(3));
        chain.note(0, guess(None, 0, 10));
        assert_eq!((chain.start(0), known(&chain, 1)), (Some(Start::At(3)), None));
        chain.note(0, Note::Exact(14));
        assert_eq!(chain.start(1), Some(Start::At(14)));
    }

    #[test]
    fn a_start_behind_a_range_passes_through_it_whatever_was_guessed() {
        let chain = Chain::new(Start::At(0));
        chain.note(1, guess(None, 0, 20));
        chain.note(2, guess(Some(25), 31, 30));
        chain.note(3, guess(Some(35), 41, 40));
        chain.note(0, guess(Some(0), 35, 10));
        let passed = [1, 2, 3].map(|index| chain.start(index));
        assert_eq!(passed, [Some(Start::At(35)); 3]);
        assert_eq!(chain.start(4), Some(Start::At(41)), "and where it lands the guess was right");
    }

    #[test]
    fn a_start_at_a_ranges_end_is_the_next_ranges() {
        let chain = Chain::new(Start::At(10));
        chain.note(0, guess(Some(4), 99, 10));
        assert_eq!(chain.start(1), Some(Start::At(10)));
    }

    #[test]
    fn behind_a_broken_range_nothing_is_known_and_before_it_all_that_was() {
        let chain = Chain::new(Start::Inside(false));
        chain.note(0, Note::Odd(true));
        chain.break_at(3);
        chain.break_at(1);
        chain.break_at(2);
        assert_eq!([0, 1].map(|index| chain.start(index).is_some()), [true, true]);
        assert_eq!([2, 3, 9].map(|index| chain.start(index)), [None; 3]);
        chain.note(1, Note::Odd(false));
        assert_eq!(chain.start(2), Some(Start::Inside(true)), "the note may have been left before");
        assert_eq!(chain.start(3), None);
    }

    #[test]
    fn forgetting_keeps_the_last_known_start_and_all_notes() {
        let chain = Chain::new(Start::Inside(false));
        (0..5).for_each(|index| chain.note(index, Note::Odd(true)));
        chain.note(7, Note::Odd(false));
        chain.forget_before(3);
        assert_eq!([3, 4, 5].map(|index| chain.start(index)), [true, false, true].map(|odd| Some(Start::Inside(odd))));
        chain.forget_before(100);
        assert_eq!(chain.start(5), Some(Start::Inside(true)));
        chain.note(5, Note::Odd(true));
        chain.note(6, Note::Odd(false));
        assert_eq!(chain.start(8), Some(Start::Inside(false)));
    }

    #[test]
    fn who_waits_is_woken_by_the_note_by_the_break_and_by_the_end() {
        type Waker = fn(&Chain);
        let wakers: [(Waker, Option<Start>); 3] = [
            (|chain| chain.note(0, Note::Odd(true)), Some(Start::Inside(true))),
            (|chain| chain.break_at(0), None),
            (Chain::stop, None),
        ];
        for (wake, expected) in wakers {
            let chain = Chain::new(Start::Inside(false));
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| chain.start(1));
                std::thread::sleep(Duration::from_millis(5));
                wake(&chain);
                assert_eq!(waiting.join().expect("it waits and returns"), expected);
            });
        }
    }

    proptest! {
        /// Ranges of 10 bytes, claimed in order by several owners, each of whom guesses and keeps to the protocol.
        #[test]
        fn every_owner_is_told_its_true_start(
            gaps in prop::collection::vec(1_u64..40, 1..60),
            guesses in prop::collection::vec((prop::option::of(0_u64..10), any::<bool>(), 0_u64..50), 40),
            owners in 1_usize..5,
        ) {
            let starts: Vec<u64> = gaps.iter().scan(0, |at, gap| Some(std::mem::replace(at, *at + gap))).collect();
            let end = starts.last().expect("there is a record") + 1000;
            let true_start = |byte: u64| starts.iter().copied().find(|start| *start >= byte).unwrap_or(end);
            let chain = Chain::new(Start::At(0));
            let next = AtomicU64::new(0);
            let own = || loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some((place, is_right, wrong_next)) = guesses.get(index as usize) else { break };
                let (low, high) = (10 * index, 10 * index + 10);
                let truth = true_start(low);
                let guessed = if *is_right { Some(truth).filter(|start| *start < high) } else { place.map(|p| low + p) };
                let next = if guessed == Some(truth) { true_start(high) } else { high + wrong_next };
                chain.note(index, guess(guessed, next, high));
                assert_eq!(chain.start(index), Some(Start::At(truth)), "range {index}");
                if truth < high && guessed != Some(truth) {
                    chain.note(index, Note::Exact(true_start(high)));
                }
                // The oldest range in somebody's hands is at most so far behind.
                chain.forget_before(index.saturating_sub(owners as u64 * 40));
            };
            std::thread::scope(|scope| {
                (0..owners).for_each(|_| { scope.spawn(own); });
            });
        }
    }
}
