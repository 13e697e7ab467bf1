//! ANALYZE: a random sample of a file's rows, by Vitter's reservoir method as in `file_fdw`.

#![expect(unsafe_code, reason = "callbacks of ANALYZE, which pass relations and arrays by pointer")]

use std::ffi::c_int;
use std::mem::MaybeUninit;

use pgrx::prelude::*;
use pgrx::{PgRelation, pg_sys};

use super::plan;
use crate::files;
use crate::options::{TableOptions, report};
use crate::pg_compat;
use crate::reader::{Found, Reader, Wanted};
use crate::referee::shim;

/// AnalyzeForeignTable: a file can be sampled; a program's output is not, since it may be another every time.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn analyze(
    relation: pg_sys::Relation,
    function: *mut pg_sys::AcquireSampleRowsFunc,
    total_pages: *mut pg_sys::BlockNumber,
) -> bool {
    // SAFETY: ANALYZE passes an open relation and places for both results.
    unsafe {
        let source = TableOptions::of((*relation).rd_id).source;
        if source.is_program {
            return false;
        }
        // That a pattern matches nothing is said here already.
        files::names_of(source);
        let Some(size) = files::size_of(source) else {
            shim::raise_file_error(&std::io::Error::last_os_error(), c"stat", source.name);
        };
        *total_pages = plan::pages_of(size.bytes) as pg_sys::BlockNumber;
        *function = Some(sample);
        true
    }
}

/// The AcquireSampleRowsFunc: reads every row, keeps at most `wanted` of them, each as likely as any other.
#[pg_guard]
unsafe extern "C-unwind" fn sample(
    relation: pg_sys::Relation,
    level: c_int,
    rows: *mut pg_sys::HeapTuple,
    wanted: c_int,
    total_rows: *mut f64,
    total_dead_rows: *mut f64,
) -> c_int {
    // SAFETY: ANALYZE passes an open relation, an array of `wanted` tuples and places for both totals. Until the
    // read has ended, nothing alive on this frame or `Reservoir`'s has a destructor.
    unsafe {
        let options = TableOptions::of((*relation).rd_id);
        let reader = Reader::open(&options.opening(relation, options.copy), Wanted::default());
        let slot = pg_sys::MakeSingleTupleTableSlot((*relation).rd_att, &raw const pg_sys::TTSOpsHeapTuple);
        let mut reservoir = Reservoir::new(rows, wanted);
        loop {
            pg_compat::analyze_delay_point();
            if (*reader).is_undecided() {
                Reader::decide(reader, None, Vec::new());
            }
            if Reader::next(reader, slot) == Found::End {
                break;
            }
            reservoir.offer(|| copy_row(slot));
        }
        pg_sys::ExecDropSingleTupleTableSlot(slot);
        Reader::end(reader, "scan");
        *total_rows = reservoir.seen;
        *total_dead_rows = 0.0;
        report_sample(&PgRelation::from_pg(relation), level, &reservoir);
        reservoir.kept
    }
}

/// The slot's row as a tuple of its own.
///
/// # Safety
/// The slot must hold a row.
unsafe fn copy_row(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::HeapTuple {
    // SAFETY: the caller's promise; a slot for heap tuples can do so.
    unsafe { (*(*slot).tts_ops).copy_heap_tuple.expect("a slot for heap tuples")(slot) }
}

/// A sample being drawn.
struct Reservoir {
    rows: *mut pg_sys::HeapTuple,
    wanted: c_int,
    kept: c_int,
    seen: f64,
    /// Rows to pass over before the next is kept; negative before the first was computed.
    skip: f64,
    state: pg_sys::ReservoirStateData,
}

impl Reservoir {
    /// # Safety
    /// `rows` must have room for `wanted` tuples.
    unsafe fn new(rows: *mut pg_sys::HeapTuple, wanted: c_int) -> Self {
        let mut state = MaybeUninit::uninit();
        // SAFETY: the call initialises the state.
        let state = unsafe {
            pg_sys::reservoir_init_selection_state(state.as_mut_ptr(), wanted);
            state.assume_init()
        };
        Self { rows, wanted, kept: 0, seen: 0.0, skip: -1.0, state }
    }

    /// Shows the sample one more row, which `form` makes a tuple of if it is to be kept.
    ///
    /// # Safety
    /// What `new` was promised must still hold, and `form` return an allocated tuple.
    unsafe fn offer(&mut self, form: impl FnOnce() -> pg_sys::HeapTuple) {
        // SAFETY: the caller's promise; both indexes are below `wanted`.
        unsafe {
            if self.kept < self.wanted {
                *self.rows.offset(self.kept as isize) = form();
                self.kept += 1;
            } else {
                if self.skip < 0.0 {
                    self.skip = pg_sys::reservoir_get_next_S(&mut self.state, self.seen, self.wanted);
                }
                if self.skip <= 0.0 {
                    let chosen = f64::from(self.wanted) * pg_sys::sampler_random_fract(&mut self.state.randstate);
                    let place = self.rows.offset(chosen as isize);
                    pg_sys::heap_freetuple(*place);
                    *place = form();
                }
                self.skip -= 1.0;
            }
        }
        self.seen += 1.0;
    }
}

/// What ANALYZE VERBOSE says.
fn report_sample(relation: &PgRelation, level: c_int, reservoir: &Reservoir) {
    let text =
        format!("\"{}\": file contains {:.0} rows; {} rows in sample", relation.name(), reservoir.seen, reservoir.kept);
    let level = if level == pg_sys::INFO.cast_signed() { PgLogLevel::INFO } else { PgLogLevel::DEBUG2 };
    report(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, text).report(level);
}
