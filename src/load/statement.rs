//! From the arguments of `fastcsv_copy` to the parse tree of the COPY statement they stand for.

#![expect(unsafe_code, reason = "builds nodes of PostgreSQL's parse tree")]

use std::ffi::{CStr, c_char};

use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::WHERE_PREFIX;
use crate::call::Call;
use crate::options::{raise, report};
use crate::pg_raw;

/// The arguments of `fastcsv_copy`, numbered as `sql/` declares them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    Target,
    Filename,
    Columns,
    WhereClause,
    Header,
    Delimiter,
    Quote,
    Escape,
    NullString,
    DefaultString,
    Encoding,
    ForceNotNull,
    ForceNull,
    Freeze,
    OnError,
    RejectLimit,
    LogVerbosity,
    Format,
    ForceQuote,
    ConvertSelectively,
    Compression,
    FilenameColumn,
    Match,
    Bom,
}

/// COPY options with one word for a value: which argument gives it, COPY's name, and whether the argument is
/// declared `"any"`.
const WORDS: [(Argument, &CStr, bool); 12] = [
    (Argument::Format, c"format", false),
    (Argument::Header, c"header", true),
    (Argument::Delimiter, c"delimiter", false),
    (Argument::Quote, c"quote", false),
    (Argument::Escape, c"escape", false),
    (Argument::NullString, c"null", false),
    (Argument::DefaultString, c"default", false),
    (Argument::Encoding, c"encoding", false),
    (Argument::Freeze, c"freeze", true),
    (Argument::OnError, c"on_error", false),
    (Argument::RejectLimit, c"reject_limit", true),
    (Argument::LogVerbosity, c"log_verbosity", false),
];

/// COPY options with a list of columns for a value.
const COLUMN_LISTS: [(Argument, &CStr); 4] = [
    (Argument::ForceNotNull, c"force_not_null"),
    (Argument::ForceNull, c"force_null"),
    (Argument::ForceQuote, c"force_quote"),
    (Argument::ConvertSelectively, c"convert_selectively"),
];

/// The options of one call, those not given left out.
pub(crate) struct Options {
    words: Vec<(Argument, &'static CStr, *mut c_char)>,
    column_lists: Vec<(&'static CStr, *mut pg_sys::Node)>,
}

impl Options {
    /// Reads them from the call's arguments; `index` tells the place of each that there is, from 0.
    pub(crate) fn read(call: &Call, index: impl Fn(Argument) -> Option<usize>) -> Self {
        let words = WORDS.iter().filter_map(|&(argument, name, any)| {
            let index = index(argument)?;
            let value = if any { call.spelled(index) } else { call.text(index) };
            Some((argument, name, value?))
        });
        let column_lists = COLUMN_LISTS.iter().filter_map(|&(argument, name)| {
            let columns = call.texts(index(argument)?)?;
            Some((name, column_list(&columns, name)))
        });
        let mut options = Self { words: words.collect(), column_lists: column_lists.collect() };
        if options.word(Argument::Format).is_none() {
            options.words.push((Argument::Format, c"format", c"csv".as_ptr().cast_mut()));
        }
        options
    }

    /// The value of an option, if it is given.
    fn word(&self, argument: Argument) -> Option<&CStr> {
        let (_, _, value) = self.words.iter().find(|(given, _, _)| *given == argument)?;
        // SAFETY: `read` put C strings there, in memory that outlives the call.
        Some(unsafe { CStr::from_ptr(*value) })
    }

    /// Is the header to be found out? It is unless the caller says otherwise, in CSV.
    fn header_is_auto(&self) -> bool {
        self.word(Argument::Header).is_none_or(|value| value.to_bytes().eq_ignore_ascii_case(b"auto"))
    }

    /// Says nothing of the header where it is to be found out; returns whether it is.
    pub(crate) fn drop_auto_header(&mut self) -> bool {
        let is_auto = self.header_is_auto();
        if is_auto {
            self.words.retain(|(argument, _, _)| *argument != Argument::Header);
        }
        is_auto
    }

    /// The options as COPY's parser would have left them.
    pub(crate) fn into_list(self) -> *mut pg_sys::List {
        let mut list = PgList::<pg_sys::DefElem>::new();
        // SAFETY: names and values are C strings that live as long as the statement; the nodes are allocated.
        unsafe {
            for (_, name, value) in self.words {
                let value = pg_sys::makeString(value).cast();
                list.push(pg_sys::makeDefElem(name.as_ptr().cast_mut(), value, -1));
            }
            for (name, columns) in self.column_lists {
                list.push(pg_sys::makeDefElem(name.as_ptr().cast_mut(), columns, -1));
            }
        }
        list.into_pg()
    }
}

/// A list of column names, or the star that stands for all of them.
fn column_list(columns: &[Option<*mut c_char>], argument: &CStr) -> *mut pg_sys::Node {
    if let [Some(only)] = *columns {
        // SAFETY: the element is a C string.
        if unsafe { CStr::from_ptr(only) } == c"*" {
            // SAFETY: allocates a node that has nothing but its tag.
            let star = unsafe { pgrx::PgBox::<pg_sys::A_Star>::alloc_node(pg_sys::NodeTag::T_A_Star) };
            return star.into_pg().cast();
        }
    }
    name_list(columns, argument).cast()
}

/// The argument `columns` as a list of names, or null.
///
/// # Errors
/// Raises that it is empty, or that a name is missing.
pub(super) fn columns(columns: Option<&[Option<*mut c_char>]>) -> *mut pg_sys::List {
    if columns.is_some_and(<[_]>::is_empty) {
        raise(report(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "columns must name at least one column"));
    }
    columns.map_or(std::ptr::null_mut(), |columns| name_list(columns, c"columns"))
}

/// The list of names with one more, if it is not there.
///
/// # Safety
/// The list must be one of String nodes, the name a C string.
pub(super) unsafe fn with_column(columns: *mut pg_sys::List, name: *const c_char) -> *mut pg_sys::List {
    // SAFETY: the caller's promise; allocates a node.
    unsafe {
        let names = PgList::<pg_sys::String>::from_pg(columns);
        match names.iter_ptr().any(|known| CStr::from_ptr((*known).sval) == CStr::from_ptr(name)) {
            true => columns,
            false => pg_sys::lappend(columns, pg_sys::makeString(name.cast_mut()).cast()),
        }
    }
}

/// A list of String nodes.
fn name_list(names: &[Option<*mut c_char>], argument: &CStr) -> *mut pg_sys::List {
    let mut list = PgList::<pg_sys::Node>::new();
    for name in names {
        let Some(name) = *name else {
            let message = format!("{} must not contain null values", argument.to_string_lossy());
            raise(report(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, message))
        };
        // SAFETY: the name is a C string that lives as long as the statement.
        list.push(unsafe { pg_sys::makeString(name) }.cast());
    }
    list.into_pg()
}

/// `COPY target (columns) FROM 'filename' WITH (options)`.
///
/// # Safety
/// `filename` must be a C string that lives as long as the statement.
pub(super) unsafe fn copy_from(
    target: pg_sys::Oid,
    filename: *mut c_char,
    columns: *mut pg_sys::List,
    options: *mut pg_sys::List,
) -> *mut pg_sys::CopyStmt {
    // SAFETY: allocates nodes; an all-zero CopyStmt with its tag set is an empty one.
    unsafe {
        let mut statement = pgrx::PgBox::<pg_sys::CopyStmt>::alloc_node(pg_sys::NodeTag::T_CopyStmt);
        statement.relation = qualified_name(target);
        statement.attlist = columns;
        statement.is_from = true;
        statement.filename = filename;
        statement.options = options;
        statement.into_pg()
    }
}

/// The relation's name with its schema, as a statement would spell it.
fn qualified_name(target: pg_sys::Oid) -> *mut pg_sys::RangeVar {
    // SAFETY: catalog lookups that return allocated C strings or null.
    unsafe {
        let relation = pg_sys::get_rel_name(target);
        if relation.is_null() {
            let message = format!("relation with OID {} does not exist", target.to_u32());
            raise(report(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, message));
        }
        pg_sys::makeRangeVar(pg_sys::get_namespace_name(pg_sys::get_rel_namespace(target)), relation, -1)
    }
}

/// The text in which the user's condition is parsed.
pub(super) fn condition_query(condition: *mut c_char) -> *mut c_char {
    // SAFETY: the condition is a C string; the copy is allocated in PostgreSQL's memory, one byte longer than both.
    unsafe {
        let condition = CStr::from_ptr(condition).to_bytes_with_nul();
        let query: *mut u8 = pg_sys::palloc(WHERE_PREFIX.len() + condition.len()).cast();
        query.copy_from_nonoverlapping(WHERE_PREFIX.as_ptr(), WHERE_PREFIX.len());
        query.add(WHERE_PREFIX.len()).copy_from_nonoverlapping(condition.as_ptr(), condition.len());
        query.cast()
    }
}

/// The condition's expression, by PostgreSQL's own grammar for COPY's WHERE.
///
/// # Errors
/// Raises the parser's syntax errors, and one of ours where the text goes on after the condition.
///
/// # Safety
/// `query` must come from `condition_query`. Nothing with a destructor may be alive on the caller's frames.
pub(super) unsafe fn parse_condition(query: *const c_char) -> *mut pg_sys::Node {
    // SAFETY: the caller's promise; the parser returns a list of RawStmt.
    unsafe {
        let parsed = pg_raw::raw_parser(query, pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
        if pg_sys::list_length(parsed) != 1 {
            raise(report(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "where_clause must be a single condition"));
        }
        let raw = pg_sys::list_nth(parsed, 0).cast::<pg_sys::RawStmt>();
        (*(*raw).stmt.cast::<pg_sys::CopyStmt>()).whereClause
    }
}
