//! Atomics, locks and futexes: the standard library's and the system's, or those of the model checker when the ring is
//! being checked.

#![cfg_attr(not(feature = "shuttle"), expect(unsafe_code, reason = "the system call has no wrapper for processes"))]

#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, Ordering, fence},
};
#[cfg(feature = "shuttle")]
pub(crate) use std::sync::PoisonError;

/// Sleeps until the word, which processes may share, is woken ([`wake`]); not if it is not `expected` any more. May
/// return earlier.
#[cfg(not(feature = "shuttle"))]
pub(crate) fn sleep_on(word: &AtomicU32, expected: u32) {
    // SAFETY: the word is alive; there is no time limit.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, std::ptr::null::<()>()) };
}

/// Wakes all who sleep on the word. It must have been changed.
#[cfg(not(feature = "shuttle"))]
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: the word is alive.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// As above; who is never woken keeps the checker from coming to an end.
#[cfg(feature = "shuttle")]
pub(crate) fn sleep_on(word: &AtomicU32, expected: u32) {
    while word.load(Ordering::SeqCst) == expected {
        shuttle::thread::yield_now();
    }
}

/// As above.
#[cfg(feature = "shuttle")]
pub(crate) fn wake(_word: &AtomicU32) {}
