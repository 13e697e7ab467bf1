//! What the files that a name stands for hold together: one schema for all of them, since one load reads them.
//!
//! The first file that is not empty says how they are written; the others are cut as it is, and what their records hold
//! is added to its findings, as that of ranges of one file is. Line ends are each file's own. What COPY's options could
//! not say of all files is an error that names two of them: headers with other columns, and encodings that exclude each
//! other.
//!
//! What only the last file shows may change how the first is to be read: a word for NULL, or that what seemed to be a
//! record is the header of every file. Then all are looked through once more.
//!
//! While a file is opened nothing with a destructor may be alive on the frames below, so all of this lives in
//! PostgreSQL's memory.

#![expect(unsafe_code, reason = "keeps its state in PostgreSQL's memory")]

use std::ffi::c_int;
use std::time::Instant;

use fastcsv_engine::infer::{Findings, Given, Sniffed, names};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::panic::ErrorReport;

use super::look::{self, Failure, Looked, Sample, Terms};
use super::schema::{self, Schema, sampled_encoding, to_server};
use super::source::{Next, Opened, Request};
use crate::last_run::{self, Run};

/// What was seen of the files so far.
#[derive(Default)]
pub(super) struct Together {
    /// The first file that is not empty, or else the first.
    pub(super) first: Option<First>,
    /// What their records hold, without the headers, as if one followed the other.
    pub(super) findings: Findings,
    /// The files.
    pub(super) parts: Vec<Part>,
    /// Records that have no end: in which file each is, and its line in the findings, which is also that of what
    /// follows.
    open_records: Vec<(usize, u64)>,
    /// How many bytes were looked at, where that was only the beginning.
    pub(super) only: Option<usize>,
    /// The first file that is not ASCII.
    pub(super) letters: Option<(Letters, Vec<u8>)>,
    run: Run,
    must_go_again: bool,
}

/// The file that says how all are written.
pub(super) struct First {
    pub(super) name: Vec<u8>,
    pub(super) sniffed: Sniffed,
    /// The encoding of what was looked at, as PostgreSQL numbers it.
    pub(super) encoding: c_int,
    /// The encoding that COPY takes it to be in.
    pub(super) copy_encoding: c_int,
    pub(super) is_utf16: bool,
    /// The first record, as names in SQL.
    names: Vec<String>,
    null_is_given: bool,
}

/// One of the files.
pub(super) struct Part {
    name: Vec<u8>,
    /// Line ends in the findings before its own.
    starts: u64,
    /// Line ends of the file before its first record.
    lines_before: u64,
}

/// How letters beyond ASCII are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Utf8,
    SingleByte,
    Utf16,
}

impl Letters {
    fn name(self) -> &'static str {
        match self {
            Letters::Utf8 => "UTF-8",
            Letters::SingleByte => "Latin-1 or Windows-1252",
            Letters::Utf16 => "UTF-16",
        }
    }
}

impl Schema {
    /// Looks through the files that a request names.
    ///
    /// # Errors
    /// Raises COPY's own errors, those of reading, and that the files do not go together.
    ///
    /// # Safety
    /// The request's strings must live until then; nothing with a destructor may be alive on the caller's frames.
    pub(crate) unsafe fn infer(request: &Request) -> Schema {
        let started = Instant::now();
        // SAFETY: the caller's promise; the state lives as long as the current memory context.
        let state = unsafe {
            let state: *mut Together =
                PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(Together::default());
            loop {
                request.each(state, Together::add);
                if !(*state).forgets() {
                    break;
                }
            }
            &mut *state
        };
        last_run::note(Run { time: started.elapsed(), ..std::mem::take(&mut state.run) });
        Schema::of(std::mem::take(state))
    }
}

impl Together {
    /// Are there several files?
    pub(super) fn are_several(&self) -> bool {
        self.parts.len() > 1
    }

    /// A line of the findings, as a place: in which file, if there are several.
    pub(super) fn place(&self, line: u64) -> Vec<u8> {
        self.place_in(self.parts.partition_point(|part| part.starts <= line).saturating_sub(1), line)
    }

    /// The places of records that have no end.
    pub(super) fn open_records(&self) -> impl Iterator<Item = Vec<u8>> {
        self.open_records.iter().map(|&(index, line)| self.place_in(index, line))
    }

    fn place_in(&self, index: usize, line: u64) -> Vec<u8> {
        let Some(part) = self.parts.get(index) else { return Vec::new() };
        let mut place = format!("line {}", line - part.starts + part.lines_before + 1).into_bytes();
        if self.are_several() {
            place.extend_from_slice(b" of \"");
            place.extend_from_slice(&part.name);
            place.push(b'"');
        }
        place
    }

    /// Adds what a file holds.
    ///
    /// # Errors
    /// A [`Failure`].
    fn add(&mut self, opened: &Opened) -> Result<Next, Failure> {
        let mut sample = Sample::of(opened, &self.given(opened))?;
        let is_empty = sample.sniffed.first.is_empty();
        if self.first.as_ref().is_none_or(|first| first.sniffed.first.is_empty() && !is_empty) {
            self.first = Some(First::of(opened, &sample));
        }
        let mut part = Part { name: opened.name().to_vec(), starts: self.findings.lines, lines_before: 0 };
        if is_empty {
            self.parts.push(part);
            return Ok(Next::File);
        }
        self.agree_on_header(opened, &mut sample)?;
        if self.must_go_again {
            return Ok(Next::Enough);
        }
        let first = self.first.as_ref().expect("there is one by now");
        if self.findings.columns.is_empty() {
            self.findings = Findings::new(first.sniffed.first.len()).map_err(|_| look::out_of_memory())?;
        }
        let terms = Terms {
            fields: first.sniffed.first.len(),
            null: &first.sniffed.null,
            null_is_certain: first.null_is_given || !first.sniffed.null.is_empty(),
        };
        let looked = look::through(opened, &mut sample, &terms)?;
        if opened.request.encoding.is_none() {
            self.agree_on_letters(opened, &sample, &looked.findings)?;
        }
        part.lines_before = looked.lines_before;
        self.parts.push(part);
        self.merge(looked, sample.length);
        Ok(Next::File)
    }

    fn merge(&mut self, looked: Looked, length: usize) {
        // An end-of-data marker ends its file, not the next.
        self.findings.has_ended = false;
        self.findings.merge(looked.findings);
        if looked.is_cut_off {
            self.open_records.push((self.parts.len() - 1, self.findings.lines));
        }
        if looked.is_sample {
            self.only = self.only.max(Some(length));
        }
        self.run = match self.run.path {
            "" => looked.run,
            _ => looked.run.behind(&self.run),
        };
    }

    /// What is known of the next file: how the first is written.
    fn given(&self, opened: &Opened) -> Given {
        let own = opened.given();
        match &self.first {
            Some(First { sniffed, .. }) if !sniffed.first.is_empty() => Given {
                delimiter: Some(sniffed.delimiter),
                quote: Some(sniffed.quote),
                escape: Some(sniffed.escape),
                null: own.null.or_else(|| (!sniffed.null.is_empty()).then(|| sniffed.null.clone())),
                ..own
            },
            _ => own,
        }
    }

    /// Whether the file has a header, says the first. Their headers must be of the same columns.
    ///
    /// # Errors
    /// A [`Failure`].
    fn agree_on_header(&mut self, opened: &Opened, sample: &mut Sample) -> Result<(), Failure> {
        let first = self.first.as_mut().expect("there is one by now");
        let (header, is_assumed) = (sample.sniffed.header, sample.sniffed.header_is_assumed);
        sample.sniffed.header = first.sniffed.header;
        if first.name == opened.name() {
            return Ok(());
        }
        let is_given = opened.request.header.is_some();
        let names = names_of(&sample.sniffed, sampled_encoding(opened, sample));
        let is_alike = names == first.names;
        if !is_given && first.sniffed.header_is_assumed && is_alike {
            // What comes again in another file is no record.
            self.must_go_again = !first.sniffed.header;
            (first.sniffed.header, first.sniffed.header_is_assumed) = (true, false);
            sample.sniffed.header = true;
        } else if first.sniffed.header && !is_alike {
            return Err(other_header(first, &names, opened.name()).into());
        } else if !is_given && !first.sniffed.header && header && !is_assumed {
            let (first, this) = (shown(&first.name), shown(opened.name()));
            let message = format!("file \"{this}\" has a header, and file \"{first}\" has none");
            return Err(Failure::bad_file(message).into());
        }
        Ok(())
    }

    /// Letters must be written alike, as far as there are any.
    ///
    /// # Errors
    /// A [`Failure`].
    fn agree_on_letters(&mut self, opened: &Opened, sample: &Sample, findings: &Findings) -> Result<(), Failure> {
        let sampled = sampled_encoding(opened, sample);
        let is_ascii = !findings.beyond_ascii && sample.sniffed.first.iter().all(|field| field.is_ascii());
        let own = match () {
            () if opened.is_utf16() || sample.is_utf16() => Letters::Utf16,
            () if is_ascii => return Ok(()),
            () if sampled != schema::UTF8 || findings.not_utf8.is_some() => Letters::SingleByte,
            () => Letters::Utf8,
        };
        let (known, name) = self.letters.get_or_insert_with(|| (own, opened.name().to_vec()));
        if *known == own {
            return Ok(());
        }
        let (first, this) = (shown(name), shown(opened.name()));
        let error = Failure::bad_file(format!("files \"{first}\" and \"{this}\" are in different encodings"));
        let detail = format!("The first is in {}, the second in {}.", known.name(), own.name());
        Err(error.set_detail(detail).into())
    }

    /// Must the files be looked through once more? What was seen of them is then forgotten, but for how they are
    /// written.
    fn forgets(&mut self) -> bool {
        let Some(mut first) = self.first.take() else { return false };
        if !self.must_go_again && !first.null_is_given && first.sniffed.null.is_empty() {
            // The beginning did not show it. What is NULL now was counted as a value.
            if let Some(word) = self.findings.null_word() {
                first.sniffed.null = word.as_bytes().to_vec();
                self.must_go_again = true;
            }
        }
        let forgets = self.must_go_again;
        if forgets {
            *self = Together::default();
        }
        self.first = Some(first);
        forgets
    }
}

impl First {
    fn of(opened: &Opened, sample: &Sample) -> First {
        let encoding = sampled_encoding(opened, sample);
        First {
            name: opened.name().to_vec(),
            names: names_of(&sample.sniffed, encoding),
            sniffed: Sniffed { recoded: None, ..sample.sniffed.clone() },
            encoding,
            copy_encoding: opened.view.encoding,
            is_utf16: opened.is_utf16() || sample.is_utf16(),
            null_is_given: opened.request.null.is_some(),
        }
    }
}

/// Says that a file's header is another than the first one's.
fn other_header(first: &First, names: &[String], name: &[u8]) -> ErrorReport {
    let (one, other) = (shown(&first.name), shown(name));
    let error = Failure::bad_file(format!("files \"{one}\" and \"{other}\" have different headers"));
    let different = first.names.iter().zip(names).position(|(first, this)| first != this);
    let detail = match different {
        Some(index) => {
            let (first, this) = (&first.names[index], &names[index]);
            format!("Column {} is \"{first}\" in the first and \"{this}\" in the second.", index + 1)
        }
        None => format!("The first has {} columns, the second {}.", first.names.len(), names.len()),
    };
    error.set_detail(detail).set_hint("If they have none at all, say that header is false.")
}

/// The first record as the names of columns.
fn names_of(sniffed: &Sniffed, encoding: c_int) -> Vec<String> {
    let text = |field: &Vec<u8>| String::from_utf8_lossy(&to_server(encoding, field)).into_owned();
    names::names(&sniffed.first.iter().map(text).collect::<Vec<_>>(), false)
}

fn shown(name: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(name)
}
