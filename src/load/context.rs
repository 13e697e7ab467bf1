//! What COPY's error context shows while rows are inserted: found out when an error is being reported, not before.
//!
//! While COPY loads, its state always knows the line of the row at hand and the line's text. Here rows come finished,
//! and telling COPY's state of each would cost more than most rows' insertion. So the place of the row at hand is only
//! kept, and a callback that lies above COPY's own on PostgreSQL's stack of error contexts tells COPY's state when
//! there is an error. The line's text is read from the file again for that; a stream's rows come with the beginning of
//! their lines.

#![expect(unsafe_code, reason = "an error context callback, called by PostgreSQL with a pointer")]

use std::ffi::c_void;
use std::os::fd::RawFd;

use fastcsv_engine::locate::Checkpoint;
use fastcsv_engine::pipeline::ReadAt;
use pgrx::{pg_guard, pg_sys};

use crate::encoding;
use crate::file::Borrowed;
use crate::memory;
use crate::position::Places;
use crate::reader::RowPlace;
use crate::referee::{Referee, shim};

/// The context; must stay where it is while it is on the stack.
pub(super) struct LineContext {
    callback: pg_sys::ErrorContextCallback,
    referee: *mut Referee,
    descriptor: RawFd,
    encoding: i32,
    state: State,
    /// COPY's counter after the row read last.
    number: u64,
    /// Whether COPY's context shows the value it shows now in whatever is left to be done.
    keeps_value: bool,
    before_flush: State,
}

/// What is going on.
#[derive(Clone, Copy)]
enum State {
    /// COPY's parser reads, or has read the row at hand: its state knows.
    Read,
    /// A row that came finished is at hand.
    Row(RowPlace),
    /// Collected rows are written; COPY shows the line its reader is at, without its text.
    Writing,
    /// Collected rows are sent to a foreign table, which does not tell which of them is to blame.
    Sending,
    /// What follows a row's insertion, by its number; without text.
    Finishing(u64),
}

impl LineContext {
    /// # Safety
    /// The referee must outlive this.
    pub(super) unsafe fn new(referee: *mut Referee) -> LineContext {
        // SAFETY: the caller's promise.
        let (view, _) = unsafe { Referee::views(referee) };
        let callback = pg_sys::ErrorContextCallback {
            previous: std::ptr::null_mut(),
            callback: Some(tell_copy),
            arg: std::ptr::null_mut(),
        };
        let (descriptor, encoding) = (view.descriptor, view.encoding);
        let (state, before_flush) = (State::Read, State::Read);
        LineContext { callback, referee, descriptor, encoding, state, number: 0, keeps_value: false, before_flush }
    }

    /// From now on it is about another file's referee.
    ///
    /// # Safety
    /// `this` must be alive and not on the stack; the referee must outlive it, or what it is turned to next.
    pub(super) unsafe fn turn_to(this: *mut Self, referee: *mut Referee) {
        // SAFETY: the caller's promise.
        unsafe { this.write(Self::new(referee)) }
    }

    /// Puts it on top of the stack.
    ///
    /// # Safety
    /// It must stay where it is until it is popped; COPY's context must lie on top.
    pub(super) unsafe fn push(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).callback.previous = pg_sys::error_context_stack;
            (*this).callback.arg = this.cast();
            pg_sys::error_context_stack = &raw mut (*this).callback;
        }
    }

    /// Takes it off again.
    ///
    /// # Safety
    /// It must be on top.
    pub(super) unsafe fn pop(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { pg_sys::error_context_stack = (*this).callback.previous }
    }

    /// The next row is being read.
    ///
    /// # Safety
    /// `this` must be alive; likewise for the following.
    #[inline]
    pub(super) unsafe fn reading(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { (*this).state = State::Read }
    }

    /// A row that came finished is at hand.
    ///
    /// # Safety
    /// As above.
    #[inline]
    pub(super) unsafe fn row(this: *mut Self, place: RowPlace) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).state = State::Row(place);
            (*this).number = place.number;
        }
    }

    /// A row that the referee has read is at hand, with COPY's number.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn referee_row(this: *mut Self, number: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).state = State::Read;
            (*this).number = number;
        }
    }

    /// The input has ended, with COPY's counter there. The value that COPY's context shows now is to be kept if the
    /// last record was passed over: COPY goes on to show what was wrong in it.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn at_end(this: *mut Self, number: u64, keeps_value: bool) {
        // SAFETY: the caller's promise.
        unsafe { ((*this).number, (*this).keeps_value) = (number, keeps_value) }
    }

    /// Collected rows are about to be written.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn writing(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).before_flush = (*this).state;
            (*this).state = State::Writing;
        }
    }

    /// Collected rows are about to be sent to a foreign table.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn sending(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (*this).before_flush = (*this).state;
            (*this).state = State::Sending;
        }
    }

    /// One of them has been written, and its indexes and triggers have their turn.
    ///
    /// # Safety
    /// As above.
    #[inline]
    pub(super) unsafe fn finishing(this: *mut Self, number: u64) {
        // SAFETY: the caller's promise.
        unsafe { (*this).state = State::Finishing(number) }
    }

    /// All is written; the row at hand is again the one before.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn written(this: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { (*this).state = (*this).before_flush }
    }

    /// Tells COPY's state where we are.
    ///
    /// # Safety
    /// The referee must be alive.
    unsafe fn tell(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            let copy = Referee::copy(self.referee);
            match self.state {
                State::Read => {}
                State::Row(place) => {
                    Referee::point_at(self.referee, place.start, self.places().unwrap_or(Places::AtStart));
                    self.show_line(copy, place);
                }
                State::Writing => self.hide_line(copy, self.number),
                State::Sending => {
                    self.hide_line(copy, self.number);
                    shim::fastcsv_shim_show_name_only(copy);
                }
                State::Finishing(number) => self.hide_line(copy, number),
            }
        }
    }

    /// How places are found in an input that can be read again.
    fn places(&self) -> Option<Places> {
        (self.descriptor >= 0).then_some(Places::ByFile(self.descriptor))
    }

    /// # Safety
    /// The COPY must be alive.
    unsafe fn hide_line(&self, copy: pg_sys::CopyFromState, number: u64) {
        // SAFETY: the caller's promise. Where the line lies is found from the file's start: only its number is known.
        unsafe {
            Referee::point_at(self.referee, Checkpoint::START, self.places().unwrap_or(Places::Nowhere));
            shim::fastcsv_shim_hide_line(copy, number, self.keeps_value);
        }
    }

    /// # Safety
    /// The COPY must be alive.
    unsafe fn show_line(&self, copy: pg_sys::CopyFromState, place: RowPlace) {
        let line = self.line(place);
        // SAFETY: the caller's promise; the text is copied.
        unsafe {
            match line.as_deref().map(|line| (line, i32::try_from(line.len()))) {
                Some((line, Ok(length))) => {
                    shim::fastcsv_shim_show_line(copy, place.number, line.as_ptr().cast(), length);
                }
                _ => shim::fastcsv_shim_hide_line(copy, place.number, false),
            }
        }
    }

    /// The text of a line, as far as COPY shows it; `None` if it is not known any more.
    fn line(&self, place: RowPlace) -> Option<Vec<u8>> {
        if self.descriptor < 0 {
            // SAFETY: the row at hand is still there.
            return encoding::to_server(self.encoding, unsafe { &*place.text });
        }
        // SAFETY: COPY keeps the file open for as long as it lives.
        let file = unsafe { Borrowed::new(self.descriptor) };
        // A line's bytes in the file are not more than in the server's encoding, or the two are the same.
        let mut bytes = memory::zeroed(place.length as usize)?;
        let mut read = 0;
        while read < bytes.len() {
            match file.read_at(&mut bytes[read..], place.start.byte + read as u64).ok()? {
                0 => break,
                length => read += length,
            }
        }
        let mut line = encoding::to_server(self.encoding, &bytes[..read])?;
        line.truncate(place.length as usize);
        Some(line)
    }
}

/// The callback.
#[pg_guard]
unsafe extern "C-unwind" fn tell_copy(context: *mut c_void) {
    // SAFETY: `push` made the argument point to the context, which lives while it is on the stack.
    unsafe { (*context.cast::<LineContext>()).tell() }
}
