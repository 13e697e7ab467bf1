//! A file that can be read at any offset: each thread claims the next range, finds its true start and parses it.
//!
//! The bytes of a range lie in the thread's own buffer, read there once ([`ReadAt::read_at`]), or where the file is
//! mapped. Reading goes on behind the range until its last record is whole, up to the longest record that is parsed
//! here.

use super::output::Output;
use super::parse::{Chunk, Parsed, Parser};
use super::source::{ReadAt, read_exact_at};
use super::tally::Tally;
use super::{Shared, Stop};
use crate::dialect::LineEnd;
use crate::job::{self, Job};
use crate::ring::{Outcome, Summary};
use crate::scan::State;
use crate::split::chain::{Chain, Note, Start};
use crate::split::{Range, Ranges, first_record_end};
use crate::sync::{AtomicU64, Ordering};
use crate::tuple::OutOfMemory;

/// Bytes read behind a range at once: most files' records are shorter, so most ranges need one read.
const LOOK_AHEAD: u64 = 16 * 1024;

/// Bytes read at once in search of where a long record ends.
const SEARCH: u64 = 256 * 1024;

/// How far behind a range its owner searches for the end of a record that is only guessed to be one, in ranges. A wrong
/// guess may read what is text as quotes, and find no end at all.
const LONGEST_GUESS: u64 = 4;

/// The file and the state of the work on it.
pub(super) struct Files {
    source: Box<dyn ReadAt>,
    ranges: Ranges,
    chain: Chain,
    next: AtomicU64,
}

impl Files {
    pub(super) fn new(job: &Job, source: Box<dyn ReadAt>) -> Files {
        let ranges = match job.input {
            job::Input::File { start, size, range_size, .. } => Ranges { start, size, range_size: range_size.max(1) },
            job::Input::Stream { .. } => panic!("a job over a stream needs a stream"),
        };
        let two_valued =
            job.syntax.dialect().is_ok_and(|dialect| dialect.class() == crate::dialect::DialectClass::TwoValued);
        let first = if two_valued { Start::Inside(false) } else { Start::At(ranges.start) };
        Files { source, ranges, chain: Chain::new(first), next: AtomicU64::new(0) }
    }

    /// Why what the threads have seen is not what the file held, if it is not.
    pub(super) fn failure(&self) -> Option<std::io::Error> {
        self.source.failure()
    }

    /// Tells threads that wait for the chain to stop.
    pub(super) fn stop(&self) {
        self.chain.stop();
    }

    /// What each thread does.
    pub(super) fn run(&self, shared: &Shared) {
        let parser = match Parser::new(shared) {
            Ok(parser) => parser,
            Err(error) => return self.give_up(shared, error.into()),
        };
        let mut owner = Owner {
            files: self,
            shared,
            parser,
            bytes: Bytes {
                source: &*self.source,
                from: 0,
                mapped: None,
                buffer: Vec::new(),
                length: 0,
                size: self.ranges.size,
                accounted: 0,
            },
            wrong_guess: false,
        };
        while let Ok(Some(index)) = self.claim(shared) {
            if owner.own(self.ranges.range(index)).is_err() {
                break;
            }
        }
        shared.account(owner.bytes.accounted, 0);
    }

    /// A thread that cannot begin says so in the place of the next range's owner.
    #[cold]
    fn give_up(&self, shared: &Shared, why: Stop) {
        if let (Ok(Some(index)), Stop::Ticket(outcome, errno)) = (self.claim(shared), why) {
            let range = self.ranges.range(index);
            self.chain.break_at(index);
            Output::begin(shared, index).finish(Summary {
                outcome,
                errno,
                start: range.low,
                end: range.low,
                is_last: range.is_last,
                ..Summary::default()
            });
        }
    }

    /// The next range nobody has claimed, once there is a slot for its ticket; `None` if there are no more.
    ///
    /// # Errors
    /// [`Stop::Told`].
    fn claim(&self, shared: &Shared) -> Result<Option<u64>, Stop> {
        shared.wait_for(|| {
            loop {
                let index = self.next.load(Ordering::Relaxed);
                if index >= self.ranges.count() {
                    return Some(None);
                }
                if !shared.ring.has_slot(index) {
                    return None;
                }
                if self.next.compare_exchange(index, index + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    return Some(Some(index));
                }
            }
        })
    }
}

/// A thread, as the owner of one range after the other.
struct Owner<'s> {
    files: &'s Files,
    shared: &'s Shared,
    parser: Parser<'s>,
    bytes: Bytes<'s>,
    /// Whether the current range's first record does not start where it was guessed to.
    wrong_guess: bool,
}

impl Owner<'_> {
    /// Does all there is to do for a range.
    ///
    /// # Errors
    /// If everybody is to stop.
    fn own(&mut self, range: Range) -> Result<(), Stop> {
        let mut out = Output::begin(self.shared, range.index);
        let mut tally = Tally::default();
        self.wrong_guess = false;
        let worked = self.work(range, &mut tally, &mut out);
        let summary = match worked.and_then(|summary| out.publish().map(|()| summary)) {
            Ok(summary) => summary,
            Err(Stop::Told) => return Err(Stop::Told),
            Err(Stop::Ticket(outcome, errno)) => {
                // The owners behind this range may wait for its note, and there may be none.
                self.files.chain.break_at(range.index);
                Summary { outcome, errno, start: range.low, end: range.low, ..Summary::default() }
            }
        };
        out.finish(Summary { is_last: range.is_last, wrong_guess: self.wrong_guess, ..summary });
        self.files.chain.forget_before(self.shared.ring.awaited());
        match summary.outcome {
            Outcome::Plain | Outcome::Anomaly => Ok(()),
            _ => Err(Stop::Told),
        }
    }

    fn work(&mut self, range: Range, tally: &mut Tally, out: &mut Output<'_>) -> Result<Summary, Stop> {
        self.bytes.load(range.from, (range.high + LOOK_AHEAD).min(self.bytes.size))?;
        self.account();
        let start = match self.find_start(range)? {
            Some(start) => start,
            None => return Ok(Summary { start: range.high, end: range.high, ..Summary::default() }),
        };
        let summary = self.parse(range, start, tally, out)?;
        self.parser.finish(out)?;
        Ok(summary)
    }

    /// Leaves the range's note and waits for its true start; `None` if no record starts in it.
    fn find_start(&mut self, range: Range) -> Result<Option<u64>, Stop> {
        let chain = &self.files.chain;
        let scanner = &self.shared.plan.scanner;
        if scanner.is_two_valued() {
            let bytes = self.bytes.all();
            chain.note(range.index, Note::Odd(scanner.quotes_are_odd(range.parity_part(bytes))));
            return match chain.start(range.index).ok_or(Stop::Told)? {
                Start::Inside(inside) => Ok(range.first_start(scanner, self.bytes.all(), inside)),
                Start::At(_) => unreachable!("the chain of a two-valued dialect holds parities"),
            };
        }
        let guess = range.guess(self.shared.plan.line_end, self.bytes.all());
        let most = range.high.saturating_add(LONGEST_GUESS * self.files.ranges.range_size.max(SEARCH));
        let next = guess.map(|guess| self.next_start(range, guess, most)).transpose()?.flatten();
        let note = Note::Guess { start: guess.filter(|_| next.is_some()), next: next.unwrap_or(0), high: range.high };
        chain.note(range.index, note);
        let Start::At(start) = chain.start(range.index).ok_or(Stop::Told)? else {
            unreachable!("the chain of a dialect that is not two-valued holds starts")
        };
        if start >= range.high {
            return Ok(None);
        }
        if Some(start) != guess || next.is_none() {
            let next = self.next_start(range, start, u64::MAX)?.unwrap_or(self.bytes.size);
            chain.note(range.index, Note::Exact(next));
            self.wrong_guess = true;
        }
        Ok(Some(start))
    }

    /// Where the first record at or behind the range's end starts, if one starts at `start`: the file's size if there
    /// is none, `None` if it is not found before `most`.
    fn next_start(&mut self, range: Range, start: u64, most: u64) -> Result<Option<u64>, Stop> {
        let scanner = &self.shared.plan.scanner;
        let mut state = State::at_record(start);
        let found = first_record_end(scanner, state, self.bytes.from(start), range.high - 1);
        if let Some(end) = found {
            return Ok(Some(end + 1));
        }
        // The scan stopped at the buffer's end; from there on it goes through a buffer of its own.
        scanner.scan(&mut state, self.bytes.from(start), &mut Ignore);
        let mut buffer = Vec::new();
        self.shared.account(0, SEARCH as usize);
        let found = self.search(range, state, most, &mut buffer);
        self.shared.account(SEARCH as usize, 0);
        found
    }

    /// As [`Owner::next_start`], from behind what is in memory on.
    fn search(&self, range: Range, mut state: State, most: u64, buffer: &mut Vec<u8>) -> Result<Option<u64>, Stop> {
        let scanner = &self.shared.plan.scanner;
        while state.position() < self.bytes.size.min(most) {
            if self.shared.ring.is_stopped() {
                return Err(Stop::Told);
            }
            let position = state.position();
            let length = SEARCH.min(self.bytes.size - position) as usize;
            resize(buffer, length)?;
            read_exact_at(self.bytes.source, buffer, position)?;
            if let Some(end) = first_record_end(scanner, state, buffer, range.high - 1) {
                return Ok(Some(end + 1));
            }
            scanner.scan(&mut state, buffer, &mut Ignore);
        }
        Ok((state.position() >= self.bytes.size).then_some(self.bytes.size))
    }

    /// Parses the records from `start` on that start in the range.
    fn parse(&mut self, range: Range, start: u64, tally: &mut Tally, out: &mut Output<'_>) -> Result<Summary, Stop> {
        let mut position = start;
        while position < range.high {
            if self.shared.ring.is_stopped() {
                return Err(Stop::Told);
            }
            let bytes = self.bytes.from(position);
            let chunk = Chunk { bytes, base: position, limit: range.high, is_end: self.bytes.end() >= self.bytes.size };
            match self.parser.parse(chunk, tally, out)? {
                Parsed::Bytes(length) => position += length as u64,
                Parsed::Anomaly(length) => {
                    return Ok(tally.summary(start, position + length as u64, Outcome::Anomaly));
                }
                Parsed::NeedsMore => {
                    if !self.read_on(position)? {
                        return Ok(tally.summary(start, position, Outcome::Anomaly));
                    }
                }
            }
        }
        Ok(tally.summary(start, position.min(self.bytes.size), Outcome::Plain))
    }

    /// Makes more of the record at `position` available; false if that is not possible: the file ends inside quotes,
    /// or the record is too long.
    fn read_on(&mut self, position: u64) -> Result<bool, Stop> {
        if self.bytes.is_whole() {
            return Ok(false);
        }
        let have = self.bytes.end() - position;
        if self.bytes.end() == self.bytes.size {
            self.bytes.end_line(position, self.shared.plan.line_end)?;
        } else if have >= self.shared.plan.longest_record as u64 {
            return Ok(false);
        } else {
            let to = self.bytes.end() + have.max(LOOK_AHEAD);
            self.bytes.load(position, to.min(self.bytes.size))?;
        }
        self.account();
        Ok(true)
    }

    fn account(&mut self) {
        let now = self.bytes.buffer.capacity();
        self.shared.account(self.bytes.accounted, now);
        self.bytes.accounted = now;
    }
}

/// A sink that wants nothing but the state.
struct Ignore;

impl crate::scan::Sink for Ignore {
    #[inline(always)]
    fn block(&mut self, _offset: usize, _block: crate::scan::Block) {}
}

/// A piece of the file in memory.
struct Bytes<'s> {
    source: &'s dyn ReadAt,
    /// The offset of the first byte.
    from: u64,
    /// The bytes, where they lie in the mapped file.
    mapped: Option<&'s [u8]>,
    /// The bytes, where they were read. It only grows, so that it is cleared only once.
    buffer: Vec<u8>,
    /// Bytes there are.
    length: usize,
    size: u64,
    accounted: usize,
}

impl Bytes<'_> {
    /// Makes the bytes between two offsets available. What is there already is not read again.
    fn load(&mut self, from: u64, to: u64) -> Result<(), Stop> {
        let length = (to - from) as usize;
        self.mapped = self.source.slice(from, to);
        if self.mapped.is_some() {
            (self.from, self.length) = (from, length);
            return Ok(());
        }
        let mut kept = 0;
        if from >= self.from && from < self.end() {
            let start = (from - self.from) as usize;
            kept = length.min(self.length - start);
            self.buffer.copy_within(start..start + kept, 0);
        }
        self.from = from;
        self.length = kept;
        if length > self.buffer.len() {
            resize(&mut self.buffer, length)?;
        }
        read_exact_at(self.source, &mut self.buffer[kept..length], from + kept as u64)?;
        self.length = length;
        Ok(())
    }

    /// The file ends without a line end: adds one behind what is there, which is the last record from `position` on.
    fn end_line(&mut self, position: u64, line_end: LineEnd) -> Result<(), Stop> {
        let end = self.end();
        self.load(position, end)?;
        let bytes = line_end.bytes();
        let length = self.length + bytes.len();
        if length > self.buffer.len() {
            resize(&mut self.buffer, length)?;
        }
        if let Some(record) = self.mapped.take() {
            self.buffer[..record.len()].copy_from_slice(record);
        }
        self.buffer[self.length..length].copy_from_slice(bytes);
        self.length = length;
        Ok(())
    }

    /// The offset behind the last byte.
    fn end(&self) -> u64 {
        self.from + self.length as u64
    }

    /// Whether a line end was added behind the file's last byte: nothing more can come.
    fn is_whole(&self) -> bool {
        self.end() > self.size
    }

    fn all(&self) -> &[u8] {
        match self.mapped {
            Some(bytes) => bytes,
            None => &self.buffer[..self.length],
        }
    }

    fn from(&self, position: u64) -> &[u8] {
        &self.all()[(position - self.from) as usize..]
    }
}

/// A buffer of that length, its memory not more than that.
fn resize(buffer: &mut Vec<u8>, length: usize) -> Result<(), OutOfMemory> {
    if length > buffer.len() {
        buffer.try_reserve_exact(length - buffer.len()).map_err(|_| OutOfMemory)?;
    }
    buffer.resize(length, 0);
    Ok(())
}
