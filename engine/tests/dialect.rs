//! What is a dialect, which scan it runs on, and what is refused.

use fastcsv_engine::dialect::{Dialect, DialectBuilder, DialectClass, DialectError, LineEnd, MAX_DELIMITER, Quoting};

fn refused(builder: DialectBuilder) -> DialectError {
    builder.build().expect_err("the dialect must be refused")
}

fn class(builder: DialectBuilder) -> DialectClass {
    builder.build().expect("the dialect is valid").class()
}

#[test]
fn the_defaults_are_those_of_copy() {
    let dialect = Dialect::copy_csv(LineEnd::CrLf);
    assert_eq!(dialect.delimiter(), b",");
    assert_eq!((dialect.quote(), dialect.escape(), dialect.comment()), (Some(b'"'), Some(b'"'), None));
    assert_eq!((dialect.quoting(), dialect.line_end()), (Quoting::Toggle, LineEnd::CrLf));
    assert!(dialect.doubles_quotes());
}

#[test]
fn an_escape_that_is_not_given_is_the_quote_whatever_that_is() {
    let dialect = Dialect::builder().quote(Some(b'\'')).build().unwrap();
    assert_eq!(dialect.escape(), Some(b'\''));
    let unquoted = Dialect::builder().quote(None).build().unwrap();
    assert_eq!(unquoted.escape(), None);
    assert!(!unquoted.doubles_quotes());
}

#[test]
fn only_dialects_where_the_parity_of_quotes_decides_are_two_valued() {
    let copy = Dialect::builder;
    let two_valued = [
        copy(),
        copy().quote(None),
        copy().escape(Some(b'"')),
        copy().delimiter(b"\\").quote(Some(b'q')),
        copy().line_end(LineEnd::Cr),
    ];
    for builder in two_valued {
        assert_eq!(class(builder.clone()), DialectClass::TwoValued, "{builder:?}");
    }
    let others = [
        copy().escape(Some(b'\\')),
        copy().quote(None).escape(Some(b'\\')),
        copy().comment(Some(b'#')),
        copy().delimiter(b"::"),
        copy().quoting(Quoting::Strict),
        copy().quoting(Quoting::Literal),
        copy().quote(Some(b'\n')),
        copy().quote(Some(b'\r')),
    ];
    for builder in others {
        assert_eq!(class(builder.clone()), DialectClass::Machine, "{builder:?}");
    }
}

#[test]
fn everything_that_copy_accepts_is_a_dialect() {
    for byte in (0..=255).filter(|&byte| byte != b',') {
        for escape in [None, Some(b','), Some(b'\r'), Some(b'\n'), Some(byte)] {
            let builder = Dialect::builder().quote(Some(byte)).escape(escape);
            assert!(builder.build().is_ok(), "quote {byte}, escape {escape:?}");
        }
    }
}

#[test]
fn what_no_scanner_could_read_is_refused_with_its_reason() {
    let copy = Dialect::builder;
    let strict = || copy().quoting(Quoting::Strict);
    let plain = || copy().quote(None).escape(Some(b'\\'));
    let long = [b'x'; MAX_DELIMITER + 1];
    let ambiguous = |comment| DialectError::CommentAmbiguous { comment };
    let cases = [
        (copy().delimiter(b""), DialectError::DelimiterEmpty),
        (copy().delimiter(&long), DialectError::DelimiterTooLong { bytes: long.len() }),
        (copy().delimiter(b"a\n"), DialectError::DelimiterHoldsLineEnd),
        (copy().delimiter(b"\r"), DialectError::DelimiterHoldsLineEnd),
        (copy().delimiter(b"a\""), DialectError::DelimiterHoldsQuote),
        (plain().delimiter(b"a\\"), DialectError::DelimiterHoldsEscape),
        (strict().quote(Some(b'\n')), DialectError::QuoteIsLineEnd),
        (strict().escape(Some(b'\r')), DialectError::EscapeIsLineEnd),
        (copy().quote(None).escape(Some(b'\n')), DialectError::EscapeIsLineEnd),
        (copy().comment(Some(b'"')), ambiguous(b'"')),
        (copy().comment(Some(b',')), ambiguous(b',')),
        (copy().comment(Some(b'\n')), ambiguous(b'\n')),
        (plain().comment(Some(b'\\')), ambiguous(b'\\')),
    ];
    for (builder, error) in cases {
        assert_eq!(refused(builder), error);
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn a_changed_line_end_leaves_the_rest_as_it_was() {
    let dialect = Dialect::builder().delimiter(b"||").comment(Some(b'#')).build().unwrap();
    let changed = dialect.with_line_end(LineEnd::Cr);
    assert_eq!(changed.line_end(), LineEnd::Cr);
    assert_eq!(changed.with_line_end(LineEnd::Lf), dialect);
}
