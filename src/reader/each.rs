//! What is asked for that COPY knows nothing of, and what that comes to for each of the files: what COPY is begun with.

#![expect(unsafe_code, reason = "builds lists that PostgreSQL reads")]

use std::ffi::{CStr, c_char};

use fastcsv_engine::job::Constant;
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::constant;
use crate::header;
use crate::options::{Source, name_node, raise, report};
use crate::pg_compat;
use crate::referee::Opening;

/// What a read is asked for beyond what COPY can do. Plain pointers into PostgreSQL's memory.
#[derive(Clone, Copy)]
pub(crate) struct Beyond {
    /// The names of the files, if they are known already: a list of C strings, or null where the source is one file.
    pub(crate) files: Files,
    /// Whether it is to be found out for each file if its first record is a header; COPY's options say nothing of it.
    pub(crate) header_is_auto: bool,
    /// The column that is not in the files, and holds their names; or null.
    pub(crate) filename_column: *const c_char,
}

/// Whether it is known which files a source stands for.
#[derive(Clone, Copy)]
pub(crate) enum Files {
    /// Not yet.
    ToBeFound,
    /// These, in a list of C strings.
    Named(*mut pg_sys::List),
    /// The source is one file, or none.
    One,
}

impl Beyond {
    /// Nothing; but the source may stand for several files.
    pub(crate) const NOTHING: Beyond =
        Beyond { files: Files::ToBeFound, header_is_auto: false, filename_column: std::ptr::null() };

    /// Can COPY do it?
    pub(crate) fn is_nothing(&self) -> bool {
        let Beyond { files, header_is_auto, filename_column } = *self;
        matches!(files, Files::One) && !header_is_auto && filename_column.is_null()
    }
}

/// A value that is the same in every row of a file, and not in the file.
#[derive(Clone, Copy)]
pub(crate) struct Fixed {
    /// The attribute, 0-based.
    pub(crate) attribute: usize,
    /// None for NULL.
    pub(crate) value: Option<pg_sys::Datum>,
}

impl Fixed {
    /// As the threads want it; NULL is what they make of an attribute that nobody says anything of.
    ///
    /// # Safety
    /// The relation must be the one that the value is for.
    pub(super) unsafe fn constant(self, relation: pg_sys::Relation) -> Option<(usize, Constant)> {
        // SAFETY: the caller's promise.
        unsafe {
            let attribute = &pg_compat::attributes((*relation).rd_att)[self.attribute];
            Some((self.attribute, constant::of(self.value?, attribute)))
        }
    }
}

/// What one of the files is opened with.
pub(super) struct Each {
    pub(super) opening: Opening,
    /// The value that is not in the file.
    pub(super) fixed: Option<Fixed>,
    /// Whether none of the columns is wanted that are: COPY takes an option that names none for all.
    pub(super) selects_none: bool,
}

/// What one of the files is to be opened with.
///
/// # Errors
/// Raises that the file can be read only once where it must be looked at first, and what is wrong with the column for the name.
///
/// # Safety
/// The opening must be alive, and the file's name a C string that lives as long. All that is made lives in the current memory context.
pub(super) unsafe fn opening_for(opening: &Opening, name: *const c_char) -> Each {
    let beyond = opening.beyond;
    let mut opening = Opening { source: Source { name, ..opening.source }, ..*opening };
    let (mut fixed, mut selects_none) = (None, false);
    // SAFETY: the caller's promise.
    unsafe {
        if !beyond.filename_column.is_null() {
            let attribute = column_of(opening.relation, CStr::from_ptr(beyond.filename_column));
            opening.columns = others(&opening, attribute);
            (opening.options, selects_none) = selecting_others(opening.options, CStr::from_ptr(beyond.filename_column));
            fixed = Some(Fixed { attribute, value: Some(value_of(opening.relation, attribute, name)) });
        }
        if beyond.header_is_auto {
            let columns = header::Columns::of_descriptor((*opening.relation).rd_att);
            opening.options = header::resolve(opening.options, &columns, opening.columns, opening.source);
        }
    }
    Each { opening, fixed, selects_none }
}

/// COPY's option that names the columns to convert.
const SELECTION: &CStr = c"convert_selectively";

/// The options, without that column among those to convert; and whether there is none left of them.
///
/// # Safety
/// The list must be one of DefElems, the option's value a list of names.
unsafe fn selecting_others(options: *mut pg_sys::List, column: &CStr) -> (*mut pg_sys::List, bool) {
    let mut changed = PgList::<pg_sys::DefElem>::new();
    let mut selects_none = false;
    // SAFETY: the caller's promise; allocates nodes.
    unsafe {
        for option in PgList::<pg_sys::DefElem>::from_pg(options).iter_ptr() {
            if CStr::from_ptr((*option).defname) != SELECTION {
                changed.push(option);
                continue;
            }
            let mut names = PgList::<pg_sys::String>::new();
            let before = PgList::<pg_sys::String>::from_pg((*option).arg.cast());
            before.iter_ptr().filter(|name| CStr::from_ptr((**name).sval) != column).for_each(|name| names.push(name));
            selects_none = names.is_empty() && !before.is_empty();
            // Without a name it means all columns, and is left out.
            if !names.is_empty() {
                changed.push(pg_sys::makeDefElem(SELECTION.as_ptr().cast_mut(), names.into_pg().cast(), -1));
            }
        }
    }
    (changed.into_pg(), selects_none)
}

/// The attribute (0-based) of the column that holds the files' names.
///
/// # Errors
/// Raises that there is none of that name, or that it is computed.
///
/// # Safety
/// The relation must be open.
unsafe fn column_of(relation: pg_sys::Relation, name: &CStr) -> usize {
    // SAFETY: the caller's promise; a column's name is a NUL-terminated array.
    unsafe {
        let found = pg_compat::attributes((*relation).rd_att)
            .iter()
            .position(|column| !column.attisdropped && CStr::from_ptr(column.attname.data.as_ptr()) == name);
        match found {
            Some(index) if pg_compat::attributes((*relation).rd_att)[index].attgenerated == 0 => index,
            Some(_) => {
                let message =
                    format!("column \"{}\" is generated, and cannot hold the file's name", name.to_string_lossy());
                raise(report(PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE, message))
            }
            None => {
                let table = CStr::from_ptr((*(*relation).rd_rel).relname.data.as_ptr()).to_string_lossy();
                let message = format!("column \"{}\" of relation \"{table}\" does not exist", name.to_string_lossy());
                let hint = "The option filename_column names the column that the file's name goes to.";
                raise(report(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message).set_hint(hint))
            }
        }
    }
}

/// The opening's columns but the one at the attribute, as a list of names.
///
/// # Safety
/// The opening must be alive.
unsafe fn others(opening: &Opening, attribute: usize) -> *mut pg_sys::List {
    let mut names = PgList::<pg_sys::Node>::new();
    // SAFETY: the caller's promise; a column list is one of String nodes.
    unsafe {
        let columns = pg_compat::attributes((*opening.relation).rd_att);
        let left_out = CStr::from_ptr(columns[attribute].attname.data.as_ptr());
        if opening.columns.is_null() {
            for (index, column) in columns.iter().enumerate() {
                if index != attribute && !column.attisdropped && column.attgenerated == 0 {
                    names.push(name_node(column));
                }
            }
        }
        for name in PgList::<pg_sys::Node>::from_pg(opening.columns).iter_ptr() {
            if CStr::from_ptr((*name.cast::<pg_sys::String>()).sval) != left_out {
                names.push(name);
            }
        }
    }
    if names.is_empty() {
        let message = "the file has no columns besides the one for its name";
        raise(report(PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE, message));
    }
    names.into_pg()
}

/// The name as a value of the column's type.
///
/// # Errors
/// Raises what the type's input function has against it.
///
/// # Safety
/// The relation must be open and have the attribute; the name be a C string.
unsafe fn value_of(relation: pg_sys::Relation, attribute: usize, name: *const c_char) -> pg_sys::Datum {
    // SAFETY: the caller's promise.
    unsafe {
        let column = &pg_compat::attributes((*relation).rd_att)[attribute];
        let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        pg_sys::getTypeInputInfo(column.atttypid, &mut input, &mut parameter);
        pg_sys::OidInputFunctionCall(input, name.cast_mut(), parameter, column.atttypmod)
    }
}
