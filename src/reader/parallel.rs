//! The backend's part of a parallel scan: blocks in ticket order into slots, and the reread rule.
//!
//! The scan keeps the place it has come to ([`Checkpoint`]): each finished ticket adds its counts. So when something
//! has to be read by COPY's own parser, its line number, and the place in the file, are known exactly:
//!
//! * a record that travels as it is (a declined value, a wrong number of fields) is read by the referee from its own bytes;
//! * behind an anomaly the referee reads the input itself ([`super::input`]), from that record up to the end of the ticket's
//!   range or segment. If it met no error, the scan goes on with the next ticket.
//!
//! **Nothing here has a destructor on its frames**: the referee's errors jump over them.

#![expect(unsafe_code, reason = "hands tuples in shared memory to the executor")]

use std::io;
use std::ptr::NonNull;

use fastcsv_engine::entry::{self, EntryKind, Mark};
use fastcsv_engine::filter::Filter;
use fastcsv_engine::job::{Attribute, Constant, Job, Output};
use fastcsv_engine::locate::Checkpoint;
use fastcsv_engine::ring::{Next, Outcome, Summary};
use fastcsv_engine::tuple::{self, Found as Value};
use pgrx::pg_sys;

use super::input::Input;
use super::job::{self, Serial, Wanted};
use super::mixed::Mixed;
use super::{Found, Item, RowPlace};
use crate::fault::{Countdown, Point};
use crate::file::{Change, RecordFeed};
use crate::last_run::Run;
use crate::memory;
use crate::pg_raw;
use crate::referee::{Feed, Referee};
use crate::worker::{Refusal, Trouble, Worker};

/// What a scan has done, for EXPLAIN ANALYZE and `fastcsv_last_run()`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) ranges: u64,
    pub(crate) wrong_guesses: u64,
    pub(crate) rereads: u64,
    pub(crate) declined: u64,
    pub(crate) filtered: u64,
}

/// A parallel scan in progress.
pub(crate) struct Parallel {
    worker: Worker,
    referee: *mut Referee,
    input: Input,
    panic: Countdown,
    /// Where the awaited ticket's segment begins, as far as records go.
    base: Checkpoint,
    /// The next entry of the current block.
    offset: usize,
    tuple: pg_sys::HeapTupleData,
    /// A payload that came in parts.
    joined: Vec<u64>,
    joined_length: usize,
    joined_mark: Option<Mark>,
    /// Whether the current payload is such a one.
    is_joined: bool,
    /// Whether rows come as a count, and whether the threads leave some of them out.
    count_only: bool,
    has_filter: bool,
    /// Rows that are counted and still to be told of.
    pending: u64,
    /// Rows of the awaited ticket that were told of, or are pending.
    delivered: u64,
    /// A record that comes behind the pending rows.
    held: Option<(Mark, u32)>,
    /// Whether the referee has a second look at what is left behind an anomaly.
    rereads: bool,
    feed: RecordFeed,
    mixed: Option<Mixed>,
    form: Form,
    /// The attributes that are set, for [`Form::Few`].
    few: Vec<(usize, Attribute)>,
    /// Whether the slot says of all other attributes that they are NULL.
    others_are_null: bool,
    is_done: bool,
    /// Whether the end is one that COPY saw in the data.
    ended_early: bool,
    totals: Totals,
}

/// What starting a parallel scan needs.
pub(crate) struct Start {
    pub(crate) referee: *mut Referee,
    pub(crate) relation: pg_sys::Relation,
    pub(crate) wanted: super::Wanted,
    pub(crate) constants: Vec<(usize, Constant)>,
    /// What the plan pushes to the threads.
    pub(crate) filter: Option<Filter>,
}

impl Parallel {
    /// Starts a worker on the records that the referee has not read yet.
    ///
    /// # Errors
    /// The reason why the scan stays serial.
    ///
    /// # Safety
    /// The referee must be over the relation and have read a record.
    pub(crate) unsafe fn start(start: &Start) -> Result<Parallel, Serial> {
        // SAFETY: the caller's promise.
        unsafe {
            if pg_sys::IsInParallelMode() {
                return Err("the query runs in parallel already");
            }
            let (input, base) = Input::of(start.referee)?;
            let (view, options) = Referee::views(start.referee);
            let wanted = Wanted {
                descriptor: (*start.relation).rd_att,
                count_only: start.wanted.count_only,
                places: start.wanted.places,
                constants: start.constants.clone(),
                filter: start.filter.clone(),
                start: base.byte,
                line_end: base.line_end.expect("a record ended before this one"),
                origin: input.origin(start.wanted.io),
            };
            let (job, geometry) = job::plan(&view, &options, &wanted)?;
            let worker = Worker::launch(&job, input.for_worker(&job), geometry, crate::settings::fault());
            let mut worker = worker.map_err(|refusal| refusal.reason())?;
            if start.wanted.places {
                worker.consumer.keep();
            }
            let mixed = (job.output == Output::MixedRows).then(|| Mixed::new(wanted.descriptor, &job));
            Ok(Self::new(start, worker, input.with_job(&job), &job, base, mixed))
        }
    }

    fn new(start: &Start, worker: Worker, input: Input, job: &Job, base: Checkpoint, mixed: Option<Mixed>) -> Parallel {
        // SAFETY: the relation is open; an invalid item pointer and a null tuple are what there is before the first row.
        let tuple = unsafe {
            let mut tuple: pg_sys::HeapTupleData = std::mem::zeroed();
            tuple.t_tableOid = (*start.relation).rd_id;
            tuple.t_self.ip_blkid.bi_hi = u16::MAX;
            tuple.t_self.ip_blkid.bi_lo = u16::MAX;
            tuple
        };
        let few = set_attributes(job);
        let form = match start.wanted.takes_apart {
            true => Form::Apart,
            false if 2 * few.len() <= job.layout.attributes.len() => Form::Few,
            false => Form::Whole,
        };
        Parallel {
            worker,
            referee: start.referee,
            feed: RecordFeed::new(input.descriptor()),
            input,
            panic: crate::settings::fault().countdown(Point::BackendPanic),
            base,
            offset: 0,
            tuple,
            joined: Vec::new(),
            joined_length: 0,
            joined_mark: None,
            is_joined: false,
            count_only: start.wanted.count_only,
            has_filter: start.filter.is_some(),
            pending: 0,
            delivered: 0,
            held: None,
            rereads: false,
            mixed,
            form,
            few,
            others_are_null: false,
            is_done: false,
            ended_early: false,
            totals: Totals::default(),
        }
    }

    /// Adds what this has done to a run.
    pub(crate) fn add_to(&self, run: Run) -> Run {
        let (threads, peak_memory) = self.worker.usage();
        let Totals { ranges, wrong_guesses, rereads, declined, filtered } = self.totals;
        let bytes = Some(self.base.byte);
        Run { path: "parallel", threads, ranges, wrong_guesses, rereads, declined, filtered, bytes, peak_memory, ..run }
    }

    /// Puts the next row into the slot, which is empty. Rows come as numbers only where that is all that is wanted.
    ///
    /// # Errors
    /// Raises the error COPY raises for this row, or one of reading.
    ///
    /// # Safety
    /// `this` must be alive, the slot be the scan's, and nothing with a destructor be alive on the caller's frames.
    pub(crate) unsafe fn next(
        this: *mut Self,
        slot: *mut pg_sys::TupleTableSlot,
        expressions: *mut pg_sys::ExprContext,
    ) -> Result<Found, Refusal> {
        // SAFETY: the caller's promise.
        unsafe {
            loop {
                if (*this).pending > 0 {
                    pg_raw::clear_slot(slot);
                    return Ok(Found::Rows(std::mem::take(&mut (*this).pending)));
                }
                match Self::next_item(this, slot, expressions)? {
                    Item::Tuple { length, .. } => {
                        Self::store(this, slot, length);
                        return Ok(Found::Row);
                    }
                    Item::InSlot { .. } => return Ok(Found::Row),
                    Item::Full => unreachable!("blocks are kept for loads only"),
                    Item::EndOfFile => unreachable!("this is the read of one file"),
                    Item::End if (*this).pending == 0 => {
                        pg_raw::clear_slot(slot);
                        return Ok(Found::End);
                    }
                    Item::End => {}
                }
            }
        }
    }
    /// As [`super::Reader::next_item`]. Behind the end, or before a held record, rows that are only counted may be pending.
    ///
    /// # Errors
    /// As for `next`.
    ///
    /// # Safety
    /// As for `next`.
    pub(crate) unsafe fn next_item(
        this: *mut Self,
        slot: *mut pg_sys::TupleTableSlot,
        expressions: *mut pg_sys::ExprContext,
    ) -> Result<Item, Refusal> {
        // SAFETY: the caller's promise.
        unsafe {
            loop {
                if (*this).pending > 0 {
                    return Ok(Item::End);
                }
                if let Some((mark, length)) = (*this).held.take() {
                    if Self::record_row(this, mark, length, slot, expressions) {
                        return Ok(Item::InSlot { place: None });
                    }
                    continue;
                }
                if (*this).rereads {
                    match Self::reread_row(this, slot, expressions) {
                        Some(true) => return Ok(Item::InSlot { place: None }),
                        Some(false) => return Ok(Item::End),
                        None => continue,
                    }
                }
                if (*this).is_done {
                    return Ok(Item::End);
                }
                match Self::next_payload(this) {
                    Some((EntryKind::Row | EntryKind::PlacedRow, mark, length)) => {
                        let (data, is_lasting) = ((*this).tuple.t_data, !(*this).is_joined);
                        let length = length - mark.text;
                        return Ok(Item::Tuple { data, length, place: (*this).row_place(mark, length), is_lasting });
                    }
                    Some((EntryKind::MixedRow, mark, length)) => {
                        (*this).tuple.t_len = length - mark.text;
                        let place = (*this).row_place(mark, length - mark.text);
                        let mixed: *mut Mixed = (*this).mixed.as_mut().expect("the job is for mixed rows");
                        Mixed::store(mixed, &raw mut (*this).tuple, (*this).referee, place, slot);
                        return Ok(Item::InSlot { place: Some(place) });
                    }
                    Some((EntryKind::Record, mark, length)) => (*this).hold(mark, length),
                    Some((kind @ (EntryKind::Rest | EntryKind::LastRest), mark, length)) => {
                        let rest = std::slice::from_raw_parts((*this).tuple.t_data.cast::<u8>(), length as usize);
                        if let Err(error) = (*this).input.keep_rest(rest, mark, kind == EntryKind::LastRest) {
                            (*this).raise_read_error(&error);
                        }
                    }
                    Some((EntryKind::Findings, ..)) => unreachable!("the job is for rows"),
                    None if (*this).worker.consumer.may_advance() => Self::advance(this)?,
                    None => return Ok(Item::Full),
                }
            }
        }
    }

    /// The place of a row of the awaited ticket.
    #[inline]
    fn row_place(&self, mark: Mark, length: u32) -> RowPlace {
        let start = self.place(mark);
        // SAFETY: the row's bytes, so many of them, are there.
        let text = unsafe { self.tuple.t_data.cast::<u8>().add(length as usize) };
        let text = std::ptr::slice_from_raw_parts(text.cast_const(), mark.text as usize);
        RowPlace { start, number: start.number + u64::from(mark.own_inner), length: mark.length, text }
    }

    /// Rows that the threads have left out.
    pub(crate) fn filtered(&self) -> u64 {
        self.totals.filtered
    }

    /// The place behind the last record, once that was reached without the referee.
    pub(crate) fn end_place(&self) -> Option<Checkpoint> {
        (self.is_done && !self.ended_early).then_some(self.base)
    }

    /// Blocks that are kept are not needed any more.
    pub(crate) fn give_back(&mut self) {
        self.worker.consumer.give_back();
        self.worker.gave_back();
    }

    /// The next entry, its payload at `tuple.t_data` and of the given length; `None` at the end of the block.
    ///
    /// # Safety
    /// `this` must be alive.
    #[inline]
    unsafe fn next_payload(this: *mut Self) -> Option<(EntryKind, Mark, u32)> {
        // SAFETY: the caller's promise. The block is not given back before `advance`.
        unsafe {
            loop {
                let this = &mut *this;
                let (part, next) = entry::read(this.worker.consumer.block(), this.offset)?;
                this.offset = next;
                if part.more || this.joined_length > 0 {
                    let (kind, mark) = (part.kind, part.mark);
                    let (payload, more): (*const [u8], bool) = (part.payload, part.more);
                    this.join(&*payload, mark);
                    if more {
                        continue;
                    }
                    let length = std::mem::take(&mut this.joined_length) as u32;
                    this.tuple.t_data = this.joined.as_mut_ptr().cast();
                    this.is_joined = true;
                    return Some((kind, this.joined_mark.take().unwrap_or_default(), length));
                }
                this.tuple.t_data = part.payload.as_ptr().cast_mut().cast();
                this.is_joined = false;
                return Some((part.kind, part.mark.unwrap_or_default(), part.payload.len() as u32));
            }
        }
    }

    /// Adds a part of a payload to those before it.
    fn join(&mut self, part: &[u8], mark: Option<Mark>) {
        if self.joined_length == 0 {
            self.joined_mark = mark;
        }
        let length = self.joined_length + part.len();
        let words = length.div_ceil(size_of::<u64>());
        if words > self.joined.len() {
            let more = words - self.joined.len();
            if self.joined.try_reserve(more).is_err() {
                memory::raise_out_of_memory();
            }
            self.joined.resize(words, 0);
        }
        // SAFETY: the words hold at least `length` bytes, and the parts do not overlap.
        unsafe {
            let end = self.joined.as_mut_ptr().cast::<u8>().add(self.joined_length);
            end.copy_from_nonoverlapping(part.as_ptr(), part.len());
        }
        self.joined_length = length;
    }

    /// Puts the finished tuple at `tuple.t_data` into the slot.
    ///
    /// # Safety
    /// As for `next`.
    #[inline]
    unsafe fn store(this: *mut Self, slot: *mut pg_sys::TupleTableSlot, length: u32) {
        // SAFETY: the caller's promise; the tuple stays where it is until the next call.
        unsafe {
            (*this).tuple.t_len = length;
            let tuple = &raw mut (*this).tuple;
            match (*this).form {
                Form::Whole => {
                    pg_raw::ExecStoreHeapTuple(tuple, slot, false);
                }
                Form::Apart => {
                    pg_raw::clear_slot(slot);
                    let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
                    pg_raw::heap_deform_tuple(tuple, (*slot).tts_tupleDescriptor, values, nulls);
                    pg_raw::ExecStoreVirtualTuple(slot);
                }
                Form::Few => {
                    pg_raw::clear_slot(slot);
                    Self::find_few(this, slot, length);
                    pg_raw::ExecStoreVirtualTuple(slot);
                }
            }
        }
    }

    /// Takes the few attributes that are set out of the tuple.
    ///
    /// # Safety
    /// As for `next`.
    #[inline]
    unsafe fn find_few(this: *mut Self, slot: *mut pg_sys::TupleTableSlot, length: u32) {
        // SAFETY: the caller's promise. The slot has an element for each attribute, and values of up to 8 bytes are passed
        // by value, as PostgreSQL does where a Datum has 8.
        unsafe {
            let this = &mut *this;
            let tuple = std::slice::from_raw_parts(this.tuple.t_data.cast::<u8>(), length as usize);
            let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            if !std::mem::replace(&mut this.others_are_null, true) {
                let columns = (*(*slot).tts_tupleDescriptor).natts.unsigned_abs() as usize;
                std::slice::from_raw_parts_mut(nulls, columns).fill(true);
            }
            let wanted = &this.few[..];
            tuple::find(tuple, wanted, |place, found| {
                let (index, attribute) = wanted[place];
                *nulls.add(index) = found == Value::Null;
                if let Value::At(at) = found {
                    *values.add(index) = datum_at(tuple.as_ptr().add(at), attribute.length);
                }
            });
        }
    }

    /// Reads a record that travels as it is; false if there is no row in it after all.
    ///
    /// # Safety
    /// As for `next`; the record's bytes are at `tuple.t_data`.
    unsafe fn record_row(
        this: *mut Self,
        mark: Mark,
        length: u32,
        slot: *mut pg_sys::TupleTableSlot,
        expressions: *mut pg_sys::ExprContext,
    ) -> bool {
        // SAFETY: the caller's promise; the bytes and the feed stay where they are while the referee reads them.
        unsafe {
            let bytes = std::slice::from_raw_parts((*this).tuple.t_data.cast::<u8>(), length as usize);
            let place = (*this).place(mark);
            (*this).feed.set(bytes, place);
            let feed: NonNull<dyn Feed> = NonNull::from(&mut (*this).feed);
            Referee::restart((*this).referee, feed, place);
            Referee::fill((*this).referee, expressions, slot) == Some(true)
        }
    }

    /// Reads the next row of a segment with an anomaly; `None` if that is over, and the scan goes on.
    ///
    /// # Safety
    /// As for `next`.
    unsafe fn reread_row(
        this: *mut Self,
        slot: *mut pg_sys::TupleTableSlot,
        expressions: *mut pg_sys::ExprContext,
    ) -> Option<bool> {
        // SAFETY: the caller's promise.
        unsafe {
            Referee::settle((*this).referee);
            if let Some(next) = (*this).input.end_of_reread() {
                (*this).base = next;
                (*this).rereads = false;
                if (*this).is_done {
                    (*this).check_unchanged();
                }
                return None;
            }
            let found = Referee::fill((*this).referee, expressions, slot);
            if found == Some(false) {
                // COPY takes the data to end here: an end-of-data marker, or the end of a stream.
                (*this).rereads = false;
                (*this).ended_early = true;
                (*this).finish();
                (*this).check_unchanged();
                return Some(false);
            }
            if let Err(error) = (*this).input.step() {
                (*this).raise_read_error(&error);
            }
            found
        }
    }

    /// The awaited ticket's next block, or what to do at its end.
    ///
    /// # Errors
    /// If there turns out to be no worker, which has then done nothing.
    ///
    /// # Safety
    /// `this` must be alive; nothing with a destructor on the caller's frames.
    unsafe fn advance(this: *mut Self) -> Result<(), Refusal> {
        // SAFETY: the caller's promise. Where a filter removes everything, nobody else asks for a long time.
        let this = unsafe {
            pg_raw::check_for_interrupts();
            &mut *this
        };
        assert!(!this.panic.is_now(), "fault point backend-panic");
        if memory::ran_out() {
            memory::raise_out_of_memory();
        }
        let next = match this.worker.next() {
            Ok(next) => next,
            Err(Trouble::Refused(refusal)) => {
                if let Err(error) = this.worker.give_stream_back(&[], false) {
                    this.raise_read_error(&error);
                }
                return Err(refusal);
            }
            Err(Trouble::Read(error)) => this.raise_read_error(&error),
        };
        this.offset = 0;
        match next {
            Next::Finished(summary) => this.finish_ticket(&summary),
            Next::Block | Next::Nothing => {}
        }
        let ring = this.worker.consumer.ring();
        // Waking the threads for each block would cost more than it brings; with a few free they have work for a while.
        if ring.free_blocks() * 4 >= ring.geometry().blocks {
            this.worker.gave_back();
        }
        Ok(())
    }

    /// Adds up a finished ticket and turns to what its end asks for.
    fn finish_ticket(&mut self, summary: &Summary) {
        self.totals.ranges += 1;
        self.totals.wrong_guesses += u64::from(summary.wrong_guess);
        self.totals.declined += summary.declined;
        self.totals.filtered += summary.filtered;
        if summary.has_records {
            self.base.byte = summary.end;
            self.base.line += summary.lines;
            self.base.record += summary.records;
            self.base.number += summary.records + summary.inner;
        }
        if self.count_only {
            let elsewhere = if self.has_filter { summary.filtered + summary.declined } else { self.delivered };
            self.pending += summary.records - elsewhere;
            self.delivered = 0;
        }
        match summary.outcome {
            Outcome::Plain => {}
            Outcome::Anomaly => self.begin_reread(summary.is_last),
            Outcome::ReadError => self.raise_read_error(&io::Error::from_raw_os_error(summary.errno)),
            Outcome::Short => self.raise_read_error(&io::ErrorKind::UnexpectedEof.into()),
            Outcome::OutOfMemory => self.raise_read_error(&io::ErrorKind::OutOfMemory.into()),
            Outcome::Damaged => self.raise_damaged(),
        }
        // SAFETY: the referee lives as long as the scan.
        unsafe { Referee::report_position(self.referee, self.base.byte) };
        if summary.is_last {
            self.is_done = true;
            if !self.rereads {
                self.check_unchanged();
            }
        }
    }

    /// At the end: was what was read what the file held?
    fn check_unchanged(&self) {
        match self.input.change() {
            Ok(None) => {}
            // SAFETY: the referee lives as long as the scan.
            Ok(Some(Change::Overwritten)) => unsafe { Referee::raise_overwritten(self.referee) },
            Ok(Some(Change::Shorter)) => self.raise_read_error(&io::ErrorKind::UnexpectedEof.into()),
            Err(error) => self.raise_read_error(&error),
        }
    }

    /// The next row is a record that travels as it is, behind the rows without columns that come before it.
    fn hold(&mut self, mark: Mark, length: u32) {
        if self.count_only && !self.has_filter {
            self.pending = u64::from(mark.records) - self.delivered;
            self.delivered = u64::from(mark.records) + 1;
        }
        self.held = Some((mark, length));
    }

    /// What is left of the ticket's range or segment is read again.
    fn begin_reread(&mut self, is_last: bool) {
        self.totals.rereads += 1;
        self.rereads = true;
        let ticket = self.worker.consumer.ticket() - 1;
        match self.input.begin_reread(&mut self.worker, ticket, self.base, is_last) {
            // SAFETY: the referee lives as long as the scan, and the feed as long as this.
            Ok(feed) => unsafe { Referee::restart(self.referee, feed, self.base) },
            Err(error) => self.raise_read_error(&error),
        }
    }

    /// The place of a record of the awaited ticket.
    fn place(&self, mark: Mark) -> Checkpoint {
        Checkpoint {
            byte: mark.byte,
            line: self.base.line + u64::from(mark.lines),
            record: self.base.record + u64::from(mark.records),
            number: self.base.number + u64::from(mark.records) + u64::from(mark.inner),
            line_end: self.base.line_end,
        }
    }

    /// Nothing more is wanted of the worker.
    fn finish(&mut self) {
        self.is_done = true;
        self.worker.consumer.ring().stop();
        self.worker.wake();
    }

    /// Raises what is wrong with a compressed file; but one that was cut short meanwhile is not damaged.
    fn raise_damaged(&self) -> ! {
        if self.input.change().is_ok_and(|change| change == Some(Change::Shorter)) {
            self.raise_read_error(&io::ErrorKind::UnexpectedEof.into());
        }
        let detail = self.worker.damage();
        // SAFETY: the referee lives as long as the scan.
        unsafe { Referee::raise_damaged(self.referee, self.base, detail) }
    }

    /// Raises an error of reading, in the context of the first record that the awaited ticket lacks.
    fn raise_read_error(&self, error: &io::Error) -> ! {
        // SAFETY: the referee lives as long as the scan.
        unsafe { Referee::raise_read_error(self.referee, self.base, error) }
    }
}

/// The value at a place of a tuple.
///
/// # Safety
/// There must be one of that length, aligned as its type wants it.
#[inline]
unsafe fn datum_at(place: *const u8, length: Option<u16>) -> pg_sys::Datum {
    // SAFETY: the caller's promise.
    unsafe {
        match length {
            Some(8) => pg_sys::Datum::from(place.cast::<i64>().read()),
            Some(4) => pg_sys::Datum::from(place.cast::<i32>().read()),
            Some(2) => pg_sys::Datum::from(place.cast::<i16>().read()),
            Some(1) => pg_sys::Datum::from(place.cast::<i8>().read()),
            _ => pg_sys::Datum::from(place.expose_provenance()),
        }
    }
}

/// How rows go into the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As the tuple they are.
    Whole,
    /// Value by value, because somebody asks for system columns or the slot holds no heap tuples.
    Apart,
    /// Those few values that are set, one by one: cheaper than PostgreSQL's walk over all the others.
    Few,
}

/// The attributes that the job's rows have, in the table's order.
fn set_attributes(job: &Job) -> Vec<(usize, Attribute)> {
    let targets = job.fields.iter().filter_map(|field| field.target.as_ref()).map(|target| target.attribute);
    let targets = targets.chain(job.layout.constants.iter().map(|(attribute, _)| *attribute));
    let mut set: Vec<_> = targets.map(|attribute| (attribute, job.layout.attributes[attribute])).collect();
    set.sort_by_key(|(index, _)| *index);
    set
}
