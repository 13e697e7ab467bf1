//! The table-driven machine: every dialect, stepping from special byte to special byte.
//!
//! The state of a dialect with escapes, comments or strict quotes is no parity, so it has to be walked through. What is
//! bulk work stays bulk: the bytes with any meaning are found 64 at a time by the level's comparisons, and what lies
//! between two of them is one step of the table, whatever its length (see [`super::table`]). So the cost is that of
//! the special bytes, not of all bytes.

use super::table::{Step, Table, action};
use super::vector::{BLOCK, Kernel, Vector};
use super::{Block, Sink, State, quoted_ends};

/// One buffer to scan.
pub(super) struct Machine<'a, S> {
    pub(super) table: &'a Table,
    pub(super) state: &'a mut State,
    pub(super) buffer: &'a [u8],
    pub(super) sink: &'a mut S,
}

impl<S: Sink> Kernel for Machine<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let Machine { table, state, buffer, sink } = self;
        let (blocks, tail) = buffer.as_chunks::<BLOCK>();
        for (i, bytes) in blocks.iter().enumerate() {
            let block = walk(vector, table, state, bytes, BLOCK, i * BLOCK);
            sink.block(i * BLOCK, block);
        }
        if !tail.is_empty() {
            let mut bytes = [0; BLOCK];
            bytes[..tail.len()].copy_from_slice(tail);
            let offset = blocks.len() * BLOCK;
            let block = walk(vector, table, state, &bytes, tail.len(), offset);
            sink.block(offset, block);
        }
    }
}

/// The events of the first `length` of 64 bytes; `offset` is the block's place in the buffer.
#[inline(always)]
fn walk<V: Vector>(
    vector: V,
    table: &Table,
    state: &mut State,
    bytes: &[u8; BLOCK],
    length: usize,
    offset: usize,
) -> Block {
    let valid = u64::MAX >> (BLOCK - length);
    let loaded = vector.load(bytes);
    let line_feeds = vector.equal(loaded, b'\n') & valid;
    let carriage_returns = vector.equal(loaded, b'\r') & valid;
    let mut specials = vector.any(loaded, table.specials()) & valid;

    let position = state.position + offset as u64;
    let mut row = table.row(state.node);
    let mut block = Block { line_feeds, carriage_returns, ..Block::default() };
    let mut done = 0;
    while specials != 0 {
        let at = specials.trailing_zeros() as usize % BLOCK;
        specials &= specials - 1;
        let step = table.step(row, table.column(bytes[at], at > done));
        let bit = |action: u8| u64::from(step.actions & action != 0) << at;
        block.ends |= bit(action::END);
        block.opens |= bit(action::OPEN);
        block.inner |= bit(action::INNER);
        if step.actions & action::RARE != 0 {
            block.comments |= bit(action::COMMENT);
            note(step, table.ordinary(row), state, position + at as u64, position + done as u64);
        }
        row = step.next_row;
        done = at + 1;
    }
    if done < length {
        let step = table.ordinary(row);
        step.note(state, position + done as u64);
        row = step.next_row;
    }
    state.node = table.node(row);

    let lines = if table.line_end().line_byte() == b'\n' { line_feeds } else { carriage_returns };
    state.lines += u64::from(lines.count_ones());
    block.records = block.ends & (line_feeds | carriage_returns);
    block.quoted = quoted_ends(block.ends, block.opens, &mut state.field_quoted);
    block
}

/// Notes what is wrong with a special byte at the absolute position `at`, and with the ordinary ones from `done` on.
#[cold]
fn note(step: Step, ordinary: Step, state: &mut State, at: u64, done: u64) {
    if step.actions & action::WRONG_BEFORE != 0 {
        ordinary.note(state, done);
    }
    step.note(state, at);
}
