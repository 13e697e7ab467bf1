//! Where in a file a line number of COPY's is.
//!
//! COPY's messages count lines in a way of their own: the counter starts at 0, goes up by one when a record (the header
//! included) is begun, and again for line-end bytes inside quotes: line feeds in a file of LF, carriage returns in
//! files of CRLF and CR, and carriage returns only as long as no line end outside quotes has shown the file's style. So
//! every record owns an interval of numbers, these intervals tile, and each number belongs to exactly one record, whose
//! true place is what [`Locator`] finds. If the input ends inside quotes, its last record owns all later numbers.
//!
//! The file is scanned in steps with a sink that counts. A step in which nothing is decided, which is nearly all of
//! them, is one call of the scan; the one step with the wanted event is halved until the event's byte is found. While
//! the style is unknown the scan takes it to be CR, which counts what COPY counts then (compare
//! [`LineEndFinder`](crate::scan::LineEndFinder)). Memory is bounded: nothing of the file is kept.
//!
//! Stray line ends, where COPY stops with an error, are data here, so numbers up to that error are exact.
//! COPY's text format is a dialect without quotes whose escape is the backslash.

use std::io::{self, Read};

use crate::dialect::{Dialect, LineEnd};
use crate::scan::{Block, Level, Scanner, Sink, State};

/// Bytes scanned at once: long enough that a step costs its bytes, short enough that the step with the target, which is
/// scanned about three times, costs nothing.
const STEP: usize = 16 * 1024;

/// Bytes read at once.
const READ: usize = 256 * 1024;

/// Bytes between two questions whether to go on: a fraction of a millisecond of scanning.
const ASK: usize = 1024 * 1024;

/// A place at the start of a record from which the search can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The offset of the record's first byte in the file, 0-based.
    pub byte: u64,
    /// The physical line on which the record starts, 1-based.
    pub line: u64,
    /// The record's number, 1-based, the header counted.
    pub record: u64,
    /// COPY's number for the record's beginning: one more than COPY's counter before it. At the file's start 1.
    pub number: u64,
    /// The file's line end, if one was seen before the record. Only at the file's start may it be unknown.
    pub line_end: Option<LineEnd>,
}

impl Checkpoint {
    /// The start of a file.
    pub const START: Checkpoint = Checkpoint { byte: 0, line: 1, record: 1, number: 1, line_end: None };
}

/// A record's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The physical line on which the record starts, 1-based, as an editor counts: line feeds in files of LF and CRLF,
    /// carriage returns in files of CR, quoted or not.
    pub line: u64,
    /// The record's number, 1-based, the header counted.
    pub record: u64,
    /// The offset of the record's first byte in the file, 0-based.
    pub byte: u64,
    /// The offset just past the record's line end, or of the end of the input.
    pub end: u64,
    /// The field that is still inside quotes at the end of the input.
    pub open_quote: Option<OpenQuote>,
}

/// Where a field that never ends opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenQuote {
    /// The physical line of the field's first quote, 1-based. If no line end of the input stands outside quotes, line
    /// feeds are counted if there are any before the quote, else carriage returns.
    pub line: u64,
    /// The offset of the field's first quote in the file, 0-based.
    pub byte: u64,
}

/// Whether a [`Locator`] needs more of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The record, or its end, is not among the bytes so far.
    More,
    /// The answer is known; more bytes change nothing.
    Done,
}

/// What [`locate`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Located {
    /// The record that owns the number.
    Found(Place),
    /// No record of the input, from the checkpoint on, owns the number.
    Beyond,
    /// The caller did not want to go on.
    Stopped,
}

/// Reads the input, which stands at the checkpoint's byte, up to the end of the record that owns COPY's line number
/// `copy_line`. `keep_going` is asked about once in a MiB.
///
/// # Errors
/// Those of reading the input.
pub fn locate(
    input: &mut impl Read,
    dialect: &Dialect,
    from: Checkpoint,
    copy_line: u64,
    keep_going: &mut dyn FnMut() -> bool,
) -> io::Result<Located> {
    search(input, Locator::new(dialect, Level::detect(), from, copy_line), false, keep_going)
}

/// As [`locate`], but reads only up to the start of the record, whose end and open quote are then not told. A record
/// that never ends would be read to the end of the input.
///
/// # Errors
/// As for [`locate`].
pub fn locate_start(
    input: &mut impl Read,
    dialect: &Dialect,
    from: Checkpoint,
    copy_line: u64,
    keep_going: &mut dyn FnMut() -> bool,
) -> io::Result<Located> {
    search(input, Locator::new(dialect, Level::detect(), from, copy_line), true, keep_going)
}

fn search(
    input: &mut impl Read,
    mut locator: Locator,
    start_is_enough: bool,
    keep_going: &mut dyn FnMut() -> bool,
) -> io::Result<Located> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(READ)?;
    buffer.resize(READ, 0);
    let mut unasked = 0;
    loop {
        let length = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if locator.push(&buffer[..length]) == Progress::Done {
            break;
        }
        if start_is_enough && let Some(place) = locator.start() {
            return Ok(Located::Found(place));
        }
        unasked += length;
        if unasked >= ASK {
            unasked = 0;
            if !keep_going() {
                return Ok(Located::Stopped);
            }
        }
    }
    Ok(locator.finish().map_or(Located::Beyond, Located::Found))
}

/// The search, fed with the input in pieces of any size.
#[derive(Clone, Debug)]
pub struct Locator {
    dialect: Dialect,
    level: Level,
    from: Checkpoint,
    wanted: u64,
    line_end: Option<LineEnd>,
    /// The file's first line end outside quotes has begun with a carriage return; the next byte tells the style.
    after_cr: bool,
    scanner: Scanner,
    state: State,
    track: Track,
    found: Option<Place>,
}

impl Locator {
    /// A search for the record that owns COPY's line number `copy_line`. Of the dialect, everything counts except the
    /// line end, which is the checkpoint's or found out; it has COPY's quoting rule and no comments.
    pub fn new(dialect: &Dialect, level: Level, from: Checkpoint, copy_line: u64) -> Locator {
        let line_end = from.line_end;
        Locator {
            dialect: dialect.clone(),
            level,
            from,
            wanted: copy_line,
            line_end,
            after_cr: false,
            scanner: Scanner::new(&dialect.with_line_end(line_end.unwrap_or(LineEnd::Cr)), level),
            state: State::at_record(from.byte),
            track: Track::new(from),
            found: None,
        }
    }

    /// Takes the next bytes of the input.
    pub fn push(&mut self, bytes: &[u8]) -> Progress {
        let mut rest = bytes;
        let mut size = STEP;
        while !rest.is_empty() {
            if self.after_cr {
                rest = self.after_carriage_return(rest);
                continue;
            }
            if self.is_done() {
                return Progress::Done;
            }
            let (step, after) = rest.split_at(size.min(rest.len()));
            let (mut state, mut track) = (self.state, self.track);
            self.scanner.scan(&mut state, step, &mut track);
            if !self.decides(&state, &track) {
                (self.state, self.track) = (state, track);
                rest = after;
            } else if step.len() > 1 {
                size = step.len() / 2;
            } else {
                self.event(state, track);
                rest = after;
                size = STEP;
            }
        }
        if self.is_done() { Progress::Done } else { Progress::More }
    }

    /// The record's place without its end and open quote, once its first byte has been pushed.
    pub fn start(&self) -> Option<Place> {
        let begun = self.state.position() > self.track.start.byte;
        let is_there = begun && !self.after_cr && self.wanted >= self.from.number && self.is_in_target();
        self.found.or_else(|| is_there.then(|| self.place(self.state.position())))
    }

    /// The record's place; the input ends here, unless the search was done before.
    pub fn finish(self) -> Option<Place> {
        if self.found.is_some() || self.wanted < self.from.number {
            return self.found;
        }
        let in_quotes = self.state.in_quotes();
        let begun = self.state.position() > self.track.start.byte;
        let owns_number = in_quotes || (begun && self.is_in_target());
        if !owns_number {
            return None;
        }
        // A stray line end is where COPY stops, so quotes behind it are of no matter.
        let is_open = in_quotes && self.state.stray().is_none();
        let open_quote = self.track.open.filter(|_| is_open);
        let open_quote = open_quote.map(|quote| OpenQuote { line: self.line(quote), byte: quote.byte });
        Some(Place { open_quote, ..self.place(self.state.position()) })
    }

    fn is_done(&self) -> bool {
        (self.found.is_some() && !self.after_cr) || self.wanted < self.from.number
    }

    /// Whether the record being read owns the number.
    fn is_in_target(&self) -> bool {
        self.track.number >= self.wanted
    }

    /// Whether a step led to a state and a track that must not be taken over without looking at its single bytes.
    fn decides(&self, state: &State, track: &Track) -> bool {
        let record_ended = track.record != self.track.record;
        let shows_style = self.line_end.is_none() && (record_ended || state.stray().is_some());
        let arrives = if self.is_in_target() { record_ended } else { track.number >= self.wanted };
        shows_style || arrives
    }

    /// Takes over the step of the one byte that decides something.
    fn event(&mut self, state: State, mut track: Track) {
        let mut line_end_seen = track.record != self.track.record;
        if self.line_end.is_none() {
            if line_end_seen {
                self.after_cr = true;
            } else if state.stray().is_some() {
                line_end_seen = true;
                track.end_record(state.position());
            }
        }
        if line_end_seen && self.is_in_target() {
            self.found = Some(self.place(state.position()));
        }
        (self.state, self.track) = (state, track);
        if line_end_seen && self.line_end.is_none() && !self.after_cr {
            self.know(LineEnd::Lf);
        }
    }

    /// The byte after the carriage return of the file's first line end: a line feed still belongs to it.
    fn after_carriage_return<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        self.after_cr = false;
        let Some(rest) = bytes.strip_prefix(b"\n") else {
            self.know(LineEnd::Cr);
            return bytes;
        };
        self.track.line_feeds += 1;
        self.track.start = self.track.spot(self.state.position() + 1);
        self.state = State::at_record(self.state.position() + 1);
        if let Some(place) = &mut self.found {
            place.end += 1;
        }
        self.know(LineEnd::CrLf);
        rest
    }

    /// The file's style is known, at the start of the second record.
    fn know(&mut self, line_end: LineEnd) {
        self.line_end = Some(line_end);
        self.scanner = Scanner::new(&self.dialect.with_line_end(line_end), self.level);
        self.state = State::at_record(self.state.position());
    }

    /// The place of the record being read, if it ends at `end`.
    fn place(&self, end: u64) -> Place {
        let start = self.track.start;
        Place { line: self.line(start), record: self.track.record, byte: start.byte, end, open_quote: None }
    }

    /// The physical line of a spot.
    fn line(&self, spot: Spot) -> u64 {
        let lines = match self.line_end {
            Some(line_end) if line_end.line_byte() == b'\n' => spot.line_feeds,
            None if spot.line_feeds > 0 => spot.line_feeds,
            _ => spot.carriage_returns,
        };
        self.from.line + lines
    }
}

/// A byte of the file with the line-end bytes between the checkpoint and it.
#[derive(Clone, Copy, Debug)]
struct Spot {
    byte: u64,
    line_feeds: u64,
    carriage_returns: u64,
}

/// What is counted while scanning.
#[derive(Clone, Copy, Debug)]
struct Track {
    /// COPY's number at this point of the current record.
    number: u64,
    /// The current record, 1-based.
    record: u64,
    /// Where it starts.
    start: Spot,
    /// The first quote of the current field.
    open: Option<Spot>,
    /// Line feeds since the checkpoint.
    line_feeds: u64,
    /// Carriage returns since the checkpoint.
    carriage_returns: u64,
    /// The position of the buffer being scanned.
    base: u64,
}

impl Track {
    fn new(from: Checkpoint) -> Track {
        let start = Spot { byte: from.byte, line_feeds: 0, carriage_returns: 0 };
        Track {
            number: from.number,
            record: from.record,
            start,
            open: None,
            line_feeds: 0,
            carriage_returns: 0,
            base: from.byte,
        }
    }

    /// The spot at `byte`, with all that was counted so far before it.
    fn spot(&self, byte: u64) -> Spot {
        Spot { byte, line_feeds: self.line_feeds, carriage_returns: self.carriage_returns }
    }

    /// The next record starts at `byte`, and nothing was counted behind it yet.
    fn end_record(&mut self, byte: u64) {
        self.number += 1;
        self.record += 1;
        self.start = self.spot(byte);
        self.open = None;
    }

    /// The spot at a bit of a block that is not counted yet.
    #[inline(always)]
    fn spot_in(&self, offset: usize, block: &Block, bit: u32) -> Spot {
        let before = !(u64::MAX << bit);
        Spot {
            byte: self.base + offset as u64 + u64::from(bit),
            line_feeds: self.line_feeds + u64::from((block.line_feeds & before).count_ones()),
            carriage_returns: self.carriage_returns + u64::from((block.carriage_returns & before).count_ones()),
        }
    }
}

impl Sink for Track {
    #[inline(always)]
    fn begin(&mut self, position: u64, _length: usize) {
        self.base = position;
    }

    #[inline(always)]
    fn block(&mut self, offset: usize, block: Block) {
        if block.records != 0 {
            let last = self.spot_in(offset, &block, block.records.ilog2());
            // The record starts one byte later, and the byte between is the line end itself.
            let is_line_feed = block.line_feeds >> block.records.ilog2() & 1;
            self.start = Spot {
                byte: last.byte + 1,
                line_feeds: last.line_feeds + is_line_feed,
                carriage_returns: last.carriage_returns + (1 - is_line_feed),
            };
        }
        let mut opens = block.opens;
        if block.ends != 0 {
            self.open = None;
            opens &= u64::MAX.checked_shl(block.ends.ilog2() + 1).unwrap_or(0);
        }
        if opens != 0 && self.open.is_none() {
            self.open = Some(self.spot_in(offset, &block, opens.trailing_zeros()));
        }
        let records = u64::from(block.records.count_ones());
        self.record += records;
        self.number += records + u64::from(block.inner.count_ones());
        self.line_feeds += u64::from(block.line_feeds.count_ones());
        self.carriage_returns += u64::from(block.carriage_returns.count_ones());
    }
}
