//! The prefix-XOR scan: COPY's dialect, 64 bytes at a time, without a branch on the data.
//!
//! Where every quote toggles, a byte is inside quotes if the number of quotes up to it is odd. One carry-less multiply
//! by all ones gives that parity for 64 bytes at once; and-not then removes the delimiters and line ends inside quotes.
//! The scheme is that of Langdale and Lemire, "Parsing Gigabytes of JSON per Second" (2019); Ge et al., "Speculative
//! Distributed CSV Data Parsing" (2019) show why the parity is all there is to know.
//!
//! The parity mask covers an opening quote and not its closing one. A doubled quote closes and opens again, and since
//! nothing lies between the two, that is the same as staying inside.

use super::vector::{BLOCK, Kernel, Vector};
use super::{Block, Sink, State, node, quoted_ends};
use crate::dialect::{Dialect, LineEnd};

/// The bytes a two-valued dialect looks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needles {
    quote: Option<u8>,
    delimiter: u8,
    line_end: LineEnd,
}

impl Needles {
    /// Those of a [two-valued](crate::dialect::DialectClass::TwoValued) dialect.
    pub(super) fn new(dialect: &Dialect) -> Needles {
        Needles { quote: dialect.quote(), delimiter: dialect.delimiter()[0], line_end: dialect.line_end() }
    }

    /// The quote, if the dialect has one.
    pub(super) fn quote(self) -> Option<u8> {
        self.quote
    }
}

/// One buffer to scan.
pub(super) struct Simd<'a, S> {
    pub(super) needles: Needles,
    pub(super) state: &'a mut State,
    pub(super) buffer: &'a [u8],
    pub(super) sink: &'a mut S,
}

impl<S: Sink> Kernel for Simd<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let Simd { needles, state, buffer, sink } = self;
        let mut carry = Carry::new(state);
        let (blocks, tail) = buffer.as_chunks::<BLOCK>();
        for (i, bytes) in blocks.iter().enumerate() {
            let block = carry.block(vector, needles, bytes, BLOCK, i * BLOCK);
            sink.block(i * BLOCK, block);
        }
        if !tail.is_empty() {
            let mut bytes = [0; BLOCK];
            bytes[..tail.len()].copy_from_slice(tail);
            let offset = blocks.len() * BLOCK;
            let block = carry.block(vector, needles, &bytes, tail.len(), offset);
            sink.block(offset, block);
        }
        carry.close();
    }
}

/// What one block leaves to the next, apart from the state so that it can stay in registers.
struct Carry<'a> {
    /// All ones if the block starts inside quotes.
    inside: u64,
    /// One if the byte before the block is an unquoted carriage return of a CRLF file.
    pending_cr: u64,
    /// Whether the field open at the block's start holds a quote.
    field_quoted: bool,
    /// Physical line ends of the buffer.
    lines: u64,
    state: &'a mut State,
}

impl<'a> Carry<'a> {
    #[inline(always)]
    fn new(state: &'a mut State) -> Carry<'a> {
        Carry {
            inside: if state.node == node::INSIDE { u64::MAX } else { 0 },
            pending_cr: u64::from(state.node == node::PENDING_CR),
            field_quoted: state.field_quoted,
            lines: 0,
            state,
        }
    }

    /// Puts everything back into the state.
    #[inline(always)]
    fn close(self) {
        self.state.node = match (self.inside, self.pending_cr) {
            (0, 0) => node::RECORD_START,
            (0, _) => node::PENDING_CR,
            _ => node::INSIDE,
        };
        self.state.field_quoted = self.field_quoted;
        self.state.lines += self.lines;
    }

    /// The events of the first `length` of 64 bytes; `offset` is the block's place in the buffer.
    #[inline(always)]
    fn block<V: Vector>(
        &mut self,
        vector: V,
        needles: Needles,
        bytes: &[u8; BLOCK],
        length: usize,
        offset: usize,
    ) -> Block {
        let valid = u64::MAX >> (BLOCK - length);
        let bytes = vector.load(bytes);
        let find = |needle| vector.equal(bytes, needle) & valid;
        let line_feeds = find(b'\n');
        let carriage_returns = find(b'\r');
        let quotes = needles.quote.map_or(0, find);

        let inside = vector.prefix_xor(quotes) ^ self.inside;
        // The top bit, copied to all: past the last valid byte the parity no longer changes.
        self.inside = (inside.cast_signed() >> 63).cast_unsigned();

        let (records, inner, lines) = match needles.line_end {
            LineEnd::Lf => {
                self.note_stray(offset, carriage_returns & !inside);
                (line_feeds & !inside, line_feeds & inside, line_feeds)
            }
            LineEnd::Cr => {
                self.note_stray(offset, line_feeds & !inside);
                (carriage_returns & !inside, carriage_returns & inside, carriage_returns)
            }
            LineEnd::CrLf => {
                let records = self.pairs(offset, line_feeds & !inside, carriage_returns & !inside, length);
                (records, carriage_returns & inside, line_feeds)
            }
        };
        self.lines += u64::from(lines.count_ones());

        let ends = find(needles.delimiter) & !inside | records;
        let opens = quotes & inside;
        let quoted = quoted_ends(ends, opens, &mut self.field_quoted);
        Block { ends, records, comments: 0, quoted, opens, inner, line_feeds, carriage_returns }
    }

    /// The line feeds that complete a CRLF; the line feeds and carriage returns that stand alone are strays.
    #[inline(always)]
    fn pairs(&mut self, offset: usize, line_feeds: u64, carriage_returns: u64, length: usize) -> u64 {
        let valid = u64::MAX >> (BLOCK - length);
        let after_cr = (carriage_returns << 1 | self.pending_cr) & valid;
        self.pending_cr = carriage_returns >> (length - 1) & 1;
        let alone = line_feeds & !after_cr;
        let not_completed = after_cr & !line_feeds;
        if alone | not_completed != 0 {
            self.note_lone(offset, alone, not_completed);
        }
        line_feeds & after_cr
    }

    #[inline(always)]
    fn note_stray(&mut self, offset: usize, strays: u64) {
        if strays != 0 {
            let position = self.state.position + offset as u64 + u64::from(strays.trailing_zeros());
            self.state.note_stray(position);
        }
    }

    /// Notes the first of line feeds that stand alone and of carriage returns one byte before `not_completed`.
    #[cold]
    fn note_lone(&mut self, offset: usize, alone: u64, not_completed: u64) {
        let block = self.state.position + offset as u64;
        let first = |mask: u64| (mask != 0).then(|| block + u64::from(mask.trailing_zeros()));
        let line_feed = first(alone);
        let carriage_return = first(not_completed).map(|position| position - 1);
        if let Some(position) = line_feed.into_iter().chain(carriage_return).min() {
            self.state.note_stray(position);
        }
    }
}
