//! A line number of COPY's leads to the record that COPY was reading when it counted that line.

mod common;

use common::csv_like;
use fastcsv_engine::dialect::{Dialect, LineEnd};
use fastcsv_engine::locate::{Checkpoint, Located, Locator, OpenQuote, Place, Progress, locate, locate_start};
use fastcsv_engine::scan::{Level, LineEndFinder};
use proptest::prelude::*;
use std::io;

/// A record as COPY's line reader sees it.
#[derive(Clone, Copy, Debug)]
struct Line {
    byte: usize,
    end: usize,
    /// COPY's counter when the record was begun and when it was done.
    numbers: (u64, u64),
    /// The style known when the record was begun.
    style: Option<LineEnd>,
}

/// How COPY came to the end of a file.
struct Reading {
    lines: Vec<Line>,
    style: Option<LineEnd>,
    /// COPY met a stray line end in the last of the lines.
    failed: bool,
    /// The last line ended inside quotes.
    open: bool,
}

/// COPY's line reader, byte by byte: the states, the counter and the style of `CopyReadLineText`.
fn copy_reads(dialect: &Dialect, input: &[u8]) -> Reading {
    let csv = dialect.quote().is_some();
    let escape = dialect.escape().filter(|_| csv && !dialect.doubles_quotes());
    let mut reading = Reading { lines: Vec::new(), style: None, failed: false, open: false };
    let mut counter = 0;
    let mut at = 0;
    while at < input.len() && !reading.failed {
        counter += 1;
        let mut line = Line { byte: at, end: at, numbers: (counter, counter), style: reading.style };
        let (mut in_quote, mut last_was_escape) = (false, false);
        while at < input.len() {
            let byte = input[at];
            at += 1;
            if csv {
                if in_quote && Some(byte) == escape {
                    last_was_escape = !last_was_escape;
                }
                if Some(byte) == dialect.quote() && !last_was_escape {
                    in_quote = !in_quote;
                }
                if Some(byte) != escape {
                    last_was_escape = false;
                }
                let counted = if reading.style == Some(LineEnd::Lf) { b'\n' } else { b'\r' };
                counter += u64::from(in_quote && byte == counted);
            }
            if byte == b'\r' && !in_quote {
                match reading.style {
                    None | Some(LineEnd::CrLf) if input.get(at) == Some(&b'\n') => {
                        at += 1;
                        reading.style = Some(LineEnd::CrLf);
                    }
                    None => reading.style = Some(LineEnd::Cr),
                    Some(LineEnd::Cr) => {}
                    Some(_) => reading.failed = true,
                }
                break;
            }
            if byte == b'\n' && !in_quote {
                reading.failed = matches!(reading.style, Some(LineEnd::Cr | LineEnd::CrLf));
                reading.style = reading.style.or(Some(LineEnd::Lf));
                break;
            }
            if byte == b'\\' && !csv {
                at += 1;
            }
        }
        at = at.min(input.len());
        line.end = at;
        line.numbers.1 = counter;
        reading.open = in_quote;
        reading.lines.push(line);
    }
    reading
}

/// Physical lines before `byte`, plus one.
fn physical_line(input: &[u8], style: Option<LineEnd>, byte: usize) -> u64 {
    let line_byte = match style {
        Some(style) => style.line_byte(),
        None if input[..byte].contains(&b'\n') => b'\n',
        None => b'\r',
    };
    1 + input[..byte].iter().filter(|&&byte| byte == line_byte).count() as u64
}

/// The field's first quote in a record that never ends, if no delimiter or quote of the dialect is a line-end byte.
fn first_quote_of_last_field(dialect: &Dialect, record: &[u8]) -> usize {
    let escape = dialect.escape().filter(|_| !dialect.doubles_quotes());
    let (mut first, mut in_quote, mut at) = (None, false, 0);
    while at < record.len() {
        let byte = record[at];
        if in_quote
            && Some(byte) == escape
            && record.get(at + 1).is_some_and(|&next| Some(next) == escape || Some(next) == dialect.quote())
        {
            at += 1;
        } else if Some(byte) == dialect.quote() {
            in_quote = !in_quote;
            first = first.or(Some(at));
        } else if !in_quote && byte == dialect.delimiter()[0] {
            first = None;
        }
        at += 1;
    }
    first.expect("the record ends inside quotes")
}

/// The answer for a number, or `None` if no record owns it.
fn expected(dialect: &Dialect, input: &[u8], reading: &Reading, number: u64) -> Option<Place> {
    let last = reading.lines.len().checked_sub(1)?;
    let runs_on = |i: usize| i == last && reading.open;
    let owns = |i: usize, line: &Line| line.numbers.0 <= number && (number <= line.numbers.1 || runs_on(i));
    let (i, line) = reading.lines.iter().enumerate().find(|(i, line)| owns(*i, line))?;
    let open_quote = runs_on(i).then(|| {
        let byte = line.byte + first_quote_of_last_field(dialect, &input[line.byte..]);
        OpenQuote { line: physical_line(input, reading.style, byte), byte: byte as u64 }
    });
    Some(Place {
        line: physical_line(input, reading.style, line.byte),
        record: i as u64 + 1,
        byte: line.byte as u64,
        end: line.end as u64,
        open_quote,
    })
}

/// What the locator finds in an input cut into pieces.
fn find(dialect: &Dialect, level: Level, from: Checkpoint, number: u64, input: &[u8], piece: usize) -> Option<Place> {
    let mut locator = Locator::new(dialect, level, from, number);
    let mut start = None;
    for piece in input[from.byte as usize..].chunks(piece) {
        if locator.push(piece) == Progress::Done {
            break;
        }
        start = start.or_else(|| locator.start());
    }
    let found = locator.finish();
    if let Some(start) = start {
        let place = found.expect("a record that has a start is found");
        assert_eq!((start.line, start.record, start.byte), (place.line, place.record, place.byte), "{number} {piece}");
    }
    found
}

/// The dialects COPY can be asked for, oddities included; the last is its text format.
fn copy_dialects() -> Vec<Dialect> {
    let copy = Dialect::builder;
    let kinds = [
        copy(),
        copy().escape(Some(b'\\')),
        copy().escape(Some(b',')),
        copy().escape(Some(b'\r')),
        copy().escape(Some(b'\n')),
        copy().quote(Some(b'\n')),
        copy().quote(Some(b'\r')),
        copy().delimiter(b"a").quote(Some(b'b')),
        copy().delimiter(b"a").quote(None).escape(Some(b'\\')),
    ];
    kinds.into_iter().map(|kind| kind.build().expect("a valid dialect")).collect()
}

/// Every number of the file, and some beyond, from the file's start and from each of its records.
fn check(dialect: &Dialect, input: &[u8], piece: usize) {
    let reading = copy_reads(dialect, input);
    let most = reading.lines.last().map_or(0, |line| line.numbers.1);
    // After the error COPY has no opinion on where things end.
    let comparable = |place: Place| if reading.failed { Place { end: 0, open_quote: None, ..place } } else { place };
    let beyond = if reading.failed { 0 } else { 3 };
    for level in Level::available() {
        for number in 0..=most + beyond {
            let wanted = expected(dialect, input, &reading, number).map(comparable);
            let found = find(dialect, level, Checkpoint::START, number, input, piece).map(comparable);
            assert_eq!(found, wanted, "number {number}, pieces of {piece}, {dialect:?}, {:?}", input.escape_ascii());
        }
    }
    for (i, line) in reading.lines.iter().enumerate().filter(|(_, line)| line.style.is_some()) {
        let from = Checkpoint {
            byte: line.byte as u64,
            line: physical_line(input, reading.style, line.byte),
            record: i as u64 + 1,
            number: line.numbers.0,
            line_end: line.style,
        };
        let wanted = expected(dialect, input, &reading, most).map(comparable);
        let found = find(dialect, Level::detect(), from, most, input, piece).map(comparable);
        assert_eq!(found, wanted, "from {from:?}, {dialect:?}, {:?}", input.escape_ascii());
    }
}

#[test]
fn quoted_line_feeds_of_the_first_record_of_an_lf_file_are_not_counted_and_later_ones_are() {
    let input = b"a,\"1\n2\"\nb,\"1\n2\"\nc\n";
    let dialect = Dialect::copy_csv(LineEnd::Lf);
    let at = |number| find(&dialect, Level::detect(), Checkpoint::START, number, input, 100);
    let place = |line, record, byte, end| Some(Place { line, record, byte, end, open_quote: None });
    assert_eq!(at(1), place(1, 1, 0, 8));
    assert_eq!(at(2), place(3, 2, 8, 16));
    assert_eq!(at(3), place(3, 2, 8, 16));
    assert_eq!(at(4), place(5, 3, 16, 18));
    assert_eq!(at(5), None);
}

#[test]
fn an_open_quote_owns_every_later_number_and_its_first_quote_is_named() {
    let input = b"h\r\na,b\"c\"\"\r\nd,\r\n";
    let open_quote = Some(OpenQuote { line: 2, byte: 6 });
    let place = Place { line: 2, record: 2, byte: 3, end: input.len() as u64, open_quote };
    for number in [2, 3, 4, 5, 1_000] {
        let dialect = Dialect::copy_csv(LineEnd::Lf);
        assert_eq!(find(&dialect, Level::detect(), Checkpoint::START, number, input, 3), Some(place));
    }
}

#[test]
fn a_number_before_the_checkpoint_is_not_found() {
    let from = Checkpoint { number: 7, ..Checkpoint::START };
    assert_eq!(find(&Dialect::copy_csv(LineEnd::Lf), Level::detect(), from, 6, b"a\nb\n", 9), None);
}

#[test]
fn locate_reads_on_only_as_long_as_it_may() {
    let input = b"0123456789\n".repeat(1 << 20);
    let dialect = Dialect::copy_csv(LineEnd::Lf);
    let mut asked = 0;
    let mut run = |number, limit| {
        asked = 0;
        locate(&mut &input[..], &dialect, Checkpoint::START, number, &mut || {
            asked += 1;
            asked < limit
        })
        .expect("memory can be read")
    };
    let place = Place { line: 1 << 19, record: 1 << 19, byte: 11 * ((1 << 19) - 1), end: 11 << 19, open_quote: None };
    assert_eq!(run(1 << 19, 100), Located::Found(place));
    assert_eq!(run((1 << 20) + 1, 100), Located::Beyond);
    assert_eq!(run(1 << 20, 3), Located::Stopped);
    assert_eq!(asked, 3);
}

#[test]
fn locate_start_does_not_read_to_the_end_of_a_record_that_has_none() {
    let dialect = Dialect::copy_csv(LineEnd::Lf);
    let mut input = io::Read::chain(&b"a\nb\n\"c"[..], io::repeat(0));
    match locate_start(&mut input, &dialect, Checkpoint::START, 3, &mut || true) {
        Ok(Located::Found(place)) => assert_eq!((place.line, place.record, place.byte), (3, 3, 4)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn in_a_long_file_of_long_records_every_place_is_exact() {
    let quoted = "line\nof, text\r\n".repeat(1500);
    let mut text = String::from("\"h\r\n\"\n");
    for i in 0..12 {
        text += &format!("{i},\"{}\"\n{}", &quoted[..i * 1700], "x,y\n".repeat(i * 500));
    }
    text += "last,\"open";
    let input = text.as_bytes();
    for dialect in &copy_dialects()[..2] {
        let reading = copy_reads(dialect, input);
        let numbers = reading.lines.iter().step_by(1997).flat_map(|line| [line.numbers.0, line.numbers.1]);
        for number in numbers.chain([1_000_000]) {
            let wanted = expected(dialect, input, &reading, number);
            for piece in [5_000, 16_384, 1 << 20] {
                let found = find(dialect, Level::detect(), Checkpoint::START, number, input, piece);
                assert_eq!(found, wanted, "number {number}, pieces of {piece}");
            }
        }
    }
}

#[test]
fn every_size_of_piece_leads_to_the_same_place() {
    let texts = [
        &b"h,\"\r\n\"\na,\"\n\r\n\"\n\nb\n\"\"\"\n"[..],
        b"h,\"\r\n\"\r\na,\"\n\r\n\"\r\n\r\nb\r\n\"c\",d,e\"\r",
        b"h,\"\r\n\"\ra,\"\n\r\n\"\r\rb\r\"\"",
        b"\"\n\n\r\"\",\"",
    ];
    for dialect in copy_dialects() {
        for text in texts {
            for piece in 1..=70 {
                check(&dialect, text, piece);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_number_of_a_random_file_leads_to_the_record_copy_was_in(input in csv_like(120), piece in 1_usize..=70) {
        for dialect in copy_dialects() {
            check(&dialect, &input, piece);
        }
    }

    #[test]
    fn a_tidy_random_file_is_read_to_its_end_in_every_style(
        records in prop::collection::vec("[ab]{0,9}(,\"[a\n\r,]{0,5}\")?(,[ab]{0,3}\"\"\"[\n]{0,2}\")?", 1..30),
        line_end in prop::sample::select(&LineEnd::ALL[..]),
        piece in 1_usize..=70,
    ) {
        let line_end = std::str::from_utf8(line_end.bytes()).unwrap();
        check(&Dialect::copy_csv(LineEnd::Lf), records.join(line_end).as_bytes(), piece);
    }

    #[test]
    fn the_line_end_of_a_random_file_is_the_one_copy_takes(input in csv_like(80), piece in 1_usize..=70) {
        for dialect in copy_dialects() {
            let mut finder = LineEndFinder::new(&dialect, Level::detect());
            let found = input.chunks(piece).find_map(|piece| finder.push(piece)).or_else(|| finder.finish());
            prop_assert_eq!(found, copy_reads(&dialect, &input).style);
        }
    }
}

#[test]
fn the_line_end_of_a_comment_on_the_first_line_is_the_files_whatever_it_quotes() {
    let dialect = Dialect::builder().comment(Some(b'#')).build().unwrap();
    let style = |input: &[u8]| {
        let mut finder = LineEndFinder::new(&dialect, Level::detect());
        finder.push(input).or_else(|| finder.finish())
    };
    assert_eq!(style(b"#\"a\nb\r"), Some(LineEnd::Lf));
    assert_eq!(style(b"#a\"\r\nb\n"), Some(LineEnd::CrLf));
    assert_eq!(style(b"#\"\rb\n"), Some(LineEnd::Cr));
    assert_eq!(style(b"\"#\n"), None);
}
