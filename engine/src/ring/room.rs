//! Where threads wait for slots and blocks.
//!
//! They sleep on a word in the shared memory, so that the backend wakes them itself: were another thread of theirs to
//! do it, that one would have to be woken first, and would be in the way on a machine with few cores. The word counts
//! wake-ups; who goes to sleep has read it before it looked for the last time, so none is missed.

use super::{Head, Ring};
use crate::sync::{Ordering, fence, sleep_on, wake};

impl Ring {
    /// Waits until `attempt` yields something; `None` once the ring is stopped.
    pub fn wait_for<T>(&self, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
        let Head { wakes, producers_sleep, .. } = self.head();
        loop {
            if self.is_stopped() {
                return None;
            }
            if let Some(got) = attempt() {
                return Some(got);
            }
            let seen = wakes.load(Ordering::SeqCst);
            producers_sleep.store(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            if let Some(got) = attempt() {
                return Some(got);
            }
            if !self.is_stopped() {
                sleep_on(wakes, seen);
            }
        }
    }

    /// Wakes the threads if they sleep: for the backend, that has just given something back. Unless that is `urgent`,
    /// only when so many blocks are free that they have work for a while. Returns whether they were woken.
    pub fn wake_sleepers(&self, urgent: bool) -> bool {
        fence(Ordering::SeqCst);
        let flag = &self.head().producers_sleep;
        let is_enough = urgent || 2 * self.free_blocks() >= self.geometry.blocks;
        let woken = is_enough && flag.load(Ordering::Relaxed) != 0 && flag.swap(0, Ordering::SeqCst) != 0;
        if woken {
            self.wake_all();
        }
        woken
    }

    /// Everybody looks again: something has happened beside the ring, or it was stopped.
    pub fn wake_all(&self) {
        let wakes = &self.head().wakes;
        wakes.fetch_add(1, Ordering::SeqCst);
        wake(wakes);
    }
}
