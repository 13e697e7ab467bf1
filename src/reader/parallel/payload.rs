//! From entries in blocks to rows in slots.
//!
//! Most rows stay where they are, as tuples; one that came in parts is joined first. A slot that wants values is given
//! them one by one.

#![expect(unsafe_code, reason = "hands tuples in shared memory to the executor")]

use fastcsv_engine::entry::{self, EntryKind, Mark};
use fastcsv_engine::job::{Attribute, Job};
use fastcsv_engine::tuple::{self, Found as Value};
use pgrx::pg_sys;

use super::super::{RowPlace, Take};
use super::Parallel;
use crate::memory;
use crate::pg_raw;

impl Parallel {
    /// The next entry, its payload at `tuple.t_data` and of the given length; `None` at the end of the block.
    ///
    /// # Safety
    /// `this` must be alive.
    #[inline]
    pub(super) unsafe fn next_payload(this: *mut Self) -> Option<(EntryKind, Mark, u32)> {
        // SAFETY: the caller's promise. The block is not given back before `advance`.
        unsafe {
            loop {
                let this = &mut *this;
                let (part, next) = entry::read(this.worker.consumer.block(), this.offset)?;
                this.offset = next;
                if part.more || this.joined_length > 0 {
                    let (kind, mark) = (part.kind, part.mark);
                    let (payload, more): (*const [u8], bool) = (part.payload, part.more);
                    this.join(&*payload, mark);
                    if more {
                        continue;
                    }
                    let length = std::mem::take(&mut this.joined_length) as u32;
                    this.tuple.t_data = this.joined.as_mut_ptr().cast();
                    this.is_joined = true;
                    return Some((kind, this.joined_mark.take().unwrap_or_default(), length));
                }
                this.tuple.t_data = part.payload.as_ptr().cast_mut().cast();
                this.is_joined = false;
                return Some((part.kind, part.mark.unwrap_or_default(), part.payload.len() as u32));
            }
        }
    }

    /// Is something to be done before the next entry?
    #[inline]
    fn is_interrupted(&self) -> bool {
        self.held.is_some() || self.rereads || self.joined_length > 0
    }

    /// The next entry if it is a finished row, whole and without a place, as most are: at `tuple.t_data`, of the length
    /// that is returned. What else there is [`Parallel::next_item`] finds.
    #[inline]
    pub(super) fn plain_row(&mut self) -> Option<u32> {
        if self.is_interrupted() {
            return None;
        }
        let (part, next) = entry::read(self.worker.consumer.block(), self.offset)?;
        if part.kind != EntryKind::Row || part.more {
            return None;
        }
        self.tuple.t_data = part.payload.as_ptr().cast_mut().cast();
        self.is_joined = false;
        let length = part.payload.len() as u32;
        self.offset = next;
        Some(length)
    }

    /// Offers the finished rows that come next in the current block, which are whole and need nothing more; returns how
    /// many were taken, and the place of the last.
    #[inline]
    pub(in crate::reader) fn finished_rows(
        &mut self,
        mut take: impl FnMut(pg_sys::HeapTupleHeader, u32, u64, u64) -> Take,
    ) -> (u64, Option<RowPlace>) {
        let (mut rows, mut last) = (0, None);
        if self.is_interrupted() {
            return (rows, None);
        }
        let block = self.worker.consumer.block();
        while let Some((part, next)) = entry::read(block, self.offset) {
            let (EntryKind::PlacedRow, false, Some(mark)) = (part.kind, part.more, part.mark) else { break };
            let data: pg_sys::HeapTupleHeader = part.payload.as_ptr().cast_mut().cast();
            let length = part.payload.len() as u32 - mark.text;
            let taken = take(data, length, self.number_behind(mark), mark.length.into());
            if taken == Take::Refused {
                break;
            }
            self.offset = next;
            rows += 1;
            last = Some((mark, data, length));
            if taken == Take::Last {
                break;
            }
        }
        let Some((mark, data, length)) = last else { return (rows, None) };
        self.tuple.t_data = data;
        (rows, Some(self.row_place(mark, length)))
    }

    /// Adds a part of a payload to those before it.
    pub(super) fn join(&mut self, part: &[u8], mark: Option<Mark>) {
        if self.joined_length == 0 {
            self.joined_mark = mark;
        }
        let length = self.joined_length + part.len();
        let words = length.div_ceil(size_of::<u64>());
        if words > self.joined.len() {
            let more = words - self.joined.len();
            if self.joined.try_reserve(more).is_err() {
                memory::raise_out_of_memory();
            }
            self.joined.resize(words, 0);
        }
        // SAFETY: the words hold at least `length` bytes, and the parts do not overlap.
        unsafe {
            let end = self.joined.as_mut_ptr().cast::<u8>().add(self.joined_length);
            end.copy_from_nonoverlapping(part.as_ptr(), part.len());
        }
        self.joined_length = length;
    }

    /// Puts the finished tuple at `tuple.t_data` into the slot.
    ///
    /// # Safety
    /// As for `next`.
    #[inline]
    pub(super) unsafe fn store(this: *mut Self, slot: *mut pg_sys::TupleTableSlot, length: u32) {
        // SAFETY: the caller's promise; the tuple stays where it is until the next call.
        unsafe {
            (*this).tuple.t_len = length;
            let tuple = &raw mut (*this).tuple;
            match (*this).form {
                Form::Whole => {
                    pg_raw::ExecStoreHeapTuple(tuple, slot, false);
                }
                Form::Apart => {
                    pg_raw::clear_slot(slot);
                    let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
                    pg_raw::heap_deform_tuple(tuple, (*slot).tts_tupleDescriptor, values, nulls);
                    pg_raw::ExecStoreVirtualTuple(slot);
                }
                Form::Few => {
                    pg_raw::clear_slot(slot);
                    Self::find_few(this, slot, length);
                    pg_raw::ExecStoreVirtualTuple(slot);
                }
            }
        }
    }

    /// Takes the few attributes that are set out of the tuple.
    ///
    /// # Safety
    /// As for `next`.
    #[inline]
    pub(super) unsafe fn find_few(this: *mut Self, slot: *mut pg_sys::TupleTableSlot, length: u32) {
        // SAFETY: the caller's promise. The slot has an element for each attribute, and values of up to 8 bytes are
        // passed by value, as PostgreSQL does where a Datum has 8.
        unsafe {
            let this = &mut *this;
            let tuple = std::slice::from_raw_parts(this.tuple.t_data.cast::<u8>(), length as usize);
            let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            if !std::mem::replace(&mut this.others_are_null, true) {
                let columns = (*(*slot).tts_tupleDescriptor).natts.unsigned_abs() as usize;
                std::slice::from_raw_parts_mut(nulls, columns).fill(true);
            }
            let wanted = &this.few[..];
            tuple::find(tuple, wanted, |place, found| {
                let (index, attribute) = wanted[place];
                *nulls.add(index) = found == Value::Null;
                if let Value::At(at) = found {
                    *values.add(index) = datum_at(tuple.as_ptr().add(at), attribute.length);
                }
            });
        }
    }
}

/// The value at a place of a tuple.
///
/// # Safety
/// There must be one of that length, aligned as its type wants it.
#[inline]
unsafe fn datum_at(place: *const u8, length: Option<u16>) -> pg_sys::Datum {
    // SAFETY: the caller's promise.
    unsafe {
        match length {
            Some(8) => pg_sys::Datum::from(place.cast::<i64>().read()),
            Some(4) => pg_sys::Datum::from(place.cast::<i32>().read()),
            Some(2) => pg_sys::Datum::from(place.cast::<i16>().read()),
            Some(1) => pg_sys::Datum::from(place.cast::<i8>().read()),
            _ => pg_sys::Datum::from(place.expose_provenance()),
        }
    }
}

/// How rows go into the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As the tuple they are.
    Whole,
    /// Value by value, because somebody asks for system columns or the slot holds no heap tuples.
    Apart,
    /// Those few values that are set, one by one: cheaper than PostgreSQL's walk over all the others.
    Few,
}

/// The attributes that the job's rows have, in the table's order.
pub(super) fn set_attributes(job: &Job) -> Vec<(usize, Attribute)> {
    let targets = job.fields.iter().filter_map(|field| field.target.as_ref()).map(|target| target.attribute);
    let targets = targets.chain(job.layout.constants.iter().map(|(attribute, _)| *attribute));
    let mut set: Vec<_> = targets.map(|attribute| (attribute, job.layout.attributes[attribute])).collect();
    set.sort_by_key(|(index, _)| *index);
    set
}
