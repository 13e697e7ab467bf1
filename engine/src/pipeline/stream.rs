//! A stream: one thread cuts it into segments of whole records, the others parse them.
//!
//! The cutter hands segments to the parsers through a channel, in ticket order, and they hand the memory of their bytes
//! back through another. There are only so many buffers, two more than parsers, so that the channels need no bound of
//! their own and memory has one. Where only one thread could be had it cuts and parses in turns.
//!
//! The input says that it is dry by [`std::io::ErrorKind::WouldBlock`]. Then, if no parser has anything to do, whatever
//! whole records there are make a segment: a slow stream's rows do not wait for a full one.

use std::io::Read;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::output::Output;
use super::parse::{Chunk, Parsed, Parser};
use super::tally::Tally;
use super::{Shared, Stop};
use crate::entry::{EntryKind, Mark};
use crate::job::{self, Job};
use crate::ring::{Outcome, Summary};
use crate::segment::{Came, Content, Cutter, Segment};
use crate::sync::{AtomicU32, Mutex, Ordering, PoisonError};
use crate::tuple::OutOfMemory;

/// The stream and the state of the work on it.
pub(super) struct Streams {
    /// For the one thread that cuts.
    cutting: Mutex<Option<Cutting>>,
    segments: Receiver<Segment>,
    spare: (Sender<Vec<u8>>, Receiver<Vec<u8>>),
    /// Segments that were handed out and are not finished.
    unfinished: AtomicU32,
    /// Bytes of a buffer that is worth keeping.
    usual: usize,
}

/// A parser, or that there was no memory for one; then each of its segments ends with that.
type MadeParser<'s> = Result<Parser<'s>, OutOfMemory>;

/// What the cutter needs.
struct Cutting {
    input: Box<dyn Read + Send>,
    segments: Sender<Segment>,
    start: u64,
    segment_size: usize,
}

impl Streams {
    pub(super) fn new(job: &Job, input: Box<dyn Read + Send>) -> Streams {
        let job::Input::Stream { start, segment_size, .. } = job.input else {
            panic!("a job over a file needs a file");
        };
        let (sender, segments) = unbounded();
        let cutting = Mutex::new(Some(Cutting { input, segments: sender, start, segment_size }));
        Streams { cutting, segments, spare: unbounded(), unfinished: AtomicU32::new(0), usual: 2 * segment_size }
    }

    /// What the thread with that number does, of so many threads.
    pub(super) fn run(&self, shared: &Shared, index: usize, threads: usize) {
        if index > 0 {
            return self.parse_all(shared);
        }
        let cutting = self.cutting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(cutting) = cutting else { return };
        for _ in 0..threads + 1 {
            // There is a receiver: ours.
            let _ = self.spare.0.send(Vec::new());
        }
        let alone = (threads == 1).then(|| Parser::new(shared));
        let plan = &shared.plan;
        let cutter =
            Cutter::new(&plan.scanner, plan.line_end, cutting.start, cutting.segment_size, plan.longest_record);
        let mut thread = CutterThread { streams: self, shared, cutting, cutter, alone };
        // Who is told to stop has nothing to tell.
        let _ = thread.run();
        shared.account(thread.cutter.memory(), 0);
    }

    /// What a parser does: one segment after the other, until the cutter has gone.
    fn parse_all(&self, shared: &Shared) {
        let mut parser = Parser::new(shared);
        while let Ok(segment) = self.segments.recv() {
            if self.finish(shared, &mut parser, segment).is_err() {
                break;
            }
        }
    }

    /// Parses a segment, and hands its memory back.
    ///
    /// # Errors
    /// [`Stop::Told`].
    fn finish(&self, shared: &Shared, parser: &mut MadeParser<'_>, mut segment: Segment) -> Result<(), Stop> {
        shared.wait_for(|| shared.ring.has_slot(segment.ticket).then_some(()))?;
        let mut out = Output::begin(shared, segment.ticket);
        let summary = match parse_segment(shared, parser, &segment, &mut out) {
            Err(Stop::Told) => return Err(Stop::Told),
            Err(Stop::Ticket(outcome, errno)) => {
                Summary { outcome, errno, start: segment.start, end: segment.start, ..Summary::default() }
            }
            Ok(summary) => summary,
        };
        out.finish(Summary { is_last: segment.is_last, ..summary });
        let memory = segment.bytes.capacity();
        segment.bytes.clear();
        segment.bytes.shrink_to(self.usual);
        shared.account(memory, segment.bytes.capacity());
        // There is a receiver: this one.
        let _ = self.spare.0.send(segment.bytes);
        self.unfinished.fetch_sub(1, Ordering::AcqRel);
        shared.notify();
        Ok(())
    }
}

/// The thread that cuts.
struct CutterThread<'s> {
    streams: &'s Streams,
    shared: &'s Shared,
    cutting: Cutting,
    cutter: Cutter,
    /// Where there is no other thread, what it parses with.
    alone: Option<MadeParser<'s>>,
}

impl CutterThread<'_> {
    /// Cuts the whole stream.
    ///
    /// # Errors
    /// [`Stop::Told`].
    fn run(&mut self) -> Result<(), Stop> {
        loop {
            let mut spare = self.shared.wait_for(|| self.streams.spare.1.try_recv().ok())?;
            // Memory counts from when a buffer grows until it shrinks, whoever has it meanwhile.
            let before = self.cutter.memory() + spare.capacity();
            let segment = match self.next_segment(&mut spare) {
                Ok(segment) => segment,
                Err(Stop::Told) => return Err(Stop::Told),
                Err(Stop::Ticket(outcome, errno)) => self.cutter.failure(outcome, errno),
            };
            let now = self.cutter.memory() + spare.capacity() + segment.bytes.capacity();
            self.shared.account(before, now);
            let is_last = segment.is_last;
            self.streams.unfinished.fetch_add(1, Ordering::AcqRel);
            match &mut self.alone {
                Some(parser) => self.streams.finish(self.shared, parser, segment)?,
                // Nobody receives any more when everybody was told to stop.
                None => self.cutting.segments.send(segment).map_err(|_| Stop::Told)?,
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Reads until there is a segment.
    ///
    /// # Errors
    /// [`Stop`]: told to; what the input says; out of memory.
    fn next_segment(&mut self, spare: &mut Vec<u8>) -> Result<Segment, Stop> {
        let mut now = false;
        loop {
            if let Some(segment) = self.cutter.cut(now, spare)? {
                return Ok(segment);
            }
            now = self.read()? == Came::Nothing;
        }
    }

    /// Reads what has come; waits if that is nothing, but not if a segment can be cut now: then nothing has come.
    fn read(&mut self) -> Result<Came, Stop> {
        let (cutter, input, streams) = (&mut self.cutter, &mut self.cutting.input, self.streams);
        Ok(self.shared.wait_for(|| match cutter.read(input) {
            Ok(Came::Nothing) => {
                let is_idle = streams.unfinished.load(Ordering::Acquire) == 0;
                (is_idle && cutter.has_records()).then_some(Ok(Came::Nothing))
            }
            came => Some(came),
        })??)
    }
}

/// Parses the records of a segment; what is left behind an anomaly goes out as it is.
fn parse_segment(
    shared: &Shared,
    parser: &mut MadeParser<'_>,
    segment: &Segment,
    out: &mut Output<'_>,
) -> Result<Summary, Stop> {
    let start = segment.start;
    let mut tally = Tally::default();
    let parser = parser.as_mut().map_err(|error| *error)?;
    let mut position = 0;
    match segment.content {
        Content::Failure(outcome, errno) => return Err(Stop::Ticket(outcome, errno)),
        Content::Raw => {
            ship_rest(segment, 0, out)?;
            return Ok(tally.summary(start, start, Outcome::Anomaly));
        }
        Content::Records => {}
    }
    while position < segment.length {
        if shared.ring.is_stopped() {
            return Err(Stop::Told);
        }
        let chunk = Chunk {
            bytes: &segment.bytes[position..],
            base: start + position as u64,
            limit: start + segment.length as u64,
            is_end: segment.is_last,
        };
        match parser.parse(chunk, &mut tally, out)? {
            Parsed::Bytes(length) => position += length,
            // What needs more than there is needs more than will ever come: the input ends inside quotes.
            Parsed::NeedsMore => return end_at(segment, position, parser, &tally, out),
            Parsed::Anomaly(length) => return end_at(segment, position + length, parser, &tally, out),
        }
    }
    parser.finish(out)?;
    out.publish()?;
    let end = start + position.min(segment.length) as u64;
    Ok(tally.summary(start, end, Outcome::Plain))
}

/// The segment ends at an anomaly.
fn end_at(
    segment: &Segment,
    position: usize,
    parser: &mut Parser<'_>,
    tally: &Tally,
    out: &mut Output<'_>,
) -> Result<Summary, Stop> {
    parser.finish(out)?;
    ship_rest(segment, position, out)?;
    Ok(tally.summary(segment.start, segment.start + position as u64, Outcome::Anomaly))
}

/// Writes out the bytes of a segment from a position on, and those that follow it.
fn ship_rest(segment: &Segment, position: usize, out: &mut Output<'_>) -> Result<(), Stop> {
    let byte = segment.start + position as u64;
    let length = (segment.length - position) as u32;
    let ends_here = segment.is_last && segment.content == Content::Records;
    let kind = if ends_here { EntryKind::LastRest } else { EntryKind::Rest };
    out.push(kind, Some(Mark { byte, length, ..Mark::default() }), &segment.bytes[position..segment.genuine])?;
    out.publish()
}
