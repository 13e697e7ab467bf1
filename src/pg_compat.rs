//! Every difference between PostgreSQL's major versions that Rust code here must know. (The C shim has its own.)

#![expect(unsafe_code, reason = "reads a tuple descriptor, whose layout differs by version")]

mod insert;

use std::ffi::{CStr, c_char, c_int};

use pgrx::pg_sys;

pub(crate) use insert::*;

/// The options of a foreign table, in the order in which `file_fdw` names them.
pub(crate) const TABLE_OPTIONS: &[&CStr] = &[
    c"filename",
    c"program",
    c"format",
    c"header",
    c"delimiter",
    c"quote",
    c"escape",
    c"null",
    #[cfg(not(feature = "pg15"))]
    c"default",
    c"encoding",
    #[cfg(feature = "pg18")]
    c"on_error",
    #[cfg(feature = "pg18")]
    c"log_verbosity",
    #[cfg(feature = "pg18")]
    c"reject_limit",
];

/// Does the hint about an invalid option list all valid ones (15), or name the closest (16 and later)?
pub(crate) const HINT_LISTS_OPTIONS: bool = cfg!(feature = "pg15");

/// Does a record of just `\.` end the data of a CSV file?
pub(crate) const CSV_HAS_END_MARKER: bool = cfg!(not(feature = "pg18"));

/// Message and detail for who may not set a foreign table's source.
pub(crate) fn source_privilege_texts(option: &str, role: &str) -> (String, Option<String>) {
    if cfg!(feature = "pg15") {
        let who = format!("only superuser or a role with privileges of the {role} role");
        (format!("{who} may specify the {option} option of a fastcsv foreign table"), None)
    } else {
        (
            format!("permission denied to set the \"{option}\" option of a fastcsv foreign table"),
            Some(format!("Only roles with privileges of the \"{role}\" role may set this option.")),
        )
    }
}

/// The columns of a tuple descriptor, dropped ones included.
///
/// # Safety
/// `descriptor` must be valid for as long as the slice is used.
pub(crate) unsafe fn attributes<'a>(descriptor: pg_sys::TupleDesc) -> &'a [pg_sys::FormData_pg_attribute] {
    // SAFETY: the caller's promise. The attributes follow the descriptor's head; in 18 an array of compact ones
    // stands between.
    unsafe {
        let count = usize::try_from((*descriptor).natts).unwrap_or(0);
        #[cfg(not(feature = "pg18"))]
        let first = (*descriptor).attrs.as_ptr();
        #[cfg(feature = "pg18")]
        let first = (*descriptor).compact_attrs.as_ptr().add(count).cast();
        std::slice::from_raw_parts(first, count)
    }
}

/// Copies which columns are generated, and of those wanted which have defaults or are identity columns, from one
/// descriptor to another whose first columns are the same.
///
/// # Safety
/// Both must be valid, and the second not longer than the first.
pub(crate) unsafe fn copy_defaults(
    descriptor: pg_sys::TupleDesc,
    from: pg_sys::TupleDesc,
    is_wanted: impl Fn(usize) -> bool,
) {
    // SAFETY: the caller's promise; nobody else has the first yet.
    unsafe {
        for (index, column) in attributes(from).iter().enumerate() {
            let copy = (&raw const attributes(descriptor)[index]).cast_mut();
            if is_wanted(index) {
                (*copy).atthasdef = column.atthasdef;
                (*copy).attidentity = column.attidentity;
            }
            (*copy).attgenerated = column.attgenerated;
            #[cfg(feature = "pg18")]
            pg_sys::populate_compact_attribute(descriptor, index as c_int);
        }
    }
}

/// `pg_char_to_encoding`, under the name it has in this version.
///
/// # Safety
/// `name` must be a C string.
pub(crate) unsafe fn encoding_number(name: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return pg_sys::pg_char_to_encoding(name);
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        return pg_sys::pg_char_to_encoding_private(name);
    }
}

/// An encoding's name: `pg_encoding_to_char`, under the name it has in this version.
pub(crate) fn encoding_name(encoding: c_int) -> &'static CStr {
    // SAFETY: whatever the number is, the name is a constant.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return CStr::from_ptr(pg_sys::pg_encoding_to_char(encoding));
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        return CStr::from_ptr(pg_sys::pg_encoding_to_char_private(encoding));
    }
}

/// `vacuum_delay_point`, called while ANALYZE samples.
pub(crate) fn analyze_delay_point() {
    // SAFETY: takes no pointer; may raise a cancel.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        pg_sys::vacuum_delay_point();
        #[cfg(feature = "pg18")]
        pg_sys::vacuum_delay_point(true);
    }
}

/// What a scan's path costs and carries.
pub(crate) struct PathParts {
    pub(crate) rows: f64,
    pub(crate) startup_cost: f64,
    pub(crate) total_cost: f64,
    pub(crate) private: *mut pg_sys::List,
}

/// Makes the path of a foreign scan.
///
/// # Safety
/// `root` and `relation` must be what the planner passed.
pub(crate) unsafe fn foreign_scan_path(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    parts: &PathParts,
) -> *mut pg_sys::Path {
    let none = std::ptr::null_mut();
    // SAFETY: the caller's promise; null stands for the default target, no path keys, no outer path.
    unsafe {
        pg_sys::create_foreignscan_path(
            root,
            relation,
            std::ptr::null_mut(),
            parts.rows,
            #[cfg(feature = "pg18")]
            0, // disabled nodes
            parts.startup_cost,
            parts.total_cost,
            none,
            (*relation).lateral_relids,
            std::ptr::null_mut(),
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            none, // restrict infos
            parts.private,
        )
        .cast()
    }
}

/// What a word means among the session's time zone abbreviations.
#[derive(PartialEq, Eq)]
pub(crate) enum ZoneAbbreviation {
    /// It is none.
    None,
    /// A zone of this offset from UTC, in seconds.
    Fixed(i32),
    /// A summer time, or an offset that depends on the date.
    Other,
}

/// Looks a word, in lower case, up among the session's time zone abbreviations.
pub(crate) fn zone_abbreviation(word: &CStr) -> ZoneAbbreviation {
    let (mut offset, mut zone) = (0, std::ptr::null_mut());
    // SAFETY: the word is a C string, which is only read; the other pointers are places for results. Field 0 names an
    // entry of a cache that is checked against the word.
    let kind = unsafe {
        #[cfg(feature = "pg15")]
        {
            pg_sys::DecodeTimezoneAbbrev(0, word.as_ptr().cast_mut(), &mut offset, &mut zone)
        }
        #[cfg(not(feature = "pg15"))]
        {
            let (mut kind, mut extra) = (0, pg_sys::DateTimeErrorExtra::default());
            pg_sys::DecodeTimezoneAbbrev(0, word.as_ptr(), &mut kind, &mut offset, &mut zone, &mut extra);
            kind
        }
    };
    match kind.cast_unsigned() {
        pg_sys::UNKNOWN_FIELD => ZoneAbbreviation::None,
        pg_sys::TZ => ZoneAbbreviation::Fixed(offset),
        _ => ZoneAbbreviation::Other,
    }
}

/// Makes the path of a foreign scan that stands for an upper relation.
///
/// # Safety
/// `root` and `relation` must be what the planner passed.
pub(crate) unsafe fn foreign_upper_path(
    root: *mut pg_sys::PlannerInfo,
    relation: *mut pg_sys::RelOptInfo,
    parts: &PathParts,
) -> *mut pg_sys::Path {
    let none = std::ptr::null_mut();
    // SAFETY: the caller's promise; no path keys, no outer path.
    unsafe {
        pg_sys::create_foreign_upper_path(
            root,
            relation,
            (*relation).reltarget,
            parts.rows,
            #[cfg(feature = "pg18")]
            0, // disabled nodes
            parts.startup_cost,
            parts.total_cost,
            none,
            std::ptr::null_mut(),
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            none, // restrict infos
            parts.private,
        )
        .cast()
    }
}

/// Lets SIGTERM only set flags in this background worker; by default it would exit from within the handler.
pub(crate) fn handle_terminate_by_flag() {
    // SAFETY: installs PostgreSQL's own handler.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        pg_sys::pqsignal(libc::SIGTERM, Some(die));
        #[cfg(feature = "pg18")]
        pg_sys::pqsignal_be(libc::SIGTERM, Some(die));
    }
}

unsafe extern "C-unwind" {
    /// PostgreSQL's handler of SIGTERM.
    fn die(signal: c_int);
}

/// Has the row type generated columns that are computed when they are read?
///
/// # Safety
/// The descriptor must be alive.
pub(crate) unsafe fn has_virtual_columns(_descriptor: pg_sys::TupleDesc) -> bool {
    #[cfg(not(feature = "pg18"))]
    return false;
    // SAFETY: the caller's promise.
    #[cfg(feature = "pg18")]
    unsafe {
        let constraints = (*_descriptor).constr;
        !constraints.is_null() && (*constraints).has_generated_virtual
    }
}

/// Writes into a temporary file; returns how many bytes, or below 0 with errno.
///
/// # Safety
/// The file must be open, and the buffer so long.
pub(crate) unsafe fn file_write(file: pg_sys::File, buffer: *mut u8, length: usize, offset: i64) -> i64 {
    let event = pg_sys::WaitEventIO::WAIT_EVENT_BUFFILE_WRITE;
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::FileWrite(file, buffer.cast(), length as c_int, offset, event).into();
        #[cfg(not(feature = "pg15"))]
        return pg_sys::FileWrite(file, buffer.cast(), length, offset, event) as i64;
    }
}

/// What a backend that waits for its worker shows in `pg_stat_activity`: from 17 on an event of its own.
pub(crate) fn wait_event() -> u32 {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    return pg_sys::PG_WAIT_EXTENSION;
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    {
        static EVENT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let mut event = EVENT.load(std::sync::atomic::Ordering::Relaxed);
        if event == 0 {
            // SAFETY: the name is a C string, which is copied.
            event = unsafe { pg_sys::WaitEventExtensionNew(c"FastcsvWorker".as_ptr()) };
            EVENT.store(event, std::sync::atomic::Ordering::Relaxed);
        }
        event
    }
}

#[cfg(not(feature = "pg18"))]
unsafe extern "C-unwind" {
    fn lc_collate_is_c(collation: pg_sys::Oid) -> bool;
}

/// The head of PostgreSQL's `pg_locale_struct`.
#[cfg(feature = "pg18")]
#[repr(C)]
struct Locale {
    provider: c_char,
    deterministic: bool,
    collates_by_bytes: bool,
}

#[cfg(feature = "pg18")]
unsafe extern "C-unwind" {
    fn pg_newlocale_from_collation(collation: pg_sys::Oid) -> *const Locale;
}

/// Are texts ordered by their bytes under a collation? (Under no collation they are not ordered at all.)
///
/// # Safety
/// Must be called in a transaction, on the main thread; `collation` must be a collation's oid, or invalid.
pub(crate) unsafe fn collates_by_bytes(collation: pg_sys::Oid) -> bool {
    if collation == pg_sys::InvalidOid {
        return false;
    }
    // SAFETY: the caller's promise. The guard turns an error of PostgreSQL's into a panic, as around every bound
    // function.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        return pg_sys::ffi::pg_guard_ffi_boundary(|| lc_collate_is_c(collation));
        #[cfg(feature = "pg18")]
        return (*pg_sys::ffi::pg_guard_ffi_boundary(|| pg_newlocale_from_collation(collation))).collates_by_bytes;
    }
}
