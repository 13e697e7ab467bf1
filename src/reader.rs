//! The rows of a file, in file order: PostgreSQL's own parser reads the first, and a worker the rest if it is worth
//! one.
//!
//! Foreign scans, counts and loads all read through a [`Reader`]. It decides behind the first row who reads on:
//!
//! * the **referee**, PostgreSQL's COPY parser in this process ([`crate::referee`]): what is small, what only COPY
//!   knows how to read, and where no worker can be had;
//! * a **worker** with its threads ([`parallel`], [`job`]), else.
//!
//! Where there are several files they are read one after the other, each as if it were the only one ([`each`]); what is
//! made for one lives in memory of its own.
//!
//! By then COPY has checked everything it checks before it reads, has opened the file, and has read the header, all
//! with its own errors; and a query that wants one row has not started a process for it.

#![expect(unsafe_code, reason = "lives in PostgreSQL's memory and fills its slots")]

mod by_name;
pub(crate) mod constant;
mod each;
mod input;
mod job;
mod mixed;
mod parallel;
mod turns;

use std::time::Instant;

use fastcsv_engine::filter::Filter;
use fastcsv_engine::job::{Constant, Io};
use fastcsv_engine::locate::Checkpoint;
use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, pg_sys};

use crate::files;
use crate::last_run::{self, Run};
use crate::options::report;
use crate::referee::{Opening, Referee, shim};
use crate::settings;
use crate::worker::Refusal;
pub(crate) use each::{Beyond, Files, Fixed};
use job::Serial;

pub(crate) use job::{Origin, survey as survey_job};
use parallel::{Parallel, Start};

/// A read in progress, in the memory of its query. It owns nothing with a destructor but through `parallel`, whose
/// destructor runs when that memory goes; PostgreSQL closes the file at abort, and [`Reader::end`] does so otherwise.
pub(crate) struct Reader {
    opening: Opening,
    /// The files' names, where there are several, and which of them is being read.
    names: *mut pg_sys::List,
    file: i32,
    wanted: Wanted,
    /// The memory that lives as long as the query, and that of the file that is being read.
    query_memory: pg_sys::MemoryContext,
    memory: pg_sys::MemoryContext,
    referee: *mut Referee,
    /// Where DEFAULT values are computed.
    expressions: *mut pg_sys::ExprContext,
    /// Rows of the file that were delivered, or counted.
    rows: u64,
    path: Path,
    started: Option<Instant>,
    /// What the files before came to.
    done: Run,
}

/// What is wanted of the rows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// Whether only the number of rows matters.
    pub(crate) count_only: bool,
    /// Whether a row is taken apart into the slot's values: for slots that do not hold heap tuples, and queries that
    /// ask for system columns.
    pub(crate) takes_apart: bool,
    /// Whether the place of each row is wanted too.
    pub(crate) places: bool,
    /// How the threads read a file.
    pub(crate) io: Io,
}

/// Who reads.
enum Path {
    /// The referee, until it is known whether the rest is worth a worker.
    Undecided,
    /// The referee, for this reason.
    Serial(Serial),
    /// A worker. It is let go with the query's memory at the latest.
    Parallel(*mut Option<Parallel>),
}

/// What [`Reader::next`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A row, in the slot.
    Row,
    /// So many rows at once, of which only the number is told.
    Rows(u64),
    /// The end.
    End,
}

/// What [`Reader::next_item`] found.
#[derive(Clone, Copy)]
pub(crate) enum Item {
    /// A finished tuple of the relation's row type.
    Tuple {
        data: pg_sys::HeapTupleHeader,
        length: u32,
        place: RowPlace,
        /// Whether it stays where it is until [`Reader::give_back`]; otherwise until the next call.
        is_lasting: bool,
    },
    /// A row, in the slot; its values live until the next call. The referee knows the place of those that come without.
    InSlot { place: Option<RowPlace> },
    /// No more can be read before [`Reader::give_back`].
    Full,
    /// The end of a file. Another follows behind [`Reader::next_file`], before which no slot may hold a row any more.
    EndOfFile,
    /// The end.
    End,
}

/// What becomes of a row that [`Reader::finished_rows`] offers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// It is taken.
    Taken,
    /// It is taken, and no other is wanted now.
    Last,
    /// It is not taken; [`Reader::next_item`] finds it again.
    Refused,
}

/// The place of a row, as COPY's messages tell it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPlace {
    /// Where its record starts.
    pub(crate) start: Checkpoint,
    /// COPY's counter once it has read the record.
    pub(crate) number: u64,
    /// Bytes of the record in the server's encoding, without its line end.
    pub(crate) length: u32,
    /// The beginning of the record as it stands in the file, if that cannot be read again; lives as long as the row.
    pub(crate) text: *const [u8],
}

impl Reader {
    /// Opens the source. The current memory context must be the query's.
    ///
    /// # Errors
    /// Raises COPY's errors of options and of opening.
    ///
    /// # Safety
    /// As for [`Referee::open`].
    pub(crate) unsafe fn open(opening: &Opening, wanted: Wanted) -> *mut Reader {
        // SAFETY: the caller's promise.
        unsafe {
            let reader: *mut Reader = pg_sys::palloc(size_of::<Reader>()).cast();
            settings::fault().begin_in_backend();
            let names = match opening.beyond.files {
                Files::ToBeFound => files::names_of(opening.source),
                Files::Named(names) => names,
                Files::One => std::ptr::null_mut(),
            };
            reader.write(Reader {
                opening: *opening,
                names,
                file: 0,
                wanted,
                query_memory: pg_sys::CurrentMemoryContext,
                memory: pg_sys::CurrentMemoryContext,
                referee: std::ptr::null_mut(),
                expressions: std::ptr::null_mut(),
                rows: 0,
                path: Path::Undecided,
                started: None,
                done: Run::default(),
            });
            Self::check_files(reader);
            Self::open_file(reader);
            reader
        }
    }

    /// What was opened.
    pub(crate) fn opening(&self) -> Opening {
        self.opening
    }

    /// Memory that lives as long as the file that is being read.
    pub(crate) fn file_memory(&self) -> pg_sys::MemoryContext {
        self.memory
    }

    /// Is the next call of [`Reader::next`] the one that may start a worker? It then needs the filter. For a stream,
    /// whose size nobody knows, that is when so much has come that the rest may be worth it.
    pub(crate) fn is_undecided(&self) -> bool {
        matches!(self.path, Path::Undecided) && self.rows > 0 && !self.is_small_stream()
    }

    /// Is it a stream of which less has come yet than a worker is started for?
    fn is_small_stream(&self) -> bool {
        // SAFETY: the referee and its stream live as long as the reader.
        unsafe {
            let stream = Referee::stream(self.referee);
            !stream.is_null() && (*stream).received().max((*stream).file_size()) < settings::min_parallel_size()
        }
    }

    /// Decides who reads on behind the first row; the threads are handed the filter, and the values of attributes that
    /// are the same in every row and not in the file.
    ///
    /// # Safety
    /// `this` must be alive and undecided.
    pub(crate) unsafe fn decide(this: *mut Self, filter: Option<Filter>, mut constants: Vec<(usize, Constant)>) {
        // SAFETY: the caller's promise. The parallel part is dropped with the query's memory.
        unsafe {
            let caller = pg_sys::MemoryContextSwitchTo((*this).memory);
            let wanted = (*this).wanted;
            let (relation, referee) = ((*this).opening.relation, (*this).referee);
            let fixed = Referee::fixed((*this).referee).iter();
            constants.extend(fixed.filter_map(|fixed| fixed.constant(relation)));
            let start = Start { referee, relation, wanted, filter, constants };
            (*this).path = match Parallel::start(&start) {
                Ok(parallel) => {
                    let mut memory = PgMemoryContexts::For((*this).memory);
                    Path::Parallel(memory.leak_and_drop_on_delete(Some(parallel)))
                }
                Err(reason) => {
                    tell_serial(reason);
                    Path::Serial(reason)
                }
            };
            pg_sys::MemoryContextSwitchTo(caller);
        }
    }

    /// Puts the next row into the slot, and empties it at the end, behind the last file. Rows come as numbers only
    /// where that is all that is wanted.
    ///
    /// # Errors
    /// Raises the error COPY raises for this row.
    ///
    /// # Safety
    /// `this` must be alive, the slot be for the relation's rows, and nothing with a destructor be alive on
    /// the caller's frames. The row lives until the next call.
    pub(crate) unsafe fn next(this: *mut Self, slot: *mut pg_sys::TupleTableSlot) -> Found {
        // SAFETY: the caller's promise.
        unsafe {
            loop {
                match Self::next_of_file(this, slot) {
                    Found::End if (*this).has_next_file() => Self::next_file(this),
                    found => return found,
                }
            }
        }
    }

    /// As [`Reader::next`], but for the end, which is that of the file.
    ///
    /// # Safety
    /// As for `next`.
    unsafe fn next_of_file(this: *mut Self, slot: *mut pg_sys::TupleTableSlot) -> Found {
        // SAFETY: the caller's promise.
        unsafe {
            let expressions = (*this).expressions;
            let found = match (*this).path {
                Path::Parallel(parallel) => {
                    let found = Parallel::next(Self::at_work(parallel), slot, expressions);
                    match found {
                        Ok(found) => found,
                        Err(refusal) => {
                            Self::go_on_serially(this, refusal);
                            Self::next_serial(this, slot, expressions)
                        }
                    }
                }
                Path::Undecided | Path::Serial(_) => Self::next_serial(this, slot, expressions),
            };
            (*this).rows += match found {
                Found::Row => 1,
                Found::Rows(rows) => rows,
                Found::End => 0,
            };
            found
        }
    }

    /// As [`Reader::next`], but a tuple is not put into the slot: who collects rows has slots of their own.
    ///
    /// # Errors
    /// As for `next`.
    ///
    /// # Safety
    /// As for `next`. Tuples that are lasting stay where they are until [`Reader::give_back`].
    pub(crate) unsafe fn next_item(this: *mut Self, slot: *mut pg_sys::TupleTableSlot) -> Item {
        // SAFETY: the caller's promise.
        unsafe {
            let expressions = (*this).expressions;
            let item = match (*this).path {
                Path::Parallel(parallel) => {
                    let item = Parallel::next_item(Self::at_work(parallel), slot, expressions);
                    match item {
                        Ok(item) => item,
                        Err(refusal) => {
                            Self::go_on_serially(this, refusal);
                            Self::next_serial_item(this, slot, expressions)
                        }
                    }
                }
                Path::Undecided | Path::Serial(_) => Self::next_serial_item(this, slot, expressions),
            };
            (*this).rows += u64::from(matches!(item, Item::InSlot { .. } | Item::Tuple { .. }));
            match item {
                Item::End if (*this).has_next_file() => Item::EndOfFile,
                item => item,
            }
        }
    }

    /// Offers the finished rows that come next, which stay where they are until [`Reader::give_back`]: the tuple, its
    /// length, COPY's number of the row, and the bytes of its line. Returns the place of the last that was taken.
    ///
    /// # Safety
    /// `this` must be alive.
    #[inline]
    pub(crate) unsafe fn finished_rows(
        this: *mut Self,
        take: impl FnMut(pg_sys::HeapTupleHeader, u32, u64, u64) -> Take,
    ) -> Option<RowPlace> {
        // SAFETY: the caller's promise.
        unsafe {
            let Path::Parallel(parallel) = (*this).path else { return None };
            let (rows, place) = (*parallel).as_mut()?.finished_rows(take);
            (*this).rows += rows;
            place
        }
    }

    /// The rows collected so far are not needed any more.
    ///
    /// # Safety
    /// `this` must be alive.
    pub(crate) unsafe fn give_back(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Path::Parallel(parallel) = (*this).path
                && let Some(parallel) = &mut *parallel
            {
                parallel.give_back();
            }
        }
    }

    /// The referee, which knows the place of rows that come without one.
    pub(crate) fn referee(&self) -> *mut Referee {
        self.referee
    }

    /// Tells the progress view of rows that were loaded, and of those that a condition has refused, besides what the
    /// threads have left out.
    ///
    /// # Safety
    /// `this` must be alive.
    pub(crate) unsafe fn report_rows(this: *mut Self, loaded: u64, refused: u64) {
        // SAFETY: counters in shared memory.
        unsafe {
            let update = |number: u32, value: u64| {
                pg_sys::pgstat_progress_update_param(number.cast_signed(), value.cast_signed());
            };
            update(pg_sys::PROGRESS_COPY_TUPLES_PROCESSED, loaded);
            update(pg_sys::PROGRESS_COPY_TUPLES_EXCLUDED, refused + (*this).filtered());
            shim::fastcsv_shim_count_skipped(Referee::copy((*this).referee));
        }
    }

    /// Rows that the threads have left out.
    fn filtered(&self) -> u64 {
        let of_file = match self.path {
            // SAFETY: the parallel part lives as long as the reader.
            Path::Parallel(parallel) => unsafe { &*parallel }.as_ref().map_or(0, Parallel::filtered),
            Path::Undecided | Path::Serial(_) => 0,
        };
        self.done.filtered + of_file
    }

    /// The place behind the last record, if the referee has not come there itself.
    pub(crate) fn end_place(&self) -> Option<Checkpoint> {
        match self.path {
            // SAFETY: as above.
            Path::Parallel(parallel) => unsafe { &*parallel }.as_ref().and_then(Parallel::end_place),
            Path::Undecided | Path::Serial(_) => None,
        }
    }

    /// Reads the next row with the referee.
    ///
    /// # Safety
    /// As for `next`. What a row's values are made of lives until the next row: in the expressions' per-tuple memory.
    unsafe fn next_serial(
        this: *mut Self,
        slot: *mut pg_sys::TupleTableSlot,
        expressions: *mut pg_sys::ExprContext,
    ) -> Found {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).started.get_or_insert_with(Instant::now);
            loop {
                match Referee::fill((*this).referee, expressions, slot) {
                    Some(true) => return Found::Row,
                    Some(false) => return Found::End,
                    None => {}
                }
            }
        }
    }

    /// As `next_serial`.
    ///
    /// # Safety
    /// As for `next_serial`.
    unsafe fn next_serial_item(
        this: *mut Self,
        slot: *mut pg_sys::TupleTableSlot,
        expressions: *mut pg_sys::ExprContext,
    ) -> Item {
        // SAFETY: the caller's promise.
        match unsafe { Self::next_serial(this, slot, expressions) } {
            Found::Row | Found::Rows(_) => Item::InSlot { place: None },
            Found::End => Item::End,
        }
    }

    /// The parallel part of a read that has not ended.
    ///
    /// # Safety
    /// `parallel` must be the reader's.
    unsafe fn at_work(parallel: *mut Option<Parallel>) -> *mut Parallel {
        // SAFETY: the caller's promise.
        unsafe { (*parallel).as_mut().expect("a read that has not ended") }
    }

    /// The worker could not begin. The referee still is where it was when the worker was asked for.
    ///
    /// # Safety
    /// `this` must be alive and parallel.
    #[cold]
    unsafe fn go_on_serially(this: *mut Self, refusal: Refusal) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Path::Parallel(parallel) = (*this).path {
                (*parallel).take();
            }
            tell_serial(refusal.reason());
            (*this).path = Path::Serial(refusal.reason());
        }
    }

    /// What the read has done so far; `None` if it has not begun.
    pub(crate) fn run(&self, operation: &'static str) -> Option<Run> {
        let run = Run { operation, rows: self.rows, time: self.started?.elapsed(), path: "serial", ..Run::default() };
        let run = match self.path {
            Path::Undecided if self.is_small_stream() => Run { reason: Some(SMALL_STREAM), ..run },
            Path::Undecided => run,
            Path::Serial(reason) => Run { reason: Some(reason), ..run },
            // SAFETY: the parallel part lives as long as the reader.
            Path::Parallel(parallel) => match unsafe { &*parallel } {
                Some(parallel) => parallel.add_to(run),
                None => run,
            },
        };
        Some(if self.file == 0 { run } else { run.behind(&self.done) })
    }

    /// Ends the read: tells `fastcsv_last_run()`, and of a scan how many rows it has passed over (a load has told it
    /// before), stops the worker and closes the file.
    ///
    /// # Errors
    /// Raises COPY's error when a program failed.
    ///
    /// # Safety
    /// `this` must be alive and is not used again; no slot may hold a row of it.
    pub(crate) unsafe fn end(this: *mut Self, operation: &'static str) {
        // SAFETY: the caller's promise.
        unsafe {
            if operation == "scan" {
                Referee::report_skipped((*this).referee, false);
            }
            Self::end_as(this, (*this).run(operation));
        }
    }

    /// As [`Reader::end`], with the run as the caller tells it.
    ///
    /// # Errors
    /// As for `end`.
    ///
    /// # Safety
    /// As for `end`.
    pub(crate) unsafe fn end_as(this: *mut Self, run: Option<Run>) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(run) = run {
                last_run::note(run);
            }
            Self::end_file(this);
        }
    }
}

/// Why a stream is read serially from its start to its end.
const SMALL_STREAM: Serial = "the input is smaller than fastcsv.min_parallel_size";

/// Tells whoever wants to know why a file is read serially.
fn tell_serial(reason: Serial) {
    // SAFETY: looks at settings.
    if !unsafe { pg_sys::message_level_is_interesting(pg_sys::DEBUG1.cast_signed()) } {
        return;
    }
    let message = format!("fastcsv reads serially: {reason}");
    report(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message).report(PgLogLevel::DEBUG1);
}
