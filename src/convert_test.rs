//! The engine's converters beside the types' input functions, as an SQL function for the tests (`tests/convert`).
//!
//! The function is not part of the extension's SQL. The tests declare it themselves, which only a superuser can:
//!
//! ```sql
//! CREATE FUNCTION convert(type oid, typmod int4, value text) RETURNS text
//!     LANGUAGE c STRICT AS 'fastcsv', 'fastcsv_test_convert';
//! ```
//!
//! It says `no converter`, `declined` or `same`, or what is wrong: `differs: ...` with both values in hexadecimal, or
//! `accepted what the input function refuses: ...` with the error's message.

#![expect(unsafe_code, reason = "calls a type's input function and reads its datum")]

use std::ffi::c_char;
use std::fmt::Write;

use fastcsv_engine::convert::{Converter, Datum, Kind, Scratch};
use pgrx::pg_sys::panic::CaughtError;
use pgrx::{IntoDatum, PgTryBuilder, pg_sys};

use crate::call::Call;
use crate::types;

/// The function's body.
pub(crate) fn compare(call: &Call) -> pg_sys::Datum {
    let word = |index| call.datum(index).map_or(0, |datum| datum.value() as u32);
    let (type_oid, typmod) = (pg_sys::Oid::from(word(0)), word(1).cast_signed());
    let text = call.text(2).expect("the function is strict");
    // SAFETY: the first argument is a type's oid, the third a C string.
    let verdict = unsafe { verdict(type_oid, typmod, text) };
    verdict.into_datum().expect("a string is never NULL")
}

/// # Safety
/// `type_oid` must be a type's oid and `text` a C string.
unsafe fn verdict(type_oid: pg_sys::Oid, typmod: i32, text: *mut c_char) -> String {
    // SAFETY: the caller's promise.
    let (kind, field) = unsafe { (types::kind_of(type_oid, typmod), std::ffi::CStr::from_ptr(text).to_bytes()) };
    let Some(kind) = kind else { return "no converter".into() };
    let (settings, mut scratch) = (types::settings(), Scratch::default());
    // What a value before this one left must not show.
    let before = format!("\\x{}", "a5".repeat(100));
    Converter::new(Kind::Bytea).convert(before.as_bytes(), &settings, &mut scratch);
    let converter = Converter::new(kind);
    let Some(ours) = converter.convert(field, &settings, &mut scratch) else { return "declined".into() };
    // SAFETY: the caller's promise.
    match unsafe { input(type_oid, typmod, text) } {
        Err(message) => format!("accepted what the input function refuses: {message}"),
        Ok(bytes) => {
            let ours = match ours {
                Datum::Word(word) => &word.to_le_bytes()[..bytes.len().min(8)],
                Datum::Bytes(bytes) => bytes,
            };
            if ours == bytes { "same".into() } else { format!("differs: {} is not {}", hex(ours), hex(&bytes)) }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

/// The bytes that the type's input function makes of a text (of a varlena the content), or its error's message.
///
/// # Safety
/// As for [`verdict`].
unsafe fn input(type_oid: pg_sys::Oid, typmod: i32, text: *mut c_char) -> Result<Vec<u8>, String> {
    // SAFETY: the caller's promise. An error in the subtransaction is caught, and undone with it; what was current
    // before it is made current again, as PL/pgSQL's exception blocks do.
    unsafe {
        let (context, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
        let outcome = PgTryBuilder::new(|| Ok(datum_bytes(type_oid, typmod, text)))
            .catch_others(|error| Err(message(error)))
            .execute();
        if outcome.is_ok() {
            pg_sys::ReleaseCurrentSubTransaction();
        } else {
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
        }
        pg_sys::MemoryContextSwitchTo(context);
        pg_sys::CurrentResourceOwner = owner;
        outcome
    }
}

fn message(error: CaughtError) -> String {
    match error {
        CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => report.message().to_owned(),
        CaughtError::RustPanic { ereport, .. } => ereport.message().to_owned(),
    }
}

/// # Safety
/// As for [`verdict`].
unsafe fn datum_bytes(type_oid: pg_sys::Oid, typmod: i32, text: *mut c_char) -> Vec<u8> {
    // SAFETY: the caller's promise; the datum is read as its type's length and passing say.
    unsafe {
        let (mut function, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        pg_sys::getTypeInputInfo(type_oid, &mut function, &mut parameter);
        let datum = pg_sys::OidInputFunctionCall(function, text, parameter, typmod);
        let (mut length, mut by_value) = (0, false);
        pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value);
        if by_value {
            return datum.value().to_le_bytes()[..usize::try_from(length).unwrap_or(0)].to_vec();
        }
        let start = datum.cast_mut_ptr::<u8>();
        let (start, length) = match usize::try_from(length) {
            Ok(length) => (start, length),
            Err(_) => {
                let varlena = pg_sys::pg_detoast_datum(start.cast());
                (pgrx::vardata_any(varlena).cast_mut().cast(), pgrx::varsize_any_exhdr(varlena))
            }
        };
        std::slice::from_raw_parts(start, length).to_vec()
    }
}
