//! Values at random, and the bytes that PostgreSQL stores them as.

use fastcsv_engine::convert::Datum;
use fastcsv_engine::filter::Class;
use proptest::prelude::*;
use proptest::sample::select;

use super::plain::{Decimal, Plain};

/// The bytes of a datum, owned.
#[derive(Clone, Debug)]
pub enum Stored {
    Word(u64),
    Bytes(Vec<u8>),
}

impl Stored {
    pub fn datum(&self) -> Datum<'_> {
        match self {
            Stored::Word(word) => Datum::Word(*word),
            Stored::Bytes(bytes) => Datum::Bytes(bytes),
        }
    }
}

/// What PostgreSQL stores for a value of a class.
pub fn stored(value: &Plain, class: Class) -> Stored {
    match (value, class) {
        (Plain::Integer(value), _) => Stored::Word(value.cast_unsigned()),
        (Plain::Float(value), Class::Float4) => Stored::Word(u64::from((*value as f32).to_bits())),
        (Plain::Float(value), _) => Stored::Word(value.to_bits()),
        (Plain::Decimal(decimal), _) => Stored::Bytes(numeric(*decimal, Layout::Shortest)),
        (Plain::Interval { time, day, month }, _) => {
            Stored::Bytes([&time.to_ne_bytes()[..], &day.to_ne_bytes(), &month.to_ne_bytes()].concat())
        }
        (Plain::Bytes(bytes), Class::Name) => {
            let mut name = bytes.clone();
            name.resize(64, 0);
            Stored::Bytes(name)
        }
        (Plain::Bytes(bytes), _) => Stored::Bytes(bytes.clone()),
    }
}

/// Which of the layouts of a numeric to write.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// As PostgreSQL chooses.
    Shortest,
    /// The long header, and a zero digit at each end.
    Padded,
}

/// The content of a numeric: its decimal digits, in groups of four from the point on.
pub fn numeric(decimal: Decimal, layout: Layout) -> Vec<u8> {
    let (units, scale) = match decimal {
        Decimal::Nan => return 0xC000_u16.to_ne_bytes().to_vec(),
        Decimal::PositiveInfinity => return 0xD000_u16.to_ne_bytes().to_vec(),
        Decimal::NegativeInfinity => return 0xF000_u16.to_ne_bytes().to_vec(),
        Decimal::Finite { units, scale } => (units, scale as usize),
    };
    let text = format!("{:0>width$}", units.unsigned_abs().to_string(), width = scale + 1);
    let (whole, fraction) = text.split_at(text.len() - scale);
    let whole = format!("{whole:0>width$}", width = whole.len().next_multiple_of(4));
    let fraction = format!("{fraction:0<width$}", width = fraction.len().next_multiple_of(4));
    let mut weight = whole.len() as i32 / 4 - 1;
    let groups = [whole.as_bytes(), fraction.as_bytes()].concat();
    let group = |group: &[u8]| group.iter().fold(0_u16, |value, digit| value * 10 + u16::from(digit - b'0'));
    let mut digits: Vec<u16> = groups.chunks(4).map(group).collect();
    while digits.first() == Some(&0) {
        digits.remove(0);
        weight -= 1;
    }
    while digits.last() == Some(&0) {
        digits.pop();
    }
    if digits.is_empty() {
        weight = 0;
    }
    let negative = units < 0;
    let mut words: Vec<u16>;
    match layout {
        Layout::Shortest if scale <= 0x3F && (-64..=63).contains(&weight) => {
            let sign = if negative { 0x2000 } else { 0 };
            words = vec![0x8000 | sign | (scale as u16) << 7 | (weight as u16 & 0x7F)];
        }
        Layout::Shortest => words = vec![if negative { 0x4000 } else { 0 } | scale as u16, weight as u16],
        Layout::Padded => {
            words = vec![if negative { 0x4000 } else { 0 } | scale as u16, (weight + 1) as u16, 0];
            digits.push(0);
        }
    }
    words.extend(digits);
    words.into_iter().flat_map(u16::to_ne_bytes).collect()
}

/// A value of a class.
pub fn value(class: Class) -> BoxedStrategy<Plain> {
    let integer = |low: i64, high: i64| {
        prop_oneof![4 => (-2_i64..4).prop_map(move |small| small.clamp(low, high)), 1 => select(vec![low, high])]
            .prop_map(Plain::Integer)
            .boxed()
    };
    match class {
        Class::Bool => integer(0, 1),
        Class::Char => integer(0, 255),
        Class::Int2 => integer(i16::MIN.into(), i16::MAX.into()),
        Class::Int4 => integer(i32::MIN.into(), i32::MAX.into()),
        Class::Int8 => integer(i64::MIN, i64::MAX),
        Class::Oid => integer(0, u32::MAX.into()),
        Class::Float4 => float().prop_map(|value| Plain::Float(f64::from(value as f32))).boxed(),
        Class::Float8 => float().prop_map(Plain::Float).boxed(),
        Class::Numeric => decimal().prop_map(Plain::Decimal).boxed(),
        Class::Interval => interval(),
        Class::Bytes | Class::Bpchar => "[ab é%]{0,3} {0,2}".prop_map(|text| Plain::Bytes(text.into_bytes())).boxed(),
        Class::Uuid => {
            let byte = select(vec![0, 1, 0x7F, 0x80, 0xFF]);
            (byte.clone(), byte)
                .prop_map(|(first, last)| Plain::Bytes([&[first][..], &[7; 14], &[last]].concat()))
                .boxed()
        }
        Class::Name => "[ab é]{0,3}".prop_map(|text| Plain::Bytes(text.into_bytes())).boxed(),
    }
}

fn float() -> impl Strategy<Value = f64> {
    let edges = vec![
        f64::NAN,
        -f64::NAN,
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        -5e-324,
        0.1,
        f64::from(0.1_f32),
        1.0,
        -1.0,
        1.5,
    ];
    prop_oneof![3 => select(edges), 1 => any::<f64>()]
}

pub fn decimal() -> impl Strategy<Value = Decimal> {
    let specials = vec![Decimal::Nan, Decimal::PositiveInfinity, Decimal::NegativeInfinity];
    let finite = |units: BoxedStrategy<i128>, scales: std::ops::Range<u32>| {
        (units, scales).prop_map(|(units, scale)| Decimal::Finite { units, scale })
    };
    let wide = (-3_i128..=3, 0_u32..22).prop_map(|(units, zeros)| units * 10_i128.pow(zeros));
    prop_oneof![
        1 => select(specials),
        3 => finite((-20_i128..20).boxed(), 0..3),
        3 => finite(wide.boxed(), 0..15),
        1 => finite((-10_i128.pow(20)..10_i128.pow(20)).boxed(), 0..15),
    ]
}

fn interval() -> BoxedStrategy<Plain> {
    const DAY: i64 = 86_400_000_000;
    let time = prop_oneof![select(vec![0, DAY, -DAY, 30 * DAY, i64::MAX, i64::MIN]), -2_i64..3];
    let day = select(vec![0, 1, -1, 30, 31, i32::MAX, i32::MIN]);
    let month = select(vec![0, 1, -1, i32::MAX, i32::MIN]);
    (time, day, month).prop_map(|(time, day, month)| Plain::Interval { time, day, month }).boxed()
}
