//! The options of the foreign data wrapper: the validator, and reading a foreign table's options for a scan.
//!
//! They are `file_fdw`'s options of the server's own version, at the same places, with the same checks in the same
//! order. What COPY itself checks is left to COPY's `ProcessCopyOptions`. Two things differ: `format` defaults to
//! `csv`, which is written into the option list wherever it is read, and there are options of our own, like `io`.

#![expect(unsafe_code, reason = "walks option lists and catalog entries that PostgreSQL hands out by pointer")]

mod validator;

use std::ffi::{CStr, c_char};

use fastcsv_engine::coding::Endian;
use fastcsv_engine::job::Io;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use crate::pg_compat;
use crate::reader::Beyond;
use crate::referee::Opening;

pub(crate) use validator::validator;

/// Where a table's bytes come from.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    /// The file's path, or the program's command line, as the user wrote it; null for the client's data.
    pub(crate) name: *const c_char,
    /// Is it a program to run?
    pub(crate) is_program: bool,
    /// Is a file decompressed, if its first bytes say that it is compressed?
    pub(crate) decompresses: bool,
    /// Is a byte order mark at the file's start left out?
    pub(crate) drops_mark: bool,
    /// Is the file in UTF-16?
    pub(crate) utf16: Option<Endian>,
    /// Is the file one that the client's data were put into? It is nobody's business what that is called.
    pub(crate) is_spooled: bool,
    /// Is it a COPY's, taken over? What holds for COPY holds for it then, and no more.
    pub(crate) is_copys: bool,
    /// May errors have a hint that COPY does not give? For what says no more than COPY or `file_fdw` can, they are
    /// theirs alone.
    pub(crate) hints: bool,
}

impl Source {
    /// A file, which is decompressed if it is compressed.
    pub(crate) fn file(name: *const c_char) -> Source {
        Source {
            name,
            is_program: false,
            decompresses: true,
            drops_mark: false,
            utf16: None,
            is_spooled: false,
            is_copys: false,
            hints: false,
        }
    }

    /// Is the text that COPY is to read another one than it would find in the file, even if that is not compressed?
    pub(crate) fn is_recoded(&self) -> bool {
        self.drops_mark || self.utf16.is_some()
    }

    /// What it is called in errors: a C string.
    pub(crate) fn shown(&self) -> *const c_char {
        if self.is_spooled || self.is_client() { c"STDIN".as_ptr() } else { self.name }
    }

    /// Does the client send the data?
    pub(crate) fn is_client(&self) -> bool {
        self.name.is_null()
    }
}

/// Options that name the source. They are not COPY's, so they are taken out before COPY sees the rest.
const SOURCES: [&CStr; 2] = [c"filename", c"program"];

/// How the threads read a file: fastcsv's own option, taken out likewise. The hints that list valid options are
/// `file_fdw`'s and do not name it.
const IO: &CStr = c"io";

/// The values of [`IO`].
const IO_VALUES: [(&CStr, Io); 2] = [(c"pread", Io::Pread), (c"mmap", Io::Mmap)];

/// Whether compressed files are decompressed: another option of fastcsv's own.
const COMPRESSION: &CStr = c"compression";

/// The column that is not in the file but holds its name: a third one.
const FILENAME_COLUMN: &CStr = c"filename_column";

/// How a file's fields are known for a table's columns: a fourth one.
const MATCH: &CStr = c"match";

/// Whether a byte order mark is left out: a fifth one.
const BOM: &CStr = c"bom";

/// Options of a column.
const COLUMN_OPTIONS: [&CStr; 2] = [c"force_not_null", c"force_null"];

/// What a foreign table's options come to: the source, and COPY's own options as COPY wants them.
pub(crate) struct TableOptions {
    pub(crate) source: Source,
    /// How a file is read.
    pub(crate) io: Io,
    pub(crate) copy: *mut pg_sys::List,
    /// What COPY knows nothing of.
    pub(crate) beyond: Beyond,
}

impl TableOptions {
    /// What is to be opened: all columns of the table, with COPY's options.
    pub(crate) fn opening(&self, relation: pg_sys::Relation, options: *mut pg_sys::List) -> Opening {
        Opening { beyond: self.beyond, ..Opening::of(relation, self.source, options) }
    }

    /// Reads the options of a foreign table and of its columns.
    ///
    /// # Safety
    /// `table` must be a foreign table of this wrapper, and a lock on it be held.
    pub(crate) unsafe fn of(table: pg_sys::Oid) -> Self {
        // SAFETY: the caller's promise; the catalog functions return lists in the current memory context.
        unsafe {
            let (mut source, mut io, mut decompresses) = (None, Io::default(), true);
            let (mut beyond, mut drops_mark) = (Beyond::NOTHING, None);
            let mut copy = PgList::<pg_sys::DefElem>::new();
            for option in PgList::<pg_sys::DefElem>::from_pg((*pg_sys::GetForeignTable(table)).options).iter_ptr() {
                let name = CStr::from_ptr((*option).defname);
                if SOURCES.contains(&name) {
                    let is_program = name == c"program";
                    source = Some(Source { is_program, ..Source::file(pg_sys::defGetString(option)) });
                } else if name == IO {
                    io = io_of(option);
                } else if name == COMPRESSION {
                    decompresses = decompresses_by(pg_sys::defGetString(option));
                } else if name == FILENAME_COLUMN {
                    beyond.filename_column = pg_sys::defGetString(option);
                } else if name == MATCH {
                    beyond.matches_names = matches_names_by(pg_sys::defGetString(option));
                } else if name == BOM {
                    drops_mark = Some(drops_mark_by(pg_sys::defGetString(option)));
                } else {
                    copy.push(option);
                }
            }
            for (name, columns) in forced_columns(table) {
                copy.push(pg_sys::makeDefElem(name.as_ptr().cast_mut(), columns.cast(), -1));
            }
            let Some(source) = source else {
                raise(validator::missing_source()) // the validator saw to it, so only a changed catalog can bring us here
            };
            let drops_mark = drops_mark.unwrap_or(beyond.matches_names);
            let source = Source { decompresses, drops_mark, ..source };
            Self { source, io, copy: with_csv_format(copy), beyond }
        }
    }
}

/// The value of the option `io`.
///
/// # Errors
/// Raises that there is no such value.
///
/// # Safety
/// `option` must be a DefElem with a string value.
unsafe fn io_of(option: *mut pg_sys::DefElem) -> Io {
    // SAFETY: the caller's promise.
    let value = unsafe { CStr::from_ptr(pg_sys::defGetString(option)) };
    if let Some((_, io)) = IO_VALUES.into_iter().find(|(name, _)| *name == value) {
        return io;
    }
    let message = format!("invalid value for option \"io\": \"{}\"", value.to_string_lossy());
    let error = report(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message);
    raise(error.set_hint("Valid values are \"pread\" and \"mmap\"."))
}

/// What the option `compression` says: are compressed files decompressed?
///
/// # Errors
/// Raises that there is no such value.
///
/// # Safety
/// The value must be a C string.
pub(crate) unsafe fn decompresses_by(value: *const c_char) -> bool {
    // SAFETY: the caller's promise.
    unsafe { one_of_two(COMPRESSION, value, ["auto", "none"]) }
}

/// What the option `match` says: do the names in a file's header say which field is which column?
///
/// # Errors
/// Raises that there is no such value.
///
/// # Safety
/// The value must be a C string.
pub(crate) unsafe fn matches_names_by(value: *const c_char) -> bool {
    // SAFETY: the caller's promise.
    unsafe { one_of_two(MATCH, value, ["name", "position"]) }
}

/// What the option `bom` says: is a byte order mark left out?
///
/// # Errors
/// Raises that there is no such value.
///
/// # Safety
/// The value must be a C string.
pub(crate) unsafe fn drops_mark_by(value: *const c_char) -> bool {
    // SAFETY: the caller's promise.
    unsafe { one_of_two(BOM, value, ["drop", "keep"]) }
}

/// Is the option's value the first of these two?
///
/// # Errors
/// Raises that it is neither.
///
/// # Safety
/// The value must be a C string.
unsafe fn one_of_two(option: &CStr, value: *const c_char, words: [&str; 2]) -> bool {
    // SAFETY: the caller's promise.
    let value = unsafe { CStr::from_ptr(value) }.to_string_lossy();
    if words.contains(&&*value) {
        return value == words[0];
    }
    let message = format!("invalid value for option \"{}\": \"{value}\"", option.to_string_lossy());
    let error = report(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message);
    raise(error.set_hint(format!("Valid values are \"{}\" and \"{}\".", words[0], words[1])))
}

/// For each column option that is on for some column: its name and the list of those columns' names.
///
/// # Safety
/// A lock on `table` must be held.
unsafe fn forced_columns(table: pg_sys::Oid) -> Vec<(&'static CStr, *mut pg_sys::List)> {
    // SAFETY: the caller's promise; the relation is open while its descriptor is read.
    unsafe {
        let relation = pg_sys::table_open(table, pg_sys::AccessShareLock.cast_signed());
        let mut found = COLUMN_OPTIONS.map(|name| (name, std::ptr::null_mut::<pg_sys::List>()));
        for attribute in pg_compat::attributes((*relation).rd_att) {
            if attribute.attisdropped {
                continue;
            }
            let options = pg_sys::GetForeignColumnOptions(table, attribute.attnum);
            for option in PgList::<pg_sys::DefElem>::from_pg(options).iter_ptr() {
                let name = CStr::from_ptr((*option).defname);
                if let Some((_, columns)) = found.iter_mut().find(|(known, _)| *known == name)
                    && pg_sys::defGetBoolean(option)
                {
                    *columns = pg_sys::lappend(*columns, name_node(attribute).cast());
                }
            }
        }
        pg_sys::table_close(relation, pg_sys::AccessShareLock.cast_signed());
        found.into_iter().filter(|(_, columns)| !columns.is_null()).collect()
    }
}

/// A column's name as a String node of its own.
pub(crate) fn name_node(attribute: &pg_sys::FormData_pg_attribute) -> *mut pg_sys::Node {
    // SAFETY: a column's name is a NUL-terminated array; both calls allocate.
    unsafe { pg_sys::makeString(pg_sys::pstrdup(attribute.attname.data.as_ptr())).cast() }
}

/// Do the options ask for the binary format?
///
/// # Safety
/// `options` must be a list of DefElems.
pub(crate) unsafe fn is_binary(options: *mut pg_sys::List) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        PgList::<pg_sys::DefElem>::from_pg(options).iter_ptr().any(|option| {
            CStr::from_ptr((*option).defname) == c"format" && CStr::from_ptr(pg_sys::defGetString(option)) == c"binary"
        })
    }
}

/// Adds `format 'csv'` where no format is named.
fn with_csv_format(mut options: PgList<pg_sys::DefElem>) -> *mut pg_sys::List {
    // SAFETY: the list's elements are DefElems with a C string for a name; the new one is allocated.
    unsafe {
        if !options.iter_ptr().any(|option| CStr::from_ptr((*option).defname) == c"format") {
            let csv = pg_sys::makeString(pg_sys::pstrdup(c"csv".as_ptr()));
            options.push(pg_sys::makeDefElem(c"format".as_ptr().cast_mut(), csv.cast(), -1));
        }
    }
    options.into_pg()
}

/// An error of a user's making, not yet raised.
pub(crate) fn report(code: PgSqlErrorCode, message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(code, message.into(), "fastcsv")
}

/// Raises `error` as an ERROR.
pub(crate) fn raise(error: ErrorReport) -> ! {
    error.report(PgLogLevel::ERROR);
    unreachable!("an ERROR does not return")
}
