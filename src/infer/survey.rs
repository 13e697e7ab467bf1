//! The survey of a file's records: in this process where they are few, else on a worker's threads.
//!
//! The worker hands over what each range holds, in order, and the ranges' findings are merged here: that is little work
//! beside that of the threads.

#![expect(unsafe_code, reason = "starts a worker on a descriptor")]

use std::ffi::CStr;
use std::io;

use fastcsv_engine::dialect::Dialect;
use fastcsv_engine::entry::{self, EntryKind};
use fastcsv_engine::infer::{self, Findings, Surveyor};
use fastcsv_engine::job::{Io, Syntax};
use fastcsv_engine::ring::{Next, Outcome, Summary};

use super::content::Content;
use super::look::{Failure, Sample, Terms, level, out_of_memory};
use super::source::Opened;
use crate::last_run::Run;
use crate::reader::{Origin, survey_job};
use crate::worker::{Input, Trouble, Worker};
use crate::{memory, settings};

/// What is to be surveyed.
pub(super) struct Survey<'s> {
    pub(super) opened: &'s Opened,
    pub(super) sample: &'s Sample,
    pub(super) dialect: &'s Dialect,
    pub(super) syntax: Syntax,
    pub(super) terms: &'s Terms<'s>,
}

/// What was found; whether the survey ended before the file did, at a record that has no end; and how it went.
type Surveyed = (Findings, bool, Run);

/// Surveys a file.
///
/// # Errors
/// A [`Failure`].
pub(super) fn run(survey: &Survey<'_>) -> Result<Surveyed, Failure> {
    let Sample { stamp, is_whole, length, .. } = *survey.sample;
    let reason = match survey.opened.request.most {
        Some(_) => "only the first records are wanted",
        None if stamp.size.max(length as u64) < settings::min_parallel_size() => {
            "the file is smaller than fastcsv.min_parallel_size"
        }
        None if is_whole && survey.sample.start().byte >= length as u64 => "the file ends with its first record",
        None => match in_worker(survey) {
            Err(Attempt::Refused(reason)) => reason,
            Err(Attempt::Failed(failure)) => return Err(failure),
            Ok(found) => return Ok(found),
        },
    };
    here(survey, reason)
}

/// Surveys in this process.
fn here(survey: &Survey<'_>, reason: &'static str) -> Result<Surveyed, Failure> {
    let Survey { opened, sample, dialect, syntax, terms } = survey;
    let surveyor = Surveyor::new(dialect, level(), terms.fields, terms.null, terms.null_is_certain, &sample.settings);
    let surveyor = surveyor.map_err(|_| out_of_memory())?.with_end_marker(syntax.has_end_marker);
    let most = opened.request.most.unwrap_or(u64::MAX);
    let longest = usize::try_from(settings::memory() / 4).unwrap_or(usize::MAX);
    let start = sample.start().byte;
    let mut content = Content::of(opened, sample.stamp, start)?;
    let (findings, is_cut_off) = infer::survey(surveyor, &mut content, syntax.line_end, most, longest)?;
    let bytes = opened.request.most.is_none().then(|| start + content.bytes_read());
    let run = Run { rows: findings.records, bytes, ..serial(reason) };
    Ok((findings, is_cut_off, run))
}

/// A survey in this process, for that reason.
pub(super) fn serial(reason: &'static str) -> Run {
    Run { operation: "infer", path: "serial", reason: Some(reason), ..Run::default() }
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
fn in_worker(survey: &Survey<'_>) -> Result<Surveyed, Attempt> {
    let Survey { opened, sample, terms, .. } = *survey;
    let (syntax, texts) = (survey.syntax.clone(), sample.settings.clone());
    let origin = match opened.coding {
        None => Origin::File { size: sample.stamp.size, io: Io::Pread },
        coding => Origin::Stream { coding },
    };
    let (job, geometry) = survey_job(syntax, texts, terms.fields, terms.null_is_certain, sample.start().byte, origin);
    // SAFETY: the descriptor stays open as long as the file is looked at.
    let worker = unsafe { Worker::launch(&job, Input::File(opened.file().descriptor()), geometry, settings::fault()) };
    let mut worker = worker.map_err(|refusal| Attempt::Refused(refusal.reason()))?;
    let mut merger = Merger {
        findings: Findings::new(terms.fields).map_err(|_| out_of_memory())?,
        joined: Vec::new(),
        run: Run { operation: "infer", path: "parallel", ..Run::default() },
    };
    let is_cut_off = loop {
        pgrx::check_for_interrupts!();
        if memory::ran_out() {
            return Err(out_of_memory().into());
        }
        match worker.next() {
            Ok(Next::Block) => merger.block(worker.consumer.block())?,
            Ok(Next::Finished(summary)) if summary.outcome == Outcome::Damaged => {
                // SAFETY: a C string.
                let damage = unsafe { CStr::from_ptr(worker.damage()) }.to_string_lossy().into_owned();
                return Err(io::Error::new(io::ErrorKind::InvalidData, damage).into());
            }
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
    let (rows, mut run) = (merger.findings.records, merger.run);
    if opened.coding.is_none() {
        run.bytes = Some(sample.stamp.size);
    }
    Ok((merger.findings, is_cut_off, Run { threads, peak_memory, rows, ..run }))
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
            if part.kind != EntryKind::Findings {
                // What is left of a stream, for who would read it as COPY does.
                continue;
            }
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
        self.run.bytes = self.run.bytes.max(Some(summary.end));
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
