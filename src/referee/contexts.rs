//! The referee's error contexts: COPY's above the one that tells the place, on PostgreSQL's stack while a record is
//! read or loaded.

#![expect(unsafe_code, reason = "links records into PostgreSQL's stack of error contexts")]

use std::ffi::c_char;
use std::io;

use fastcsv_engine::locate::Checkpoint;
use pgrx::pg_sys;

use super::Referee;
use super::shim::{self, CopyView};
use crate::position::Places;

impl Referee {
    /// Puts the error contexts on the stack for values of the record at `place` that somebody else converts; returns
    /// what [`Referee::leave`] wants.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn enter(this: *mut Self, place: Checkpoint) -> *mut pg_sys::ErrorContextCallback {
        // SAFETY: the caller's promise.
        unsafe {
            let outer = pg_sys::error_context_stack;
            let descriptor =
                (*this).feed.map_or(Some(CopyView::of((*this).state).descriptor), |feed| feed.as_ref().descriptor());
            (*this).position.restart(place, descriptor.map_or(Places::AtStart, Places::ByFile));
            if !(*this).is_entered {
                (*this).push_contexts(outer);
            }
            outer
        }
    }

    /// Puts the error contexts on the stack until [`Referee::leave_load`]: all that happens meanwhile happens to some
    /// line of the file.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn enter_load(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).push_contexts(pg_sys::error_context_stack);
            (*this).is_entered = true;
            if !(*this).stream.is_null() {
                // An error may be about a row that was read long before.
                (*this).position.count_nothing();
            }
        }
    }

    /// Takes them off again.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; they must be the topmost contexts.
    pub(crate) unsafe fn leave_load(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            pg_sys::error_context_stack = (*this).position.outer();
            (*this).is_entered = false;
        }
    }

    /// Tells the progress view that the input was read up to a position.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn report_position(this: *mut Self, position: u64) {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_report_position((*this).state, position) }
    }

    /// The next errors are about a record at `place`, or about one that only COPY's line number tells.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn point_at(this: *mut Self, place: Checkpoint, places: Places) {
        // SAFETY: the caller's promise.
        unsafe { (*this).position.restart(place, places) }
    }

    /// Raises the error of a read that failed, with COPY's line number at `place`.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn raise_read_error(this: *mut Self, place: Checkpoint, error: &io::Error) -> ! {
        // SAFETY: the caller's promise. Whoever catches the error takes the contexts off.
        unsafe {
            Self::enter(this, place);
            shim::fastcsv_shim_hide_line((*this).state, place.number, false);
            shim::raise_read_error(error, (*this).position.source().shown())
        }
    }

    /// Raises the error of a compressed file in which something is wrong, with COPY's line number at `place`.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; `detail` must be a C string.
    pub(crate) unsafe fn raise_damaged(this: *mut Self, place: Checkpoint, detail: *const c_char) -> ! {
        // SAFETY: the caller's promise, as above.
        unsafe {
            Self::enter(this, place);
            shim::fastcsv_shim_hide_line((*this).state, place.number, false);
            shim::raise_damaged((*this).position.source().shown(), detail)
        }
    }

    /// Raises the error for a file that is not any more what it was when the read began.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn raise_overwritten(this: *mut Self) -> ! {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_raise_changed((*this).position.source().shown(), false) }
    }

    /// The next error is about this column's value, null for NULL, in the record with COPY's number.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; both strings must live until the next call.
    pub(crate) unsafe fn name_value(this: *mut Self, number: u64, column: *const c_char, value: *const c_char) {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_name_value((*this).state, number, column, value) }
    }

    /// Takes the error contexts off again.
    ///
    /// # Safety
    /// `outer` must come from [`Referee::enter`].
    pub(crate) unsafe fn leave(this: *mut Self, outer: *mut pg_sys::ErrorContextCallback) {
        // SAFETY: the caller's promise.
        unsafe {
            shim::fastcsv_shim_name_value((*this).state, 0, std::ptr::null(), std::ptr::null());
            pg_sys::error_context_stack = outer;
        }
    }

    /// Puts COPY's error context above ours above `outer`.
    ///
    /// # Safety
    /// `self` must stay where it is until the contexts are popped.
    pub(super) unsafe fn push_contexts(&mut self, outer: *mut pg_sys::ErrorContextCallback) {
        // SAFETY: the caller's promise; the stack is a linked list of such records.
        unsafe {
            self.copy_context.previous = self.position.push_on(outer);
            pg_sys::error_context_stack = &raw mut self.copy_context;
        }
    }
}
