//! The backend's part of a parallel scan: blocks in ticket order into slots, and the reread rule.
//!
//! The scan keeps the place it has come to ([`Checkpoint`]): each finished ticket adds its counts. So when something
//! has to be read by COPY's own parser, its line number, and the place in the file, are known exactly:
//!
//! * a record that travels as it is (a declined value, a wrong number of fields) is read by the referee from its own
//!   bytes;
//! * behind an anomaly the referee reads the input itself ([`super::input`]), from that record up to the end of the
//!   ticket's range or segment. If it met no error, the scan goes on with the next ticket.
//!
//! How entries become rows in slots is in [`payload`], how tickets follow each other in [`ticket`].
//!
//! **Nothing here has a destructor on its frames**: the referee's errors jump over them.

#![expect(unsafe_code, reason = "hands tuples in shared memory to the executor")]

mod payload;
mod ticket;

use std::ptr::NonNull;

use fastcsv_engine::entry::{EntryKind, Mark};
use fastcsv_engine::filter::Filter;
use fastcsv_engine::job::{Attribute, Constant, Job, Output};
use fastcsv_engine::locate::Checkpoint;
use pgrx::pg_sys;

use super::input::Input;
use super::job::{self, Serial, Wanted};
use super::mixed::Mixed;
use super::{Found, Item, RowPlace};
use crate::fault::{Countdown, Point};
use crate::file::RecordFeed;
use crate::last_run::Run;
use crate::pg_raw;
use crate::referee::{Feed, Referee};
use crate::worker::{Refusal, Worker};
use payload::{Form, set_attributes};

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
        // SAFETY: the relation is open; an invalid item pointer and a null tuple are what there is before the first
        // row.
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
                if let Some(length) = (*this).plain_row() {
                    Self::store(this, slot, length);
                    return Ok(Found::Row);
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
    /// As [`super::Reader::next_item`]. Behind the end, or before a held record, rows that are only counted may be
    /// pending.
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
        RowPlace { start, number: self.number_behind(mark), length: mark.length, text }
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
}
