//! Files as people write them, and how they are written.

use fastcsv_engine::convert::Settings;
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::infer::{Given, Sniffed, SniffedEncoding, sniff};

fn look(text: &[u8]) -> Sniffed {
    look_with(text, &Given::default())
}

fn look_with(text: &[u8], given: &Given) -> Sniffed {
    let settings = Settings { default_words: true, utf8: true, ..Settings::default() };
    sniff(text, true, given, &settings).expect("there is memory")
}

fn delimiter(text: &str) -> char {
    char::from(look(text.as_bytes()).delimiter)
}

#[test]
fn the_delimiter_is_what_makes_records_alike() {
    assert_eq!(delimiter("a,b\n1,2\n"), ',');
    assert_eq!(delimiter("a;b;c\n1,5;2,5;x\n1,7;2,9;y\n"), ';');
    assert_eq!(delimiter("1,5;2,5;3,5\n1,7;2,9;4,5\n"), ';');
    assert_eq!(delimiter("a\tb\nx, y\tz\nu\tv, w\n"), '\t');
    assert_eq!(delimiter("a|b|c\n1|2,3|4\n1|2,3|4\n"), '|');
    assert_eq!(delimiter("id^name\n1^x\n2^y\n"), '^');
    assert_eq!(delimiter("a\u{1}b\n1\u{1}2\n"), '\u{1}');
    assert_eq!(delimiter("id,text\n1,\"a;b;c\"\n2,\"d;e;f\"\n3,\"g;h;i\"\n"), ',');
    assert_eq!(delimiter("x y z\n1 2 3\n4 5 6\n7 8 9\n"), ' ');
    assert_eq!(delimiter("user:x:0:0\nroot:y:1:1\nmail:z:2:2\n"), ':');
}

#[test]
fn one_column_is_not_cut() {
    for text in
        ["at\n2024-01-01 10:00:00\n2024-01-02 11:00:00\n2024-01-03 12:00:00\n", "name\nAnna\nBert\n", "1\n2\n3\n"]
    {
        assert_eq!((delimiter(text), look(text.as_bytes()).first.len()), (',', 1), "{text}");
    }
}

#[test]
fn a_given_property_is_not_looked_for() {
    let given = Given { delimiter: Some(b';'), header: Some(false), null: Some(b"x".to_vec()), ..Given::default() };
    let found = look_with(b"a,b\n1,2\n3,4\n", &given);
    assert_eq!((found.delimiter, found.header, &found.null[..], found.first.len()), (b';', false, &b"x"[..], 1));
}

#[test]
fn quotes_and_escapes_are_seen() {
    let found = look(b"a,b\n'x, y',1\n'z',2\n");
    assert_eq!((found.quote, found.escape), (b'\'', b'\''));
    let found = look(b"a,b\n\"say \\\"hi, you\\\"\",1\n\"z\",2\n");
    assert_eq!((found.quote, found.escape), (b'"', b'\\'));
    let found = look(b"a,b\n\"say \"\"hi\"\"\",1\nit's,2\n");
    assert_eq!((found.quote, found.escape), (b'"', b'"'));
    let found = look(b"id\tsize\n1\t5\" nail\n2\tscrew\n3\tbolt\n4\tnut\n");
    assert_eq!((found.delimiter, found.quote), (b'\t', 2), "a quote that is none");
}

#[test]
fn line_ends_and_encodings_are_seen() {
    for (end, found) in [("\n", LineEnd::Lf), ("\r\n", LineEnd::CrLf), ("\r", LineEnd::Cr)] {
        let text = ["a,b", "1,2", "3,4", ""].join(end);
        assert_eq!(look(text.as_bytes()).line_end, found);
    }
    let found = look(b"\xef\xbb\xbfid,name\n1,x\n");
    assert_eq!((found.encoding, &found.first[0][..]), (Some(SniffedEncoding::Utf8Bom), &b"id"[..]));
    let found = look(b"id,name\n1,M\xfcller\n");
    assert_eq!(found.encoding, Some(SniffedEncoding::SingleByte));
    let wide: Vec<u8> = "\u{feff}id;name\n1;Jürgen\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let found = look(&wide);
    assert_eq!((found.encoding, found.delimiter, found.header), (Some(SniffedEncoding::Utf16Le), b';', true));
    assert_eq!(found.first, [b"id".to_vec(), b"name".to_vec()]);
}

#[test]
fn a_header_is_told_by_the_types_below_it() {
    let header = |text: &str| {
        let found = look(text.as_bytes());
        (found.header, found.header_is_assumed)
    };
    assert_eq!(header("id,name\n1,x\n2,y\n"), (true, false));
    assert_eq!(header("1,x\n2,y\n3,z\n"), (false, false));
    assert_eq!(header("country,1990,1991\nA,10,20\nB,30,40\n"), (false, false), "years are numbers");
    assert_eq!(header("NA,x\n2,y\n3,z\n"), (false, true), "a missing value is no name");
    assert_eq!(header("first,last\nAnna,Bell\nBert,Cole\n"), (true, true));
    assert_eq!(header("Anna,Bell\nBert,Cole\nAnna,Dove\n"), (false, true), "names are not values");
    assert_eq!(header("a,a\nx,y\n"), (false, true), "names are distinct");
    assert_eq!(header("id,name\n"), (true, true));
    assert_eq!(header("1,2\n"), (false, true));
    assert_eq!(header(",x,y\n0,1.5,2\n1,2.5,3\n"), (true, false), "a column without a name");
}

#[test]
fn the_word_for_null_is_the_one_that_gives_columns_types() {
    let null = |text: &str| String::from_utf8(look(text.as_bytes()).null).expect("ASCII");
    assert_eq!(null("a,b\n1,x\nNA,y\n3,z\n"), "NA");
    assert_eq!(null("a,b\n1,x\n,y\n3,z\n"), "");
    assert_eq!(null("a,b\n1,x\nNA,y\n,z\n"), "", "an empty field would be no number");
    assert_eq!(null("a,b\n1,2\nNA,NULL\n3,NULL\n4,5\n"), "NA", "one of two");
    assert_eq!(null("a,b\n\\N,x\n3,z\n"), "\\N");
    assert_eq!(null("a,b\nNA,x\nAB,z\n"), "", "a column of words");
    assert_eq!(null("a,b\n\"NA\",x\n3,z\n"), "", "quoted, it is a value");
}

#[test]
fn strange_beginnings_are_no_trouble() {
    for text in
        [&b""[..], b"\n", b"\n\n", b",", b"\"", b"\"\n", b"\xef\xbb\xbf", b"\0", b"\xff\xfe", b"\r", b"a", b"\"a\nb"]
    {
        let found = look(text);
        assert!(found.dialect().is_some(), "{text:?}");
    }
    assert_eq!(look(b"").first, Vec::<Vec<u8>>::new());
}
