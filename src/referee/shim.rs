//! The Rust side of `shim.h`: what the C shim can tell of a COPY in progress, and do to it.

#![expect(unsafe_code, reason = "declarations of C functions and the structs they fill")]

use std::ffi::{CStr, c_char};
use std::io;
use std::mem::MaybeUninit;

use fastcsv_engine::decompress;
use pgrx::pg_sys;

use crate::memory;

/// What a COPY in progress tells about where it is and how it reads. Layout: `FastcsvCopyView` in `shim.h`.
#[repr(C)]
pub(crate) struct CopyView {
    /// COPY's own count: the record being read, 0 before the first.
    pub(crate) line_number: u64,
    /// The descriptor of the regular file COPY reads, or -1 where the same bytes cannot be read again.
    pub(crate) descriptor: i32,
    /// The file's encoding, a PostgreSQL encoding number.
    pub(crate) encoding: i32,
    format: i32,
    /// The delimiter byte; 0 for the binary format.
    pub(crate) delimiter: u8,
    /// The quote byte; 0 unless the format is CSV.
    pub(crate) quote: u8,
    /// The escape byte; 0 unless the format is CSV.
    pub(crate) escape: u8,
    /// Is the first record a header?
    pub(crate) has_header: bool,
    /// Does COPY's CONTEXT line name a line at all?
    pub(crate) line_shown: bool,
    /// Does COPY's CONTEXT line show a whole row or a column of it, so that `line_number` is that row's?
    pub(crate) row_known: bool,
}

/// COPY's formats.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    Text,
    Binary,
}

impl CopyView {
    /// # Safety
    /// `state` must be a live COPY FROM.
    pub(crate) unsafe fn of(state: pg_sys::CopyFromState) -> Self {
        let mut view = MaybeUninit::uninit();
        // SAFETY: the caller's promise; the shim fills every field.
        unsafe {
            fastcsv_shim_view_copy(state, view.as_mut_ptr());
            view.assume_init()
        }
    }

    /// The format being read.
    pub(crate) fn format(&self) -> Format {
        match self.format {
            0 => Format::Csv,
            1 => Format::Text,
            _ => Format::Binary,
        }
    }
}

/// What COPY made of its options. Layout: `FastcsvCopyOptions` in `shim.h`. Valid as long as the COPY is.
#[repr(C)]
pub(crate) struct CopyOptions {
    /// What stands for NULL, in the server's encoding.
    pub(crate) null_print: *const c_char,
    /// What stands for a column's default, or null.
    pub(crate) default_print: *const c_char,
    /// The numbers of the file's columns in the file's order: a list of integers.
    pub(crate) attributes: *mut pg_sys::List,
    force_not_null: *const bool,
    force_null: *const bool,
    selected: *const bool,
    /// Are the file's encoding and the server's different?
    pub(crate) needs_transcoding: bool,
    /// Are rows whose values cannot be converted passed over?
    pub(crate) skips_errors: bool,
    /// Must some default be computed row by row, after the rows before were inserted?
    pub(crate) volatile_defaults: bool,
    /// Bytes of the line read last, in the server's encoding, without its line end.
    pub(crate) line_length: i32,
    /// COPY's count after it.
    pub(crate) line_number: u64,
}

impl CopyOptions {
    /// # Safety
    /// `state` must be a live COPY FROM.
    pub(crate) unsafe fn of(state: pg_sys::CopyFromState) -> Self {
        let mut options = MaybeUninit::uninit();
        // SAFETY: the caller's promise; the shim fills every field.
        unsafe {
            fastcsv_shim_view_options(state, options.as_mut_ptr());
            options.assume_init()
        }
    }

    /// Is FORCE_NOT_NULL on for the attribute (0-based)?
    ///
    /// # Safety
    /// The COPY must be alive and its table have that attribute; likewise for the next two.
    pub(crate) unsafe fn forces_not_null(&self, attribute: usize) -> bool {
        // SAFETY: the caller's promise; COPY's arrays have an element an attribute.
        !self.force_not_null.is_null() && unsafe { *self.force_not_null.add(attribute) }
    }

    /// Is FORCE_NULL on for it?
    ///
    /// # Safety
    /// As above.
    pub(crate) unsafe fn forces_null(&self, attribute: usize) -> bool {
        // SAFETY: as above.
        !self.force_null.is_null() && unsafe { *self.force_null.add(attribute) }
    }

    /// Is its value wanted?
    ///
    /// # Safety
    /// As above.
    pub(crate) unsafe fn selects(&self, attribute: usize) -> bool {
        // SAFETY: as above.
        self.selected.is_null() || unsafe { *self.selected.add(attribute) }
    }
}

/// What is known of the error now being reported. Layout: `FastcsvErrorView` in `shim.h`.
#[repr(C)]
pub(crate) struct ErrorView {
    /// ERROR, NOTICE and so on, as PostgreSQL numbers them.
    level: i32,
    /// The SQLSTATE, packed as PostgreSQL packs it.
    pub(crate) sqlstate: i32,
    /// Raised while a line was being read, not while rows were being written.
    pub(crate) from_reader: bool,
}

impl ErrorView {
    /// # Safety
    /// Must be called from an error context callback: at any other time there is no error to look at.
    pub(crate) unsafe fn current() -> Self {
        let mut view = MaybeUninit::uninit();
        // SAFETY: the caller's promise; the shim fills every field.
        unsafe {
            fastcsv_shim_view_error(view.as_mut_ptr());
            view.assume_init()
        }
    }

    /// Is it an ERROR: not a NOTICE or the like, and not a FATAL, after which the session ends?
    pub(crate) fn is_error(&self) -> bool {
        self.level == pg_sys::PGERROR.cast_signed()
    }
}

/// Adds a line to the CONTEXT of the error now being reported.
///
/// # Safety
/// Must be called from an error context callback.
pub(crate) unsafe fn add_context(line: &CStr) {
    // SAFETY: the caller's promise; the text is copied.
    unsafe { fastcsv_shim_add_context(line.as_ptr()) }
}

/// Gives the error now being reported a hint.
///
/// # Safety
/// Must be called from an error context callback.
pub(crate) unsafe fn add_hint(hint: &CStr) {
    // SAFETY: the caller's promise; the text is copied.
    unsafe { fastcsv_shim_add_hint(hint.as_ptr()) }
}

/// Raises what PostgreSQL says when a system call on a file failed: `could not <doing> file "<name>": <reason>`, with
/// the SQLSTATE that belongs to the errno in `error`.
pub(crate) fn raise_file_error(error: &io::Error, doing: &CStr, name: *const c_char) -> ! {
    // SAFETY: both are C strings (a source's name always is). Nothing here has a destructor.
    unsafe { fastcsv_shim_raise_file_error(error.raw_os_error().unwrap_or(libc::EIO), doing.as_ptr(), name) }
}

/// Raises the error of a read that failed. [`io::ErrorKind::UnexpectedEof`] stands for a file that has become shorter.
pub(crate) fn raise_read_error(error: &io::Error, name: *const c_char) -> ! {
    match (error.kind(), error.raw_os_error()) {
        // SAFETY: a source's name is a C string. Nothing here has a destructor.
        (io::ErrorKind::UnexpectedEof, _) => unsafe { fastcsv_shim_raise_changed(name, true) },
        (io::ErrorKind::OutOfMemory, _) | (_, Some(libc::ENOMEM)) => memory::raise_out_of_memory(),
        _ => raise_file_error(error, c"read", name),
    }
}

/// A text in PostgreSQL's memory, for what is raised: whoever owns one with a destructor must let go of it before.
pub(crate) fn palloced(text: &str) -> *const c_char {
    let length = text.bytes().position(|byte| byte == 0).unwrap_or(text.len());
    // SAFETY: copies so many bytes, and adds a NUL.
    unsafe { pg_sys::pnstrdup(text.as_ptr().cast(), length) }
}

/// Raises the error of a compressed file in which something is wrong.
///
/// # Safety
/// Both must be C strings.
pub(crate) unsafe fn raise_damaged(name: *const c_char, detail: *const c_char) -> ! {
    // SAFETY: the caller's promise. Nothing here has a destructor.
    unsafe {
        let needs_memory = CStr::from_ptr(detail).to_bytes() == decompress::NEEDS_TOO_MUCH.as_bytes();
        fastcsv_shim_raise_damaged(name, detail, needs_memory)
    }
}

unsafe extern "C-unwind" {
    pub(crate) fn fastcsv_shim_raise_changed(name: *const c_char, is_shorter: bool) -> !;
    fn fastcsv_shim_raise_damaged(name: *const c_char, detail: *const c_char, needs_memory: bool) -> !;
    fn fastcsv_shim_raise_file_error(error_number: i32, doing: *const c_char, name: *const c_char) -> !;
    pub(crate) fn fastcsv_shim_start_at(state: pg_sys::CopyFromState, line_number: u64, line_end: i32);
    pub(crate) fn fastcsv_shim_restart(
        state: pg_sys::CopyFromState,
        line_number: u64,
        line_end: i32,
        keep_value: bool,
        source: pg_sys::copy_data_source_cb,
    );
    pub(crate) fn fastcsv_shim_note_read(state: pg_sys::CopyFromState, position: u64, count: i32);
    pub(crate) fn fastcsv_shim_report_position(state: pg_sys::CopyFromState, position: u64);
    pub(crate) fn fastcsv_shim_name_value(
        state: pg_sys::CopyFromState,
        line_number: u64,
        column: *const c_char,
        value: *const c_char,
    );
    fn fastcsv_shim_view_options(state: pg_sys::CopyFromState, options: *mut CopyOptions);
    pub(crate) fn fastcsv_shim_take_stream(state: pg_sys::CopyFromState, source: pg_sys::copy_data_source_cb) -> i32;
    pub(crate) fn fastcsv_shim_take_file(state: pg_sys::CopyFromState, source: pg_sys::copy_data_source_cb) -> i32;
    pub(crate) fn fastcsv_shim_skip(state: pg_sys::CopyFromState, bytes: i64);
    pub(crate) fn fastcsv_shim_set_at_end(state: pg_sys::CopyFromState, at_end: bool);
    fn fastcsv_shim_view_copy(state: pg_sys::CopyFromState, view: *mut CopyView);
    fn fastcsv_shim_view_error(view: *mut ErrorView);
    fn fastcsv_shim_add_context(line: *const c_char);
    fn fastcsv_shim_add_hint(hint: *const c_char);
    pub(crate) fn fastcsv_shim_notice(message: *const c_char, hint: *const c_char);
    pub(crate) fn fastcsv_shim_move_position(query: *const c_char, prefix: i32);
    pub(crate) fn fastcsv_shim_row_was_skipped(state: pg_sys::CopyFromState) -> bool;
    pub(crate) fn fastcsv_shim_check_reject_limit(state: pg_sys::CopyFromState);
    pub(crate) fn fastcsv_shim_report_skipped(state: pg_sys::CopyFromState, load: bool);
    pub(crate) fn fastcsv_shim_show_line(
        state: pg_sys::CopyFromState,
        line_number: u64,
        text: *const c_char,
        length: i32,
    );
    pub(crate) fn fastcsv_shim_show_name_only(state: pg_sys::CopyFromState);
    pub(crate) fn fastcsv_shim_hide_line(state: pg_sys::CopyFromState, line_number: u64, keep_value: bool);
    pub(crate) fn fastcsv_shim_default(
        state: pg_sys::CopyFromState,
        index: i32,
        value: *mut *mut pg_sys::ExprState,
    ) -> i32;
    pub(crate) fn fastcsv_shim_select(state: pg_sys::CopyFromState, selected: *mut bool);
    pub(crate) fn fastcsv_shim_skipped(state: pg_sys::CopyFromState) -> i64;
    pub(crate) fn fastcsv_shim_add_skipped(state: pg_sys::CopyFromState, before: i64);
    pub(crate) fn fastcsv_shim_count_skipped(state: pg_sys::CopyFromState);
    pub(crate) fn fastcsv_shim_closest_name(
        name: *const c_char,
        candidates: *const *const c_char,
        count: i32,
    ) -> *const c_char;
}
