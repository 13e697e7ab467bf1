//! What COPY does before it opens the file: the same steps, by the same functions, in the same order.
//!
//! It is done here only for loads that go on here. Whatever may have to be refused, and whatever only COPY knows how to
//! do, is left to COPY from its first step: [`prepare`] says [`Left`] and has changed nothing.

#![expect(unsafe_code, reason = "analyses a statement through PostgreSQL's parser")]

use std::ffi::CStr;
use std::mem::MaybeUninit;

use pgrx::{PgList, pg_sys};

use crate::options::Source;
use crate::reader::Beyond;
use crate::referee::Opening;
use crate::{archive, pg_compat, pg_raw, settings};

/// Why a load is left to COPY.
pub(super) type Left = &'static str;

/// Checks what COPY checks, and opens and analyses what it opens and analyses, up to the file. The table stays open.
///
/// # Errors
/// [`Left`]; and raises COPY's own errors.
///
/// # Safety
/// The statement must be a COPY FROM the source into the table, which is locked; nothing with a destructor on the
/// caller's frames.
pub(super) unsafe fn prepare(
    parse: *mut pg_sys::ParseState,
    statement: *mut pg_sys::CopyStmt,
    source: Source,
    beyond: Beyond,
    table: pg_sys::Oid,
) -> Result<Opening, Left> {
    // SAFETY: the caller's promise.
    unsafe {
        if beyond.is_nothing() && !source.is_recoded() {
            worth_it(source, (*statement).options)?;
        } else {
            is_csv((*statement).options)?;
        }
        open_if(parse, statement, source, beyond, table, |relation| fits(relation, (*statement).options))
    }
}

/// As [`prepare`], whatever the file and the kind of table. Here [`Left`] means that COPY is sure to refuse the load.
///
/// # Errors
/// As for `prepare`.
///
/// # Safety
/// As for `prepare`.
pub(super) unsafe fn open(
    parse: *mut pg_sys::ParseState,
    statement: *mut pg_sys::CopyStmt,
    source: Source,
    beyond: Beyond,
    table: pg_sys::Oid,
) -> Result<Opening, Left> {
    // SAFETY: the caller's promise.
    unsafe { open_if(parse, statement, source, beyond, table, |_| Ok(())) }
}

/// As [`open`], if the relation is fit for it.
///
/// # Safety
/// As for `prepare`.
unsafe fn open_if(
    parse: *mut pg_sys::ParseState,
    statement: *mut pg_sys::CopyStmt,
    source: Source,
    beyond: Beyond,
    table: pg_sys::Oid,
    is_fit: impl FnOnce(pg_sys::Relation) -> Result<(), Left>,
) -> Result<Opening, Left> {
    // SAFETY: the caller's promise.
    unsafe {
        let relation = pg_sys::table_open(table, pg_sys::RowExclusiveLock.cast_signed());
        match is_fit(relation).and_then(|()| analyse(parse, statement, relation)) {
            Ok(condition) => Ok(Opening {
                relation,
                source,
                options: (*statement).options,
                parse,
                condition,
                columns: (*statement).attlist,
                beyond,
            }),
            Err(left) => {
                pg_sys::table_close(relation, pg_sys::NoLock.cast_signed());
                Err(left)
            }
        }
    }
}

/// Is the input one that a worker might be started for? Nobody knows how much a program or the client has to say.
///
/// # Safety
/// Both must be a statement's.
pub(super) unsafe fn worth_it(source: Source, options: *mut pg_sys::List) -> Result<(), Left> {
    // SAFETY: the caller's promise.
    unsafe {
        if !source.is_client() && !source.is_program {
            is_large(source)?;
        }
        is_csv(options)
    }
}

/// Is the format one that the threads read?
///
/// # Safety
/// The list must be one of DefElems.
unsafe fn is_csv(options: *mut pg_sys::List) -> Result<(), Left> {
    // SAFETY: the caller's promise.
    unsafe {
        let is_csv = PgList::<pg_sys::DefElem>::from_pg(options).iter_ptr().all(|option| {
            CStr::from_ptr((*option).defname) != c"format" || CStr::from_ptr(pg_sys::defGetString(option)) == c"csv"
        });
        if is_csv { Ok(()) } else { Err("the format is not csv") }
    }
}

/// Is the file large, or one of which nobody knows how large it is?
///
/// # Safety
/// The source must be a file's.
unsafe fn is_large(source: Source) -> Result<(), Left> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the caller's promise; stat fills the struct on success.
    let found = unsafe {
        if libc::stat(source.name, found.as_mut_ptr()) != 0 {
            return Err("the file cannot be looked at");
        }
        found.assume_init()
    };
    match found.st_mode & libc::S_IFMT {
        libc::S_IFIFO => Ok(()),
        // SAFETY: the caller's promise.
        libc::S_IFREG if unsafe { archive::format_at(source) }.is_some() => Ok(()),
        libc::S_IFREG if found.st_size.cast_unsigned() < settings::min_parallel_size().max(1) => {
            Err("the file is smaller than fastcsv.min_parallel_size")
        }
        libc::S_IFREG => Ok(()),
        _ => Err("the input is neither a regular file nor a FIFO"),
    }
}

/// COPY's checks of the statement against the table; returns the condition's clauses.
///
/// # Safety
/// As for `prepare`.
unsafe fn analyse(
    parse: *mut pg_sys::ParseState,
    statement: *mut pg_sys::CopyStmt,
    relation: pg_sys::Relation,
) -> Result<*mut pg_sys::List, Left> {
    // SAFETY: the caller's promise.
    unsafe {
        let lock = pg_sys::RowExclusiveLock.cast_signed();
        let none = std::ptr::null_mut();
        let item = pg_sys::addRangeTableEntryForRelation(parse, relation, lock, none, false, false);
        pg_compat::require_insert(item);
        let mut condition = std::ptr::null_mut();
        if !(*statement).whereClause.is_null() {
            condition = analyse_condition(parse, item, (*statement).whereClause, relation)?;
        }
        let numbers = pg_raw::CopyGetAttnums((*relation).rd_att, relation, (*statement).attlist);
        // Before the privileges are asked for: somebody may keep a record of that, and COPY will ask for them again.
        let rls = pg_sys::check_enable_rls((*relation).rd_id, pg_sys::InvalidOid, true);
        if rls == pg_sys::CheckEnableRlsResult::RLS_ENABLED.cast_signed() {
            return Err("row-level security is enabled");
        }
        if pg_sys::XactReadOnly && !(*relation).rd_islocaltemp {
            return Err("the transaction is read-only");
        }
        pg_compat::check_insert_privileges(parse, item, numbers);
        Ok(condition)
    }
}

/// Is the table one whose rows are inserted here, and in the way that the options ask for?
///
/// # Safety
/// The relation must be open.
unsafe fn fits(relation: pg_sys::Relation, options: *mut pg_sys::List) -> Result<(), Left> {
    // SAFETY: the caller's promise.
    unsafe {
        let kind = (*(*relation).rd_rel).relkind.cast_unsigned();
        if ![pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE, pg_sys::RELKIND_FOREIGN_TABLE].contains(&kind)
        {
            return Err("the target is no table");
        }
        if pg_sys::IsInParallelMode() {
            return Err("the query runs in parallel already");
        }
        if freezes(options) && !may_freeze(relation) {
            return Err("the rows cannot be frozen");
        }
        Ok(())
    }
}

/// # Safety
/// The list must be one of DefElems.
pub(super) unsafe fn freezes(options: *mut pg_sys::List) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        PgList::<pg_sys::DefElem>::from_pg(options)
            .iter_ptr()
            .any(|option| CStr::from_ptr((*option).defname) == c"freeze" && pg_sys::defGetBoolean(option))
    }
}

/// May FREEZE be used on the table now? COPY tells in its own words why not.
///
/// # Safety
/// The relation must be open.
unsafe fn may_freeze(relation: pg_sys::Relation) -> bool {
    // SAFETY: the caller's promise. What COPY does before it asks: the catalog's own snapshot does not count.
    unsafe {
        if (*(*relation).rd_rel).relkind.cast_unsigned() != pg_sys::RELKIND_RELATION {
            return false;
        }
        pg_sys::InvalidateCatalogSnapshot();
        let now = pg_sys::GetCurrentSubTransactionId();
        let is_new = (*relation).rd_createSubid == now || pg_compat::new_file_subtransaction(relation) == now;
        is_new && pg_sys::ThereAreNoPriorRegisteredSnapshots() && pg_sys::ThereAreNoReadyPortals()
    }
}

/// The condition as a list of clauses, analysed and simplified as COPY does it.
///
/// # Safety
/// As for `prepare`.
unsafe fn analyse_condition(
    parse: *mut pg_sys::ParseState,
    item: *mut pg_sys::ParseNamespaceItem,
    condition: *mut pg_sys::Node,
    relation: pg_sys::Relation,
) -> Result<*mut pg_sys::List, Left> {
    // SAFETY: the caller's promise. The errors of the first two are the user's, and must come through whole.
    unsafe {
        pg_sys::addNSItemToQuery(parse, item, false, true, true);
        let kind = pg_sys::ParseExprKind::EXPR_KIND_COPY_WHERE;
        // COPY may have to analyse it again.
        let condition = pg_sys::copyObjectImpl(condition.cast()).cast();
        let condition = pg_raw::transformExpr(parse, condition, kind);
        let condition = pg_raw::coerce_to_boolean(parse, condition, c"WHERE".as_ptr());
        pg_sys::assign_expr_collations(parse, condition);
        if uses_generated_columns(condition, relation) {
            return Err("the condition is about a generated column");
        }
        let condition = pg_raw::eval_const_expressions(std::ptr::null_mut(), condition);
        let condition = pg_sys::canonicalize_qual(condition.cast(), false);
        Ok(pg_sys::make_ands_implicit(condition))
    }
}

/// Is the condition about a generated column, or the whole row of a table that has one? COPY refuses that.
///
/// # Safety
/// The condition must be analysed, and the relation open.
unsafe fn uses_generated_columns(condition: *mut pg_sys::Node, relation: pg_sys::Relation) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let mut used = std::ptr::null_mut();
        pg_sys::pull_varattnos(condition, 1, &mut used);
        let is_used = |number: i32| pg_sys::bms_is_member(number - pg_sys::FirstLowInvalidHeapAttributeNumber, used);
        let whole_row = is_used(0);
        pg_compat::attributes((*relation).rd_att)
            .iter()
            .any(|column| column.attgenerated != 0 && (whole_row || is_used(i32::from(column.attnum))))
    }
}
