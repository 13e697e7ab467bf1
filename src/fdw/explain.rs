//! EXPLAIN: which file a scan reads, how large it is, what of it, and with ANALYZE how it was read.

#![expect(unsafe_code, reason = "an executor callback, which receives nodes by pointer")]

use std::ffi::{CStr, CString};

use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::plan::Private;
use super::scan::Scan;
use super::{count, filter, plan};
use crate::archive;
use crate::files;
use crate::last_run::Run;
use crate::options::{Source, TableOptions};

/// ExplainForeignScan, with `file_fdw`'s labels before ours. The size is left out where costs are.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn explain(node: *mut pg_sys::ForeignScanState, state: *mut pg_sys::ExplainState) {
    // SAFETY: EXPLAIN passes valid nodes.
    unsafe {
        let table = plan::scanned_table(node);
        if plan::is_count(node) {
            pg_sys::ExplainPropertyText(c"Counted Table".as_ptr(), pg_sys::get_rel_name(table), state);
        }
        let source = TableOptions::of(table).source;
        show_source(source, state);
        let plan = (*node).ss.ps.plan.cast::<pg_sys::ForeignScan>();
        let private = Private::of((*plan).fdw_private);
        show_columns(private.options, private.count_only, state);
        let condition =
            if plan::is_count(node) { count::deparsed_conditions(node, state) } else { filter::deparsed(node, state) };
        if let Some(condition) = condition {
            pg_sys::ExplainPropertyText(c"Worker Filter".as_ptr(), condition, state);
        }
        let scan = (*node).fdw_state.cast::<Scan>();
        if (*state).analyze
            && !scan.is_null()
            && let Some(run) = (*scan).run()
        {
            Shown { state }.run(&run);
        }
    }
}

/// # Safety
/// `state` must be EXPLAIN's.
pub(crate) unsafe fn show_source(source: Source, state: *mut pg_sys::ExplainState) {
    // SAFETY: the caller's promise.
    unsafe {
        let label = if source.is_program { c"Foreign Program" } else { c"Foreign File" };
        pg_sys::ExplainPropertyText(label.as_ptr(), source.name, state);
        if source.is_program {
            return;
        }
        let Some(size) = files::size_of(source) else { return };
        if size.files > 1 {
            let files = i64::try_from(size.files).unwrap_or(i64::MAX);
            pg_sys::ExplainPropertyInteger(c"Foreign Files".as_ptr(), std::ptr::null(), files, state);
        }
        if (*state).costs {
            let bytes = i64::try_from(size.bytes).unwrap_or(i64::MAX);
            pg_sys::ExplainPropertyInteger(c"Foreign File Size".as_ptr(), c"b".as_ptr(), bytes, state);
        }
        if let Some(format) = archive::format_at(size.first) {
            let name = CString::new(format.name()).unwrap_or_default();
            pg_sys::ExplainPropertyText(c"Compression".as_ptr(), name.as_ptr(), state);
        }
    }
}

/// Which columns are converted: those that COPY's option names, or all if there is none.
///
/// # Safety
/// `options` must be the plan's, `state` EXPLAIN's.
pub(crate) unsafe fn show_columns(options: *mut pg_sys::List, count_only: bool, state: *mut pg_sys::ExplainState) {
    // SAFETY: the caller's promise. The option's argument is a list of strings.
    unsafe {
        let mut names = std::ptr::null_mut();
        for option in PgList::<pg_sys::DefElem>::from_pg(options).iter_ptr() {
            for name in PgList::<pg_sys::Node>::from_pg((*option).arg.cast()).iter_ptr() {
                names = pg_sys::lappend(names, (*name.cast::<pg_sys::String>()).sval.cast());
            }
        }
        if count_only && names.is_null() {
            names = pg_sys::lappend(names, c"none".as_ptr().cast_mut().cast());
        } else if options.is_null() {
            names = pg_sys::lappend(names, c"all".as_ptr().cast_mut().cast());
        }
        pg_sys::ExplainPropertyList(c"Columns".as_ptr(), names, state);
    }
}

/// Kibibytes, as EXPLAIN counts memory.
const KB: u64 = 1024;

/// What EXPLAIN ANALYZE shows of a run. What varies from run to run is left out where TIMING or COSTS are off.
pub(crate) struct Shown {
    pub(crate) state: *mut pg_sys::ExplainState,
}

impl Shown {
    /// # Safety
    /// The state must be EXPLAIN's.
    pub(crate) unsafe fn run(&self, run: &Run) {
        // SAFETY: the caller's promise.
        unsafe {
            self.text(c"Read", run.path);
            if let Some(reason) = run.reason {
                self.text(c"Reason", reason);
            }
            if run.path != "parallel" {
                return;
            }
            if (*self.state).costs {
                self.number(c"Threads", run.threads.into(), None);
                self.number(c"Ranges", run.ranges, None);
                self.number(c"Wrong Guesses", run.wrong_guesses, None);
            }
            self.number(c"Rereads", run.rereads, None);
            self.number(c"Declined Records", run.declined, None);
            self.number(c"Rows Removed by Worker Filter", run.filtered, None);
            if (*self.state).timing {
                self.number(c"Bytes", run.bytes.unwrap_or(0), Some(c"b"));
                self.number(c"Throughput", run.throughput().unwrap_or(0) / 1_000_000, Some(c"MB/s"));
                self.number(c"Peak Memory", run.peak_memory.div_ceil(KB), Some(c"kB"));
            }
        }
    }

    /// # Safety
    /// As for `run`.
    unsafe fn text(&self, label: &CStr, text: &str) {
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: the caller's promise; both strings are copied.
        unsafe { pg_sys::ExplainPropertyText(label.as_ptr(), text.as_ptr(), self.state) }
    }

    /// # Safety
    /// As for `run`.
    unsafe fn number(&self, label: &CStr, number: u64, unit: Option<&CStr>) {
        let unit = unit.map_or(std::ptr::null(), CStr::as_ptr);
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        // SAFETY: the caller's promise.
        unsafe { pg_sys::ExplainPropertyInteger(label.as_ptr(), unit, number, self.state) }
    }
}
