//! A trail beside a parser knows what a walk through the whole input knows.

mod common;

use std::io::{self, Read};

use common::csv_like;
use fastcsv_engine::dialect::{Dialect, LineEnd};
use fastcsv_engine::locate::{Checkpoint, Located, locate};
use fastcsv_engine::pipeline::ReadAt;
use fastcsv_engine::scan::Level;
use fastcsv_engine::trail::Trail;
use fastcsv_engine::walk::Walker;
use proptest::prelude::*;

struct Memory<'b>(&'b [u8]);

impl ReadAt for Memory<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (&self.0[self.0.len().min(offset as usize)..]).read(buffer)
    }
}

fn dialect() -> Dialect {
    Dialect::copy_csv(LineEnd::Lf)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn places_and_rests_are_those_of_the_whole(content in csv_like(300), piece in 1_usize..100, number in 1_u64..40) {
        let size = content.len() as u64;
        let mut walker = Walker::new(&dialect(), Level::detect(), Checkpoint::START, size);
        let mut trail = Trail::new(&dialect(), Level::detect(), Checkpoint::START, usize::MAX);
        let mut pushed = 0;
        while walker.step(&Memory(&content)).unwrap() {
            // The parser has looked at the record's last byte, and at one more.
            while pushed < content.len() && pushed < walker.at().byte as usize + 1 {
                let next = content.len().min(pushed + piece);
                trail.push(&content[pushed..next]);
                pushed = next;
            }
            trail.step();
            prop_assert_eq!(trail.at(), Some(walker.at()));
            prop_assert_eq!(trail.rest(), Some(&content[walker.at().byte as usize..pushed]));
        }
        let mut trail = Trail::new(&dialect(), Level::detect(), Checkpoint::START, usize::MAX);
        trail.push(&content);
        let whole = locate(&mut &content[..], &dialect(), Checkpoint::START, number, &mut || true).unwrap();
        let whole = if let Located::Found(place) = whole { Some(place) } else { None };
        prop_assert_eq!(trail.place(number), whole);
    }
}

#[test]
fn of_a_record_that_is_too_long_the_start_is_known_and_behind_it_nothing() {
    let mut trail = Trail::new(&dialect(), Level::detect(), Checkpoint::START, 100);
    trail.push(b"a,b\n");
    trail.step();
    for _ in 0..20 {
        trail.push(b"xxxxxxxxxx");
    }
    assert_eq!(trail.rest(), None);
    let place = trail.place(2).unwrap();
    assert_eq!((place.line, place.record, place.byte), (2, 2, 4));
    trail.push(b"\n");
    trail.step();
    assert_eq!((trail.at(), trail.place(3)), (None, None));
}

#[test]
fn taken_records_are_cleared_away() {
    let mut trail = Trail::new(&dialect(), Level::detect(), Checkpoint::START, 1000);
    let record = [b'x'; 99];
    for record_number in 0..10_000_u64 {
        trail.push(&record);
        trail.push(b"\n");
        trail.step();
        assert_eq!(trail.at().map(|at| at.byte), Some((record_number + 1) * 100));
    }
}
