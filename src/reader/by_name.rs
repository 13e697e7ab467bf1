//! `match 'name'`: the names in a file's header say which column each of its fields is.
//!
//! COPY takes a column list in the file's order, but knows no field that is nobody's. So for a file with such fields it
//! is shown a relation that has a column of type text more for each of them, and told not to convert these. The numbers
//! of the table's own columns are the same in both; whoever makes rows of the table looks at these alone.

#![expect(unsafe_code, reason = "makes up a relation that PostgreSQL reads")]

use std::collections::HashSet;
use std::ffi::{CStr, CString};

use fastcsv_engine::names::{self, Named, Undecided};
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use crate::header::{self, First};
use crate::options::{raise, report};
use crate::referee::Opening;
use crate::{encoding, pg_compat};

/// Fields of a record at most: COPY numbers its columns in 16 bits.
const MOST_FIELDS: usize = 30_000;

/// Names that a message shows at most.
const MOST_SHOWN: usize = 8;

/// What a header comes to.
pub(super) struct ByName {
    /// The columns in the file's order, as a list of names.
    pub(super) columns: *mut pg_sys::List,
    /// What COPY is shown: the relation, or one with the fields that are nobody's.
    pub(super) relation: pg_sys::Relation,
    /// The table's attributes (0-based) that the file has.
    pub(super) present: Vec<usize>,
}

/// Finds out which columns the file has; `None` if it has no header at all, because it is empty or cannot be opened.
/// `candidates` are the attributes that may be in the file.
///
/// # Errors
/// Raises that the file can be read only once, that the header has no end, and that its names are none of the
/// columns', or not clearly so.
///
/// # Safety
/// The opening must be alive. What is made lives in the current memory context.
pub(super) unsafe fn of(opening: &Opening, candidates: &[usize], is_load: bool) -> Option<ByName> {
    // SAFETY: the caller's promise.
    unsafe {
        let fields = match header::first(opening.options, opening.source) {
            First::Fields(fields) => fields,
            First::Nothing => return None,
            First::Endless => raise(
                report(PgSqlErrorCode::ERRCODE_BAD_COPY_FILE_FORMAT, of_file("the header of", opening, "has no end"))
                    .set_hint("A header may be 1 MB long. Perhaps a quote in it is never closed."),
            ),
        };
        if fields.len() > MOST_FIELDS {
            let message = of_file("the header of", opening, "has too many columns");
            let detail = format!("It has {}; up to {MOST_FIELDS} can be matched by name.", fields.len());
            raise(report(PgSqlErrorCode::ERRCODE_TOO_MANY_COLUMNS, message).set_detail(detail));
        }
        let attributes = pg_compat::attributes((*opening.relation).rd_att);
        let name_of =
            |attribute: usize| CStr::from_ptr(attributes[attribute].attname.data.as_ptr()).to_bytes().to_vec();
        let columns: Vec<Vec<u8>> = candidates.iter().map(|&attribute| name_of(attribute)).collect();
        let found = names::columns_of(&fields, &columns, fold);
        let found = found.unwrap_or_else(|why| raise(undecided(&why, &fields, opening)));
        let present: Vec<usize> =
            found.iter().filter_map(|named| own(*named).map(|column| candidates[column])).collect();
        if present.is_empty() {
            raise(nothing_matches(opening, &fields, &columns));
        }
        let extra = extra_names(&fields, &found, attributes);
        let mut list = PgList::<pg_sys::Node>::new();
        let mut extras = extra.iter();
        for named in &found {
            let name = match own(*named) {
                Some(column) => pg_sys::pnstrdup(columns[column].as_ptr().cast(), columns[column].len()),
                None => pg_sys::pstrdup(extras.next().expect("a name for each").as_ptr()),
            };
            list.push(pg_sys::makeString(name).cast());
        }
        let is_kept = |attribute: usize| is_load || present.contains(&attribute);
        let relation =
            if is_load && extra.is_empty() { opening.relation } else { shown(opening.relation, &extra, is_kept) };
        Some(ByName { columns: list.into_pg(), relation, present })
    }
}

fn own(named: Named) -> Option<usize> {
    match named {
        Named::Column(column) => Some(column),
        Named::Nothing => None,
    }
}

/// A name as SQL folds it.
fn fold(name: &[u8]) -> Vec<u8> {
    encoding::folded(name).map_or_else(|| name.to_vec(), CString::into_bytes)
}

/// Something about the file, with its name.
fn of_file(before: &str, opening: &Opening, behind: &str) -> String {
    // SAFETY: a source's name is a C string.
    let name = unsafe { CStr::from_ptr(opening.source.name) }.to_string_lossy();
    format!("{before} file \"{name}\" {behind}")
}

fn undecided(why: &Undecided, fields: &[Vec<u8>], opening: &Opening) -> pgrx::pg_sys::panic::ErrorReport {
    let name = |number: usize| String::from_utf8_lossy(&fields[number]).into_owned();
    match *why {
        Undecided::Ambiguous(number) => {
            let message = format!("column name \"{}\" in the header is ambiguous", name(number));
            let detail = "Several columns have this name in other upper and lower case.";
            report(PgSqlErrorCode::ERRCODE_AMBIGUOUS_COLUMN, message).set_detail(format!(
                "{detail} It is field {} of {}.",
                number + 1,
                of_file("the header of", opening, "").trim_end()
            ))
        }
        Undecided::Twice(first, second) => {
            let message = format!("column name \"{}\" appears more than once in the header", name(second));
            report(PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN, message).set_detail(format!(
                "Fields {} and {} of {} are the same column.",
                first + 1,
                second + 1,
                of_file("the header of", opening, "").trim_end()
            ))
        }
    }
}

/// No name is that of a column.
fn nothing_matches(opening: &Opening, fields: &[Vec<u8>], columns: &[Vec<u8>]) -> pgrx::pg_sys::panic::ErrorReport {
    // SAFETY: the relation is open.
    let table = unsafe { CStr::from_ptr((*(*opening.relation).rd_rel).relname.data.as_ptr()) }.to_string_lossy();
    let message = of_file("the header of", opening, &format!("names no column of \"{table}\""));
    let error = report(PgSqlErrorCode::ERRCODE_BAD_COPY_FILE_FORMAT, message);
    let error = error.set_detail(format!("Its names are {}.", quoted(fields.iter())));
    let near: Vec<String> = fields
        .iter()
        .filter_map(|field| Some((field, names::nearest(field, columns, fold)?)))
        .take(MOST_SHOWN)
        .map(|(field, column)| {
            format!("\"{}\" for \"{}\"", String::from_utf8_lossy(column), String::from_utf8_lossy(field))
        })
        .collect();
    error.set_hint(match near.is_empty() {
        true => format!("The columns are {}.", quoted(columns.iter())),
        false => format!("Perhaps the file means {}.", near.join(", ")),
    })
}

/// The first of the names, quoted.
fn quoted<'n>(names: impl ExactSizeIterator<Item = &'n Vec<u8>>) -> String {
    let more = names.len().saturating_sub(MOST_SHOWN);
    let shown: Vec<String> =
        names.take(MOST_SHOWN).map(|name| format!("\"{}\"", String::from_utf8_lossy(name))).collect();
    let list = shown.join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}

/// Names for the fields that are nobody's: as they are called in the file, but different from all others.
fn extra_names(fields: &[Vec<u8>], found: &[Named], attributes: &[pg_sys::FormData_pg_attribute]) -> Vec<CString> {
    // SAFETY: a column's name is a NUL-terminated array.
    let taken = attributes.iter().map(|column| unsafe { CStr::from_ptr(column.attname.data.as_ptr()) }.to_owned());
    let mut taken: HashSet<CString> = taken.collect();
    let mut names = Vec::new();
    for (number, (field, named)) in fields.iter().zip(found).enumerate() {
        if *named != Named::Nothing {
            continue;
        }
        let most = pg_sys::NAMEDATALEN as usize - 1;
        let mut name = CString::new(clipped(field, most)).unwrap_or_default();
        if taken.contains(&name) || name.is_empty() {
            let suffix = format!(" (field {})", number + 1);
            let text = [clipped(field, most - suffix.len()), suffix.as_bytes()].concat();
            name = CString::new(text).unwrap_or_default();
        }
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// So many bytes of a name at most, whole characters.
fn clipped(name: &[u8], most: usize) -> &[u8] {
    let length = i32::try_from(name.len()).unwrap_or(i32::MAX);
    // SAFETY: reads so many bytes.
    let length = unsafe { pg_sys::pg_mbcliplen(name.as_ptr().cast(), length, most as i32) };
    &name[..length.unsigned_abs() as usize]
}

/// The relation with so many columns of type text behind its own. It is in no catalog, and is not to be closed. Those
/// of its own columns that are kept so have their defaults: what a scan does not find in the file is NULL.
///
/// # Safety
/// The relation must stay open as long as this is used.
unsafe fn shown(
    relation: pg_sys::Relation,
    extra: &[CString],
    keeps_default: impl Fn(usize) -> bool,
) -> pg_sys::Relation {
    // SAFETY: the caller's promise: the copy is as shallow as a look needs it. The descriptor is not counted, and goes
    // with its memory.
    unsafe {
        let own = (*relation).rd_att;
        let count = (*own).natts;
        let descriptor = pg_sys::CreateTemplateTupleDesc(count + extra.len() as i32);
        for number in 1..=count {
            let number = number as pg_sys::AttrNumber;
            pg_sys::TupleDescCopyEntry(descriptor, number, own, number);
        }
        (*descriptor).constr = (*own).constr;
        pg_compat::copy_defaults(descriptor, own, keeps_default);
        for (place, name) in extra.iter().enumerate() {
            let number = (count as usize + place + 1) as pg_sys::AttrNumber;
            pg_sys::TupleDescInitEntry(descriptor, number, name.as_ptr(), pg_sys::TEXTOID, -1, 0);
        }
        let copy: pg_sys::Relation = pg_sys::palloc(size_of::<pg_sys::RelationData>()).cast();
        copy.copy_from_nonoverlapping(relation, 1);
        (*copy).rd_att = descriptor;
        copy
    }
}
