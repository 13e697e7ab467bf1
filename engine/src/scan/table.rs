//! The machine's table: what each state does with each class of byte, worked out once for a dialect.
//!
//! The rules are written as a function of a [`Node`] and a byte ([`Rules::step`]); the table holds its answer for every
//! node and every class. A *special* byte, one the dialect gives a meaning anywhere, has a class of its own; all others
//! share class 0. Two properties make the bulk skipper right, and hold by construction: no ordinary byte ends anything,
//! and after one ordinary byte more of them change nothing. So a run of ordinary bytes, however long, is one step.
//!
//! A delimiter of several bytes is matched as Knuth, Morris and Pratt do, with a node for each matched prefix.
//!
//! To add a state: a variant of `Node` with its place in [`nodes`], its arm in `step`, and its meaning in the
//! reference.

use super::State;
use crate::dialect::{Dialect, LineEnd, Quoting};

/// The numbers of the nodes that a [`State`] and the prefix-XOR scan know by name.
pub(super) mod node {
    /// At the start of a record. The prefix-XOR scan, which need not tell them apart, uses it for all outside quotes.
    pub(in crate::scan) const RECORD_START: u8 = 0;
    /// Inside quotes.
    pub(in crate::scan) const INSIDE: u8 = 1;
    /// Behind an unquoted carriage return of a CRLF file.
    pub(in crate::scan) const PENDING_CR: u8 = 2;
    /// Inside quotes, behind an escape.
    pub(in crate::scan) const INSIDE_ESCAPED: u8 = 3;
}

/// What a step reports.
pub(super) mod action {
    /// The byte ends a field; a line-end byte that does so also ends the record.
    pub(in crate::scan) const END: u8 = 1 << 0;
    /// The byte opens quoting.
    pub(in crate::scan) const OPEN: u8 = 1 << 1;
    /// The byte is a line end inside quotes that COPY counts.
    pub(in crate::scan) const INNER: u8 = 1 << 2;
    /// The byte ends a comment line.
    pub(in crate::scan) const COMMENT: u8 = 1 << 3;
    /// The byte is a stray line end.
    pub(in crate::scan) const STRAY: u8 = 1 << 4;
    /// The byte before is a stray carriage return.
    pub(in crate::scan) const STRAY_BEFORE: u8 = 1 << 5;
    /// The quoting is malformed, `back` bytes before this one.
    pub(in crate::scan) const MALFORMED: u8 = 1 << 6;
    /// Something is wrong with the ordinary bytes before this one; their own step tells what.
    pub(in crate::scan) const WRONG_BEFORE: u8 = 1 << 7;
    /// What is too rare to be worth its instructions on every byte.
    pub(in crate::scan) const RARE: u8 = COMMENT | STRAY | STRAY_BEFORE | MALFORMED | WRONG_BEFORE;
}

/// One transition.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    /// Where the next node's row starts in the table.
    pub(super) next_row: u16,
    /// For [`action::MALFORMED`].
    back: u8,
    /// A set of [`action`]s.
    pub(super) actions: u8,
}

impl Step {
    /// Notes in the state what is wrong at the absolute `position` of the byte that made the step.
    pub(super) fn note(self, state: &mut State, position: u64) {
        if self.actions & action::STRAY_BEFORE != 0 {
            state.note_stray(position - 1);
        }
        if self.actions & action::STRAY != 0 {
            state.note_stray(position);
        }
        if self.actions & action::MALFORMED != 0 {
            state.note_malformed(position - u64::from(self.back));
        }
    }
}

/// The class of all bytes without a meaning of their own.
const ORDINARY: u8 = 0;

/// Classes in a row of the table: a power of two not less than the most a dialect can have, which is a delimiter of 16
/// different bytes, quote, escape, comment, line feed, carriage return, and the ordinary class.
const CLASSES: usize = 32;

/// Columns in a row: each class, and again each class behind a run of ordinary bytes, whose step is then included.
const COLUMNS: usize = 2 * CLASSES;

/// A dialect as a table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    classes: [u8; 256],
    specials: Vec<u8>,
    steps: Vec<Step>,
    at_end: Vec<Step>,
    line_end: LineEnd,
}

impl Table {
    /// The table of a dialect.
    pub(super) fn new(dialect: &Dialect) -> Table {
        let specials = specials(dialect);
        let mut classes = [ORDINARY; 256];
        for (class, &byte) in (1..).zip(&specials) {
            classes[usize::from(byte)] = class;
        }
        let rules = Rules { dialect };
        let nodes = nodes(dialect);
        let row = |node| nodes.iter().position(|&other| other == node).expect("a step leads to a known node") * COLUMNS;
        let step = |(node, back, actions): Outcome| Step { next_row: row(node) as u16, back: back as u8, actions };
        let mut steps = vec![Step::default(); nodes.len() * COLUMNS];
        for (&node, columns) in nodes.iter().zip(steps.chunks_exact_mut(COLUMNS)) {
            let (alone, behind_ordinary) = columns.split_at_mut(CLASSES);
            let bytes = std::iter::once(None).chain(specials.iter().copied().map(Some));
            for ((alone, behind), byte) in alone.iter_mut().zip(behind_ordinary).zip(bytes) {
                *alone = step(rules.step(node, byte));
                *behind = step(rules.step_behind_ordinary(node, byte));
            }
        }
        let at_end = nodes.iter().map(|&node| step(rules.at_end(node))).collect();
        Table { classes, specials, steps, at_end, line_end: dialect.line_end() }
    }

    /// The bytes that are not ordinary.
    pub(super) fn specials(&self) -> &[u8] {
        &self.specials
    }

    /// The row of a node.
    #[inline(always)]
    pub(super) fn row(&self, node: u8) -> u16 {
        u16::from(node) * COLUMNS as u16
    }

    /// The node of a row.
    #[inline(always)]
    pub(super) fn node(&self, row: u16) -> u8 {
        (row / COLUMNS as u16) as u8
    }

    /// The column of a special byte that stands behind a run of ordinary ones or not.
    #[inline(always)]
    pub(super) fn column(&self, byte: u8, behind_ordinary: bool) -> usize {
        usize::from(self.classes[usize::from(byte)]) + CLASSES * usize::from(behind_ordinary)
    }

    /// The transition in a row and a column.
    #[inline(always)]
    pub(super) fn step(&self, row: u16, column: usize) -> Step {
        self.steps[usize::from(row) + column]
    }

    /// The transition by a run of ordinary bytes.
    #[inline(always)]
    pub(super) fn ordinary(&self, row: u16) -> Step {
        self.step(row, usize::from(ORDINARY))
    }

    /// What is wrong if the input ends in that node.
    pub(super) fn at_end(&self, node: u8) -> Step {
        self.at_end[usize::from(node)]
    }

    /// The file's line end.
    pub(super) fn line_end(&self) -> LineEnd {
        self.line_end
    }
}

/// The bytes the dialect gives a meaning, each once.
fn specials(dialect: &Dialect) -> Vec<u8> {
    let single = [dialect.quote(), dialect.escape(), dialect.comment(), Some(b'\n'), Some(b'\r')];
    let mut specials = dialect.delimiter().to_vec();
    specials.extend(single.into_iter().flatten());
    specials.sort_unstable();
    specials.dedup();
    specials
}

/// Where in a record the machine is. The number is how many bytes of the delimiter have been matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    RecordStart,
    Inside,
    PendingCr,
    InsideEscaped,
    FieldStart,
    InField(usize),
    /// Behind a closing quote, where quoting is not a toggle.
    AfterQuote(usize),
    /// Behind an escape that acts outside quotes.
    Escaped,
    Comment,
    /// Behind a carriage return in a comment of a CRLF file.
    CommentCr,
}

/// Every node, at its number; the first four are those of [`node`].
fn nodes(dialect: &Dialect) -> Vec<Node> {
    let mut nodes = vec![Node::RecordStart, Node::Inside, Node::PendingCr, Node::InsideEscaped];
    nodes.extend([Node::FieldStart, Node::Escaped, Node::Comment, Node::CommentCr]);
    let matched = 0..dialect.delimiter().len();
    nodes.extend(matched.clone().map(Node::InField));
    nodes.extend(matched.map(Node::AfterQuote));
    nodes
}

/// The next node, how many bytes back a malformed quoting lies, and the actions.
type Outcome = (Node, usize, u8);

struct Rules<'d> {
    dialect: &'d Dialect,
}

impl Rules<'_> {
    /// What `node` does with a byte; `None` is any ordinary one.
    fn step(&self, node: Node, byte: Option<u8>) -> Outcome {
        match node {
            Node::Inside => self.inside(byte),
            Node::InsideEscaped => (Node::Inside, 0, self.inner(byte)),
            Node::Escaped => (Node::InField(0), 0, 0),
            Node::Comment | Node::CommentCr => self.comment(node, byte),
            Node::PendingCr if byte == Some(b'\n') => (Node::RecordStart, 0, action::END),
            Node::PendingCr => {
                let (next, back, actions) = self.outside(Node::InField(0), byte);
                (next, back, actions | action::STRAY_BEFORE)
            }
            Node::RecordStart | Node::FieldStart | Node::InField(_) | Node::AfterQuote(_) => self.outside(node, byte),
        }
    }

    /// What `node` does with a run of ordinary bytes and a special one.
    fn step_behind_ordinary(&self, node: Node, byte: Option<u8>) -> Outcome {
        let (between, _, wrong) = self.step(node, None);
        let (next, back, actions) = self.step(between, byte);
        (next, back, actions | if wrong == 0 { 0 } else { action::WRONG_BEFORE })
    }

    /// What is wrong if the input ends here.
    fn at_end(&self, node: Node) -> Outcome {
        match node {
            Node::PendingCr => (node, 0, action::STRAY_BEFORE),
            Node::AfterQuote(matched @ 1..) => (node, matched, self.malformed()),
            _ => (node, 0, 0),
        }
    }

    fn inside(&self, byte: Option<u8>) -> Outcome {
        let is = |special: Option<u8>| byte.is_some() && byte == special;
        if is(self.dialect.escape()) && !self.dialect.doubles_quotes() {
            (Node::InsideEscaped, 0, self.inner(byte))
        } else if !is(self.dialect.quote()) {
            (Node::Inside, 0, self.inner(byte))
        } else if self.dialect.quoting() != Quoting::Toggle {
            (Node::AfterQuote(0), 0, 0)
        } else {
            // COPY's quote may be a line-end byte, and then its closing quote is also a line end.
            self.line_end(byte).unwrap_or((Node::InField(0), 0, 0))
        }
    }

    fn outside(&self, node: Node, byte: Option<u8>) -> Outcome {
        let is = |special: Option<u8>| byte.is_some() && byte == special;
        if node == Node::RecordStart && is(self.dialect.comment()) {
            return (Node::Comment, 0, 0);
        }
        if is(self.dialect.quote()) {
            return self.quote_outside(node, byte);
        }
        if let Some((next, _, actions)) = self.line_end(byte) {
            return match node {
                Node::AfterQuote(matched @ 1..) => (next, matched, actions | self.malformed()),
                _ => (next, 0, actions),
            };
        }
        if self.dialect.quote().is_none() && is(self.dialect.escape()) {
            return (Node::Escaped, 0, 0);
        }
        let length = self.dialect.delimiter().len();
        match node {
            Node::AfterQuote(matched) => match self.advance(matched, byte) {
                next if next == length => (Node::FieldStart, 0, action::END),
                next if next == matched + 1 => (Node::AfterQuote(next), 0, 0),
                next => (Node::InField(next), matched, self.malformed()),
            },
            Node::InField(matched) => self.in_field(self.advance(matched, byte)),
            _ => self.in_field(self.advance(0, byte)),
        }
    }

    fn in_field(&self, matched: usize) -> Outcome {
        if matched == self.dialect.delimiter().len() {
            (Node::FieldStart, 0, action::END)
        } else {
            (Node::InField(matched), 0, 0)
        }
    }

    fn quote_outside(&self, node: Node, byte: Option<u8>) -> Outcome {
        let at_start = matches!(node, Node::RecordStart | Node::FieldStart);
        match (self.dialect.quoting(), node) {
            (Quoting::Toggle, _) => (Node::Inside, 0, action::OPEN | self.inner(byte)),
            _ if at_start => (Node::Inside, 0, action::OPEN),
            (_, Node::AfterQuote(0)) if self.dialect.doubles_quotes() => (Node::Inside, 0, 0),
            (_, Node::AfterQuote(matched)) => (Node::InField(0), matched, self.malformed()),
            _ => (Node::InField(0), 0, self.malformed()),
        }
    }

    /// What a line-end byte outside quotes does; `None` if the byte is none.
    fn line_end(&self, byte: Option<u8>) -> Option<Outcome> {
        let ends = (Node::RecordStart, 0, action::END);
        let stray = (Node::InField(0), 0, action::STRAY);
        match (byte?, self.dialect.line_end()) {
            (b'\n', LineEnd::Lf) | (b'\r', LineEnd::Cr) => Some(ends),
            (b'\r', LineEnd::CrLf) => Some((Node::PendingCr, 0, 0)),
            (b'\n' | b'\r', _) => Some(stray),
            _ => None,
        }
    }

    fn comment(&self, node: Node, byte: Option<u8>) -> Outcome {
        let ends = (Node::RecordStart, 0, action::END | action::COMMENT);
        match (node, byte, self.dialect.line_end()) {
            (_, Some(b'\n'), LineEnd::Lf) | (_, Some(b'\r'), LineEnd::Cr) => ends,
            (Node::CommentCr, Some(b'\n'), LineEnd::CrLf) => ends,
            (_, Some(b'\r'), LineEnd::CrLf) => (Node::CommentCr, 0, 0),
            _ => (Node::Comment, 0, 0),
        }
    }

    /// How many bytes of the delimiter are matched after `byte`, if `matched` were before it.
    fn advance(&self, matched: usize, byte: Option<u8>) -> usize {
        let Some(byte) = byte else { return 0 };
        let delimiter = self.dialect.delimiter();
        let mut seen = delimiter[..matched].to_vec();
        seen.push(byte);
        (0..=seen.len()).rev().find(|&length| seen.ends_with(&delimiter[..length])).unwrap_or(0)
    }

    /// [`action::INNER`] if the byte, inside quotes, is one COPY counts.
    fn inner(&self, byte: Option<u8>) -> u8 {
        if byte == Some(self.dialect.line_end().copy_byte()) { action::INNER } else { 0 }
    }

    /// [`action::MALFORMED`] if the dialect cares.
    fn malformed(&self) -> u8 {
        if self.dialect.quoting() == Quoting::Strict { action::MALFORMED } else { 0 }
    }
}
