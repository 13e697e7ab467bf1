//! Random jobs and random files.

use fastcsv_engine::convert::{Datum, Kind, Settings};
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::filter::{Class, Comparison, Condition, Filter};
use fastcsv_engine::job::{Attribute, Constant, Encoding, Field, Input, Job, Layout, Output, Syntax, Target};
use fastcsv_engine::ring::{Geometry, RESERVE};
use fastcsv_engine::scan::Level;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::harness::Pace;

/// Delimiter, quote and escape: COPY's defaults, and what people and devils choose instead.
const DIALECTS: &[(u8, u8, u8)] = &[
    (b',', b'"', b'"'),
    (b';', b'\'', b'\''),
    (b'\t', b'"', b'"'),
    (b'a', b'"', b'"'),
    (b',', b'1', b'1'),
    (b',', b'"', b'\\'),
    (b'|', b'\'', b'a'),
    (b',', b'"', b','),
    (b'\\', b'"', b'x'),
    (b',', b'\\', b'\\'),
];

pub fn syntax() -> impl Strategy<Value = Syntax> {
    let texts = (select(vec!["", "", "NULL", "\\N", "1"]), select(vec![None, None, None, Some("D"), Some("")]));
    let line_end = select(LineEnd::ALL.to_vec());
    (select(DIALECTS), line_end, texts, any::<bool>()).prop_map(|(bytes, line_end, (null, default), marker)| Syntax {
        delimiter: bytes.0,
        quote: bytes.1,
        escape: bytes.2,
        line_end,
        null: null.as_bytes().to_vec(),
        default: default.map(|text: &str| text.as_bytes().to_vec()),
        // COPY reads a backslash at a record's start in two ways at once if it is a quote or escape too.
        has_end_marker: marker && bytes.1 != b'\\' && bytes.2 != b'\\',
    })
}

/// An encoding of one byte for a character, in which some bytes are invalid and some become several.
fn table() -> Encoding {
    let recoded = |byte: u8| match byte {
        0 | 0x81 | 0xff => vec![],
        1..=0x7f => vec![byte],
        _ => char::from(byte).to_string().into_bytes(),
    };
    Encoding::Table((0..=255).map(recoded).collect())
}

/// The sizes of things and who does what; what is to be read comes later.
pub fn job() -> impl Strategy<Value = Job> {
    let encoding = select(vec![Encoding::Utf8, Encoding::Utf8, Encoding::AnyByte, table()]);
    let output =
        select(vec![Output::Rows, Output::Rows, Output::PlacedRows, Output::MixedRows, Output::Count, Output::Count]);
    let range_size = prop_oneof![1_u64..8, 8_u64..200, 200_u64..70_000, Just(1 << 30)];
    let longest_record = prop_oneof![3 => Just(1_usize << 20), 1 => 1_usize..200];
    let level = select(Level::available()).prop_map(|level| level.name().to_owned());
    let sizes = (1_usize..=4, range_size, longest_record, level);
    (syntax(), encoding, output, 1_usize..5, sizes, any::<[u64; 2]>()).prop_map(
        |(syntax, encoding, output, fields, (threads, range_size, longest_record, level), [bits, filter])| {
            let (fields, layout) = columns(output, fields, bits);
            let filter = filter_on(&fields, output, filter);
            Job {
                syntax,
                input: Input::File { start: 0, size: 0, range_size, io: fastcsv_engine::job::Io::Pread },
                encoding,
                fields,
                layout,
                filter,
                output,
                settings: Settings { utf8: true, ..Settings::default() },
                text: 0,
                threads,
                longest_record,
                level: Some(level),
            }
        },
    )
}

/// Columns of which `bits` say what becomes of them. The row has more attributes than the file has fields, in another
/// order.
fn columns(output: Output, count: usize, mut bits: u64) -> (Vec<Field>, Layout) {
    let mut bit = || {
        bits = bits.rotate_right(1);
        bits & 1 == 1
    };
    let no_target = output == Output::Count && bit();
    let text = |packable| Attribute { length: None, align: 4, packable };
    let mut attributes = vec![text(true); count + 2];
    attributes[0] = Attribute { length: Some(2), align: 2, packable: false };
    let mut fields = Vec::new();
    for number in 0..count {
        let (is_needed, is_text, is_foreign, packable) = (bit() || bit(), bit(), bit(), bit());
        let attribute = if bit() { number + 1 } else { number + 2 };
        let is_free = fields.iter().flat_map(|field: &Field| &field.target).all(|other| other.attribute != attribute);
        if !is_needed || !is_free || no_target {
            fields.push(Field { target: None });
            continue;
        }
        let (kind, form) = match is_text {
            _ if output == Output::MixedRows && is_foreign => (None, text(true)),
            true => (Some(Kind::Text), text(packable)),
            false => (Some(Kind::Int4), Attribute { length: Some(4), align: 4, packable: false }),
        };
        attributes[attribute] = form;
        fields.push(Field { target: Some(Target { attribute, kind, force_not_null: bit(), force_null: bit() }) });
    }
    let constants = if bit() { vec![(0, Constant::Word(7))] } else { vec![] };
    (fields, Layout { attributes, type_id: 2249, type_modifier: -1, constants })
}

/// A filter on one of the columns, sometimes.
fn filter_on(fields: &[Field], output: Output, random: u64) -> Option<Filter> {
    let mut targets = fields.iter().filter_map(|field| field.target.as_ref());
    let target = targets.find(|target| target.kind.is_some())?;
    if output == Output::MixedRows || output == Output::PlacedRows || random & 3 == 0 && output != Output::Count {
        return None;
    }
    let column = target.attribute as u32;
    let condition = match target.kind {
        Some(Kind::Int4) if random & 4 != 0 => {
            let five = Class::Int4.constant(Datum::Word(5));
            Condition::compare(column, Class::Int4, Comparison::Greater, five).expect("both are numbers")
        }
        _ => Condition::null(column).negated(),
    };
    Some(Filter::new(condition))
}

/// A ring, from the smallest that is possible.
pub fn geometry() -> impl Strategy<Value = Geometry> {
    let kept = 3;
    let tickets = prop_oneof![1_u32..4, Just(64)];
    let blocks = prop_oneof![RESERVE + kept + 1..RESERVE + kept + 8, Just(64)];
    let block_size = select(vec![64, 128, 256, 4096]);
    (tickets, blocks, block_size).prop_map(move |(tickets, blocks, block_size)| Geometry {
        tickets,
        blocks,
        kept,
        block_size,
    })
}

pub fn pace() -> impl Strategy<Value = Pace> {
    let stops = (0_usize..40).prop_map(Pace::StopsAfter);
    prop_oneof![4 => Just(Pace::Prompt), 1 => Just(Pace::Slow), 2 => Just(Pace::Keeping), 1 => stops]
}

/// Something that has a meaning in some dialect, or none.
const PIECES: &[&[u8]] = &[b"1", b"7", b"-3", b" 9", b"x", b"a", b"\\", b"\\.", b"NULL", b"\\N", b"D", b"\xc3\xa9"];

/// Bytes without any care: most files end in an anomaly.
pub fn wild() -> impl Strategy<Value = Wild> {
    let token = (any::<Index>(), 0_u8..40);
    prop::collection::vec(token, 0..120).prop_map(Wild)
}

#[derive(Clone, Debug)]
pub struct Wild(Vec<(Index, u8)>);

impl Wild {
    pub fn bytes(&self, syntax: &Syntax) -> Vec<u8> {
        let piece = |(index, choice): &(Index, u8)| match choice {
            0..=9 => vec![syntax.delimiter],
            10..=15 => vec![syntax.quote],
            16 => vec![syntax.escape],
            17..=22 => syntax.line_end.bytes().to_vec(),
            23 => vec![*index.get(&b"\n\r\0\xff\x81\xe2"[..])],
            24 => vec![b'x'; index.index(200)],
            _ => index.get(PIECES).to_vec(),
        };
        self.0.iter().flat_map(piece).collect()
    }
}

/// Whole records, of which nearly all have the right number of fields.
pub fn neat() -> impl Strategy<Value = Neat> {
    let piece = (any::<Index>(), 0_u8..20);
    let content = prop::collection::vec(piece, 0..4);
    let fields = prop::collection::vec((content, any::<bool>()), 4);
    let long = prop_oneof![12 => 1_usize..40, 1 => 1_usize..10_000];
    let least = prop_oneof![3 => Just(0), 1 => 0_usize..60_000];
    (prop::collection::vec(fields, 0..40), any::<bool>(), long, least)
        .prop_map(|(records, has_final_line_end, long, least)| Neat { records, has_final_line_end, long, least })
}

#[derive(Clone, Debug)]
pub struct Neat {
    records: Vec<Vec<NeatField>>,
    has_final_line_end: bool,
    /// Repetitions of what makes a field long.
    long: usize,
    /// The records come again and again until there are so many bytes: more than is read at once behind a range.
    least: usize,
}

/// The pieces of a field, and whether it is quoted though it need not be.
type NeatField = (Vec<(Index, u8)>, bool);

impl Neat {
    pub fn bytes(&self, syntax: &Syntax, fields: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, record) in self.records.iter().enumerate() {
            if number > 0 {
                bytes.extend(syntax.line_end.bytes());
            }
            // A record in some twenty lacks one.
            let is_odd = record[0].0.len() == 3 && record[0].1;
            for (place, field) in record.iter().take(fields - usize::from(is_odd && fields > 1)).enumerate() {
                if place > 0 {
                    bytes.push(syntax.delimiter);
                }
                self.field(field, syntax, &mut bytes);
            }
        }
        let once = bytes.clone();
        while !once.is_empty() && bytes.len() < self.least {
            bytes.extend(syntax.line_end.bytes());
            bytes.extend(&once);
        }
        if self.has_final_line_end && !self.records.is_empty() {
            bytes.extend(syntax.line_end.bytes());
        }
        bytes
    }

    fn field(&self, (pieces, is_quoted): &NeatField, syntax: &Syntax, out: &mut Vec<u8>) {
        let mut content = Vec::new();
        for (index, choice) in pieces {
            match choice {
                0 => content.extend(b"\r\n"),
                1 => content.push(b'\n'),
                2 => content.push(b'\r'),
                3 => content.push(syntax.quote),
                4 => content.push(syntax.delimiter),
                5 => content.push(syntax.escape),
                6 => content.extend([b'y', b'\n'].repeat(index.index(self.long))),
                7 => content.extend([b'z'].repeat(index.index(self.long))),
                _ => content.extend(*index.get(PIECES)),
            }
        }
        let special = [syntax.delimiter, syntax.quote, b'\n', b'\r'];
        if !is_quoted && !content.iter().any(|byte| special.contains(byte)) {
            out.extend(content);
            return;
        }
        out.push(syntax.quote);
        for byte in content {
            if byte == syntax.quote || byte == syntax.escape {
                out.push(syntax.escape);
            }
            out.push(byte);
        }
        out.push(syntax.quote);
    }
}
