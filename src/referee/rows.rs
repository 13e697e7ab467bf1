//! Rows from COPY's parser: one by one, or all of them into the table; and what it asks for meanwhile.

#![expect(unsafe_code, reason = "calls COPY's parser, and is called back by it")]

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::offset_of;

use pgrx::{pg_guard, pg_sys};

use super::Referee;
use super::shim::{self, CopyView};
use crate::pg_raw;
use crate::position::PositionContext;
use crate::reader::Fixed;

impl Referee {
    /// Lets COPY insert all rows into its table; returns how many. Nobody knows then which record it is at.
    ///
    /// # Errors
    /// Raises COPY's errors.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; no row may have been read.
    pub(crate) unsafe fn copy_all(this: *mut Self) -> u64 {
        // SAFETY: the caller's promise. COPY puts its own context on the stack, directly above ours.
        unsafe {
            if !(*this).stream.is_null() {
                (*(*this).stream).lose_track();
            }
            let outer = pg_sys::error_context_stack;
            (*this).position.count_nothing();
            pg_sys::error_context_stack = (*this).position.push_on(outer);
            let processed = pg_raw::CopyFrom((*this).state);
            pg_sys::error_context_stack = outer;
            processed
        }
    }

    /// Reads the next row into `values` and `nulls`, one element a column of the relation; false at the end.
    /// `expressions` serves DEFAULT values and may be null where there are none.
    ///
    /// # Errors
    /// Raises the error COPY raises for this row.
    ///
    /// # Safety
    /// `this` must come from this type's constructors and not be ended; both arrays must be long enough. Nothing
    /// with a destructor may be alive on the caller's frame.
    pub(crate) unsafe fn next_row(
        this: *mut Self,
        expressions: *mut pg_sys::ExprContext,
        values: *mut pg_sys::Datum,
        nulls: *mut bool,
    ) -> bool {
        // SAFETY: the caller's promise. PostgreSQL runs on one thread, so nobody else touches the stack or `this`.
        unsafe {
            let outer = pg_sys::error_context_stack;
            if !(*this).is_entered {
                (*this).push_contexts(outer);
            }
            Self::settle(this);
            let found = pg_raw::NextCopyFrom((*this).state, expressions, values, nulls);
            pg_sys::error_context_stack = outer;
            if found {
                (*this).position.count_record();
                (*this).took_record = true;
            } else if !(*this).stream.is_null() && !(*(*this).stream).is_at_end() {
                // What comes behind the data's end is not its last line's.
                let line_number = CopyView::of((*this).state).line_number;
                shim::fastcsv_shim_hide_line((*this).state, line_number, true);
                if let Err(error) = (*(*this).stream).end_data() {
                    shim::raise_read_error(&error, (*this).position.source().shown());
                }
            }
            found
        }
    }

    /// Reads the next row into the slot, which is empty at the end: `None` if the row was passed over by `ON_ERROR
    /// ignore`, false at the end. The values live until the next call, in the expressions' per-tuple memory.
    ///
    /// # Errors
    /// As for [`Referee::next_row`], and those of [`Referee::row_was_skipped`].
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; the slot must be for the relation's rows.
    pub(crate) unsafe fn fill(
        this: *mut Self,
        expressions: *mut pg_sys::ExprContext,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> Option<bool> {
        // SAFETY: the caller's promise.
        unsafe {
            pg_raw::clear_slot(slot);
            let memory = (*expressions).ecxt_per_tuple_memory;
            pg_sys::MemoryContextReset(memory);
            let caller = pg_sys::MemoryContextSwitchTo(memory);
            let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            let found = if (*this).values.is_null() {
                Self::next_row(this, expressions, values, nulls)
            } else {
                let columns = (*(*slot).tts_tupleDescriptor).natts.unsigned_abs() as usize;
                let found = Self::next_row(this, expressions, (*this).values, (*this).nulls);
                values.copy_from_nonoverlapping((*this).values, columns);
                nulls.copy_from_nonoverlapping((*this).nulls, columns);
                found
            };
            pg_sys::MemoryContextSwitchTo(caller);
            if found && Self::row_was_skipped(this) {
                pgrx::check_for_interrupts!();
                return None;
            }
            if found {
                for fixed in (*this).fixed_values() {
                    *(*slot).tts_isnull.add(fixed.attribute) = fixed.value.is_none();
                    *(*slot).tts_values.add(fixed.attribute) = fixed.value.unwrap_or(pg_sys::Datum::null());
                }
                pg_raw::ExecStoreVirtualTuple(slot);
            }
            Some(found)
        }
    }

    /// COPY was shown a relation that may have columns behind those of the real one, which rows are wanted of.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; both must be open. Must be called in memory that lives as long as this.
    pub(crate) unsafe fn widen(this: *mut Self, shown: pg_sys::Relation, relation: pg_sys::Relation) {
        // SAFETY: the caller's promise.
        unsafe {
            let columns = (*(*shown).rd_att).natts.unsigned_abs() as usize;
            if columns > (*(*relation).rd_att).natts.unsigned_abs() as usize {
                (*this).values = pg_sys::palloc(columns * size_of::<pg_sys::Datum>()).cast();
                (*this).nulls = pg_sys::palloc(columns).cast();
            }
        }
    }

    /// Was COPY shown more columns?
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn is_wide(this: *mut Self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { !(*this).values.is_null() }
    }

    /// These values are in every row, whatever the file holds. They must live as long as this.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn fix(this: *mut Self, values: *const Fixed, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { ((*this).fixed, (*this).fixed_count) = (values, count) }
    }

    /// These values.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn fixed<'a>(this: *mut Self) -> &'a [Fixed] {
        // SAFETY: the caller's promise.
        unsafe { (*this).fixed_values() }
    }

    /// Is the attribute (0-based) one of these?
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn fixes(this: *mut Self, attribute: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (*this).fixed_values() }.iter().any(|fixed| fixed.attribute == attribute)
    }

    pub(super) fn fixed_values<'a>(&self) -> &'a [Fixed] {
        match self.fixed.is_null() {
            true => &[],
            // SAFETY: `fix` was promised so many, that live as long.
            false => unsafe { std::slice::from_raw_parts(self.fixed, self.fixed_count) },
        }
    }

    /// The referee whose COPY asks for bytes: its callback carries no argument of its own, and while all rows are
    /// inserted triggers may read something else.
    ///
    /// # Safety
    /// Must be called from COPY's data source callback.
    pub(super) unsafe fn reading() -> *mut Self {
        // SAFETY: the caller's promise. The context below COPY's is a field of the referee.
        unsafe { PositionContext::below_copy().byte_sub(offset_of!(Self, position)).cast() }
    }

    /// Was the row just read passed over by `ON_ERROR ignore`? (From PostgreSQL 17; false before.)
    ///
    /// # Errors
    /// Raises COPY's error when more rows were passed over than `REJECT_LIMIT` allows.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn row_was_skipped(this: *mut Self) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let skipped = shim::fastcsv_shim_row_was_skipped((*this).state);
            if skipped {
                (*this).behind_skipped = Some((*this).position.next_record() + (*this).headers);
                let outer = pg_sys::error_context_stack;
                if !(*this).is_entered {
                    (*this).push_contexts(outer);
                }
                shim::fastcsv_shim_check_reject_limit((*this).state);
                pg_sys::error_context_stack = outer;
            }
            skipped
        }
    }

    /// Does COPY's error context still show a value of the record before this one, which was passed over?
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn shows_skipped(this: *mut Self, record: u64) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (*this).behind_skipped == Some(record) }
    }

    /// How many rows were passed over so far, in files before this one too; and that so many were before.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn skipped(this: *mut Self) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_skipped((*this).state) }
    }

    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn add_skipped(this: *mut Self, before: i64) {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_add_skipped((*this).state, before) }
    }

    /// Says how many rows were passed over, as a load or as a scan does.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn report_skipped(this: *mut Self, is_load: bool) {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_report_skipped((*this).state, is_load) }
    }
}

/// COPY's data source callback: fills `buffer` with at least one byte and at most `most`, or returns 0 at the end.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn read_feed(buffer: *mut c_void, _least: c_int, most: c_int) -> c_int {
    // SAFETY: COPY calls this only below `next_row` and `copy_all`, which have put the contexts of their referee on the
    // stack, and passes a buffer of `most` bytes. They are initialised here, so that the feed sees ordinary memory.
    let (referee, buffer) = unsafe {
        let length = usize::try_from(most).expect("COPY asks for a positive number of bytes");
        std::ptr::write_bytes(buffer.cast::<u8>(), 0, length);
        (&mut *Referee::reading(), std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length))
    };
    let mut feed = referee.feed.expect("only a referee with a feed has this callback");
    // SAFETY: the feed outlives the referee (see `start_at`), and nobody else uses it meanwhile.
    match unsafe { feed.as_mut() }.read(buffer) {
        Ok(count) => {
            referee.feed_position += count as u64;
            let count = c_int::try_from(count).expect("a feed returns no more than it was asked for");
            // SAFETY: the COPY that asks.
            unsafe { shim::fastcsv_shim_note_read(referee.state, referee.feed_position, count) };
            count
        }
        Err(error) => {
            let name = referee.position.source().shown();
            if error.kind() == io::ErrorKind::InvalidData && !referee.stream.is_null() {
                // SAFETY: the stream lives as long as the referee.
                unsafe { shim::raise_damaged(name, shim::palloced((*referee.stream).damage())) }
            }
            shim::raise_read_error(&error, name)
        }
    }
}
