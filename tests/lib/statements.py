"""One load as two statements: COPY, and the call of fastcsv_copy that stands for it.

A load is a dict: options (a list of pairs, each a COPY option and its value: a word, None for no value, a list of columns,
or "*"), and where they are wanted target_sql (default t), columns and where.
"""

# Words that SQL reserves cannot be argument names, so these two COPY options are spelled differently in fastcsv_copy.
ARGUMENT = {"null": "null_string", "default": "default_string"}


def lit(s):
    if s is None:
        return "NULL"
    if "\\" in s or any(ord(c) < 32 for c in s):
        return "E'" + "".join("\\\\" if c == "\\" else "\\'" if c == "'" else
                              ("\\x%02x" % ord(c)) if ord(c) < 32 else c for c in s) + "'"
    return "'" + s.replace("'", "''") + "'"


def ident(s):
    return '"' + s.replace('"', '""') + '"'


def array(names):
    return "ARRAY[%s]::text[]" % ", ".join(lit(n) for n in names)


def copy_sql(case, path):
    """The COPY of a file, or of STDIN where there is no path."""
    parts = []
    for k, v in case["options"]:
        if v is None:
            parts.append(k)
        elif isinstance(v, list):
            parts.append("%s (%s)" % (k, ", ".join(ident(x) for x in v)))
        elif v == "*":
            parts.append("%s *" % k)
        else:
            parts.append("%s %s" % (k, lit(v)))
    cols = case.get("columns")
    return "COPY %s%s FROM %s WITH (%s)%s" % (
        case.get("target_sql", "t"), " (%s)" % ", ".join(ident(c) for c in cols) if cols else "",
        lit(path) if path else "STDIN", ", ".join(parts), " WHERE " + case["where"] if case.get("where") else "")


def function_sql(case, path):
    """The fastcsv_copy call for a case, or None when the call has no way to say it."""
    args, seen = [], set()
    for k, v in case["options"]:
        if k == "format":
            if v != "csv":
                return None
            continue
        if k in seen:
            return None  # repeated options cannot be said with named arguments
        seen.add(k)
        name = ARGUMENT.get(k, k)
        if v is None:
            args.append("%s => %s" % (name, lit("true")))
        elif isinstance(v, list):
            args.append("%s => %s" % (name, array(v)))
        elif v == "*":
            args.append("%s => %s" % (name, array(["*"])))
        else:
            args.append("%s => %s" % (name, lit(v)))
    if "header" not in seen:
        args.append("header => 'false'")  # the function's own default is auto; COPY's is false
    if case.get("columns"):
        args.append("columns => " + array(case["columns"]))
    if case.get("where"):
        args.append("where_clause => " + lit(case["where"]))
    return "SELECT fastcsv_copy(%s::regclass, %s%s)" % (
        lit(case.get("target_sql", "t")), lit(path), "".join(", " + a for a in args))
