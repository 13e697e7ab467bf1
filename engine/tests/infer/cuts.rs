//! What is found in a file does not depend on how it is cut, nor on who puts the parts together in which order.

use std::io::{self, Read};

use fastcsv_engine::convert::Settings;
use fastcsv_engine::dialect::{Dialect, LineEnd};
use fastcsv_engine::infer::{Candidates, Findings, Surveyor, survey};
use fastcsv_engine::scan::Level;
use proptest::prelude::*;

/// Fields that mean something to somebody.
const VALUES: [&str; 46] = [
    "",
    "\"\"",
    "NA",
    "\"NA\"",
    "NULL",
    "-",
    "0",
    "1",
    "-7",
    "32767",
    "32768",
    "2147483648",
    "9223372036854775808",
    "007",
    "+5",
    "1.5",
    "12.345",
    "0.50",
    "1e5",
    "NaN",
    "\"1,5\"",
    "\"1.234,5\"",
    "\"1,234.5\"",
    "\"1,234\"",
    "2024-01-31",
    "31/01/2024",
    "01/31/2024",
    "02/03/2024",
    "2024-01-31 10:20:30",
    "2024-01-31T10:20:30Z",
    "31.01.2024 10:00",
    "10:20",
    "10:20:30.5",
    "true",
    "f",
    "t",
    "no",
    "yes",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "\"{\"\"a\"\":1}\"",
    "[1]",
    "text",
    "\"a\nb\"",
    "\"two\n\nlines\"",
    "gr\u{f6}\u{df}e",
    "\u{1}",
];

/// Columns that draw from a few values each, so that they have types.
fn files() -> impl Strategy<Value = Vec<Vec<&'static str>>> {
    let column = prop::collection::vec(prop::sample::select(&VALUES[..]), 1..4);
    let columns = prop::collection::vec(column, 1..4);
    (columns, prop::collection::vec(any::<[u8; 4]>(), 0..30)).prop_map(|(columns, records)| {
        let record = |random: [u8; 4]| {
            let mut fields: Vec<&str> =
                columns.iter().zip(random).map(|(values, number)| values[usize::from(number) % values.len()]).collect();
            if random[3] == 0 {
                fields.push("extra");
            }
            fields
        };
        records.into_iter().map(record).collect()
    })
}

fn dialect() -> Dialect {
    Dialect::copy_csv(LineEnd::Lf)
}

fn surveyor(fields: usize) -> Surveyor {
    let settings = Settings { default_words: true, utf8: true, ..Settings::default() };
    Surveyor::new(&dialect(), Level::detect(), fields, b"", false, &settings).expect("there is memory")
}

fn text(records: &[Vec<&str>]) -> Vec<u8> {
    records.iter().flat_map(|fields| (fields.join(",") + "\n").into_bytes()).collect()
}

fn found(records: &[Vec<&str>], fields: usize) -> Findings {
    let (text, mut surveyor) = (text(records), surveyor(fields));
    assert_eq!(surveyor.take(&text, text.len().max(1), u64::MAX), Ok(text.len()));
    surveyor.into_findings()
}

fn merged(mut first: Findings, second: Findings) -> Findings {
    first.merge(second);
    first
}

/// What is of no matter for a column that is text is left out: it was not counted behind the value that made it so.
fn relevant(mut findings: Findings) -> Findings {
    for column in findings.columns.iter_mut().filter(|column| column.possible == Candidates::NONE) {
        (column.words, column.quoted_nulls, column.signs) = (Vec::new(), 0, Default::default());
    }
    findings
}

/// Bytes that come a few at a time, as from a slow file.
struct Slow<'b>(&'b [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(7);
        self.0.read(&mut buffer[..most])
    }
}

proptest! {
    #[test]
    fn the_parts_of_a_file_merge_into_the_whole(records in files(), cuts in any::<[prop::sample::Index; 2]>()) {
        let fields = records.first().map_or(1, Vec::len);
        let mut cuts = cuts.map(|cut| cut.index(records.len() + 1));
        cuts.sort_unstable();
        let parts = [&records[..cuts[0]], &records[cuts[0]..cuts[1]], &records[cuts[1]..]];
        let [a, b, c] = parts.map(|part| found(part, fields));
        let whole = relevant(found(&records, fields));
        prop_assert_eq!(&relevant(merged(merged(a.clone(), b.clone()), c.clone())), &whole);
        prop_assert_eq!(&relevant(merged(a, merged(b, c))), &whole);
    }

    #[test]
    fn findings_travel_unchanged(records in files()) {
        let findings = found(&records, records.first().map_or(1, Vec::len));
        let mut bytes = vec![1, 2, 3];
        prop_assert_eq!(findings.write(&mut bytes), Ok(()));
        prop_assert_eq!(Findings::read(&bytes), Some(findings));
        for length in 0..bytes.len() {
            prop_assert_eq!(Findings::read(&bytes[..length]), None);
        }
    }

    #[test]
    fn a_file_read_from_end_to_end_holds_the_same(records in files(), ends_bare in any::<bool>(), most in 0_u64..40) {
        let fields = records.first().map_or(1, Vec::len);
        let mut bytes = text(&records);
        if ends_bare {
            bytes.pop();
        }
        let kept = &records[..records.len().min(most as usize)];
        let read = survey(surveyor(fields), &mut Slow(&bytes), LineEnd::Lf, most, 1 << 20);
        // An empty field at the file's end is no record without a line end.
        let lost = ends_bare && kept.len() == records.len() && records.last().is_some_and(|last| last == &[""]);
        let expected = if lost { &kept[..kept.len() - 1] } else { kept };
        let (read, is_cut_off) = read.expect("the file is whole");
        prop_assert!(!is_cut_off);
        prop_assert_eq!(relevant(read), relevant(found(expected, fields)));
    }
}

#[test]
fn a_quote_that_never_closes_ends_the_survey() {
    let mut input = Slow(b"1,2\n3,\"4\n5,6\n");
    let found = survey(surveyor(2), &mut input, LineEnd::Lf, u64::MAX, 1 << 20);
    let (findings, is_cut_off) = found.expect("the file is whole");
    assert_eq!((findings.records, findings.lines, is_cut_off), (1, 1, true));
}

#[test]
fn behind_an_end_of_data_marker_nothing_is_looked_at() {
    let text = b"1\n2\n\\.\nx\n\n";
    for cut in 0..=text.len() {
        let start = text[..cut].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let parts = [&text[..start], &text[start..]];
        let found = parts.map(|part| {
            let mut surveyor = surveyor(1).with_end_marker(true);
            assert_eq!(surveyor.take(part, part.len().max(1), u64::MAX), Ok(part.len()));
            surveyor.into_findings()
        });
        let [first, second] = found;
        let all = merged(first, second);
        assert_eq!(
            (all.records, all.has_ended, all.columns[0].possible),
            (2, true, found_in(b"1\n2\n")),
            "cut at {start}"
        );
    }
    let mut plain = surveyor(1);
    plain.take(text, text.len(), u64::MAX).expect("there is memory");
    assert_eq!((plain.findings().records, plain.findings().has_ended), (5, false), "where there are no such markers");
}

fn found_in(text: &[u8]) -> Candidates {
    let mut surveyor = surveyor(1);
    surveyor.take(text, text.len(), u64::MAX).expect("there is memory");
    surveyor.into_findings().columns[0].possible
}
