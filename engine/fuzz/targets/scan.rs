//! Every structure scan gives the reference's events, whatever the bytes and wherever they are cut.
//!
//! The first bytes of an input choose dialect, starting state and cuts; the rest is the text.
#![no_main]

use std::sync::LazyLock;

use fastcsv_engine::dialect::{Dialect, DialectClass, LineEnd, Quoting};
use fastcsv_engine::scan::reference::{Outline, outline};
use fastcsv_engine::scan::{Level, Scanner, State};
use libfuzzer_sys::fuzz_target;

/// Dialects of every class, each with its scans on this machine.
static DIALECTS: LazyLock<Vec<(Dialect, Vec<Scanner>)>> = LazyLock::new(|| {
    let copy = Dialect::builder;
    let kinds = [
        copy(),
        copy().quote(None),
        copy().escape(Some(b'\\')),
        copy().delimiter(b"||"),
        copy().comment(Some(b'#')),
        copy().quoting(Quoting::Strict).escape(Some(b'\\')),
        copy().quoting(Quoting::Literal).delimiter(b"ab"),
    ];
    let each_line_end = kinds.into_iter().flat_map(|kind| LineEnd::ALL.map(|end| kind.clone().line_end(end)));
    each_line_end
        .map(|kind| {
            let dialect = kind.build().expect("a valid dialect");
            let machines = Level::available().into_iter().map(|level| Scanner::machine(&dialect, level));
            let is_two_valued = dialect.class() == DialectClass::TwoValued;
            let parities = Level::available().into_iter().filter(|_| is_two_valued).map(|level| Scanner::new(&dialect, level));
            let scanners = machines.chain(parities).collect();
            (dialect, scanners)
        })
        .collect()
});

fuzz_target!(|input: &[u8]| {
    let [kind, size, text @ ..] = input else { return };
    let (dialect, scanners) = &DIALECTS[usize::from(kind >> 1) % DIALECTS.len()];
    let inside = kind & 1 == 1 && dialect.quote().is_some();
    let expected = outline(dialect, inside, text);
    for scanner in scanners {
        let mut state = if inside { State::inside_quotes(0) } else { State::at_record(0) };
        let mut found = Outline::default();
        for piece in text.chunks(usize::from(*size) + 1) {
            scanner.scan(&mut state, piece, &mut found);
        }
        scanner.finish(&mut state);
        assert_eq!(found.closed_by(&state), expected, "{dialect:?}, inside quotes: {inside}");
    }
});
