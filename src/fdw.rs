//! The foreign data wrapper: what PostgreSQL calls to plan, run, explain and analyze a scan of a fastcsv table.
//!
//! It does what `file_fdw` does, rows, errors and estimates alike; what it does not offer (writing, truncating)
//! PostgreSQL itself refuses.

mod analyze;
mod count;
pub(crate) mod explain;
pub(crate) mod filter;
mod import;
pub(crate) mod plan;
pub(crate) mod scan;

use pgrx::PgBox;
use pgrx::pg_sys;

use crate::call::Call;

/// `fastcsv_fdw_handler()`: the table of callbacks.
pub(crate) fn handler(_call: &Call) -> pg_sys::Datum {
    #[expect(unsafe_code, reason = "allocates a node of a type whose fields are all optional function pointers")]
    // SAFETY: an FdwRoutine may be all zero but for its tag, which alloc_node sets.
    let mut routine = unsafe { PgBox::<pg_sys::FdwRoutine>::alloc_node(pg_sys::NodeTag::T_FdwRoutine) };
    routine.GetForeignRelSize = Some(plan::estimate_size);
    routine.GetForeignPaths = Some(plan::add_paths);
    routine.GetForeignUpperPaths = Some(count::add_paths);
    routine.GetForeignPlan = Some(plan::make_plan);
    routine.IsForeignScanParallelSafe = Some(plan::is_parallel_safe);
    routine.BeginForeignScan = Some(scan::begin);
    routine.IterateForeignScan = Some(scan::iterate);
    routine.ReScanForeignScan = Some(scan::rescan);
    routine.EndForeignScan = Some(scan::end);
    routine.ExplainForeignScan = Some(explain::explain);
    routine.AnalyzeForeignTable = Some(analyze::analyze);
    routine.ImportForeignSchema = Some(import::import);
    pg_sys::Datum::from(routine.into_pg())
}
