"""How statements ran: what fastcsv_last_run() says of the last one, and whether a serial run has a reason that is in order.

A test that forces the parallel path proves with this that it did test that path.
"""
import collections

# Why a read may be serial although every size is worth a worker. None: fewer than two rows were asked for.
IN_ORDER = {
    None,
    "the file ends with its first record",
    "the input ends with its first record",
    "the format is not csv",
    "the input is not a regular file",
    "the table has no columns",
    "the quote or escape is a line end",
    "the quote or escape is a backslash, which this version of COPY reads in a way of its own",
    "an option is not ASCII and the file's encoding is not the server's",
    "the file's encoding has characters of several bytes and is not the server's UTF8",
    "the file's encoding is not like ASCII",
    "the file's structure cannot be seen in its bytes",
    "rows with errors are passed over, and a column's type is only known to PostgreSQL",
    # Of loads alone.
    "the target is no table",
    "the rows cannot be frozen",
    "the condition is about a generated column",
}

# Even the least size that is asked for is more than an empty file has.
SMALL = "the file is smaller than fastcsv.min_parallel_size"


def last_run(conn):
    """Path, reason, rows and what makes the run unlike any other; None before the first."""
    rows = conn.must("SELECT path, reason, rows, milliseconds, operation FROM public.fastcsv_last_run()")["rows"]
    return rows[0] if rows and rows[0][0] is not None else None


class Paths:
    """The runs of some statements that had no error."""

    def __init__(self):
        self.parallel = 0
        self.serial = collections.Counter()
        self.unasked = 0

    def note(self, before, after):
        """Takes what last_run() said before a statement and after it; returns what is wrong, if anything."""
        if after is None or after == before:
            self.unasked += 1
            return None
        path, reason, rows = after[:3]
        if path == "parallel":
            self.parallel += 1
            return None
        self.serial[reason] += 1
        is_empty = reason == SMALL and rows == "0"
        if not is_empty and (reason not in IN_ORDER or reason is None and int(rows) > 1):
            return "ran serially: %s" % (reason or "%s rows" % rows)
        return None

    def summary(self):
        serial = sum(self.serial.values())
        lines = ["%d ran in parallel, %d serially, %d read nothing" % (self.parallel, serial, self.unasked)]
        lines += ["    %d: %s" % (count, reason or "fewer than two rows were asked for")
                  for reason, count in self.serial.most_common()]
        return "\n".join(lines)
