//! `fastcsv_rows`: the rows of the load that goes on, as a set, for the statement that the load runs
//! ([`super::planned`]).
//!
//! The function hands out one row a call, as PostgreSQL's executor asks for them where a set-returning function stands
//! in a SELECT's list. It takes the row type it returns from its argument, which is a NULL of the table's type. What it
//! reads is the innermost load that goes on in this session: a trigger may load another table meanwhile.
//!
//! While a row is read, the error contexts are COPY's; while it is inserted they are not, because nobody knows how many
//! rows those who insert them are behind.

#![expect(unsafe_code, reason = "answers PostgreSQL's executor, which passes pointers")]

use std::cell::RefCell;

use pgrx::prelude::*;
use pgrx::{PgMemoryContexts, pg_sys};

use super::context::LineContext;
use super::defaults::Defaults;
use super::table::evaluate;
use crate::call::Call;
use crate::last_run::Run;
use crate::options::{raise, report};
use crate::pg_raw;
use crate::reader::{Item, Reader, Wanted};
use crate::referee::{Opening, Referee};

/// Incoming between two reports of progress.
const REPORTED: u64 = 1000;

thread_local! {
    /// The loads of this session that read through here, the innermost last. PostgreSQL has one thread.
    static ACTIVE: RefCell<Vec<*mut Incoming>> = const { RefCell::new(Vec::new()) };
}

/// The rows of one load. Lives in PostgreSQL's memory, and owns nothing with a destructor.
pub(super) struct Incoming {
    relation: pg_sys::Relation,
    reader: *mut Reader,
    context: *mut LineContext,
    defaults: Defaults,
    condition: *mut pg_sys::ExprState,
    executor: *mut pg_sys::EState,
    slot: *mut pg_sys::TupleTableSlot,
    memory: pg_sys::MemoryContext,
    /// Whether a statement reads from here already.
    is_taken: bool,
    handed_out: u64,
    excluded: u64,
}

/// What [`Incoming::read`] has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    /// A row, in the slot.
    Row,
    /// The end of a file, behind which there is another.
    File,
    /// The end.
    End,
}

/// Takes a load off the list when its memory goes, however that comes.
struct Listed(*mut Incoming);

impl Drop for Listed {
    fn drop(&mut self) {
        ACTIVE.with(|active| active.borrow_mut().retain(|rows| *rows != self.0));
    }
}

/// `fastcsv_rows(anyelement)`: the next row of the load that goes on.
pub(crate) fn next_row(call: &Call) -> pg_sys::Datum {
    // SAFETY: the frame is that of a call in progress, and a load on the list is alive. Nothing here has a destructor.
    unsafe {
        let frame = call.frame();
        let result = (*frame).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        let rows = ACTIVE.with(|active| active.borrow().last().copied()).unwrap_or(std::ptr::null_mut());
        let mode = pg_sys::SetFunctionReturnMode::SFRM_ValuePerCall;
        let takes_sets = !result.is_null()
            && (*result).type_ == pg_sys::NodeTag::T_ReturnSetInfo
            && (*result).allowedModes as u32 & mode != 0;
        if rows.is_null() || !takes_sets || !Incoming::serves(rows, frame) {
            raise(report(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "fastcsv_rows can be called by fastcsv_copy alone",
            ));
        }
        (*result).returnMode = mode;
        match Incoming::next(rows) {
            Some(row) => {
                (*result).isDone = pg_sys::ExprDoneCond::ExprMultipleResult;
                row
            }
            None => {
                (*result).isDone = pg_sys::ExprDoneCond::ExprEndResult;
                call.null()
            }
        }
    }
}

impl Incoming {
    /// Opens the file and lets `fastcsv_rows` read it from now on.
    ///
    /// # Errors
    /// Raises COPY's errors of options and of opening.
    ///
    /// # Safety
    /// The opening must be one that `prepare` made; the current memory context must last as long as the load; nothing
    /// with a destructor on the caller's frames.
    pub(super) unsafe fn open(opening: &Opening) -> *mut Incoming {
        // SAFETY: the caller's promise.
        unsafe {
            let reader = Reader::open(opening, Wanted { places: true, ..Wanted::default() });
            let referee = (*reader).referee();
            let executor = pg_sys::CreateExecutorState();
            let context: *mut LineContext = pg_sys::palloc(size_of::<LineContext>()).cast();
            context.write(LineContext::new(referee));
            let relation = opening.relation;
            let rows: *mut Incoming = pg_sys::palloc(size_of::<Incoming>()).cast();
            rows.write(Incoming {
                relation,
                reader,
                context,
                defaults: Defaults::of(opening, referee),
                condition: pg_sys::ExecInitQual(opening.condition, std::ptr::null_mut()),
                executor,
                slot: pg_sys::MakeSingleTupleTableSlot((*relation).rd_att, &raw const pg_sys::TTSOpsVirtual),
                memory: pg_sys::CurrentMemoryContext,
                is_taken: false,
                handed_out: 0,
                excluded: 0,
            });
            ACTIVE.with(|active| active.borrow_mut().push(rows));
            PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(Listed(rows));
            rows
        }
    }

    /// Is this call the load's own? Its argument is of the table's row type, and there is one statement for each load.
    ///
    /// # Safety
    /// Both must be alive.
    unsafe fn serves(this: *mut Incoming, frame: pg_sys::FunctionCallInfo) -> bool {
        // SAFETY: the caller's promise. The function manager keeps `fn_extra` for the function from call to call.
        unsafe {
            let function = (*frame).flinfo;
            if (*function).fn_extra.cast() == this {
                return true;
            }
            let row_type = (*(*(*this).relation).rd_rel).reltype;
            if (*this).is_taken || pg_sys::get_fn_expr_argtype(function, 0) != row_type {
                return false;
            }
            (*this).is_taken = true;
            (*function).fn_extra = this.cast();
            true
        }
    }

    /// The next row that is to be loaded, as a value of the table's row type in the current memory context; `None`
    /// behind the last.
    ///
    /// # Errors
    /// Raises COPY's errors.
    ///
    /// # Safety
    /// `this` must be alive; nothing with a destructor on the caller's frames.
    unsafe fn next(this: *mut Incoming) -> Option<pg_sys::Datum> {
        // SAFETY: the caller's promise. The contexts are taken off on success only.
        unsafe {
            let caller = pg_sys::MemoryContextSwitchTo((*this).memory);
            let found = loop {
                let referee = (*(*this).reader).referee();
                Referee::enter_load(referee);
                LineContext::push((*this).context);
                let read = Self::read(this);
                LineContext::pop((*this).context);
                Referee::leave_load(referee);
                match read {
                    Read::Row => break true,
                    Read::End => break false,
                    Read::File => Self::next_file(this),
                }
            };
            let referee = (*(*this).reader).referee();
            pg_sys::MemoryContextSwitchTo(caller);
            if found {
                (*this).handed_out += 1;
            }
            if !found {
                Referee::report_skipped(referee, true);
            }
            if !found || (*this).handed_out.is_multiple_of(REPORTED) {
                Self::report_progress(this);
            }
            found.then(|| pg_raw::ExecFetchSlotHeapTupleDatum((*this).slot))
        }
    }

    /// Reads the next row of the file that is to be loaded into the slot.
    ///
    /// # Safety
    /// As for `next`.
    unsafe fn read(this: *mut Incoming) -> Read {
        // SAFETY: the caller's promise.
        unsafe {
            let (slot, context) = ((*this).slot, (*this).context);
            let expressions = super::table::per_tuple_expressions((*this).executor);
            loop {
                pg_raw::check_for_interrupts();
                pg_sys::MemoryContextReset((*expressions).ecxt_per_tuple_memory);
                LineContext::reading(context);
                Self::decide(this);
                match Reader::next_item((*this).reader, slot) {
                    Item::Tuple { data, length, place, .. } => {
                        LineContext::row(context, place);
                        Self::take_apart(this, data, length);
                        (*this).defaults.fill(slot, expressions);
                    }
                    Item::InSlot { place: Some(place) } => {
                        LineContext::row(context, place);
                        (*this).defaults.fill(slot, expressions);
                    }
                    Item::InSlot { place: None } => {
                        let (_, read) = Referee::views((*(*this).reader).referee());
                        LineContext::referee_row(context, read.line_number);
                    }
                    Item::Full => {
                        Reader::give_back((*this).reader);
                        continue;
                    }
                    Item::EndOfFile => return Read::File,
                    Item::End => return Read::End,
                }
                (*slot).tts_tableOid = (*(*this).relation).rd_id;
                (*expressions).ecxt_scantuple = slot;
                if (*this).condition.is_null()
                    || evaluate((*this).condition, expressions).is_some_and(|value| value.value() != 0)
                {
                    return Read::Row;
                }
                (*this).excluded += 1;
            }
        }
    }

    /// Goes on with the next file.
    ///
    /// # Safety
    /// As for `next`; no context of the load may be on the stack.
    unsafe fn next_file(this: *mut Incoming) {
        // SAFETY: the caller's promise.
        unsafe {
            pg_raw::clear_slot((*this).slot);
            let reader = (*this).reader;
            Reader::next_file(reader);
            let referee = (*reader).referee();
            let caller = pg_sys::MemoryContextSwitchTo((*reader).file_memory());
            (*this).defaults = Defaults::of(&(*reader).opening(), referee);
            pg_sys::MemoryContextSwitchTo(caller);
            LineContext::turn_to((*this).context, referee);
        }
    }

    /// Behind the first row: who reads on?
    ///
    /// # Safety
    /// As for `next`.
    unsafe fn decide(this: *mut Incoming) {
        // SAFETY: the caller's promise.
        unsafe {
            if (*(*this).reader).is_undecided() {
                (*this).defaults.settle((*this).relation, (*this).executor);
                let filter = (*this).defaults.filter();
                Reader::decide((*this).reader, filter, (*this).defaults.constants());
            }
        }
    }

    /// Puts a finished tuple's values into the slot.
    ///
    /// # Safety
    /// As for `next`; the tuple must be of the table's row type.
    unsafe fn take_apart(this: *mut Incoming, data: pg_sys::HeapTupleHeader, length: u32) {
        // SAFETY: the caller's promise; nothing but length and place of the tuple is looked at.
        unsafe {
            let slot = (*this).slot;
            let mut tuple: pg_sys::HeapTupleData = std::mem::zeroed();
            (tuple.t_len, tuple.t_data) = (length, data);
            pg_raw::clear_slot(slot);
            let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            pg_raw::heap_deform_tuple(&mut tuple, (*slot).tts_tupleDescriptor, values, nulls);
            pg_raw::ExecStoreVirtualTuple(slot);
        }
    }

    /// # Safety
    /// As for `next`.
    unsafe fn report_progress(this: *mut Incoming) {
        // SAFETY: the caller's promise.
        unsafe { Reader::report_rows((*this).reader, (*this).handed_out, (*this).excluded) }
    }

    /// What reading has come to.
    ///
    /// # Safety
    /// `this` must be alive.
    pub(super) unsafe fn done(this: *mut Incoming) -> Run {
        // SAFETY: the caller's promise.
        unsafe { (*(*this).reader).run("load").unwrap_or_default() }
    }

    /// Closes the file, and tells `fastcsv_last_run()` of the run.
    ///
    /// # Errors
    /// As for [`Reader::end`].
    ///
    /// # Safety
    /// The statement that read from here must have ended; `this` is not used again.
    pub(super) unsafe fn end(this: *mut Incoming, run: Run) {
        // SAFETY: the caller's promise.
        unsafe {
            ACTIVE.with(|active| active.borrow_mut().retain(|rows| *rows != this));
            pg_sys::ExecDropSingleTupleTableSlot((*this).slot);
            Reader::end_as((*this).reader, Some(run));
            pg_sys::FreeExecutorState((*this).executor);
        }
    }
}
