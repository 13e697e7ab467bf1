//! Which readings a text has.
//!
//! Shapes are looked at first, and more narrowly than PostgreSQL's input functions do: 20240131 is a number and no
//! date, 16:9 no time, 1.2.3 no day of any month. What has the shape is then given to the converter, which knows
//! whether the input function takes it.

use super::types::Candidates;
use crate::convert::datetime::{self, DateTime};
use crate::convert::digits::trimmed;
use crate::convert::{Converter, DateOrder, Datum, Kind, Scratch, Settings, date};

/// More digits than this are not kept by a `double precision`.
const FLOAT_DIGITS: usize = 17;

/// Digits of a second's fraction that PostgreSQL keeps.
const FRACTION_DIGITS: usize = 6;

/// The longest number that is looked at in its grouped forms.
const LONGEST_GROUPED: usize = 100;

/// What a column's values must have had besides readings, for some of the types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs(pub u8);

impl Signs {
    /// A word for true.
    pub const TRUE: Signs = Signs(1);
    /// A word for false.
    pub const FALSE: Signs = Signs(2);
    /// A number that has digits, rather than a word for infinity or for what is no number.
    pub const NUMBER: Signs = Signs(4);

    /// Are all of the other's signs among these?
    pub fn holds(self, other: Signs) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Finds readings, by the session's settings.
#[derive(Clone, Debug)]
pub(super) struct Classifier {
    dmy: Settings,
    mdy: Settings,
}

impl Classifier {
    pub(super) fn new(settings: &Settings) -> Classifier {
        // No reading here asks for the session's time zone.
        let with = |date_order| Settings { date_order, zone: Vec::new(), ..settings.clone() };
        Classifier { dmy: with(DateOrder::Dmy), mdy: with(DateOrder::Mdy) }
    }

    /// Do the words in dates and times mean what they usually do?
    pub(super) fn has_default_words(&self) -> bool {
        self.dmy.default_words
    }

    /// Those readings of a text that are among the given ones, and its signs.
    pub(super) fn readings(&self, value: &[u8], among: Candidates, scratch: &mut Scratch) -> (Candidates, Signs) {
        let text = trimmed(value);
        let Some(&first) = text.first() else { return (Candidates::NONE, Signs::default()) };
        let (mut found, mut signs) = (Candidates::NONE, Signs::default());
        if among.meets(Candidates::BOOLEANS)
            && let Some((words, sign)) = truth(text)
        {
            (found, signs) = (words, sign);
        }
        if among.meets(Candidates::POINTED) {
            let numbers = self.number(text, among, scratch);
            found = found | numbers;
            if !numbers.is_none() && text.iter().any(u8::is_ascii_digit) {
                signs.0 |= Signs::NUMBER.0;
            }
        }
        if first.is_ascii_digit() || first.is_ascii_alphabetic() {
            if among.meets(Candidates::CALENDAR) {
                found = found | self.calendar(text);
            }
            found = found.and_if(among.meets(Candidates::TIME) && self.is_time(text), Candidates::TIME);
        }
        if among.meets(Candidates::UUID) && value.len() == 36 {
            found = found.and_if(self.converts(Kind::Uuid, value, scratch), Candidates::UUID);
        }
        if among.meets(Candidates::JSON) && matches!(first, b'{' | b'[') {
            found = found.and_if(self.converts(Kind::Json, value, scratch), Candidates::JSON);
        }
        (found & among, signs)
    }

    fn converts(&self, kind: Kind, text: &[u8], scratch: &mut Scratch) -> bool {
        Converter::new(kind).convert(text, &self.dmy, scratch).is_some()
    }

    /// The readings as a number. A leading zero or plus sign makes a code, or a telephone number.
    fn number(&self, text: &[u8], among: Candidates, scratch: &mut Scratch) -> Candidates {
        let body = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
        let is_whole = body.iter().all(u8::is_ascii_digit);
        let is_code = matches!(body, [b'0', b'0'..=b'9', ..]) || (text[0] == b'+' && is_whole);
        match body.first() {
            Some(b'0'..=b'9' | b'.' | b'i' | b'I' | b'n' | b'N') if !is_code => {}
            _ => return Candidates::NONE,
        }
        let mut found = Candidates::NONE;
        if is_whole
            && among.meets(Candidates::INTEGERS)
            && let Some(Datum::Word(word)) = Converter::new(Kind::Int8).convert(text, &self.dmy, scratch)
        {
            let number = word.cast_signed();
            found = Candidates::INT8.and_if(i32::try_from(number).is_ok(), Candidates::INT4);
            found = found.and_if(i16::try_from(number).is_ok(), Candidates::INT2);
        }
        if among.meets(Candidates::DECIMAL | Candidates::NUMERIC)
            && self.converts(Kind::Numeric { limit: None }, text, scratch)
        {
            let is_plain = body.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
            found = (found | Candidates::NUMERIC).and_if(is_plain, Candidates::DECIMAL);
        }
        if among.meets(Candidates::FLOAT) {
            let is_kept = significant_digits(body) <= FLOAT_DIGITS;
            found = found.and_if(is_kept && self.converts(Kind::Float8, text, scratch), Candidates::FLOAT);
        }
        if among.meets(Candidates::COMMA | Candidates::GROUPED) && body.len() <= LONGEST_GROUPED {
            found = found.and_if(is_grouped(body, b',', b'.'), Candidates::COMMA);
            found = found.and_if(is_grouped(body, b'.', b','), Candidates::GROUPED);
        }
        found
    }

    /// The readings as a date, with a time or without.
    fn calendar(&self, text: &[u8]) -> Candidates {
        let Some((form, length)) = date_form(text) else { return Candidates::NONE };
        if length < text.len() && !keeps_fraction(&text[length..]) {
            return Candidates::NONE;
        }
        let is_date = length == text.len();
        let in_order = |settings: &Settings, [date, local, zoned]: [Candidates; 3]| match datetime::any(text, settings)
        {
            Some(_) if is_date => date | local,
            Some(DateTime { offset: None, .. }) => local,
            Some(DateTime { offset: Some(_), .. }) => zoned,
            None => Candidates::NONE,
        };
        match form {
            Form::Sure => in_order(&self.mdy, [Candidates::DATES, Candidates::LOCALS, Candidates::ZONEDS]),
            Form::Numbers => {
                let dmy = [Candidates::DATE_DMY, Candidates::LOCAL_DMY, Candidates::ZONED_DMY];
                let mdy = [Candidates::DATE_MDY, Candidates::LOCAL_MDY, Candidates::ZONED_MDY];
                in_order(&self.dmy, dmy) | in_order(&self.mdy, mdy)
            }
        }
    }

    /// A time of day, its minutes in two digits, without a zone.
    fn is_time(&self, text: &[u8]) -> bool {
        let hours = leading_digits(text);
        let has_shape =
            matches!(hours, 1 | 2) && text.get(hours) == Some(&b':') && leading_digits(&text[hours + 1..]) == 2;
        has_shape && keeps_fraction(text) && datetime::clock(text, &self.dmy).is_some_and(|clock| clock.rest.is_empty())
    }
}

/// A truth word, and whether it is true.
fn truth(text: &[u8]) -> Option<(Candidates, Signs)> {
    const WORDS: [(&[u8], &[u8], Candidates); 5] = [
        (b"true", b"false", Candidates::TRUTH),
        (b"t", b"f", Candidates::T_F),
        (b"yes", b"no", Candidates::YES_NO),
        (b"y", b"n", Candidates::Y_N),
        (b"on", b"off", Candidates::ON_OFF),
    ];
    if text.len() > 5 {
        return None;
    }
    WORDS.into_iter().find_map(|(yes, no, reading)| match () {
        () if text.eq_ignore_ascii_case(yes) => Some((reading, Signs::TRUE)),
        () if text.eq_ignore_ascii_case(no) => Some((reading, Signs::FALSE)),
        () => None,
    })
}

/// How many digits a number has, zeros before the first other one and the exponent not counted.
fn significant_digits(body: &[u8]) -> usize {
    let mantissa = body.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    mantissa.filter(|byte| byte.is_ascii_digit()).skip_while(|byte| **byte == b'0').count()
}

/// Digits, perhaps in groups of three, and perhaps a fraction.
fn is_grouped(body: &[u8], point: u8, group: u8) -> bool {
    let end = body.iter().position(|byte| *byte == point).unwrap_or(body.len());
    let (whole, fraction) = body.split_at(end);
    let is_digits = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if fraction.len() > 1 && !is_digits(&fraction[1..]) {
        return false;
    }
    let mut groups = whole.split(|byte| *byte == group);
    let first = groups.next().unwrap_or_default();
    let mut is_whole = true;
    for group in groups {
        is_whole = false;
        if group.len() != 3 || !is_digits(group) {
            return false;
        }
    }
    is_digits(first) && (is_whole || (first.len() <= 3 && first[0] != b'0'))
}

/// How a date is written.
enum Form {
    /// In a way that says which number is the month.
    Sure,
    /// As two numbers and a year.
    Numbers,
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The form of the date at the start of a text, and its length.
fn date_form(text: &[u8]) -> Option<(Form, usize)> {
    if let Some((_, rest)) = date::spelled(text) {
        return Some((Form::Sure, text.len() - rest.len()));
    }
    let first = leading_digits(text);
    let mark = *text.get(first)?;
    if !matches!(mark, b'-' | b'/' | b'.') {
        return None;
    }
    let second = first + 1;
    let letters = text[second..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let middle = if letters > 0 { letters } else { leading_digits(&text[second..]) };
    let third = second + middle + 1;
    if text.get(third - 1) != Some(&mark) {
        return None;
    }
    let last = leading_digits(&text[third..]);
    let form = match (first, middle, last) {
        (4, 1 | 2, 1 | 2) if letters == 0 => Form::Sure,
        (1 | 2, 3.., 4) if letters > 0 => Form::Sure,
        (1 | 2, 1 | 2, 4) if letters == 0 => Form::Numbers,
        (1 | 2, 1 | 2, 2) if letters == 0 && mark == b'/' => Form::Numbers,
        _ => return None,
    };
    Some((form, third + last))
}

/// Does a time have no more digits of a second than PostgreSQL keeps, but for zeros?
fn keeps_fraction(time: &[u8]) -> bool {
    let Some(point) = time.iter().position(|byte| *byte == b'.') else { return true };
    let fraction = &time[point + 1..];
    let digits = &fraction[..leading_digits(fraction)];
    digits.iter().skip(FRACTION_DIGITS).all(|digit| *digit == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str) -> Candidates {
        let settings = Settings { default_words: true, utf8: true, ..Settings::default() };
        Classifier::new(&settings).readings(text.as_bytes(), Candidates::ALL, &mut Scratch::default()).0
    }

    fn is(text: &str) -> &'static str {
        readings(text).preferred().name()
    }

    #[test]
    fn the_narrowest_type_of_a_text_is_what_a_reader_would_say() {
        for (text, name) in [
            ("true", "boolean"),
            ("FALSE", "boolean"),
            ("0", "smallint"),
            ("-0", "smallint"),
            ("32767", "smallint"),
            ("32768", "integer"),
            ("-2147483649", "bigint"),
            ("9223372036854775808", "numeric"),
            (" 42 ", "smallint"),
            ("1.50", "numeric"),
            (".5", "numeric"),
            ("-0.5", "numeric"),
            ("+0.5", "numeric"),
            ("1e5", "double precision"),
            ("NaN", "double precision"),
            ("-Infinity", "double precision"),
            ("1.23456789012345678901e5", "numeric"),
            ("1,5", "numeric"),
            ("1.234.567,5", "numeric"),
            ("1,234,567.5", "numeric"),
            ("2024-01-31", "date"),
            ("31.01.2024", "date"),
            ("1/31/2024", "date"),
            ("1/31/24", "date"),
            ("31-Jan-2024", "date"),
            ("Jan 31 2024", "date"),
            ("January 31, 2024 10:20", "timestamp"),
            ("31 Jan 2024", "date"),
            ("2024-01-31 10:20", "timestamp"),
            ("2024-01-31T10:20:30.123456", "timestamp"),
            ("2024-01-31T10:20:30Z", "timestamptz"),
            ("2024-01-31 10:20:30+01", "timestamptz"),
            ("31/01/2024 10:20", "timestamp"),
            ("10:20", "time"),
            ("9:20:30.5", "time"),
            ("10:20 PM", "time"),
            ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "uuid"),
            ("{\"a\": [1]}", "json"),
            ("[]", "json"),
        ] {
            assert_eq!(is(text), name, "{text}");
        }
    }

    #[test]
    fn what_a_type_would_lose_or_that_only_looks_like_a_value_is_text() {
        for text in [
            "",
            " ",
            "007",
            "-01",
            "00",
            "00.5",
            "+4930123456",
            "1.2.3",
            "1.2.03",
            "16:9",
            "2024-02-30",
            "20240230x",
            "Feb 30 2024",
            "Jan 2024",
            "32/13/2024",
            "2024-01-31 10:20:30.1234567",
            "10:20:30+01",
            "10:20:30.1234567",
            "1,23,456",
            "1.5.5",
            "0.123.456",
            "0x1F",
            "1_000",
            "{1,2}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "\"x\"",
            "null",
            "5%",
            "$5",
            "- 5",
            "--5",
            "1 2",
            "T",
            "-",
            ".",
            "e5",
            "12345678-1-1",
        ] {
            let expected = if text == "T" { "boolean" } else { "text" };
            assert_eq!(is(text), expected, "{text}");
        }
        assert_eq!(is("20240131"), "integer");
    }

    #[test]
    fn the_order_of_day_and_month_is_a_reading_of_its_own() {
        let dates = |text| readings(text) & Candidates::DATES;
        assert_eq!(dates("2024-01-31"), Candidates::DATES);
        assert_eq!(dates("31/01/2024"), Candidates::DATE_DMY);
        assert_eq!(dates("01/31/2024"), Candidates::DATE_MDY);
        assert_eq!(dates("01/02/2024"), Candidates::DATE_DMY | Candidates::DATE_MDY);
        assert_eq!(readings("01/02/2024 10:00") & Candidates::CALENDAR, Candidates::LOCAL_DMY | Candidates::LOCAL_MDY);
    }

    #[test]
    fn only_the_readings_asked_for_are_looked_for() {
        let classifier = Classifier::new(&Settings::default());
        for bit in 0..25 {
            let among = Candidates(1 << bit);
            for text in ["1", "1.5", "2024-01-31", "true", "10:20", "{}"] {
                let all = classifier.readings(text.as_bytes(), Candidates::ALL, &mut Scratch::default()).0;
                let few = classifier.readings(text.as_bytes(), among, &mut Scratch::default()).0;
                assert_eq!(few, all & among, "{text}, bit {bit}");
            }
        }
    }
}
