//! The sink `multi`: rows collected and inserted many at a time.
//!
//! Rows are collected and flushed as COPY collects and flushes them: up to 1000 rows or 65,535 bytes of lines over all
//! partitions, then each partition's heap tuples at once and after that, row by row, index entries and AFTER triggers.
//! Which of several errors in a file is the one that is raised depends on when that happens, so the limits are COPY's.
//! (Larger batches were measured not to be faster.)
//!
//! A finished tuple is not copied: the slot points to it where it lies, in a block that the reader keeps until the
//! flush, and PostgreSQL writes its header there. For that the slot must believe that it owns the tuple
//! ([`Buffer::begin_to_borrow`]), and must be talked out of it before it is emptied.

#![expect(unsafe_code, reason = "fills slots and inserts tuples through the table's access method")]

use pgrx::{PgList, pg_sys};

use super::buffer::Buffer;
use super::context::LineContext;
use super::table::Table;

/// Rows that are collected at most.
pub(super) const MOST_ROWS: usize = 1000;

/// Bytes of lines that are collected at most.
const MOST_BYTES: u64 = 65535;

/// Buffers that are kept from flush to flush; a table may have more partitions than that.
const MOST_BUFFERS: usize = 32;

/// What is collected for all partitions.
pub(super) struct Multi {
    buffers: *mut pg_sys::List,
    rows: usize,
    bytes: u64,
}

impl Multi {
    /// Nothing collected.
    pub(super) fn new() -> Multi {
        Multi { buffers: std::ptr::null_mut(), rows: 0, bytes: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= MOST_ROWS || self.bytes >= MOST_BYTES
    }

    /// The slot for the next row of `target`, which is not full.
    ///
    /// # Safety
    /// `target` must be alive.
    pub(super) unsafe fn slot(&mut self, target: *mut pg_sys::ResultRelInfo) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the caller's promise.
        unsafe { Buffer::slot(self.buffer(target)) }
    }

    /// Can finished tuples of `target` be stored where they lie?
    ///
    /// # Safety
    /// `target` must be alive.
    pub(super) unsafe fn borrows(&mut self, target: *mut pg_sys::ResultRelInfo) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (*self.buffer(target)).is_heap }
    }

    /// Puts a finished tuple into the next slot of `target`, where it lies. It must stay there until the flush, or
    /// [`Multi::copy_borrowed`].
    ///
    /// # Safety
    /// [`Multi::borrows`] must have said so, and the tuple be of the target's row type.
    pub(super) unsafe fn borrow(
        &mut self,
        target: *mut pg_sys::ResultRelInfo,
        data: pg_sys::HeapTupleHeader,
        length: u32,
    ) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the caller's promise.
        unsafe {
            let buffer = self.buffer(target);
            Buffer::borrow(buffer, data, length);
            Buffer::current(buffer)
        }
    }

    /// Counts the row in the slot taken last for `target` in; it must not depend on memory that goes with the row.
    ///
    /// # Safety
    /// The slot must hold a row.
    pub(super) unsafe fn store(&mut self, target: *mut pg_sys::ResultRelInfo, number: u64, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            let buffer = self.buffer(target);
            self.store_in(buffer, number, bytes);
        }
    }

    /// As [`Multi::store`], in a buffer that is known.
    ///
    /// # Safety
    /// As for [`Multi::store`]; the buffer must be one of these.
    #[inline(always)]
    unsafe fn store_in(&mut self, buffer: *mut Buffer, number: u64, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { Buffer::store(buffer, number) };
        self.rows += 1;
        self.bytes += bytes;
    }

    /// What collects many borrowed rows of `target`, at most as many as there is room for.
    ///
    /// # Safety
    /// [`Multi::borrows`] must have said so.
    #[inline]
    pub(super) unsafe fn collector(&mut self, target: *mut pg_sys::ResultRelInfo) -> Collector<'_> {
        // SAFETY: the caller's promise.
        let buffer = unsafe { self.buffer(target) };
        Collector { multi: self, buffer }
    }

    /// The row in the slot taken last for `target` is not stored after all.
    ///
    /// # Safety
    /// `target` must be alive.
    pub(super) unsafe fn forget(&mut self, target: *mut pg_sys::ResultRelInfo) {
        // SAFETY: the caller's promise.
        unsafe {
            Buffer::forget(self.buffer(target));
        }
    }

    /// Copies every borrowed tuple, so that none depends on where it lay.
    ///
    /// # Safety
    /// The tuples must still be there.
    pub(super) unsafe fn copy_borrowed(&mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            for buffer in PgList::<Buffer>::from_pg(self.buffers).iter_ptr() {
                Buffer::copy_borrowed(buffer);
            }
        }
    }

    /// Inserts all that was collected; returns the number of rows that were inserted.
    ///
    /// # Errors
    /// Raises what inserting raises, with the context COPY gives it.
    ///
    /// # Safety
    /// All must be alive; nothing with a destructor on the caller's frames. `current` is the target whose buffer must
    /// stay.
    pub(super) unsafe fn flush(
        &mut self,
        table: &Table,
        context: *mut LineContext,
        current: *mut pg_sys::ResultRelInfo,
    ) -> u64 {
        // SAFETY: the caller's promise. The list is walked by index: nothing is added to it meanwhile.
        unsafe {
            let (count, mut inserted) = (list_length(self.buffers), 0);
            for index in 0..count {
                inserted += Buffer::flush(pg_sys::list_nth(self.buffers, index).cast(), table, context);
            }
            (self.rows, self.bytes) = (0, 0);
            while list_length(self.buffers) as usize > MOST_BUFFERS {
                let mut oldest: *mut Buffer = pg_sys::list_nth(self.buffers, 0).cast();
                self.buffers = pg_sys::list_delete_first(self.buffers);
                if (*oldest).target == current {
                    self.buffers = pg_sys::lappend(self.buffers, oldest.cast());
                    oldest = pg_sys::list_nth(self.buffers, 0).cast();
                    self.buffers = pg_sys::list_delete_first(self.buffers);
                }
                Buffer::drop(oldest, table);
            }
            inserted
        }
    }

    /// Lets all buffers go; they must be empty.
    ///
    /// # Safety
    /// The table must be open.
    pub(super) unsafe fn end(&mut self, table: &Table) {
        // SAFETY: the caller's promise.
        unsafe {
            for index in 0..list_length(self.buffers) {
                Buffer::drop(pg_sys::list_nth(self.buffers, index).cast(), table);
            }
            self.buffers = std::ptr::null_mut();
        }
    }

    /// The buffer of a target, made when it is first asked for.
    ///
    /// # Safety
    /// `target` must be alive, and the current memory context last as long as the load.
    unsafe fn buffer(&mut self, target: *mut pg_sys::ResultRelInfo) -> *mut Buffer {
        // SAFETY: the caller's promise; nobody but us uses this field of a target that we have opened.
        unsafe {
            let known: *mut Buffer = (*target).ri_CopyMultiInsertBuffer.cast();
            if !known.is_null() {
                return known;
            }
            let buffer = Buffer::make(target);
            (*target).ri_CopyMultiInsertBuffer = buffer.cast();
            self.buffers = pg_sys::lappend(self.buffers, buffer.cast());
            buffer
        }
    }
}

/// Collects borrowed rows of one table, one after the other.
pub(super) struct Collector<'m> {
    pub(super) multi: &'m mut Multi,
    buffer: *mut Buffer,
}

impl Collector<'_> {
    /// Collects a tuple with COPY's number of its row, and the bytes of its line.
    ///
    /// # Safety
    /// There must be room ([`Multi::is_full`]), and the tuple stay where it is until the flush, or
    /// [`Multi::copy_borrowed`].
    #[inline(always)]
    pub(super) unsafe fn borrow(&mut self, data: pg_sys::HeapTupleHeader, length: u32, number: u64, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            Buffer::borrow(self.buffer, data, length);
            self.multi.store_in(self.buffer, number, bytes);
        }
    }
}

/// # Safety
/// `list` must be a list, or null.
unsafe fn list_length(list: *mut pg_sys::List) -> i32 {
    // SAFETY: the caller's promise.
    if list.is_null() { 0 } else { unsafe { (*list).length } }
}
