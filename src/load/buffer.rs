//! What is collected for one table or partition: slots, and the tuples that they point to.

#![expect(unsafe_code, reason = "fills slots and inserts tuples through the table's access method")]

use pgrx::pg_sys;

use super::context::LineContext;
use super::multi::MOST_ROWS;
use super::table::{RowTriggers, Table, per_tuple_expressions};
use crate::pg_raw;

/// What is collected for one table or partition; plain memory.
pub(super) struct Buffer {
    pub(super) target: *mut pg_sys::ResultRelInfo,
    bulk: pg_sys::BulkInsertState,
    /// Whether slots are for heap tuples, which can lie where they are.
    pub(super) is_heap: bool,
    used: usize,
    slots: [*mut pg_sys::TupleTableSlot; MOST_ROWS],
    /// The tuples that slots point to, for those that are borrowed. Such a slot goes on to point there when its row is
    /// inserted, so that the next tuple that is borrowed has but to be noted.
    tuples: [pg_sys::HeapTupleData; MOST_ROWS],
    is_borrowed: [bool; MOST_ROWS],
    /// Whether some row is not borrowed.
    has_own: bool,
    /// COPY's line number of each row.
    numbers: [u64; MOST_ROWS],
}

impl Buffer {
    /// # Safety
    /// `target` must be alive.
    pub(super) unsafe fn make(target: *mut pg_sys::ResultRelInfo) -> *mut Buffer {
        // SAFETY: the caller's promise. A buffer may be all zero: null pointers, numbers and false.
        unsafe {
            let buffer: *mut Buffer = pg_sys::palloc0(size_of::<Buffer>()).cast();
            let relation = (*target).ri_RelationDesc;
            (*buffer).target = target;
            (*buffer).bulk = pg_sys::GetBulkInsertState();
            let is_local = (*target).ri_FdwRoutine.is_null();
            (*buffer).is_heap = is_local && (*(*relation).rd_rel).relam == pg_sys::HEAP_TABLE_AM_OID;
            for tuple in &mut (*buffer).tuples {
                tuple.t_tableOid = (*relation).rd_id;
            }
            buffer
        }
    }

    /// The next free slot.
    ///
    /// # Safety
    /// The buffer must be alive and not full.
    pub(super) unsafe fn slot(this: *mut Buffer) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the caller's promise.
        unsafe {
            let relation = (*(*this).target).ri_RelationDesc;
            let slot = &raw mut (*this).slots[(*this).used];
            if (*slot).is_null() {
                *slot = if (*this).is_heap {
                    let slot = pg_sys::MakeSingleTupleTableSlot((*relation).rd_att, &raw const pg_sys::TTSOpsHeapTuple);
                    (*slot).tts_tableOid = (*relation).rd_id;
                    slot
                } else {
                    pg_sys::table_slot_create(relation, std::ptr::null_mut())
                };
            }
            Self::end_borrowing(this, (*this).used);
            *slot
        }
    }

    /// Points the next slot to a tuple.
    ///
    /// # Safety
    /// The buffer must be alive and not full, and be for heap tuples; the tuple must stay where it is while the row is
    /// collected.
    #[inline(always)]
    pub(super) unsafe fn borrow(this: *mut Buffer, data: pg_sys::HeapTupleHeader, length: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let index = (*this).used;
            let tuple = &raw mut (*this).tuples[index];
            (*tuple).t_len = length;
            (*tuple).t_data = data;
            if (*this).is_borrowed[index] {
                (*(*this).slots[index]).tts_nvalid = 0;
            } else {
                Self::begin_to_borrow(this, index);
            }
        }
    }

    /// Makes a slot one that points to a tuple which is not its own. It must believe that it is: a slot that owns its
    /// tuple is not asked to copy it.
    ///
    /// # Safety
    /// As for [`Buffer::borrow`].
    #[cold]
    unsafe fn begin_to_borrow(this: *mut Buffer, index: usize) {
        // SAFETY: the caller's promise. `disown` takes the flag back before the slot is emptied.
        unsafe {
            let slot = Self::slot(this);
            pg_raw::ExecStoreHeapTuple(&raw mut (*this).tuples[index], slot, false);
            (*slot).tts_flags |= pg_sys::TTS_FLAG_SHOULDFREE as u16;
            (*this).is_borrowed[index] = true;
        }
    }

    /// The slot of the next row, which has been made.
    ///
    /// # Safety
    /// The buffer must be alive and not full.
    pub(super) unsafe fn current(this: *mut Buffer) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the caller's promise.
        unsafe { (*this).slots[(*this).used] }
    }

    /// Counts the row in the next slot in, with COPY's number.
    ///
    /// # Safety
    /// The slot must hold a row.
    #[inline(always)]
    pub(super) unsafe fn store(this: *mut Buffer, number: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            let index = (*this).used;
            (*this).numbers[index] = number;
            (*this).has_own |= !(*this).is_borrowed[index];
            (*this).used += 1;
        }
    }

    /// The row in the next slot is not stored after all.
    ///
    /// # Safety
    /// The slot must exist.
    pub(super) unsafe fn forget(this: *mut Buffer) {
        // SAFETY: the caller's promise.
        unsafe {
            if !(*this).is_borrowed[(*this).used] {
                pg_raw::clear_slot(Self::current(this));
            }
        }
    }

    /// Copies every borrowed tuple, so that none depends on where it lay.
    ///
    /// # Safety
    /// The tuples must still be there.
    pub(super) unsafe fn copy_borrowed(this: *mut Buffer) {
        // SAFETY: the caller's promise.
        unsafe {
            for index in 0..(*this).used {
                if let Some(slot) = Self::disown(this, index) {
                    pg_raw::materialize_slot(slot);
                    (*this).has_own = true;
                }
            }
        }
    }

    /// Empties a slot that points to a tuple which is not its own, and leaves that alone.
    ///
    /// # Safety
    /// The slot must exist.
    unsafe fn end_borrowing(this: *mut Buffer, index: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(slot) = Self::disown(this, index) {
                pg_raw::clear_slot(slot);
            }
        }
    }

    /// The slot, if it points to a tuple which is not its own; it does not believe that it is any more.
    ///
    /// # Safety
    /// The slot must exist.
    unsafe fn disown(this: *mut Buffer, index: usize) -> Option<*mut pg_sys::TupleTableSlot> {
        // SAFETY: the caller's promise.
        unsafe {
            let slot = (*this).slots[index];
            std::mem::replace(&mut (*this).is_borrowed[index], false).then(|| {
                (*slot).tts_flags &= !(pg_sys::TTS_FLAG_SHOULDFREE as u16);
                slot
            })
        }
    }

    /// Is done with the rows: empties the slots that have tuples of their own.
    ///
    /// # Safety
    /// The slots must exist.
    unsafe fn release(this: *mut Buffer) {
        // SAFETY: the caller's promise.
        unsafe {
            if std::mem::replace(&mut (*this).has_own, false) {
                for index in (0..(*this).used).filter(|index| !(*this).is_borrowed[*index]) {
                    pg_raw::clear_slot((*this).slots[index]);
                }
            }
            (*this).used = 0;
        }
    }

    /// Inserts the buffer's rows; returns how many were inserted.
    ///
    /// # Safety
    /// As for [`Multi::flush`].
    pub(super) unsafe fn flush(this: *mut Buffer, table: &Table, context: *mut LineContext) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let (target, used) = ((*this).target, (*this).used);
            if used == 0 {
                return 0;
            }
            if !(*target).ri_FdwRoutine.is_null() {
                return Self::flush_foreign(this, table, context);
            }
            LineContext::writing(context);
            let relation = (*target).ri_RelationDesc;
            let expressions = per_tuple_expressions(table.executor);
            let caller = pg_sys::MemoryContextSwitchTo((*expressions).ecxt_per_tuple_memory);
            let insert = (*(*relation).rd_tableam).multi_insert.expect("every access method has it");
            let slots = (*this).slots.as_mut_ptr();
            insert(relation, slots, used as i32, table.command, table.options, (*this).bulk);
            pg_sys::MemoryContextSwitchTo(caller);
            let has_more_to_do = (*target).ri_NumIndices > 0 || RowTriggers::of(target).after;
            if has_more_to_do {
                for index in 0..used {
                    LineContext::finishing(context, (*this).numbers[index]);
                    table.after_insert(target, (*this).slots[index]);
                }
            }
            Self::release(this);
            LineContext::written(context);
            used as u64
        }
    }

    /// Sends the buffer's rows to a foreign table, as many at once as its wrapper takes; returns how many of them it
    /// has taken.
    ///
    /// # Safety
    /// As for [`Multi::flush`].
    unsafe fn flush_foreign(this: *mut Buffer, table: &Table, context: *mut LineContext) -> u64 {
        // SAFETY: the caller's promise. Rows are collected for a wrapper only if it takes several.
        unsafe {
            let (target, used) = ((*this).target, (*this).used);
            let insert = (*(*target).ri_FdwRoutine).ExecForeignBatchInsert.expect("the wrapper takes several rows");
            let has_triggers = RowTriggers::of(target).after;
            LineContext::sending(context);
            let (mut first, mut taken) = (0, 0);
            while first < used {
                let batch = (used - first).min((*target).ri_BatchSize.unsigned_abs() as usize);
                let mut stored = batch as i32;
                let slots = (*this).slots.as_mut_ptr().add(first);
                let results = insert(table.executor, target, slots, std::ptr::null_mut(), &mut stored);
                if has_triggers {
                    for index in 0..stored.unsigned_abs() as usize {
                        let slot = *results.add(index);
                        (*slot).tts_tableOid = (*(*target).ri_RelationDesc).rd_id;
                        table.after_insert(target, slot);
                    }
                }
                first += batch;
                taken += u64::from(stored.unsigned_abs());
            }
            Self::release(this);
            LineContext::written(context);
            taken
        }
    }

    /// # Safety
    /// The buffer must be empty, and the table open.
    pub(super) unsafe fn drop(this: *mut Buffer, table: &Table) {
        // SAFETY: the caller's promise.
        unsafe {
            (*(*this).target).ri_CopyMultiInsertBuffer = std::ptr::null_mut();
            pg_sys::FreeBulkInsertState((*this).bulk);
            for index in (0..MOST_ROWS).take_while(|index| !(*this).slots[*index].is_null()) {
                Self::end_borrowing(this, index);
                pg_sys::ExecDropSingleTupleTableSlot((*this).slots[index]);
            }
            let relation = (*(*this).target).ri_RelationDesc;
            if (*(*this).target).ri_FdwRoutine.is_null()
                && let Some(finish) = (*(*relation).rd_tableam).finish_bulk_insert
            {
                finish(relation, table.options);
            }
            pg_sys::pfree(this.cast());
        }
    }
}
