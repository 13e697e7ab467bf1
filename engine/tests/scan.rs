//! Every scan gives the reference's events: at every level, for every dialect, however the input is cut.

mod common;

use std::sync::LazyLock;

use common::{ALPHABET, csv_like};
use fastcsv_engine::dialect::{Dialect, DialectBuilder, DialectClass, LineEnd, Quoting};
use fastcsv_engine::scan::reference::{Outline, outline};
use fastcsv_engine::scan::{Boundaries, COMMENT, Level, QUOTED, Scanner, Sink, State};
use proptest::prelude::*;

/// One dialect of every kind, each with every line end.
fn dialects() -> Vec<Dialect> {
    let copy = Dialect::builder;
    let quote = |quote: u8| copy().quote(Some(quote));
    let escape = |escape: u8| copy().escape(Some(escape));
    let rule = |quoting| copy().quoting(quoting);
    let kinds: Vec<DialectBuilder> = vec![
        copy(),
        copy().quote(None),
        copy().delimiter(b"\0"),
        copy().delimiter(b"a"),
        copy().delimiter(b"\\"),
        copy().delimiter(b"\xff"),
        quote(b'\n'),
        quote(b'\r'),
        quote(b'a'),
        escape(b'\\'),
        escape(b','),
        escape(b'\n'),
        escape(b'\r'),
        quote(b'\n').escape(Some(b'\r')),
        rule(Quoting::Strict),
        rule(Quoting::Strict).escape(Some(b'\\')),
        rule(Quoting::Strict).delimiter(b"||"),
        rule(Quoting::Strict).delimiter(b"aab").escape(Some(b'a')),
        rule(Quoting::Strict).comment(Some(b'#')),
        rule(Quoting::Literal),
        rule(Quoting::Literal).escape(Some(b'\\')),
        rule(Quoting::Literal).delimiter(b"ab"),
        copy().comment(Some(b'#')),
        copy().delimiter(b"||"),
        copy().delimiter(b"aab"),
        copy().delimiter(b"aba").comment(Some(b'#')).escape(Some(b'\\')),
        copy().quote(None).delimiter(b"a").escape(Some(b'\\')),
        copy().quote(None).comment(Some(b'#')),
    ];
    let each_line_end = |kind: DialectBuilder| LineEnd::ALL.map(|line_end| kind.clone().line_end(line_end));
    let build = |kind: DialectBuilder| kind.build().expect("a valid dialect");
    kinds.into_iter().flat_map(each_line_end).map(build).collect()
}

/// Scans with their names.
type Scanners = Vec<(String, Scanner)>;

/// The dialects, each with its scans: made once, for a table is dear to make.
static DIALECTS: LazyLock<Vec<(Dialect, Scanners)>> = LazyLock::new(|| {
    let with_scanners = |dialect: Dialect| {
        let scanners = scanners(&dialect);
        (dialect, scanners)
    };
    dialects().into_iter().map(with_scanners).collect()
});

/// Every scan that can read a dialect on this CPU, with a name for messages.
fn scanners(dialect: &Dialect) -> Scanners {
    let mut scanners = Vec::new();
    for level in Level::available() {
        scanners.push((format!("machine, {}", level.name()), Scanner::machine(dialect, level)));
        if dialect.class() == DialectClass::TwoValued {
            scanners.push((format!("prefix XOR, {}", level.name()), Scanner::new(dialect, level)));
        }
    }
    scanners
}

/// The state a scan starts in.
fn start(inside_quotes: bool) -> State {
    if inside_quotes { State::inside_quotes(0) } else { State::at_record(0) }
}

/// What a scan reports of an input handed over in pieces.
fn observe<'a>(scanner: &Scanner, inside_quotes: bool, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outline {
    let mut state = start(inside_quotes);
    let mut found = Outline::default();
    for piece in pieces {
        scanner.scan(&mut state, piece, &mut found);
    }
    scanner.finish(&mut state);
    found.closed_by(&state)
}

/// Every scan of the input in one piece, from both starting states, gives the reference's outline.
fn expect_equal(dialect: &Dialect, scanners: &[(String, Scanner)], input: &[u8]) {
    for inside_quotes in [false, true] {
        if inside_quotes && dialect.quote().is_none() {
            continue;
        }
        let expected = outline(dialect, inside_quotes, input);
        for (name, scanner) in scanners {
            let found = observe(scanner, inside_quotes, [input]);
            let bytes = input.escape_ascii();
            assert_eq!(found, expected, "{name}, inside quotes: {inside_quotes}, {dialect:?}, {bytes}");
        }
    }
}

#[test]
fn every_byte_value_in_every_lane_is_seen_as_the_reference_sees_it() {
    let strict = Dialect::builder().quoting(Quoting::Strict).comment(Some(b'#')).build().unwrap();
    for dialect in [Dialect::copy_csv(LineEnd::Lf), strict] {
        let scanners = scanners(&dialect);
        for lane in 0..64 {
            for value in 0..=255 {
                let mut input = [b'x'; 64];
                input[lane] = value;
                let expected = outline(&dialect, false, &input);
                for (name, scanner) in &scanners {
                    assert_eq!(observe(scanner, false, [&input[..]]), expected, "{name}, {value} in lane {lane}");
                }
            }
        }
    }
}

#[test]
fn every_special_byte_in_every_lane_behind_every_other_is_seen_in_every_dialect() {
    for (dialect, scanners) in &*DIALECTS {
        for (lane, &value) in (0..64).flat_map(|lane| ALPHABET.iter().map(move |value| (lane, value))) {
            let mut input = [b'x'; 70];
            input[lane] = value;
            input[lane + 1] = ALPHABET[(lane + usize::from(value)) % ALPHABET.len()];
            let expected = outline(dialect, false, &input);
            for (name, scanner) in scanners {
                let found = observe(scanner, false, [&input[..]]);
                assert_eq!(found, expected, "{name}, {value} in lane {lane}, {dialect:?}");
            }
        }
    }
}

#[test]
fn an_input_that_ends_at_any_byte_ends_as_in_the_reference() {
    let texts = [&b"\"a\"||\"b\"|"[..], b"\"x\"aab\"y\"aa", b"a,\"b\\\"\"\r\n#c\r\nd\\\r\n\"\"\r"];
    for (dialect, scanners) in &*DIALECTS {
        for text in texts {
            for end in 0..=text.len() {
                expect_equal(dialect, scanners, &text[..end]);
            }
        }
    }
}

#[test]
fn a_cut_at_any_byte_changes_nothing() {
    let text = b"ab,\"c\"\"d\"||e\r\n#\"x\\\"a\\\\\"aab\n\r\"\r\n\n\"\",\\,aaabab|a\xff\0\r\r\n\"|\"||\"\n\"a\r";
    let input = [&text[..], &[b'x'; 61], text].concat();
    for (dialect, scanners) in &*DIALECTS {
        for (name, scanner) in scanners {
            let whole = observe(scanner, false, [&input[..]]);
            for cut in 0..=input.len() {
                let (left, right) = input.split_at(cut);
                assert_eq!(observe(scanner, false, [left, right]), whole, "{name}, cut at {cut}, {dialect:?}");
            }
            for size in [1, 2, 3, 7, 63, 64, 65] {
                let pieces = observe(scanner, false, input.chunks(size));
                assert_eq!(pieces, whole, "{name}, in pieces of {size}, {dialect:?}");
            }
        }
    }
}

#[test]
fn an_input_of_any_length_up_to_three_blocks_is_read_to_its_last_byte() {
    for length in 0..=192 {
        let input: Vec<u8> = (0..length).map(|i| b"ab,\"c\n,\"d\",\r\n"[i * 7 % 13]).collect();
        for (dialect, scanners) in DIALECTS.iter().take(LineEnd::ALL.len()) {
            expect_equal(dialect, scanners, &input);
        }
    }
}

#[test]
fn a_position_is_absolute_and_independent_of_where_the_scan_began() {
    let dialect = Dialect::copy_csv(LineEnd::CrLf);
    let scanner = Scanner::new(&dialect, Level::detect());
    let mut state = State::at_record(5_000_000_000);
    let mut found = Outline::default();
    scanner.scan(&mut state, b"a,b\r", &mut found);
    scanner.scan(&mut state, b"\nc\r", &mut found);
    scanner.finish(&mut state);
    assert_eq!(found.records, [5_000_000_004]);
    assert_eq!(state.stray(), Some(5_000_000_006));
    assert_eq!(state.position(), 5_000_000_007);
}

#[test]
fn the_boundary_list_holds_the_positions_of_the_masks() {
    let dialect = Dialect::builder().comment(Some(b'#')).build().unwrap();
    let mut list = Boundaries::new();
    let input = b"a,\"b\"\n#c,d\n\n\"e\nf\",,\ng";
    Scanner::new(&dialect, Level::detect()).scan(&mut State::at_record(9), input, &mut list);
    assert_eq!(list.ends(), [1, 5 | QUOTED, 10, 11, 17 | QUOTED, 18, 19]);
    assert_eq!(list.records(), [2, 3 | COMMENT, 4, 7]);
}

#[test]
#[should_panic(expected = "less than 2 GiB")]
fn a_buffer_whose_positions_do_not_fit_into_a_boundary_list_is_refused() {
    Boundaries::new().begin(0, 1 << 31);
}

/// The boundary list and the outline say the same of one buffer.
fn expect_same_boundaries(list: &Boundaries, outline: &Outline) {
    let ends: Vec<u64> = list.ends().iter().map(|end| u64::from(end & !QUOTED)).collect();
    let quoted = list.ends().iter().filter(|&end| end & QUOTED != 0).map(|end| u64::from(end & !QUOTED));
    let last = |record: &u32| ends[(record & !COMMENT) as usize - 1];
    let records: Vec<u64> = list.records().iter().map(last).collect();
    let comments = list.records().iter().filter(|&record| record & COMMENT != 0).map(last);
    assert_eq!(quoted.collect::<Vec<_>>(), outline.quoted);
    assert_eq!(comments.collect::<Vec<_>>(), outline.comments);
    assert_eq!(records, outline.records);
    assert_eq!(ends, outline.ends);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_have_the_references_outline_in_every_dialect(input in csv_like(300)) {
        for (dialect, scanners) in &*DIALECTS {
            expect_equal(dialect, scanners, &input);
        }
    }

    #[test]
    fn random_bytes_in_random_pieces_have_the_outline_of_one_piece(
        input in csv_like(300),
        sizes in prop::collection::vec(0_usize..100, 1..8),
    ) {
        for (dialect, scanners) in &*DIALECTS {
            let expected = outline(dialect, false, &input);
            for (name, scanner) in scanners {
                let mut rest = &input[..];
                let pieces = sizes.iter().cycle().map_while(|&size| {
                    let (piece, after) = rest.split_at((size + 1).min(rest.len()));
                    rest = after;
                    (!piece.is_empty()).then_some(piece)
                });
                prop_assert_eq!(observe(scanner, false, pieces), expected.clone(), "{}, {:?}", name, dialect);
            }
        }
    }

    #[test]
    fn a_boundary_list_of_random_bytes_is_that_of_the_outline(input in csv_like(400)) {
        let mut list = Boundaries::new();
        for (dialect, scanners) in &*DIALECTS {
            let expected = outline(dialect, false, &input);
            for (_, scanner) in scanners {
                scanner.scan(&mut State::at_record(0), &input, &mut list);
                expect_same_boundaries(&list, &expected);
            }
        }
    }
}
