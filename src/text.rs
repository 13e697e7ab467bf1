//! Where a file's text begins, and whether its bytes are the text: byte order marks, and UTF-16.
//!
//! COPY takes a byte order mark for the beginning of the first value, and knows no UTF-16. Where the user wants it, or
//! where the statement is not one that COPY could run, a mark is left out, and a file that is in UTF-16 is recoded to
//! UTF-8 on its way to COPY's parser and the threads, as a compressed one is decompressed ([`crate::archive`]).

#![expect(unsafe_code, reason = "reads lists of options, and files named by C strings")]

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};

use fastcsv_engine::coding::{Coding, Decoded, Endian};
use pgrx::{PgList, pg_sys};

use crate::archive;
use crate::encoding;
use crate::header::BYTE_ORDER_MARK;
use crate::options::Source;
use crate::stream;

/// Bytes of a text's beginning that tell.
const HEAD: u64 = 4;

/// The first bytes of the text in an open file, up to so many. What is wrong with a compressed file is told by who
/// reads on.
///
/// # Errors
/// Those of the system.
pub(crate) fn text_of(source: &Source, file: File, most: u64) -> io::Result<Vec<u8>> {
    let compression = archive::format_of(&file).filter(|_| source.decompresses);
    let coding = Coding { compression, utf16: source.utf16 };
    let mut text = Vec::new();
    match coding.is_plain() {
        true => drop(file.take(most).read_to_end(&mut text)?),
        false => drop(Decoded::new(coding, file)?.take(most).read_to_end(&mut text)),
    }
    Ok(text)
}

/// Looks at the beginning of the source's file: the source and COPY's options as they are then. What the source says of
/// a mark is true from then on: that there is one, which is left out.
///
/// # Safety
/// The source's name must be a C string, or null; the list one of DefElems.
pub(crate) unsafe fn look(source: Source, options: *mut pg_sys::List) -> (Source, *mut pg_sys::List) {
    // SAFETY: the caller's promise.
    unsafe {
        let named = encoding_option(options);
        let order = named.and_then(order_by_name);
        let is_asked = source.drops_mark || order.is_some();
        if !is_asked || source.is_program || source.is_client() || source.utf16.is_some() {
            return (source, options);
        }
        let found = read_head(source);
        let head = found.as_deref().unwrap_or_default();
        let may_be_utf8 = named.is_none_or(is_utf8);
        let utf16 = match order {
            Some(order) => Some(order.unwrap_or_else(|| Endian::of_text(head))),
            None => Endian::of_mark(head).or_else(|| Endian::of_ascii(head)).filter(|_| may_be_utf8),
        };
        if utf16.is_some() {
            return (Source { utf16, drops_mark: false, ..source }, with_utf8(options));
        }
        // Of a FIFO nobody knows yet.
        let may_have_mark = head.starts_with(BYTE_ORDER_MARK) || found.is_none() && stream::is_fifo(source.name);
        (Source { drops_mark: may_have_mark && may_be_utf8, ..source }, options)
    }
}

/// The first bytes of the text; `None` where they cannot be had without taking them away, or at all.
///
/// # Safety
/// The source's name must be a C string.
unsafe fn read_head(source: Source) -> Option<Vec<u8>> {
    // SAFETY: the caller's promise.
    let file = unsafe { archive::open_regular(source) };
    file.and_then(|file| text_of(&source, file, HEAD).ok())
}

/// The name in the option `encoding`.
///
/// # Safety
/// The list must be one of DefElems.
unsafe fn encoding_option<'a>(options: *mut pg_sys::List) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    unsafe {
        let options = PgList::<pg_sys::DefElem>::from_pg(options);
        let option = options.iter_ptr().find(|option| CStr::from_ptr((**option).defname) == c"encoding")?;
        Some(CStr::from_ptr(pg_sys::defGetString(option)))
    }
}

/// Is it the option `encoding`, with a name of UTF-16? COPY knows none.
///
/// # Safety
/// The option must be a DefElem with a string value.
pub(crate) unsafe fn is_utf16_option(option: *mut pg_sys::DefElem) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        CStr::from_ptr((*option).defname) == c"encoding"
            && order_by_name(CStr::from_ptr(pg_sys::defGetString(option))).is_some()
    }
}

/// Does the encoding's name stand for UTF-16, and in which order, if it says so? As with PostgreSQL's own names,
/// nothing but letters and digits counts.
fn order_by_name(name: &CStr) -> Option<Option<Endian>> {
    let letters = name.to_bytes().iter().filter(|byte| byte.is_ascii_alphanumeric());
    match &letters.map(u8::to_ascii_lowercase).collect::<Vec<u8>>()[..] {
        b"utf16" => Some(None),
        b"utf16le" => Some(Some(Endian::Little)),
        b"utf16be" => Some(Some(Endian::Big)),
        _ => None,
    }
}

fn is_utf8(name: &CStr) -> bool {
    encoding::by_name(name) == Some(pg_sys::pg_enc::PG_UTF8.cast_signed())
}

/// The options, with UTF8 for the encoding.
///
/// # Safety
/// The list must be one of DefElems.
unsafe fn with_utf8(options: *mut pg_sys::List) -> *mut pg_sys::List {
    let mut changed = PgList::<pg_sys::DefElem>::new();
    // SAFETY: the caller's promise; allocates nodes.
    unsafe {
        for option in PgList::<pg_sys::DefElem>::from_pg(options).iter_ptr() {
            if CStr::from_ptr((*option).defname) != c"encoding" {
                changed.push(option);
            }
        }
        let value = pg_sys::makeString(c"UTF8".as_ptr().cast_mut()).cast();
        changed.push(pg_sys::makeDefElem(c"encoding".as_ptr().cast_mut(), value, -1));
    }
    changed.into_pg()
}
