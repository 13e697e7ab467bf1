//! The types a column can have, and the readings of a text that stand behind them.
//!
//! A reading is one way to take a text for a value: several may lead to the same type. A column's set of readings only
//! ever shrinks, and what a set comes to depends on the set alone, so it does not matter how a file was cut.

use std::ops::{BitAnd, BitOr, Not};

/// A PostgreSQL type that a column may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `boolean`
    Boolean,
    /// `smallint`
    SmallInt,
    /// `integer`
    Integer,
    /// `bigint`
    BigInt,
    /// `numeric`
    Numeric,
    /// `double precision`
    Double,
    /// `date`
    Date,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    Timestamptz,
    /// `time without time zone`
    Time,
    /// `uuid`
    Uuid,
    /// `json`
    Json,
    /// `text`
    Text,
}

impl Type {
    /// The type's name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Type::Boolean => "boolean",
            Type::SmallInt => "smallint",
            Type::Integer => "integer",
            Type::BigInt => "bigint",
            Type::Numeric => "numeric",
            Type::Double => "double precision",
            Type::Date => "date",
            Type::Timestamp => "timestamp",
            Type::Timestamptz => "timestamptz",
            Type::Time => "time",
            Type::Uuid => "uuid",
            Type::Json => "json",
            Type::Text => "text",
        }
    }
}

/// A set of readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Candidates(pub u32);

impl Candidates {
    /// `true` and `false`.
    pub const TRUTH: Candidates = Candidates(1);
    /// `t` and `f`.
    pub const T_F: Candidates = Candidates(1 << 1);
    /// `yes` and `no`.
    pub const YES_NO: Candidates = Candidates(1 << 2);
    /// `y` and `n`.
    pub const Y_N: Candidates = Candidates(1 << 3);
    /// `on` and `off`.
    pub const ON_OFF: Candidates = Candidates(1 << 4);
    /// A whole number of two bytes.
    pub const INT2: Candidates = Candidates(1 << 5);
    /// A whole number of four bytes.
    pub const INT4: Candidates = Candidates(1 << 6);
    /// A whole number of eight bytes.
    pub const INT8: Candidates = Candidates(1 << 7);
    /// Digits with a point perhaps.
    pub const DECIMAL: Candidates = Candidates(1 << 8);
    /// What a float prints (exponents, NaN, infinity) and a `double precision` gives back unchanged.
    pub const FLOAT: Candidates = Candidates(1 << 9);
    /// Anything that `numeric` takes.
    pub const NUMERIC: Candidates = Candidates(1 << 10);
    /// Digits with a comma for the point, and points between thousands perhaps.
    pub const COMMA: Candidates = Candidates(1 << 11);
    /// Digits with a point perhaps, and commas between thousands.
    pub const GROUPED: Candidates = Candidates(1 << 12);
    /// A date that says itself what is the month.
    pub const DATE: Candidates = Candidates(1 << 13);
    /// A date, read with the day before the month.
    pub const DATE_DMY: Candidates = Candidates(1 << 14);
    /// A date, read with the month before the day.
    pub const DATE_MDY: Candidates = Candidates(1 << 15);
    /// A date and perhaps a time, without a zone.
    pub const LOCAL: Candidates = Candidates(1 << 16);
    /// The same, with the day before the month.
    pub const LOCAL_DMY: Candidates = Candidates(1 << 17);
    /// The same, with the month before the day.
    pub const LOCAL_MDY: Candidates = Candidates(1 << 18);
    /// A date, a time and an offset from UTC.
    pub const ZONED: Candidates = Candidates(1 << 19);
    /// The same, with the day before the month.
    pub const ZONED_DMY: Candidates = Candidates(1 << 20);
    /// The same, with the month before the day.
    pub const ZONED_MDY: Candidates = Candidates(1 << 21);
    /// A time of day.
    pub const TIME: Candidates = Candidates(1 << 22);
    /// A UUID with its hyphens.
    pub const UUID: Candidates = Candidates(1 << 23);
    /// A JSON object or array.
    pub const JSON: Candidates = Candidates(1 << 24);

    /// No reading: the column is text.
    pub const NONE: Candidates = Candidates(0);
    /// Every reading: nothing is known yet.
    pub const ALL: Candidates = Candidates((1 << 25) - 1);
    /// All readings as a truth value.
    pub const BOOLEANS: Candidates = Candidates(0x1f);
    /// All readings as a whole number.
    pub const INTEGERS: Candidates = Candidates(0b111 << 5);
    /// All readings as a number with a point.
    pub const POINTED: Candidates = Candidates(0xff << 5);
    /// All readings as a date.
    pub const DATES: Candidates = Candidates(0b111 << 13);
    /// All readings as a date and a time without a zone.
    pub const LOCALS: Candidates = Candidates(0b111 << 16);
    /// All readings as a date and a time with a zone.
    pub const ZONEDS: Candidates = Candidates(0b111 << 19);
    /// All readings as a date, with a time or without.
    pub const CALENDAR: Candidates = Candidates(0x1ff << 13);

    /// Is there any reading in both?
    #[inline]
    pub fn meets(self, other: Candidates) -> bool {
        self.0 & other.0 != 0
    }

    /// Are all of the other's readings in this one?
    #[inline]
    pub fn holds(self, other: Candidates) -> bool {
        self.0 & other.0 == other.0
    }

    /// Is it empty?
    #[inline]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// These readings and, where `also` holds, the others.
    #[inline]
    #[must_use]
    pub fn and_if(self, also: bool, others: Candidates) -> Candidates {
        if also { self | others } else { self }
    }

    /// The type that is preferred among those the readings stand for: the narrowest, as far as there is an order.
    pub fn preferred(self) -> Type {
        let order = [
            (Candidates::BOOLEANS, Type::Boolean),
            (Candidates::INT2, Type::SmallInt),
            (Candidates::INT4, Type::Integer),
            (Candidates::INT8, Type::BigInt),
            (Candidates::DECIMAL, Type::Numeric),
            (Candidates::FLOAT, Type::Double),
            (Candidates::NUMERIC | Candidates::COMMA | Candidates::GROUPED, Type::Numeric),
            (Candidates::DATES, Type::Date),
            (Candidates::LOCALS, Type::Timestamp),
            (Candidates::ZONEDS, Type::Timestamptz),
            (Candidates::TIME, Type::Time),
            (Candidates::UUID, Type::Uuid),
            (Candidates::JSON, Type::Json),
        ];
        order.into_iter().find(|(readings, _)| self.meets(*readings)).map_or(Type::Text, |(_, found)| found)
    }
}

impl BitOr for Candidates {
    type Output = Candidates;

    #[inline]
    fn bitor(self, other: Candidates) -> Candidates {
        Candidates(self.0 | other.0)
    }
}

impl BitAnd for Candidates {
    type Output = Candidates;

    #[inline]
    fn bitand(self, other: Candidates) -> Candidates {
        Candidates(self.0 & other.0)
    }
}

impl Not for Candidates {
    type Output = Candidates;

    #[inline]
    fn not(self) -> Candidates {
        Candidates(!self.0 & Candidates::ALL.0)
    }
}
