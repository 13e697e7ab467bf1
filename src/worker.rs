//! The worker: a background process beside the backend, whose threads parse and convert.
//!
//! The backend ([`launch`]) makes one piece of shared memory, writes the job into it and registers a dynamic background
//! worker; the worker ([`main`]) attaches, starts the engine's pipeline and sleeps. What lies where, and who tells
//! whom what, is in [`shared`].
//!
//! **Ending quietly.** Who has had enough stops the ring and sets the worker's latch. The worker joins its threads
//! before it lets go of the memory, and exits with status 0. The backend does not wait for that: the memory goes with
//! the last process that holds it.
//!
//! **Ending badly.** A worker that dies, or whose thread panics, is noticed by the backend, which raises one ERROR. The
//! backend's own death ends the worker through the postmaster.

mod inflow;
mod input;
mod launch;
mod main;
mod shared;

pub(crate) use launch::{Input, Trouble, Worker};
pub(crate) use main::run;
pub(crate) use shared::Refusal;
