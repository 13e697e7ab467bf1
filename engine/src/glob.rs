//! File name patterns: `*`, `?` and `[...]`, byte by byte.
//!
//! A pattern is for one part of a path, between slashes. `*` stands for any bytes, `?` for one, `[abc0-9]` for one of
//! these and `[!abc]` or `[^abc]` for one that is none of these; a `]` that comes first in brackets is one of them. A
//! `[` without its `]` stands for itself, and `\` takes its meaning from what follows. A name that begins with a dot is
//! matched by a pattern that begins with one.

/// Might the bytes be a pattern rather than a name?
pub fn is_pattern(name: &[u8]) -> bool {
    name.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// What a pattern says of a name, piece by piece; what it leaves open is left out.
pub fn fixed(text: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = vec![Vec::new()];
    for piece in Pattern::new(text).pieces {
        match piece {
            Piece::Byte(byte) => parts.last_mut().expect("there is one").push(byte),
            Piece::AnyByte | Piece::AnyBytes | Piece::OneOf(_) => parts.push(Vec::new()),
        }
    }
    parts
}

/// A name as the pattern that matches it and nothing else.
pub fn escaped(name: &[u8]) -> Vec<u8> {
    if !is_pattern(name) {
        return name.to_vec();
    }
    let mut pattern = Vec::new();
    for &byte in name {
        if matches!(byte, b'*' | b'?' | b'[' | b'\\') {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern
}

/// A pattern, taken apart.
#[derive(Clone, Debug)]
pub struct Pattern {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Byte(u8),
    AnyByte,
    AnyBytes,
    /// One of the bytes that are true here.
    OneOf(Box<[bool; 256]>),
}

impl Piece {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Piece::Byte(own) => *own == byte,
            Piece::AnyByte => true,
            Piece::AnyBytes => false,
            Piece::OneOf(set) => set[usize::from(byte)],
        }
    }
}

impl Pattern {
    /// Takes a pattern apart.
    pub fn new(mut text: &[u8]) -> Pattern {
        let mut pieces = Vec::new();
        while let Some((&byte, rest)) = text.split_first() {
            text = rest;
            pieces.push(match byte {
                b'*' => Piece::AnyBytes,
                b'?' => Piece::AnyByte,
                b'\\' if !rest.is_empty() => {
                    text = &rest[1..];
                    Piece::Byte(rest[0])
                }
                b'[' => match set(rest) {
                    Some((set, length)) => {
                        text = &rest[length..];
                        Piece::OneOf(set)
                    }
                    None => Piece::Byte(b'['),
                },
                byte => Piece::Byte(byte),
            });
        }
        Pattern { pieces }
    }

    /// Does the pattern match a name?
    pub fn matches(&self, name: &[u8]) -> bool {
        if name.first() == Some(&b'.') && !matches!(self.pieces.first(), Some(Piece::Byte(b'.'))) {
            return false;
        }
        let (mut piece, mut at) = (0, 0);
        // Where to go on if what follows the last star does not match: it takes one byte more.
        let mut retry = None;
        while at < name.len() {
            match self.pieces.get(piece) {
                Some(Piece::AnyBytes) => {
                    piece += 1;
                    retry = Some((piece, at));
                }
                Some(one) if one.takes(name[at]) => (piece, at) = (piece + 1, at + 1),
                _ => match &mut retry {
                    Some((behind, from)) => {
                        *from += 1;
                        (piece, at) = (*behind, *from);
                    }
                    None => return false,
                },
            }
        }
        self.pieces[piece..].iter().all(|piece| matches!(piece, Piece::AnyBytes))
    }
}

/// The set that stands behind a bracket, and its length with the closing one; `None` if there is no closing one.
fn set(text: &[u8]) -> Option<(Box<[bool; 256]>, usize)> {
    let negated = matches!(text.first(), Some(b'!' | b'^'));
    let mut set = Box::new([negated; 256]);
    let mut at = usize::from(negated);
    let first = at;
    loop {
        let low = *text.get(at)?;
        if low == b']' && at > first {
            return Some((set, at + 1));
        }
        let high = match text.get(at + 1..at + 3) {
            Some(&[b'-', high]) if high != b']' => {
                at += 2;
                high
            }
            _ => low,
        };
        for byte in low..=high {
            set[usize::from(byte)] = !negated;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_piece_matches_what_it_stands_for() {
        let cases: [(&str, &[&str], &[&str]); 12] = [
            ("*.csv", &["a.csv", "a.b.csv"], &["a.csv.gz", ".csv", ".a.csv", "csv", ""]),
            ("a?c", &["abc", "a.c"], &["ac", "abbc"]),
            ("[ab]", &["a", "b"], &["c", "ab", ""]),
            ("[0-9][!0-9]", &["1a", "0-"], &["11", "a1"]),
            ("[^x]*", &["a", "abc"], &["x", "xa", ""]),
            ("[]x]", &["]", "x"], &["[]x]", "a"]),
            ("[a-]", &["a", "-"], &["b"]),
            ("[ab", &["[ab"], &["a"]),
            ("**a*", &["a", "ba", "bab"], &["b", ""]),
            (".*", &[".", ".a"], &["a"]),
            ("\\*a", &["*a"], &["ba"]),
            ("2024-*-[12].csv*", &["2024-01-1.csv", "2024--2.csv.gz"], &["2024-01-3.csv", "2023-01-1.csv"]),
        ];
        for (pattern, matching, others) in cases {
            let pattern = Pattern::new(pattern.as_bytes());
            for name in matching {
                assert!(pattern.matches(name.as_bytes()), "{pattern:?} {name}");
            }
            for name in others {
                assert!(!pattern.matches(name.as_bytes()), "{pattern:?} {name}");
            }
        }
    }

    #[test]
    fn what_a_pattern_leaves_open_is_left_out() {
        let fixed = |pattern: &str| fixed(pattern.as_bytes()).concat();
        assert_eq!(fixed("trips-*-[12]?.csv"), b"trips--.csv");
        assert_eq!(fixed("*"), b"");
        assert!(Pattern::new(&escaped(b"a*b[c]?\\")).matches(b"a*b[c]?\\"));
        assert!(!Pattern::new(&escaped(b"a*b")).matches(b"axb"));
    }

    /// The same question asked plainly.
    fn plainly(pieces: &[Piece], name: &[u8]) -> bool {
        match pieces.split_first() {
            None => name.is_empty(),
            Some((Piece::AnyBytes, rest)) => (0..=name.len()).any(|taken| plainly(rest, &name[taken..])),
            Some((one, rest)) => !name.is_empty() && one.takes(name[0]) && plainly(rest, &name[1..]),
        }
    }

    proptest! {
        #[test]
        fn matching_is_what_trying_everything_finds(pattern in "[ab*?\\[\\]!-]{0,8}", name in "[ab\\[\\]!-]{0,8}") {
            let taken_apart = Pattern::new(pattern.as_bytes());
            prop_assert_eq!(taken_apart.matches(name.as_bytes()), plainly(&taken_apart.pieces, name.as_bytes()));
        }

        #[test]
        fn what_is_no_pattern_matches_itself(name in "[a-z.]{1,8}") {
            prop_assert!(!is_pattern(name.as_bytes()));
            prop_assert!(Pattern::new(name.as_bytes()).matches(name.as_bytes()));
        }
    }
}
