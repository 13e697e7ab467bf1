//! Numbers in PostgreSQL's `numeric` format, decoded and compared with plain arithmetic on decimal digits.

use fastcsv_engine::convert::{Converter, Datum, Kind, Scratch, Settings};
use proptest::prelude::*;

/// A number as a sign and decimal digits, `scale` of them after the point, the first of them not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    scale: i32,
}

impl Decimal {
    fn new(text: &str, exponent: i32) -> Decimal {
        let negative = text.starts_with('-');
        let body = text.trim_start_matches(['-', '+']);
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        let mut scale = fraction.len() as i32 - exponent;
        while scale < 0 {
            digits.push(0);
            scale += 1;
        }
        Decimal { negative, digits, scale }.tidied()
    }

    fn tidied(mut self) -> Decimal {
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        self.negative &= !self.digits.is_empty();
        self
    }

    /// Digit after digit, as by hand.
    fn rounded(mut self, scale: i32) -> Decimal {
        while self.scale > scale {
            let last = self.digits.pop().unwrap_or(0);
            self.scale -= 1;
            if self.scale == scale && last >= 5 {
                let mut place = self.digits.len();
                loop {
                    if place == 0 {
                        self.digits.insert(0, 1);
                        break;
                    }
                    place -= 1;
                    self.digits[place] = (self.digits[place] + 1) % 10;
                    if self.digits[place] != 0 {
                        break;
                    }
                }
            }
        }
        while self.scale < scale.max(0) {
            self.digits.push(0);
            self.scale += 1;
        }
        self.tidied()
    }

    /// Digits before the point, negative if zeros follow it.
    fn whole_digits(&self) -> i32 {
        self.digits.len() as i32 - self.scale
    }
}

/// Reads the stored form, and checks that it is the one PostgreSQL chooses.
fn decode(bytes: &[u8]) -> Decimal {
    let words: Vec<u16> = bytes.chunks(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]])).collect();
    let head = words[0];
    let (negative, scale, weight, digits) = if head & 0x8000 != 0 {
        let low = i32::from(head & 0x3f);
        let weight = if head & 0x40 != 0 { low - 64 } else { low };
        (head & 0x2000 != 0, i32::from(head >> 7 & 0x3f), weight, &words[1..])
    } else {
        (head & 0x4000 != 0, i32::from(head & 0x3fff), i32::from(words[1].cast_signed()), &words[2..])
    };
    let can_be_short = scale <= 63 && (-64..=63).contains(&weight);
    assert_eq!(head & 0x8000 != 0, can_be_short, "the short form where it is possible");
    assert!(digits.iter().all(|digit| *digit < 10_000));
    assert_ne!(digits.first(), Some(&0), "no zeros in front");
    assert_ne!(digits.last(), Some(&0), "no zeros behind");
    assert!(!digits.is_empty() || (weight == 0 && !negative), "zero is plain");
    let mut decimal: Vec<u8> = Vec::new();
    for place in (-(scale + 3) / 4 - 1..=weight).rev() {
        let digit = usize::try_from(weight - place).ok().and_then(|index| digits.get(index)).copied().unwrap_or(0);
        decimal.extend(format!("{digit:04}").bytes().map(|byte| byte - b'0'));
    }
    // Now some digits more than the scale says are there; they must be zero.
    let lowest = -(scale + 3) / 4 - 1;
    for _ in 0..-4 * lowest - scale {
        if let Some(last) = decimal.pop() {
            assert_eq!(last, 0, "no digits beyond the scale");
        }
    }
    Decimal { negative, digits: decimal, scale }.tidied()
}

fn convert(text: &str, limit: Option<(i32, i32)>) -> Option<Decimal> {
    let mut scratch = Scratch::default();
    let converter = Converter::new(Kind::Numeric { limit });
    match converter.convert(text.as_bytes(), &Settings::default(), &mut scratch)? {
        Datum::Bytes(bytes) => Some(decode(bytes)),
        Datum::Word(_) => panic!("a numeric is a varlena"),
    }
}

/// Precisions and scales.
fn limit() -> impl Strategy<Value = (i32, i32)> {
    let usual = (1_i32..=40).prop_flat_map(|precision| (Just(precision), 0..=precision));
    prop_oneof![usual, (1_i32..=100, -20_i32..=100)]
}

fn number() -> impl Strategy<Value = String> {
    let digits = prop_oneof!["[0-9]{1,9}", "[09]{1,20}", "[0-9]{15,45}", "0"];
    let fraction = prop_oneof!["[0-9]{1,9}", "[0459]{1,20}", "[0-9]{15,70}", Just(String::new())];
    ("[+-]?", digits, fraction, any::<bool>()).prop_map(|(sign, whole, fraction, point)| {
        let point = if point || !fraction.is_empty() { "." } else { "" };
        format!("{sign}{whole}{point}{fraction}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_number_is_stored_as_it_is_written(text in number()) {
        prop_assert_eq!(convert(&text, None), Some(Decimal::new(&text, 0)));
    }

    #[test]
    fn an_exponent_moves_the_point(text in number(), exponent in -90_i32..90) {
        let expected = Decimal::new(&text, exponent);
        prop_assert_eq!(convert(&format!("{text}e{exponent}"), None), Some(expected.clone()));
        prop_assert_eq!(convert(&format!(" {text}E{exponent:+} "), None), Some(expected));
    }

    #[test]
    fn a_limit_rounds_half_away_from_zero_and_is_not_exceeded(text in number(), (precision, scale) in limit()) {
        let rounded = Decimal::new(&text, 0).rounded(scale);
        let fits = rounded.digits.is_empty() || rounded.whole_digits() <= precision - scale;
        // A negative scale has left the digits before the point out: put zeros there.
        let mut expected = rounded;
        while expected.scale < 0 {
            if !expected.digits.is_empty() {
                expected.digits.push(0);
            }
            expected.scale += 1;
        }
        prop_assert_eq!(convert(&text, Some((precision, scale))), fits.then_some(expected), "{} ({}, {})", text, precision, scale);
    }
}

#[test]
fn the_short_form_ends_where_it_must() {
    for scale in 60..68 {
        assert!(convert(&format!("0.{}1", "0".repeat(scale - 1)), None).is_some());
    }
    for weight in [250, 251, 252, 253, 255, 256, 257, 260] {
        assert!(convert(&format!("1e{weight}"), None).is_some());
        assert!(convert(&format!("1e-{weight}"), None).is_some());
    }
}
