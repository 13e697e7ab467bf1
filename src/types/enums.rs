//! An enum's labels, from the catalog.

#![expect(unsafe_code, reason = "walks a list of catalog tuples")]

use std::ffi::CStr;

use fastcsv_engine::convert::Kind;
use pgrx::pg_sys;

/// The enum with the labels that may be used. A label that this transaction has added to an older type may not, until
/// it is committed: it is left out, so that the type's input function is asked and refuses it.
///
/// # Safety
/// Must be called in a transaction; `type_oid` must be an enum's.
pub(super) unsafe fn kind(type_oid: pg_sys::Oid) -> Kind {
    let mut labels = Vec::new();
    // SAFETY: the caller's promise. The list holds `n_members` catalog tuples of pg_enum, none of which has a null, and
    // they stay until it is released.
    unsafe {
        let none = pg_sys::Datum::null();
        let cache = pg_sys::SysCacheIdentifier::ENUMTYPOIDNAME.cast_signed();
        let list = pg_sys::SearchSysCacheList(cache, 1, type_oid.into(), none, none);
        let count = usize::try_from((*list).n_members).unwrap_or(0);
        for member in (*list).members.as_slice(count) {
            let tuple = (**member).tuple.t_data;
            let row = tuple.cast::<u8>().add(usize::from((*tuple).t_hoff)).cast::<pg_sys::FormData_pg_enum>();
            if !pg_sys::EnumUncommitted((*row).oid) {
                let label = CStr::from_ptr((*row).enumlabel.data.as_ptr());
                labels.push((label.to_bytes().to_vec(), (*row).oid.to_u32()));
            }
        }
        pg_sys::ReleaseCatCacheList(list);
    }
    labels.sort_unstable();
    Kind::Enum { labels }
}
