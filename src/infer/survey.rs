//! The survey of a file's records: in this process where they are few, else on a worker's threads.
//!
//! The worker hands over what each range holds, in order, and the ranges' findings are merged here: that is little work
//! beside that of the threads.

#![expect(unsafe_code, reason = "starts a worker on a descriptor")]

use std::io;
use std::time::Instant;

use fastcsv_engine::convert::Settings;
use fastcsv_engine::dialect::Dialect;
use fastcsv_engine::entry;
use fastcsv_engine::infer::{self, Findings, Surveyor};
use fastcsv_engine::job::Syntax;
use fastcsv_engine::ring::{Next, Outcome, Summary};

use super::look::{Failure, Interruptible, level};
use crate::file::Borrowed;
use crate::last_run::{self, Run};
use crate::reader::survey_job;
use crate::worker::{Input, Trouble, Worker};
use crate::{memory, settings};

/// What is to be surveyed.
pub(super) struct Survey<'s> {
    pub(super) syntax: Syntax,
    pub(super) fields: usize,
    pub(super) null_is_certain: bool,
    pub(super) settings: &'s Settings,
    /// Where the first record starts.
    pub(super) start: u64,
    /// The file's size.
    pub(super) size: u64,
    /// So many records at most.
    pub(super) most: Option<u64>,
}

/// Surveys a file; true if it ended early, at a record that has no end.
///
/// # Errors
/// A [`Failure`].
pub(super) fn run(survey: &Survey<'_>, dialect: &Dialect, file: &Borrowed) -> Result<(Findings, bool), Failure> {
    let started = Instant::now();
    let bytes = survey.size - survey.start;
    let reason = match survey.most {
        Some(_) => "only the first records are wanted",
        None if survey.size < settings::min_parallel_size() => "the file is smaller than fastcsv.min_parallel_size",
        None if bytes == 0 => "the file ends with its first record",
        None => match in_worker(survey, file, started) {
            Err(Attempt::Refused(reason)) => reason,
            Err(Attempt::Failed(failure)) => return Err(failure),
            Ok(found) => return Ok(found),
        },
    };
    let found = here(survey, dialect, file)?;
    let rows = found.0.records;
    let whole = survey.most.is_none().then_some(survey.size);
    last_run::note(Run {
        operation: "infer",
        path: "serial",
        reason: Some(reason),
        rows,
        bytes: whole,
        time: started.elapsed(),
        ..Run::default()
    });
    Ok(found)
}

/// Surveys in this process.
fn here(survey: &Survey<'_>, dialect: &Dialect, file: &Borrowed) -> Result<(Findings, bool), Failure> {
    let Survey { fields, syntax, null_is_certain, .. } = survey;
    let surveyor = Surveyor::new(dialect, level(), *fields, &syntax.null, *null_is_certain, survey.settings);
    let surveyor = surveyor.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let surveyor = surveyor.with_end_marker(syntax.has_end_marker);
    let most = survey.most.unwrap_or(u64::MAX);
    let longest = usize::try_from(settings::memory() / 4).unwrap_or(usize::MAX);
    let source = Interruptible(file);
    Ok(infer::survey(surveyor, &source, syntax.line_end, survey.start, survey.size, most, longest)?)
}

/// Why a worker has not done it.
enum Attempt {
    /// There is none.
    Refused(&'static str),
    /// Something went wrong.
    Failed(Failure),
}

impl From<Failure> for Attempt {
    fn from(failure: Failure) -> Attempt {
        Attempt::Failed(failure)
    }
}

impl From<io::Error> for Attempt {
    fn from(error: io::Error) -> Attempt {
        Attempt::Failed(error.into())
    }
}

/// Surveys on the threads of a worker.
fn in_worker(survey: &Survey<'_>, file: &Borrowed, started: Instant) -> Result<(Findings, bool), Attempt> {
    let Survey { fields, null_is_certain, start, size, .. } = *survey;
    let (syntax, texts) = (survey.syntax.clone(), survey.settings.clone());
    let (job, geometry) = survey_job(syntax, texts, fields, null_is_certain, start..size);
    // SAFETY: the descriptor stays open as long as the file is looked at.
    let worker = unsafe { Worker::launch(&job, Input::File(file.descriptor()), geometry, settings::fault()) };
    let mut worker = worker.map_err(|refusal| Attempt::Refused(refusal.reason()))?;
    let out_of_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
    let mut merger = Merger {
        findings: Findings::new(survey.fields).map_err(|_| out_of_memory())?,
        joined: Vec::new(),
        run: Run { operation: "infer", path: "parallel", bytes: Some(survey.size), ..Run::default() },
    };
    let is_cut_off = loop {
        pgrx::check_for_interrupts!();
        if memory::ran_out() {
            return Err(out_of_memory().into());
        }
        match worker.next() {
            Ok(Next::Block) => merger.block(worker.consumer.block())?,
            Ok(Next::Finished(summary)) => {
                if let Some(is_cut_off) = merger.finish_ticket(&summary)? {
                    break is_cut_off;
                }
            }
            Ok(Next::Nothing) => {}
            Err(Trouble::Refused(refusal)) => return Err(Attempt::Refused(refusal.reason())),
            Err(Trouble::Read(error)) => return Err(error.into()),
        }
        worker.gave_back();
    };
    let (threads, peak_memory) = worker.usage();
    let rows = merger.findings.records;
    last_run::note(Run { threads, peak_memory, rows, time: started.elapsed(), ..merger.run });
    Ok((merger.findings, is_cut_off))
}

/// Puts together what comes of the ranges.
struct Merger {
    findings: Findings,
    /// Findings that come in parts.
    joined: Vec<u8>,
    run: Run,
}

impl Merger {
    /// Takes what is in a block.
    fn block(&mut self, block: &[u8]) -> Result<(), Failure> {
        let mut offset = 0;
        while let Some((part, next)) = entry::read(block, offset) {
            offset = next;
            self.joined.try_reserve(part.payload.len()).map_err(io::Error::from)?;
            self.joined.extend_from_slice(part.payload);
            if !part.more {
                let found = Findings::read(&self.joined).expect("a worker writes what can be read");
                self.findings.merge(found);
                self.joined.clear();
            }
        }
        Ok(())
    }

    /// At the end of a range; the answer is there once it is the last, or nothing can be read behind it.
    fn finish_ticket(&mut self, summary: &Summary) -> Result<Option<bool>, Failure> {
        self.run.ranges += 1;
        self.run.wrong_guesses += u64::from(summary.wrong_guess);
        match summary.outcome {
            Outcome::Plain => Ok(summary.is_last.then_some(false)),
            Outcome::Anomaly => Ok(Some(true)),
            Outcome::ReadError => Err(io::Error::from_raw_os_error(summary.errno).into()),
            Outcome::Short => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Outcome::OutOfMemory => Err(io::Error::from(io::ErrorKind::OutOfMemory).into()),
            Outcome::Damaged => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
    }
}
