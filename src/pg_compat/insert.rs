//! Differences in what inserts rows: range tables, privileges, partitions, index entries, files.

#![expect(unsafe_code, reason = "calls PostgreSQL's C functions")]

use pgrx::pg_sys;

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
        for index in 0..pgrx::PgList::<std::ffi::c_int>::from_pg(numbers).len() {
            let number =
                pg_sys::list_nth_int(numbers, index as std::ffi::c_int) - pg_sys::FirstLowInvalidHeapAttributeNumber;
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
        for index in 0..pgrx::PgList::<std::ffi::c_int>::from_pg(numbers).len() {
            let number =
                pg_sys::list_nth_int(numbers, index as std::ffi::c_int) - pg_sys::FirstLowInvalidHeapAttributeNumber;
            (*entry).insertedCols = pg_sys::bms_add_member((*entry).insertedCols, number);
        }
    }
}
