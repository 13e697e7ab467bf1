//! COPY's way through a file, written plainly: a byte at a time, lines first and then their fields, as its source does
//! it.
//!
//! It stops before the first record that COPY would not simply take.

use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::job::{Encoding, Syntax};

/// What a file holds.
#[derive(Debug, Default)]
pub struct Reading {
    /// The records before the first that is no plain one.
    pub records: Vec<Record>,
    /// Where that record starts.
    pub stop: Option<usize>,
}

/// One record.
#[derive(Debug)]
pub struct Record {
    pub start: usize,
    /// Behind its line end.
    pub end: usize,
    /// With a line end, which the file's last record may lack.
    pub text: Vec<u8>,
    /// Physical line ends, its own included.
    pub lines: u32,
    /// Line ends inside quotes that COPY counts.
    pub inner: u32,
    pub fields: Vec<Field>,
}

/// One field.
#[derive(Debug)]
pub struct Field {
    pub raw: Vec<u8>,
    /// Unquoted.
    pub content: Vec<u8>,
    pub has_quote: bool,
}

/// Reads the records of `input` from `start` on.
pub fn read(syntax: &Syntax, encoding: &Encoding, input: &[u8], start: usize) -> Reading {
    let invalid = first_invalid(encoding, &input[start..]).map(|at| start + at);
    let mut reading = Reading::default();
    let mut at = start;
    while at < input.len() {
        let Some((end, inner)) = line(syntax, &input[at..]).map(|(length, inner)| (at + length, inner)) else {
            reading.stop = Some(at);
            break;
        };
        let ends_with_file = end == input.len() && !ends_with_line_end(syntax, &input[at..end]);
        let mut text = input[at..end].to_vec();
        if ends_with_file {
            text.extend(syntax.line_end.bytes());
        }
        let content = &text[..text.len() - syntax.line_end.bytes().len()];
        // Behind a carriage return COPY fetches one more character before it takes the line.
        let looked_at = if syntax.line_end == LineEnd::Cr { end + 1 } else { end };
        if invalid.is_some_and(|invalid| invalid < looked_at) || syntax.has_end_marker && content == b"\\." {
            reading.stop = Some(at);
            break;
        }
        let lines = text.iter().filter(|&&byte| byte == syntax.line_end.line_byte()).count() as u32;
        let fields = fields(syntax, content);
        reading.records.push(Record { start: at, end, text, lines, inner, fields });
        at = end;
    }
    reading
}

/// The first byte that is no part of a valid character.
fn first_invalid(encoding: &Encoding, input: &[u8]) -> Option<usize> {
    let nul = input.iter().position(|&byte| byte == 0);
    let invalid = match encoding {
        Encoding::AnyByte => None,
        Encoding::Utf8 => std::str::from_utf8(input).err().map(|error| error.valid_up_to()),
        Encoding::Table(table) => input.iter().position(|&byte| byte >= 0x80 && table[usize::from(byte)].is_empty()),
    };
    nul.into_iter().chain(invalid).min()
}

/// The length of the line at the start of `rest`, its line end included, and the line ends inside quotes that COPY
/// counts; `None` where COPY finds an error.
fn line(syntax: &Syntax, rest: &[u8]) -> Option<(usize, u32)> {
    let (mut in_quotes, mut is_escaped, mut inner) = (false, false, 0);
    for (at, &byte) in rest.iter().enumerate() {
        // Doubled quotes close and open again; only another escape needs to be remembered.
        let is_escape = byte == syntax.escape && syntax.escape != syntax.quote;
        if in_quotes && is_escape {
            is_escaped = !is_escaped;
        }
        if byte == syntax.quote && !is_escaped {
            in_quotes = !in_quotes;
        }
        if !is_escape {
            is_escaped = false;
        }
        if in_quotes {
            let counted = if syntax.line_end == LineEnd::Lf { b'\n' } else { b'\r' };
            inner += u32::from(byte == counted);
        } else if byte == b'\n' || byte == b'\r' {
            let is_line_end = rest[at..].starts_with(syntax.line_end.bytes());
            return is_line_end.then_some((at + syntax.line_end.bytes().len(), inner));
        }
    }
    (!in_quotes).then_some((rest.len(), inner))
}

/// Whether a line of a file has a line end, which the last one may lack.
fn ends_with_line_end(syntax: &Syntax, line: &[u8]) -> bool {
    // A quoted line end at the very end would be followed by its closing quote.
    line.ends_with(syntax.line_end.bytes())
}

/// The fields of a line without its line end.
fn fields(syntax: &Syntax, line: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let start = at;
        let mut field = Field { raw: Vec::new(), content: Vec::new(), has_quote: false };
        let mut in_quotes = false;
        while at < line.len() && (in_quotes || line[at] != syntax.delimiter) {
            let byte = line[at];
            let next = line.get(at + 1).copied();
            if in_quotes && byte == syntax.escape && (next == Some(syntax.escape) || next == Some(syntax.quote)) {
                field.content.extend(next);
                at += 2;
            } else if byte == syntax.quote {
                in_quotes = !in_quotes;
                field.has_quote = true;
                at += 1;
            } else {
                field.content.push(byte);
                at += 1;
            }
        }
        field.raw = line[start..at].to_vec();
        fields.push(field);
        if at == line.len() {
            return fields;
        }
        at += 1;
    }
}
