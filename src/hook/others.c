/*
 * Passing a statement on to the next library's hook, with something set for as long as that takes.
 */
#include "postgres.h"

#include "tcop/utility.h"

extern void fastcsv_shim_pass_on(void **place, void *value, ProcessUtility_hook_type next, PlannedStmt *planned,
								 const char *text, ProcessUtilityContext context, ParamListInfo parameters,
								 QueryEnvironment *environment, DestReceiver *destination,
								 QueryCompletion *completion);

/*
 * As long as the statement is on its way, *place holds the value; behind it, also behind an error, what it held before.
 * The tree is passed on as one that must be copied before it is changed.
 */
void
fastcsv_shim_pass_on(void **place, void *value, ProcessUtility_hook_type next, PlannedStmt *planned,
					 const char *text, ProcessUtilityContext context, ParamListInfo parameters,
					 QueryEnvironment *environment, DestReceiver *destination, QueryCompletion *completion)
{
	void	   *before = *place;

	*place = value;
	PG_TRY();
	{
		next(planned, text, true, context, parameters, environment, destination, completion);
	}
	PG_FINALLY();
	{
		*place = before;
	}
	PG_END_TRY();
}
