//! Where a parallel scan's bytes come from, and how what is left behind an anomaly comes to the referee.
//!
//! * A **file** can be read again: the referee gets it from that record on, and a [`Walker`] goes along and tells where
//!   each record starts.
//! * A **stream**'s bytes are gone; what is left of the segment has been shipped, with a few bytes of what follows it.
//!   If the stream ends with that segment, or a record in it is too long for the threads, the rest of the stream
//!   follows. Of a compressed file the rest is decompressed here.

#![expect(unsafe_code, reason = "reads through COPY's descriptor and stream, by pointer")]

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;

use fastcsv_engine::coding::Coding;
use fastcsv_engine::dialect::Dialect;
use fastcsv_engine::entry::Mark;
use fastcsv_engine::job::{self, Io, Job};
use fastcsv_engine::locate::Checkpoint;
use fastcsv_engine::pipeline::ReadAt;
use fastcsv_engine::scan::Level;
use fastcsv_engine::walk::Walker;

use super::job::{Origin, Serial};
use crate::file::{Borrowed, Change, RangeFeed, Stamp};
use crate::referee::shim::CopyView;
use crate::referee::{Feed, Referee};
use crate::settings;
use crate::stream::{RestFeed, Stream};
use crate::worker::{self, Worker};

/// Bytes of a stream on their way to the worker: a segment of usual size.
const MOST_ON_THEIR_WAY: usize = 1 << 20;

/// So few bytes on their way, for tests with tiny segments, that they come in pieces.
const LEAST_ON_THEIR_WAY: usize = 64;

/// The input of a parallel scan.
pub(super) enum Input {
    File(FileInput),
    Stream(StreamInput),
}

/// A file, and the reread of a part of it.
pub(super) struct FileInput {
    file: Borrowed,
    dialect: Dialect,
    /// Where the first range starts.
    start: u64,
    range_size: u64,
    /// What the file was like when the scan began.
    stamp: Stamp,
    feed: RangeFeed,
    walker: Option<Walker>,
    /// Records that start here are the next ticket's.
    until: u64,
}

/// A stream, and the reread of a part of it.
pub(super) struct StreamInput {
    stream: *mut Stream,
    dialect: Dialect,
    rest: RestFeed,
    /// Bytes of the rest that are the segment's own.
    own: u64,
    /// Whether the rest is that of the whole input.
    are_last: bool,
    /// Where the next segment starts; none if the referee reads to the end.
    until: Option<u64>,
}

impl Input {
    /// The input that the referee has read at least one record of, and where the next one starts.
    ///
    /// # Errors
    /// The reason why the scan stays serial.
    ///
    /// # Safety
    /// The referee must be alive, and live as long as this.
    pub(super) unsafe fn of(referee: *mut Referee) -> Result<(Input, Checkpoint), Serial> {
        // SAFETY: the caller's promise.
        unsafe {
            let (view, _) = Referee::views(referee);
            let stream = Referee::stream(referee);
            let dialect = crate::position::dialect(&view);
            let dialect = dialect.ok_or("the file's structure cannot be seen in its bytes")?;
            if !stream.is_null() {
                return StreamInput::of(stream, &dialect);
            }
            if view.descriptor < 0 {
                return Err("the input is not a regular file");
            }
            FileInput::of(&view, &dialect, Referee::records_read(referee) + u64::from(view.has_header))
        }
    }

    /// What the job is to know of it.
    pub(super) fn origin(&self, io: Io) -> Origin {
        match self {
            Input::File(file) => Origin::File { size: file.stamp.size, io },
            Input::Stream(input) => Origin::Stream { coding: input.archive().map(|(_, coding)| coding) },
        }
    }

    /// What the worker of the job is to know of it.
    pub(super) fn for_worker(&self, job: &Job) -> worker::Input {
        match (self, &job.input) {
            (Input::Stream(input), job::Input::Stream { segment_size, .. }) => match input.archive() {
                Some((descriptor, _)) => worker::Input::File(descriptor),
                None => {
                    let capacity = (*segment_size).clamp(LEAST_ON_THEIR_WAY, MOST_ON_THEIR_WAY);
                    worker::Input::Stream(input.stream, capacity)
                }
            },
            (Input::File(input), _) => worker::Input::File(input.file.descriptor()),
            (Input::Stream(_), job::Input::File { .. }) => unreachable!("the job is about this input"),
        }
    }

    /// The input, cut as the job says.
    pub(super) fn with_job(mut self, job: &Job) -> Input {
        if let (Input::File(file), job::Input::File { range_size, .. }) = (&mut self, &job.input) {
            file.range_size = *range_size;
        }
        self
    }

    /// A descriptor through which all of it can be read again, if there is one.
    pub(super) fn descriptor(&self) -> Option<RawFd> {
        match self {
            Input::File(input) => Some(input.file.descriptor()),
            Input::Stream(_) => None,
        }
    }

    /// What has become of it since the scan began, if that matters.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn change(&self) -> io::Result<Option<Change>> {
        match self {
            Input::File(input) => Ok(input.stamp.change(input.file.stamp()?)),
            // SAFETY: the stream lives as long as this.
            Input::Stream(input) => unsafe { (*input.stream).change() },
        }
    }

    /// The bytes of a segment from an anomaly on have come. They may be the last of the input.
    ///
    /// # Errors
    /// If there is no memory to keep them.
    pub(super) fn keep_rest(&mut self, rest: &[u8], mark: Mark, are_last: bool) -> io::Result<()> {
        match self {
            Input::File(_) => unreachable!("a file is read again"),
            Input::Stream(input) => {
                (input.own, input.are_last) = (mark.length.into(), are_last);
                input.rest.keep(rest)
            }
        }
    }

    /// What is left of the ticket's range or segment is to be read by the referee from `base` on. Returns what feeds
    /// it.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(super) fn begin_reread(
        &mut self,
        worker: &mut Worker,
        ticket: u64,
        base: Checkpoint,
        is_last: bool,
    ) -> io::Result<NonNull<dyn Feed>> {
        match self {
            Input::File(input) => Ok(input.begin_reread(ticket, base)),
            Input::Stream(input) => input.begin_reread(worker, base, is_last),
        }
    }

    /// The referee has taken a record.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn step(&mut self) -> io::Result<()> {
        match self {
            Input::File(FileInput { walker: Some(walker), file, .. }) => walker.step(&Interruptible(file)).map(drop),
            // A stream's feeds are told by the referee itself.
            Input::File(_) | Input::Stream(_) => Ok(()),
        }
    }

    /// Where the next ticket's records start, if the referee has come there.
    pub(super) fn end_of_reread(&mut self) -> Option<Checkpoint> {
        match self {
            Input::File(input) => input.walker.as_ref().map(Walker::at).filter(|at| at.byte >= input.until),
            Input::Stream(input) => {
                let until = input.until?;
                let end = input.rest.at().filter(|at| at.byte >= until)?;
                input.rest.forget();
                Some(end)
            }
        }
    }
}

impl FileInput {
    /// # Safety
    /// COPY must keep the file open as long as this lives.
    unsafe fn of(view: &CopyView, dialect: &Dialect, records: u64) -> Result<(Input, Checkpoint), Serial> {
        // SAFETY: the caller's promise.
        let (file, again) = unsafe { (Borrowed::new(view.descriptor), view.descriptor) };
        let stamp = file.stamp().map_err(|_| "the file cannot be looked at")?;
        if stamp.size < settings::min_parallel_size() {
            return Err("the file is smaller than fastcsv.min_parallel_size");
        }
        let base = find_start(&file, dialect, stamp.size, records)?;
        // SAFETY: as above.
        let feed = unsafe { RangeFeed::new(again, stamp.size) };
        let dialect = base.line_end.map_or_else(|| dialect.clone(), |line_end| dialect.with_line_end(line_end));
        let (start, range_size, until) = (base.byte, stamp.size, stamp.size);
        Ok((Input::File(FileInput { file, dialect, start, range_size, stamp, feed, walker: None, until }), base))
    }

    fn begin_reread(&mut self, ticket: u64, base: Checkpoint) -> NonNull<dyn Feed> {
        self.until = (self.start + (ticket + 1) * self.range_size).min(self.stamp.size);
        self.walker = Some(Walker::new(&self.dialect, Level::detect(), base, self.stamp.size));
        self.feed.set(base.byte);
        NonNull::from(&mut self.feed)
    }
}

impl StreamInput {
    /// # Safety
    /// The stream must live as long as this.
    unsafe fn of(stream: *mut Stream, dialect: &Dialect) -> Result<(Input, Checkpoint), Serial> {
        // SAFETY: the caller's promise.
        let (unused, is_at_end) = unsafe { ((*stream).unused(), (*stream).is_at_end()) };
        let Some((base, unused)) = unused else {
            return Err("a record is too long for fastcsv.memory");
        };
        let Some(line_end) = base.line_end.filter(|_| !(unused.is_empty() && is_at_end)) else {
            return Err("the input ends with its first record");
        };
        let (dialect, rest) = (dialect.with_line_end(line_end), RestFeed::default());
        Ok((Input::Stream(StreamInput { stream, dialect, rest, own: 0, are_last: false, until: None }), base))
    }

    /// See [`Stream::archive`].
    fn archive(&self) -> Option<(RawFd, Coding)> {
        // SAFETY: the stream lives as long as this.
        unsafe { (*self.stream).archive() }
    }

    fn begin_reread(&mut self, worker: &mut Worker, base: Checkpoint, is_last: bool) -> io::Result<NonNull<dyn Feed>> {
        if !is_last {
            self.until = Some(base.byte + self.own);
            self.rest.begin(&self.dialect, base);
            return Ok(NonNull::from(&mut self.rest));
        }
        self.until = None;
        // SAFETY: the stream lives as long as this, and the worker has done with it.
        let stream = unsafe { &mut *self.stream };
        match stream.archive() {
            Some(_) => stream.go_on_at(base.byte, self.rest.bytes(), self.are_last)?,
            None => worker.give_stream_back(self.rest.bytes(), true)?,
        }
        self.rest.forget();
        stream.follow(&self.dialect, base);
        Ok(NonNull::from(stream))
    }
}

/// Where the first record starts behind so many others, a header counted.
///
/// # Errors
/// The reason why the scan stays serial.
fn find_start(file: &Borrowed, dialect: &Dialect, size: u64, records: u64) -> Result<Checkpoint, Serial> {
    let mut walker = Walker::new(dialect, Level::detect(), Checkpoint::START, size);
    for _ in 0..records {
        // Whatever is wrong is for the referee to say, who reads on.
        walker.step(&Interruptible(file)).map_err(|_| "the first records cannot be read again")?;
    }
    let at = walker.at();
    if at.byte < size && at.line_end.is_some() { Ok(at) } else { Err("the file ends with its first record") }
}

/// A file that is read by somebody who can be cancelled: a record may be long, and a disk slow.
struct Interruptible<'f>(&'f Borrowed);

impl ReadAt for Interruptible<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        pgrx::check_for_interrupts!();
        self.0.read_at(buffer, offset)
    }
}
