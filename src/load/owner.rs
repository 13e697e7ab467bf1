//! Tables whose inserts belong to somebody else.
//!
//! Some extensions keep a table's rows elsewhere: in shards on other servers, in chunks. What is inserted into such a
//! table must go through their planner; written to the table directly, rows are stored where nobody looks for them,
//! without an error. So before every load it is asked whose the table's inserts are, in two ways:
//!
//! * The catalogs of the extensions known here, found by their names, say so.
//! * If there is a planner hook at all, PostgreSQL plans the INSERT that would load the table. A plan that its own
//!   executor does not run from the top belongs to whoever made it.
//!
//! A table's access method is no such thing: COPY and the executor insert through it, and so does a load here.

#![expect(unsafe_code, reason = "reads catalogs through PostgreSQL's C interface")]

use std::ffi::{CStr, c_char};

use pgrx::pg_sys;

use super::planned;

/// Whose the inserts are, as `fastcsv_last_run()` tells it.
pub(super) type Owner = &'static str;

const CITUS: Owner = "Citus distributes the table";
const TIMESCALEDB: Owner = "the table is a hypertable of TimescaleDB";
const OTHER: Owner = "another extension plans the inserts into this table";

/// Whose a table's inserts are; `None` if they are PostgreSQL's own, and if it is no table. `schema` is that of the
/// extension, quoted, or null if the rows are not to come from there.
///
/// # Errors
/// Raises what planning raises.
///
/// # Safety
/// The table must be locked; nothing with a destructor on the caller's frames.
pub(super) unsafe fn of(table: pg_sys::Oid, schema: *const c_char) -> Option<Owner> {
    // SAFETY: the caller's promise.
    unsafe {
        let relation = pg_sys::try_relation_open(table, pg_sys::NoLock.cast_signed());
        if relation.is_null() {
            return None;
        }
        let kind = (*(*relation).rd_rel).relkind.cast_unsigned();
        let owner = match kind {
            pg_sys::RELKIND_RELATION | pg_sys::RELKIND_PARTITIONED_TABLE => of_relation(relation, schema),
            _ => None,
        };
        pg_sys::relation_close(relation, pg_sys::NoLock.cast_signed());
        owner
    }
}

/// # Safety
/// The relation must be open; otherwise as for [`of`].
unsafe fn of_relation(relation: pg_sys::Relation, schema: *const c_char) -> Option<Owner> {
    // SAFETY: the caller's promise. Without a hook every plan is PostgreSQL's own.
    unsafe {
        let table = pg_sys::Datum::from((*relation).rd_id);
        if is_listed(pg_sys::Oid::from(pg_sys::PG_CATALOG_NAMESPACE), c"pg_dist_partition", &[(c"logicalrelid", table)])
        {
            return Some(CITUS);
        }
        let name = pg_sys::Datum::from(&raw const (*(*relation).rd_rel).relname);
        let namespace = pg_sys::get_namespace_name((*(*relation).rd_rel).relnamespace);
        let namespace_name = if namespace.is_null() { name } else { name_datum(namespace) };
        let catalog = pg_sys::get_namespace_oid(c"_timescaledb_catalog".as_ptr(), true);
        if is_listed(catalog, c"hypertable", &[(c"schema_name", namespace_name), (c"table_name", name)]) {
            return Some(TIMESCALEDB);
        }
        let hook = pg_sys::planner_hook;
        let is_planned_elsewhere = hook.is_some() && {
            let plan = planned::try_plan(&planned::Insert::of(relation, schema));
            (*(*plan).planTree).type_ != pg_sys::NodeTag::T_ModifyTable
        };
        is_planned_elsewhere.then_some(OTHER)
    }
}

/// A `name` in the current memory context.
///
/// # Safety
/// `text` must be a C string.
unsafe fn name_datum(text: *const c_char) -> pg_sys::Datum {
    // SAFETY: the caller's promise; namestrcpy cuts off what is too long.
    unsafe {
        let name: *mut pg_sys::NameData = pg_sys::palloc0(size_of::<pg_sys::NameData>()).cast();
        pg_sys::namestrcpy(name, text);
        pg_sys::Datum::from(name)
    }
}

/// Is there a table of this name in the schema, with a row that has these values in these columns? Values are oids or
/// names.
///
/// # Safety
/// Names' values must be alive.
unsafe fn is_listed(schema: pg_sys::Oid, catalog: &CStr, wanted: &[(&CStr, pg_sys::Datum)]) -> bool {
    // SAFETY: the caller's promise. A column of another type than expected is not looked at.
    unsafe {
        if schema == pg_sys::InvalidOid {
            return false;
        }
        let catalog = pg_sys::get_relname_relid(catalog.as_ptr(), schema);
        if catalog == pg_sys::InvalidOid || pg_sys::get_rel_relkind(catalog).cast_unsigned() != pg_sys::RELKIND_RELATION
        {
            return false;
        }
        let mut keys: [pg_sys::ScanKeyData; 2] = Default::default();
        for (key, (column, value)) in keys.iter_mut().zip(wanted) {
            let number = pg_sys::get_attnum(catalog, column.as_ptr());
            let equals = match pg_sys::get_atttype(catalog, number) {
                pg_sys::REGCLASSOID | pg_sys::OIDOID => pg_sys::F_OIDEQ,
                pg_sys::NAMEOID => pg_sys::F_NAMEEQ,
                _ => return false,
            };
            let strategy = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
            pg_sys::ScanKeyInit(key, number, strategy, pg_sys::Oid::from(equals), *value);
        }
        let lock = pg_sys::AccessShareLock.cast_signed();
        let relation = pg_sys::table_open(catalog, lock);
        let none = std::ptr::null_mut();
        let (count, keys) = (wanted.len() as i32, keys.as_mut_ptr());
        let scan = pg_sys::systable_beginscan(relation, pg_sys::InvalidOid, false, none, count, keys);
        let is_listed = !pg_sys::systable_getnext(scan).is_null();
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(relation, lock);
        is_listed
    }
}
