//! What is asked for that COPY knows nothing of, and what that comes to for each of the files: what COPY is begun with.

#![expect(unsafe_code, reason = "builds lists that PostgreSQL reads")]

use std::ffi::{CStr, c_char};

use fastcsv_engine::job::Constant;
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::{by_name, constant};
use crate::header;
use crate::options::{Source, name_node, raise, report};
use crate::referee::Opening;
use crate::text;
use crate::{pg_compat, pg_raw};

/// What a read is asked for beyond what COPY can do. Plain pointers into PostgreSQL's memory.
#[derive(Clone, Copy)]
pub(crate) struct Beyond {
    /// The names of the files, if they are known already: a list of C strings, or null where the source is one file.
    pub(crate) files: Files,
    /// Whether it is to be found out for each file if its first record is a header; COPY's options say nothing of it.
    pub(crate) header_is_auto: bool,
    /// The column that is not in the files, and holds their names; or null.
    pub(crate) filename_column: *const c_char,
    /// Whether each file's header says which of its fields is which column.
    pub(crate) matches_names: bool,
    /// Whether columns that a file lacks get their defaults; they are NULL otherwise.
    pub(crate) is_load: bool,
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
    pub(crate) const NOTHING: Beyond = Beyond {
        files: Files::ToBeFound,
        header_is_auto: false,
        filename_column: std::ptr::null(),
        matches_names: false,
        is_load: false,
    };

    /// Can COPY do it?
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.files, Files::One) && !self.header_is_auto && !self.changes_columns()
    }

    /// Are the file's columns others than COPY would take them to be?
    fn changes_columns(&self) -> bool {
        self.matches_names || !self.filename_column.is_null()
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

/// What one of the files is opened with; plain pointers into the current memory context.
pub(super) struct Each {
    pub(super) opening: Opening,
    /// What COPY is shown as the relation: it may have columns more, for fields of the file that are nobody's.
    pub(super) shown: pg_sys::Relation,
    /// Values that are the same in every row.
    pub(super) fixed: *mut Fixed,
    pub(super) fixed_count: usize,
    /// For each column of what COPY is shown, whether its values are wanted; null where COPY's options say so.
    pub(super) selected: *mut bool,
}

/// What one of the files is to be opened with.
///
/// # Errors
/// Raises that the file can be read only once where it must be looked at first, what is wrong with the column
/// for the name, and what with the header.
///
/// # Safety
/// The opening must be alive, and the file's name a C string that lives as long. All that is made lives in the
/// current memory context.
pub(super) unsafe fn opening_for(opening: &Opening, name: *const c_char) -> Each {
    let beyond = opening.beyond;
    // SAFETY: the caller's promise.
    let (source, options) = unsafe { text::look(Source { name, ..opening.source }, opening.options) };
    let mut opening = Opening { source, options, ..*opening };
    let mut fixed = Vec::new();
    let mut shown = opening.relation;
    let mut selected = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe {
        if beyond.changes_columns() {
            let name_column = (!beyond.filename_column.is_null())
                .then(|| column_of(opening.relation, CStr::from_ptr(beyond.filename_column)));
            if let Some(attribute) = name_column {
                fixed.push(Fixed { attribute, value: Some(value_of(opening.relation, attribute, name)) });
            }
            let candidates = candidates(&opening, name_column);
            opening.columns = names_of(opening.relation, &candidates);
            let mut present = candidates.clone();
            if beyond.matches_names {
                check_matches(opening.options);
                opening.options = with_header(opening.options);
                if let Some(found) = by_name::of(&opening, &candidates, beyond.is_load) {
                    (opening.columns, shown, present) = (found.columns, found.relation, found.present);
                }
                if !beyond.is_load {
                    fixed.extend(missing(opening.relation, &present, name_column));
                }
                opening.options = about(opening.relation, opening.options, &present);
            }
            selected = selection(&opening, shown, &present);
            opening.options = without(opening.options, &[SELECTION]);
        }
        if beyond.header_is_auto && !beyond.matches_names {
            let columns = header::Columns::of_descriptor((*opening.relation).rd_att);
            opening.options = header::resolve(opening.options, &columns, opening.columns, opening.source);
        }
        let copy: *mut Fixed = pg_sys::palloc(size_of_val(&fixed[..]).max(1)).cast();
        copy.copy_from_nonoverlapping(fixed.as_ptr(), fixed.len());
        Each { opening, shown, fixed: copy, fixed_count: fixed.len(), selected }
    }
}

/// COPY's options that name columns: those to convert, and others.
const SELECTION: &CStr = c"convert_selectively";
const ABOUT_COLUMNS: [&CStr; 2] = [c"force_not_null", c"force_null"];

/// The attributes (0-based) that may be in a file: those that are asked for, but the one for its name.
///
/// # Errors
/// Raises that there is no such column.
///
/// # Safety
/// The opening must be alive.
unsafe fn candidates(opening: &Opening, name_column: Option<usize>) -> Vec<usize> {
    // SAFETY: the caller's promise: a column list is one of String nodes.
    let candidates: Vec<usize> = unsafe {
        let columns = pg_compat::attributes((*opening.relation).rd_att);
        if opening.columns.is_null() {
            let is_wanted = |column: &pg_sys::FormData_pg_attribute| !column.attisdropped && column.attgenerated == 0;
            let wanted = (0..columns.len()).filter(|&index| Some(index) != name_column && is_wanted(&columns[index]));
            wanted.collect()
        } else {
            let numbers = pg_raw::CopyGetAttnums((*opening.relation).rd_att, opening.relation, opening.columns);
            let attribute = |place| pg_sys::list_nth_int(numbers, place).unsigned_abs() as usize - 1;
            (0..pg_sys::list_length(numbers)).map(attribute).filter(|&index| Some(index) != name_column).collect()
        }
    };
    if candidates.is_empty() {
        let message = "the file has no columns besides the one for its name";
        raise(report(PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE, message));
    }
    candidates
}

/// What COPY's options must not say where names are matched.
///
/// # Errors
/// Raises that they do.
///
/// # Safety
/// The list must be one of DefElems with strings where these are concerned.
unsafe fn check_matches(options: *mut pg_sys::List) {
    // SAFETY: the caller's promise.
    unsafe {
        for option in PgList::<pg_sys::DefElem>::from_pg(options).iter_ptr() {
            let name = CStr::from_ptr((*option).defname);
            if name != c"format" && name != c"header" {
                continue;
            }
            let value = CStr::from_ptr(pg_sys::defGetString(option)).to_bytes().to_ascii_lowercase();
            if name == c"format" && value != b"csv" {
                let message = "columns can be matched by name only in the format csv";
                raise(report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message));
            }
            if name == c"header" && [&b"false"[..], b"off", b"0"].contains(&&value[..]) {
                let message = "columns cannot be matched by name without a header";
                raise(report(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message));
            }
        }
    }
}

/// The attributes' names, in a list.
///
/// # Safety
/// The relation must be open and have them.
unsafe fn names_of(relation: pg_sys::Relation, attributes: &[usize]) -> *mut pg_sys::List {
    let mut names = PgList::<pg_sys::Node>::new();
    // SAFETY: the caller's promise.
    let columns = unsafe { pg_compat::attributes((*relation).rd_att) };
    attributes.iter().for_each(|&attribute| names.push(name_node(&columns[attribute])));
    names.into_pg()
}

/// What a scan makes of columns that are not in the file: NULL.
///
/// # Safety
/// The relation must be open.
unsafe fn missing(relation: pg_sys::Relation, present: &[usize], name_column: Option<usize>) -> Vec<Fixed> {
    // SAFETY: the caller's promise.
    let count = unsafe { (*(*relation).rd_att).natts.unsigned_abs() as usize };
    let mut is_missing = vec![true; count];
    present.iter().copied().chain(name_column).for_each(|attribute| is_missing[attribute] = false);
    let missing = is_missing.into_iter().enumerate().filter(|(_, is_missing)| *is_missing);
    missing.map(|(attribute, _)| Fixed { attribute, value: None }).collect()
}

/// The options and that there is a header.
///
/// # Safety
/// The list must be one of DefElems.
unsafe fn with_header(options: *mut pg_sys::List) -> *mut pg_sys::List {
    // SAFETY: the caller's promise; allocates nodes.
    unsafe {
        let value = pg_sys::makeString(c"true".as_ptr().cast_mut()).cast();
        let option = pg_sys::makeDefElem(c"header".as_ptr().cast_mut(), value, -1);
        pg_sys::lappend(without(options, &[c"header"]), option.cast())
    }
}

/// The options without some of them, in a list of its own.
///
/// # Safety
/// The list must be one of DefElems.
unsafe fn without(options: *mut pg_sys::List, names: &[&CStr]) -> *mut pg_sys::List {
    let mut others = PgList::<pg_sys::DefElem>::new();
    // SAFETY: the caller's promise.
    unsafe {
        for option in PgList::<pg_sys::DefElem>::from_pg(options).iter_ptr() {
            if !names.contains(&CStr::from_ptr((*option).defname)) {
                others.push(option);
            }
        }
    }
    others.into_pg()
}

/// The options, where they are about columns of the relation that the file lacks without these: COPY would complain.
///
/// # Safety
/// The list must be one of DefElems; the relation be open.
unsafe fn about(relation: pg_sys::Relation, options: *mut pg_sys::List, present: &[usize]) -> *mut pg_sys::List {
    let mut changed = PgList::<pg_sys::DefElem>::new();
    // SAFETY: the caller's promise; what is no list of names is the star that stands for all.
    unsafe {
        let columns = pg_compat::attributes((*relation).rd_att);
        let is_missing = |name: &CStr| {
            let found = columns.iter().position(|column| CStr::from_ptr(column.attname.data.as_ptr()) == name);
            found.is_some_and(|attribute| !present.contains(&attribute))
        };
        for option in PgList::<pg_sys::DefElem>::from_pg(options).iter_ptr() {
            let is_list = !(*option).arg.is_null() && (*(*option).arg).type_ == pg_sys::NodeTag::T_List;
            if !is_list || !ABOUT_COLUMNS.contains(&CStr::from_ptr((*option).defname)) {
                changed.push(option);
                continue;
            }
            let mut names = PgList::<pg_sys::String>::new();
            for name in PgList::<pg_sys::String>::from_pg((*option).arg.cast()).iter_ptr() {
                if !is_missing(CStr::from_ptr((*name).sval)) {
                    names.push(name);
                }
            }
            if !names.is_empty() {
                changed.push(pg_sys::makeDefElem((*option).defname, names.into_pg().cast(), -1));
            }
        }
    }
    changed.into_pg()
}

/// For each column of what COPY is shown, whether its values are wanted: those of the file's columns that the options
/// name, or all of them.
///
/// # Safety
/// The opening must be alive, and the option's value a list of names.
unsafe fn selection(opening: &Opening, shown: pg_sys::Relation, present: &[usize]) -> *mut bool {
    // SAFETY: the caller's promise.
    unsafe {
        let count = (*(*shown).rd_att).natts.unsigned_abs() as usize;
        let selected: *mut bool = pg_sys::palloc0(count.max(1)).cast();
        let columns = pg_compat::attributes((*opening.relation).rd_att);
        let options = PgList::<pg_sys::DefElem>::from_pg(opening.options);
        let option = options.iter_ptr().find(|option| CStr::from_ptr((**option).defname) == SELECTION);
        let wanted = option.map(|option| PgList::<pg_sys::String>::from_pg((*option).arg.cast()));
        for &attribute in present {
            let name = CStr::from_ptr(columns[attribute].attname.data.as_ptr());
            // Without a name it means all columns.
            *selected.add(attribute) = wanted.as_ref().is_none_or(|wanted| {
                wanted.is_empty() || wanted.iter_ptr().any(|wanted| CStr::from_ptr((*wanted).sval) == name)
            });
        }
        selected
    }
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
