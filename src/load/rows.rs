//! From the reader's rows to the table: COPY's own loop, over rows that mostly come finished.
//!
//! For each row, in this order: defaults, condition, partition, BEFORE triggers, generated columns, constraints; then
//! it is collected ([`super::multi`]) or, where COPY would not collect it because somebody may look at the table
//! meanwhile, inserted at once.
//!
//! A finished tuple is used as it is where nothing has to be added to it. Where something has, it is taken apart into a
//! slot.

#![expect(unsafe_code, reason = "hands rows to PostgreSQL's executor")]

use pgrx::pg_sys;

use super::context::LineContext;
use super::defaults::Defaults;
use super::multi::Multi;
use super::route::Target;
use super::table::{RowTriggers, Table, per_tuple_expressions};
use crate::pg_raw;
use crate::reader::{Item, Reader, RowPlace};
use crate::referee::Referee;

/// One load at work. Lives in PostgreSQL's memory, and owns nothing with a destructor.
pub(super) struct Rows {
    pub(super) table: Table,
    pub(super) reader: *mut Reader,
    pub(super) context: *mut LineContext,
    defaults: Defaults,
    pub(super) multi: Multi,
    /// Whether rows may be collected at all.
    pub(super) collects: bool,
    /// Whether a finished tuple can be inserted as it is, as far as the table itself is concerned.
    pub(super) takes_tuples: bool,
    /// Whether rows may go the short way ([`Rows::burst`]).
    bursts: bool,
    /// For rows that are not collected, and for those whose partition is not known yet.
    pub(super) single: *mut pg_sys::TupleTableSlot,
    /// For finished tuples whose partition is not known yet.
    pub(super) unrouted: *mut pg_sys::TupleTableSlot,
    unrouted_tuple: pg_sys::HeapTupleData,
    pub(super) bulk: pg_sys::BulkInsertState,
    pub(super) target: Target,
    processed: u64,
    excluded: u64,
}

impl Rows {
    /// # Safety
    /// All must be alive; the current memory context must last as long as the load.
    pub(super) unsafe fn new(table: Table, reader: *mut Reader, context: *mut LineContext) -> Rows {
        // SAFETY: the caller's promise; a tuple's head may be zero until there is a tuple.
        unsafe {
            let relation = table.relation;
            let defaults = Defaults::of(&(*reader).opening(), (*reader).referee());
            let collects = collects(reader, &table);
            let target = Target::of(table.root, collects && !table.is_partitioned());
            let single = pg_sys::table_slot_create(relation, &raw mut (*table.executor).es_tupleTable);
            let unrouted = pg_sys::MakeSingleTupleTableSlot((*relation).rd_att, &raw const pg_sys::TTSOpsHeapTuple);
            let takes_tuples = !defaults.are_computed() && !target.has_generated && !target.triggers.before;
            Rows {
                table,
                reader,
                context,
                defaults,
                multi: Multi::new(),
                collects,
                takes_tuples,
                bursts: false,
                single,
                unrouted,
                unrouted_tuple: std::mem::zeroed(),
                bulk: pg_sys::GetBulkInsertState(),
                target,
                processed: 0,
                excluded: 0,
            }
        }
    }

    /// Loads all rows; returns how many.
    ///
    /// # Errors
    /// Raises COPY's errors.
    ///
    /// # Safety
    /// `this` must be alive; nothing with a destructor on the caller's frames.
    pub(super) unsafe fn run(this: *mut Self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let expressions = per_tuple_expressions((*this).table.executor);
            loop {
                pg_raw::check_for_interrupts();
                pg_sys::MemoryContextReset((*expressions).ecxt_per_tuple_memory);
                LineContext::reading((*this).context);
                Self::decide(this);
                if (*this).bursts && Self::burst(this) {
                    continue;
                }
                let slot = Self::free_slot(this);
                match Reader::next_item((*this).reader, slot) {
                    Item::Tuple { data, length, place, is_lasting } => {
                        LineContext::row((*this).context, place);
                        Self::tuple(this, data, length, place, is_lasting);
                    }
                    Item::InSlot { place: Some(place) } => {
                        LineContext::row((*this).context, place);
                        (*this).defaults.fill(slot, expressions);
                        Self::row(this, slot, place.number, place.length.into());
                    }
                    Item::InSlot { place: None } => {
                        let (_, read) = Referee::views((*(*this).reader).referee());
                        LineContext::referee_row((*this).context, read.line_number);
                        Self::row(this, slot, read.line_number, read.line_length.unsigned_abs().into());
                    }
                    Item::Full => {
                        (*this).multi.copy_borrowed();
                        Reader::give_back((*this).reader);
                    }
                    Item::EndOfFile => Self::next_file(this),
                    Item::End => break,
                }
            }
            Self::finish_file(this);
            (*this).processed
        }
    }

    /// Goes on with the next file: all that is known of the file that ends is about to go.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn next_file(this: *mut Self) {
        // SAFETY: the caller's promise. While the file is opened COPY's context is not on the stack, as with COPY.
        unsafe {
            Self::finish_file(this);
            pg_raw::clear_slot((*this).single);
            pg_raw::clear_slot((*this).unrouted);
            let (reader, context) = ((*this).reader, (*this).context);
            LineContext::pop(context);
            Referee::leave_load((*reader).referee());
            Reader::next_file(reader);
            let referee = (*reader).referee();
            let caller = pg_sys::MemoryContextSwitchTo((*reader).file_memory());
            (*this).defaults = Defaults::of(&(*reader).opening(), referee);
            pg_sys::MemoryContextSwitchTo(caller);
            (*this).collects = collects(reader, &(*this).table);
            (*this).target = Target::of((*this).table.root, (*this).collects && !(*this).table.is_partitioned());
            let target = (*this).target;
            (*this).takes_tuples = !(*this).defaults.are_computed() && !target.has_generated && !target.triggers.before;
            pg_sys::ReleaseBulkInsertStatePin((*this).bulk);
            LineContext::turn_to(context, referee);
            Referee::enter_load(referee);
            LineContext::push(context);
        }
    }

    /// Behind the first row: who reads on? By then the defaults were computed once, so that those which are the same in
    /// every row are known.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn decide(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            if (*(*this).reader).is_undecided() {
                (*this).defaults.settle((*this).table.relation, (*this).table.executor);
                (*this).takes_tuples &= !(*this).defaults.are_computed();
                let filter = (*this).defaults.filter();
                Reader::decide((*this).reader, filter, (*this).defaults.constants());
                (*this).bursts = Self::may_burst(this);
            }
        }
    }

    /// A slot for the next row, should it come as one.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn free_slot(this: *mut Self) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the caller's promise.
        unsafe {
            if (*this).target.collects && !(*this).table.is_partitioned() {
                (*this).multi.slot((*this).target.relation)
            } else {
                (*this).single
            }
        }
    }

    /// Loads a finished tuple.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn tuple(this: *mut Self, data: pg_sys::HeapTupleHeader, length: u32, place: RowPlace, is_lasting: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            let (number, bytes) = (place.number, place.length.into());
            let partitioned = (*this).table.is_partitioned();
            if !partitioned && (*this).target.collects && (*this).takes_tuples && is_lasting {
                let target = (*this).target.relation;
                if (*this).multi.borrows(target) {
                    let slot = (*this).multi.borrow(target, data, length);
                    if (*this).table.wants(slot) {
                        (*this).table.check(target, slot, false);
                        (*this).multi.store(target, number, bytes);
                        Self::counted(this);
                    } else {
                        (*this).multi.forget(target);
                        (*this).excluded += 1;
                    }
                    return;
                }
            }
            (*this).unrouted_tuple.t_len = length;
            (*this).unrouted_tuple.t_data = data;
            (*this).unrouted_tuple.t_tableOid = (*(*this).table.relation).rd_id;
            let tuple = &raw mut (*this).unrouted_tuple;
            if partitioned && (*this).takes_tuples {
                let slot = (*this).unrouted;
                pg_raw::ExecStoreHeapTuple(tuple, slot, false);
                Self::row_of(this, slot, number, bytes, is_lasting.then_some((data, length)));
                return;
            }
            let slot = Self::free_slot(this);
            pg_raw::clear_slot(slot);
            pg_raw::heap_deform_tuple(tuple, (*slot).tts_tupleDescriptor, (*slot).tts_values, (*slot).tts_isnull);
            (*this).defaults.fill(slot, per_tuple_expressions((*this).table.executor));
            if (*slot).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 != 0 {
                pg_raw::ExecStoreVirtualTuple(slot);
            }
            Self::row(this, slot, number, bytes);
        }
    }

    /// Loads the row in a slot.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn row(this: *mut Self, slot: *mut pg_sys::TupleTableSlot, number: u64, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { Self::row_of(this, slot, number, bytes, None) }
    }

    /// Loads the row in a slot, which may also be had as a tuple that lasts.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn row_of(
        this: *mut Self,
        mut slot: *mut pg_sys::TupleTableSlot,
        number: u64,
        bytes: u64,
        tuple: Option<(pg_sys::HeapTupleHeader, u32)>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            (*slot).tts_tableOid = (*(*this).table.relation).rd_id;
            if !(*this).table.wants(slot) {
                (*this).excluded += 1;
                pg_raw::clear_slot(slot);
                return;
            }
            if (*this).table.is_partitioned() {
                slot = Self::route(this, slot, tuple);
            }
            let target = (*this).target;
            (*slot).tts_tableOid = (*(*target.relation).ri_RelationDesc).rd_id;
            if target.triggers.before && !pg_raw::ExecBRInsertTriggers((*this).table.executor, target.relation, slot) {
                return; // a trigger does not want the row
            }
            (*this).table.check(target.relation, slot, target.triggers.before);
            if target.collects {
                pg_raw::materialize_slot(slot);
                (*this).multi.store(target.relation, number, bytes);
            } else if !(*target.relation).ri_FdwRoutine.is_null() {
                if !Self::insert_foreign(this, slot) {
                    return; // the wrapper does not want the row
                }
            } else {
                let relation = (*target.relation).ri_RelationDesc;
                let insert = (*(*relation).rd_tableam).tuple_insert.expect("every access method has it");
                insert(relation, slot, (*this).table.command, (*this).table.options, (*this).bulk);
                (*this).table.after_insert(target.relation, slot);
            }
            Self::counted(this);
        }
    }

    /// Inserts a row into a foreign table that takes them one by one; false if it does not want it.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn insert_foreign(this: *mut Self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: the caller's promise. CheckValidResultRel has seen that rows can be inserted.
        unsafe {
            let target = (*this).target.relation;
            let insert = (*(*target).ri_FdwRoutine).ExecForeignInsert.expect("rows can be inserted");
            let stored = insert((*this).table.executor, target, slot, std::ptr::null_mut());
            if stored.is_null() {
                return false;
            }
            (*stored).tts_tableOid = (*(*target).ri_RelationDesc).rd_id;
            (*this).table.after_insert(target, stored);
            true
        }
    }

    /// One more row is loaded, or collected.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn counted(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            if !(*this).target.collects {
                (*this).processed += 1;
                Self::report_progress(this);
            } else if (*this).multi.is_full() {
                Self::flush(this, (*this).target.relation);
            }
        }
    }

    /// # Safety
    /// As for `run`.
    pub(super) unsafe fn flush(this: *mut Self, current: *mut pg_sys::ResultRelInfo) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).processed += (*this).multi.flush(&(*this).table, (*this).context, current);
            Reader::give_back((*this).reader);
            Self::report_progress(this);
        }
    }

    /// Inserts what is left of a file, and tells the numbers.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn finish_file(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            let referee = (*(*this).reader).referee();
            match (*(*this).reader).end_place() {
                Some(place) => {
                    let keeps_value = Referee::shows_skipped(referee, place.record);
                    LineContext::at_end((*this).context, place.number, keeps_value);
                }
                None => LineContext::at_end((*this).context, Referee::views(referee).1.line_number, true),
            }
            if !(*this).multi.is_empty() {
                Self::flush(this, std::ptr::null_mut());
            }
            Self::report_progress(this);
        }
    }

    /// # Safety
    /// As for `run`.
    unsafe fn report_progress(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { Reader::report_rows((*this).reader, (*this).processed, (*this).excluded) }
    }

    /// Lets everything go that is not the table's.
    ///
    /// # Safety
    /// As for `run`, which must have returned; the table must be finished.
    pub(super) unsafe fn end(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).multi.end(&(*this).table);
            pg_sys::FreeBulkInsertState((*this).bulk);
            pg_sys::ExecDropSingleTupleTableSlot((*this).unrouted);
        }
    }
}

/// May rows be collected before they are inserted? As in COPY, not where somebody might look at the table meanwhile.
///
/// # Safety
/// All must be of the same load.
unsafe fn collects(reader: *mut Reader, table: &Table) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let (_, options) = Referee::views((*reader).referee());
        let condition = (*reader).opening().condition;
        let triggers = RowTriggers::of(table.root);
        let has_transition = table.is_partitioned()
            && !(*table.root).ri_TrigDesc.is_null()
            && (*(*table.root).ri_TrigDesc).trig_insert_new_table;
        let looks_at_table = triggers.before || triggers.instead || has_transition || options.volatile_defaults;
        !looks_at_table && !pg_sys::contain_volatile_functions(condition.cast())
    }
}
