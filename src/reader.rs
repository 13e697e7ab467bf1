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
mod item;
mod job;
mod mixed;
mod parallel;
mod telling;
mod turns;

use std::time::Instant;

use fastcsv_engine::filter::Filter;
use fastcsv_engine::job::Constant;
use pgrx::{PgMemoryContexts, pg_sys};

use crate::files;
use crate::last_run::Run;
use crate::referee::{Opening, Referee};
use crate::settings;
use crate::worker::Refusal;
pub(crate) use each::{Beyond, Files, Fixed};
pub(crate) use item::{Found, Item, RowPlace, Take, Wanted};
use job::Serial;
use telling::tell_serial;

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

/// Who reads.
enum Path {
    /// The referee, until it is known whether the rest is worth a worker.
    Undecided,
    /// The referee, for this reason.
    Serial(Serial),
    /// A worker. It is let go with the query's memory at the latest.
    Parallel(*mut Option<Parallel>),
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
}
