//! EXPLAIN: which file a scan reads, and how large it is.

#![expect(unsafe_code, reason = "an executor callback, which receives nodes by pointer")]

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::plan;
use crate::options::TableOptions;

/// ExplainForeignScan, with `file_fdw`'s labels. The size is left out where costs are.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn explain(node: *mut pg_sys::ForeignScanState, state: *mut pg_sys::ExplainState) {
    // SAFETY: EXPLAIN passes valid nodes, and the relation is open.
    unsafe {
        let source = TableOptions::of((*(*node).ss.ss_currentRelation).rd_id).source;
        let label = if source.is_program { c"Foreign Program" } else { c"Foreign File" };
        pg_sys::ExplainPropertyText(label.as_ptr(), source.name, state);
        if (*state).costs
            && !source.is_program
            && let Some(size) = plan::file_size(source)
        {
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            pg_sys::ExplainPropertyInteger(c"Foreign File Size".as_ptr(), c"b".as_ptr(), size, state);
        }
    }
}
