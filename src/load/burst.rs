//! The short way for rows that come finished and need nothing more: most rows of most loads.
//!
//! The general way ([`super::rows`]) looks at everything a row might need and hands its place from function to function
//! in case of an error. Where the target is one heap table whose constraints a row without NULLs satisfies at sight, a
//! row needs nothing of that: its tuple is noted where it lies, until enough are collected.

#![expect(unsafe_code, reason = "notes tuples where they lie")]

use super::context::LineContext;
use super::rows::Rows;
use super::table;
use crate::reader::{Reader, Take};

impl Rows {
    /// Whether rows may go the short way at all.
    ///
    /// # Safety
    /// As for [`Rows::run`].
    pub(super) unsafe fn may_burst(this: *mut Self) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let (table, target) = (&(*this).table, (*this).target);
            (*this).takes_tuples
                && target.collects
                && !table.is_partitioned()
                && table.is_unconditional()
                && (*this).multi.borrows(target.relation)
                && table::takes_rows_without_nulls((*target.relation).ri_RelationDesc)
        }
    }

    /// Collects rows as long as they may go the short way and are not enough; false if there was none.
    ///
    /// # Errors
    /// Raises COPY's errors.
    ///
    /// # Safety
    /// As for [`Rows::run`], and [`Rows::may_burst`] must have said so.
    pub(super) unsafe fn burst(this: *mut Self) -> bool {
        // SAFETY: the caller's promise. The tuples stay where they are until blocks are given back, behind the flush.
        unsafe {
            let target = (*this).target.relation;
            let attributes = (*(*(*target).ri_RelationDesc).rd_att).natts as u16;
            let mut collected = (*this).multi.collector(target);
            let taken = Reader::finished_rows((*this).reader, |data, length, number, bytes| {
                if !table::is_without_nulls(data, attributes) {
                    return Take::Refused;
                }
                collected.borrow(data, length, number, bytes);
                if collected.multi.is_full() { Take::Last } else { Take::Taken }
            });
            let Some(place) = taken else { return false };
            LineContext::row((*this).context, place);
            if (*this).multi.is_full() {
                Self::flush(this, target);
            }
            true
        }
    }
}
