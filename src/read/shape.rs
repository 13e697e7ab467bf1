//! The relation that `fastcsv_read` reads rows of: there is none, so it is made up.
//!
//! COPY's parser wants a relation, of which it looks at the columns, at defaults (there are none) and at the name, for
//! its messages.

#![expect(unsafe_code, reason = "fills a relation descriptor of PostgreSQL's")]

use pgrx::pg_sys;

/// The name in COPY's messages.
const NAME: &std::ffi::CStr = c"fastcsv_read";

/// A relation with the descriptor's columns, in the current memory context. It is in no catalog, and is not to be
/// closed.
///
/// # Safety
/// The descriptor must live as long.
pub(super) unsafe fn relation(descriptor: pg_sys::TupleDesc) -> pg_sys::Relation {
    // SAFETY: both structs may be all zero; the copy of the descriptor is not counted, so nobody frees it before its
    // memory goes.
    unsafe {
        let relation: pg_sys::Relation = pg_sys::palloc0(size_of::<pg_sys::RelationData>()).cast();
        let form: pg_sys::Form_pg_class = pg_sys::palloc0(size_of::<pg_sys::FormData_pg_class>()).cast();
        pg_sys::namestrcpy(&raw mut (*form).relname, NAME.as_ptr());
        (*form).relkind = pg_sys::RELKIND_FOREIGN_TABLE as std::ffi::c_char;
        (*relation).rd_rel = form;
        (*relation).rd_att = pg_sys::BlessTupleDesc(pg_sys::CreateTupleDescCopy(descriptor));
        relation
    }
}
