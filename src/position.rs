//! Where in the file an error happened: the CONTEXT line fastcsv adds below COPY's own.
//!
//! `fastcsv: file "/data/f.csv", line 3, record 2, byte 17`: the physical line and the byte at which the record
//! starts, and its number. COPY's own number counts differently (a quoted line end in the first record is not
//! counted, and a record that spans lines is named by its last), so it can be another; both are shown.
//!
//! While PostgreSQL's parser reads serially nothing is counted on the way. When an error is being reported, the
//! engine scans the file again up to COPY's number, through the descriptor COPY still holds, which is the same file
//! even if another has taken its name. A stream's bytes are gone by then; whoever hands them to COPY keeps track
//! ([`crate::stream`]). What cannot be known (rows being written are numbered by the reader's line) is left out rather
//! than guessed.

#![expect(unsafe_code, reason = "an error context callback, called by PostgreSQL with a pointer")]

mod invalid;

use std::ffi::{CStr, CString, c_void};
use std::fs::File;
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use fastcsv_engine::dialect::{Dialect, DialectBuilder, Quoting};
use fastcsv_engine::locate::{self, Checkpoint, Located, Place};
use pgrx::{pg_guard, pg_sys};

use crate::encoding;
use crate::options::Source;
use crate::pg_raw;
use crate::referee::Feed;
use crate::referee::shim::{self, CopyView, ErrorView, Format};
use invalid::Invalid;

/// An error context that adds our line. It must lie directly below COPY's own context on PostgreSQL's stack, and
/// adds nothing while COPY's is not there.
pub(crate) struct PositionContext {
    callback: pg_sys::ErrorContextCallback,
    source: Source,
    /// Where this read began.
    start: Checkpoint,
    places: Places,
    /// Records read so far since `start`, where they are counted.
    records: Option<u64>,
}

/// How the place of a record is found.
#[derive(Clone, Copy)]
pub(crate) enum Places {
    /// Through the descriptor that COPY has open, if it is a file's.
    ByCopy,
    /// Through another descriptor of the same file.
    ByFile(RawFd),
    /// Whoever feeds COPY knows; it must live as long as the read goes on.
    ByFeed(NonNull<dyn Feed>),
    /// The record is the one at which the read began.
    AtStart,
    /// Nobody knows.
    Nowhere,
}

impl Places {
    /// Those of a read from a feed.
    ///
    /// # Safety
    /// The feed must be alive, and stay so as long as these are used.
    pub(crate) unsafe fn of(feed: NonNull<dyn Feed>) -> Places {
        // SAFETY: the caller's promise.
        unsafe { feed.as_ref() }.descriptor().map_or(Places::ByFeed(feed), Places::ByFile)
    }
}

impl PositionContext {
    /// For a COPY whose records nobody counts on the way.
    pub(crate) fn uncounted(source: Source) -> Self {
        Self { records: None, ..Self::counting(source, Checkpoint::START, Places::ByCopy) }
    }

    /// For a read that tells of each record by [`PositionContext::count_record`], begun at `start`.
    pub(crate) fn counting(source: Source, start: Checkpoint, places: Places) -> Self {
        let callback = pg_sys::ErrorContextCallback {
            previous: std::ptr::null_mut(),
            callback: Some(add_position),
            arg: std::ptr::null_mut(),
        };
        Self { callback, source, start, places, records: Some(0) }
    }

    /// The context below ours on PostgreSQL's stack.
    pub(crate) fn outer(&self) -> *mut pg_sys::ErrorContextCallback {
        self.callback.previous
    }

    /// The read goes on at `start`.
    pub(crate) fn restart(&mut self, start: Checkpoint, places: Places) {
        (self.start, self.places, self.records) = (start, places, self.records.map(|_| 0));
    }

    /// The input whose records are read.
    pub(crate) fn source(&self) -> Source {
        self.source
    }

    /// Records read since the start, a header not counted.
    pub(crate) fn records(&self) -> u64 {
        self.records.unwrap_or(0)
    }

    /// Records are not told of, or errors not always about the one that is being read.
    pub(crate) fn count_nothing(&mut self) {
        self.records = None;
    }

    /// The number of the record behind those that were read; a header must be counted by who knows of it.
    pub(crate) fn next_record(&self) -> u64 {
        self.start.record + self.records()
    }

    /// One more record was read.
    pub(crate) fn count_record(&mut self) {
        self.records = self.records.map(|count| count + 1);
    }

    /// Links this context above `outer` and returns it for COPY's to be linked above.
    ///
    /// # Safety
    /// `self` must stay where it is for as long as the returned pointer is on PostgreSQL's stack.
    pub(crate) unsafe fn push_on(
        &mut self,
        outer: *mut pg_sys::ErrorContextCallback,
    ) -> *mut pg_sys::ErrorContextCallback {
        self.callback.previous = outer;
        self.callback.arg = (&raw mut *self).cast();
        &raw mut self.callback
    }

    /// The COPY whose context lies directly above ours, if there is one.
    ///
    /// # Safety
    /// Must be called from an error context callback below which the stack is intact.
    unsafe fn copy_above(&self) -> Option<pg_sys::CopyFromState> {
        let copy_callback = pg_raw::CopyFromErrorCallback as unsafe extern "C-unwind" fn(*mut c_void);
        let ours = (&raw const self.callback).cast_mut();
        // SAFETY: PostgreSQL's stack is a linked list of live records from its top down to ours.
        unsafe {
            let mut entry = pg_sys::error_context_stack;
            while !entry.is_null() && entry != ours {
                if (*entry).previous == ours {
                    let is_copy = (*entry).callback.is_some_and(|f| std::ptr::fn_addr_eq(f, copy_callback));
                    return is_copy.then(|| (*entry).arg.cast());
                }
                entry = (*entry).previous;
            }
        }
        None
    }

    /// The context that lies directly below the topmost COPY's, which is the one that reads or inserts now.
    ///
    /// # Safety
    /// A COPY must be at work above one of these contexts.
    pub(crate) unsafe fn below_copy() -> *mut PositionContext {
        let copy_callback = pg_raw::CopyFromErrorCallback as unsafe extern "C-unwind" fn(*mut c_void);
        // SAFETY: PostgreSQL's stack is a linked list of live records; the caller's promise says that this one is
        // found.
        unsafe {
            let mut entry = pg_sys::error_context_stack;
            while !(*entry).callback.is_some_and(|f| std::ptr::fn_addr_eq(f, copy_callback)) {
                entry = (*entry).previous;
            }
            (*(*entry).previous).arg.cast()
        }
    }

    /// What is known of the place of the error now being reported.
    fn known(&self, copy: &CopyView, error: &ErrorView) -> Known {
        let nothing = Known { place: None, record: None, invalid: None };
        if !copy.line_shown || is_cancel(error) {
            return nothing;
        }
        let is_of_a_row = copy.row_known || error.from_reader || is_constraint(error);
        if !is_of_a_row {
            return nothing; // rows are being written, and COPY shows the line its reader is at
        }
        if let Some(place) = self.locate(copy, error) {
            // The header is no record.
            let record = place.record.checked_sub(u64::from(copy.has_header)).filter(|record| *record > 0);
            let invalid = is_encoding(error).then(|| self.invalid(copy, &place)).flatten();
            return Known { place: Some(place), record, invalid };
        }
        Known { invalid: None, place: None, record: self.records.and_then(|count| self.counted_record(copy, count)) }
    }

    /// The number of the record being read, the one after `count` records that were delivered. The first that is read
    /// of a file may be its header.
    fn counted_record(&self, copy: &CopyView, count: u64) -> Option<u64> {
        let from_start = self.start.record == 1;
        match (copy.has_header, from_start) {
            (true, true) => (count > 0).then_some(count + 1),
            (true, false) => Some(self.start.record - 1 + count),
            (false, _) => Some(self.start.record + count),
        }
    }

    /// The byte at which a file turns out not to be in UTF-8.
    fn invalid(&self, copy: &CopyView, place: &Place) -> Option<Invalid> {
        let descriptor = match self.places {
            Places::ByCopy => copy.descriptor,
            Places::ByFile(descriptor) => descriptor,
            Places::ByFeed(_) | Places::AtStart | Places::Nowhere => return None,
        };
        if descriptor < 0 || copy.encoding != pg_sys::pg_enc::PG_UTF8.cast_signed() {
            return None;
        }
        let mut bytes = Reread { file: borrow(descriptor), offset: place.byte };
        Invalid::find(&mut bytes, &dialect(copy)?, place).ok().flatten()
    }

    /// The record that COPY's line number belongs to: the file is scanned again for it, or somebody knows.
    ///
    /// A quote that is left open matters only to who reports that; and COPY has then read to the file's end too.
    fn locate(&self, copy: &CopyView, error: &ErrorView) -> Option<Place> {
        let descriptor = match self.places {
            Places::ByCopy => (copy.descriptor >= 0).then_some(copy.descriptor)?,
            Places::ByFile(descriptor) => descriptor,
            // SAFETY: it lives as long as the read goes on.
            Places::ByFeed(feed) => return unsafe { feed.as_ref() }.place(copy.line_number),
            Places::AtStart => return place_at(self.start, copy.line_number),
            Places::Nowhere => return None,
        };
        let dialect = dialect(copy)?;
        let mut bytes = Reread { file: borrow(descriptor), offset: self.start.byte };
        let (start, number) = (self.start, copy.line_number);
        let located = match is_bad_format(error) {
            true => locate::locate(&mut bytes, &dialect, start, number, &mut no_interrupt_pending),
            false => locate::locate_start(&mut bytes, &dialect, start, number, &mut no_interrupt_pending),
        };
        match located {
            Ok(Located::Found(place)) => Some(place),
            Ok(Located::Beyond | Located::Stopped) | Err(_) => None,
        }
    }
}

/// The place of the record that starts at `start`, if COPY's line number is its own rather than an earlier record's.
pub(crate) fn place_at(start: Checkpoint, copy_line: u64) -> Option<Place> {
    let Checkpoint { line, record, byte, number, .. } = start;
    (copy_line >= number).then_some(Place { line, record, byte, end: byte, open_quote: None })
}

/// The parts of a position that could be found out.
struct Known {
    place: Option<Place>,
    record: Option<u64>,
    /// For an error about an encoding.
    invalid: Option<Invalid>,
}

/// The callback itself.
#[pg_guard]
unsafe extern "C-unwind" fn add_position(context: *mut c_void) {
    // SAFETY: `push_on` made the argument point to the context, which lives while it is on the stack; PostgreSQL
    // calls this while it reports an error, with the stack intact.
    unsafe {
        let context = &*context.cast::<PositionContext>();
        let Some(copy) = context.copy_above() else { return };
        let error = ErrorView::current();
        if !error.is_error() {
            return; // a NOTICE is no error, and a FATAL must not wait for a scan
        }
        let copy = CopyView::of(copy);
        let known = context.known(&copy, &error);
        shim::add_context(&describe(context.source, &known, &error));
        if let Some(fits) = known.invalid.as_ref().and_then(|invalid| invalid.fits)
            && context.source.hints
        {
            shim::add_hint(&CString::new(format!("Say encoding => '{fits}'.")).unwrap_or_default());
        }
    }
}

/// The line itself.
fn describe(source: Source, known: &Known, error: &ErrorView) -> CString {
    let mut line = Vec::from(&b"fastcsv: "[..]);
    if source.is_client() || source.is_spooled {
        line.extend_from_slice(b"STDIN");
    } else {
        line.extend_from_slice(if source.is_program { b"program \"" } else { b"file \"" });
        line.extend_from_slice(source.bytes());
        line.push(b'"');
    }
    let mut part = |text: String| line.extend_from_slice(text.as_bytes());
    if let Some(place) = &known.place {
        part(format!(", line {}", place.line));
    }
    if let Some(record) = known.record {
        part(format!(", record {record}"));
    }
    if let Some(place) = &known.place {
        part(format!(", byte {}", place.byte));
        if let Some(quote) = place.open_quote.as_ref().filter(|_| is_bad_format(error)) {
            part(format!("; the quoted field opens at line {}, byte {}", quote.line, quote.byte));
        }
        if let Some(invalid) = &known.invalid {
            part(invalid.text());
        }
    }
    CString::new(line).unwrap_or_default() // a C string's bytes and digits hold no NUL
}

/// The file's dialect, or `None` where its structure cannot be seen in the raw bytes.
pub(crate) fn dialect(copy: &CopyView) -> Option<Dialect> {
    // In the encodings only a client can use, a character's later bytes may look like ASCII from '0' (0x30) up.
    let may_be_hidden = |byte: u8| encoding::is_client_only(copy.encoding) && byte >= b'0';
    let builder: DialectBuilder = match copy.format() {
        Format::Binary => return None,
        Format::Text => Dialect::builder().quote(None).escape(Some(b'\\')),
        Format::Csv => Dialect::builder().quote(Some(copy.quote)).escape(Some(copy.escape)),
    };
    let dialect = builder.quoting(Quoting::Toggle).delimiter(&[copy.delimiter]).build().ok()?;
    let visible = [dialect.quote(), dialect.escape()].into_iter().flatten().all(|byte| !may_be_hidden(byte));
    visible.then_some(dialect)
}

/// Was the statement told to stop? Then nobody should wait for a scan of the file.
fn is_cancel(error: &ErrorView) -> bool {
    class(error) == *b"57"
}

/// A constraint's violation is reported with the number of the very row.
fn is_constraint(error: &ErrorView) -> bool {
    class(error) == *b"23"
}

/// Are bytes of the file not of its encoding?
fn is_encoding(error: &ErrorView) -> bool {
    error.sqlstate == pgrx::PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE as i32
}

fn is_bad_format(error: &ErrorView) -> bool {
    error.sqlstate == pgrx::PgSqlErrorCode::ERRCODE_BAD_COPY_FILE_FORMAT as i32
}

/// The first two characters of the SQLSTATE: PostgreSQL packs each into 6 bits, the first lowest, less '0'.
fn class(error: &ErrorView) -> [u8; 2] {
    let character = |shift: u32| ((error.sqlstate >> shift) & 0x3f) as u8 + b'0';
    [character(0), character(6)]
}

/// Scanning goes on until somebody asks the session to stop.
fn no_interrupt_pending() -> bool {
    // SAFETY: plain flags set by signal handlers, read on PostgreSQL's own thread.
    unsafe { pg_sys::QueryCancelPending == 0 && pg_sys::ProcDiePending == 0 }
}

/// The file behind a descriptor that somebody else owns and closes.
fn borrow(descriptor: RawFd) -> ManuallyDrop<File> {
    // SAFETY: the descriptor is open for as long as its COPY lives, which is longer than this report; it is never
    // closed here.
    ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) })
}

/// Reads a file at offsets of its own, so that COPY's place in it is not moved.
struct Reread {
    file: ManuallyDrop<File>,
    offset: u64,
}

impl Read for Reread {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

impl Source {
    /// The name's bytes, in the server's encoding.
    fn bytes(&self) -> &[u8] {
        // SAFETY: the name of what is not the client's is a C string that lives as long as its scan or load.
        unsafe { CStr::from_ptr(self.name) }.to_bytes()
    }
}
