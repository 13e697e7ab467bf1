//! From record to record through a file: where the next one starts, and what COPY's counter says there.
//!
//! The backend walks beside PostgreSQL's own parser: at a file's start, to learn its line end and where the first
//! record behind the header lies; and when a segment is read again, to know the place of each record without asking the
//! parser. A step costs the scan of one record. Memory is bounded, however long a record is.

use std::io;

use crate::dialect::{Dialect, LineEnd};
use crate::locate::Checkpoint;
use crate::pipeline::{ReadAt, patiently};
use crate::scan::{Block, Level, LineEndFinder, Scanner, Sink, State};
use crate::split::first_record_end;

/// Bytes read at once.
const READ: usize = 64 * 1024;

/// A walk over a file's records.
#[derive(Debug)]
pub struct Walker {
    dialect: Dialect,
    level: Level,
    /// The scan for a line end, kept from step to step.
    scanner: Option<(LineEnd, Scanner)>,
    at: Checkpoint,
    size: u64,
    buffer: Vec<u8>,
    /// The offset of the buffer's first byte.
    from: u64,
}

impl Walker {
    /// A walk that starts at a record, through a file of that size. The dialect's own line end does not matter.
    pub fn new(dialect: &Dialect, level: Level, at: Checkpoint, size: u64) -> Walker {
        Walker { dialect: dialect.clone(), level, scanner: None, at, size, buffer: Vec::new(), from: 0 }
    }

    /// The file has this size now, which is not less than before.
    pub fn grow(&mut self, size: u64) {
        self.size = size;
    }

    /// Where the walk is: at the start of a record, or at the file's end.
    pub fn at(&self) -> Checkpoint {
        self.at
    }

    /// Goes to the next record; false if there is none, and the walk then is at the file's end. A record that the end
    /// of the file cuts off, even inside quotes, is one.
    ///
    /// # Errors
    /// Those of reading. A file that ends before its size counts as [`io::ErrorKind::UnexpectedEof`].
    pub fn step(&mut self, file: &dyn ReadAt) -> io::Result<bool> {
        if self.at.byte >= self.size {
            return Ok(false);
        }
        let is_first = self.at.line_end.is_none();
        if is_first {
            self.at.line_end = self.find_line_end(file)?;
        }
        // A file without a line end outside quotes is one record; any style finds that out.
        let line_end = self.at.line_end.unwrap_or(LineEnd::Lf);
        let (end, counts) = self.find_end(file, line_end, is_first)?;
        self.at.byte = end;
        self.at.line += counts.lines;
        self.at.record += 1;
        self.at.number += 1 + counts.inner;
        Ok(true)
    }

    fn find_line_end(&mut self, file: &dyn ReadAt) -> io::Result<Option<LineEnd>> {
        let mut finder = LineEndFinder::new(&self.dialect, self.level);
        let mut position = self.at.byte;
        while position < self.size {
            let bytes = self.bytes(file, position)?;
            position += bytes.len() as u64;
            if let Some(line_end) = finder.push(bytes) {
                return Ok(Some(line_end));
            }
        }
        Ok(finder.finish())
    }

    /// The end of the record, and what is counted in it.
    fn find_end(&mut self, file: &dyn ReadAt, line_end: LineEnd, is_first: bool) -> io::Result<(u64, Counts)> {
        let known = self.scanner.take().filter(|(known, _)| *known == line_end);
        let scanner = match known {
            Some((_, scanner)) => scanner,
            None => Scanner::new(&self.dialect.with_line_end(line_end), self.level),
        };
        let found = self.scan_to_end(file, &scanner, line_end, is_first);
        self.scanner = Some((line_end, scanner));
        found
    }

    fn scan_to_end(
        &mut self,
        file: &dyn ReadAt,
        scanner: &Scanner,
        line_end: LineEnd,
        is_first: bool,
    ) -> io::Result<(u64, Counts)> {
        let mut state = State::at_record(self.at.byte);
        let mut counts = Counts::default();
        loop {
            let position = state.position();
            if position >= self.size {
                return Ok((self.size, counts));
            }
            let bytes = self.bytes(file, position)?;
            let end = first_record_end(scanner, state, bytes, 0);
            let length = end.map_or(bytes.len(), |end| (end + 1 - position) as usize);
            let mut sink = CountInner { counts: &mut counts, line_end, is_first };
            scanner.scan(&mut state, &bytes[..length], &mut sink);
            if end.is_some() {
                return Ok((state.position(), counts));
            }
        }
    }

    /// Some of the file's bytes from a position on, at least one.
    fn bytes(&mut self, file: &dyn ReadAt, position: u64) -> io::Result<&[u8]> {
        if position < self.from || position >= self.from + self.buffer.len() as u64 {
            let length = READ.min((self.size - position) as usize);
            self.buffer.try_reserve(length.saturating_sub(self.buffer.len()))?;
            self.buffer.resize(length, 0);
            self.from = position;
            let length = match patiently(|| file.read_at(&mut self.buffer, position)) {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                other => other,
            };
            self.buffer.truncate(*length.as_ref().unwrap_or(&0));
            length?;
        }
        Ok(&self.buffer[(position - self.from) as usize..])
    }
}

/// What is counted in a record.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Physical line ends.
    lines: u64,
    /// Bytes inside quotes that COPY counts.
    inner: u64,
}

struct CountInner<'c> {
    counts: &'c mut Counts,
    line_end: LineEnd,
    /// Whether COPY does not know the line end yet, and counts carriage returns whatever it will turn out to be.
    is_first: bool,
}

impl Sink for CountInner<'_> {
    #[inline(always)]
    fn block(&mut self, _offset: usize, block: Block) {
        let is_line_feed = self.line_end.line_byte() == b'\n';
        let lines = if is_line_feed { block.line_feeds } else { block.carriage_returns };
        // In a file of LF a carriage return outside quotes is an error, so all of a good record's are inside.
        let inner = if self.is_first && self.line_end == LineEnd::Lf { block.carriage_returns } else { block.inner };
        self.counts.lines += u64::from(lines.count_ones());
        self.counts.inner += u64::from(inner.count_ones());
    }
}
