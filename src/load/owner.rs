//! Tables whose inserts belong to somebody else.
//!
//! Some extensions keep a table's rows elsewhere: in shards on other servers, in chunks. What is inserted into such a table must go through their planner; written
//! to the table directly, rows are stored where nobody looks for them, without an error. So before every load PostgreSQL is asked to plan an
//! INSERT into the table. If the plan is not PostgreSQL's own, the table is somebody else's.

#![expect(unsafe_code, reason = "plans a statement through PostgreSQL's C interface")]

use std::ffi::{CStr, CString};

use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use crate::options::{raise, report};
use crate::{pg_compat, pg_raw};

/// Refuses a table whose inserts somebody else plans.
///
/// # Errors
/// Raises an ERROR.
///
/// # Safety
/// The table must be locked.
pub(super) unsafe fn check(table: pg_sys::Oid) {
    // SAFETY: the caller's promise. Without a hook every plan is PostgreSQL's own.
    unsafe {
        let hook = pg_sys::planner_hook;
        if hook.is_none() {
            return;
        }
        let relation = pg_sys::try_relation_open(table, pg_sys::NoLock.cast_signed());
        if relation.is_null() {
            return;
        }
        let statement = insert_statement(relation);
        let name = CStr::from_ptr((*(*relation).rd_rel).relname.data.as_ptr()).to_string_lossy().into_owned();
        pg_sys::relation_close(relation, pg_sys::NoLock.cast_signed());
        if let Some(statement) = statement
            && !is_planned_here(&statement)
        {
            let message = format!("cannot load into table \"{name}\"");
            let error = report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message);
            let error = error.set_detail("Another extension plans the inserts into this table.");
            raise(error.set_hint("Use INSERT ... SELECT from a fastcsv foreign table."));
        }
    }
}

/// An INSERT of the table's own rows, which is planned but never run; `None` for a table without columns, or what is no table.
///
/// # Safety
/// The relation must be open.
unsafe fn insert_statement(relation: pg_sys::Relation) -> Option<CString> {
    // SAFETY: the caller's promise; quote_identifier returns C strings.
    unsafe {
        let kind = (*(*relation).rd_rel).relkind.cast_unsigned();
        if kind != pg_sys::RELKIND_RELATION && kind != pg_sys::RELKIND_PARTITIONED_TABLE {
            return None;
        }
        let quoted = |name: *const std::ffi::c_char| CStr::from_ptr(pg_sys::quote_identifier(name)).to_bytes().to_vec();
        let columns: Vec<Vec<u8>> = pg_compat::attributes((*relation).rd_att)
            .iter()
            .filter(|column| !column.attisdropped && column.attgenerated == 0)
            .map(|column| quoted(column.attname.data.as_ptr()))
            .collect();
        if columns.is_empty() {
            return None;
        }
        let columns = columns.join(&b","[..]);
        let schema = quoted(pg_sys::get_namespace_name((*(*relation).rd_rel).relnamespace));
        let table = [schema, quoted((*(*relation).rd_rel).relname.data.as_ptr())].join(&b"."[..]);
        let parts: [&[u8]; 8] = [
            b"INSERT INTO ",
            &table,
            b" (",
            &columns,
            b") OVERRIDING SYSTEM VALUE SELECT ",
            &columns,
            b" FROM ",
            &table,
        ];
        CString::new(parts.concat()).ok()
    }
}

/// Is the statement's plan one that PostgreSQL's own executor runs from the top?
///
/// # Safety
/// It must be an INSERT.
unsafe fn is_planned_here(statement: &CStr) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let parsed = pg_raw::raw_parser(statement.as_ptr(), pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
        let raw = pg_sys::list_nth(parsed, 0).cast::<pg_sys::RawStmt>();
        let none = std::ptr::null_mut();
        let queries = pg_compat::analyze(raw, statement.as_ptr());
        PgList::<pg_sys::Query>::from_pg(queries).iter_ptr().all(|query| {
            let planned = pg_sys::pg_plan_query(query, statement.as_ptr(), 0, none);
            (*(*planned).planTree).type_ == pg_sys::NodeTag::T_ModifyTable
        })
    }
}
