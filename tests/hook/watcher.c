/*
 * A library with a hook for utility statements, as others have one: it looks at each COPY before it passes it on and
 * behind that, and does what watcher.does says:
 *
 *   watch   nothing more
 *   refuse  refuses a COPY from a file or program
 *   own     takes a COPY into a table named "owned" for its own: three rows
 *   copy    passes a copy of the statement on, which may be changed
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "tcop/cmdtag.h"
#include "tcop/utility.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static char *does;
static ProcessUtility_hook_type next;

static void
watch(PlannedStmt *pstmt, const char *text, bool read_only, ProcessUtilityContext context, ParamListInfo params,
	  QueryEnvironment *environment, DestReceiver *destination, QueryCompletion *completion)
{
	CopyStmt   *copy = (CopyStmt *) pstmt->utilityStmt;
	ProcessUtility_hook_type go_on = next ? next : standard_ProcessUtility;

	if (!IsA(copy, CopyStmt) || strcmp(does, "") == 0)
	{
		go_on(pstmt, text, read_only, context, params, environment, destination, completion);
		return;
	}
	ereport(NOTICE,
			errmsg("before %s %d %d %s %s %d options %s where, level %d, at %d of %d",
				   GetCommandTagName(CreateCommandTag((Node *) copy)), copy->is_from, copy->is_program,
				   copy->filename ? copy->filename : "client", copy->relation ? copy->relation->relname : "query",
				   list_length(copy->options), copy->whereClause ? "with" : "without",
				   GetCommandLogLevel((Node *) copy), pstmt->stmt_location, pstmt->stmt_len));
	if (strcmp(does, "refuse") == 0 && copy->filename)
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("the watcher refuses %s", copy->filename));
	if (strcmp(does, "own") == 0 && copy->relation && strcmp(copy->relation->relname, "owned") == 0)
	{
		if (completion)
			SetQueryCompletion(completion, CMDTAG_COPY, 3);
		return;
	}
	if (strcmp(does, "copy") == 0)
	{
		pstmt = copyObject(pstmt);
		read_only = false;
	}
	go_on(pstmt, text, read_only, context, params, environment, destination, completion);
	ereport(NOTICE, errmsg("behind: %s %llu", completion ? GetCommandTagName(completion->commandTag) : "nothing",
						   completion ? (unsigned long long) completion->nprocessed : 0));
}

void
_PG_init(void)
{
	DefineCustomStringVariable("watcher.does", "What the watcher does.", NULL, &does, "", PGC_USERSET, 0,
							   NULL, NULL, NULL);
	next = ProcessUtility_hook;
	ProcessUtility_hook = watch;
}
