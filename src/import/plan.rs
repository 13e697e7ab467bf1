//! What an import does, in PostgreSQL's memory: statements, and the load's options.

#![expect(unsafe_code, reason = "makes nodes and quotes names through PostgreSQL's C interface")]

use std::ffi::{CStr, CString, OsStr, c_char};
use std::path::Path;

use fastcsv_engine::glob;
use fastcsv_engine::infer::{Reading, Type, names};
use pgrx::{PgList, pg_sys};

use crate::infer::{Request, Schema, SchemaColumn};
use crate::referee::shim;

/// What the user wants of the table.
pub(super) struct Wishes {
    pub(super) table: Option<*mut c_char>,
    pub(super) schema: Option<*mut c_char>,
    pub(super) is_temporary: bool,
    pub(super) is_unlogged: bool,
}

/// What is to be done.
pub(super) struct Plan {
    /// The table's name.
    pub(super) name: *const c_char,
    /// Its schema; invalid if that is the session's for temporary tables.
    schema: pg_sys::Oid,
    /// The CREATE TABLE.
    pub(super) create: *const c_char,
    /// COPY's options.
    pub(super) options: *mut pg_sys::List,
    /// The `DateStyle` of the load, if it matters.
    pub(super) date_style: Option<&'static CStr>,
    /// The ALTER TABLE behind the load, or null.
    pub(super) convert: *const c_char,
    /// Its `DateStyle`, if it matters.
    pub(super) convert_style: Option<&'static CStr>,
}

/// The order of day and month.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    DayFirst,
    MonthFirst,
}

impl Order {
    fn of(column: &SchemaColumn) -> Option<Order> {
        match column.verdict.reading {
            Reading::DayFirst => Some(Order::DayFirst),
            Reading::MonthFirst => Some(Order::MonthFirst),
            Reading::DayOrMonth => Some(Order::of_session()),
            Reading::Plain | Reading::DecimalComma | Reading::ThousandsComma => None,
        }
    }

    /// What the session takes dates for that could be either.
    fn of_session() -> Order {
        // SAFETY: reads a setting.
        match unsafe { pg_sys::DateOrder }.cast_unsigned() {
            pg_sys::DATEORDER_DMY => Order::DayFirst,
            _ => Order::MonthFirst,
        }
    }

    fn style(self) -> &'static CStr {
        match self {
            Order::DayFirst => c"ISO, DMY",
            Order::MonthFirst => c"ISO, MDY",
        }
    }
}

impl Plan {
    /// The plan for the files that are asked for.
    ///
    /// # Errors
    /// Raises that there is no such schema, or none to create in.
    pub(super) fn of(schema: &Schema, request: &Request, wishes: &Wishes) -> *mut Plan {
        // SAFETY: names are C strings; everything is allocated in the current memory context, which lasts as long as
        // the call.
        unsafe {
            let name = truncated(wishes.table.unwrap_or_else(|| table_name(request.filename)));
            let (namespace, target) = target(name, wishes);
            let orders: Vec<Order> = schema.columns.iter().filter_map(Order::of).collect();
            let first = orders.iter().filter(|order| **order == Order::DayFirst).count();
            // Most columns' order is the load's, and the others are converted behind it.
            let order = match 2 * first {
                _ if orders.is_empty() => None,
                twice if twice > orders.len() || twice == orders.len() && orders[0] == Order::DayFirst => {
                    Some(Order::DayFirst)
                }
                _ => Some(Order::MonthFirst),
            };
            let is_late = |column: &&SchemaColumn| is_late(column, order);
            let convert: Vec<Vec<u8>> = schema.columns.iter().filter(is_late).map(conversion).collect();
            let late_order = schema.columns.iter().filter(is_late).find_map(Order::of);
            tell_undecided(schema);
            let plan: *mut Plan = pg_sys::palloc(size_of::<Plan>()).cast();
            plan.write(Plan {
                name,
                schema: namespace,
                create: c_string(&create(schema, &target, wishes, order)),
                options: copy_options(schema),
                date_style: order.map(Order::style),
                convert: match convert.is_empty() {
                    true => std::ptr::null(),
                    false => c_string(&[&b"ALTER TABLE "[..], &target, b" ", &convert.join(&b", "[..])].concat()),
                },
                convert_style: late_order.map(Order::style),
            });
            plan
        }
    }

    /// The schema in which the table was created.
    pub(super) fn namespace(&self) -> pg_sys::Oid {
        if self.schema != pg_sys::InvalidOid {
            return self.schema;
        }
        // SAFETY: looks at the session's state.
        unsafe {
            let (mut temporary, mut toast) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
            pg_sys::GetTempNamespaceState(&mut temporary, &mut toast);
            temporary
        }
    }
}

/// Must the column be loaded as text first?
fn is_late(column: &SchemaColumn, order: Option<Order>) -> bool {
    match column.verdict.reading {
        Reading::DecimalComma | Reading::ThousandsComma => true,
        _ => Order::of(column).is_some_and(|own| Some(own) != order),
    }
}

/// The CREATE TABLE, as it is told to the user too.
fn create(schema: &Schema, target: &[u8], wishes: &Wishes, order: Option<Order>) -> Vec<u8> {
    let columns: Vec<Vec<u8>> = schema
        .columns
        .iter()
        .map(|column| {
            let kind = if is_late(column, order) { Type::Text } else { column.verdict.kind };
            [&b"    "[..], &quoted(&column.name), b" ", kind.name().as_bytes()].concat()
        })
        .collect();
    let kind = match () {
        () if wishes.is_temporary => "TEMPORARY ",
        () if wishes.is_unlogged => "UNLOGGED ",
        () => "",
    };
    [b"CREATE ", kind.as_bytes(), b"TABLE ", target, b" (\n", &columns.join(&b",\n"[..]), b"\n)"].concat()
}

/// The part of the ALTER TABLE that converts a column that was loaded as text.
fn conversion(column: &SchemaColumn) -> Vec<u8> {
    let (name, kind) = (quoted(&column.name), column.verdict.kind.name().as_bytes());
    let value: Vec<u8> = match column.verdict.reading {
        Reading::DecimalComma => [&b"replace(replace("[..], &name, b", '.', ''), ',', '.')"].concat(),
        Reading::ThousandsComma => [&b"replace("[..], &name, b", ',', '')"].concat(),
        _ => name.clone(),
    };
    [b"ALTER COLUMN ", &name[..], b" TYPE ", kind, b" USING ", &value, b"::", kind].concat()
}

/// Says of which columns the file does not tell the order of day and month.
fn tell_undecided(schema: &Schema) {
    for column in schema.columns.iter().filter(|column| column.verdict.reading == Reading::DayOrMonth) {
        let order = if Order::of_session() == Order::DayFirst { "day first" } else { "month first" };
        let message =
            [b"day and month cannot be told apart in column \"", &column.name[..], b"\", whose dates are read "]
                .concat();
        let message = c_string(&[&message[..], order.as_bytes()].concat());
        // SAFETY: both are C strings.
        unsafe { shim::fastcsv_shim_notice(message, c"Set datestyle to the other order if that is wrong.".as_ptr()) };
    }
}

/// COPY's options for the file.
unsafe fn copy_options(schema: &Schema) -> *mut pg_sys::List {
    // SAFETY: names and values are C strings; nodes are allocated.
    unsafe {
        let mut list = PgList::<pg_sys::DefElem>::new();
        let csv = (c"format", b"csv".to_vec());
        for (name, value) in std::iter::once(csv).chain(schema.options()) {
            let value = pg_sys::makeString(c_string(&value).cast_mut());
            list.push(pg_sys::makeDefElem(name.as_ptr().cast_mut(), value.cast(), -1));
        }
        let mut forced = PgList::<pg_sys::Node>::new();
        for column in schema.columns.iter().filter(|column| column.verdict.has_quoted_nulls) {
            forced.push(pg_sys::makeString(c_string(&column.name).cast_mut()).cast());
        }
        if !forced.is_empty() {
            list.push(pg_sys::makeDefElem(c"force_null".as_ptr().cast_mut(), forced.into_pg().cast(), -1));
        }
        list.into_pg()
    }
}

/// The schema of the table and its qualified name, quoted.
///
/// # Safety
/// All names must be C strings.
unsafe fn target(name: *const c_char, wishes: &Wishes) -> (pg_sys::Oid, Vec<u8>) {
    // SAFETY: the caller's promise.
    unsafe {
        let name_bytes = CStr::from_ptr(name).to_bytes();
        if wishes.is_temporary {
            return (pg_sys::InvalidOid, quoted(name_bytes));
        }
        let schema = match wishes.schema {
            Some(schema) => pg_sys::LookupExplicitNamespace(truncated(schema), false),
            None => {
                let variable = pg_sys::makeRangeVar(std::ptr::null_mut(), name.cast_mut(), -1);
                pg_sys::RangeVarGetCreationNamespace(variable)
            }
        };
        let schema_name = CStr::from_ptr(pg_sys::get_namespace_name(schema)).to_bytes();
        (schema, [&quoted(schema_name)[..], b".", &quoted(name_bytes)].concat())
    }
}

/// A name as PostgreSQL would store it.
///
/// # Safety
/// The name must be a C string.
unsafe fn truncated(name: *mut c_char) -> *const c_char {
    // SAFETY: the caller's promise; the copy is cut in place.
    unsafe {
        let copy = pg_sys::pstrdup(name);
        let length = CStr::from_ptr(copy).to_bytes().len();
        pg_sys::truncate_identifier(copy, i32::try_from(length).unwrap_or(i32::MAX), true);
        copy
    }
}

/// The name for a table of a file's name, its folder and its usual endings left out. Of a list the first counts, and of
/// a pattern what is not left open; where that is nothing, the folder's name.
///
/// # Safety
/// The file's name must be a C string.
pub(crate) unsafe fn table_name(filename: *const c_char) -> *mut c_char {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(filename) }.to_string_lossy();
    let is_file = Path::new(&*text).is_file();
    let first = if is_file { &*text } else { text.split(',').next().unwrap_or_default().trim() };
    let path = Path::new(first);
    let part = |part: Option<&OsStr>| part.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut base = without_endings(part(path.file_name()));
    if !is_file && glob::is_pattern(base.as_bytes()) {
        base = String::from_utf8_lossy(&glob::fixed(base.as_bytes()).join(&b"_"[..])).into_owned();
        if !base.contains(char::is_alphanumeric) {
            base = part(path.parent().and_then(Path::file_name));
        }
    }
    // SAFETY: reads a setting.
    let is_utf8 = unsafe { pg_sys::GetDatabaseEncoding() } == pg_sys::pg_enc::PG_UTF8.cast_signed();
    let name = names::names(&[base], !is_utf8).remove(0);
    let name = if name == "column_1" { "csv".to_owned() } else { name };
    c_string(name.as_bytes()).cast_mut()
}

/// A file's name without the usual endings.
fn without_endings(mut name: String) -> String {
    const ENDINGS: [&str; 11] = ["csv", "tsv", "txt", "tab", "psv", "dat", "data", "gz", "bz2", "xz", "zst"];
    // A pattern may leave open what comes behind an ending.
    let is_ending = |ending: &str| {
        let ending = ending.trim_end_matches('*');
        ending.is_empty() || ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
    };
    while let Some((stem, ending)) = name.rsplit_once('.')
        && is_ending(ending)
    {
        name.truncate(stem.len());
    }
    name
}

/// A text as an SQL literal.
pub(crate) fn literal(text: &[u8]) -> Vec<u8> {
    // SAFETY: a C string; what comes back is one too.
    unsafe { CStr::from_ptr(pg_sys::quote_literal_cstr(c_string(text))) }.to_bytes().to_vec()
}

/// A name as SQL wants it.
pub(crate) fn quoted(name: &[u8]) -> Vec<u8> {
    // SAFETY: a C string; what comes back is one too.
    unsafe { CStr::from_ptr(pg_sys::quote_identifier(c_string(name))) }.to_bytes().to_vec()
}

/// A copy in PostgreSQL's memory.
pub(crate) fn c_string(text: &[u8]) -> *const c_char {
    let text = CString::new(text).expect("names and values hold no NUL");
    // SAFETY: a C string.
    unsafe { pg_sys::pstrdup(text.as_ptr()) }
}
