//! PostgreSQL's character encodings, as far as looking at a file's bytes needs them.

#![expect(unsafe_code, reason = "calls PostgreSQL's encoding functions")]

use std::ffi::{CStr, CString, c_int};

use pgrx::pg_sys;

use crate::memory;
use crate::pg_compat;

/// Bytes a converted byte may become, at most: PostgreSQL's MAX_CONVERSION_GROWTH.
const CONVERSION_GROWTH: usize = 4;

/// An encoding's number by its name, or `None` where PostgreSQL knows none of that name.
pub(crate) fn by_name(name: &CStr) -> Option<c_int> {
    // SAFETY: the name is a C string.
    let encoding = unsafe { pg_compat::encoding_number(name.as_ptr()) };
    (encoding >= 0).then_some(encoding)
}

/// Is this encoding one that only a client can use? Those hold characters whose later bytes look like ASCII.
pub(crate) fn is_client_only(encoding: c_int) -> bool {
    // The last encoding a server can use; the client-only ones are numbered after it.
    u32::try_from(encoding).is_ok_and(|encoding| encoding > pg_sys::pg_enc::PG_KOI8U)
}

/// Is a character of this encoding always one byte long?
pub(crate) fn is_single_byte(encoding: c_int) -> bool {
    // SAFETY: looks a table up.
    unsafe { pg_sys::pg_encoding_max_length(encoding) == 1 }
}

/// What each byte of a single-byte encoding becomes in the server's encoding, nothing where it is invalid; `None` where
/// the encoding is not like ASCII in its lower half, or PostgreSQL has no conversion.
pub(crate) fn table(encoding: c_int) -> Option<Vec<Vec<u8>>> {
    let converted = |byte: u8| to_server(encoding, &[byte]);
    let table: Vec<Vec<u8>> = (0..=u8::MAX).map(converted).collect::<Option<_>>()?;
    let is_like_ascii = (1..0x80).all(|byte: u8| table[usize::from(byte)] == [byte]);
    is_like_ascii.then_some(table)
}

/// Bytes of `encoding` in the server's encoding, up to the first that cannot be converted; `None` where there is no
/// conversion at all, or no memory for it.
pub(crate) fn to_server(encoding: c_int, bytes: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: reads a setting.
    let server = unsafe { pg_sys::GetDatabaseEncoding() };
    let ascii = pg_sys::pg_enc::PG_SQL_ASCII.cast_signed();
    if encoding == server || encoding == ascii || server == ascii {
        let mut same = memory::zeroed(bytes.len())?;
        same.copy_from_slice(bytes);
        return Some(same);
    }
    let length = c_int::try_from(bytes.len()).ok()?;
    let mut converted = memory::zeroed(bytes.len() * CONVERSION_GROWTH + 1)?;
    let room = c_int::try_from(converted.len()).ok()?;
    // SAFETY: the conversion reads `length` bytes and writes at most `room`, a terminating NUL included; with
    // errors off it stops at a byte it cannot convert.
    unsafe {
        let conversion = pg_sys::FindDefaultConversionProc(encoding, server);
        if conversion == pg_sys::InvalidOid {
            return None;
        }
        let source = bytes.as_ptr().cast_mut();
        pg_sys::pg_do_encoding_conversion_buf(
            conversion,
            encoding,
            server,
            source,
            length,
            converted.as_mut_ptr(),
            room,
            true,
        );
    }
    let end = converted.iter().position(|byte| *byte == 0)?;
    converted.truncate(end);
    Some(converted)
}

/// Are the bytes valid text in the server's encoding?
pub(crate) fn is_valid(bytes: &[u8]) -> bool {
    let Ok(length) = c_int::try_from(bytes.len()) else { return false };
    // SAFETY: reads so many bytes, and raises no error.
    unsafe { pg_sys::pg_verifymbstr(bytes.as_ptr().cast(), length, true) }
}

/// An identifier as SQL folds it when it is not quoted; `None` where the bytes hold a NUL.
pub(crate) fn folded(identifier: &[u8]) -> Option<CString> {
    let identifier = CString::new(identifier).ok()?;
    let length = c_int::try_from(identifier.as_bytes().len()).ok()?;
    // SAFETY: reads `length` bytes of the string; the result is an allocated C string.
    Some(unsafe { CStr::from_ptr(pg_sys::downcase_identifier(identifier.as_ptr(), length, false, false)) }.to_owned())
}
