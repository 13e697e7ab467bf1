//! The chain of true starts: what each range's owner must know of the ranges before it, and no more.
//!
//! In a two-valued dialect a range needs one bit: whether its first byte is inside quotes. That bit is the parity of all
//! quotes before it, so each owner counts the quotes of its own range, which is much cheaper than splitting it, and leaves
//! a [`Note`]. The notes' running sum is the chain; an owner has to wait only until the ranges before its own, all of which
//! are in some thread's hands already, have been counted.
//!
//! In every other dialect the bit is not enough. The owner **guesses** that a record starts behind the range's first line
//! end, runs the structure scan from there to where the next range's first record would start, and notes both. If the chain
//! arrives with the same start the guess was right, and the next range's start is known at once. If it arrives with
//! another, nothing follows from the note; the owner, who is told its true start, runs the scan **a second time**
//! and notes what is then exact.
//!
//! Ranges are claimed in order, so every range before one that is waited for has an owner who is at work on it or has noted
//! it, and none waits for a later one: the chain cannot get stuck.

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
