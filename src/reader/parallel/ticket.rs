//! From ticket to ticket: blocks as they come, what a ticket's end says, and the reread behind an anomaly.

#![expect(unsafe_code, reason = "raises errors through the referee, by pointer")]

use std::io;

use fastcsv_engine::entry::Mark;
use fastcsv_engine::locate::Checkpoint;
use fastcsv_engine::ring::{Next, Outcome, Summary};

use super::Parallel;
use crate::file::Change;
use crate::memory;
use crate::pg_raw;
use crate::referee::Referee;
use crate::worker::{Refusal, Trouble};

impl Parallel {
    /// The awaited ticket's next block, or what to do at its end.
    ///
    /// # Errors
    /// If there turns out to be no worker, which has then done nothing.
    ///
    /// # Safety
    /// `this` must be alive; nothing with a destructor on the caller's frames.
    pub(super) unsafe fn advance(this: *mut Self) -> Result<(), Refusal> {
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
        this.worker.gave_back();
        Ok(())
    }

    /// Adds up a finished ticket and turns to what its end asks for.
    pub(super) fn finish_ticket(&mut self, summary: &Summary) {
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
    pub(super) fn check_unchanged(&self) {
        match self.input.change() {
            Ok(None) => {}
            // SAFETY: the referee lives as long as the scan.
            Ok(Some(Change::Overwritten)) => unsafe { Referee::raise_overwritten(self.referee) },
            Ok(Some(Change::Shorter)) => self.raise_read_error(&io::ErrorKind::UnexpectedEof.into()),
            Err(error) => self.raise_read_error(&error),
        }
    }

    /// The next row is a record that travels as it is, behind the rows without columns that come before it.
    pub(super) fn hold(&mut self, mark: Mark, length: u32) {
        if self.count_only && !self.has_filter {
            self.pending = u64::from(mark.records) - self.delivered;
            self.delivered = u64::from(mark.records) + 1;
        }
        self.held = Some((mark, length));
    }

    /// What is left of the ticket's range or segment is read again.
    pub(super) fn begin_reread(&mut self, is_last: bool) {
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
    pub(super) fn place(&self, mark: Mark) -> Checkpoint {
        Checkpoint {
            byte: mark.byte,
            line: self.base.line + u64::from(mark.lines),
            record: self.base.record + u64::from(mark.records),
            number: self.number_at(mark),
            line_end: self.base.line_end,
        }
    }

    /// COPY's number for the beginning of a record of the awaited ticket.
    #[inline]
    fn number_at(&self, mark: Mark) -> u64 {
        self.base.number + u64::from(mark.records) + u64::from(mark.inner)
    }

    /// COPY's number once it has read the record: that of its row.
    #[inline]
    pub(super) fn number_behind(&self, mark: Mark) -> u64 {
        self.number_at(mark) + u64::from(mark.own_inner)
    }

    /// Nothing more is wanted of the worker.
    pub(super) fn finish(&mut self) {
        self.is_done = true;
        self.worker.stop();
    }

    /// Raises what is wrong with a compressed file; but one that was cut short meanwhile is not damaged.
    pub(super) fn raise_damaged(&self) -> ! {
        if self.input.change().is_ok_and(|change| change == Some(Change::Shorter)) {
            self.raise_read_error(&io::ErrorKind::UnexpectedEof.into());
        }
        let detail = self.worker.damage();
        // SAFETY: the referee lives as long as the scan.
        unsafe { Referee::raise_damaged(self.referee, self.base, detail) }
    }

    /// Raises an error of reading, in the context of the first record that the awaited ticket lacks.
    pub(super) fn raise_read_error(&self, error: &io::Error) -> ! {
        // SAFETY: the referee lives as long as the scan.
        unsafe { Referee::raise_read_error(self.referee, self.base, error) }
    }
}
