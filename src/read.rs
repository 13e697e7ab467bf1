//! `fastcsv_read`: a file as a set of rows, without a table.
//!
//! `SELECT ... FROM fastcsv_read('/data/f.csv') AS t (a int, b text)` reads what a foreign table with these columns
//! would read. Where the planner can do so ([`plan`]), it is planned as a scan of its own kind, which converts the
//! columns that are needed, hands conditions to the threads and returns rows as they come ([`scan`]). Anywhere else (in
//! a SELECT's list, with arguments from another table's row) it is an ordinary function, [`read`], whose rows
//! PostgreSQL keeps until the last has come.

#![expect(unsafe_code, reason = "reads arguments and fills PostgreSQL's structures by pointer")]

mod plan;
mod scan;
mod shape;

use std::ffi::c_char;

use pgrx::pg_sys;
use pgrx::prelude::*;

use crate::call::Call;
use crate::header;
use crate::load::{self, Argument, Options};
use crate::options::{Source, decompresses_by, drops_mark_by, matches_names_by, raise, report};
use crate::reader::{Beyond, Found, Reader, Wanted};
use crate::referee::Opening;
pub(crate) use plan::install;

/// The arguments behind the file's name, as `sql/` declares them.
const ARGUMENTS: [Argument; 17] = [
    Argument::Header,
    Argument::Delimiter,
    Argument::Quote,
    Argument::Escape,
    Argument::NullString,
    Argument::DefaultString,
    Argument::Encoding,
    Argument::ForceNotNull,
    Argument::ForceNull,
    Argument::OnError,
    Argument::RejectLimit,
    Argument::LogVerbosity,
    Argument::Format,
    Argument::Compression,
    Argument::FilenameColumn,
    Argument::Match,
    Argument::Bom,
];

/// What a call asks for, in the current memory context.
#[derive(Clone, Copy)]
struct Request {
    source: Source,
    /// COPY's options.
    options: *mut pg_sys::List,
    beyond: Beyond,
}

impl Request {
    /// What is to be opened, as rows of the relation.
    fn opening(self, relation: pg_sys::Relation, options: *mut pg_sys::List) -> Opening {
        Opening { beyond: self.beyond, ..Opening::of(relation, self.source, options) }
    }
}

impl Request {
    /// Reads a call's arguments.
    ///
    /// # Errors
    /// Raises that the user may not read files, that an argument is missing, and what is wrong with looking for a
    /// header.
    ///
    /// # Safety
    /// The descriptor must be that of the rows wanted. Nothing with a destructor on the caller's frames.
    unsafe fn of(call: &Call) -> Request {
        let name = call.text(0).unwrap_or_else(|| {
            let message = "filename of fastcsv_read must not be null";
            raise(report(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, message))
        });
        load::require_read_server_files(name);
        let index = |argument| ARGUMENTS.iter().position(|known| *known == argument).map(|index| index + 1);
        let mut options = Options::read(call, index);
        let compression = index(Argument::Compression).and_then(|index| call.text(index));
        // SAFETY: the argument is a C string.
        let decompresses = compression.is_none_or(|value| unsafe { decompresses_by(value) });
        let source = Source { decompresses, hints: true, ..Source::file(name) };
        let filename_column = index(Argument::FilenameColumn).and_then(|index| call.text(index));
        let filename_column = filename_column.map_or(std::ptr::null(), |name| name.cast_const());
        let matches = index(Argument::Match).and_then(|index| call.text(index));
        // SAFETY: the argument is a C string.
        let matches_names = matches.is_some_and(|value| unsafe { matches_names_by(value) });
        let header_is_auto = options.drop_auto_header();
        let beyond = Beyond { header_is_auto, filename_column, matches_names, ..Beyond::NOTHING };
        let drops_mark = index(Argument::Bom).and_then(|index| call.text(index));
        let options = options.into_list();
        // SAFETY: the argument is a C string, the options a list of DefElems.
        let drops_mark = unsafe {
            let is_ours = matches_names || header_is_auto && header::is_csv(options);
            drops_mark.map_or(is_ours, |value| drops_mark_by(value))
        };
        Request { source: Source { drops_mark, ..source }, options, beyond }
    }
}

/// `fastcsv_read(filename, ...)` as an ordinary function: all rows, in a tuple store.
pub(crate) fn read(call: &Call) -> pg_sys::Datum {
    // SAFETY: the frame is that of a call in progress; whatever is made for the result lives in the query's memory.
    unsafe {
        let result = (*call.frame()).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        let descriptor = expected(result);
        let memory = (*(*result).econtext).ecxt_per_query_memory;
        let request = Request::of(call);
        let caller = pg_sys::MemoryContextSwitchTo(memory);
        let is_random = (*result).allowedModes as u32 & pg_sys::SetFunctionReturnMode::SFRM_Materialize_Random != 0;
        let store = pg_sys::tuplestore_begin_heap(is_random, false, pg_sys::work_mem);
        (*result).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
        (*result).setResult = store;
        (*result).setDesc = pg_sys::CreateTupleDescCopy(descriptor);
        // What the read itself needs goes when it has ended.
        let scratch = pg_sys::AllocSetContextCreateInternal(
            caller,
            c"fastcsv_read".as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        );
        pg_sys::MemoryContextSwitchTo(scratch);
        fill(store, request, descriptor);
        pg_sys::MemoryContextSwitchTo(caller);
        pg_sys::MemoryContextDelete(scratch);
    }
    call.null()
}

/// The row type that the caller expects.
///
/// # Errors
/// Raises that there is none, or that no set is wanted.
///
/// # Safety
/// `result` must be what the executor passed, or null.
unsafe fn expected(result: *mut pg_sys::ReturnSetInfo) -> pg_sys::TupleDesc {
    // SAFETY: the caller's promise.
    unsafe {
        let is_set = !result.is_null()
            && (*result).type_ == pg_sys::NodeTag::T_ReturnSetInfo
            && (*result).allowedModes as u32 & pg_sys::SetFunctionReturnMode::SFRM_Materialize != 0;
        if !is_set {
            let message = "set-valued function called in context that cannot accept a set";
            raise(report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message));
        }
        if (*result).expectedDesc.is_null() {
            let message = "a column definition list is required for fastcsv_read";
            let hint = "Say which columns the file has: FROM fastcsv_read('file.csv') AS t (a integer, b text).";
            raise(report(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, message).set_hint(hint));
        }
        (*result).expectedDesc
    }
}

/// Reads all rows into the store.
///
/// # Safety
/// All must be alive; nothing with a destructor on the caller's frames.
unsafe fn fill(store: *mut pg_sys::Tuplestorestate, request: Request, descriptor: pg_sys::TupleDesc) {
    // SAFETY: the caller's promise.
    unsafe {
        let relation = shape::relation(descriptor);
        let opening = request.opening(relation, request.options);
        let reader = Reader::open(&opening, Wanted { takes_apart: true, ..Wanted::default() });
        let slot = pg_sys::MakeSingleTupleTableSlot((*relation).rd_att, &raw const pg_sys::TTSOpsVirtual);
        loop {
            crate::pg_raw::check_for_interrupts();
            if (*reader).is_undecided() {
                Reader::decide(reader, None, Vec::new());
            }
            match Reader::next(reader, slot) {
                Found::Row => pg_sys::tuplestore_puttupleslot(store, slot),
                Found::Rows(_) => unreachable!("rows are wanted, not their number"),
                Found::End => break,
            }
        }
        pg_sys::ExecDropSingleTupleTableSlot(slot);
        Reader::end(reader, "scan");
    }
}

/// The call of this function by an expression that stands for it: a frame with the values of its arguments.
///
/// # Safety
/// `function` must be a call of it; its arguments must not need a row. The frame lives in the current memory context.
unsafe fn frame(function: *mut pg_sys::FuncExpr, state: *mut pg_sys::ScanState) -> pg_sys::FunctionCallInfo {
    // SAFETY: the caller's promise. A frame ends with its arguments' values.
    unsafe {
        let arguments = pg_sys::ExecInitExprList((*function).args, state.cast());
        let count = usize::try_from(pg_sys::list_length(arguments)).unwrap_or(0);
        let size = size_of::<pg_sys::FunctionCallInfoBaseData>() + count * size_of::<pg_sys::NullableDatum>();
        let frame: pg_sys::FunctionCallInfo = pg_sys::palloc0(size).cast();
        let manager: *mut pg_sys::FmgrInfo = pg_sys::palloc0(size_of::<pg_sys::FmgrInfo>()).cast();
        pg_sys::fmgr_info((*function).funcid, manager);
        (*manager).fn_expr = function.cast();
        ((*frame).flinfo, (*frame).nargs) = (manager, count as i16);
        let values = (*frame).args.as_mut_slice(count);
        for (index, value) in values.iter_mut().enumerate() {
            let argument: *mut pg_sys::ExprState = pg_sys::list_nth(arguments, index as i32).cast();
            let evaluate = (*argument).evalfunc.expect("an initialised expression can be evaluated");
            value.value = evaluate(argument, (*state).ps.ps_ExprContext, &mut value.isnull);
        }
        frame
    }
}

/// The file's name in a call, if it stands there as it is.
///
/// # Safety
/// `function` must be a call of this function.
unsafe fn constant_name(function: *mut pg_sys::FuncExpr) -> Option<*mut c_char> {
    // SAFETY: the caller's promise: the first argument is a text.
    unsafe {
        let name: *mut pg_sys::Node = pg_sys::list_nth((*function).args, 0).cast();
        if (*name).type_ != pg_sys::NodeTag::T_Const || (*name.cast::<pg_sys::Const>()).constisnull {
            return None;
        }
        let value = (*name.cast::<pg_sys::Const>()).constvalue;
        Some(pg_sys::text_to_cstring(pg_sys::pg_detoast_datum_packed(value.cast_mut_ptr()).cast()))
    }
}
