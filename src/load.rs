//! `fastcsv_copy`: COPY FROM a file, as a function.
//!
//! The arguments become a `CopyStmt`, which PostgreSQL's own `DoCopy` runs: its checks in their order, privileges,
//! row security, triggers, messages and contexts are COPY's because they are COPY. It is called directly rather
//! than through SPI, which would add a line to every error's CONTEXT. Before it, `header => 'auto'` is resolved
//! ([`header`]); around it lies one error context, which adds the place in the file and makes positions in the
//! WHERE clause point into the text the user wrote.

#![expect(unsafe_code, reason = "builds a parse tree and hands it to PostgreSQL")]

mod buffer;
mod burst;
mod context;
mod defaults;
mod function;
mod multi;
mod owner;
mod planned;
mod prepare;
mod route;
mod rows;
mod source;
mod statement;
mod table;
mod takeover;

use std::ffi::{c_char, c_void};
use std::time::Instant;

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::archive;
use crate::confine;
use crate::files;
use crate::last_run::{self, Run};
use crate::options::{Source, raise, report};
use crate::pg_raw;
use crate::position::PositionContext;
use crate::reader::{Beyond, Files, Reader, Wanted};
use crate::referee::shim;
use crate::referee::{Opening, Referee};
use crate::stream;
use crate::text;
use context::LineContext;
use owner::Owner;
use prepare::Left;
use rows::Rows;
pub(crate) use statement::{Argument, Options};
use table::Table;

pub(crate) use function::{copy, schema_of};
pub(crate) use source::next_row;
pub(crate) use takeover::{Statement, Target};

/// What precedes the user's condition in the text that is parsed to find it.
const WHERE_PREFIX: &str = "COPY t FROM STDIN WHERE ";

/// One load, in PostgreSQL's memory, without anything that has a destructor.
struct Load {
    target: pg_sys::Oid,
    /// The extension's schema, quoted.
    schema: *const c_char,
    may_read_files: bool,
    source: Source,
    beyond: Beyond,
    statement: *mut pg_sys::CopyStmt,
    /// The condition as the user wrote it, and as it is parsed; null where there is none.
    condition: *const c_char,
    condition_query: *const c_char,
    clause_context: pg_sys::ErrorContextCallback,
    position: PositionContext,
}

/// The load of a statement, with a condition perhaps.
///
/// # Safety
/// The statement must be a COPY FROM the source, a file; all strings must live as long as the load.
unsafe fn allocate(
    target: pg_sys::Oid,
    schema: *const c_char,
    may_read_files: bool,
    source: Source,
    beyond: Beyond,
    statement: *mut pg_sys::CopyStmt,
    condition: Option<*mut c_char>,
) -> *mut Load {
    let condition_query = condition.map(statement::condition_query);
    // SAFETY: palloc returns memory large and aligned enough for this plain struct.
    unsafe {
        let load: *mut Load = pg_sys::palloc(size_of::<Load>()).cast();
        load.write(Load {
            target,
            schema,
            may_read_files,
            source,
            beyond,
            statement,
            condition: condition.map_or(std::ptr::null(), |text| text.cast_const()),
            condition_query: condition_query.map_or(std::ptr::null(), |text| text.cast_const()),
            clause_context: pg_sys::ErrorContextCallback {
                previous: std::ptr::null_mut(),
                callback: Some(move_clause_position),
                arg: load.cast(),
            },
            position: PositionContext::uncounted(source),
        });
        load
    }
}

/// Loads a file into a table, with COPY's options; `schema` is that of the extension, quoted, or null where that may
/// not be there. Returns the number of rows.
///
/// # Errors
/// Raises COPY's errors; and that another extension plans the table's inserts, which needs the extension's schema.
///
/// # Safety
/// The strings and the list must live as long as the load; nothing with a destructor may be alive on the caller's
/// frames.
pub(crate) unsafe fn load_file(
    target: pg_sys::Oid,
    source: Source,
    options: *mut pg_sys::List,
    schema: *const c_char,
) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        let none = std::ptr::null_mut();
        let may_read_files = source.is_spooled || may_read_server_files();
        if may_read_files {
            pg_sys::LockRelationOid(target, pg_sys::RowExclusiveLock.cast_signed());
        }
        if schema.is_null()
            && let Some(owner) = owner::of(target, schema)
        {
            raise(report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, format!("cannot load a new table: {owner}")));
        }
        let names = if may_read_files { files::names_of(source) } else { std::ptr::null_mut() };
        let (files, filename) = match names.is_null() {
            true => (Files::One, source.name),
            false => (Files::Named(names), pg_sys::list_nth(names, 0).cast_const().cast()),
        };
        let (source, options) = match may_read_files && names.is_null() {
            true => text::look(source, options),
            false => (source, options),
        };
        let statement = statement::copy_from(target, filename.cast_mut(), none, options);
        let beyond = Beyond { files, is_load: true, ..Beyond::NOTHING };
        let load = allocate(target, schema, may_read_files, source, beyond, statement, None);
        if source.is_spooled { run_spooled(load) } else { run(load) }
    }
}

/// Loads what the client has sent before, whatever the kind of table: who sends it need not be allowed to read files.
///
/// # Safety
/// As for `run`.
unsafe fn run_spooled(load: *mut Load) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::CommandCounterIncrement();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let parse = pg_sys::make_parsestate(std::ptr::null_mut());
        let processed = match prepare::open(parse, (*load).statement, (*load).source, (*load).beyond, (*load).target) {
            Ok(opening) => run_here(&opening),
            Err(left) => raise(report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, format!("cannot load: {left}"))),
        };
        pg_sys::PopActiveSnapshot();
        pg_sys::free_parsestate(parse);
        processed
    }
}

/// May the current user read files on the server? COPY checks it again, first of all.
pub(crate) fn may_read_server_files() -> bool {
    // SAFETY: plain catalog lookups.
    unsafe { pg_sys::has_privs_of_role(pg_sys::GetUserId(), pg_sys::Oid::from(pg_sys::ROLE_PG_READ_SERVER_FILES)) }
}

/// Makes sure that the current user may read files on the server.
///
/// # Errors
/// Raises COPY's own error.
pub(crate) fn require_read_server_files(filename: *mut c_char) {
    if may_read_server_files() {
        return;
    }
    // SAFETY: the file's name is a C string; the statement is built in PostgreSQL's memory. Who may read files is the
    // first thing that COPY looks at, so which table it is about does not matter.
    unsafe {
        let table = pg_sys::AccessMethodRelationId;
        let statement = statement::copy_from(table, filename, std::ptr::null_mut(), std::ptr::null_mut());
        let mut processed = 0;
        pg_raw::DoCopy(pg_sys::make_parsestate(std::ptr::null_mut()), statement, -1, 0, &mut processed);
    }
    unreachable!("COPY refuses who may not read files");
}

/// Runs the load as a command of its own: with a snapshot taken now, and seeing what came before it.
///
/// # Safety
/// `load` must come from `prepare`; nothing with a destructor may be alive on the caller's frames.
unsafe fn run(load: *mut Load) -> u64 {
    // SAFETY: the caller's promise. The contexts are popped on success only: on an error whoever catches it restores
    // the stack. Everything here is in PostgreSQL's memory.
    unsafe {
        if (*load).may_read_files && matches!((*load).beyond.files, Files::One) {
            confine::check((*load).source);
        }
        let outer = pg_sys::error_context_stack;
        (*load).clause_context.previous = outer;
        pg_sys::error_context_stack = &raw mut (*load).clause_context;
        let parse = pg_sys::make_parsestate(std::ptr::null_mut());
        if !(*load).condition_query.is_null() {
            (*parse).p_sourcetext = (*load).condition_query;
            (*(*load).statement).whereClause = statement::parse_condition((*load).condition_query);
        }
        pg_sys::CommandCounterIncrement();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let processed = match (*load).may_read_files {
            true => match owner::of((*load).target, (*load).schema) {
                Some(owner) => run_planned(load, parse, owner),
                None => {
                    match prepare::prepare(parse, (*load).statement, (*load).source, (*load).beyond, (*load).target) {
                        Ok(opening) => run_here(&opening),
                        Err(left) if (*load).beyond.matches_names && is_view((*load).target) => {
                            run_planned(load, parse, left)
                        }
                        Err(left) if !(*load).beyond.is_nothing() || is_stream((*load).source) => run_fed(load, left),
                        Err(left) => run_copy(load, left),
                    }
                }
            },
            false => run_copy(load, "the user may not read files on the server"),
        };
        pg_sys::error_context_stack = outer;
        pg_sys::PopActiveSnapshot();
        pg_sys::free_parsestate(parse);
        processed
    }
}

/// Loads through the planner, because the table's inserts belong to somebody else.
///
/// # Safety
/// As for `run`.
unsafe fn run_planned(load: *mut Load, parse: *mut pg_sys::ParseState, owner: Owner) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        let Load { statement, source, beyond, target, schema, .. } = *load;
        match planned::run(parse, statement, source, beyond, target, schema, owner) {
            Ok(processed) => processed,
            Err(left) => {
                run_copy(load, left);
                // Rows that COPY has stored in such a table must not stay.
                raise(report(
                    PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                    format!("COPY did not refuse the load, though {left}"),
                ))
            }
        }
    }
}

/// Is it a view? COPY would take the rows for its triggers, but not the fields that are nobody's.
fn is_view(target: pg_sys::Oid) -> bool {
    // SAFETY: a catalog lookup.
    unsafe { pg_sys::get_rel_relkind(target) }.cast_unsigned() == pg_sys::RELKIND_VIEW
}

/// Is it a file whose bytes COPY gets from us, or one that must be looked at once it is open?
///
/// # Safety
/// As for `run`.
unsafe fn is_stream(source: Source) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        confine::is_confined(source)
            || source.is_recoded()
            || stream::is_fifo(source.name)
            || archive::format_at(source).is_some()
    }
}

/// Lets COPY insert rows that its parser gets from us: from a FIFO, which it does not open itself, because it would
/// wait in a way that cannot be interrupted; from a compressed file; from several files, each for itself.
///
/// # Safety
/// As for `run`.
unsafe fn run_fed(load: *mut Load, left: Left) -> u64 {
    // SAFETY: the caller's promise. As in `run_copy` the parse state is a new one.
    unsafe {
        let started = Instant::now();
        let parse = pg_sys::make_parsestate(std::ptr::null_mut());
        if !(*load).condition_query.is_null() {
            (*parse).p_sourcetext = (*load).condition_query;
        }
        let opening = match prepare::open(parse, (*load).statement, (*load).source, (*load).beyond, (*load).target) {
            Ok(opening) => opening,
            Err(left) => return run_copy(load, left),
        };
        let processed = Reader::copy_all(&opening);
        pg_sys::table_close(opening.relation, pg_sys::NoLock.cast_signed());
        pg_sys::free_parsestate(parse);
        note_serial(left, processed, started);
        processed
    }
}

/// Lets COPY do the load.
///
/// # Safety
/// As for `run`.
unsafe fn run_copy(load: *mut Load, left: Left) -> u64 {
    // SAFETY: the caller's promise. The parse state is a new one: what was found out with the other is not COPY's.
    unsafe {
        let started = Instant::now();
        let parse = pg_sys::make_parsestate(std::ptr::null_mut());
        if !(*load).condition_query.is_null() {
            (*parse).p_sourcetext = (*load).condition_query;
        }
        pg_sys::error_context_stack = (*load).position.push_on(pg_sys::error_context_stack);
        let mut processed = 0;
        pg_raw::DoCopy(parse, (*load).statement, -1, 0, &mut processed);
        pg_sys::free_parsestate(parse);
        note_serial(left, processed, started);
        processed
    }
}

/// Notes a load that COPY has done.
fn note_serial(left: Left, rows: u64, started: Instant) {
    let (path, reason, time) = ("serial", Some(left), started.elapsed());
    last_run::note(Run { operation: "load", path, reason, rows, time, ..Run::default() });
}

/// Does the load: COPY's parser or the worker reads, the executor inserts.
///
/// # Safety
/// As for `run`; the opening must be one that `prepare` made.
unsafe fn run_here(opening: &Opening) -> u64 {
    // SAFETY: the caller's promise. Everything lives in the current memory context, which lasts as long as the load.
    // The order in which things are begun and ended is COPY's.
    unsafe {
        let reader = Reader::open(opening, Wanted { places: true, ..Wanted::default() });
        let referee = (*reader).referee();
        let table = Table::open(opening, prepare::freezes(opening.options));
        let context: *mut LineContext = pg_sys::palloc(size_of::<LineContext>()).cast();
        context.write(LineContext::new(referee));
        let rows: *mut Rows = pg_sys::palloc(size_of::<Rows>()).cast();
        rows.write(Rows::new(table, reader, context));
        Referee::enter_load(referee);
        LineContext::push(context);
        let processed = Rows::run(rows);
        LineContext::pop(context);
        let referee = (*reader).referee();
        Referee::leave_load(referee);
        Referee::report_skipped(referee, true);
        (*rows).table.finish();
        Rows::end(rows);
        (*rows).table.close();
        Reader::end(reader, "load");
        pg_sys::table_close(opening.relation, pg_sys::NoLock.cast_signed());
        processed
    }
}

/// Error context: a position in the condition's text is one in the user's text, not in the calling query's.
#[pg_guard]
unsafe extern "C-unwind" fn move_clause_position(load: *mut c_void) {
    // SAFETY: the argument is the load, which lives while this is on the stack.
    unsafe {
        let load = load.cast::<Load>();
        if !(*load).condition.is_null() {
            let prefix = i32::try_from(WHERE_PREFIX.len()).expect("a short text");
            shim::fastcsv_shim_move_position((*load).condition, prefix);
        }
    }
}
