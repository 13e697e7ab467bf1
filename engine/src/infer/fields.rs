//! The fields of single records, for a look at them.

use crate::dialect::Dialect;
use crate::record::unquote;
use crate::scan::{Boundaries, Level, QUOTED, Scanner, State};
use crate::tuple::OutOfMemory;

/// The fields of one record, which has its line end or ends where the input does; `None` for those that are NULL, which
/// is written as `null`.
///
/// # Errors
/// If memory runs out.
pub fn fields(record: &[u8], dialect: &Dialect, null: &[u8]) -> Result<Vec<Option<Vec<u8>>>, OutOfMemory> {
    let line_end = dialect.line_end().bytes();
    let content = record.strip_suffix(line_end).unwrap_or(record);
    let (mut state, mut boundaries) = (State::at_record(0), Boundaries::new());
    Scanner::new(dialect, Level::detect()).scan(&mut state, content, &mut boundaries);
    if boundaries.is_exhausted() {
        return Err(OutOfMemory);
    }
    let quote = dialect.quote().unwrap_or(b'"');
    let escape = dialect.escape().unwrap_or(quote);
    let mut fields = Vec::new();
    fields.try_reserve_exact(boundaries.ends().len() + 1).map_err(|_| OutOfMemory)?;
    let mut start = 0;
    let ends = boundaries.ends().iter().map(|end| ((end & !QUOTED) as usize, end & QUOTED != 0));
    // The last field ends with the record. Whether it holds a quote, a look at it tells.
    let last = std::iter::once((content.len(), true));
    for (end, may_be_quoted) in ends.chain(last) {
        let raw = &content[start..end];
        start = end + 1;
        let is_quoted = may_be_quoted && raw.contains(&quote);
        if !is_quoted && raw == null {
            fields.push(None);
            continue;
        }
        let mut unquoted = Vec::new();
        let field = if is_quoted { unquote(raw, quote, escape, &mut unquoted)? } else { raw };
        let mut copy = Vec::new();
        copy.try_reserve_exact(field.len()).map_err(|_| OutOfMemory)?;
        copy.extend_from_slice(field);
        fields.push(Some(copy));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::LineEnd;

    #[test]
    fn a_records_fields_are_unquoted_and_null_only_if_not_quoted() {
        let of = |record: &str| {
            let fields = fields(record.as_bytes(), &Dialect::copy_csv(LineEnd::CrLf), b"").expect("there is memory");
            let text = |field: Vec<u8>| String::from_utf8(field).expect("ASCII");
            fields.into_iter().map(|field| field.map(text)).collect::<Vec<_>>()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(of("a,\"b,\r\n\"\"c\",,\"\"\r\n"), [some("a"), some("b,\r\n\"c"), None, some("")]);
        assert_eq!(of("1,2"), [some("1"), some("2")]);
        assert_eq!(of("1,\"2"), [some("1"), some("2")]);
        assert_eq!(of("\r\n"), [None]);
    }
}
