//! The sink `planned`: rows go through the planner, as INSERT ... SELECT.
//!
//! For tables whose inserts belong to somebody else ([`super::owner`]): whoever plans the INSERT takes the rows to
//! where they belong, and runs them through defaults, constraints and triggers there. The SELECT reads from a function
//! of ours ([`super::source`]), which hands out the load's rows one by one; that needs no entry in the catalogs, and
//! nothing is stored on the way.
//!
//! The rows are whole: the columns that the file does not have get their defaults from COPY, once, before the condition
//! is asked, and values of identity columns are taken as they are, as by COPY. Only generated columns are the INSERT's.

#![expect(unsafe_code, reason = "plans and runs a statement through PostgreSQL's C interface")]

use std::ffi::{CStr, CString, c_char};

use pgrx::pg_sys;
use pgrx::prelude::*;

use super::owner::Owner;
use super::prepare::{self, Left};
use super::source::Incoming;
use crate::last_run::Run;
use crate::options::{Source, raise, report};
use crate::reader::Beyond;
use crate::referee::Opening;
use crate::{pg_compat, pg_raw};

/// An INSERT ... SELECT of a load's rows, in PostgreSQL's memory.
pub(super) struct Insert {
    text: *const c_char,
}

impl Insert {
    /// The one for a table; `schema` is that of the extension, quoted. Without it the statement is one to plan only,
    /// which selects some row.
    ///
    /// # Safety
    /// The relation must be open.
    pub(super) unsafe fn of(relation: pg_sys::Relation, schema: *const c_char) -> Insert {
        // SAFETY: the caller's promise; names are C strings.
        unsafe {
            let quoted = |name: *const c_char| CStr::from_ptr(pg_sys::quote_identifier(name)).to_bytes().to_vec();
            let columns: Vec<Vec<u8>> = pg_compat::attributes((*relation).rd_att)
                .iter()
                .filter(|column| !column.attisdropped && column.attgenerated == 0)
                .map(|column| quoted(column.attname.data.as_ptr()))
                .collect();
            let fields: Vec<Vec<u8>> = columns.iter().map(|column| [&b"(r)."[..], column].concat()).collect();
            let namespace = pg_sys::get_namespace_name((*(*relation).rd_rel).relnamespace);
            let table = [quoted(namespace), quoted((*(*relation).rd_rel).relname.data.as_ptr())].join(&b"."[..]);
            let list =
                if columns.is_empty() { Vec::new() } else { [b"(", &columns.join(&b", "[..])[..], b") "].concat() };
            let row = match schema.is_null() {
                true => [b"NULL::", &table[..]].concat(),
                false => [CStr::from_ptr(schema).to_bytes(), b".fastcsv_rows(NULL::", &table, b")"].concat(),
            };
            let text = [
                b"INSERT INTO ",
                &table[..],
                b" ",
                &list,
                b"OVERRIDING SYSTEM VALUE SELECT ",
                &fields.join(&b", "[..]),
                b" FROM (SELECT ",
                &row,
                b" AS r) AS loaded",
            ];
            let text = CString::new(text.concat()).expect("names hold no NUL");
            Insert { text: pg_sys::pstrdup(text.as_ptr()) }
        }
    }

    /// # Safety
    /// Nothing with a destructor on the caller's frames.
    unsafe fn parsed(&self) -> *mut pg_sys::RawStmt {
        // SAFETY: the caller's promise; the parser returns a list of RawStmt.
        unsafe {
            let parsed = pg_raw::raw_parser(self.text, pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
            pg_sys::list_nth(parsed, 0).cast()
        }
    }
}

/// Plans the statement. `columns` lists the numbers of the columns that the user must be allowed to insert into.
///
/// It is not rewritten: COPY passes rules over and refuses row-level security, and what else the rewriter does is to
/// add defaults for columns that the statement does not name.
///
/// # Errors
/// Raises what analysing and planning raise.
///
/// # Safety
/// The table must be locked; nothing with a destructor on the caller's frames.
unsafe fn plan(insert: &Insert, columns: *mut pg_sys::List) -> *mut pg_sys::PlannedStmt {
    // SAFETY: the caller's promise.
    unsafe {
        let (statement, none) = (insert.parsed(), std::ptr::null_mut());
        let query = pg_raw::parse_analyze_fixedparams(statement, insert.text, std::ptr::null(), 0, none);
        pg_compat::set_inserted_columns(query, columns);
        pg_raw::pg_plan_query(query, insert.text, 0, std::ptr::null_mut())
    }
}

/// How the statement would be run, which it will not be. So no library is told of it but those that plan, and they find
/// no identifier under which they might count it.
///
/// # Errors
/// As for [`plan`].
///
/// # Safety
/// As for [`plan`].
pub(super) unsafe fn try_plan(insert: &Insert) -> *mut pg_sys::PlannedStmt {
    // SAFETY: the caller's promise.
    unsafe {
        let parse = pg_sys::make_parsestate(std::ptr::null_mut());
        (*parse).p_sourcetext = insert.text;
        let query = pg_raw::transformTopLevelStmt(parse, insert.parsed());
        pg_sys::free_parsestate(parse);
        pg_raw::pg_plan_query(query, insert.text, 0, std::ptr::null_mut())
    }
}

/// Loads through the planner; returns the number of rows that the INSERT says it has inserted.
///
/// # Errors
/// [`Left`] if COPY is sure to refuse the load, and to say why; raises COPY's errors of reading, and those of the
/// INSERT.
///
/// # Safety
/// As for [`prepare::open`]; `schema` is that of the extension, quoted.
pub(super) unsafe fn run(
    parse: *mut pg_sys::ParseState,
    statement: *mut pg_sys::CopyStmt,
    source: Source,
    beyond: Beyond,
    table: pg_sys::Oid,
    schema: *const c_char,
    owner: Owner,
) -> Result<u64, Left> {
    // SAFETY: the caller's promise. All lives in the current memory context, which lasts as long as the load.
    unsafe {
        let opening = prepare::open(parse, statement, source, beyond, table)?;
        if prepare::freezes(opening.options) {
            refuse_freeze(&opening, owner);
        }
        let rows = Incoming::open(&opening);
        let columns = pg_raw::CopyGetAttnums((*opening.relation).rd_att, opening.relation, opening.columns);
        let insert = Insert::of(opening.relation, schema);
        let processed = execute(plan(&insert, columns), insert.text);
        let run = Incoming::done(rows);
        Incoming::end(rows, Run { reason: Some(owner), rows: processed, ..run });
        pg_sys::table_close(opening.relation, pg_sys::NoLock.cast_signed());
        Ok(processed)
    }
}

/// # Safety
/// The opening must be one that `prepare` made.
unsafe fn refuse_freeze(opening: &Opening, owner: Owner) -> ! {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr((*(*opening.relation).rd_rel).relname.data.as_ptr()) };
    let message = format!("rows of table \"{}\" cannot be frozen", name.to_string_lossy());
    let error = report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message);
    raise(error.set_detail(format!("They are inserted through the planner, because {owner}.")))
}

/// Runs the plan as a statement of the caller's transaction; returns the number of rows that it processed.
///
/// # Safety
/// A snapshot must be active; nothing with a destructor on the caller's frames.
unsafe fn execute(plan: *mut pg_sys::PlannedStmt, text: *const c_char) -> u64 {
    // SAFETY: the caller's promise. The steps are those of every statement.
    unsafe {
        let none = std::ptr::null_mut();
        let nowhere = pg_sys::CreateDestReceiver(pg_sys::CommandDest::DestNone);
        let snapshot = pg_sys::GetActiveSnapshot();
        let query = pg_sys::CreateQueryDesc(plan, text, snapshot, none, nowhere, none.cast(), none.cast(), 0);
        pg_raw::ExecutorStart(query, 0);
        pg_compat::executor_run(query);
        pg_raw::ExecutorFinish(query);
        let processed = (*(*query).estate).es_processed;
        pg_raw::ExecutorEnd(query);
        pg_sys::FreeQueryDesc(query);
        processed
    }
}
