/*
 * Reading COPY data from the client, as COPY itself does it: the same messages are taken and refused, in the same words. But nothing here
 * waits for the client to begin a message, so that who waits can be told to stop.
 */
#include "shim.h"

#include "commands/copyfrom_internal.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

/*
 * The headers of Kerberos and OpenSSL need not be there. Of what is declared with their help only the first field of Port is used, which is the
 * same without them.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq.h"
#include "libpq/libpq-be.h"
#include "libpq/pqformat.h"

/*
 * Asks the client for the data of a COPY, which goes on to read through its callback. Returns the buffer for the client's messages.
 */
StringInfo
fastcsv_shim_begin_client(CopyFromState cstate)
{
	pgstat_progress_update_param(PROGRESS_COPY_TYPE, PROGRESS_COPY_TYPE_PIPE);
	ReceiveCopyBegin(cstate);
	cstate->copy_src = COPY_CALLBACK;
	return cstate->fe_msgbuf;
}

/* Asks the client for data of which nobody knows yet how many columns it has. Returns the buffer for its messages. */
StringInfo
fastcsv_shim_ask_client(void)
{
	StringInfoData buf;

	pq_beginmessage(&buf, 'G');
	pq_sendbyte(&buf, 0);		/* text */
	pq_sendint16(&buf, 0);		/* columns */
	pq_endmessage(&buf);
	/* Or the client would go on to wait. */
	pq_flush();
	return makeStringInfo();
}

/* The client's socket: readable when there may be more. */
int32
fastcsv_shim_client_socket(void)
{
	return MyProcPort->sock;
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
fastcsv_shim_receive(StringInfo message, char *buffer, int64 size)
{
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
