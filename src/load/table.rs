//! The table that is loaded, as PostgreSQL's executor wants it: indexes, triggers, constraints, partitions.
//!
//! The steps are COPY's, in COPY's order, by the executor's own functions. What they raise must come through whole, so
//! they are called bare ([`crate::pg_raw`]).

#![expect(unsafe_code, reason = "drives PostgreSQL's executor through its C interface")]

use pgrx::pg_sys;

use crate::referee::Opening;
use crate::{pg_compat, pg_raw};

/// The executor's state for one load. Plain pointers into its memory.
pub(super) struct Table {
    pub(super) relation: pg_sys::Relation,
    pub(super) executor: *mut pg_sys::EState,
    /// The table itself; with partitions, their root.
    pub(super) root: *mut pg_sys::ResultRelInfo,
    modify: *mut pg_sys::ModifyTableState,
    /// How rows find their partitions; null where there are none.
    routing: *mut pg_raw::PartitionTupleRouting,
    /// What AFTER triggers with transition tables see; null where there are none.
    pub(super) transition: *mut pg_sys::TransitionCaptureState,
    /// The condition, ready to be evaluated; null where there is none.
    pub(super) condition: *mut pg_sys::ExprState,
    pub(super) command: pg_sys::CommandId,
    /// Flags for the table's access method.
    pub(super) options: i32,
}

impl Table {
    /// Opens what a load needs, and fires the statement's BEFORE triggers.
    ///
    /// # Safety
    /// The opening must be one that `prepare` made; nothing with a destructor on the caller's frames.
    pub(super) unsafe fn open(opening: &Opening, freezes: bool) -> Table {
        // SAFETY: the caller's promise. Nodes are allocated as PostgreSQL's makeNode does: zero but for their tag.
        unsafe {
            let relation = opening.relation;
            let command = pg_sys::GetCurrentCommandId(true);
            let executor = pg_sys::CreateExecutorState();
            pg_compat::init_range_table(executor, opening.parse);
            let root: *mut pg_sys::ResultRelInfo = node(pg_sys::NodeTag::T_ResultRelInfo);
            pg_sys::ExecInitResultRelation(executor, root, 1);
            pg_compat::check_insert_target(root);
            pg_sys::ExecOpenIndices(root, false);
            let modify: *mut pg_sys::ModifyTableState = node(pg_sys::NodeTag::T_ModifyTableState);
            (*modify).ps.state = executor;
            (*modify).operation = pg_sys::CmdType::CMD_INSERT;
            (*modify).mt_nrels = 1;
            (*modify).resultRelInfo = root;
            (*modify).rootResultRelInfo = root;
            begin_foreign_insert(modify, root);
            pg_sys::AfterTriggerBeginQuery();
            let kind = pg_sys::CmdType::CMD_INSERT;
            let transition = pg_sys::MakeTransitionCaptureState((*relation).trigdesc, (*relation).rd_id, kind);
            (*modify).mt_transition_capture = transition;
            let is_partitioned = (*(*relation).rd_rel).relkind.cast_unsigned() == pg_sys::RELKIND_PARTITIONED_TABLE;
            let routing = if is_partitioned {
                pg_raw::ExecSetupPartitionTupleRouting(executor, relation)
            } else {
                std::ptr::null_mut()
            };
            let condition = pg_sys::ExecInitQual(opening.condition, &raw mut (*modify).ps);
            pg_raw::ExecBSInsertTriggers(executor, root);
            let options = insert_options(relation, freezes);
            Table { relation, executor, root, modify, routing, transition, condition, command, options }
        }
    }

    /// Has the table partitions?
    pub(super) fn is_partitioned(&self) -> bool {
        !self.routing.is_null()
    }

    /// Is a row to be loaded at all? The condition may refer to the table's oid, which the slot has.
    ///
    /// # Safety
    /// The slot must hold a row of the table; nothing with a destructor on the caller's frames.
    pub(super) unsafe fn wants(&self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            if self.condition.is_null() {
                return true;
            }
            let expressions = per_tuple_expressions(self.executor);
            (*expressions).ecxt_scantuple = slot;
            evaluate(self.condition, expressions).is_some_and(|value| value.value() != 0)
        }
    }

    /// Whether every row is wanted.
    pub(super) fn is_unconditional(&self) -> bool {
        self.condition.is_null()
    }

    /// The partition that a row belongs to.
    ///
    /// # Errors
    /// Raises the executor's error if there is none.
    ///
    /// # Safety
    /// As for `wants`, and the table must have partitions.
    pub(super) unsafe fn route(&self, slot: *mut pg_sys::TupleTableSlot) -> *mut pg_sys::ResultRelInfo {
        // SAFETY: the caller's promise.
        unsafe { pg_raw::ExecFindPartition(self.modify, self.root, self.routing, slot, self.executor) }
    }

    /// Checks what must hold of a row of `target` before it is inserted, and computes its generated columns.
    ///
    /// # Errors
    /// Raises the executor's errors.
    ///
    /// # Safety
    /// The slot must hold a row of `target`; nothing with a destructor on the caller's frames.
    pub(super) unsafe fn check(
        &self,
        target: *mut pg_sys::ResultRelInfo,
        slot: *mut pg_sys::TupleTableSlot,
        has_before_trigger: bool,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let relation = (*target).ri_RelationDesc;
            let constraints = (*(*relation).rd_att).constr;
            if !constraints.is_null() {
                if (*constraints).has_generated_stored {
                    let insert = pg_sys::CmdType::CMD_INSERT;
                    pg_raw::ExecComputeStoredGenerated(target, self.executor, slot, insert);
                }
                if (*target).ri_FdwRoutine.is_null() && !satisfies_at_sight(relation, slot) {
                    pg_raw::ExecConstraints(target, slot, self.executor);
                }
            }
            if (*(*relation).rd_rel).relispartition && (!self.is_partitioned() || has_before_trigger) {
                pg_raw::ExecPartitionCheck(target, slot, self.executor, true);
            }
        }
    }

    /// Makes a row's index entries and queues its AFTER triggers.
    ///
    /// # Errors
    /// Raises the executor's errors.
    ///
    /// # Safety
    /// The slot's row must have been inserted into `target`; nothing with a destructor on the caller's frames.
    pub(super) unsafe fn after_insert(&self, target: *mut pg_sys::ResultRelInfo, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut recheck = std::ptr::null_mut();
            if (*target).ri_NumIndices > 0 {
                recheck = pg_compat::insert_index_entries(target, slot, self.executor);
            }
            pg_raw::ExecARInsertTriggers(self.executor, target, slot, recheck, self.transition);
            pg_sys::list_free(recheck);
        }
    }

    /// Fires the statement's AFTER triggers and what was queued, and closes everything but the table.
    ///
    /// # Errors
    /// Raises what triggers raise.
    ///
    /// # Safety
    /// No row may be inserted after this; nothing with a destructor on the caller's frames.
    pub(super) unsafe fn finish(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            pg_raw::ExecASInsertTriggers(self.executor, self.root, self.transition);
            pg_raw::AfterTriggerEndQuery(self.executor);
            pg_sys::ExecResetTupleTable((*self.executor).es_tupleTable, false);
            let routine = (*self.root).ri_FdwRoutine;
            if !routine.is_null()
                && let Some(end) = (*routine).EndForeignInsert
            {
                end(self.executor, self.root);
            }
        }
    }

    /// Closes partitions, indexes and relations.
    ///
    /// # Safety
    /// `finish` must have been called, and no slot or buffer of the load be used after this.
    pub(super) unsafe fn close(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            if !self.routing.is_null() {
                pg_raw::ExecCleanupTupleRouting(self.modify, self.routing);
            }
            pg_sys::ExecCloseResultRelations(self.executor);
            pg_sys::ExecCloseRangeTableRelations(self.executor);
            pg_sys::FreeExecutorState(self.executor);
        }
    }
}

/// Lets the wrapper of a foreign table prepare, and asks it how many rows it takes at once. (Of foreign partitions the
/// executor takes care when it opens them.)
///
/// # Safety
/// Both must be alive.
unsafe fn begin_foreign_insert(modify: *mut pg_sys::ModifyTableState, root: *mut pg_sys::ResultRelInfo) {
    // SAFETY: the caller's promise.
    unsafe {
        let routine = (*root).ri_FdwRoutine;
        if routine.is_null() {
            return;
        }
        if let Some(begin) = (*routine).BeginForeignInsert {
            begin(modify, root);
        }
        (*root).ri_BatchSize = match (*routine).GetForeignModifyBatchSize {
            Some(size) if (*routine).ExecForeignBatchInsert.is_some() => size(root),
            _ => 1,
        };
    }
}

/// No subtransaction, where one would stand.
const NO_SUBTRANSACTION: pg_sys::SubTransactionId = 0;

/// COPY's choice of flags: new files need no look for free space in old pages, and frozen rows are asked for.
///
/// # Safety
/// The relation must be open.
unsafe fn insert_options(relation: pg_sys::Relation, freezes: bool) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        let is_new = (*relation).rd_createSubid != NO_SUBTRANSACTION
            || pg_compat::first_file_subtransaction(relation) != NO_SUBTRANSACTION;
        let has_storage = (*(*relation).rd_rel).relkind.cast_unsigned() == pg_sys::RELKIND_RELATION;
        let skip = if is_new && has_storage { pg_sys::TABLE_INSERT_SKIP_FSM } else { 0 };
        let freeze = if freezes { pg_sys::TABLE_INSERT_FROZEN } else { 0 };
        (skip | freeze).cast_signed()
    }
}

/// The trigger kinds that matter while rows are inserted.
#[derive(Clone, Copy, Default)]
pub(super) struct RowTriggers {
    pub(super) before: bool,
    pub(super) instead: bool,
    /// AFTER row triggers, or transition tables.
    pub(super) after: bool,
}

impl RowTriggers {
    /// Those of a table or partition.
    ///
    /// # Safety
    /// `target` must be alive.
    pub(super) unsafe fn of(target: *mut pg_sys::ResultRelInfo) -> RowTriggers {
        // SAFETY: the caller's promise.
        unsafe {
            let triggers = (*target).ri_TrigDesc;
            if triggers.is_null() {
                return RowTriggers::default();
            }
            RowTriggers {
                before: (*triggers).trig_insert_before_row,
                instead: (*triggers).trig_insert_instead_row,
                after: (*triggers).trig_insert_after_row || (*triggers).trig_insert_new_table,
            }
        }
    }
}

/// Can it be seen without a look at any value that the row satisfies all constraints? It does if they are all NOT NULL,
/// and there is no NULL in the tuple.
///
/// # Safety
/// The slot must hold a row of the relation.
unsafe fn satisfies_at_sight(relation: pg_sys::Relation, slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: the caller's promise; a slot of this kind has a tuple, or none yet.
    unsafe {
        if !forbids_only_nulls(relation) || !std::ptr::eq((*slot).tts_ops, &raw const pg_sys::TTSOpsHeapTuple) {
            return false;
        }
        let tuple = (*slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
        !tuple.is_null() && is_without_nulls((*tuple).t_data, (*(*relation).rd_att).natts as u16)
    }
}

/// Are the relation's constraints all NOT NULL?
///
/// # Safety
/// The relation must be open.
unsafe fn forbids_only_nulls(relation: pg_sys::Relation) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*(*relation).rd_rel).relchecks == 0 && !pg_compat::has_virtual_columns((*relation).rd_att) }
}

/// Whether a row without NULLs satisfies all that must be looked at before it is inserted into the relation itself.
///
/// # Safety
/// The relation must be open.
pub(super) unsafe fn takes_rows_without_nulls(relation: pg_sys::Relation) -> bool {
    // SAFETY: the caller's promise.
    unsafe { forbids_only_nulls(relation) && !(*(*relation).rd_rel).relispartition }
}

/// Whether a tuple has a value for each of so many attributes.
///
/// # Safety
/// It must be one.
#[inline(always)]
pub(super) unsafe fn is_without_nulls(tuple: pg_sys::HeapTupleHeader, attributes: u16) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        (*tuple).t_infomask & pg_sys::HEAP_HASNULL as u16 == 0
            && (*tuple).t_infomask2 & pg_sys::HEAP_NATTS_MASK as u16 == attributes
    }
}

/// The expression context whose memory is reset for each row.
///
/// # Safety
/// The executor's state must be alive.
pub(super) unsafe fn per_tuple_expressions(executor: *mut pg_sys::EState) -> *mut pg_sys::ExprContext {
    // SAFETY: the caller's promise.
    unsafe {
        if (*executor).es_per_tuple_exprcontext.is_null() {
            pg_sys::MakePerTupleExprContext(executor)
        } else {
            (*executor).es_per_tuple_exprcontext
        }
    }
}

/// An expression's value, in the memory that is reset for each row; `None` for NULL.
///
/// # Safety
/// Both must belong together; nothing with a destructor on the caller's frames.
pub(super) unsafe fn evaluate(
    expression: *mut pg_sys::ExprState,
    context: *mut pg_sys::ExprContext,
) -> Option<pg_sys::Datum> {
    // SAFETY: the caller's promise.
    unsafe {
        let caller = pg_sys::MemoryContextSwitchTo((*context).ecxt_per_tuple_memory);
        let function = (*expression).evalfunc.expect("an initialised expression can be evaluated");
        let mut is_null = false;
        let value = function(expression, context, &mut is_null);
        pg_sys::MemoryContextSwitchTo(caller);
        (!is_null).then_some(value)
    }
}

/// A node, zero but for its tag.
///
/// # Safety
/// `T` must be the struct of that tag.
unsafe fn node<T>(tag: pg_sys::NodeTag) -> *mut T {
    // SAFETY: the caller's promise; every node begins with its tag.
    unsafe {
        let place: *mut T = pg_sys::palloc0(size_of::<T>()).cast();
        place.cast::<pg_sys::NodeTag>().write(tag);
        place
    }
}
