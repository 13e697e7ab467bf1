/*
 * What src/referee.rs needs of PostgreSQL and cannot reach from Rust. Its Rust side is src/referee/shim.rs; the
 * two must change together.
 */
#ifndef FASTCSV_SHIM_H
#define FASTCSV_SHIM_H

#include "postgres.h"

#include "commands/copy.h"

/* What a COPY in progress tells about where it is and how it reads. */
typedef struct FastcsvCopyView
{
	uint64		line_number;	/* COPY's own count: the record being read, 0 before the first */
	int32		fd;				/* the descriptor it reads, or -1 where the same bytes cannot be read again */
	int32		encoding;		/* the file's encoding, a PostgreSQL encoding number */
	int32		format;			/* FASTCSV_FORMAT_* */
	uint8		delimiter;
	uint8		quote;			/* CSV only */
	uint8		escape;			/* CSV only */
	bool		has_header;
	bool		line_shown;		/* COPY's CONTEXT line names a line at all */
	bool		row_known;		/* a whole line or a column of it is shown: line_number is that row's */
} FastcsvCopyView;

/* What COPY made of its options, beyond what the view has. Pointers are into the COPY's own memory. */
typedef struct FastcsvCopyOptions
{
	const char *null_print;		/* server encoding */
	const char *default_print;	/* or NULL; server encoding */
	const List *attributes;		/* numbers of the file's columns, in the file's order */
	const bool *force_not_null;	/* by attribute number less 1 */
	const bool *force_null;		/* likewise */
	const bool *selected;		/* likewise; NULL where all columns are wanted */
	bool		needs_transcoding;
	bool		skips_errors;	/* ON_ERROR ignore */
	bool		volatile_defaults;	/* some default must be computed row by row, seeing the rows before */
	int32		line_length;	/* of the line read last */
	uint64		line_number;	/* likewise */
} FastcsvCopyOptions;

#define FASTCSV_FORMAT_CSV		0
#define FASTCSV_FORMAT_TEXT		1
#define FASTCSV_FORMAT_BINARY	2

/* What is known of the error now being reported, for use in an error context callback. */
typedef struct FastcsvErrorView
{
	int32		level;			/* ERROR, NOTICE, ... */
	int32		sqlstate;
	bool		from_reader;	/* raised while a line was being read, not while rows were being written */
} FastcsvErrorView;

extern void fastcsv_shim_start_at(CopyFromState cstate, uint64 line_number, int32 line_end);
extern void fastcsv_shim_restart(CopyFromState cstate, uint64 line_number, int32 line_end,
								 bool keep_value, copy_data_source_cb source);
extern void fastcsv_shim_note_read(CopyFromState cstate, uint64 position, int32 count);
extern void fastcsv_shim_report_position(CopyFromState cstate, uint64 position);
extern void fastcsv_shim_name_value(CopyFromState cstate, uint64 line_number, const char *column, const char *value);
extern void fastcsv_shim_show_line(CopyFromState cstate, uint64 line_number, const char *text, int32 length);
extern void fastcsv_shim_show_name_only(CopyFromState cstate);
extern void fastcsv_shim_hide_line(CopyFromState cstate, uint64 line_number, bool keep_value);
extern int32 fastcsv_shim_default(CopyFromState cstate, int32 index, ExprState **value);
extern void fastcsv_shim_select(CopyFromState cstate, bool *selected);
extern int64 fastcsv_shim_skipped(CopyFromState cstate);
extern void fastcsv_shim_add_skipped(CopyFromState cstate, int64 before);
extern void fastcsv_shim_count_skipped(CopyFromState cstate);
extern void fastcsv_shim_view_options(CopyFromState cstate, FastcsvCopyOptions *options);
extern int32 fastcsv_shim_take_stream(CopyFromState cstate, copy_data_source_cb source);
extern int32 fastcsv_shim_take_file(CopyFromState cstate, copy_data_source_cb source);
extern void fastcsv_shim_skip(CopyFromState cstate, int64 bytes);
extern void fastcsv_shim_set_at_end(CopyFromState cstate, bool at_end);
extern void fastcsv_shim_view_copy(CopyFromState cstate, FastcsvCopyView *view);
extern void fastcsv_shim_view_error(FastcsvErrorView *view);
extern void fastcsv_shim_add_context(const char *line);
extern void fastcsv_shim_add_hint(const char *hint);
extern void fastcsv_shim_notice(const char *message, const char *hint);
extern void fastcsv_shim_move_position(const char *query, int32 prefix);
extern void fastcsv_shim_raise_file_error(int32 error_number, const char *doing, const char *name);
extern void fastcsv_shim_raise_damaged(const char *name, const char *detail, bool needs_memory);
extern void fastcsv_shim_raise_changed(const char *name, bool is_shorter);
extern bool fastcsv_shim_row_was_skipped(CopyFromState cstate);
extern void fastcsv_shim_check_reject_limit(CopyFromState cstate);
extern void fastcsv_shim_report_skipped(CopyFromState cstate, bool load);
extern const char *fastcsv_shim_closest_name(const char *name, const char *const *candidates, int32 count);

extern StringInfo fastcsv_shim_begin_client(CopyFromState cstate);
extern StringInfo fastcsv_shim_ask_client(void);
extern int32 fastcsv_shim_client_socket(void);
extern int64 fastcsv_shim_receive(StringInfo message, char *buffer, int64 size, bool ahead);

#endif
