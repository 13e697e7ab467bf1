//! The referee: PostgreSQL's own COPY parser, which can be started at any record of a file.
//!
//! Whatever fastcsv does not finish as a plain success is read by this parser, so rows, errors, their CONTEXT and
//! their line numbers are COPY's own by construction. It comes in two shapes:
//!
//! * [`Referee::open`]: COPY opens the file or starts the program itself, so that its own checks, texts and
//!   progress reports apply;
//! * [`Referee::start_at`]: a [`Feed`] hands it bytes from any record on, with COPY's line number and the file's
//!   line-end style set to what a read of the whole file would have had there.
//!
//! While a row is read two error contexts are on PostgreSQL's stack: COPY's, which writes the line number and the
//! value, and below it ours ([`crate::position`]), which adds the place in the file. They are pushed on entry and
//! popped on success only: on an error whoever catches it restores the stack, and until then it is being read.

#![expect(unsafe_code, reason = "drives PostgreSQL's COPY parser through its C interface")]

mod contexts;
mod rows;
pub(crate) mod shim;

use std::ffi::c_void;
use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;

use fastcsv_engine::coding::Coding;
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::locate::{Checkpoint, Place};
use pgrx::{PgMemoryContexts, pg_sys};

use crate::archive::{self, Archive};
use crate::client::Client;
use crate::confine;
use crate::file::Borrowed;
use crate::header;
use crate::options::{Source, is_binary};
use crate::pg_raw;
use crate::position::{Places, PositionContext};
use crate::reader::{Beyond, Fixed};
use crate::stream::{self, Pipe, Stream, Supply};
use rows::read_feed;
use shim::{CopyOptions, CopyView};

/// Where a referee's bytes come from when it does not open the file itself.
pub(crate) trait Feed {
    /// Fills `buffer` from its start with the next bytes; 0 means the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// A descriptor through which the whole file can be read again, if there is one.
    fn descriptor(&self) -> Option<RawFd>;

    /// COPY's parser has taken one more record, all of which was handed to it.
    fn took_record(&mut self) {}

    /// Where the record starts that owns COPY's line number, if there is no descriptor and that is known.
    fn place(&self, _copy_line: u64) -> Option<Place> {
        None
    }
}

/// PostgreSQL's COPY parser over one input. Lives at a fixed address in PostgreSQL's memory, since the error
/// contexts point into it, and owns nothing with a destructor.
pub(crate) struct Referee {
    state: pg_sys::CopyFromState,
    position: PositionContext,
    copy_context: pg_sys::ErrorContextCallback,
    feed: Option<NonNull<dyn Feed>>,
    /// Whether the feed is still to be told that a record was taken: as long as there may be errors about that record,
    /// the feed finds its place.
    took_record: bool,
    /// The input, if it is one that can be read only once; else null.
    stream: *mut Stream,
    /// The offset of what the feed delivers next.
    feed_position: u64,
    /// Headers read since the last restart: COPY's parser reads one as no row.
    headers: u64,
    /// The record behind one that `ON_ERROR ignore` has passed over. Until COPY has converted a value of it, COPY's
    /// error context still shows the value that was wrong.
    behind_skipped: Option<u64>,
    /// Where COPY puts a row's values if there are more of them than a slot takes; else null.
    values: *mut pg_sys::Datum,
    nulls: *mut bool,
    /// Values that are the same in every row, and not in the file.
    fixed: *const Fixed,
    fixed_count: usize,
    /// Whether both contexts are on the stack already, because a load keeps them there from its first row to its last.
    is_entered: bool,
}

/// What COPY is begun with.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) relation: pg_sys::Relation,
    pub(crate) source: Source,
    /// COPY's options.
    pub(crate) options: *mut pg_sys::List,
    /// The statement's parse state, or null.
    pub(crate) parse: *mut pg_sys::ParseState,
    /// The condition, a list of clauses, or null.
    pub(crate) condition: *mut pg_sys::List,
    /// The column list, or null for all columns.
    pub(crate) columns: *mut pg_sys::List,
    /// What COPY knows nothing of; for [`Reader`](crate::reader::Reader) alone.
    pub(crate) beyond: Beyond,
}

impl Opening {
    /// The plain read of all columns.
    pub(crate) fn of(relation: pg_sys::Relation, source: Source, options: *mut pg_sys::List) -> Opening {
        let none = std::ptr::null_mut();
        let (parse, beyond) = (std::ptr::null_mut(), Beyond::NOTHING);
        Opening { relation, source, options, parse, condition: none, columns: none, beyond }
    }
}

impl Referee {
    /// Lets COPY open the source itself and makes a referee over it, in the current memory context.
    ///
    /// # Errors
    /// Raises COPY's own errors: of its options, of opening the file or of starting the program.
    ///
    /// # Safety
    /// The relation must stay open, and everything else in the opening allocated, for as long as the referee is used.
    /// Nothing with a destructor may be alive on the caller's frame (see [`pg_raw`]).
    pub(crate) unsafe fn open(opening: &Opening) -> *mut Self {
        let source = opening.source;
        // SAFETY: the caller's promise.
        unsafe {
            let position = PositionContext::counting(source, Checkpoint::START, Places::ByCopy);
            if source.is_client() {
                let state = Self::begin(opening, Some(read_feed));
                let this = Self::allocate(state, position, None, 0);
                let client = Client::begin(state);
                Self::read_stream(this, client);
                return this;
            }
            confine::check(source);
            let is_fifo = !source.is_program && stream::is_fifo(source.name) && !is_binary(opening.options);
            let state = if is_fifo { Self::begin_fifo(opening) } else { Self::begin(opening, None) };
            let this = Self::allocate(state, position, None, 0);
            if is_fifo {
                match Pipe::open_fifo(source.name) {
                    Ok(pipe) => {
                        confine::check_open(source, pipe.descriptor());
                        Self::read_stream(this, pipe);
                    }
                    Err(error) => {
                        // COPY knows better how to say it.
                        Self::begin(opening, None);
                        stream::raise_open_error(&error, source.name)
                    }
                }
            } else if let Some(coding) = Self::coding(state, source) {
                let descriptor = shim::fastcsv_shim_take_file(state, Some(read_feed));
                confine::check_open(source, descriptor);
                match Archive::new(descriptor, coding) {
                    Ok(archive) => Self::read_stream(this, archive),
                    Err(error) => shim::raise_read_error(&error, source.shown()),
                }
            } else {
                let descriptor = shim::fastcsv_shim_take_stream(state, Some(read_feed));
                if descriptor >= 0 {
                    confine::check_open(source, descriptor);
                    Self::read_stream(this, Pipe::of_copy(descriptor));
                } else {
                    confine::check_open(source, CopyView::of(state).descriptor);
                    if source.drops_mark {
                        shim::fastcsv_shim_skip(state, header::BYTE_ORDER_MARK.len() as i64);
                    }
                }
            }
            this
        }
    }

    /// How the text is put into the bytes of the file that COPY has just opened, if these are not the text.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    unsafe fn coding(state: pg_sys::CopyFromState, source: Source) -> Option<Coding> {
        // SAFETY: the caller's promise; COPY keeps the descriptor open.
        unsafe {
            let view = CopyView::of(state);
            if view.descriptor < 0 || view.format() == shim::Format::Binary {
                return None;
            }
            let format = archive::format_of(&Borrowed::new(view.descriptor));
            let coding = Coding { compression: format.filter(|_| source.decompresses), utf16: source.utf16 };
            (!coding.is_plain()).then_some(coding)
        }
    }

    /// Begins a COPY that opens its source itself, or reads from a callback.
    ///
    /// # Safety
    /// As for [`Referee::open`].
    unsafe fn begin(opening: &Opening, callback: pg_sys::copy_data_source_cb) -> pg_sys::CopyFromState {
        let Opening { relation, source, options, parse, condition, columns, .. } = *opening;
        let (name, is_program) = match callback {
            None => (source.name, source.is_program),
            Some(_) => (std::ptr::null(), false),
        };
        // SAFETY: the caller's promise.
        unsafe {
            pg_raw::BeginCopyFrom(parse, relation, condition.cast(), name, is_program, callback, columns, options)
        }
    }

    /// Begins a COPY of a FIFO, which it would open by waiting for somebody who writes to it, in a way that cannot be
    /// interrupted.
    ///
    /// # Safety
    /// As for [`Referee::open`].
    unsafe fn begin_fifo(opening: &Opening) -> pg_sys::CopyFromState {
        // SAFETY: the caller's promise.
        let state = unsafe { Self::begin(opening, Some(read_feed)) };
        stream::tell_progress_file();
        state
    }

    /// Lets COPY read a stream, which nobody has read from yet.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    unsafe fn read_stream(this: *mut Self, supply: impl Supply + 'static) {
        // SAFETY: the caller's promise. The stream goes with the memory that the referee is in.
        unsafe {
            let view = CopyView::of((*this).state);
            let dialect = crate::position::dialect(&view);
            let mut stream = Stream::new(Box::new(supply), dialect.as_ref(), view.has_header);
            if (*this).position.source().drops_mark {
                stream.drop_mark();
            }
            drop(dialect);
            let mut memory = PgMemoryContexts::For(pg_sys::CurrentMemoryContext);
            let stream = memory.leak_and_drop_on_delete(stream);
            let feed: NonNull<dyn Feed> = NonNull::new_unchecked(stream);
            (*this).stream = stream;
            (*this).feed = Some(feed);
            (*this).position.restart(Checkpoint::START, Places::ByFeed(feed));
        }
    }

    /// The input, if it is one that can be read only once; else null. It lives as long as the referee.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn stream(this: *mut Self) -> *mut Stream {
        // SAFETY: the caller's promise.
        unsafe {
            Self::settle(this);
            (*this).stream
        }
    }

    /// The row that was read last is done with: there will be no more errors about it.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    #[inline]
    pub(crate) unsafe fn settle(this: *mut Self) {
        // SAFETY: the caller's promise; the feed lives as long as COPY reads from it.
        unsafe {
            if std::mem::take(&mut (*this).took_record)
                && let Some(mut feed) = (*this).feed
            {
                feed.as_mut().took_record();
            }
        }
    }

    /// Makes a referee, in the current memory context, that reads `feed` as if everything before `start` had been
    /// read already. A header is read only when `start` is the beginning of the file.
    ///
    /// # Safety
    /// As for [`Referee::open`]; and `feed`, placed at `start`, must outlive the referee.
    pub(crate) unsafe fn start_at(
        relation: pg_sys::Relation,
        source: Source,
        options: *mut pg_sys::List,
        feed: NonNull<dyn Feed>,
        start: Checkpoint,
    ) -> *mut Self {
        let nothing: *mut c_void = std::ptr::null_mut();
        // SAFETY: the caller's promise; the feed is asked for its descriptor only.
        unsafe {
            let state = pg_raw::BeginCopyFrom(
                nothing.cast(),
                relation,
                nothing.cast(),
                std::ptr::null(),
                false,
                Some(read_feed),
                nothing.cast(),
                options,
            );
            // COPY adds one when it begins the record.
            shim::fastcsv_shim_start_at(state, start.number - 1, eol_type(start.line_end));
            let position = PositionContext::counting(source, start, Places::of(feed));
            Self::allocate(state, position, Some(feed), start.byte)
        }
    }

    /// Lets the referee go on with `feed`, as if everything before `start`, which is not the file's start, had been
    /// read already. Whatever it has read ahead is forgotten.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; and `feed`, placed at `start`, must live until the next restart or the end.
    pub(crate) unsafe fn restart(this: *mut Self, feed: NonNull<dyn Feed>, start: Checkpoint) {
        // SAFETY: the caller's promise; the feed is asked for its descriptor only.
        unsafe {
            let (state, line_end) = ((*this).state, eol_type(start.line_end));
            let keep_value = Self::shows_skipped(this, start.record);
            shim::fastcsv_shim_restart(state, start.number - 1, line_end, keep_value, Some(read_feed));
            (*this).headers = 0;
            (*this).position.restart(start, Places::of(feed));
            ((*this).feed, (*this).feed_position) = (Some(feed), start.byte);
            (*this).took_record = false;
        }
    }

    /// Records read since the start (or the last restart), those passed over by `ON_ERROR ignore` included.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn records_read(this: *mut Self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { (*this).position.records() }
    }

    /// The COPY itself.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn copy(this: *mut Self) -> pg_sys::CopyFromState {
        // SAFETY: the caller's promise.
        unsafe { (*this).state }
    }

    /// What COPY made of its options and how it reads.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn views(this: *mut Self) -> (CopyView, CopyOptions) {
        // SAFETY: the caller's promise.
        unsafe { (CopyView::of((*this).state), CopyOptions::of((*this).state)) }
    }

    /// # Safety
    /// `state` must be a live COPY FROM.
    unsafe fn allocate(
        state: pg_sys::CopyFromState,
        position: PositionContext,
        feed: Option<NonNull<dyn Feed>>,
        feed_position: u64,
    ) -> *mut Self {
        let copy_context = pg_sys::ErrorContextCallback {
            previous: std::ptr::null_mut(),
            callback: Some(pg_raw::CopyFromErrorCallback),
            arg: state.cast(),
        };
        // SAFETY: palloc returns memory large and aligned enough (8 bytes) for this plain struct, or raises an error.
        unsafe {
            let place: *mut Self = pg_sys::palloc(size_of::<Self>()).cast();
            let headers = u64::from(CopyView::of(state).has_header && feed.is_none());
            place.write(Self {
                state,
                position,
                copy_context,
                feed,
                feed_position,
                headers,
                behind_skipped: None,
                took_record: false,
                stream: std::ptr::null_mut(),
                values: std::ptr::null_mut(),
                nulls: std::ptr::null_mut(),
                fixed: std::ptr::null(),
                fixed_count: 0,
                is_entered: false,
            });
            place
        }
    }

    /// Ends the read: closes the file or waits for the program.
    ///
    /// # Errors
    /// Raises COPY's error when the program failed.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; `this` must not be used again.
    pub(crate) unsafe fn end(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            let stream = (*this).stream;
            if !stream.is_null() {
                // Whether a program was left to itself before its end decides what may have become of it.
                shim::fastcsv_shim_set_at_end((*this).state, (*stream).is_at_end());
                (*stream).close();
            }
            pg_raw::EndCopyFrom((*this).state);
            pg_sys::pfree(this.cast());
        }
    }
}

/// COPY's `EolType` for a line-end style.
fn eol_type(line_end: Option<LineEnd>) -> i32 {
    match line_end {
        None => 0,
        Some(LineEnd::Lf) => 1,
        Some(LineEnd::Cr) => 2,
        Some(LineEnd::CrLf) => 3,
    }
}
