//! The structure scan: where fields and records end.
//!
//! Every implementation gives the same events, in the same form: for each 64 bytes of a buffer one [`Block`] of bit
//! masks, handed in order to a [`Sink`]. Masks rather than positions, because they are what the fast scan has at hand
//! and what can be counted, combined and skipped 64 bytes at a time; [`Boundaries`] is the sink that writes positions
//! out of them. Sinks are generic, so they are compiled into the scan's own loop, for its instruction set.
//!
//! * `reference`: one byte at a time, every dialect, written to be obviously right. It is the specification.
//! * `simd`: the prefix-XOR scan, for dialects where the parity of quotes decides ([`DialectClass::TwoValued`]).
//! * `machine`, on a table made by `table`: every dialect.
//! * `vector` and one file for each instruction set: the primitives under both; `level` picks one at run time.
//! * `style`: finds out a file's line end.
//!
//! A buffer may be cut off anywhere: between a carriage return and its line feed, inside a delimiter, after an escape.
//! [`State`] carries what the next buffer needs, and the absolute position, so that events can be placed in the file.
//!
//! What is an error in a file does not stop a scan: the first stray line end and the first malformed quote are noted in
//! the state, by absolute position, and their bytes are data. Whoever scans decides what to do about them.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod boundaries;
mod level;
mod machine;
mod parity;
mod portable;
pub mod reference;
mod simd;
#[cfg(target_arch = "x86_64")]
mod sse2;
mod style;
mod table;
mod vector;

pub use boundaries::{Boundaries, COMMENT, QUOTED};
pub use level::{Level, LevelError};
pub use style::LineEndFinder;

use crate::dialect::{Dialect, DialectClass};
use machine::Machine;
use parity::Parity;
use simd::{Needles, Simd};
use table::{Table, node};

/// The events of 64 bytes: bit `i` of a mask stands for byte `i` of the block. Bits past the buffer's end are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The last byte of each delimiter and of each line end that ends a field. The field's content ends before the
    /// delimiter's or line end's first byte, which is `dialect.delimiter().len() - 1` or one byte (CRLF) earlier.
    pub ends: u64,
    /// Those of `ends` that are line ends and so end a record (or a comment line).
    pub records: u64,
    /// Those of `records` that end a comment line, which is no record.
    pub comments: u64,
    /// Those of `ends` whose field holds a quote that opens quoting: it must be unquoted.
    pub quoted: u64,
    /// Quotes that open quoting.
    pub opens: u64,
    /// Bytes inside quotes that COPY counts as one more line: line feeds in a file of LF, carriage returns in others.
    pub inner: u64,
    /// All line feeds, quoted or not.
    pub line_feeds: u64,
    /// All carriage returns, quoted or not.
    pub carriage_returns: u64,
}

/// What takes a scan's events. Implement the methods `#[inline(always)]`.
pub trait Sink {
    /// A buffer of `length` bytes that starts at absolute byte `position` is about to be scanned.
    fn begin(&mut self, position: u64, length: usize) {
        let _ = (position, length);
    }

    /// The events of the block whose first byte is at `offset` in the buffer, a multiple of 64. Every block of the
    /// buffer is handed over, in order.
    fn block(&mut self, offset: usize, block: Block);
}

/// What a scan knows between two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    position: u64,
    lines: u64,
    node: u8,
    field_quoted: bool,
    stray: Option<u64>,
    malformed: Option<u64>,
}

impl State {
    /// The state at the start of a record that begins at absolute byte `position`.
    pub fn at_record(position: u64) -> State {
        State { position, lines: 0, node: node::RECORD_START, field_quoted: false, stray: None, malformed: None }
    }

    /// The state inside the quotes of a field, at absolute byte `position`.
    pub fn inside_quotes(position: u64) -> State {
        State { node: node::INSIDE, field_quoted: true, ..State::at_record(position) }
    }

    /// The absolute position of the next byte to scan.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Physical line ends seen since the state was made, quoted or not.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Whether the next byte is inside quotes.
    pub fn in_quotes(&self) -> bool {
        self.node == node::INSIDE || self.node == node::INSIDE_ESCAPED
    }

    /// The position of the first unquoted carriage return or line feed that is no line end in this file's style. COPY
    /// raises an error there; the scan takes it as data. A carriage return at the end of all input counts only after
    /// [`Scanner::finish`].
    pub fn stray(&self) -> Option<u64> {
        self.stray
    }

    /// Under [`Strict`](crate::dialect::Quoting::Strict), the position of the first byte that may not stand where it
    /// does: one that follows a closing quote, or a quote inside an unquoted field. The scan takes it as data.
    pub fn malformed(&self) -> Option<u64> {
        self.malformed
    }

    #[cold]
    fn note_stray(&mut self, position: u64) {
        self.stray.get_or_insert(position);
    }

    #[cold]
    fn note_malformed(&mut self, position: u64) {
        self.malformed.get_or_insert(position);
    }
}

/// Which of `ends` close a field with a quote in it; `field_quoted` is whether the field open at the block's start has
/// one, and becomes whether the field open at its end has.
///
/// Adding the opening quotes to the mask of all bytes that end no field makes a carry run from each quote up to the end
/// of its field, where the addend is 0 and the carry stays.
#[inline(always)]
fn quoted_ends(ends: u64, opens: u64, field_quoted: &mut bool) -> u64 {
    let (sum, carry) = (!ends).carrying_add(opens, *field_quoted);
    *field_quoted = carry;
    sum & ends
}

/// A scan, made ready for a dialect and an instruction set.
#[derive(Clone, Debug)]
pub struct Scanner {
    level: Level,
    route: Route,
}

#[derive(Clone, Debug)]
enum Route {
    Simd(Needles),
    Machine(Box<Table>),
}

impl Scanner {
    /// The fastest scan for the dialect.
    pub fn new(dialect: &Dialect, level: Level) -> Scanner {
        match dialect.class() {
            DialectClass::TwoValued => Scanner { level, route: Route::Simd(Needles::new(dialect)) },
            DialectClass::Machine => Scanner::machine(dialect, level),
        }
    }

    /// The table-driven machine, also where the dialect would allow the prefix-XOR scan: for tests and benchmarks.
    pub fn machine(dialect: &Dialect, level: Level) -> Scanner {
        Scanner { level, route: Route::Machine(Box::new(Table::new(dialect))) }
    }

    /// Scans a buffer, handing its events to `sink` and moving `state` to the buffer's end.
    pub fn scan<S: Sink>(&self, state: &mut State, buffer: &[u8], sink: &mut S) {
        sink.begin(state.position, buffer.len());
        match &self.route {
            Route::Simd(needles) => self.level.run(Simd { needles: *needles, state, buffer, sink }),
            Route::Machine(table) => self.level.run(Machine { table, state, buffer, sink }),
        }
        state.position += buffer.len() as u64;
    }

    /// Whether the number of quotes in `buffer` is odd: where the dialect is
    /// [two-valued](DialectClass::TwoValued), a buffer that starts outside quotes then ends inside, and the other way
    /// round.
    ///
    /// # Panics
    /// If the scan is the table-driven machine, whose states are more than two.
    pub fn quotes_are_odd(&self, buffer: &[u8]) -> bool {
        match &self.route {
            Route::Simd(needles) => needles.quote().is_some_and(|quote| self.level.run(Parity { quote, buffer })),
            Route::Machine(_) => panic!("the parity of quotes decides only in a two-valued dialect"),
        }
    }

    /// Whether two states are all there is between two buffers, so that [`Scanner::quotes_are_odd`] tells the next.
    pub fn is_two_valued(&self) -> bool {
        matches!(self.route, Route::Simd(_))
    }

    /// Tells the state that the input ends here: a carriage return or a delimiter that was never completed is noted.
    pub fn finish(&self, state: &mut State) {
        match &self.route {
            Route::Simd(_) if state.node == node::PENDING_CR => state.note_stray(state.position - 1),
            Route::Simd(_) => {}
            Route::Machine(table) => table.at_end(state.node).note(state, state.position),
        }
    }
}
