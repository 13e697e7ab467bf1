//! Files of shapes that are hard on a reader who starts anywhere.

use fastcsv_engine::convert::{Kind, Settings};
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::job::{Attribute, Encoding, Field, Input, Job, Layout, Output, Syntax, Target};
use fastcsv_engine::ring::Geometry;
use fastcsv_engine::scan::Level;

use crate::check;
use crate::harness::Pace;

const SMALL: Geometry = Geometry { tickets: 4, blocks: 8, kept: 1, block_size: 64 };
const LARGE: Geometry = Geometry { tickets: 256, blocks: 16, kept: 1, block_size: 4096 };

/// A job over so many columns of text.
pub fn job(columns: usize, line_end: LineEnd, range_size: u64) -> Job {
    let text = Attribute { length: None, align: 4, packable: true };
    let target =
        |attribute| Target { attribute, kind: Some(Kind::Text), force_not_null: false, force_null: attribute % 2 == 1 };
    Job {
        syntax: Syntax {
            delimiter: b',',
            quote: b'"',
            escape: b'"',
            line_end,
            null: vec![],
            default: None,
            has_end_marker: true,
        },
        input: Input::File { start: 0, size: 0, range_size, io: fastcsv_engine::job::Io::Pread },
        encoding: Encoding::Utf8,
        fields: (0..columns).map(|column| Field { target: Some(target(column)) }).collect(),
        layout: Layout { attributes: vec![text; columns], type_id: 2249, type_modifier: -1, constants: vec![] },
        filter: None,
        output: Output::Rows,
        settings: Settings::default(),
        text: 0,
        threads: 2,
        longest_record: 1 << 20,
        level: None,
    }
}

/// The job with another escape, which takes it to the table-driven machine and its guesses.
fn with_backslash(mut job: Job) -> Job {
    job.syntax.escape = b'\\';
    job.syntax.has_end_marker = false;
    job
}

fn count(mut job: Job) -> Job {
    job.output = Output::Count;
    job.fields.iter_mut().for_each(|field| field.target = None);
    job
}

/// Every job over the same text: with quotes alone and with an escape, as rows, with their places, and counted.
fn every_way(job: &Job) -> Vec<Job> {
    let placed = Job { output: Output::PlacedRows, ..job.clone() };
    let all = [job.clone(), placed, count(job.clone())];
    all.iter().flat_map(|job| [job.clone(), with_backslash(job.clone())]).collect()
}

#[test]
fn every_range_size_gives_the_same_rows_at_every_level_with_every_line_end() {
    let text = "a,\"b\nc\"\r\"d\"\"\",e\n\"\",\n,\"\n\"\n\"x,\ny\n\",\"\"\"\n\"\"\"\n\\\",\\\"\n\n\"é\",\u{20ac}\n\"\n\n\n\n\",q\n";
    for line_end in LineEnd::ALL {
        // What is unquoted in a file of LF is a stray line end in the others and the other way round, so each has its
        // own.
        let line_end_text = std::str::from_utf8(line_end.bytes()).unwrap();
        let text = text.replace('\r', ",").replace('\n', line_end_text);
        for level in Level::available() {
            for range_size in 1..=text.len() as u64 {
                for job in every_way(&job(2, line_end, range_size)) {
                    check(Job { level: Some(level.name().into()), ..job }, text.as_bytes(), LARGE, Pace::Prompt);
                }
            }
        }
    }
}

#[test]
fn every_number_of_bytes_of_a_file_is_read_to_its_end() {
    let text = b"a,\"b\n\n\"\n\"\"\"c\",d\n\\.\n1,2\n\"x\",\\.\ny,\"z\"";
    for end in 1..=text.len() {
        for range_size in [1, 2, 3, 7] {
            for job in every_way(&job(2, LineEnd::Lf, range_size)) {
                check(job, &text[..end], SMALL, Pace::Prompt);
            }
        }
    }
}

#[test]
fn a_read_starts_at_any_record() {
    let text = b"head\n\"er\n\",x\n1,2\n\"3\n\",4\n5,\"6\"\n";
    for start in [0, 5, 14, 18, 25] {
        for range_size in 1..20 {
            for mut job in every_way(&job(2, LineEnd::Lf, range_size)) {
                job.input = Input::File { start, size: 0, range_size, io: fastcsv_engine::job::Io::Pread };
                check(job, text, SMALL, Pace::Prompt);
            }
        }
    }
}

#[test]
fn a_record_is_longer_than_a_block_than_a_range_and_than_many_ranges() {
    for length in [50, 63, 64, 65, 500, 4096, 70_000] {
        let field = "line\nof \"\"text\"\"\n".repeat(length / 10);
        let text = format!("1,a\n2,\"{field}\"\n3,c\n\"{field}\",4\n5,d\n").into_bytes();
        for (range_size, geometry) in [(100, LARGE), (text.len() as u64 / 7, SMALL), (1 << 20, LARGE)] {
            let range_size = range_size.max(text.len() as u64 / 300);
            for job in every_way(&job(2, LineEnd::Lf, range_size)) {
                check(job, &text, geometry, Pace::Prompt);
            }
        }
    }
}

#[test]
fn a_record_that_is_too_long_to_be_parsed_is_an_anomaly_and_those_behind_it_are_rows() {
    let field = "line\nof text\n".repeat(10_000);
    let text = format!("1,a\n2,b\n3,\"{field}\"\n4,c\n5,\"{field}\"\n6,d\n7,\"e\n\"\n").into_bytes();
    for range_size in [1000, 5000, 1 << 20] {
        for job in every_way(&job(2, LineEnd::Lf, range_size)) {
            check(Job { longest_record: 60_000, ..job }, &text, LARGE, Pace::Prompt);
        }
    }
}

#[test]
fn a_quote_that_is_never_closed_is_an_anomaly_at_its_record() {
    let rest = "x,y\n".repeat(15_000);
    let text = format!("1,a\n2,\"b\n{rest}").into_bytes();
    for range_size in [500, 1 << 20] {
        for job in every_way(&job(2, LineEnd::Lf, range_size)) {
            for longest_record in [100, 1 << 20] {
                check(Job { longest_record, ..job.clone() }, &text, LARGE, Pace::Prompt);
            }
        }
    }
}

#[test]
fn empty_lines_are_rows_of_one_column() {
    for line_end in LineEnd::ALL {
        let text = line_end.bytes().repeat(3000);
        for (range_size, threads) in [(7, 3), (64, 4), (1000, 2), (1 << 20, 1)] {
            for job in every_way(&job(1, line_end, range_size)) {
                check(Job { threads, ..job }, &text, SMALL, Pace::Prompt);
            }
        }
    }
}

#[test]
fn a_file_has_ten_thousand_columns() {
    let columns = 10_000;
    let fields = |start: usize| (start..start + columns).map(|number| (number % 7).to_string()).collect::<Vec<_>>();
    let quoted = vec!["\"\n\""; columns].join(",");
    let records = [fields(0).join(","), quoted, fields(3).join(","), ",".repeat(columns - 1), "short".into()];
    let text = records.join("\n").into_bytes();
    for range_size in [1000, 30_000, 1 << 20] {
        for job in every_way(&job(columns, LineEnd::Lf, range_size)) {
            check(job, &text, LARGE, Pace::Prompt);
        }
    }
}

#[test]
fn a_chunk_that_ends_among_the_line_ends_of_a_cr_file_counts_the_quoted_ones() {
    // One quoted line end for each record whose end is too near to the chunk's to be taken.
    let text = |quoted: usize| {
        let records = (0..8_000).map(|number| match number {
            100 => "\"\r\",b\r".repeat(quoted),
            _ => "a,b\r".to_owned(),
        });
        records.collect::<String>().into_bytes()
    };
    for quoted in 1..4 {
        for range_size in 1000..1008 {
            let job = job(2, LineEnd::Cr, range_size);
            check(Job { output: Output::PlacedRows, ..job }, &text(quoted), LARGE, Pace::Prompt);
        }
    }
}

#[test]
fn a_byte_that_is_no_character_is_an_anomaly_at_its_record_or_before_it_where_copy_looks_ahead() {
    for line_end in LineEnd::ALL {
        let end = std::str::from_utf8(line_end.bytes()).unwrap();
        for bad in [&b"\xff"[..], b"\0", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\x80"] {
            for place in [0, 1, 3, 6, 9, 10, 11, 13, usize::MAX] {
                let mut text = format!("é,b{end}c,dé{end}€,f{end}").into_bytes();
                let place = place.min(text.len());
                text.splice(place..place, bad.iter().copied());
                for range_size in [1, 5, 100] {
                    for job in every_way(&job(2, line_end, range_size)) {
                        check(job, &text, SMALL, Pace::Prompt);
                    }
                }
            }
        }
    }
}

#[test]
fn a_bad_byte_behind_a_chunk_of_a_cr_file_is_seen_from_the_record_before_it() {
    // The first chunk is 128 KiB, so one of these bytes is the first that is not in it.
    let text = b"abc\r".repeat(40_000);
    for place in [131_068, 131_072, 131_074, 131_076] {
        let mut text = text.clone();
        text[place] = 0xff;
        let job = job(1, LineEnd::Cr, 1 << 20);
        for job in [job.clone(), count(job)] {
            let job = Job { syntax: Syntax { has_end_marker: false, ..job.syntax }, ..job };
            check(job, &text, LARGE, Pace::Prompt);
        }
    }
}
