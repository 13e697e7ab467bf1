//! Which column types the engine converts itself, and the settings their texts depend on.
//!
//! The table from a type and its modifier to a [`Kind`] is [`built_in`]; domains without constraints stand for their
//! base type, and enums bring their labels along. A type that is not here travels as text, and its own input function
//! converts it.

#![expect(unsafe_code, reason = "reads PostgreSQL's catalog caches and settings")]

mod enums;
mod zone;

use std::ffi::CStr;

use fastcsv_engine::convert::{DateOrder, Kind, Settings};
use pgrx::pg_sys;

use crate::pg_compat::{ZoneAbbreviation, zone_abbreviation};

/// A modifier's value where the type has none.
const NO_MODIFIER: i32 = -1;

/// What a column of this type is converted to, or `None` where only its input function knows.
///
/// # Safety
/// Must be called in a transaction, on the main thread; `type_oid` must be a type's oid.
pub(crate) unsafe fn kind_of(type_oid: pg_sys::Oid, typmod: i32) -> Option<Kind> {
    // SAFETY: the caller's promise; these read the catalog caches.
    unsafe {
        let (mut base, mut modifier) = (type_oid, typmod);
        let mut class = pg_sys::get_typtype(base).cast_unsigned();
        if class == pg_sys::TYPTYPE_DOMAIN {
            if pg_sys::DomainHasConstraints(base) {
                return None;
            }
            base = pg_sys::getBaseTypeAndTypmod(base, &mut modifier);
            class = pg_sys::get_typtype(base).cast_unsigned();
        }
        if class == pg_sys::TYPTYPE_ENUM { Some(enums::kind(base)) } else { built_in(base, modifier) }
    }
}

/// The table of PostgreSQL's own types.
fn built_in(type_oid: pg_sys::Oid, typmod: i32) -> Option<Kind> {
    Some(match type_oid {
        pg_sys::BOOLOID => Kind::Bool,
        pg_sys::INT2OID => Kind::Int2,
        pg_sys::INT4OID => Kind::Int4,
        pg_sys::INT8OID => Kind::Int8,
        pg_sys::OIDOID => Kind::Oid,
        pg_sys::FLOAT4OID => Kind::Float4,
        pg_sys::FLOAT8OID => Kind::Float8,
        pg_sys::NUMERICOID => Kind::Numeric { limit: precision_and_scale(typmod) },
        pg_sys::TEXTOID => Kind::Text,
        pg_sys::VARCHAROID => length(typmod).map_or(Kind::Text, |limit| Kind::Varchar { limit }),
        pg_sys::BPCHAROID => Kind::Bpchar { limit: length(typmod) },
        pg_sys::CHAROID => Kind::Char,
        pg_sys::NAMEOID => Kind::Name,
        pg_sys::DATEOID => Kind::Date,
        pg_sys::TIMEOID => Kind::Time { precision: seconds_digits(typmod) },
        pg_sys::TIMESTAMPOID => Kind::Timestamp { precision: seconds_digits(typmod) },
        pg_sys::TIMESTAMPTZOID => Kind::Timestamptz { precision: seconds_digits(typmod) },
        pg_sys::INTERVALOID if typmod == NO_MODIFIER => Kind::Interval,
        pg_sys::UUIDOID => Kind::Uuid,
        pg_sys::BYTEAOID => Kind::Bytea,
        pg_sys::JSONOID => Kind::Json,
        _ => return None,
    })
}

/// The header's size, which PostgreSQL adds to the modifiers of types whose values have one.
const HEADER: i32 = pg_sys::VARHDRSZ as i32;

/// The modifier of varchar and char: the length in characters.
fn length(typmod: i32) -> Option<u32> {
    u32::try_from(typmod.checked_sub(HEADER)?).ok()
}

/// The modifier of numeric: precision in the upper half, scale in the low 11 bits as a signed number.
fn precision_and_scale(typmod: i32) -> Option<(i32, i32)> {
    let packed = length(typmod)?.cast_signed();
    Some((packed >> 16, ((packed & 0x7ff) ^ 0x400) - 0x400))
}

/// The modifier of time and timestamp: digits after the point of the seconds.
fn seconds_digits(typmod: i32) -> u32 {
    u32::try_from(typmod).map_or(6, |digits| digits.min(6))
}

/// The settings of the session as they are now.
pub(crate) fn settings() -> Settings {
    // SAFETY: reads settings of the session, on the main thread.
    unsafe {
        Settings {
            date_order: match pg_sys::DateOrder.cast_unsigned() {
                pg_sys::DATEORDER_YMD => DateOrder::Ymd,
                pg_sys::DATEORDER_DMY => DateOrder::Dmy,
                _ => DateOrder::Mdy,
            },
            interval_sql_standard: pg_sys::IntervalStyle.cast_unsigned() == pg_sys::INTSTYLE_SQL_STANDARD,
            zone: zone::of_session(),
            default_words: default_words(),
            single_byte: pg_sys::pg_database_encoding_max_length() == 1,
            utf8: pg_sys::GetDatabaseEncoding() == pg_sys::pg_enc::PG_UTF8.cast_signed(),
        }
    }
}

/// Do the words in dates and times mean what they mean by default? Time zone abbreviations go before all else, and
/// the session chooses their list (from 18 on, its time zone brings some of its own).
fn default_words() -> bool {
    let utc = [c"z", c"utc"].iter().all(|word| zone_abbreviation(word) == ZoneAbbreviation::Fixed(0));
    utc && WORDS.iter().all(|word| zone_abbreviation(word) == ZoneAbbreviation::None)
}

/// Words that are no time zone's unless the session says so: among them the months, as a whole and cut short.
const WORDS: [&CStr; 26] = [
    c"t",
    c"am",
    c"pm",
    c"jan",
    c"january",
    c"feb",
    c"february",
    c"mar",
    c"march",
    c"apr",
    c"april",
    c"may",
    c"jun",
    c"june",
    c"jul",
    c"july",
    c"aug",
    c"august",
    c"sep",
    c"september",
    c"oct",
    c"october",
    c"nov",
    c"november",
    c"dec",
    c"december",
];
