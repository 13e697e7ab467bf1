//! Where the threads of one process wait for slots and blocks.

use super::Ring;
use crate::sync::{Condvar, Mutex, PoisonError};

/// What threads that found no slot or no block wait behind.
#[derive(Debug)]
pub struct Room {
    ring: Ring,
    lock: Mutex<()>,
    made: Condvar,
}

impl Room {
    /// An empty room before a ring.
    pub fn new(ring: Ring) -> Room {
        Room { ring, lock: Mutex::new(()), made: Condvar::new() }
    }

    /// Waits until `attempt` yields something; `None` once the ring is stopped.
    pub fn wait_for<T>(&self, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
        loop {
            if self.ring.is_stopped() {
                return None;
            }
            if let Some(got) = attempt() {
                return Some(got);
            }
            let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.ring.producer_sleeps();
            if let Some(got) = attempt() {
                return Some(got);
            }
            if !self.ring.is_stopped() {
                drop(self.made.wait(guard).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// The backend has given something back, or has stopped the ring: everybody who waits looks again. To be called
    /// when [`Ring::must_wake_producers`] says so, and after [`Ring::stop`].
    pub fn notify(&self) {
        // Who has looked in vain under the lock is waiting by now.
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.made.notify_all();
    }
}
