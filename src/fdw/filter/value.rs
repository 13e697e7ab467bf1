//! PostgreSQL's datums as the engine's.

use fastcsv_engine::convert::Datum;
use fastcsv_engine::filter::Class;
use pgrx::pg_sys;

use crate::memory;

/// Bytes of a uuid, and of an interval.
const UUID_OR_INTERVAL: usize = 16;

/// What an element of an array takes at most until it is part of a filter, in bytes.
const ELEMENT_MEMORY: usize = 512;

/// A value that operators read as `class`. It lies where the datum points, or in the current memory context.
///
/// # Safety
/// `datum` must be of a type of that class, or of one that is stored alike, and stay as it is for `'a`.
pub(crate) unsafe fn datum<'a>(datum: pg_sys::Datum, class: Class) -> Datum<'a> {
    // SAFETY: the caller's promise: a datum of these types holds its value, or points to so many bytes, or to a
    // varlena.
    unsafe {
        let fixed = |length| std::slice::from_raw_parts(datum.cast_mut_ptr::<u8>().cast_const(), length);
        match class {
            Class::Bool | Class::Char | Class::Int2 | Class::Int4 => Datum::Word(datum.value() as u64),
            Class::Int8 | Class::Oid | Class::Float4 | Class::Float8 => Datum::Word(datum.value() as u64),
            Class::Uuid | Class::Interval => Datum::Bytes(fixed(UUID_OR_INTERVAL)),
            Class::Name => Datum::Bytes(fixed(pg_sys::NAMEDATALEN as usize)),
            Class::Numeric | Class::Bytes | Class::Bpchar => Datum::Bytes(content(datum)),
        }
    }
}

/// A varlena's content, where it lies or, if it was compressed or stored elsewhere, in the current memory context.
///
/// # Safety
/// `datum` must be a varlena's, and stay as it is for `'a`.
pub(super) unsafe fn content<'a>(datum: pg_sys::Datum) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        std::slice::from_raw_parts(pgrx::vardata_any(varlena).cast(), pgrx::varsize_any_exhdr(varlena))
    }
}

/// The elements of an array, NULLs included.
///
/// # Safety
/// `array` must be an array's datum.
pub(super) unsafe fn elements(array: pg_sys::Datum) -> Vec<Option<pg_sys::Datum>> {
    let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    let (mut length, mut by_value, mut align) = (0, false, 0);
    // SAFETY: the caller's promise; deconstruct_array fills `count` elements of both arrays.
    unsafe {
        let array: *mut pg_sys::ArrayType = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast();
        let element_type = (*array).elemtype;
        pg_sys::get_typlenbyvalalign(element_type, &mut length, &mut by_value, &mut align);
        let length = length.into();
        pg_sys::deconstruct_array(array, element_type, length, by_value, align, &mut values, &mut nulls, &mut count);
        let count = usize::try_from(count).unwrap_or(0);
        memory::expect_room(ELEMENT_MEMORY * count);
        let element = |index| (!*nulls.add(index)).then(|| *values.add(index));
        (0..count).map(element).collect()
    }
}
