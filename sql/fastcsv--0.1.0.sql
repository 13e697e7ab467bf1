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
    compression text DEFAULT 'auto'
) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fastcsv_copy';
COMMENT ON FUNCTION fastcsv_copy IS
$$loads a CSV file on the server into a table, as COPY FROM does, and returns the number of rows loaded

  target, filename   the table, and the file's path as the server sees it
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
    compression text DEFAULT 'auto'
) RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'fastcsv_read';
COMMENT ON FUNCTION fastcsv_read IS
$$the rows of a CSV file on the server, as a foreign table with the columns of the column definition list would give them

  SELECT ... FROM fastcsv_read('/data/f.csv') AS t (a integer, b text)

  filename           the file's path as the server sees it
  header             true, false, match, or auto (the default): the first record is a header when every field of it
                     names a column of the definition list
  null_string        COPY's option NULL
  default_string     COPY's option DEFAULT (PostgreSQL 16 and later)
  delimiter, quote, escape, encoding, force_not_null, force_null, on_error, reject_limit, log_verbosity, format
                     COPY's options of the same names, with COPY's defaults, as far as the server's version has them
                     (format defaults to csv)
  compression        auto (the default): a file that is compressed (gzip, zstd, bzip2, xz) is decompressed; none: it is not

Needs the privileges that COPY FROM a file needs.$$;

-- The rows of a load into a table whose inserts another extension plans: what fastcsv_copy's own INSERT selects from.

CREATE FUNCTION fastcsv_rows(anyelement) RETURNS SETOF anyelement
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fastcsv_rows';
COMMENT ON FUNCTION fastcsv_rows(anyelement) IS 'for fastcsv_copy alone: the rows of the load that goes on';

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
