//! Finds out a file's line end as COPY does: the first one outside quotes fixes it.
//!
//! The file is scanned as if its line end were CR. Then the first event of interest is either a record's end, which is
//! a carriage return that may turn out to start a CRLF, or a stray, which is a line feed. A comment on the first line
//! ends with that line, whatever quotes it holds, so it is scanned as if there were none.

use super::{Block, Level, Scanner, Sink, State};
use crate::dialect::{Dialect, LineEnd};

/// How many bytes are scanned before looking whether the answer was among them. First records are short.
const STEP: usize = 4096;

/// Takes a file's bytes in pieces until its line end is known.
#[derive(Clone, Debug)]
pub struct LineEndFinder {
    dialect: Dialect,
    level: Level,
    scanner: Scanner,
    state: State,
    /// A carriage return was the last byte so far, and the next one decides.
    carriage_return: bool,
}

impl LineEndFinder {
    /// A finder at the start of a file; the dialect's own line end does not matter.
    pub fn new(dialect: &Dialect, level: Level) -> LineEndFinder {
        let dialect = dialect.with_line_end(LineEnd::Cr);
        LineEndFinder {
            scanner: Scanner::new(&dialect, level),
            dialect,
            level,
            state: State::at_record(0),
            carriage_return: false,
        }
    }

    /// Takes the next bytes. `None` means that more are needed.
    pub fn push(&mut self, bytes: &[u8]) -> Option<LineEnd> {
        if self.state.position() == 0 && bytes.first().copied() == self.dialect.comment() {
            self.start_in_comment();
        }
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if self.carriage_return {
                return Some(if first == b'\n' { LineEnd::CrLf } else { LineEnd::Cr });
            }
            let start = self.state.position();
            let (step, _) = rest.split_at(STEP.min(rest.len()));
            let mut end = FirstRecord(None);
            self.scanner.scan(&mut self.state, step, &mut end);
            let line_feed = self.state.stray().map(|position| (position - start) as usize);
            match (end.0, line_feed) {
                (Some(end), line_feed) if line_feed.is_none_or(|line_feed| end < line_feed) => {
                    self.carriage_return = true;
                    rest = &rest[end + 1..];
                }
                (_, Some(_)) => return Some(LineEnd::Lf),
                _ => rest = &rest[step.len()..],
            }
        }
        None
    }

    fn start_in_comment(&mut self) {
        let unquoted = Dialect::builder().delimiter(self.dialect.delimiter()).quote(None).line_end(LineEnd::Cr);
        let dialect = unquoted.build().expect("a valid dialect is valid without its quote");
        self.scanner = Scanner::new(&dialect, self.level);
    }

    /// The answer at the end of the input: `None` if no line end stands outside quotes.
    pub fn finish(self) -> Option<LineEnd> {
        self.carriage_return.then_some(LineEnd::Cr)
    }
}

/// The offset of the first record end in a buffer.
struct FirstRecord(Option<usize>);

impl Sink for FirstRecord {
    #[inline(always)]
    fn block(&mut self, offset: usize, block: Block) {
        if block.records != 0 && self.0.is_none() {
            self.0 = Some(offset + block.records.trailing_zeros() as usize);
        }
    }
}
