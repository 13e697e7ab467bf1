//! `header => 'auto'`: is the file's first record a header?
//!
//! It is when every field of it names a column of the table, as an SQL identifier would: exactly, or when folded to
//! lower case. If the names come in the order of the columns loaded, COPY is told to skip the record. If they do
//! not, COPY would put values into the wrong columns, so it is told to check the names (`header match`) and raises
//! its own error. A byte order mark before the first name is passed over.
//!
//! The first record is looked at before COPY runs, so only by who may read the file anyway; whatever is wrong with
//! the file or the options is left for COPY to say.

#![expect(unsafe_code, reason = "opens a file and reads the catalog through C interfaces")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::fs::FileTypeExt;

use fastcsv_engine::first_record::{self, FirstRecord};
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use crate::options::{Source, raise, report};
use crate::text::text_of;
use crate::{archive, encoding, memory, pg_compat};

/// Bytes looked at. A header of 1600 columns, each name 63 characters of 4 bytes in quotes, fits.
const LONGEST_HEADER: u64 = 1 << 20;

/// What the fields of a record take at most, in multiples of its length: where each is empty, a list that grows by
/// doubling has the old and the new place of a vector for each byte.
const FIELDS_FACTOR: usize = 3 * size_of::<Vec<u8>>();

/// What may come before a text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// COPY's options with what COPY is to do about the header, where that is to be found out: `options` says nothing of
/// it. `columns` are those that are loaded, or null for all.
///
/// # Errors
/// Raises that the file can be read only once.
///
/// # Safety
/// The lists must be of DefElems and of names, and the source's name a C string.
pub(crate) unsafe fn resolve(
    options: *mut pg_sys::List,
    table: &Columns,
    columns: *mut pg_sys::List,
    source: Source,
) -> *mut pg_sys::List {
    // SAFETY: the caller's promise.
    unsafe {
        let words = Words(options);
        if !is_csv(options) {
            return options;
        }
        let Some(fields) = first_fields(words, source) else { return options };
        if !fields.iter().all(|field| table.names.iter().any(|name| names(field, name))) {
            return options;
        }
        let loaded = if columns.is_null() { table.loaded.clone() } else { named(columns) };
        let in_order =
            fields.len() == loaded.len() && fields.iter().zip(&loaded).all(|(field, name)| names(field, name));
        with_header(options, if in_order { c"true" } else { c"match" })
    }
}

/// Is the format one that has headers of which this is known?
///
/// # Safety
/// The list must be one of DefElems.
pub(crate) unsafe fn is_csv(options: *mut pg_sys::List) -> bool {
    // SAFETY: the caller's promise.
    unsafe { Words(options).get(c"format") }.is_none_or(|format| format == c"csv")
}

/// The options and one that says what the header is, in a list of its own.
///
/// # Safety
/// As for [`resolve`].
unsafe fn with_header(options: *mut pg_sys::List, value: &'static CStr) -> *mut pg_sys::List {
    // SAFETY: the caller's promise; allocates nodes.
    unsafe {
        let value = pg_sys::makeString(value.as_ptr().cast_mut()).cast();
        let option = pg_sys::makeDefElem(c"header".as_ptr().cast_mut(), value, -1);
        pg_sys::lappend(pg_sys::list_copy(options), option.cast())
    }
}

/// COPY's options that are one word each.
#[derive(Clone, Copy)]
struct Words(*mut pg_sys::List);

impl Words {
    /// The value of an option, if it is given.
    ///
    /// # Safety
    /// The list must be one of DefElems; the option have a value that is one word.
    unsafe fn get<'a>(self, name: &CStr) -> Option<&'a CStr> {
        // SAFETY: the caller's promise.
        unsafe {
            let options = PgList::<pg_sys::DefElem>::from_pg(self.0);
            let option = options.iter_ptr().find(|option| CStr::from_ptr((**option).defname) == name)?;
            Some(CStr::from_ptr(pg_sys::defGetString(option)))
        }
    }

    /// The value of an option that must be one byte; COPY refuses any other.
    ///
    /// # Safety
    /// As for `get`.
    unsafe fn one_byte(self, name: &CStr, default: u8) -> Option<u8> {
        // SAFETY: the caller's promise.
        match unsafe { self.get(name) }.map(CStr::to_bytes) {
            None => Some(default),
            Some(&[byte]) => Some(byte),
            Some(_) => None,
        }
    }

    /// The file's encoding: the option's, or the client's. `None` where COPY will refuse the name.
    ///
    /// # Safety
    /// As for `get`.
    unsafe fn encoding(self) -> Option<i32> {
        // SAFETY: the caller's promise; reads a setting.
        unsafe {
            match self.get(c"encoding") {
                Some(name) => encoding::by_name(name),
                None => Some(pg_sys::pg_get_client_encoding()),
            }
        }
    }
}

/// The fields of the first record in the server's encoding, or `None` where there is none to be had.
///
/// # Safety
/// The source's name must be a C string.
unsafe fn first_fields(options: Words, source: Source) -> Option<Vec<Vec<u8>>> {
    // SAFETY: the caller's promise.
    match unsafe { first_record_of(options, source)? } {
        FirstRecord::Complete(fields) => Some(fields),
        FirstRecord::None | FirstRecord::Incomplete => None,
    }
}

/// See [`first`].
pub(crate) enum First {
    /// The record's fields, in the server's encoding.
    Fields(Vec<Vec<u8>>),
    /// There is no record, or none can be had; whoever reads on will say why.
    Nothing,
    /// It is longer than any header.
    Endless,
}

/// The file's first record.
///
/// # Errors
/// As for [`resolve`].
///
/// # Safety
/// The list must be one of DefElems, the source's name a C string.
pub(crate) unsafe fn first(options: *mut pg_sys::List, source: Source) -> First {
    // SAFETY: the caller's promise.
    match unsafe { first_record_of(Words(options), source) } {
        Some(FirstRecord::Complete(fields)) => First::Fields(fields),
        Some(FirstRecord::Incomplete) => First::Endless,
        Some(FirstRecord::None) | None => First::Nothing,
    }
}

/// The first record, if the file can be read and the options understood.
///
/// # Safety
/// As for [`first`].
unsafe fn first_record_of(options: Words, source: Source) -> Option<FirstRecord> {
    // SAFETY: the caller's promise.
    let (delimiter, quote, escape, encoding, start) = unsafe {
        let delimiter = options.one_byte(c"delimiter", b',')?;
        let quote = options.one_byte(c"quote", b'"')?;
        let escape = options.one_byte(c"escape", quote)?;
        (delimiter, quote, escape, options.encoding()?, read_start(source).ok()?)
    };
    let at_end = (start.len() as u64) < LONGEST_HEADER;
    let start = encoding::to_server(encoding, start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start))?;
    memory::expect_room(FIELDS_FACTOR * start.len());
    Some(first_record::first_record(&start, at_end, delimiter, quote, escape))
}

/// The first bytes of the file, or of what it holds if it is compressed. What is no regular file cannot be looked at
/// without taking its bytes away.
///
/// # Safety
/// The source's name must be a C string.
unsafe fn read_start(source: Source) -> io::Result<Vec<u8>> {
    if source.is_program || source.is_client() {
        read_once();
    }
    // SAFETY: the caller's promise.
    let file = unsafe { archive::open(source)? };
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() || kind.is_char_device() {
        drop(file);
        read_once();
    }
    text_of(&source, file, LONGEST_HEADER)
}

fn read_once() -> ! {
    let message = "cannot look for a header in a file that can be read only once";
    let error = report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message);
    raise(error.set_hint("Say header => true, header => false or header => 'match'."))
}

/// A table's columns by name.
pub(crate) struct Columns {
    /// All of them, generated ones included.
    names: Vec<CString>,
    /// Those that COPY loads when no column list is given.
    loaded: Vec<CString>,
}

impl Columns {
    /// Those of a locked table. One that is gone has none, and COPY says so.
    pub(crate) fn of(table: pg_sys::Oid) -> Self {
        // SAFETY: the relation is locked by the caller; it is closed again with the lock kept.
        unsafe {
            let relation = pg_sys::try_relation_open(table, pg_sys::NoLock.cast_signed());
            if relation.is_null() {
                return Self { names: Vec::new(), loaded: Vec::new() };
            }
            let columns = Self::of_descriptor((*relation).rd_att);
            pg_sys::relation_close(relation, pg_sys::NoLock.cast_signed());
            columns
        }
    }

    /// Those of rows.
    ///
    /// # Safety
    /// The descriptor must be alive.
    pub(crate) unsafe fn of_descriptor(descriptor: pg_sys::TupleDesc) -> Self {
        let (mut names, mut loaded) = (Vec::new(), Vec::new());
        // SAFETY: the caller's promise. A column's name is a NUL-terminated array.
        for attribute in unsafe { pg_compat::attributes(descriptor) }.iter().filter(|a| !a.attisdropped) {
            // SAFETY: as above.
            let name = unsafe { CStr::from_ptr(attribute.attname.data.as_ptr()) }.to_owned();
            if attribute.attgenerated == 0 {
                loaded.push(name.clone());
            }
            names.push(name);
        }
        Self { names, loaded }
    }
}

/// The names in a column list; what is wrong with them COPY will say.
///
/// # Safety
/// The list must be one of String nodes.
unsafe fn named(columns: *mut pg_sys::List) -> Vec<CString> {
    // SAFETY: the caller's promise.
    unsafe {
        let names = PgList::<pg_sys::String>::from_pg(columns);
        names.iter_ptr().map(|name| CStr::from_ptr((*name).sval).to_owned()).collect()
    }
}

/// Does the field, read as an SQL identifier, name this column?
fn names(field: &[u8], column: &CStr) -> bool {
    field == column.to_bytes() || encoding::folded(field).as_deref() == Some(column)
}
