/*
 * Reading COPY data from the client, as COPY itself does it: the same messages are taken and refused, in the same
 * words. But nothing here waits for the client to begin a message, so that who waits can be told to stop.
 */
#include "shim.h"

#include <poll.h>

#include "commands/copyfrom_internal.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"

/*
 * The headers of Kerberos and OpenSSL need not be there. Of what is declared with their help only the first field of
 * Port is used, which is the same without them.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq.h"
#include "libpq/libpq-be.h"
#include "libpq/pqformat.h"

#if PG_VERSION_NUM >= 170000
#define pq_buffer_has_data() (pq_buffer_remaining_data() > 0)
#endif

/* What comes next, where it is no message's type: nothing yet, or (as PostgreSQL has it) EOF: nothing any more. */
#define NOTHING		(-2)

/*
 * Of a message that is not done with: its type, and whether it lies in the COPY's buffer, or only its type has been
 * taken. Else NOTHING.
 */
static int	pending = NOTHING;
static bool pending_is_whole = false;

/*
 * Asks the client for the data of a COPY, which goes on to read through its callback. Returns the buffer for the
 * client's messages.
 */
StringInfo
fastcsv_shim_begin_client(CopyFromState cstate)
{
	pending = NOTHING;
	pending_is_whole = false;
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

	pending = NOTHING;
	pending_is_whole = false;
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

static bool
is_readable(void)
{
	struct pollfd asked = {.fd = fastcsv_shim_client_socket(), .events = POLLIN};

	return poll(&asked, 1, 0) > 0;
}

/*
 * The type of the message that comes next. It is only looked at, where that can be done without waiting. Of an
 * encrypted connection nobody knows whether there is anything without taking it.
 */
static int
look(void)
{
	unsigned char type;
	int			result = NOTHING;
	bool		is_encrypted = MyBEEntry == NULL || MyBEEntry->st_ssl || MyBEEntry->st_gss;

	if (pending != NOTHING)
		return pending;
	HOLD_CANCEL_INTERRUPTS();
	pq_startmsgread();
	if (pq_buffer_has_data() || (!is_encrypted && is_readable()))
		result = pq_peekbyte();
	else if (is_encrypted)
	{
		int			received = pq_getbyte_if_available(&type);

		if (received != 0)
			result = pending = received == EOF ? EOF : type;
	}
	if (pending == NOTHING)
		pq_endmsgread();
	RESUME_CANCEL_INTERRUPTS();
	return result;
}

/*
 * Takes the message of this type that comes next into the buffer, waiting for the rest of it: that is on its way. False
 * if the connection is of no use any more.
 */
static bool
take(int type, StringInfo message)
{
	bool		is_taken;

	if (pending_is_whole)
		return true;
	HOLD_CANCEL_INTERRUPTS();
	if (pending == NOTHING)
	{
		pq_startmsgread();
		if (type != EOF)
			type = pq_getbyte();
	}
	switch (type)
	{
		case EOF:
			is_taken = false;
			break;
		case 'd':				/* CopyData */
			is_taken = pq_getmessage(message, PQ_LARGE_MESSAGE_LIMIT) == 0;
			break;
		case 'c':				/* CopyDone */
		case 'f':				/* CopyFail */
		case 'H':				/* Flush */
		case 'S':				/* Sync */
			is_taken = pq_getmessage(message, PQ_SMALL_MESSAGE_LIMIT) == 0;
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_PROTOCOL_VIOLATION),
					 errmsg("unexpected message type 0x%02X during COPY from stdin", type)));
	}
	RESUME_CANCEL_INTERRUPTS();
	return is_taken;
}

/*
 * May a message of this type be taken by who reads ahead? It raises no error, and if there is one before it, PostgreSQL
 * passes it over.
 */
static bool
is_data(int type)
{
	return type == 'd' || type == 'c' || type == 'H';
}

/*
 * Copies at most size bytes of the client's data. Returns how many, 0 if the client has said that there are no more, -1
 * if there is nothing yet, and to who reads ahead -2 if it is something else, which is left for who does not.
 */
int64
fastcsv_shim_receive(StringInfo message, char *buffer, int64 size, bool ahead)
{
	int64		length;

	while (pending != NOTHING || message->cursor >= message->len)
	{
		int			type = look();

		if (type == NOTHING)
			return -1;
		if (ahead && !is_data(type))
		{
			/* What PostgreSQL would pass over behind an error must not be left begun. */
			if (pending != NOTHING && !pending_is_whole && (type == 'f' || type == 'S'))
				pending_is_whole = take(type, message);
			return -2;
		}
		if (!take(type, message))
		{
			if (!ahead)
				raise_connection_lost();
			pending = EOF;
			return -2;
		}
		pending = NOTHING;
		pending_is_whole = false;
		switch (type)
		{
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
