/*
 * Reading COPY data from the client, as COPY itself does it: the same messages are taken and refused, in the same words. But nothing here
 * waits for the client to begin a message, so that who waits can be told to stop.
 */
#include "shim.h"

#include "commands/copyfrom_internal.h"
#include "commands/progress.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

/* From libpq/libpq.h, which in some versions wants the headers of Kerberos, and they need not be there. */
#define PQ_SMALL_MESSAGE_LIMIT	10000
#define PQ_LARGE_MESSAGE_LIMIT	(MaxAllocSize - 1)
extern void pq_startmsgread(void);
extern void pq_endmsgread(void);
extern int	pq_getbyte_if_available(unsigned char *c);
extern int	pq_getmessage(StringInfo s, int maxlen);

/* Asks the client for its data; whoever has begun the COPY goes on to read through its callback. */
void
fastcsv_shim_begin_client(CopyFromState cstate)
{
	pgstat_progress_update_param(PROGRESS_COPY_TYPE, PROGRESS_COPY_TYPE_PIPE);
	ReceiveCopyBegin(cstate);
	cstate->copy_src = COPY_CALLBACK;
}

/*
 * The client's socket: readable when there may be more. It is the first field of Port in every version.
 */
int32
fastcsv_shim_client_socket(void)
{
	return *(pgsocket *) MyProcPort;
}

static void
raise_connection_lost(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("unexpected EOF on client connection with an open transaction")));
}

/*
 * Takes the next message if there is one. Returns its type, or 0 if the client has nothing to say yet. What follows a message's first byte is
 * waited for: it is on its way.
 */
static int
receive_message(StringInfo message)
{
	unsigned char type;
	int			received;
	int			limit;

	HOLD_CANCEL_INTERRUPTS();
	pq_startmsgread();
	received = pq_getbyte_if_available(&type);
	if (received == 0)
	{
		pq_endmsgread();
		RESUME_CANCEL_INTERRUPTS();
		return 0;
	}
	if (received == EOF)
		raise_connection_lost();
	switch (type)
	{
		case 'd':				/* CopyData */
			limit = PQ_LARGE_MESSAGE_LIMIT;
			break;
		case 'c':				/* CopyDone */
		case 'f':				/* CopyFail */
		case 'H':				/* Flush */
		case 'S':				/* Sync */
			limit = PQ_SMALL_MESSAGE_LIMIT;
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_PROTOCOL_VIOLATION),
					 errmsg("unexpected message type 0x%02X during COPY from stdin", type)));
	}
	if (pq_getmessage(message, limit))
		raise_connection_lost();
	RESUME_CANCEL_INTERRUPTS();
	return type;
}

/*
 * Copies at most size bytes of the client's data. Returns how many, 0 if the client has said that there are no more, and -1 if there is
 * nothing yet.
 */
int64
fastcsv_shim_receive(CopyFromState cstate, char *buffer, int64 size)
{
	StringInfo	message = cstate->fe_msgbuf;
	int64		length;

	while (message->cursor >= message->len)
	{
		switch (receive_message(message))
		{
			case 0:
				return -1;
			case 'c':
				return 0;
			case 'f':
				ereport(ERROR,
						(errcode(ERRCODE_QUERY_CANCELED),
						 errmsg("COPY from stdin failed: %s", pq_getmsgstring(message))));
				break;
			case 'd':
				break;
			default:
				/* A client library may send Flush or Sync without noticing that the command was COPY. */
				message->cursor = message->len;
				break;
		}
	}
	length = Min(size, message->len - message->cursor);
	pq_copymsgbytes(message, buffer, (int) length);
	return length;
}
