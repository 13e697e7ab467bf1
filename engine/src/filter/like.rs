//! LIKE: patterns of literal text, `_` for any character and `%` for any run of characters, as PostgreSQL's `MatchText`
//! matches them.
//!
//! Most patterns are literals with `%` between or around them. Those are matched a literal at a time: the first at the
//! start, the last at the end, each of the others at the first place where it occurs, since an earlier place leaves
//! more text to the rest. A pattern with `_` goes the general way: forward, and on a mismatch back to the last `%`,
//! which then takes one more character. One `%` to go back to is enough, for the same reason.
//!
//! A character is a byte or, in UTF-8, a byte and the continuation bytes behind it, which is how PostgreSQL steps. What
//! is matched need not be valid, then; the pattern must be.

use memchr::memmem;
use serde::{Deserialize, Serialize};

const ESCAPE: u8 = b'\\';

/// What a character is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Characters {
    /// One byte.
    SingleByte,
    /// UTF-8.
    Utf8,
}

impl Characters {
    /// Where the character behind the one at `position` starts: PostgreSQL's `NextChar`.
    #[inline]
    fn next(self, text: &[u8], position: usize) -> usize {
        let behind = position + 1;
        match self {
            Characters::SingleByte => behind,
            Characters::Utf8 => {
                let continuation = text[behind..].iter().take_while(|&&byte| byte & 0xC0 == 0x80);
                behind + continuation.count()
            }
        }
    }
}

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pattern(Shape);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    /// A literal alone.
    Exact(Vec<u8>),
    /// Literals with `%` between them; the first and the last may be empty.
    Literals { first: Vec<u8>, inner: Vec<Needle>, last: Vec<u8> },
    /// Anything.
    General { pieces: Vec<Piece>, characters: Characters },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Piece {
    Literal(Vec<u8>),
    /// `_`.
    One,
    /// `%`.
    Many,
}

impl Pattern {
    /// Compiles a pattern whose escape character is the backslash. `None` if it ends with an escape, which PostgreSQL
    /// refuses once matching comes to it, or if it is not valid in the encoding of its characters.
    pub fn new(pattern: &[u8], characters: Characters) -> Option<Pattern> {
        if characters == Characters::Utf8 && std::str::from_utf8(pattern).is_err() {
            return None;
        }
        let pieces = pieces(pattern)?;
        Some(Pattern(if pieces.contains(&Piece::One) {
            Shape::General { pieces, characters }
        } else {
            literals(pieces)
        }))
    }

    /// Does the text match?
    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        match &self.0 {
            Shape::Exact(literal) => text == literal,
            Shape::Literals { first, inner, last } => {
                let Some(mut rest) = without_ends(text, first, last) else { return false };
                inner.iter().all(|needle| match needle.find_end(rest) {
                    Some(end) => {
                        rest = &rest[end..];
                        true
                    }
                    None => false,
                })
            }
            Shape::General { pieces, characters } => matches_pieces(text, pieces, *characters),
        }
    }
}

/// The text between the two literals that it starts and ends with. An empty literal is not compared at all, which is
/// slow where its bytes are nowhere (see `compare_bytes`).
#[inline]
fn without_ends<'a>(text: &'a [u8], first: &[u8], last: &[u8]) -> Option<&'a [u8]> {
    let rest = if first.is_empty() { text } else { text.strip_prefix(first)? };
    if last.is_empty() { Some(rest) } else { rest.strip_suffix(last) }
}

/// Takes a pattern apart; neighbouring literals are one piece, and neighbouring `%` too.
fn pieces(pattern: &[u8]) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        let literal = match byte {
            b'_' => {
                pieces.push(Piece::One);
                continue;
            }
            b'%' => {
                if pieces.last() != Some(&Piece::Many) {
                    pieces.push(Piece::Many);
                }
                continue;
            }
            ESCAPE => bytes.next()?,
            byte => byte,
        };
        match pieces.last_mut() {
            Some(Piece::Literal(run)) => run.push(literal),
            _ => pieces.push(Piece::Literal(vec![literal])),
        }
    }
    Some(pieces)
}

/// The shape of a pattern without `_`.
fn literals(pieces: Vec<Piece>) -> Shape {
    // Split at each %, a pattern is its literals; between two pieces % there is none, since neighbours were joined.
    let mut literals = vec![Vec::new()];
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => *literals.last_mut().expect("it starts with one") = literal,
            Piece::One | Piece::Many => literals.push(Vec::new()),
        }
    }
    let last = literals.pop().expect("it starts with one");
    if literals.is_empty() {
        return Shape::Exact(last);
    }
    let first = literals.remove(0);
    Shape::Literals { first, inner: literals.into_iter().map(Needle::from).collect(), last }
}

fn matches_pieces(text: &[u8], pieces: &[Piece], characters: Characters) -> bool {
    let (mut position, mut next) = (0, 0);
    // Where to go on after a mismatch: the piece behind the last %, and the place in the text that it was tried at.
    let mut retry = None;
    loop {
        let advanced = match pieces.get(next) {
            None if position == text.len() => return true,
            None => None,
            Some(Piece::Many) => {
                if next + 1 == pieces.len() {
                    return true;
                }
                retry = Some((next + 1, position));
                Some(position)
            }
            // The end of the text is not a mismatch that a later start could mend.
            Some(_) if position == text.len() => return false,
            Some(Piece::One) => Some(characters.next(text, position)),
            Some(Piece::Literal(literal)) => text[position..].starts_with(literal).then(|| position + literal.len()),
        };
        match (advanced, &mut retry) {
            (Some(end), _) => (position, next) = (end, next + 1),
            (None, Some((piece, start))) => {
                *start = characters.next(text, *start);
                // Where a literal follows, nothing before its first byte need be tried.
                if let Piece::Literal(literal) = &pieces[*piece] {
                    let Some(skipped) = memchr::memchr(literal[0], &text[*start..]) else { return false };
                    *start += skipped;
                }
                (position, next) = (*start, *piece);
            }
            (None, None) => return false,
        }
    }
}

/// A literal to search for, with the searcher built for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<u8>", into = "Vec<u8>")]
struct Needle(memmem::Finder<'static>);

impl Needle {
    /// The end of the first occurrence.
    #[inline]
    fn find_end(&self, text: &[u8]) -> Option<usize> {
        self.0.find(text).map(|start| start + self.0.needle().len())
    }
}

impl From<Vec<u8>> for Needle {
    fn from(literal: Vec<u8>) -> Needle {
        Needle(memmem::Finder::new(&literal).into_owned())
    }
}

impl From<Needle> for Vec<u8> {
    fn from(needle: Needle) -> Vec<u8> {
        needle.0.needle().to_vec()
    }
}

impl PartialEq for Needle {
    fn eq(&self, other: &Needle) -> bool {
        self.0.needle() == other.0.needle()
    }
}
