//! Beside a parser that reads a stream: where each record starts, though the bytes cannot be read again.
//!
//! Whoever hands bytes to the parser hands them to the [`Trail`] too, and tells it of each record that the parser has
//! taken. The trail keeps the bytes from the start of the record being read on, which are few: what the parser has
//! buffered. So the place of an error can be found as in a file, and the bytes behind the last record that was taken
//! can be given to somebody else.
//!
//! A record may be longer than is good for memory. Then the bytes are let go: what is known of that record is its
//! start, and behind it nothing.

use std::io;

use crate::dialect::Dialect;
use crate::locate::{Checkpoint, Locator, Place};
use crate::pipeline::ReadAt;
use crate::scan::Level;
use crate::walk::Walker;

/// Bytes of taken records that may lie before the others until they are cleared away: as many again are moved then.
const LITTER: usize = 128 * 1024;

/// The trail of one parser.
#[derive(Debug)]
pub struct Trail {
    dialect: Dialect,
    level: Level,
    walker: Walker,
    window: Window,
    limit: usize,
    known: Known,
}

/// What is known of the record being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Where it starts, and all bytes from there on.
    Bytes,
    /// Where it starts.
    Start,
    Nothing,
}

/// The bytes that are kept.
#[derive(Debug)]
struct Window {
    /// The offset of the first.
    from: u64,
    bytes: Vec<u8>,
}

impl ReadAt for Window {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.bytes.get((offset - self.from) as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

impl Trail {
    /// The trail of a parser that starts at a record. At most `limit` bytes are kept of what is not taken.
    pub fn new(dialect: &Dialect, level: Level, at: Checkpoint, limit: usize) -> Trail {
        Trail {
            dialect: dialect.clone(),
            level,
            walker: Walker::new(dialect, level, at, at.byte),
            window: Window { from: at.byte, bytes: Vec::new() },
            limit,
            known: Known::Bytes,
        }
    }

    /// These bytes are handed to the parser.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.known != Known::Bytes {
            return;
        }
        let taken = (self.walker.at().byte - self.window.from) as usize;
        let kept = self.window.bytes.len() - taken + bytes.len();
        if kept > self.limit || self.window.bytes.try_reserve(bytes.len()).is_err() {
            self.window.bytes = Vec::new();
            // The first record may be a header, which the parser takes without a word.
            self.known = if self.walker.at().record > 1 { Known::Start } else { Known::Nothing };
            return;
        }
        self.window.bytes.extend_from_slice(bytes);
        self.walker.grow(self.window.from + self.window.bytes.len() as u64);
    }

    /// The parser has taken a record, the last byte of which was handed to it.
    pub fn step(&mut self) {
        let stepped = self.known == Known::Bytes && self.walker.step(&self.window).unwrap_or(false);
        if !stepped {
            self.known = Known::Nothing;
            return;
        }
        let taken = (self.walker.at().byte - self.window.from) as usize;
        if taken >= LITTER {
            self.window.bytes.drain(..taken);
            self.window.from += taken as u64;
        }
    }

    /// Where the record that is read next, or being read, starts.
    pub fn at(&self) -> Option<Checkpoint> {
        (self.known != Known::Nothing).then(|| self.walker.at())
    }

    /// The bytes handed over from there on.
    pub fn rest(&self) -> Option<&[u8]> {
        let taken = (self.walker.at().byte - self.window.from) as usize;
        (self.known == Known::Bytes).then(|| &self.window.bytes[taken..])
    }

    /// The place of the record that owns COPY's line number, which is the one being read, or about to be.
    pub fn place(&self, copy_line: u64) -> Option<Place> {
        let at = self.at()?;
        let Some(rest) = self.rest() else {
            return Some(Place { line: at.line, record: at.record, byte: at.byte, end: at.byte, open_quote: None });
        };
        let mut locator = Locator::new(&self.dialect, self.level, at, copy_line);
        locator.push(rest);
        locator.finish()
    }
}
