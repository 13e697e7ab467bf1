//! LIKE against a recursive matcher that tries everything.

use fastcsv_engine::filter::{Characters, Pattern};
use proptest::prelude::*;

/// Does the text match the pattern? Each `%` is tried with every run of characters.
pub fn matches(text: &[u8], pattern: &[u8], utf8: bool) -> bool {
    let next = |text: &[u8]| {
        let continuation = text[1..].iter().take_while(|&&byte| utf8 && byte & 0xC0 == 0x80).count();
        1 + continuation
    };
    match pattern {
        [] => text.is_empty(),
        [b'%', rest @ ..] => {
            matches(text, rest, utf8) || !text.is_empty() && matches(&text[next(text)..], pattern, utf8)
        }
        [b'_', rest @ ..] => !text.is_empty() && matches(&text[next(text)..], rest, utf8),
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => {
            text.first() == Some(literal) && matches(&text[1..], rest, utf8)
        }
    }
}

/// Whether the pattern would end within an escape.
fn ends_with_escape(pattern: &str) -> bool {
    pattern.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}

fn check(text: &[u8], pattern: &str, characters: Characters) {
    match Pattern::new(pattern.as_bytes(), characters) {
        Some(compiled) => {
            let expected = matches(text, pattern.as_bytes(), characters == Characters::Utf8);
            assert_eq!(compiled.matches(text), expected, "{text:?} LIKE {pattern:?}");
        }
        None => assert!(ends_with_escape(pattern), "{pattern:?} was refused"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8_000))]

    #[test]
    fn text_matches_as_the_plain_matcher_says(text in "[abé€%_]{0,8}", pattern in "[abé€%%__\\\\]{0,6}") {
        check(text.as_bytes(), &pattern, Characters::Utf8);
        check(text.as_bytes(), &pattern, Characters::SingleByte);
    }

    #[test]
    fn text_that_is_not_valid_matches_as_characters_are_stepped_over(
        text in prop::collection::vec(prop::sample::select(b"ab\xC3\xA9\xE2\x82\xAC".to_vec()), 0..8),
        pattern in "[abé%%__]{0,5}",
    ) {
        check(&text, &pattern, Characters::Utf8);
    }
}

#[test]
fn literals_between_percent_signs_do_not_overlap() {
    let compiled = |pattern: &str| Pattern::new(pattern.as_bytes(), Characters::Utf8).unwrap();
    assert!(!compiled("ab%ba").matches(b"aba"));
    assert!(compiled("ab%ba").matches(b"abba"));
    assert!(!compiled("%ab%ab%").matches(b"xab"));
    assert!(compiled("%ab%ab%").matches(b"abab"));
    assert!(compiled("").matches(b""));
    assert!(!compiled("").matches(b"a"));
    assert!(compiled("%%").matches(b""));
    assert!(compiled("100\\%").matches(b"100%"));
}

#[test]
fn a_pattern_that_ends_with_an_escape_or_is_not_valid_is_refused() {
    assert_eq!(Pattern::new(b"a\\", Characters::SingleByte), None);
    assert_eq!(Pattern::new(b"a\\", Characters::Utf8), None);
    assert_eq!(Pattern::new(b"a\xFF", Characters::Utf8), None);
    assert!(Pattern::new(b"a\xFF", Characters::SingleByte).is_some());
}
