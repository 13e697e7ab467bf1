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

pub(crate) mod shim;

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::mem::offset_of;
use std::os::fd::RawFd;
use std::ptr::NonNull;

use fastcsv_engine::coding::Coding;
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::locate::{Checkpoint, Place};
use pgrx::prelude::*;
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
    /// Whether the feed is still to be told that a record was taken: as long as there may be errors about that record, the feed
    /// finds its place.
    took_record: bool,
    /// The input, if it is one that can be read only once; else null.
    stream: *mut Stream,
    /// The offset of what the feed delivers next.
    feed_position: u64,
    /// Headers read since the last restart: COPY's parser reads one as no row.
    headers: u64,
    /// The record behind one that `ON_ERROR ignore` has passed over. Until COPY has converted a value of it, COPY's error context still
    /// shows the value that was wrong.
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
                    Err(error) => shim::raise_read_error(&error, source.name),
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

    /// Lets the referee go on with `feed`, as if everything before `start`, which is not the file's start, had been read
    /// already. Whatever it has read ahead is forgotten.
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

    /// Puts the error contexts on the stack for values of the record at `place` that somebody else converts; returns
    /// what [`Referee::leave`] wants.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn enter(this: *mut Self, place: Checkpoint) -> *mut pg_sys::ErrorContextCallback {
        // SAFETY: the caller's promise.
        unsafe {
            let outer = pg_sys::error_context_stack;
            let descriptor =
                (*this).feed.map_or(Some(CopyView::of((*this).state).descriptor), |feed| feed.as_ref().descriptor());
            (*this).position.restart(place, descriptor.map_or(Places::AtStart, Places::ByFile));
            if !(*this).is_entered {
                (*this).push_contexts(outer);
            }
            outer
        }
    }

    /// Puts the error contexts on the stack until [`Referee::leave_load`]: all that happens meanwhile happens to some
    /// line of the file.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn enter_load(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).push_contexts(pg_sys::error_context_stack);
            (*this).is_entered = true;
            if !(*this).stream.is_null() {
                // An error may be about a row that was read long before.
                (*this).position.count_nothing();
            }
        }
    }

    /// Takes them off again.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; they must be the topmost contexts.
    pub(crate) unsafe fn leave_load(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            pg_sys::error_context_stack = (*this).position.outer();
            (*this).is_entered = false;
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

    /// Tells the progress view that the input was read up to a position.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn report_position(this: *mut Self, position: u64) {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_report_position((*this).state, position) }
    }

    /// The COPY itself.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn copy(this: *mut Self) -> pg_sys::CopyFromState {
        // SAFETY: the caller's promise.
        unsafe { (*this).state }
    }

    /// The next errors are about a record at `place`, or about one that only COPY's line number tells.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn point_at(this: *mut Self, place: Checkpoint, places: Places) {
        // SAFETY: the caller's promise.
        unsafe { (*this).position.restart(place, places) }
    }

    /// Raises the error of a read that failed, with COPY's line number at `place`.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn raise_read_error(this: *mut Self, place: Checkpoint, error: &io::Error) -> ! {
        // SAFETY: the caller's promise. Whoever catches the error takes the contexts off.
        unsafe {
            Self::enter(this, place);
            shim::fastcsv_shim_hide_line((*this).state, place.number, false);
            shim::raise_read_error(error, (*this).position.source().name)
        }
    }

    /// Raises the error of a compressed file in which something is wrong, with COPY's line number at `place`.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; `detail` must be a C string.
    pub(crate) unsafe fn raise_damaged(this: *mut Self, place: Checkpoint, detail: *const c_char) -> ! {
        // SAFETY: the caller's promise, as above.
        unsafe {
            Self::enter(this, place);
            shim::fastcsv_shim_hide_line((*this).state, place.number, false);
            shim::raise_damaged((*this).position.source().name, detail)
        }
    }

    /// Raises the error for a file that is not any more what it was when the read began.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn raise_overwritten(this: *mut Self) -> ! {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_raise_changed((*this).position.source().name, false) }
    }

    /// The next error is about this column's value, null for NULL, in the record with COPY's number.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; both strings must live until the next call.
    pub(crate) unsafe fn name_value(this: *mut Self, number: u64, column: *const c_char, value: *const c_char) {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_name_value((*this).state, number, column, value) }
    }

    /// Takes the error contexts off again.
    ///
    /// # Safety
    /// `outer` must come from [`Referee::enter`].
    pub(crate) unsafe fn leave(this: *mut Self, outer: *mut pg_sys::ErrorContextCallback) {
        // SAFETY: the caller's promise.
        unsafe {
            shim::fastcsv_shim_name_value((*this).state, 0, std::ptr::null(), std::ptr::null());
            pg_sys::error_context_stack = outer;
        }
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

    /// Lets COPY insert all rows into its table; returns how many. Nobody knows then which record it is at.
    ///
    /// # Errors
    /// Raises COPY's errors.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; no row may have been read.
    pub(crate) unsafe fn copy_all(this: *mut Self) -> u64 {
        // SAFETY: the caller's promise. COPY puts its own context on the stack, directly above ours.
        unsafe {
            if !(*this).stream.is_null() {
                (*(*this).stream).lose_track();
            }
            let outer = pg_sys::error_context_stack;
            (*this).position.count_nothing();
            pg_sys::error_context_stack = (*this).position.push_on(outer);
            let processed = pg_raw::CopyFrom((*this).state);
            pg_sys::error_context_stack = outer;
            processed
        }
    }

    /// Reads the next row into `values` and `nulls`, one element a column of the relation; false at the end.
    /// `expressions` serves DEFAULT values and may be null where there are none.
    ///
    /// # Errors
    /// Raises the error COPY raises for this row.
    ///
    /// # Safety
    /// `this` must come from this type's constructors and not be ended; both arrays must be long enough. Nothing
    /// with a destructor may be alive on the caller's frame.
    pub(crate) unsafe fn next_row(
        this: *mut Self,
        expressions: *mut pg_sys::ExprContext,
        values: *mut pg_sys::Datum,
        nulls: *mut bool,
    ) -> bool {
        // SAFETY: the caller's promise. PostgreSQL runs on one thread, so nobody else touches the stack or `this`.
        unsafe {
            let outer = pg_sys::error_context_stack;
            if !(*this).is_entered {
                (*this).push_contexts(outer);
            }
            Self::settle(this);
            let found = pg_raw::NextCopyFrom((*this).state, expressions, values, nulls);
            pg_sys::error_context_stack = outer;
            if found {
                (*this).position.count_record();
                (*this).took_record = true;
            } else if !(*this).stream.is_null() && !(*(*this).stream).is_at_end() {
                // What comes behind the data's end is not its last line's.
                let line_number = CopyView::of((*this).state).line_number;
                shim::fastcsv_shim_hide_line((*this).state, line_number, true);
                if let Err(error) = (*(*this).stream).end_data() {
                    shim::raise_read_error(&error, (*this).position.source().name);
                }
            }
            found
        }
    }

    /// Reads the next row into the slot, which is empty at the end: `None` if the row was passed over by `ON_ERROR ignore`, false at the end. The
    /// values live until the next call, in the expressions' per-tuple memory.
    ///
    /// # Errors
    /// As for [`Referee::next_row`], and those of [`Referee::row_was_skipped`].
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; the slot must be for the relation's rows.
    pub(crate) unsafe fn fill(
        this: *mut Self,
        expressions: *mut pg_sys::ExprContext,
        slot: *mut pg_sys::TupleTableSlot,
    ) -> Option<bool> {
        // SAFETY: the caller's promise.
        unsafe {
            pg_raw::clear_slot(slot);
            let memory = (*expressions).ecxt_per_tuple_memory;
            pg_sys::MemoryContextReset(memory);
            let caller = pg_sys::MemoryContextSwitchTo(memory);
            let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            let found = if (*this).values.is_null() {
                Self::next_row(this, expressions, values, nulls)
            } else {
                let columns = (*(*slot).tts_tupleDescriptor).natts.unsigned_abs() as usize;
                let found = Self::next_row(this, expressions, (*this).values, (*this).nulls);
                values.copy_from_nonoverlapping((*this).values, columns);
                nulls.copy_from_nonoverlapping((*this).nulls, columns);
                found
            };
            pg_sys::MemoryContextSwitchTo(caller);
            if found && Self::row_was_skipped(this) {
                pgrx::check_for_interrupts!();
                return None;
            }
            if found {
                for fixed in (*this).fixed_values() {
                    *(*slot).tts_isnull.add(fixed.attribute) = fixed.value.is_none();
                    *(*slot).tts_values.add(fixed.attribute) = fixed.value.unwrap_or(pg_sys::Datum::null());
                }
                pg_raw::ExecStoreVirtualTuple(slot);
            }
            Some(found)
        }
    }

    /// COPY was shown a relation that may have columns behind those of the real one, which rows are wanted of.
    ///
    /// # Safety
    /// As for [`Referee::next_row`]; both must be open. Must be called in memory that lives as long as this.
    pub(crate) unsafe fn widen(this: *mut Self, shown: pg_sys::Relation, relation: pg_sys::Relation) {
        // SAFETY: the caller's promise.
        unsafe {
            let columns = (*(*shown).rd_att).natts.unsigned_abs() as usize;
            if columns > (*(*relation).rd_att).natts.unsigned_abs() as usize {
                (*this).values = pg_sys::palloc(columns * size_of::<pg_sys::Datum>()).cast();
                (*this).nulls = pg_sys::palloc(columns).cast();
            }
        }
    }

    /// Was COPY shown more columns?
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn is_wide(this: *mut Self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { !(*this).values.is_null() }
    }

    /// These values are in every row, whatever the file holds. They must live as long as this.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn fix(this: *mut Self, values: *const Fixed, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { ((*this).fixed, (*this).fixed_count) = (values, count) }
    }

    /// These values.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn fixed<'a>(this: *mut Self) -> &'a [Fixed] {
        // SAFETY: the caller's promise.
        unsafe { (*this).fixed_values() }
    }

    /// Is the attribute (0-based) one of these?
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn fixes(this: *mut Self, attribute: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (*this).fixed_values() }.iter().any(|fixed| fixed.attribute == attribute)
    }

    fn fixed_values<'a>(&self) -> &'a [Fixed] {
        match self.fixed.is_null() {
            true => &[],
            // SAFETY: `fix` was promised so many, that live as long.
            false => unsafe { std::slice::from_raw_parts(self.fixed, self.fixed_count) },
        }
    }

    /// The referee whose COPY asks for bytes: its callback carries no argument of its own, and while all rows are inserted triggers may
    /// read something else.
    ///
    /// # Safety
    /// Must be called from COPY's data source callback.
    unsafe fn reading() -> *mut Self {
        // SAFETY: the caller's promise. The context below COPY's is a field of the referee.
        unsafe { PositionContext::below_copy().byte_sub(offset_of!(Self, position)).cast() }
    }

    /// Puts COPY's error context above ours above `outer`.
    ///
    /// # Safety
    /// `self` must stay where it is until the contexts are popped.
    unsafe fn push_contexts(&mut self, outer: *mut pg_sys::ErrorContextCallback) {
        // SAFETY: the caller's promise; the stack is a linked list of such records.
        unsafe {
            self.copy_context.previous = self.position.push_on(outer);
            pg_sys::error_context_stack = &raw mut self.copy_context;
        }
    }

    /// Was the row just read passed over by `ON_ERROR ignore`? (From PostgreSQL 17; false before.)
    ///
    /// # Errors
    /// Raises COPY's error when more rows were passed over than `REJECT_LIMIT` allows.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn row_was_skipped(this: *mut Self) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let skipped = shim::fastcsv_shim_row_was_skipped((*this).state);
            if skipped {
                (*this).behind_skipped = Some((*this).position.next_record() + (*this).headers);
                let outer = pg_sys::error_context_stack;
                if !(*this).is_entered {
                    (*this).push_contexts(outer);
                }
                shim::fastcsv_shim_check_reject_limit((*this).state);
                pg_sys::error_context_stack = outer;
            }
            skipped
        }
    }

    /// Does COPY's error context still show a value of the record before this one, which was passed over?
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn shows_skipped(this: *mut Self, record: u64) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (*this).behind_skipped == Some(record) }
    }

    /// How many rows were passed over so far, in files before this one too; and that so many were before.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn skipped(this: *mut Self) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_skipped((*this).state) }
    }

    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn add_skipped(this: *mut Self, before: i64) {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_add_skipped((*this).state, before) }
    }

    /// Says how many rows were passed over, as a load or as a scan does.
    ///
    /// # Safety
    /// As for [`Referee::next_row`].
    pub(crate) unsafe fn report_skipped(this: *mut Self, is_load: bool) {
        // SAFETY: the caller's promise.
        unsafe { shim::fastcsv_shim_report_skipped((*this).state, is_load) }
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

/// COPY's data source callback: fills `buffer` with at least one byte and at most `most`, or returns 0 at the end.
#[pg_guard]
unsafe extern "C-unwind" fn read_feed(buffer: *mut c_void, _least: c_int, most: c_int) -> c_int {
    // SAFETY: COPY calls this only below `next_row` and `copy_all`, which have put the contexts of their referee on the stack, and passes
    // a buffer of `most` bytes. They are initialised here, so that the feed sees ordinary memory.
    let (referee, buffer) = unsafe {
        let length = usize::try_from(most).expect("COPY asks for a positive number of bytes");
        std::ptr::write_bytes(buffer.cast::<u8>(), 0, length);
        (&mut *Referee::reading(), std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length))
    };
    let mut feed = referee.feed.expect("only a referee with a feed has this callback");
    // SAFETY: the feed outlives the referee (see `start_at`), and nobody else uses it meanwhile.
    match unsafe { feed.as_mut() }.read(buffer) {
        Ok(count) => {
            referee.feed_position += count as u64;
            let count = c_int::try_from(count).expect("a feed returns no more than it was asked for");
            // SAFETY: the COPY that asks.
            unsafe { shim::fastcsv_shim_note_read(referee.state, referee.feed_position, count) };
            count
        }
        Err(error) => {
            let name = referee.position.source().name;
            if error.kind() == io::ErrorKind::InvalidData && !referee.stream.is_null() {
                // SAFETY: the stream lives as long as the referee.
                unsafe { shim::raise_damaged(name, shim::palloced((*referee.stream).damage())) }
            }
            shim::raise_read_error(&error, name)
        }
    }
}
