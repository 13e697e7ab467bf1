//! Names that are meant to be the same: a header's, and a table's columns'.

/// What a name of the header is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The column of that number, 0-based.
    Column(usize),
    /// None of the columns.
    Nothing,
}

/// What cannot be decided about a header's names, numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// The name is that of several columns but for upper and lower case, and of none exactly.
    Ambiguous(usize),
    /// Two names are that of one column, and none of the two (or both) exactly.
    Twice(usize, usize),
}

/// Which column each name of a header is: the one of exactly that name, or else the only one whose name is the same
/// when both are folded. Blanks around a name count only where a column has them. Where two names are one column's, the
/// exact one is.
///
/// # Errors
/// What cannot be decided.
pub fn columns_of(
    header: &[Vec<u8>],
    columns: &[Vec<u8>],
    fold: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<Vec<Named>, Undecided> {
    let folded: Vec<Vec<u8>> = columns.iter().map(|column| fold(column)).collect();
    let mut owners: Vec<Option<(usize, bool)>> = vec![None; columns.len()];
    let mut found = vec![Named::Nothing; header.len()];
    for (number, name) in header.iter().enumerate() {
        let trimmed = name.trim_ascii();
        let exact = columns.iter().position(|column| column == name);
        let exact = exact.or_else(|| columns.iter().position(|column| column == trimmed));
        let column = match exact {
            Some(column) => column,
            None => {
                let name = fold(trimmed);
                let mut alike = (0..columns.len()).filter(|&column| folded[column] == name);
                match (alike.next(), alike.next()) {
                    (None, _) => continue,
                    (Some(column), None) => column,
                    (Some(_), Some(_)) => return Err(Undecided::Ambiguous(number)),
                }
            }
        };
        match owners[column] {
            Some((owner, is_exact)) if is_exact == exact.is_some() => return Err(Undecided::Twice(owner, number)),
            Some((_, true)) => {}
            before => {
                if let Some((owner, _)) = before {
                    found[owner] = Named::Nothing;
                }
                owners[column] = Some((number, exact.is_some()));
                found[number] = Named::Column(column);
            }
        }
    }
    Ok(found)
}

/// The column whose name takes the fewest changes of a byte, up to half of its bytes; `None` if there is none so near.
pub fn nearest<'c>(name: &[u8], columns: &'c [Vec<u8>], fold: impl Fn(&[u8]) -> Vec<u8>) -> Option<&'c Vec<u8>> {
    let name = fold(name.trim_ascii());
    let distances = columns.iter().map(|column| (distance(&name, &fold(column)), column));
    let (distance, column) = distances.min_by_key(|(distance, _)| *distance)?;
    (2 * distance <= name.len().min(column.len())).then_some(column)
}

/// How many bytes must be added, removed or changed to make one text the other.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, byte) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], place + 1);
        for (at, other_byte) in other.iter().enumerate() {
            let changed = diagonal + usize::from(byte != other_byte);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(names: &[&str]) -> Vec<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    fn found(header: &[&str], columns: &[&str]) -> Result<Vec<Named>, Undecided> {
        columns_of(&lists(header), &lists(columns), <[u8]>::to_ascii_lowercase)
    }

    use Named::{Column, Nothing};

    #[test]
    fn names_are_found_in_any_order_and_case() {
        assert_eq!(found(&["b", "A", "x"], &["a", "b", "c"]), Ok(vec![Column(1), Column(0), Nothing]));
        assert_eq!(found(&[" a ", ""], &["a"]), Ok(vec![Column(0), Nothing]));
        assert_eq!(found(&[], &["a"]), Ok(vec![]));
        assert_eq!(found(&[" a"], &["a", " a"]), Ok(vec![Column(1)]));
    }

    #[test]
    fn an_exact_name_goes_before_one_in_other_case() {
        assert_eq!(found(&["ID", "id"], &["id"]), Ok(vec![Nothing, Column(0)]));
        assert_eq!(found(&["id", "ID"], &["id"]), Ok(vec![Column(0), Nothing]));
        assert_eq!(found(&["ID", "id"], &["id", "ID"]), Ok(vec![Column(1), Column(0)]));
    }

    #[test]
    fn what_cannot_be_decided_is_said() {
        assert_eq!(found(&["x", "Id"], &["id", "ID", "x"]), Err(Undecided::Ambiguous(1)));
        assert_eq!(found(&["id", "a", "id"], &["id"]), Err(Undecided::Twice(0, 2)));
        assert_eq!(found(&["ID", "Id"], &["id"]), Err(Undecided::Twice(0, 1)));
    }

    #[test]
    fn the_nearest_name_is_near() {
        let columns = lists(&["trip_id", "started", "note"]);
        let nearest = |name: &str| nearest(name.as_bytes(), &columns, <[u8]>::to_ascii_lowercase).cloned();
        assert_eq!(nearest("TripID"), Some(b"trip_id".to_vec()));
        assert_eq!(nearest("start"), Some(b"started".to_vec()));
        assert_eq!(nearest("zebra"), None);
        assert_eq!(nearest(""), None);
    }

    #[test]
    fn distances_are_those_of_the_textbook() {
        for (one, other, wanted) in [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!(distance(one.as_bytes(), other.as_bytes()), wanted, "{one} {other}");
        }
    }
}
