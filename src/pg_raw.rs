//! PostgreSQL functions called without pgrx's guard.
//!
//! A guarded call (`pg_sys::f`) catches PostgreSQL's ERROR, rebuilds it as a Rust panic and raises it anew at the
//! edge of Rust. On that way the error's CONTEXT lines and its schema, table, column, datatype and constraint
//! fields are lost. These calls must lose nothing, and some of them happen once a row, where the guard's cost
//! shows. So they are declared here bare: an ERROR in them jumps straight over the Rust frames below, to whoever
//! catches it. **Whoever calls one must have nothing alive on its frames that has a destructor.**

#![expect(unsafe_code, reason = "declarations of C functions")]

use std::ffi::{c_char, c_int, c_void};

use pgrx::pg_sys;

unsafe extern "C-unwind" {
    /// Prepares a COPY FROM: checks options and columns, opens the file or starts the program.
    pub(crate) fn BeginCopyFrom(
        pstate: *mut pg_sys::ParseState,
        rel: pg_sys::Relation,
        where_clause: *mut pg_sys::Node,
        filename: *const c_char,
        is_program: bool,
        source: pg_sys::copy_data_source_cb,
        columns: *mut pg_sys::List,
        options: *mut pg_sys::List,
    ) -> pg_sys::CopyFromState;

    /// Reads all rows and inserts them; returns how many.
    pub(crate) fn CopyFrom(state: pg_sys::CopyFromState) -> u64;

    /// Reads and converts the next row; false at the end of the data.
    pub(crate) fn NextCopyFrom(
        state: pg_sys::CopyFromState,
        expressions: *mut pg_sys::ExprContext,
        values: *mut pg_sys::Datum,
        nulls: *mut bool,
    ) -> bool;

    /// Closes the file or waits for the program, and frees the state.
    pub(crate) fn EndCopyFrom(state: pg_sys::CopyFromState);

    /// Writes COPY's CONTEXT line; its argument is the `CopyFromState`.
    pub(crate) fn CopyFromErrorCallback(state: *mut c_void);

    /// Runs a COPY statement with all of its checks.
    pub(crate) fn DoCopy(
        pstate: *mut pg_sys::ParseState,
        statement: *const pg_sys::CopyStmt,
        location: c_int,
        length: c_int,
        processed: *mut u64,
    );

    /// What PostgreSQL does with utility statements.
    pub(crate) fn standard_ProcessUtility(
        planned: *mut pg_sys::PlannedStmt,
        text: *const c_char,
        read_only_tree: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        parameters: pg_sys::ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        destination: *mut pg_sys::DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    );

    /// The relation that a statement names, locked; its callback is not used here.
    pub(crate) fn RangeVarGetRelidExtended(
        relation: *const pg_sys::RangeVar,
        lock: pg_sys::LOCKMODE,
        flags: u32,
        callback: Option<unsafe extern "C-unwind" fn()>,
        argument: *mut c_void,
    ) -> pg_sys::Oid;

    /// Parses SQL text into raw statements.
    pub(crate) fn raw_parser(text: *const c_char, mode: pg_sys::RawParseMode::Type) -> *mut pg_sys::List;

    /// The numbers of the columns that a COPY's column list names, or all that it copies.
    pub(crate) fn CopyGetAttnums(
        descriptor: pg_sys::TupleDesc,
        relation: pg_sys::Relation,
        names: *mut pg_sys::List,
    ) -> *mut pg_sys::List;

    /// Analyses an expression.
    pub(crate) fn transformExpr(
        parse: *mut pg_sys::ParseState,
        expression: *mut pg_sys::Node,
        kind: pg_sys::ParseExprKind::Type,
    ) -> *mut pg_sys::Node;

    /// Makes sure that an expression is boolean.
    pub(crate) fn coerce_to_boolean(
        parse: *mut pg_sys::ParseState,
        expression: *mut pg_sys::Node,
        construct: *const c_char,
    ) -> *mut pg_sys::Node;

    /// Simplifies an expression.
    pub(crate) fn eval_const_expressions(
        root: *mut pg_sys::PlannerInfo,
        expression: *mut pg_sys::Node,
    ) -> *mut pg_sys::Node;

    /// Prepares to find rows' partitions.
    pub(crate) fn ExecSetupPartitionTupleRouting(
        executor: *mut pg_sys::EState,
        relation: pg_sys::Relation,
    ) -> *mut PartitionTupleRouting;

    /// Finds a row's partition, and opens it when it is the first.
    pub(crate) fn ExecFindPartition(
        modify: *mut pg_sys::ModifyTableState,
        root: *mut pg_sys::ResultRelInfo,
        routing: *mut PartitionTupleRouting,
        slot: *mut pg_sys::TupleTableSlot,
        executor: *mut pg_sys::EState,
    ) -> *mut pg_sys::ResultRelInfo;

    /// Closes the partitions that were opened.
    pub(crate) fn ExecCleanupTupleRouting(modify: *mut pg_sys::ModifyTableState, routing: *mut PartitionTupleRouting);

    /// Computes a row's generated columns.
    pub(crate) fn ExecComputeStoredGenerated(
        target: *mut pg_sys::ResultRelInfo,
        executor: *mut pg_sys::EState,
        slot: *mut pg_sys::TupleTableSlot,
        command: pg_sys::CmdType::Type,
    );

    /// Checks a row's constraints.
    pub(crate) fn ExecConstraints(
        target: *mut pg_sys::ResultRelInfo,
        slot: *mut pg_sys::TupleTableSlot,
        executor: *mut pg_sys::EState,
    );

    /// Checks that a row belongs to the partition.
    pub(crate) fn ExecPartitionCheck(
        target: *mut pg_sys::ResultRelInfo,
        slot: *mut pg_sys::TupleTableSlot,
        executor: *mut pg_sys::EState,
        raises: bool,
    ) -> bool;

    /// Fires BEFORE STATEMENT triggers.
    pub(crate) fn ExecBSInsertTriggers(executor: *mut pg_sys::EState, target: *mut pg_sys::ResultRelInfo);

    /// Fires BEFORE ROW triggers; false if one does not want the row.
    pub(crate) fn ExecBRInsertTriggers(
        executor: *mut pg_sys::EState,
        target: *mut pg_sys::ResultRelInfo,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> bool;

    /// Queues AFTER ROW triggers.
    pub(crate) fn ExecARInsertTriggers(
        executor: *mut pg_sys::EState,
        target: *mut pg_sys::ResultRelInfo,
        slot: *mut pg_sys::TupleTableSlot,
        recheck: *mut pg_sys::List,
        transition: *mut pg_sys::TransitionCaptureState,
    );

    /// Fires AFTER STATEMENT triggers.
    pub(crate) fn ExecASInsertTriggers(
        executor: *mut pg_sys::EState,
        target: *mut pg_sys::ResultRelInfo,
        transition: *mut pg_sys::TransitionCaptureState,
    );

    /// Fires queued triggers.
    pub(crate) fn AfterTriggerEndQuery(executor: *mut pg_sys::EState);

    /// Analyses a statement.
    pub(crate) fn parse_analyze_fixedparams(
        statement: *mut pg_sys::RawStmt,
        text: *const c_char,
        types: *const pg_sys::Oid,
        count: c_int,
        environment: *mut pg_sys::QueryEnvironment,
    ) -> *mut pg_sys::Query;

    /// Analyses a statement of which nobody is told.
    pub(crate) fn transformTopLevelStmt(
        parse: *mut pg_sys::ParseState,
        statement: *mut pg_sys::RawStmt,
    ) -> *mut pg_sys::Query;

    /// Plans a query.
    pub(crate) fn pg_plan_query(
        query: *mut pg_sys::Query,
        text: *const c_char,
        options: c_int,
        parameters: pg_sys::ParamListInfo,
    ) -> *mut pg_sys::PlannedStmt;

    /// Prepares to run a statement.
    pub(crate) fn ExecutorStart(query: *mut pg_sys::QueryDesc, flags: c_int);

    /// Does what is left to do behind a statement's last row: queued triggers among it.
    pub(crate) fn ExecutorFinish(query: *mut pg_sys::QueryDesc);

    /// Lets a statement's resources go.
    pub(crate) fn ExecutorEnd(query: *mut pg_sys::QueryDesc);

    /// A slot's row as a value of its row type, in the current memory context.
    pub(crate) fn ExecFetchSlotHeapTupleDatum(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::Datum;

    /// Copies a value into the current memory context.
    pub(crate) fn datumCopy(value: pg_sys::Datum, is_by_value: bool, length: c_int) -> pg_sys::Datum;

    /// Does what a pending interrupt asks for.
    fn ProcessInterrupts();

    /// Sleeps until the latch is set, the socket (here any descriptor that can be polled) is readable, or time is up.
    pub(crate) fn WaitLatchOrSocket(
        latch: *mut pg_sys::Latch,
        events: c_int,
        socket: pg_sys::pgsocket,
        milliseconds: std::ffi::c_long,
        event: u32,
    ) -> c_int;

    /// Wakes who waits on a latch. Atomics and `kill`: it may be called from any thread.
    pub(crate) fn SetLatch(latch: *mut pg_sys::Latch);

    /// Puts a tuple that somebody else keeps into a slot for heap tuples.
    pub(crate) fn ExecStoreHeapTuple(
        tuple: pg_sys::HeapTuple,
        slot: *mut pg_sys::TupleTableSlot,
        should_free: bool,
    ) -> *mut pg_sys::TupleTableSlot;

    /// Marks a slot whose arrays were filled as holding a row.
    pub(crate) fn ExecStoreVirtualTuple(slot: *mut pg_sys::TupleTableSlot) -> *mut pg_sys::TupleTableSlot;

    /// Takes a tuple apart.
    pub(crate) fn heap_deform_tuple(
        tuple: pg_sys::HeapTuple,
        descriptor: pg_sys::TupleDesc,
        values: *mut pg_sys::Datum,
        nulls: *mut bool,
    );

    /// A scan's next row that satisfies its conditions, projected.
    pub(crate) fn ExecScan(
        state: *mut pg_sys::ScanState,
        access: pg_sys::ExecScanAccessMtd,
        recheck: pg_sys::ExecScanRecheckMtd,
    ) -> *mut pg_sys::TupleTableSlot;

    /// Calls a type's input function; null stands for NULL.
    pub(crate) fn InputFunctionCall(
        function: *mut pg_sys::FmgrInfo,
        text: *mut c_char,
        parameter: pg_sys::Oid,
        modifier: i32,
    ) -> pg_sys::Datum;
}

/// Empties a slot.
///
/// # Safety
/// The slot must be alive.
#[inline]
pub(crate) unsafe fn clear_slot(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: the caller's promise; every kind of slot can be emptied.
    unsafe { (*(*slot).tts_ops).clear.expect("a slot can be emptied")(slot) }
}

/// How rows find their partitions: PostgreSQL's own business.
#[repr(C)]
pub(crate) struct PartitionTupleRouting {
    hidden: [u8; 0],
}

/// Makes a slot's row independent of other memory.
///
/// # Safety
/// The slot must hold a row.
#[inline]
pub(crate) unsafe fn materialize_slot(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: the caller's promise; every kind of slot can do so.
    unsafe { (*(*slot).tts_ops).materialize.expect("a slot can be materialized")(slot) }
}

/// Copies a row from one slot to another of the same row type.
///
/// # Safety
/// Both must be alive, and `from` hold a row.
#[inline]
pub(crate) unsafe fn copy_slot(to: *mut pg_sys::TupleTableSlot, from: *mut pg_sys::TupleTableSlot) {
    // SAFETY: the caller's promise; every kind of slot can do so.
    unsafe { (*(*to).tts_ops).copyslot.expect("a slot can be copied to")(to, from) }
}

/// Lets the user cancel.
///
/// # Safety
/// As for every function here.
#[inline]
pub(crate) unsafe fn check_for_interrupts() {
    // SAFETY: a flag that signal handlers set.
    unsafe {
        if pg_sys::InterruptPending != 0 {
            ProcessInterrupts();
        }
    }
}
