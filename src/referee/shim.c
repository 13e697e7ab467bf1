/*
 * The one piece of C: it reads and sets fields of CopyFromStateData, which is opaque to the Rust bindings and
 * differs between PostgreSQL's major versions, and calls what exists only as a variadic function or a macro.
 * Nothing is decided here that Rust could decide.
 */
#include "shim.h"

#include <sys/stat.h>

#include "commands/copyfrom_internal.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "utils/varlena.h"
#endif

/*
 * Lets a parse begin at a record in the middle of a file: line_number is what COPY would have counted before that
 * record, line_end the style the file was found to have (an EolType). A line number above 0 also keeps COPY from
 * taking the first record for a header.
 */
void
fastcsv_shim_start_at(CopyFromState cstate, uint64 line_number, int32 line_end)
{
	cstate->cur_lineno = line_number;
	cstate->eol_type = (EolType) line_end;
}

/*
 * Lets a parse go on at another record, read through a callback from now on, with nothing left of what was read
 * before; but for the value that COPY's error context shows, if it is to be kept.
 */
void
fastcsv_shim_restart(CopyFromState cstate, uint64 line_number, int32 line_end, bool keep_value, copy_data_source_cb source)
{
	cstate->copy_src = COPY_CALLBACK;
	cstate->data_source_cb = source;
	cstate->raw_buf_index = cstate->raw_buf_len = 0;
	cstate->raw_buf[0] = '\0';
	cstate->raw_reached_eof = false;
	cstate->input_buf_index = cstate->input_buf_len = 0;
	cstate->input_buf[0] = '\0';
	cstate->input_reached_eof = false;
	cstate->input_reached_error = false;
	cstate->line_buf_valid = false;
	resetStringInfo(&cstate->line_buf);
	if (!keep_value)
	{
		cstate->cur_attname = NULL;
		cstate->cur_attval = NULL;
	}
	fastcsv_shim_start_at(cstate, line_number, line_end);
}

/*
 * A callback is about to return count bytes, which end at a position of the input: COPY will add them to those it has
 * reported. It reports the farthest position that anybody has come to.
 */
void
fastcsv_shim_note_read(CopyFromState cstate, uint64 position, int32 count)
{
	cstate->bytes_processed = Max(cstate->bytes_processed, position) - count;
}

/* Tells the progress view that the input was read up to a position. */
void
fastcsv_shim_report_position(CopyFromState cstate, uint64 position)
{
	if (position > cstate->bytes_processed)
	{
		cstate->bytes_processed = position;
		pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, position);
	}
}

/*
 * What COPY's error context is to show: a value of a column in a line. Without a column it shows nothing of this kind
 * any more. The strings must live until then.
 */
void
fastcsv_shim_name_value(CopyFromState cstate, uint64 line_number, const char *column, const char *value)
{
	cstate->cur_lineno = line_number;
	cstate->cur_attname = column;
	cstate->cur_attval = value;
}

/* COPY's error context is to show this line, in the server's encoding. */
void
fastcsv_shim_show_line(CopyFromState cstate, uint64 line_number, const char *text, int32 length)
{
	cstate->cur_lineno = line_number;
	cstate->cur_attname = NULL;
	cstate->cur_attval = NULL;
	resetStringInfo(&cstate->line_buf);
	appendBinaryStringInfo(&cstate->line_buf, text, length);
	cstate->line_buf_valid = true;
}

/* COPY's error context is to show only a line's number; and the value that it shows now, if that is to be kept. */
void
fastcsv_shim_hide_line(CopyFromState cstate, uint64 line_number, bool keep_value)
{
	cstate->cur_lineno = line_number;
	if (!keep_value)
	{
		cstate->cur_attname = NULL;
		cstate->cur_attval = NULL;
	}
	cstate->line_buf_valid = false;
}

/* COPY's error context is to show the table's name only, where the version's can. */
void
fastcsv_shim_show_name_only(CopyFromState cstate)
{
#if PG_VERSION_NUM >= 160000
	cstate->relname_only = true;
#endif
}

/*
 * The default of a column that is not in the file: its number, or 0 if there are not so many. Columns without a
 * default are none of these.
 */
int32
fastcsv_shim_default(CopyFromState cstate, int32 index, ExprState **value)
{
	if (index >= cstate->num_defaults)
		return 0;
#if PG_VERSION_NUM >= 160000
	*value = cstate->defexprs[cstate->defmap[index]];
#else
	*value = cstate->defexprs[index];
#endif
	return cstate->defmap[index] + 1;
}

/* Values of these columns only are to be converted: an element for each, which must live as long as the COPY. */
void
fastcsv_shim_select(CopyFromState cstate, bool *selected)
{
	cstate->convert_select_flags = selected;
}

/* How many rows ON_ERROR ignore has passed over so far, and how many it had before this COPY began. */
int64
fastcsv_shim_skipped(CopyFromState cstate)
{
#if PG_VERSION_NUM >= 170000
	return cstate->num_errors;
#else
	return 0;
#endif
}

void
fastcsv_shim_add_skipped(CopyFromState cstate, int64 before)
{
#if PG_VERSION_NUM >= 170000
	cstate->num_errors += before;
#endif
}

/* Tells the progress view of rows that ON_ERROR ignore has passed over. */
void
fastcsv_shim_count_skipped(CopyFromState cstate)
{
#if PG_VERSION_NUM >= 170000
	pgstat_progress_update_param(PROGRESS_COPY_TUPLES_SKIPPED, cstate->num_errors);
#endif
}

void
fastcsv_shim_view_options(CopyFromState cstate, FastcsvCopyOptions *options)
{
	memset(options, 0, sizeof(*options));
	options->null_print = cstate->opts.null_print;
#if PG_VERSION_NUM >= 160000
	options->default_print = cstate->opts.default_print;
#endif
	options->attributes = cstate->attnumlist;
	options->force_not_null = cstate->opts.force_notnull_flags;
	options->force_null = cstate->opts.force_null_flags;
	options->selected = cstate->convert_select_flags;
	options->needs_transcoding = cstate->need_transcoding;
	options->volatile_defaults = cstate->volatile_defexprs;
	options->line_length = cstate->line_buf.len;
	options->line_number = cstate->cur_lineno;
#if PG_VERSION_NUM >= 170000
	options->skips_errors = cstate->opts.on_error == COPY_ON_ERROR_IGNORE;
#endif
}

/* The descriptor of a regular file that COPY opened itself, else -1. */
static int32
rereadable_descriptor(CopyFromState cstate)
{
	struct stat st;
	int			fd;

	if (cstate->copy_src != COPY_FILE || cstate->is_program || cstate->copy_file == NULL)
		return -1;
	fd = fileno(cstate->copy_file);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	return fd;
}

/*
 * Where COPY has opened an input that can be read only once, and has not read from it yet, it is to read through a
 * callback from now on. Returns the descriptor, or -1 where this is not so.
 */
int32
fastcsv_shim_take_stream(CopyFromState cstate, copy_data_source_cb source)
{
	if (cstate->copy_src != COPY_FILE || cstate->copy_file == NULL || cstate->opts.binary ||
		rereadable_descriptor(cstate) >= 0)
		return -1;
	cstate->copy_src = COPY_CALLBACK;
	cstate->data_source_cb = source;
	return fileno(cstate->copy_file);
}

/*
 * COPY, which has opened a regular file and not read from it yet, is to read what the file stands for through a callback from
 * now on. How much that is nobody knows. Returns the descriptor.
 */
int32
fastcsv_shim_take_file(CopyFromState cstate, copy_data_source_cb source)
{
	cstate->copy_src = COPY_CALLBACK;
	cstate->data_source_cb = source;
	pgstat_progress_update_param(PROGRESS_COPY_BYTES_TOTAL, 0);
	return fileno(cstate->copy_file);
}

/* COPY, which has opened a regular file and not read from it yet, is to begin behind so many bytes. */
void
fastcsv_shim_skip(CopyFromState cstate, int64 bytes)
{
	if (fseeko(cstate->copy_file, bytes, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", cstate->filename)));
}

/* Has the input's end been seen, by whoever has read it? */
void
fastcsv_shim_set_at_end(CopyFromState cstate, bool at_end)
{
	cstate->raw_reached_eof = at_end;
}

void
fastcsv_shim_view_copy(CopyFromState cstate, FastcsvCopyView *view)
{
	memset(view, 0, sizeof(*view));
	view->line_number = cstate->cur_lineno;
	view->fd = rereadable_descriptor(cstate);
	view->encoding = cstate->file_encoding;
	view->format = cstate->opts.binary ? FASTCSV_FORMAT_BINARY :
		cstate->opts.csv_mode ? FASTCSV_FORMAT_CSV : FASTCSV_FORMAT_TEXT;
	if (cstate->opts.delim)
		view->delimiter = (uint8) cstate->opts.delim[0];
	if (cstate->opts.csv_mode)
	{
		view->quote = (uint8) cstate->opts.quote[0];
		view->escape = (uint8) cstate->opts.escape[0];
	}
	view->has_header = cstate->opts.header_line != COPY_HEADER_FALSE;
#if PG_VERSION_NUM >= 160000
	view->line_shown = !cstate->relname_only;
#else
	view->line_shown = true;
#endif
	view->row_known = cstate->cur_attname != NULL || (!cstate->opts.binary && cstate->line_buf_valid);
}

/* Source files in which reading a line ends: the parser, encoding checks and conversions, and its line buffer. */
static bool
is_reader_source(const char *path)
{
	static const char *const names[] = {"copyfromparse.c", "mbutils.c", "stringinfo.c"};
	const char *base;

	if (path == NULL)
		return false;
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	for (size_t i = 0; i < lengthof(names); i++)
		if (strcmp(base, names[i]) == 0)
			return true;
	return false;
}

/* To be called from an error context callback only: at any other time there is no error to look at. */
void
fastcsv_shim_view_error(FastcsvErrorView *view)
{
	MemoryContext scratch = AllocSetContextCreate(TopMemoryContext, "fastcsv error view", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	ErrorData  *edata = CopyErrorData();

	view->level = edata->elevel;
	view->sqlstate = edata->sqlerrcode;
	view->from_reader = is_reader_source(edata->filename);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

void
fastcsv_shim_add_context(const char *line)
{
	errcontext("%s", line);
}

void
fastcsv_shim_add_hint(const char *hint)
{
	errhint("%s", hint);
}

/*
 * Tells the user something, in the server's encoding.
 */
void
fastcsv_shim_notice(const char *message, const char *hint)
{
	ereport(NOTICE, (errmsg_internal("%s", message), hint ? errhint("%s", hint) : 0));
}

/*
 * An error position that points into text we made up is moved to that text, less a prefix the user never wrote, as
 * SPI does for the queries it runs.
 */
void
fastcsv_shim_move_position(const char *query, int32 prefix)
{
	int			position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position > prefix ? position - prefix : 1);
	internalerrquery(query);
}

/* Raises what PostgreSQL says when a system call on a file failed, with the SQLSTATE that belongs to the errno. */
void
fastcsv_shim_raise_file_error(int32 error_number, const char *doing, const char *name)
{
	errno = error_number;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not %s file \"%s\": %m", doing, name)));
}

/* Raises the error for a compressed file in which something is wrong, or that needs more memory than we take. */
void
fastcsv_shim_raise_damaged(const char *name, const char *detail, bool needs_memory)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("could not decompress file \"%s\"", name),
			 errdetail("%s", detail),
			 needs_memory ? errhint("Compress it again with a window of at most 128 MB (for zstd: --long=27).") : 0));
}

/* Raises the error for a file that is shorter than it was when the read began, or holds other bytes. */
void
fastcsv_shim_raise_changed(const char *name, bool is_shorter)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 is_shorter ? errmsg("file \"%s\" became shorter while it was being read", name) :
			 errmsg("file \"%s\" was overwritten while it was being read", name)));
}

/* Has NextCopyFrom come back without a row because ON_ERROR ignore passed over one? Forgets it again. */
bool
fastcsv_shim_row_was_skipped(CopyFromState cstate)
{
#if PG_VERSION_NUM >= 170000
	if (cstate->opts.on_error == COPY_ON_ERROR_IGNORE && cstate->escontext->error_occurred)
	{
		cstate->escontext->error_occurred = false;
		return true;
	}
#endif
	return false;
}

void
fastcsv_shim_check_reject_limit(CopyFromState cstate)
{
#if PG_VERSION_NUM >= 180000
	if (cstate->opts.reject_limit > 0 && cstate->num_errors > cstate->opts.reject_limit)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("skipped more than REJECT_LIMIT (%" PRId64 ") rows due to data type incompatibility",
						cstate->opts.reject_limit)));
#endif
}

/*
 * COPY has this in its own loop, from PostgreSQL 17 on; file_fdw from 18 on, and there LOG_VERBOSITY can silence it. In
 * 17 nothing can.
 */
void
fastcsv_shim_report_skipped(CopyFromState cstate, bool load)
{
#if PG_VERSION_NUM >= 170000
	bool		wanted = load;

#if PG_VERSION_NUM >= 180000
	wanted = cstate->opts.log_verbosity >= COPY_LOG_VERBOSITY_DEFAULT;
#endif
	if (wanted && cstate->opts.on_error == COPY_ON_ERROR_IGNORE && cstate->num_errors > 0)
		ereport(NOTICE,
				errmsg_plural("%llu row was skipped due to data type incompatibility",
							  "%llu rows were skipped due to data type incompatibility",
							  (unsigned long long) cstate->num_errors,
							  (unsigned long long) cstate->num_errors));
#endif
}

/* The candidate that looks most like name, or NULL where none is close; always NULL before PostgreSQL 16. */
const char *
fastcsv_shim_closest_name(const char *name, const char *const *candidates, int32 count)
{
#if PG_VERSION_NUM >= 160000
	ClosestMatchState match;

	initClosestMatch(&match, name, 4);
	for (int32 i = 0; i < count; i++)
		updateClosestMatch(&match, candidates[i]);
	return getClosestMatch(&match);
#else
	return NULL;
#endif
}
