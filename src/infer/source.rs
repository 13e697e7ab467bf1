//! The files that are looked at, one after the other. COPY opens each: so its checks of the options, and its words for
//! a file that cannot be opened, are what the user sees. COPY wants a relation for that; one of the catalog's smallest
//! serves, nothing is read into it.

#![expect(unsafe_code, reason = "begins a COPY, and ends it")]

use std::ffi::{CStr, c_char};
use std::os::fd::RawFd;

use fastcsv_engine::coding::Coding;
use fastcsv_engine::infer::Given;
use pgrx::prelude::*;
use pgrx::{PgList, pg_sys};

use super::{Failure, fail};
use crate::file::Borrowed;
use crate::options::{Source, raise, report};
use crate::referee::shim::CopyView;
use crate::referee::{Opening, Referee};
use crate::{encoding, files, load, settings, stream, text};

/// What somebody wants to know of a file, and what they know already. It lives in PostgreSQL's memory.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) filename: *mut c_char,
    /// Whether the file is one that the client's data were put into.
    pub(crate) is_spooled: bool,
    pub(crate) delimiter: Option<*mut c_char>,
    pub(crate) quote: Option<*mut c_char>,
    pub(crate) escape: Option<*mut c_char>,
    pub(crate) null: Option<*mut c_char>,
    pub(crate) header: Option<bool>,
    pub(crate) encoding: Option<*mut c_char>,
    /// So many records at most.
    pub(crate) most: Option<u64>,
}

/// Whether the next file is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    File,
    Enough,
}

/// A file that COPY has opened.
pub(crate) struct Opened {
    pub(crate) request: Request,
    pub(crate) referee: *mut Referee,
    relation: pg_sys::Relation,
    pub(crate) view: CopyView,
    descriptor: RawFd,
    /// How its text is put into its bytes, if these are not the text.
    pub(super) coding: Option<Coding>,
}

impl Opened {
    /// Checks that the user may read files on the server, checks the options and opens the file.
    ///
    /// # Errors
    /// Raises COPY's own errors, and that the file cannot be read twice.
    ///
    /// # Safety
    /// The request's strings must live as long as this; nothing with a destructor may be alive on the caller's frames.
    pub(crate) unsafe fn open(request: &Request) -> Opened {
        if !request.is_spooled {
            load::require_read_server_files(request.filename);
        }
        settings::fault().begin_in_backend();
        // SAFETY: the caller's promise; the file's name is a C string.
        unsafe {
            if stream::is_fifo(request.filename) {
                raise_unseekable();
            }
            let lock = pg_sys::AccessShareLock.cast_signed();
            let relation = pg_sys::table_open(pg_sys::AccessMethodRelationId, lock);
            let (source, options) = text::look(request.source(), request.copy_options());
            let referee = Referee::open(&Opening::of(relation, source, options));
            let (view, _) = Referee::views(referee);
            let stream = Referee::stream(referee);
            let (descriptor, coding) = match stream.is_null() {
                true => (view.descriptor, None),
                false => (*stream).archive().map_or((-1, None), |(descriptor, coding)| (descriptor, Some(coding))),
            };
            if descriptor < 0 {
                raise_unseekable();
            }
            if view.quote == 0 || encoding::is_client_only(view.encoding) {
                raise_encoding();
            }
            Opened { request: *request, referee, relation, view, descriptor, coding }
        }
    }

    /// Closes the file.
    ///
    /// # Safety
    /// Nothing of it may be used any more.
    pub(crate) unsafe fn close(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            Referee::end(self.referee);
            pg_sys::table_close(self.relation, pg_sys::AccessShareLock.cast_signed());
        }
    }

    /// The file's bytes, as they are on disk.
    pub(super) fn file(&self) -> Borrowed {
        // SAFETY: COPY keeps the file open until `close`, and what reads through this is done before.
        unsafe { Borrowed::new(self.descriptor) }
    }

    /// The file's name.
    pub(super) fn name(&self) -> &[u8] {
        // SAFETY: the request's name is a C string.
        unsafe { CStr::from_ptr(self.request.filename) }.to_bytes()
    }

    /// Is the file in UTF-16, and read as what it says in UTF-8?
    pub(super) fn is_utf16(&self) -> bool {
        self.coding.is_some_and(|coding| coding.utf16.is_some())
    }

    /// What is known of the file's dialect, in the engine's words.
    pub(crate) fn given(&self) -> Given {
        let Request { delimiter, quote, escape, null, header, encoding, .. } = self.request;
        Given {
            delimiter: delimiter.map(|_| self.view.delimiter),
            quote: quote.map(|_| self.view.quote),
            escape: escape.map(|_| self.view.escape),
            // SAFETY: the argument is a C string.
            null: null.map(|null| unsafe { CStr::from_ptr(null) }.to_bytes().to_vec()),
            header,
            encoding: encoding.is_some(),
        }
    }
}

impl Request {
    /// A file of which nothing is known.
    pub(crate) fn of_file(filename: *mut c_char) -> Request {
        let (delimiter, quote, escape, null, encoding) = (None, None, None, None, None);
        Request { filename, is_spooled: false, delimiter, quote, escape, null, header: None, encoding, most: None }
    }

    /// Where the bytes come from. A byte order mark is no part of them.
    pub(crate) fn source(&self) -> Source {
        Source { is_spooled: self.is_spooled, hints: true, drops_mark: true, ..Source::file(self.filename) }
    }

    /// Opens one file after the other that the name stands for, and lets `look` look at it, until that says that it has
    /// seen enough.
    ///
    /// # Errors
    /// Raises COPY's own errors, what `look` says, and that the user may not read files on the server.
    ///
    /// # Safety
    /// As for [`Opened::open`]; the state must live in PostgreSQL's memory.
    pub(super) unsafe fn each<S>(&self, state: *mut S, look: fn(&mut S, &Opened) -> Result<Next, Failure>) {
        if !self.is_spooled {
            load::require_read_server_files(self.filename);
        }
        // SAFETY: the caller's promise. The list is one of C strings, and null where the name is one file's.
        unsafe {
            let names = files::names_of(self.source());
            for index in 0..pg_sys::list_length(names).max(1) {
                let filename = if names.is_null() { self.filename } else { pg_sys::list_nth(names, index).cast() };
                let opened = Opened::open(&Request { filename, ..*self });
                match look(&mut *state, &opened) {
                    Ok(next) => {
                        opened.close();
                        if next == Next::Enough {
                            break;
                        }
                    }
                    Err(failure) => fail(failure, &opened),
                }
            }
        }
    }

    /// The options that were given, as COPY wants them.
    pub(crate) fn copy_options(&self) -> *mut pg_sys::List {
        let csv = Some(c"csv".as_ptr().cast_mut());
        let options = [
            (c"format", csv),
            (c"delimiter", self.delimiter),
            (c"quote", self.quote),
            (c"escape", self.escape),
            (c"null", self.null),
            (c"encoding", self.encoding),
        ];
        let mut list = PgList::<pg_sys::DefElem>::new();
        for (name, value) in options {
            let Some(value) = value else { continue };
            // SAFETY: both are C strings, which live as long as the request; the nodes are allocated.
            list.push(unsafe { pg_sys::makeDefElem(name.as_ptr().cast_mut(), pg_sys::makeString(value).cast(), -1) });
        }
        list.into_pg()
    }
}

fn raise_unseekable() -> ! {
    let message = "cannot infer a schema from a file that can be read only once";
    raise(report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message))
}

fn raise_encoding() -> ! {
    let message = "cannot infer a schema from a file in an encoding that only clients can have";
    raise(report(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message))
}
