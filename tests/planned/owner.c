/*
 * A test's stand-in for an extension that keeps tables' rows elsewhere. What is inserted into a table that the setting
 * owner.tables names goes to the table of the same name in the schema "shards", one row at a time, and the table itself is never
 * written to. As such extensions do it, the planner's plan is replaced by a custom scan.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/varlena.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static char *owned_tables;
static planner_hook_type previous_hook;

typedef struct OwnerState
{
	CustomScanState scan;
	Relation	shard;
} OwnerState;

static void
begin_owner(CustomScanState *node, EState *estate, int flags)
{
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	OwnerState *state = (OwnerState *) node;
	char	   *name = get_rel_name(linitial_oid(plan->custom_private));

	node->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate, flags));
	if (!(flags & EXEC_FLAG_EXPLAIN_ONLY))
		state->shard = table_open(get_relname_relid(name, get_namespace_oid("shards", false)), RowExclusiveLock);
}

static TupleTableSlot *
run_owner(CustomScanState *node)
{
	OwnerState *state = (OwnerState *) node;
	EState	   *estate = node->ss.ps.state;

	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(linitial(node->custom_ps));
		HeapTuple	tuple;

		CHECK_FOR_INTERRUPTS();
		if (TupIsNull(slot))
			return NULL;
		slot_getallattrs(slot);
		tuple = heap_form_tuple(RelationGetDescr(state->shard), slot->tts_values, slot->tts_isnull);
		simple_heap_insert(state->shard, tuple);
		heap_freetuple(tuple);
		estate->es_processed++;
	}
}

static void
end_owner(CustomScanState *node)
{
	OwnerState *state = (OwnerState *) node;

	ExecEndNode(linitial(node->custom_ps));
	if (state->shard)
		table_close(state->shard, NoLock);
}

static const CustomExecMethods execution = {
	.CustomName = "Owner",
	.BeginCustomScan = begin_owner,
	.ExecCustomScan = run_owner,
	.EndCustomScan = end_owner,
};

static Node *
create_owner_state(CustomScan *plan)
{
	OwnerState *state = (OwnerState *) newNode(sizeof(OwnerState), T_CustomScanState);

	state->scan.methods = &execution;
	return (Node *) state;
}

static const CustomScanMethods methods = {
	.CustomName = "Owner",
	.CreateCustomScanState = create_owner_state,
};

static bool
is_owned(Oid table)
{
	List	   *names;
	ListCell   *cell;
	char	   *name = get_rel_name(table);

	if (!SplitIdentifierString(pstrdup(owned_tables), ',', &names))
		return false;
	foreach(cell, names)
		if (name && strcmp(lfirst(cell), name) == 0)
			return true;
	return false;
}

static PlannedStmt *
plan_owned(Query *query, const char *text, int options, ParamListInfo parameters)
{
	PlannedStmt *planned = previous_hook ? previous_hook(query, text, options, parameters) :
		standard_planner(query, text, options, parameters);

	if (planned->commandType == CMD_INSERT && IsA(planned->planTree, ModifyTable))
	{
		Oid			table = rt_fetch(linitial_int(planned->resultRelations), planned->rtable)->relid;

		if (is_owned(table))
		{
			CustomScan *scan = makeNode(CustomScan);

			scan->methods = &methods;
			scan->custom_plans = list_make1(outerPlan(planned->planTree));
			scan->custom_private = list_make1_oid(table);
			planned->planTree = (Plan *) scan;
		}
	}
	return planned;
}

void
_PG_init(void)
{
	DefineCustomStringVariable("owner.tables", "Tables whose inserts go to the schema shards.", NULL, &owned_tables, "",
							   PGC_USERSET, 0, NULL, NULL, NULL);
	RegisterCustomScanMethods(&methods);
	previous_hook = planner_hook;
	planner_hook = plan_owned;
}
