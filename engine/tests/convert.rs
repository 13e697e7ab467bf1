//! What converters accept, against plain references; and that no bytes at all make one panic.

use fastcsv_engine::convert::{Converter, DateOrder, Datum, Kind, Scratch, Settings};
use proptest::prelude::*;

/// What a converter makes of a text.
#[derive(Debug, PartialEq, Eq)]
enum Value {
    Declined,
    Word(u64),
    Bytes(Vec<u8>),
}

fn convert_with(kind: Kind, text: &[u8], settings: &Settings) -> Value {
    match Converter::new(kind).convert(text, settings, &mut Scratch::default()) {
        None => Value::Declined,
        Some(Datum::Word(word)) => Value::Word(word),
        Some(Datum::Bytes(bytes)) => Value::Bytes(bytes.to_vec()),
    }
}

fn plain_settings() -> Settings {
    Settings { utf8: true, default_words: true, zone: vec![(-62_135_596_800, 0)], ..Settings::default() }
}

fn convert(kind: Kind, text: &str) -> Value {
    convert_with(kind, text.as_bytes(), &plain_settings())
}

fn word(number: i64) -> Value {
    Value::Word(number.cast_unsigned())
}

/// Every kind, with modifiers at and off their bounds.
fn kinds() -> Vec<Kind> {
    let mut kinds = vec![
        Kind::Bool,
        Kind::Int2,
        Kind::Int4,
        Kind::Int8,
        Kind::Oid,
        Kind::Float4,
        Kind::Float8,
        Kind::Text,
        Kind::Bpchar { limit: None },
        Kind::Char,
        Kind::Name,
        Kind::Date,
        Kind::Interval,
        Kind::Uuid,
        Kind::Bytea,
        Kind::Json,
        Kind::Enum { labels: vec![(b"".to_vec(), 1), (b"a".to_vec(), 2), (b"ab".to_vec(), 3)] },
    ];
    let limits = [None, Some((15, 2)), Some((5, 0)), Some((2, 5)), Some((3, -2)), Some((1000, 1000)), Some((1, -1000))];
    kinds.extend(limits.map(|limit| Kind::Numeric { limit }));
    for limit in [1, 5, 63, 10_485_760 / 4096] {
        kinds.extend([Kind::Varchar { limit }, Kind::Bpchar { limit: Some(limit) }]);
    }
    for precision in 0..=6 {
        kinds.extend([Kind::Time { precision }, Kind::Timestamp { precision }, Kind::Timestamptz { precision }]);
    }
    kinds
}

/// Days from 1970-01-01, by Howard Hinnant's `days_from_civil`.
fn civil_days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Does a year have this date?
fn exists(year: i64, month: i64, day: i64) -> bool {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && day >= 1
        && civil_days(year, month, day) < civil_days(next.0, next.1, 1)
}

/// Any JSON value of some size.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-1e30..1e30).prop_map(|number: f64| number.into()),
        "[ -~\u{e9}\n\t\"\\\\]{0,20}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec(("[a-z\"]{0,9}", inner), 0..6).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

const POSTGRES_EPOCH: i64 = 10_957;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn integers_are_those_of_rust(text in "[ +-]?[0-9]{1,21}[ x]?") {
        let plain = text.trim_matches(' ');
        let expected = |number: Option<i64>| number.map_or(Value::Declined, word);
        prop_assert_eq!(convert(Kind::Int2, &text), expected(plain.parse::<i16>().ok().map(i64::from)));
        prop_assert_eq!(convert(Kind::Int4, &text), expected(plain.parse::<i32>().ok().map(i64::from)));
        prop_assert_eq!(convert(Kind::Int8, &text), expected(plain.parse::<i64>().ok()));
    }

    #[test]
    fn integers_reach_their_bounds_and_no_further(bits in prop::sample::select(vec![15_u32, 31, 63]), off in -3_i128..=3) {
        let kind = [Kind::Int2, Kind::Int4, Kind::Int8][(bits / 16).min(2) as usize].clone();
        for number in [(1_i128 << bits) + off, -(1_i128 << bits) + off] {
            let fits = (-(1_i128 << bits)..1_i128 << bits).contains(&number);
            let expected = if fits { word(number as i64) } else { Value::Declined };
            prop_assert_eq!(convert(kind.clone(), &number.to_string()), expected);
        }
    }

    #[test]
    fn floats_are_those_of_rust(text in "-?[0-9]{1,20}(\\.[0-9]{1,25})?(e-?[0-9]{1,3})?") {
        let double = text.parse::<f64>().expect("a number");
        let single = text.parse::<f32>().expect("a number");
        let is_zero = text.split('e').next().expect("it has a first part").bytes().all(|byte| b"-.0".contains(&byte));
        let refused = |infinite: bool, zero: bool| infinite || (zero && !is_zero);
        let expected = if refused(double.is_infinite(), double == 0.0) { Value::Declined } else { Value::Word(double.to_bits()) };
        prop_assert_eq!(convert(Kind::Float8, &text), expected);
        let expected = if refused(single.is_infinite(), single == 0.0) { Value::Declined } else { Value::Word(single.to_bits().into()) };
        prop_assert_eq!(convert(Kind::Float4, &text), expected);
    }

    #[test]
    fn every_float_that_is_written_is_read_back(bits: u64) {
        let (double, single) = (f64::from_bits(bits), f32::from_bits(bits as u32));
        if double.is_finite() {
            prop_assert_eq!(convert(Kind::Float8, &format!("{double:?}")), Value::Word(double.to_bits()));
        }
        if single.is_finite() {
            prop_assert_eq!(convert(Kind::Float4, &format!("{single:?}")), Value::Word(single.to_bits().into()));
            // Written with the digits of a f64, it may lie next to the middle between two f32.
            let between = f64::from(single) * (1.0 + f64::from(f32::EPSILON) / 2.0);
            let text = format!("{between:.17e}");
            let expected = text.parse::<f32>().expect("a number");
            if expected.is_finite() && expected != 0.0 {
                prop_assert_eq!(convert(Kind::Float4, &text), Value::Word(expected.to_bits().into()));
            }
        }
    }

    #[test]
    fn next_to_the_middle_of_two_float4_the_last_digits_decide(single in 1e-9_f32..1e9, more in 0_usize..3) {
        let middle = (f64::from(single) + f64::from(single.next_up())) / 2.0;
        // As many digits as a f64 can hold: many of these numbers round to the middle as a f64.
        let decimals = (0..18).rev().find(|decimals| middle * 10_f64.powi(*decimals) <= 9e15).expect("none fits too");
        let text = format!("{middle:.*}{}", decimals as usize, ["", "0000001", "5"][more]);
        let expected = text.parse::<f32>().expect("a number");
        prop_assert_eq!(convert(Kind::Float4, &text), Value::Word(expected.to_bits().into()), "{}", text);
    }

    #[test]
    fn dates_are_days_of_the_calendar(year in 0_i64..10_001, month in 0_i64..14, day in 0_i64..33) {
        let text = format!("{year:04}-{month:02}-{day:02}");
        let days = civil_days(year, month, day) - POSTGRES_EPOCH;
        let expected = if exists(year, month, day) { word(days) } else { Value::Declined };
        prop_assert_eq!(convert(Kind::Date, &text), expected);
    }

    #[test]
    fn timestamps_are_days_and_microseconds(
        (year, month, day) in (1_i64..10_000, 1_i64..13, 1_i64..32),
        (hour, minute, second) in (0_i64..25, 0_i64..61, 0_i64..61),
        (micros, digits) in (0_i64..1_000_000, 0_usize..7),
        (hours, minutes) in (-15_i64..16, 0_i64..60),
    ) {
        let fraction = format!(".{micros:06}");
        let shown = if digits == 0 { "" } else { &fraction[..=digits] };
        let seconds = hour * 3600 + minute * 60 + second;
        let time = seconds * 1_000_000 + micros / 10_i64.pow(6 - digits as u32) * 10_i64.pow(6 - digits as u32);
        let whole_second = !shown.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        let valid = exists(year, month, day) && minute < 60 && (second < 60 || whole_second) && time <= 86_400_000_000;
        let local = (civil_days(year, month, day) - POSTGRES_EPOCH) * 86_400_000_000 + time;
        let clock = format!("{hour:02}:{minute:02}:{second:02}{shown}");
        let text = format!("{year:04}-{month:02}-{day:02} {clock}");
        let expected = if valid { word(local) } else { Value::Declined };
        prop_assert_eq!(convert(Kind::Timestamp { precision: 6 }, &text), expected, "{}", text);
        let offset = hours * 3600 + hours.signum() * minutes * 60;
        let sign = if hours < 0 { '-' } else { '+' };
        let minutes = if hours == 0 { 0 } else { minutes };
        let text = format!("{text}{sign}{:02}:{minutes:02}", hours.abs());
        let expected = if valid { word(local - offset * 1_000_000) } else { Value::Declined };
        prop_assert_eq!(convert(Kind::Timestamptz { precision: 6 }, &text), expected, "{}", text);
        if exists(year, month, day) {
            let expected = if valid { word(time) } else { Value::Declined };
            prop_assert_eq!(convert(Kind::Time { precision: 6 }, &clock), expected);
        }
    }

    #[test]
    fn precision_rounds_half_away_from_the_epoch(micros in -4_000_000_i64..4_000_000, precision in 0_u32..7) {
        // Seconds before and after 2000-01-01 00:00:00.
        let (day, rest) = (micros.div_euclid(86_400_000_000), micros.rem_euclid(86_400_000_000));
        let date = if day < 0 { "1999-12-31" } else { "2000-01-01" };
        let seconds = rest / 1_000_000;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let text = format!("{date} {hour:02}:{minute:02}:{second:02}.{:06}", rest % 1_000_000);
        let unit = 10_f64.powi(6 - precision as i32);
        let expected = (micros as f64 / unit).round() * unit; // exact for numbers of this size
        prop_assert_eq!(convert(Kind::Timestamp { precision }, &text), word(expected as i64), "{}", text);
    }

    #[test]
    fn a_zones_offset_is_the_one_in_force(local in -50_000_000_000_i64..200_000_000_000, step in 1_i64..400) {
        // A change every so many days, of a different offset each, over all times that matter.
        let changes: Vec<(i64, i32)> = (0..2000)
            .map(|index| (-62_135_596_800 + index * step * 8_640_000, (index * 977 % 43_200) as i32))
            .collect();
        let settings = Settings { zone: changes.clone(), ..plain_settings() };
        let folded = if local < 4_102_444_800 { local } else { 4_102_444_800 + (local - 4_102_444_800) % 12_622_780_800 };
        let near = changes.iter().any(|(since, _)| (folded - since).abs() <= 2 * 86_400);
        let offset = changes.iter().rev().find(|(since, _)| *since <= folded).map(|(_, offset)| i64::from(*offset));
        let (days, seconds) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        let Some((year, month, day)) = (1..=9999).find_map(|year| {
            let first = civil_days(year, 1, 1);
            let of_year = days - first;
            (days >= first && days < civil_days(year + 1, 1, 1)).then(|| {
                let month = (1..=12).rev().find(|month| civil_days(year, *month, 1) - first <= of_year).expect("January");
                (year, month, days - civil_days(year, month, 1) + 1)
            })
        }) else { return Ok(()) };
        let text = format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let utc = offset.filter(|_| !near).map(|offset| (local - offset - POSTGRES_EPOCH * 86_400) * 1_000_000);
        let found = convert_with(Kind::Timestamptz { precision: 6 }, text.as_bytes(), &settings);
        prop_assert_eq!(found, utc.map_or(Value::Declined, word), "{}", text);
    }

    #[test]
    fn lengths_are_counted_in_characters(text in "[ab\u{e9}\u{3042}\u{1f600}]{0,12} {0,4}", limit in 1_u32..20) {
        let length = text.chars().count();
        let limit_or_length = length.min(limit as usize);
        let kept: String = text.chars().take(limit_or_length).collect();
        let fits = text.chars().skip(limit_or_length).all(|character| character == ' ');
        let expected = |padding: usize| match fits {
            true => Value::Bytes((kept.clone() + &" ".repeat(padding)).into_bytes()),
            false => Value::Declined,
        };
        prop_assert_eq!(convert(Kind::Varchar { limit }, &text), expected(0));
        prop_assert_eq!(convert(Kind::Bpchar { limit: Some(limit) }, &text), expected(limit as usize - limit_or_length));
    }

    #[test]
    fn uuids_and_bytes_are_read_back(bytes: [u8; 16], more in prop::collection::vec(any::<u8>(), 0..40)) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let digits = hex(&bytes);
        let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-");
        for text in [&digits, &groups, &groups.to_uppercase()] {
            prop_assert_eq!(convert(Kind::Uuid, text), Value::Bytes(bytes.to_vec()));
        }
        let text = format!("\\x{}", hex(&more));
        prop_assert_eq!(convert(Kind::Bytea, &text), Value::Bytes(more));
    }

    #[test]
    fn json_is_what_another_parser_takes(text in r#"([\[\]{}:, \n]|"[a\\\\"]?n?"|"\\\\u00e9"|-?[01]{1,2}|\.5|e[+-]?7|true|null|"k":){0,12}"#) {
        let valid = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let expected = if valid { Value::Bytes(text.clone().into_bytes()) } else { Value::Declined };
        prop_assert_eq!(convert(Kind::Json, &text), expected);
    }

    #[test]
    fn json_values_are_json(value in json(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.expect("a value can be written");
        prop_assert_eq!(convert(Kind::Json, &text), Value::Bytes(text.into_bytes()));
    }

    #[test]
    fn no_bytes_make_a_converter_panic(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"0123456789.-+:eETZ \\x{}[]\",P".to_vec())], 0..90),
        order in prop::sample::select(vec![DateOrder::Ymd, DateOrder::Dmy, DateOrder::Mdy]),
        (utf8, single_byte) in prop::sample::select(vec![(true, false), (false, true), (false, false)]),
    ) {
        let settings = Settings { date_order: order, utf8, single_byte, ..plain_settings() };
        let mut scratch = Scratch::default();
        for kind in kinds() {
            let converter = Converter::new(kind.clone());
            // What is left of one value must not show in the next.
            let reused = converter.convert(&bytes, &settings, &mut scratch).map(|datum| match datum {
                Datum::Word(word) => Value::Word(word),
                Datum::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            });
            prop_assert_eq!(reused.unwrap_or(Value::Declined), convert_with(kind, &bytes, &settings));
        }
    }
}

#[test]
fn words_are_read_only_where_they_have_their_default_meaning() {
    let odd = Settings { default_words: false, ..plain_settings() };
    let kind = Kind::Timestamptz { precision: 6 };
    for text in ["2024-01-02T03:04:05+00", "2024-01-02 03:04:05Z", "2024-01-02 03:04:05 UTC", "2024-01-02 03:04 AM"] {
        assert_ne!(convert(kind.clone(), text), Value::Declined, "{text}");
        assert_eq!(convert_with(kind.clone(), text.as_bytes(), &odd), Value::Declined, "{text}");
    }
}

#[test]
fn what_depends_on_settings_that_are_not_known_is_declined() {
    let unknown = Settings::default();
    let declined = |kind: Kind, text: &str| convert_with(kind, text.as_bytes(), &unknown) == Value::Declined;
    assert!(declined(Kind::Timestamptz { precision: 6 }, "2024-01-02 03:04:05"));
    assert!(declined(Kind::Bpchar { limit: Some(3) }, "ab"));
    assert!(declined(Kind::Varchar { limit: 3 }, "abcd"));
    assert!(!declined(Kind::Varchar { limit: 3 }, "abc"));
}

#[test]
fn settings_and_kinds_survive_the_wire() {
    for kind in kinds() {
        let text = serde_json::to_string(&kind).expect("a kind can be written");
        assert_eq!(serde_json::from_str::<Kind>(&text).expect("and read"), kind);
    }
    let text = serde_json::to_string(&plain_settings()).expect("settings can be written");
    assert_eq!(serde_json::from_str::<Settings>(&text).expect("and read"), plain_settings());
}
