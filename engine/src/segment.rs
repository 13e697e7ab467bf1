//! Segments: a stream, whose next byte comes only after its last, is cut into whole records.
//!
//! One [`Cutter`] reads the bytes as they come and looks for the ends of records. It knows quotes and line ends and
//! nothing of columns, in every dialect that the structure scan knows. A segment has about so many bytes as were asked
//! for; it is larger where a single record is, and smaller where the input is dry and nobody has anything else to do.
//!
//! Each segment comes with a few bytes of what follows it ([`LOOK_AHEAD`]): COPY looks at the character behind a
//! carriage return, and prints the bytes of a bad character even past the line's end. So a byte is looked at only when
//! so many are there behind it, or the input has ended.
//!
//! A record that is longer than a thread may hold ends the cutting: what is there of it goes out [raw](Content::Raw),
//! and whoever gets it reads the rest of the stream too. So does what is left behind the last whole record of a stream
//! that is broken off.

use std::io::{self, Read};

use crate::byte_ring;
use crate::dialect::LineEnd;
use crate::ring::Outcome;
use crate::scan::{Block, Scanner, Sink, State};
use crate::tuple::OutOfMemory;

/// Bytes behind a segment that come with it: the longest character of any encoding.
pub(crate) const LOOK_AHEAD: usize = 4;

/// One piece of a stream.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Its place in the stream.
    pub(crate) ticket: u64,
    /// The offset of its first byte in the whole input.
    pub(crate) start: u64,
    /// Its bytes and those that follow.
    pub(crate) bytes: Vec<u8>,
    /// Bytes that are its own. In the last segment a line end that was missing follows them.
    pub(crate) length: usize,
    /// Bytes that are the input's: its own and the look-ahead, but no line end that was missing.
    pub(crate) genuine: usize,
    /// Whether the input ends with it, or nothing more of it is cut.
    pub(crate) is_last: bool,
    pub(crate) content: Content,
}

/// What a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Whole records; in the last segment the input may end inside one.
    Records,
    /// The beginning of a record that is too long to be parsed here, or of one that others get the end of.
    Raw,
    /// Nothing: the input could not be read on.
    Failure(Outcome, i32),
}

/// Cuts one stream.
#[derive(Debug)]
pub(crate) struct Cutter {
    scanner: Scanner,
    line_end: LineEnd,
    segment_size: usize,
    longest_record: usize,
    ticket: u64,
    /// The offset of the buffer's first byte, where a record starts.
    start: u64,
    buffer: Vec<u8>,
    /// Bytes to have in the buffer before it is looked at.
    wanted: usize,
    /// Bytes of the buffer that were scanned, up to `state`.
    scanned: usize,
    state: State,
    /// The offset in the buffer behind the last whole record that was seen.
    end: usize,
    is_at_end: bool,
    is_broken_off: bool,
}

/// What came of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// Some bytes.
    Bytes,
    /// No bytes now.
    Nothing,
    /// The input's end, or the end of what comes here.
    End,
}

impl Cutter {
    /// A cutter of a stream whose byte `start`, where a record starts, comes first.
    pub(crate) fn new(
        scanner: &Scanner,
        line_end: LineEnd,
        start: u64,
        segment_size: usize,
        longest_record: usize,
    ) -> Cutter {
        let segment_size = segment_size.max(1);
        Cutter {
            scanner: scanner.clone(),
            line_end,
            segment_size,
            longest_record: longest_record.max(segment_size),
            ticket: 0,
            start,
            buffer: Vec::new(),
            wanted: segment_size + LOOK_AHEAD,
            scanned: 0,
            state: State::at_record(start),
            end: 0,
            is_at_end: false,
            is_broken_off: false,
        }
    }

    /// The bytes of memory that the buffer holds.
    pub(crate) fn memory(&self) -> usize {
        self.buffer.capacity()
    }

    /// Reads once, as far as the buffer wants.
    ///
    /// # Errors
    /// Those of the input; [`io::ErrorKind::OutOfMemory`].
    pub(crate) fn read(&mut self, input: &mut dyn Read) -> io::Result<Came> {
        let have = self.buffer.len();
        if have < self.wanted {
            self.buffer.try_reserve_exact(self.wanted - have).map_err(|_| io::ErrorKind::OutOfMemory)?;
            self.buffer.resize(self.wanted, 0);
        }
        let read = input.read(&mut self.buffer[have..]);
        self.buffer.truncate(have + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => {
                self.is_at_end = true;
                Ok(Came::End)
            }
            Ok(_) => Ok(Came::Bytes),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Came::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Came::Bytes),
            Err(error) if error.kind() == byte_ring::IS_BROKEN_OFF => {
                self.is_broken_off = true;
                Ok(Came::End)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether there is anything that a segment could be cut from before more has come.
    pub(crate) fn has_records(&mut self) -> bool {
        self.look();
        self.end > 0
    }

    /// The next segment, if there is one: when enough has come, or whatever is there if `now`. `spare` is memory for
    /// the next one's bytes.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(crate) fn cut(&mut self, now: bool, spare: &mut Vec<u8>) -> Result<Option<Segment>, OutOfMemory> {
        let must_wait = !now && !self.is_at_end && !self.is_broken_off;
        if must_wait && self.buffer.len() < self.wanted {
            return Ok(None);
        }
        self.look();
        if self.is_at_end {
            return self.cut_last(spare).map(Some);
        }
        if self.end > 0 {
            return self.cut_at_end(spare).map(Some);
        }
        if self.is_broken_off || self.buffer.len() > self.longest_record {
            return Ok(Some(self.segment(Content::Raw, self.buffer.len(), self.buffer.len(), Vec::new())));
        }
        if self.buffer.len() >= self.wanted {
            let more = (2 * self.wanted).max(self.buffer.len() + 1);
            self.wanted = more.min(self.longest_record + LOOK_AHEAD);
        }
        Ok(None)
    }

    /// A segment that only tells why there are no more.
    pub(crate) fn failure(&mut self, outcome: Outcome, errno: i32) -> Segment {
        self.buffer.clear();
        self.segment(Content::Failure(outcome, errno), 0, 0, Vec::new())
    }

    /// Scans what came since the last look.
    fn look(&mut self) {
        let upto = if self.is_at_end { self.buffer.len() } else { self.buffer.len().saturating_sub(LOOK_AHEAD) };
        if upto > self.scanned {
            let mut last = LastEnd(None);
            self.scanner.scan(&mut self.state, &self.buffer[self.scanned..upto], &mut last);
            if let Some(end) = last.0 {
                self.end = self.scanned + end + 1;
            }
            self.scanned = upto;
        }
    }

    /// All whole records that were seen.
    fn cut_at_end(&mut self, spare: &mut Vec<u8>) -> Result<Segment, OutOfMemory> {
        let length = self.end;
        let rest = &self.buffer[length..];
        let mut next = std::mem::take(spare);
        next.clear();
        next.try_reserve_exact(rest.len().max(self.segment_size + LOOK_AHEAD)).map_err(|_| OutOfMemory)?;
        next.extend_from_slice(rest);
        let genuine = length + LOOK_AHEAD;
        self.buffer.truncate(genuine);
        let scanned = self.scanned - length;
        let segment = self.segment(Content::Records, length, genuine, next);
        (self.scanned, self.start) = (scanned, self.start + length as u64);
        Ok(segment)
    }

    /// All there is, with the line end that is missing.
    fn cut_last(&mut self, spare: &mut Vec<u8>) -> Result<Segment, OutOfMemory> {
        let length = self.buffer.len();
        if self.end < length {
            let line_end = self.line_end.bytes();
            self.buffer.try_reserve_exact(line_end.len()).map_err(|_| OutOfMemory)?;
            self.buffer.extend_from_slice(line_end);
        }
        Ok(Segment { is_last: true, ..self.segment(Content::Records, length, length, std::mem::take(spare)) })
    }

    /// The buffer as a segment; what is left goes on in `next`.
    fn segment(&mut self, content: Content, length: usize, genuine: usize, next: Vec<u8>) -> Segment {
        let bytes = std::mem::replace(&mut self.buffer, next);
        let (ticket, start, is_last) = (self.ticket, self.start, content != Content::Records);
        self.ticket += 1;
        (self.wanted, self.end) = (self.segment_size + LOOK_AHEAD, 0);
        Segment { ticket, start, bytes, length, genuine, is_last, content }
    }
}

/// Where the last record of a buffer ends.
struct LastEnd(Option<usize>);

impl Sink for LastEnd {
    #[inline(always)]
    fn block(&mut self, offset: usize, block: Block) {
        if block.records != 0 {
            self.0 = Some(offset + block.records.ilog2() as usize);
        }
    }
}
