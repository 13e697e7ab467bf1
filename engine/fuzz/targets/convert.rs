//! No bytes make a converter panic, and what it accepts it accepts again, with the same value.
//!
//! The first bytes of an input choose the type; the rest is the field. What a value must be is told by the engine's own
//! tests, and by PostgreSQL's input functions in tests/convert.
#![no_main]

use std::sync::LazyLock;

use fastcsv_engine::convert::{Converter, DateOrder, Datum, Kind, Scratch, Settings};
use libfuzzer_sys::fuzz_target;

static CONVERTERS: LazyLock<Vec<Converter>> = LazyLock::new(|| {
    let mut kinds = vec![
        Kind::Bool,
        Kind::Int2,
        Kind::Int4,
        Kind::Int8,
        Kind::Oid,
        Kind::Float4,
        Kind::Float8,
        Kind::Text,
        Kind::Varchar { limit: 5 },
        Kind::Bpchar { limit: Some(5) },
        Kind::Char,
        Kind::Name,
        Kind::Date,
        Kind::Interval,
        Kind::Uuid,
        Kind::Bytea,
        Kind::Json,
        Kind::Enum { labels: vec![(b"a".to_vec(), 2), (b"ab".to_vec(), 3)] },
    ];
    let limits = [None, Some((15, 2)), Some((3, -2)), Some((2, 5))];
    kinds.extend(limits.map(|limit| Kind::Numeric { limit }));
    for precision in [0, 3, 6] {
        kinds.extend([Kind::Time { precision }, Kind::Timestamp { precision }, Kind::Timestamptz { precision }]);
    }
    kinds.into_iter().map(Converter::new).collect()
});

fuzz_target!(|input: &[u8]| {
    let [kind, flags, field @ ..] = input else { return };
    let converter = &CONVERTERS[usize::from(*kind) % CONVERTERS.len()];
    let settings = Settings {
        date_order: [DateOrder::Mdy, DateOrder::Dmy, DateOrder::Ymd][usize::from(flags & 3) % 3],
        interval_sql_standard: flags & 4 != 0,
        zone: vec![(-62_135_596_800, 3600), (0, -7200)],
        default_words: flags & 8 == 0,
        single_byte: flags & 16 != 0,
        utf8: flags & 16 == 0,
    };
    let (mut first, mut second) = (Scratch::default(), Scratch::default());
    let bytes = |datum: Option<Datum<'_>>| match datum {
        None => (None, None),
        Some(Datum::Word(word)) => (Some(word), None),
        Some(Datum::Bytes(bytes)) => (None, Some(bytes.to_vec())),
    };
    let value = bytes(converter.convert(field, &settings, &mut first));
    // What another field has left behind must not matter.
    converter.convert(b"1999-12-31 23:59:59.5", &settings, &mut second);
    assert_eq!(bytes(converter.convert(field, &settings, &mut second)), value);
});
