//! `fastcsv_last_run()`: what this session's last scan or load did, and how.

#![expect(unsafe_code, reason = "forms a row through PostgreSQL's C interface")]

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::time::Duration;

use pgrx::pg_sys;
use pgrx::prelude::*;
use serde::Serialize;

use crate::call::Call;
use crate::options::report;

/// One scan or load.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Run {
    /// `scan` or `load`.
    pub(crate) operation: &'static str,
    /// `parallel` or `serial`.
    pub(crate) path: &'static str,
    /// Why the path is what it is, where that is worth saying.
    pub(crate) reason: Option<&'static str>,
    pub(crate) threads: u32,
    pub(crate) ranges: u64,
    pub(crate) wrong_guesses: u64,
    pub(crate) rereads: u64,
    pub(crate) declined: u64,
    pub(crate) filtered: u64,
    pub(crate) rows: u64,
    /// Bytes of the input that are done with, where that is known.
    pub(crate) bytes: Option<u64>,
    pub(crate) time: Duration,
    /// The most memory that blocks and threads held, in bytes.
    pub(crate) peak_memory: u64,
}

impl Run {
    /// This run together with one that was before it, of other files.
    pub(crate) fn behind(self, before: &Run) -> Run {
        let (one, parallel) = if self.path == "parallel" { (&self, true) } else { (before, before.path == "parallel") };
        let bytes = match (before.bytes, self.bytes) {
            (None, None) => None,
            (before, own) => Some(before.unwrap_or(0) + own.unwrap_or(0)),
        };
        Run {
            path: one.path,
            reason: if parallel { None } else { self.reason.or(before.reason) },
            threads: self.threads.max(before.threads),
            ranges: self.ranges + before.ranges,
            wrong_guesses: self.wrong_guesses + before.wrong_guesses,
            rereads: self.rereads + before.rereads,
            declined: self.declined + before.declined,
            filtered: self.filtered + before.filtered,
            rows: self.rows + before.rows,
            bytes,
            peak_memory: self.peak_memory.max(before.peak_memory),
            ..self
        }
    }

    /// Bytes a second, where the bytes are known.
    pub(crate) fn throughput(&self) -> Option<u64> {
        let seconds = self.time.as_secs_f64();
        self.bytes.filter(|_| seconds > 0.0).map(|bytes| (bytes as f64 / seconds) as u64)
    }
}

thread_local! {
    /// PostgreSQL has one thread; nobody else comes here.
    static LAST: RefCell<Option<Run>> = const { RefCell::new(None) };
}

/// Notes a run that has ended; at DEBUG1 the log tells it too.
pub(crate) fn note(run: Run) {
    // SAFETY: looks at settings.
    if unsafe { pg_sys::message_level_is_interesting(pg_sys::DEBUG1.cast_signed()) }
        && let Ok(text) = serde_json::to_string(&run)
    {
        let message = format!("fastcsv has read: {text}");
        report(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message).report(PgLogLevel::DEBUG1);
    }
    LAST.with(|last| *last.borrow_mut() = Some(run));
}

/// The function's body: one row, its columns as `sql/` declares them; NULL before the first run.
pub(crate) fn last_run(call: &Call) -> pg_sys::Datum {
    let run = LAST.with(|last| last.borrow().clone());
    match run {
        Some(run) => call.row(&row(&run)),
        None => call.null(),
    }
}

fn row(run: &Run) -> [Option<pg_sys::Datum>; 14] {
    let count = |number: u64| Some(pg_sys::Datum::from(i64::try_from(number).unwrap_or(i64::MAX)));
    [
        Some(text(run.operation)),
        Some(text(run.path)),
        run.reason.map(text),
        Some(pg_sys::Datum::from(run.threads)),
        count(run.ranges),
        count(run.wrong_guesses),
        count(run.rereads),
        count(run.declined),
        count(run.filtered),
        count(run.rows),
        run.bytes.and_then(count),
        run.throughput().and_then(count),
        Some(pg_sys::Datum::from((run.time.as_micros() as f64 / 1000.0).to_bits())),
        count(run.peak_memory),
    ]
}

/// A `text` in the current memory context.
fn text(word: &str) -> pg_sys::Datum {
    let word = CString::new(word).unwrap_or_default();
    // SAFETY: a C string, which is copied.
    unsafe { pg_sys::Datum::from(pg_sys::cstring_to_text(word.as_ptr().cast::<c_char>())) }
}
