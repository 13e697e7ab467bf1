//! What a read has done so far, and how it ends: told to the progress view, to `fastcsv_last_run()`, to the log.

#![expect(unsafe_code, reason = "lives in PostgreSQL's memory, and sets its counters")]

use fastcsv_engine::locate::Checkpoint;
use pgrx::pg_sys;
use pgrx::prelude::*;

use super::job::Serial;
use super::parallel::Parallel;
use super::{Path, Reader};
use crate::last_run::{self, Run};
use crate::options::report;
use crate::referee::{Referee, shim};

impl Reader {
    /// Tells the progress view of rows that were loaded, and of those that a condition has refused, besides what the
    /// threads have left out.
    ///
    /// # Safety
    /// `this` must be alive.
    pub(crate) unsafe fn report_rows(this: *mut Self, loaded: u64, refused: u64) {
        // SAFETY: counters in shared memory.
        unsafe {
            let update = |number: u32, value: u64| {
                pg_sys::pgstat_progress_update_param(number.cast_signed(), value.cast_signed());
            };
            update(pg_sys::PROGRESS_COPY_TUPLES_PROCESSED, loaded);
            update(pg_sys::PROGRESS_COPY_TUPLES_EXCLUDED, refused + (*this).filtered());
            shim::fastcsv_shim_count_skipped(Referee::copy((*this).referee));
        }
    }

    /// Rows that the threads have left out.
    fn filtered(&self) -> u64 {
        let of_file = match self.path {
            // SAFETY: the parallel part lives as long as the reader.
            Path::Parallel(parallel) => unsafe { &*parallel }.as_ref().map_or(0, Parallel::filtered),
            Path::Undecided | Path::Serial(_) => 0,
        };
        self.done.filtered + of_file
    }

    /// The place behind the last record, if the referee has not come there itself.
    pub(crate) fn end_place(&self) -> Option<Checkpoint> {
        match self.path {
            // SAFETY: as above.
            Path::Parallel(parallel) => unsafe { &*parallel }.as_ref().and_then(Parallel::end_place),
            Path::Undecided | Path::Serial(_) => None,
        }
    }

    /// What the read has done so far; `None` if it has not begun.
    pub(crate) fn run(&self, operation: &'static str) -> Option<Run> {
        let run = Run { operation, rows: self.rows, time: self.started?.elapsed(), path: "serial", ..Run::default() };
        let run = match self.path {
            Path::Undecided if self.is_small_stream() => Run { reason: Some(SMALL_STREAM), ..run },
            Path::Undecided => run,
            Path::Serial(reason) => Run { reason: Some(reason), ..run },
            // SAFETY: the parallel part lives as long as the reader.
            Path::Parallel(parallel) => match unsafe { &*parallel } {
                Some(parallel) => parallel.add_to(run),
                None => run,
            },
        };
        Some(if self.file == 0 { run } else { run.behind(&self.done) })
    }

    /// Ends the read: tells `fastcsv_last_run()`, and of a scan how many rows it has passed over (a load has told it
    /// before), stops the worker and closes the file.
    ///
    /// # Errors
    /// Raises COPY's error when a program failed.
    ///
    /// # Safety
    /// `this` must be alive and is not used again; no slot may hold a row of it.
    pub(crate) unsafe fn end(this: *mut Self, operation: &'static str) {
        // SAFETY: the caller's promise.
        unsafe {
            if operation == "scan" {
                Referee::report_skipped((*this).referee, false);
            }
            Self::end_as(this, (*this).run(operation));
        }
    }

    /// As [`Reader::end`], with the run as the caller tells it.
    ///
    /// # Errors
    /// As for `end`.
    ///
    /// # Safety
    /// As for `end`.
    pub(crate) unsafe fn end_as(this: *mut Self, run: Option<Run>) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(run) = run {
                last_run::note(run);
            }
            Self::end_file(this);
        }
    }
}

/// Why a stream is read serially from its start to its end.
const SMALL_STREAM: Serial = "the input is smaller than fastcsv.min_parallel_size";

/// Tells whoever wants to know why a file is read serially.
pub(super) fn tell_serial(reason: Serial) {
    // SAFETY: looks at settings.
    if !unsafe { pg_sys::message_level_is_interesting(pg_sys::DEBUG1.cast_signed()) } {
        return;
    }
    let message = format!("fastcsv reads serially: {reason}");
    report(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message).report(PgLogLevel::DEBUG1);
}
