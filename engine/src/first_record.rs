//! The first record of a file, field by field: for a look at what may be a header, before anything is read.
//!
//! The rules are COPY's: a quote toggles wherever it stands, an escape before an escape or a quote inside quotes
//! yields that character, and the first unquoted carriage return or line feed ends the record, whatever the file's
//! line-end style will turn out to be.

/// What the start of a file holds.
#[derive(Debug, PartialEq, Eq)]
pub enum FirstRecord {
    /// A whole record: its fields, unquoted.
    Complete(Vec<Vec<u8>>),
    /// The record goes on past the bytes given.
    Incomplete,
    /// The file is empty.
    None,
}

/// Splits the first record off `start`, the first bytes of a file; `at_end` says that the file ends there.
pub fn first_record(start: &[u8], at_end: bool, delimiter: u8, quote: u8, escape: u8) -> FirstRecord {
    if start.is_empty() {
        return if at_end { FirstRecord::None } else { FirstRecord::Incomplete };
    }
    let mut fields = vec![Vec::new()];
    let mut in_quotes = false;
    let mut bytes = start.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let field = fields.last_mut().expect("there is always a field");
        if in_quotes {
            match bytes.peek() {
                Some(&next) if byte == escape && (next == escape || next == quote) => {
                    field.push(next);
                    bytes.next();
                }
                _ if byte == quote => in_quotes = false,
                _ => field.push(byte),
            }
        } else if byte == delimiter {
            fields.push(Vec::new());
        } else if byte == quote {
            in_quotes = true;
        } else if byte == b'\n' || byte == b'\r' {
            return FirstRecord::Complete(fields);
        } else {
            field.push(byte);
        }
    }
    if at_end && !in_quotes { FirstRecord::Complete(fields) } else { FirstRecord::Incomplete }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(start: &str) -> FirstRecord {
        first_record(start.as_bytes(), true, b',', b'"', b'"')
    }

    fn complete(fields: &[&str]) -> FirstRecord {
        FirstRecord::Complete(fields.iter().map(|field| field.as_bytes().to_vec()).collect())
    }

    #[test]
    fn a_record_ends_at_the_first_unquoted_line_end_of_any_style() {
        for end in ["\n", "\r", "\r\n", ""] {
            assert_eq!(fields(&format!("a,b{end}")), complete(&["a", "b"]));
        }
        assert_eq!(fields("\nx"), complete(&[""]));
    }

    #[test]
    fn quotes_are_taken_off_and_doubled_ones_halved() {
        assert_eq!(fields("\"a,\n\"\"b\",c\"d\"e\n"), complete(&["a,\n\"b", "cde"]));
    }

    #[test]
    fn an_escape_acts_only_inside_quotes_and_before_a_quote_or_itself() {
        let record = first_record(b"\"a\\\"b\\\\\\n\",\\\"c\"\n", true, b',', b'"', b'\\');
        assert_eq!(record, complete(&["a\"b\\\\n", "\\c"]));
    }

    #[test]
    fn a_record_without_an_end_is_whole_only_at_the_end_of_the_file() {
        assert_eq!(first_record(b"a,b", false, b',', b'"', b'"'), FirstRecord::Incomplete);
        assert_eq!(fields("a,\"b\n"), FirstRecord::Incomplete);
    }

    #[test]
    fn an_empty_file_has_no_record() {
        assert_eq!(fields(""), FirstRecord::None);
    }
}
