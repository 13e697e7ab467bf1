//! Row images beside the tuples that PostgreSQL forms, as an SQL function for the tests (`tests/images`).
//!
//! The function is not part of the extension's SQL. The tests declare it themselves, which only a superuser can:
//!
//! ```sql
//! CREATE FUNCTION image(relation regclass, OUT images int8, OUT others int8, OUT difference text)
//!     LANGUAGE c AS 'fastcsv', 'fastcsv_test_image';
//! ```
//!
//! It reads a fastcsv foreign table twice at once: through a [`Reader`], which goes to a worker where the settings
//! allow it, and with the referee alone, whose values `heap_form_tuple` makes a tuple of. It says how many tuples of
//! the worker's were the same, byte for byte; how many rows came value by value and were the same; and what the first
//! difference is, in hexadecimal.

#![expect(unsafe_code, reason = "compares tuples by pointer")]

use std::fmt::Write;

use pgrx::{IntoDatum, pg_sys};

use crate::call::Call;
use crate::options::TableOptions;
use crate::reader::{Item, Reader, Wanted};
use crate::referee::{Opening, Referee};

/// What a comparison of all rows came to.
#[derive(Clone, Copy, Default)]
struct Comparison {
    images: u64,
    others: u64,
    /// The image and the tuple that are not the same, if there are any; one may be missing.
    difference: Option<[Bytes; 2]>,
}

/// Bytes in PostgreSQL's memory or the worker's.
#[derive(Clone, Copy)]
struct Bytes {
    start: *const u8,
    length: usize,
}

impl Bytes {
    const NONE: Bytes = Bytes { start: std::ptr::NonNull::dangling().as_ptr(), length: 0 };

    /// # Safety
    /// The bytes must still be there.
    unsafe fn get<'b>(self) -> &'b [u8] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// The function's body.
pub(crate) fn compare(call: &Call) -> pg_sys::Datum {
    let table = call.oid(0).expect("the function is called with a table");
    // SAFETY: the tests declare the function as described above. While rows are read nothing with a destructor is alive
    // here; the difference is put into words while both rows are still there.
    let (found, difference) = unsafe {
        let TableOptions { source, io, copy, .. } = TableOptions::of(table);
        let relation = pg_sys::table_open(table, pg_sys::AccessShareLock.cast_signed());
        let opening = Opening::of(relation, source, copy);
        let referee = Referee::open(&opening);
        let reader = Reader::open(&opening, Wanted { io, ..Wanted::default() });
        let found = compare_rows(relation, referee, reader);
        let difference = found.difference.map(|[image, tuple]| {
            let row = found.images + found.others + 1;
            format!("row {row}: {} is not {}", hex(image.get()), hex(tuple.get()))
        });
        Reader::end(reader, "scan");
        Referee::end(referee);
        pg_sys::table_close(relation, pg_sys::AccessShareLock.cast_signed());
        (found, difference)
    };
    call.row(&[
        found.images.cast_signed().into_datum(),
        found.others.cast_signed().into_datum(),
        difference.into_datum(),
    ])
}

/// Reads both to their ends, or to the first difference.
///
/// # Safety
/// Both must be over the relation; nothing with a destructor may be alive on the caller's frames.
unsafe fn compare_rows(relation: pg_sys::Relation, referee: *mut Referee, reader: *mut Reader) -> Comparison {
    // SAFETY: the caller's promise; the slots live as long as the query.
    unsafe {
        let mut found = Comparison::default();
        let make_slot = || pg_sys::MakeSingleTupleTableSlot((*relation).rd_att, &raw const pg_sys::TTSOpsVirtual);
        let (other, slot) = (make_slot(), make_slot());
        let expressions = pg_sys::CreateStandaloneExprContext();
        loop {
            if (*reader).is_undecided() {
                Reader::decide(reader, None, Vec::new());
            }
            let item = Reader::next_item(reader, other);
            let has_row = Referee::fill(referee, expressions, slot) == Some(true);
            let tuple = if has_row { form(relation, expressions, slot) } else { Bytes::NONE };
            let (image, is_image) = match item {
                Item::Tuple { data, length, .. } => (Bytes { start: data.cast(), length: length as usize }, true),
                Item::InSlot { .. } => (form(relation, expressions, other), false),
                Item::Full | Item::EndOfFile | Item::End => (Bytes::NONE, false),
            };
            if image.get() != tuple.get() {
                found.difference = Some([image, tuple]);
                return found;
            }
            if !has_row {
                return found;
            }
            found.images += u64::from(is_image);
            found.others += u64::from(!is_image);
        }
    }
}

/// The tuple that PostgreSQL forms of the row in the slot.
///
/// # Safety
/// The slot must hold a row of the relation.
unsafe fn form(
    relation: pg_sys::Relation,
    expressions: *mut pg_sys::ExprContext,
    slot: *mut pg_sys::TupleTableSlot,
) -> Bytes {
    // SAFETY: the caller's promise; the tuple lives as long as the row's values.
    unsafe {
        let caller = pg_sys::MemoryContextSwitchTo((*expressions).ecxt_per_tuple_memory);
        let tuple = pg_sys::heap_form_tuple((*relation).rd_att, (*slot).tts_values, (*slot).tts_isnull);
        pg_sys::MemoryContextSwitchTo(caller);
        Bytes { start: (*tuple).t_data.cast::<u8>().cast_const(), length: (*tuple).t_len as usize }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}
