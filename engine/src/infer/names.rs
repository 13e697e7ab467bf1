//! Column names out of header texts: lower case, without accents and punctuation, each only once.
//!
//! What comes out needs no quotes in SQL unless it is a reserved word. Letters that have no counterpart in ASCII stay
//! as they are where the server's encoding has them.

/// The longest name, in bytes: PostgreSQL's limit.
pub const LONGEST: usize = 63;

/// The longest header text that is taken for a name rather than a value, in bytes.
const LONGEST_HEADER: usize = 200;

/// Columns that every table has already.
const SYSTEM: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/// Letters with marks, and what they become.
const PLAIN: [(&str, &str); 30] = [
    ("àáâãåāăą", "a"),
    ("ä", "ae"),
    ("æ", "ae"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŋ", "n"),
    ("òóôõøōŏő", "o"),
    ("ö", "oe"),
    ("œ", "oe"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ß", "ss"),
    ("ţťŧț", "t"),
    ("þ", "th"),
    ("ùúûũūŭůűų", "u"),
    ("ü", "ue"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
    ("µ", "u"),
    ("€", "eur"),
    ("%", "_percent_"),
    ("#", "_number_"),
];

/// A name for each header text, in order. An empty one is named by its place. With `ascii` no other letters are kept.
pub fn names(headers: &[String], ascii: bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut used = std::collections::HashSet::new();
    for (index, header) in headers.iter().enumerate() {
        let name = match name(header, ascii) {
            name if name.is_empty() => format!("column_{}", index + 1),
            name => name,
        };
        let mut unique = cut(&name, LONGEST).to_owned();
        let mut number = 2;
        while used.contains(&unique) || SYSTEM.contains(&unique.as_str()) {
            let ending = format!("_{number}");
            unique = format!("{}{ending}", cut(&name, LONGEST - ending.len()));
            number += 1;
        }
        used.insert(unique.clone());
        names.push(unique);
    }
    names
}

/// One header text as a name; empty if nothing is left of it.
pub fn name(header: &str, ascii: bool) -> String {
    let mut name = String::new();
    let mut push = |text: &str| {
        for character in text.chars() {
            if character != '_' || !name.ends_with('_') {
                name.push(character);
            }
        }
    };
    for character in header.chars().flat_map(char::to_lowercase) {
        let plain = PLAIN.iter().find(|(letters, _)| letters.contains(character));
        match character {
            'a'..='z' | '0'..='9' => push(character.encode_utf8(&mut [0; 4])),
            // Apostrophes stand within words, and combining marks over letters.
            '\'' | '’' | '\u{300}'..='\u{36f}' => {}
            _ if plain.is_some() => push(plain.map_or("", |(_, text)| text)),
            _ if !ascii && character.is_alphanumeric() => push(character.encode_utf8(&mut [0; 4])),
            _ => push("_"),
        }
    }
    let name = name.trim_matches('_');
    if name.starts_with(|first: char| first.is_numeric()) { format!("_{name}") } else { name.to_owned() }
}

/// The beginning of a text, at most so many bytes, whole characters, without an underscore at its end.
fn cut(text: &str, most: usize) -> &str {
    let end = text.floor_char_boundary(most);
    if end < text.len() { text[..end].trim_end_matches('_') } else { text }
}

/// Might the text be a column's name rather than a value?
pub(super) fn looks_like_name(text: &[u8]) -> bool {
    let has_letter = text.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    has_letter && text.len() <= LONGEST_HEADER && !text.contains(&b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(headers: &[&str]) -> Vec<String> {
        names(&headers.iter().map(|header| (*header).to_owned()).collect::<Vec<_>>(), false)
    }

    #[test]
    fn names_are_lower_case_words() {
        let headers =
            ["Trip ID", "fare-amount ($)", "Größe (cm)", "Préçis", "tripDistance", "2020", "a__b", "% done", "naïve’s"];
        let expected = [
            "trip_id",
            "fare_amount",
            "groesse_cm",
            "precis",
            "tripdistance",
            "_2020",
            "a_b",
            "percent_done",
            "naives",
        ];
        assert_eq!(named(&headers), expected);
        assert_eq!(named(&["日付", "Цена"]), ["日付", "цена"]);
        assert_eq!(names(&["日付".into(), "x日".into()], true), ["column_1", "x"]);
    }

    #[test]
    fn no_name_comes_twice_or_is_a_system_columns() {
        assert_eq!(
            named(&["a", "A", "a_2", "a ", "", "", "column_5", "xmin"]),
            ["a", "a_2", "a_2_2", "a_3", "column_5", "column_6", "column_5_2", "xmin_2"]
        );
    }

    #[test]
    fn long_names_are_cut_between_characters_and_stay_apart() {
        let long = "é".repeat(5) + &"日".repeat(40);
        let found = named(&[&long, &long, &"x".repeat(64), &"x".repeat(65)]);
        assert_eq!(found[0], "e".repeat(5) + &"日".repeat(19));
        assert_eq!(found[1], "e".repeat(5) + &"日".repeat(18) + "_2");
        assert_eq!(found[2], "x".repeat(63));
        assert_eq!(found[3], "x".repeat(61) + "_2");
        assert!(found.iter().all(|name| name.len() <= LONGEST));
    }

    #[test]
    fn what_is_in_a_header_stays_out_of_sql() {
        assert_eq!(
            named(&["a\"; DROP TABLE x; --", "\u{0}\u{1}", "a'b", "$$"]),
            ["a_drop_table_x", "column_2", "ab", "column_4"]
        );
    }
}
