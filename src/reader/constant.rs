//! PostgreSQL's values as the threads write them into every row.

#![expect(unsafe_code, reason = "reads values by pointer")]

use fastcsv_engine::job::Constant;
use pgrx::pg_sys;

/// A value as a constant.
///
/// # Safety
/// The value must be of the attribute's type, and a varlena plain: neither compressed nor stored elsewhere,
/// with a header of four bytes.
pub(crate) unsafe fn of(value: pg_sys::Datum, attribute: &pg_sys::FormData_pg_attribute) -> Constant {
    // SAFETY: the caller's promise.
    unsafe {
        match attribute.attlen {
            -1 => {
                let varlena: *const u8 = value.cast_mut_ptr();
                let length = (varlena.cast::<u32>().read() >> 2) as usize;
                Constant::Bytes(std::slice::from_raw_parts(varlena.add(4), length - 4).to_vec())
            }
            _ if attribute.attbyval => Constant::Word(value.value() as u64),
            length => {
                let bytes = std::slice::from_raw_parts(value.cast_mut_ptr::<u8>(), length.unsigned_abs().into());
                Constant::Bytes(bytes.to_vec())
            }
        }
    }
}
