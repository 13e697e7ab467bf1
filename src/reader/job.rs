//! From a scan to the worker's job: what COPY has made of the options, and the table's columns, in the engine's words.
//!
//! What the engine does not do exactly is not asked of it: [`plan`] says why, and the scan stays serial.

#![expect(unsafe_code, reason = "reads COPY's options and a tuple descriptor by pointer")]

use std::ffi::CStr;

use fastcsv_engine::coding::Coding;
use fastcsv_engine::convert::Settings;
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::entry::SMALLEST_BLOCK;
use fastcsv_engine::filter::Filter;
use fastcsv_engine::job::{Attribute, Constant, Encoding, Field, Input, Io, Job, Layout, Output, Syntax, Target};
use fastcsv_engine::ring::{Geometry, RESERVE};
use pgrx::{PgList, pg_sys};

use crate::referee::shim::{CopyOptions, CopyView, Format};
use crate::{encoding, pg_compat, settings, types};

/// Bytes of a block: large enough that handing one over costs nothing, small enough that a few of them are a small
/// pool.
const BLOCK: u64 = 64 * 1024;

/// Slots for tickets: more than blocks can be filled at once, so that ranges without rows do not hold up those with.
const TICKETS: u32 = 256;

/// Blocks a load keeps while it collects rows: rows are collected up to 64 KB of lines, which make about as many bytes
/// of tuples; where they make many more, the load copies them.
const KEPT: u32 = 8;

/// What a thread holds beside its range and the records longer than usual: the boundary list of a chunk, at worst four
/// bytes for each of its bytes and twice that while it grows.
const THREAD_BASE: u64 = 3 * 512 * 1024;

/// What a long record costs at worst, in multiples of its length: itself, its boundary list, its values and its row.
const LONG_RECORD_FACTOR: u64 = 8;

/// Bytes of a record's beginning that come with each row of a stream that is loaded: more than the 100 that COPY shows
/// of a line, whatever characters they are.
const TEXT_SHOWN: usize = 128;

/// Why a scan is read by PostgreSQL's parser alone.
pub(crate) type Serial = &'static str;

/// What a scan wants of a file.
pub(crate) struct Wanted {
    pub(crate) descriptor: pg_sys::TupleDesc,
    /// Whether only the number of rows matters.
    pub(crate) count_only: bool,
    /// Whether each row comes with its place, and blocks are kept.
    pub(crate) places: bool,
    /// Attributes that are the same in every row.
    pub(crate) constants: Vec<(usize, Constant)>,
    /// What rows must satisfy, if that can be decided by the threads; its columns are attribute numbers.
    pub(crate) filter: Option<Filter>,
    /// The byte at which the first record to parse starts.
    pub(crate) start: u64,
    pub(crate) line_end: LineEnd,
    pub(crate) origin: Origin,
}

/// What the bytes come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    File {
        /// Its size.
        size: u64,
        io: Io,
    },
    Stream {
        /// How the text is put into the bytes of a file, if it comes from one.
        coding: Option<Coding>,
    },
}

impl Origin {
    /// How many bytes come from `start` on. Of a stream nobody knows; it is taken to be long.
    fn length(self, start: u64) -> u64 {
        match self {
            Origin::File { size, .. } => size - start,
            Origin::Stream { .. } => 1 << 40,
        }
    }
}

impl Wanted {
    /// Is the value of the attribute (0-based) needed?
    ///
    /// # Safety
    /// The options must be of a live COPY whose table has the attribute.
    unsafe fn converts(&self, options: &CopyOptions, attribute: usize) -> bool {
        match &self.filter {
            // SAFETY: the caller's promise.
            _ if !self.count_only => unsafe { options.selects(attribute) },
            Some(filter) => filter.columns().contains(&(attribute as u32 + 1)),
            None => false,
        }
    }
}

/// The job and the dimensions of its ring.
///
/// # Errors
/// The reason why it must be done serially.
///
/// # Safety
/// Both views must be of a live COPY whose table has the descriptor.
pub(crate) unsafe fn plan(view: &CopyView, options: &CopyOptions, wanted: &Wanted) -> Result<(Job, Geometry), Serial> {
    // SAFETY: the caller's promise.
    unsafe {
        check(view, options)?;
        let (fields, layout, mixed) = columns(options, wanted)?;
        let syntax = Syntax {
            delimiter: view.delimiter,
            quote: view.quote,
            escape: view.escape,
            line_end: wanted.line_end,
            null: CStr::from_ptr(options.null_print).to_bytes().to_vec(),
            default: (!options.default_print.is_null())
                .then(|| CStr::from_ptr(options.default_print).to_bytes().to_vec()),
            has_end_marker: pg_compat::CSV_HAS_END_MARKER,
        };
        let encoding = file_encoding(view, options)?;
        let mut settings = types::settings();
        if view.encoding == pg_sys::pg_enc::PG_SQL_ASCII.cast_signed() {
            // Nobody checks what such a file holds, so nothing is known of its characters.
            settings.utf8 = false;
            settings.single_byte &= !options.needs_transcoding;
        }
        let budget = Budget::new(wanted.origin.length(wanted.start), if wanted.places { KEPT } else { 0 });
        let output = match (wanted.count_only, mixed) {
            (true, _) => Output::Count,
            (false, true) => Output::MixedRows,
            (false, false) if wanted.places => Output::PlacedRows,
            (false, false) => Output::Rows,
        };
        let job = Job {
            syntax,
            input: budget.input(wanted.start, wanted.origin),
            encoding,
            fields,
            layout,
            // A row that a condition refuses is left out only if nothing in it can still turn out to be wrong.
            filter: match &wanted.filter {
                Some(filter) if !mixed => Some(filter.clone().with_columns(|number| number - 1)),
                _ => None,
            },
            output,
            settings,
            text: if wanted.places && matches!(wanted.origin, Origin::Stream { .. }) { TEXT_SHOWN } else { 0 },
            threads: budget.threads as usize,
            longest_record: budget.longest_record as usize,
            level: settings::simd().map(str::to_owned),
        };
        Ok((job, budget.geometry()))
    }
}

/// The job of a survey of a file's records, of so many fields each, from a byte on where one starts.
pub(crate) fn survey(
    syntax: Syntax,
    settings: Settings,
    fields: usize,
    null_is_certain: bool,
    start: u64,
    origin: Origin,
) -> (Job, Geometry) {
    let budget = Budget::new(origin.length(start), 0);
    let job = Job {
        syntax,
        input: budget.input(start, origin),
        encoding: Encoding::AnyByte,
        fields: vec![Field { target: None }; fields],
        layout: Layout { attributes: Vec::new(), type_id: 0, type_modifier: 0, constants: Vec::new() },
        filter: None,
        output: Output::Survey { null_is_certain },
        settings: Settings { zone: Vec::new(), ..settings },
        text: 0,
        threads: budget.threads as usize,
        longest_record: budget.longest_record as usize,
        level: settings::simd().map(str::to_owned),
    };
    (job, budget.geometry())
}

/// What the engine does not do at all.
///
/// # Safety
/// The options must be of a live COPY.
unsafe fn check(view: &CopyView, options: &CopyOptions) -> Result<(), Serial> {
    let is_line_end = |byte| byte == b'\n' || byte == b'\r';
    if view.format() != Format::Csv {
        return Err("the format is not csv");
    }
    if is_line_end(view.quote) || is_line_end(view.escape) {
        return Err("the quote or escape is a line end");
    }
    if pg_compat::CSV_HAS_END_MARKER && (view.quote == b'\\' || view.escape == b'\\') {
        // COPY takes a backslash at a record's start for the end-of-data marker's, depending on where its buffer ends.
        return Err("the quote or escape is a backslash, which this version of COPY reads in a way of its own");
    }
    // SAFETY: the caller's promise; both are C strings where they are not null.
    let ascii = unsafe {
        let is_ascii = |text: *const std::ffi::c_char| text.is_null() || CStr::from_ptr(text).to_bytes().is_ascii();
        is_ascii(options.null_print) && is_ascii(options.default_print)
    };
    if options.needs_transcoding
        && !(ascii && view.delimiter.is_ascii() && view.quote.is_ascii() && view.escape.is_ascii())
    {
        return Err("an option is not ASCII and the file's encoding is not the server's");
    }
    Ok(())
}

/// How the file's bytes become the server's.
fn file_encoding(view: &CopyView, options: &CopyOptions) -> Result<Encoding, Serial> {
    if !encoding::is_single_byte(view.encoding) {
        let is_utf8 = view.encoding == pg_sys::pg_enc::PG_UTF8.cast_signed();
        return if is_utf8 && !options.needs_transcoding {
            Ok(Encoding::Utf8)
        } else {
            Err("the file's encoding has characters of several bytes and is not the server's UTF8")
        };
    }
    if !options.needs_transcoding {
        return Ok(Encoding::AnyByte);
    }
    encoding::table(view.encoding).map(Encoding::Table).ok_or("the file's encoding is not like ASCII")
}

/// The file's fields, the row they make, and whether some attribute of it is text that PostgreSQL must convert.
///
/// # Safety
/// The options must be of a live COPY whose table has the descriptor.
unsafe fn columns(options: &CopyOptions, wanted: &Wanted) -> Result<(Vec<Field>, Layout, bool), Serial> {
    // SAFETY: the caller's promise.
    unsafe {
        let table = pg_compat::attributes(wanted.descriptor);
        let mut attributes: Vec<Attribute> = table.iter().map(attribute).collect();
        let numbers = PgList::<std::ffi::c_int>::from_pg(options.attributes);
        let mut mixed = false;
        let mut field = |number: i32| {
            let index = usize::try_from(number - 1).expect("COPY's columns are user columns");
            // Behind the table's columns are those that stand for fields which are nobody's.
            if index >= table.len() || !wanted.converts(options, index) {
                return Field { target: None };
            }
            let column = &table[index];
            let kind = types::kind_of(column.atttypid, column.atttypmod);
            if kind.is_none() {
                mixed = true;
                attributes[index] = TEXT;
            }
            let force_not_null = options.forces_not_null(index);
            Field {
                target: Some(Target { attribute: index, kind, force_not_null, force_null: options.forces_null(index) }),
            }
        };
        let fields: Vec<Field> = numbers_of(&numbers).into_iter().map(&mut field).collect();
        if fields.is_empty() {
            return Err("the table has no columns");
        }
        if mixed && options.skips_errors {
            return Err("rows with errors are passed over, and a column's type is only known to PostgreSQL");
        }
        let (type_id, type_modifier) = ((*wanted.descriptor).tdtypeid.to_u32(), (*wanted.descriptor).tdtypmod);
        Ok((fields, Layout { attributes, type_id, type_modifier, constants: wanted.constants.clone() }, mixed))
    }
}

/// The elements of a list of integers.
///
/// # Safety
/// The list must be one.
unsafe fn numbers_of(list: &PgList<std::ffi::c_int>) -> Vec<i32> {
    // SAFETY: the caller's promise.
    (0..list.len()).map(|index| unsafe { pg_sys::list_nth_int(list.as_ptr(), index as i32) }).collect()
}

/// How a value that PostgreSQL must convert travels: as `text` is stored.
const TEXT: Attribute = Attribute { length: None, align: 4, packable: true };

fn attribute(column: &pg_sys::FormData_pg_attribute) -> Attribute {
    let align = match column.attalign.cast_unsigned() {
        pg_sys::TYPALIGN_DOUBLE => 8,
        pg_sys::TYPALIGN_INT => 4,
        pg_sys::TYPALIGN_SHORT => 2,
        _ => 1,
    };
    let packable = column.attstorage.cast_unsigned() != pg_sys::TYPSTORAGE_PLAIN;
    Attribute { length: u16::try_from(column.attlen).ok(), align, packable }
}

/// How a scan's memory is divided.
struct Budget {
    threads: u64,
    range_size: u64,
    longest_record: u64,
    pool: u64,
    kept: u32,
}

impl Budget {
    /// For a file of which so many bytes are left to read, and a backend that keeps so many blocks. Half of the memory
    /// is for blocks, half for threads.
    fn new(bytes: u64, kept: u32) -> Budget {
        let half = settings::memory() / 2;
        let wanted_size = settings::range_size();
        let worth = bytes.div_ceil(wanted_size).max(1);
        let affordable = (half / (THREAD_BASE + wanted_size.min(half / 4))).max(1);
        // Who keeps blocks is a load, and inserts rows all the time.
        let threads = (settings::threads(kept > 0) as u64).min(worth).min(affordable);
        let each = half / threads;
        let range_size = wanted_size.min(each / 2).max(1);
        let longest_record = (each.saturating_sub(THREAD_BASE + range_size) / LONG_RECORD_FACTOR).max(BLOCK);
        // A block being filled and one waiting for each thread, besides what two ranges a thread may come to.
        let wanted_pool =
            (threads * 4 * range_size.max(BLOCK) + u64::from(kept) * BLOCK).min(2 * bytes + threads * BLOCK);
        let least_pool = (threads + u64::from(RESERVE + kept) + 2) * BLOCK;
        Budget {
            threads,
            range_size,
            longest_record,
            pool: wanted_pool.max(least_pool).min(half.max(least_pool)),
            kept,
        }
    }

    fn input(&self, start: u64, origin: Origin) -> Input {
        match origin {
            Origin::File { size, io } => Input::File { start, size, range_size: self.range_size, io },
            Origin::Stream { coding } => Input::Stream { start, segment_size: self.range_size as usize, coding },
        }
    }

    fn geometry(&self) -> Geometry {
        const { assert!(BLOCK as usize >= SMALLEST_BLOCK) };
        Geometry { tickets: TICKETS, blocks: (self.pool / BLOCK) as u32, kept: self.kept, block_size: BLOCK as u32 }
    }
}
