//! ANALYZE: a random sample of a file's rows, by Vitter's reservoir method as in `file_fdw`.

#![expect(unsafe_code, reason = "callbacks of ANALYZE, which pass relations and arrays by pointer")]

use std::ffi::c_int;
use std::mem::MaybeUninit;

use pgrx::prelude::*;
use pgrx::{PgRelation, pg_sys};

use super::plan;
use crate::options::{TableOptions, report};
use crate::pg_compat;
use crate::referee::{Opening, Referee, shim};

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
        let Some(size) = plan::file_size(source) else {
            shim::raise_file_error(&std::io::Error::last_os_error(), c"stat", source.name);
        };
        *total_pages = plan::pages_of(size) as pg_sys::BlockNumber;
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
        let descriptor = (*relation).rd_att;
        let columns = usize::try_from((*descriptor).natts).unwrap_or(0);
        let values: *mut pg_sys::Datum = pg_sys::palloc(columns.max(1) * size_of::<pg_sys::Datum>()).cast();
        let nulls: *mut bool = pg_sys::palloc(columns.max(1)).cast();
        let TableOptions { source, copy, .. } = TableOptions::of((*relation).rd_id);
        let referee = Referee::open(&Opening::of(relation, source, copy));
        let executor = pg_sys::CreateExecutorState();
        let expressions = pg_sys::MakePerTupleExprContext(executor);
        let row_memory = (*expressions).ecxt_per_tuple_memory;
        let mut reservoir = Reservoir::new(rows, wanted);
        loop {
            pg_compat::analyze_delay_point();
            pg_sys::MemoryContextReset(row_memory);
            let caller = pg_sys::MemoryContextSwitchTo(row_memory);
            let found = Referee::next_row(referee, expressions, values, nulls);
            pg_sys::MemoryContextSwitchTo(caller);
            if !found {
                break;
            }
            if !Referee::row_was_skipped(referee) {
                reservoir.offer(|| pg_sys::heap_form_tuple(descriptor, values, nulls));
            }
        }
        Referee::end(referee, false);
        pg_sys::FreeExecutorState(executor);
        *total_rows = reservoir.seen;
        *total_dead_rows = 0.0;
        report_sample(&PgRelation::from_pg(relation), level, &reservoir);
        reservoir.kept
    }
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
