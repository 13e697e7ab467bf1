//! Where rows go: the table, or the partition that each belongs to.

#![expect(unsafe_code, reason = "hands rows to PostgreSQL's executor")]

use pgrx::pg_sys;

use super::rows::Rows;
use super::table::RowTriggers;
use crate::pg_compat;
use crate::pg_raw;

/// The table or partition that rows go to now.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) relation: *mut pg_sys::ResultRelInfo,
    pub(super) triggers: RowTriggers,
    pub(super) collects: bool,
    pub(super) has_generated: bool,
}

impl Rows {
    /// Finds a row's partition, and gets the row into its form: the slot that holds it then.
    ///
    /// # Safety
    /// As for `run`.
    pub(super) unsafe fn route(
        this: *mut Self,
        slot: *mut pg_sys::TupleTableSlot,
        tuple: Option<(pg_sys::HeapTupleHeader, u32)>,
    ) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the caller's promise.
        unsafe {
            let partition = (*this).table.route(slot);
            if partition != (*this).target.relation {
                (*this).target = Target::of(partition, (*this).collects);
                if !(*this).target.collects && (*this).collects && !(*this).multi.is_empty() {
                    // Whoever looks at the table from a trigger sees the rows before this one.
                    Self::flush(this, partition);
                }
                pg_sys::ReleaseBulkInsertStatePin((*this).bulk);
            }
            let target = (*this).target;
            if !(*this).table.transition.is_null() {
                let original = if target.triggers.before { std::ptr::null_mut() } else { slot };
                (*(*this).table.transition).tcs_original_insert_tuple = original;
            }
            let map = pg_compat::root_to_partition_map(partition, (*this).table.executor);
            if !target.collects {
                if map.is_null() {
                    return Self::own_copy(this, slot);
                }
                return pg_sys::execute_attr_map_slot((*map).attrMap, slot, (*partition).ri_PartitionTupleSlot);
            }
            if map.is_null()
                && !target.has_generated
                && let Some((data, length)) = tuple
                && (*this).multi.borrows(partition)
            {
                return (*this).multi.borrow(partition, data, length);
            }
            let collected = (*this).multi.slot(partition);
            if map.is_null() {
                pg_raw::copy_slot(collected, slot);
                collected
            } else {
                pg_sys::execute_attr_map_slot((*map).attrMap, slot, collected)
            }
        }
    }

    /// A slot in which triggers may change the row: not one that points into the reader's memory.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn own_copy(this: *mut Self, slot: *mut pg_sys::TupleTableSlot) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the caller's promise.
        unsafe {
            if slot != (*this).unrouted {
                return slot;
            }
            pg_raw::copy_slot((*this).single, slot);
            (*this).single
        }
    }
}

impl Target {
    /// # Safety
    /// `relation` must be alive.
    pub(super) unsafe fn of(relation: *mut pg_sys::ResultRelInfo, collects: bool) -> Target {
        // SAFETY: the caller's promise.
        unsafe {
            let triggers = RowTriggers::of(relation);
            let constraints = (*(*(*relation).ri_RelationDesc).rd_att).constr;
            Target {
                relation,
                triggers,
                collects: collects && !triggers.before && !triggers.instead && takes_many(relation),
                has_generated: !constraints.is_null() && (*constraints).has_generated_stored,
            }
        }
    }
}

/// Can rows be inserted many at a time? Into a foreign table only if its wrapper does so.
///
/// # Safety
/// `target` must be alive.
unsafe fn takes_many(target: *mut pg_sys::ResultRelInfo) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*target).ri_FdwRoutine.is_null() || (*target).ri_BatchSize > 1 }
}
