//! Every difference between PostgreSQL's major versions that Rust code here must know. (The C shim has its own.)

#![expect(unsafe_code, reason = "reads a tuple descriptor, whose layout differs by version")]

use std::ffi::{CStr, c_char, c_int};

use pgrx::pg_sys;

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

/// Gives an executor state the range table of a statement's parse state.
///
/// # Safety
/// Both must be alive.
pub(crate) unsafe fn init_range_table(executor: *mut pg_sys::EState, parse: *mut pg_sys::ParseState) {
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::ExecInitRangeTable(
            executor,
            (*parse).p_rtable,
            #[cfg(not(feature = "pg15"))]
            (*parse).p_rteperminfos,
            #[cfg(feature = "pg18")]
            pg_sys::bms_make_singleton(1),
        );
    }
}

/// Raises PostgreSQL's error if rows cannot be inserted into the relation.
///
/// # Safety
/// The target must be alive.
pub(crate) unsafe fn check_insert_target(target: *mut pg_sys::ResultRelInfo) {
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::CheckValidResultRel(
            target,
            pg_sys::CmdType::CMD_INSERT,
            #[cfg(feature = "pg18")]
            pg_sys::OnConflictAction::ONCONFLICT_NONE,
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            std::ptr::null_mut(),
        );
    }
}

/// Notes that the statement inserts into the relation, and so far does nothing else with it.
///
/// # Safety
/// `item` must be the relation's entry in a parse state.
pub(crate) unsafe fn require_insert(item: *mut pg_sys::ParseNamespaceItem) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(feature = "pg15")]
        let entry = (*item).p_rte;
        #[cfg(not(feature = "pg15"))]
        let entry = (*item).p_perminfo;
        (*entry).requiredPerms = pg_sys::ACL_INSERT as pg_sys::AclMode;
    }
}

/// Raises PostgreSQL's error if the user may not insert into these columns (or read those of a condition that was
/// analysed with `parse`).
///
/// # Safety
/// `item` must be the relation's entry in `parse`, `numbers` a list of column numbers.
pub(crate) unsafe fn check_insert_privileges(
    parse: *mut pg_sys::ParseState,
    item: *mut pg_sys::ParseNamespaceItem,
    numbers: *mut pg_sys::List,
) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(feature = "pg15")]
        let entry = (*item).p_rte;
        #[cfg(not(feature = "pg15"))]
        let entry = (*item).p_perminfo;
        for index in 0..pgrx::PgList::<c_int>::from_pg(numbers).len() {
            let number = pg_sys::list_nth_int(numbers, index as c_int) - pg_sys::FirstLowInvalidHeapAttributeNumber;
            (*entry).insertedCols = pg_sys::bms_add_member((*entry).insertedCols, number);
        }
        #[cfg(feature = "pg15")]
        pg_sys::ExecCheckRTPerms((*parse).p_rtable, true);
        #[cfg(not(feature = "pg15"))]
        pg_sys::ExecCheckPermissions((*parse).p_rtable, (*parse).p_rteperminfos, true);
    }
}

/// Makes the index entries of a row that was inserted; returns the indexes to be checked again later.
///
/// # Safety
/// All must be alive; errors come through whole, so nothing with a destructor on the caller's frames.
pub(crate) unsafe fn insert_index_entries(
    target: *mut pg_sys::ResultRelInfo,
    slot: *mut pg_sys::TupleTableSlot,
    executor: *mut pg_sys::EState,
) -> *mut pg_sys::List {
    unsafe extern "C-unwind" {
        fn ExecInsertIndexTuples(
            target: *mut pg_sys::ResultRelInfo,
            slot: *mut pg_sys::TupleTableSlot,
            executor: *mut pg_sys::EState,
            update: bool,
            no_duplicate_error: bool,
            conflict: *mut bool,
            arbiters: *mut pg_sys::List,
            #[cfg(not(feature = "pg15"))] only_summarizing: bool,
        ) -> *mut pg_sys::List;
    }
    let (conflict, arbiters) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the caller's promise.
    unsafe {
        ExecInsertIndexTuples(
            target,
            slot,
            executor,
            false,
            false,
            conflict,
            arbiters,
            #[cfg(not(feature = "pg15"))]
            false,
        )
    }
}

/// How a row of the root becomes one of a partition, or null if the two are alike.
///
/// # Safety
/// Both must be alive.
pub(crate) unsafe fn root_to_partition_map(
    partition: *mut pg_sys::ResultRelInfo,
    _executor: *mut pg_sys::EState,
) -> *mut pg_sys::TupleConversionMap {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(feature = "pg15")]
        return (*partition).ri_RootToPartitionMap;
        #[cfg(not(feature = "pg15"))]
        return pg_sys::ExecGetRootToChildMap(partition, _executor);
    }
}

/// The subtransaction that gave a relation its current file, if that was in this transaction.
///
/// # Safety
/// The relation must be open.
pub(crate) unsafe fn new_file_subtransaction(relation: pg_sys::Relation) -> pg_sys::SubTransactionId {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(feature = "pg15")]
        return (*relation).rd_newRelfilenodeSubid;
        #[cfg(not(feature = "pg15"))]
        return (*relation).rd_newRelfilelocatorSubid;
    }
}

/// The subtransaction that first gave a relation a new file in this transaction.
///
/// # Safety
/// The relation must be open.
pub(crate) unsafe fn first_file_subtransaction(relation: pg_sys::Relation) -> pg_sys::SubTransactionId {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(feature = "pg15")]
        return (*relation).rd_firstRelfilenodeSubid;
        #[cfg(not(feature = "pg15"))]
        return (*relation).rd_firstRelfilelocatorSubid;
    }
}

/// Runs a statement that was started, to its end.
///
/// # Safety
/// All that was said of [`crate::pg_raw`].
pub(crate) unsafe fn executor_run(query: *mut pg_sys::QueryDesc) {
    unsafe extern "C-unwind" {
        fn ExecutorRun(
            query: *mut pg_sys::QueryDesc,
            direction: pg_sys::ScanDirection::Type,
            count: u64,
            #[cfg(not(feature = "pg18"))] execute_once: bool,
        );
    }
    // SAFETY: the caller's promise; no rows are asked for but all.
    unsafe {
        ExecutorRun(
            query,
            pg_sys::ScanDirection::ForwardScanDirection,
            0,
            #[cfg(not(feature = "pg18"))]
            true,
        );
    }
}

/// Lets an INSERT ask for the right to insert into these columns, and no others.
///
/// # Safety
/// The query must be an INSERT, `numbers` a list of column numbers.
pub(crate) unsafe fn set_inserted_columns(query: *mut pg_sys::Query, numbers: *mut pg_sys::List) {
    // SAFETY: the caller's promise.
    unsafe {
        let entry: *mut pg_sys::RangeTblEntry = pg_sys::list_nth((*query).rtable, (*query).resultRelation - 1).cast();
        #[cfg(not(feature = "pg15"))]
        let entry = pg_sys::getRTEPermissionInfo((*query).rteperminfos, entry);
        (*entry).insertedCols = std::ptr::null_mut();
        for index in 0..pgrx::PgList::<c_int>::from_pg(numbers).len() {
            let number = pg_sys::list_nth_int(numbers, index as c_int) - pg_sys::FirstLowInvalidHeapAttributeNumber;
            (*entry).insertedCols = pg_sys::bms_add_member((*entry).insertedCols, number);
        }
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
