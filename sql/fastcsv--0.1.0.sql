-- complain if the script is sourced in psql rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION fastcsv" to load this file. \quit

-- The foreign data wrapper, and a server ready for use.

CREATE FUNCTION fastcsv_fdw_handler() RETURNS fdw_handler
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'fastcsv_fdw_handler';
COMMENT ON FUNCTION fastcsv_fdw_handler() IS 'callbacks of the foreign data wrapper fastcsv';

CREATE FUNCTION fastcsv_fdw_validator(options text[], catalog oid) RETURNS void
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'fastcsv_fdw_validator';
COMMENT ON FUNCTION fastcsv_fdw_validator(text[], oid) IS 'checks options given to the foreign data wrapper fastcsv';

CREATE FOREIGN DATA WRAPPER fastcsv HANDLER fastcsv_fdw_handler VALIDATOR fastcsv_fdw_validator;
COMMENT ON FOREIGN DATA WRAPPER fastcsv IS 'CSV files on the server as tables';

CREATE SERVER fastcsv FOREIGN DATA WRAPPER fastcsv;
COMMENT ON SERVER fastcsv IS 'the server for fastcsv foreign tables; it has no options';

-- COPY FROM a file, as a function. An argument that is NULL is an option not given. Where COPY takes a boolean or a
-- number as well as a word, so does the argument (declared "any").

CREATE FUNCTION fastcsv_copy(
    target regclass,
    filename text,
    columns text[] DEFAULT NULL,
    where_clause text DEFAULT NULL,
    header "any" DEFAULT 'auto',
    delimiter text DEFAULT NULL,
    quote text DEFAULT NULL,
    escape text DEFAULT NULL,
    null_string text DEFAULT NULL,
    default_string text DEFAULT NULL,
    encoding text DEFAULT NULL,
    force_not_null text[] DEFAULT NULL,
    force_null text[] DEFAULT NULL,
    freeze "any" DEFAULT NULL,
    on_error text DEFAULT NULL,
    reject_limit "any" DEFAULT NULL,
    log_verbosity text DEFAULT NULL,
    format text DEFAULT 'csv',
    force_quote text[] DEFAULT NULL,
    convert_selectively text[] DEFAULT NULL,
    compression text DEFAULT 'auto',
    filename_column text DEFAULT NULL,
    match text DEFAULT 'position',
    bom text DEFAULT NULL
) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fastcsv_copy';
COMMENT ON FUNCTION fastcsv_copy IS
$$loads a CSV file on the server into a table, as COPY FROM does, and returns the number of rows loaded

  target, filename   the table, and the file's path as the server sees it; or a pattern like /data/*.csv, or a list
                     with commas
  columns            the table's columns the file has, in the file's order; default: all of them
  where_clause       load only rows for which this condition holds
  header             true, false, match, or auto (the default): the first record is a header when every field of it
                     names a column of the table
  null_string        COPY's option NULL
  default_string     COPY's option DEFAULT (PostgreSQL 16 and later)
  delimiter, quote, escape, encoding, force_not_null, force_null, freeze, on_error, reject_limit, log_verbosity,
  format, force_quote, convert_selectively
                     COPY's options of the same names, with COPY's defaults, as far as the server's version has them
                     (format defaults to csv)
  compression        auto (the default): a file that is compressed (gzip, zstd, bzip2, xz) is decompressed; none: it is not
  filename_column    the column that is not in the file and gets the file's name
  match              position (the default), or name: the header's names say which column each field is, in any order
  bom                drop or keep: what becomes of a byte order mark; it is dropped by default where header is auto or
                     match is name

Needs the privileges that COPY FROM a file needs.$$;

-- A file as a set of rows, without a table.

CREATE FUNCTION fastcsv_read(
    filename text,
    header "any" DEFAULT 'auto',
    delimiter text DEFAULT NULL,
    quote text DEFAULT NULL,
    escape text DEFAULT NULL,
    null_string text DEFAULT NULL,
    default_string text DEFAULT NULL,
    encoding text DEFAULT NULL,
    force_not_null text[] DEFAULT NULL,
    force_null text[] DEFAULT NULL,
    on_error text DEFAULT NULL,
    reject_limit "any" DEFAULT NULL,
    log_verbosity text DEFAULT NULL,
    format text DEFAULT 'csv',
    compression text DEFAULT 'auto',
    filename_column text DEFAULT NULL,
    match text DEFAULT 'position',
    bom text DEFAULT NULL
) RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'fastcsv_read';
COMMENT ON FUNCTION fastcsv_read IS
$$the rows of a CSV file on the server, as a foreign table with the columns of the column definition list would give them

  SELECT ... FROM fastcsv_read('/data/f.csv') AS t (a integer, b text)

  filename           the file's path as the server sees it; or a pattern like /data/*.csv, or a list with commas
  header             true, false, match, or auto (the default): the first record is a header when every field of it
                     names a column of the definition list
  null_string        COPY's option NULL
  default_string     COPY's option DEFAULT (PostgreSQL 16 and later)
  delimiter, quote, escape, encoding, force_not_null, force_null, on_error, reject_limit, log_verbosity, format
                     COPY's options of the same names, with COPY's defaults, as far as the server's version has them
                     (format defaults to csv)
  compression        auto (the default): a file that is compressed (gzip, zstd, bzip2, xz) is decompressed; none: it is not
  filename_column    the column that is not in the file and gets the file's name
  match              position (the default), or name: the header's names say which column each field is, in any order
  bom                drop or keep: what becomes of a byte order mark; it is dropped by default where header is auto or
                     match is name

Needs the privileges that COPY FROM a file needs.$$;

-- The rows of a load into a table whose inserts another extension plans: what fastcsv_copy's own INSERT selects from.

CREATE FUNCTION fastcsv_rows(anyelement) RETURNS SETOF anyelement
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fastcsv_rows';
COMMENT ON FUNCTION fastcsv_rows(anyelement) IS 'for fastcsv_copy alone: the rows of the load that goes on';

-- How a file is written, and the types of its columns.

CREATE FUNCTION fastcsv_infer(
    filename text,
    delimiter text DEFAULT NULL,
    quote text DEFAULT NULL,
    escape text DEFAULT NULL,
    null_string text DEFAULT NULL,
    header boolean DEFAULT NULL,
    encoding text DEFAULT NULL,
    sample_rows bigint DEFAULT NULL,
    OUT "position" integer,
    OUT name text,
    OUT header_text text,
    OUT type text,
    OUT nullable boolean,
    OUT value_count bigint,
    OUT null_count bigint,
    OUT samples text[],
    OUT reason text,
    OUT dialect text
) RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'fastcsv_infer';
COMMENT ON FUNCTION fastcsv_infer IS
$$tells how a CSV file on the server is written, and for each of its columns a name and the narrowest type that holds all values

  filename           the file's path as the server sees it
  delimiter, quote, escape, encoding, null_string, header
                     what is known already; the rest is found out
  sample_rows        look at so many records only; default: at the whole file

  position, name, header_text    the column's place, a name for SQL, and what the header calls it
  type, nullable                 the type, and whether there are NULLs
  value_count, null_count        how many values and NULLs there are
  samples                        the first values
  reason                         the first line, and its value, that ruled out the next narrower type
  dialect                        in the first row: COPY's options for the file, and what else is to be said about it

Needs the privileges that COPY FROM a file needs.$$;

-- A file's first records.

CREATE FUNCTION fastcsv_preview(
    filename text,
    rows integer DEFAULT 10,
    delimiter text DEFAULT NULL,
    quote text DEFAULT NULL,
    escape text DEFAULT NULL,
    null_string text DEFAULT NULL,
    header boolean DEFAULT NULL,
    encoding text DEFAULT NULL,
    OUT record bigint,
    OUT line bigint,
    OUT fields text[]
) RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'fastcsv_preview';
COMMENT ON FUNCTION fastcsv_preview IS
$$shows the first records of a CSV file on the server, field by field

  filename           the file's path as the server sees it
  rows               how many records, the header not counted
  delimiter, quote, escape, encoding, null_string, header
                     what is known already; the rest is found out

  record, line       the record's number (that of the header is 0), and the line on which it starts
  fields             its fields

Needs the privileges that COPY FROM a file needs.$$;

-- A file becomes a table.

CREATE FUNCTION fastcsv_import(
    filename text,
    table_name text DEFAULT NULL,
    schema_name text DEFAULT NULL,
    delimiter text DEFAULT NULL,
    quote text DEFAULT NULL,
    escape text DEFAULT NULL,
    null_string text DEFAULT NULL,
    header boolean DEFAULT NULL,
    encoding text DEFAULT NULL,
    temporary boolean DEFAULT false,
    unlogged boolean DEFAULT false,
    sample_rows bigint DEFAULT NULL
) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fastcsv_import';
COMMENT ON FUNCTION fastcsv_import IS
$$creates a table for a CSV file on the server and loads it, and returns the number of rows loaded

  filename             the file's path as the server sees it
  table_name           default: made of the file's name
  schema_name          default: the first schema of search_path
  temporary, unlogged  the kind of table
  delimiter, quote, escape, encoding, null_string, header, sample_rows
                       as for fastcsv_infer, which tells what columns the table will have

The CREATE TABLE is shown as a NOTICE. Needs the privileges that COPY FROM a file needs, and those to create the table.$$;

-- What the session's last scan or load did.

CREATE FUNCTION fastcsv_last_run(
    OUT operation text,
    OUT path text,
    OUT reason text,
    OUT threads integer,
    OUT ranges bigint,
    OUT wrong_guesses bigint,
    OUT rereads bigint,
    OUT declined bigint,
    OUT filtered bigint,
    OUT rows bigint,
    OUT bytes bigint,
    OUT bytes_per_second bigint,
    OUT milliseconds double precision,
    OUT peak_memory bigint
) RETURNS record
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'fastcsv_last_run';
COMMENT ON FUNCTION fastcsv_last_run() IS
$$what this session's last scan or load of a CSV file did, and how

  operation, path, reason   scan or load; parallel or serial, and why
  threads, ranges           parser threads, and the pieces of the file they took
  wrong_guesses             pieces whose first record was not where it was guessed to be
  rereads                   times that PostgreSQL's parser had a second look at a piece
  declined                  records handed to PostgreSQL's parser as they are
  filtered                  rows that the threads found not to satisfy the query's conditions
  rows, bytes, bytes_per_second, milliseconds
  peak_memory               bytes of memory that the threads and their blocks held at most$$;
