//! Delimiter, quote, escape and line end, by trying them.

use super::Given;
use crate::convert::Settings;
use crate::dialect::{Dialect, LineEnd};
use crate::infer::survey::Surveyor;
use crate::scan::{Block, Level, LineEndFinder, Scanner, Sink, State};
use crate::tuple::OutOfMemory;

/// The delimiters that are tried, and how likely they are before anything is known.
const DELIMITERS: [(u8, f64); 10] = [
    (b',', 1.0),
    (b';', 0.99),
    (b'\t', 0.99),
    (b'|', 0.98),
    (b'^', 0.6),
    (b'~', 0.6),
    (0x01, 0.9),
    (0x1f, 0.9),
    (b':', WEAK),
    (b' ', WEAK),
];

/// How likely a delimiter is that stands in texts, dates and times too.
const WEAK: f64 = 0.3;

/// Records that it takes for such a one.
const WEAK_RECORDS: usize = 3;

/// The share of records that must have the same number of fields.
const LEAST_SHARE: f64 = 0.6;

/// A quote for files that have none: it never occurs in text.
const NO_QUOTE: u8 = 0x02;

/// The syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syntax {
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    pub(super) escape: u8,
    pub(super) line_end: LineEnd,
}

impl Syntax {
    /// A survey of such a file.
    pub(super) fn surveyor(
        &self,
        fields: usize,
        null: &[u8],
        null_is_certain: bool,
        settings: &Settings,
    ) -> Result<Surveyor, OutOfMemory> {
        let dialect = dialect(self.delimiter, self.quote, self.escape, self.line_end);
        let dialect = dialect.unwrap_or_else(|| Dialect::copy_csv(self.line_end));
        Surveyor::new(&dialect, Level::detect(), fields, null, null_is_certain, settings)
    }
}

/// The dialect of COPY's kind, if there is such a one.
pub(super) fn dialect(delimiter: u8, quote: u8, escape: u8, line_end: LineEnd) -> Option<Dialect> {
    let builder = Dialect::builder().delimiter(&[delimiter]).quote(Some(quote)).escape(Some(escape));
    builder.line_end(line_end).build().ok()
}

/// Finds the syntax of a sample that starts a file.
///
/// # Errors
/// If memory runs out.
pub(super) fn find(sample: &[u8], is_whole: bool, given: &Given, settings: &Settings) -> Result<Syntax, OutOfMemory> {
    let mut best: Option<(f64, Syntax)> = None;
    let delimiters = match given.delimiter {
        Some(delimiter) => vec![(delimiter, 1.0)],
        None => DELIMITERS.to_vec(),
    };
    for (delimiter, likely) in delimiters {
        for (quote, escape) in quotes(sample, delimiter, given) {
            let Some(syntax) = with_line_end(sample, delimiter, quote, escape) else { continue };
            let shape = Shape::of(sample, is_whole, &syntax);
            let Some(mut score) = shape.score() else { continue };
            if likely <= WEAK && (shape.records < WEAK_RECORDS || score < 1.0 || is_one_typed_column(sample, settings)?)
            {
                continue;
            }
            score = score * likely + TYPED * typed_share(sample, &syntax, &shape, settings)?;
            if best.is_none_or(|(known, _)| score > known + EQUAL) {
                best = Some((score, syntax));
            }
        }
    }
    let default = || {
        let delimiter = given.delimiter.unwrap_or(b',');
        let (quote, escape) = quotes(sample, delimiter, given)[0];
        with_line_end(sample, delimiter, quote, escape).unwrap_or(Syntax {
            delimiter,
            quote,
            escape,
            line_end: LineEnd::Lf,
        })
    };
    Ok(best.map_or_else(default, |(_, syntax)| syntax))
}

/// What it counts that all columns have a type.
const TYPED: f64 = 0.3;

/// Scores that differ by less are the same: the first is taken.
const EQUAL: f64 = 1e-9;

/// The pairs of quote and escape that are worth trying.
fn quotes(sample: &[u8], delimiter: u8, given: &Given) -> Vec<(u8, u8)> {
    let escape = |quote: u8| {
        let is_escaped = memchr::memmem::find(sample, &[b'\\', quote]).is_some();
        match given.escape {
            Some(escape) => vec![escape],
            None if is_escaped => vec![quote, b'\\'],
            None => vec![quote],
        }
    };
    let pairs = |quote: u8| escape(quote).into_iter().map(move |escape| (quote, escape)).collect::<Vec<_>>();
    if let Some(quote) = given.quote {
        return pairs(quote);
    }
    let double = Wrapping::of(sample, delimiter, b'"');
    if double.is_usual() {
        return pairs(b'"');
    }
    let mut all = pairs(b'"');
    if sample.contains(&b'"') {
        // Who quotes fields quotes those that hold quotes. Where none begins with one, they are marks of inches, say.
        let place = if double.opens == 0 { 0 } else { all.len() };
        all.insert(place, (NO_QUOTE, NO_QUOTE));
    }
    if Wrapping::of(sample, delimiter, b'\'').is_usual() {
        all.splice(0..0, pairs(b'\''));
    }
    all
}

/// How many fields begin with a quote, and how many end with one.
struct Wrapping {
    opens: usize,
    closes: usize,
}

impl Wrapping {
    fn of(sample: &[u8], delimiter: u8, quote: u8) -> Wrapping {
        let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == delimiter || matches!(byte, b'\n' | b'\r'));
        let (mut opens, mut closes) = (0, 0);
        for place in memchr::memchr_iter(quote, sample) {
            opens += usize::from(is_edge(place.checked_sub(1).map(|before| &sample[before])));
            closes += usize::from(is_edge(sample.get(place + 1)));
        }
        Wrapping { opens, closes }
    }

    /// Do as many begin with it as end with it? The sample may be cut off within one.
    fn is_usual(&self) -> bool {
        self.opens.min(self.closes) > 0 && self.opens.abs_diff(self.closes) <= 1
    }
}

/// The syntax with the line end that the first record has.
fn with_line_end(sample: &[u8], delimiter: u8, quote: u8, escape: u8) -> Option<Syntax> {
    let dialect = dialect(delimiter, quote, escape, LineEnd::Lf)?;
    let mut finder = LineEndFinder::new(&dialect, Level::detect());
    let line_end = finder.push(sample).or_else(|| finder.finish()).unwrap_or(LineEnd::Lf);
    Some(Syntax { delimiter, quote, escape, line_end })
}

/// How a sample falls apart.
#[derive(Clone, Debug)]
struct Shape {
    records: usize,
    /// Fields of the first record.
    first: usize,
    /// Fields that most records have.
    usual: usize,
    /// How many records have as many.
    alike: usize,
}

impl Shape {
    fn of(sample: &[u8], is_whole: bool, syntax: &Syntax) -> Shape {
        let mut counts = Counts::default();
        if let Some(dialect) = dialect(syntax.delimiter, syntax.quote, syntax.escape, syntax.line_end) {
            let mut state = State::at_record(0);
            Scanner::new(&dialect, Level::detect()).scan(&mut state, sample, &mut counts);
            let ends_bare = is_whole && !sample.ends_with(syntax.line_end.bytes());
            if ends_bare && !state.in_quotes() {
                counts.end(counts.open + 1);
            }
        }
        let usual = counts.of.iter().copied().max_by_key(|(fields, count)| (*count, *fields)).unwrap_or((0, 0));
        let records = counts.of.iter().map(|(_, count)| count).sum();
        Shape { records, first: counts.first.unwrap_or(0), usual: usual.0, alike: usual.1 }
    }

    /// How good it is, up to 1; `None` if it is no good at all.
    fn score(&self) -> Option<f64> {
        if self.usual < 2 || self.records == 0 {
            return None;
        }
        let share = self.alike as f64 / self.records as f64;
        let is_first_alike = if self.first == self.usual { 1.0 } else { 0.7 };
        (share >= LEAST_SHARE).then_some(share * share * is_first_alike)
    }
}

/// How many records have how many fields.
#[derive(Default)]
struct Counts {
    of: Vec<(usize, usize)>,
    first: Option<usize>,
    open: usize,
}

impl Counts {
    fn end(&mut self, fields: usize) {
        self.open = 0;
        self.first.get_or_insert(fields);
        match self.of.iter_mut().find(|(known, _)| *known == fields) {
            Some((_, count)) => *count += 1,
            None => self.of.push((fields, 1)),
        }
    }
}

impl Sink for Counts {
    fn block(&mut self, _offset: usize, block: Block) {
        let (mut ends, mut records) = (block.ends, block.records);
        while records != 0 {
            let upto = records ^ records.wrapping_sub(1);
            let fields = self.open + (ends & upto).count_ones() as usize;
            self.end(fields);
            ends &= !upto;
            records &= records - 1;
        }
        self.open += ends.count_ones() as usize;
    }
}

/// The share of the columns that have a type, the first record left out: it may be a header.
fn typed_share(sample: &[u8], syntax: &Syntax, shape: &Shape, settings: &Settings) -> Result<f64, OutOfMemory> {
    let mut surveyor = syntax.surveyor(shape.usual, b"", false, settings)?;
    let behind = surveyor.take(sample, sample.len(), 1)?;
    surveyor.clear();
    surveyor.take(&sample[behind..], sample.len(), u64::MAX)?;
    Ok(surveyor.findings().typed_columns() as f64 / shape.usual as f64)
}

/// Are the lines one column of values that are no text?
fn is_one_typed_column(sample: &[u8], settings: &Settings) -> Result<bool, OutOfMemory> {
    let Some(syntax) = with_line_end(sample, b',', b'"', b'"') else { return Ok(false) };
    let shape = Shape { records: 1, first: 1, usual: 1, alike: 1 };
    Ok(typed_share(sample, &syntax, &shape, settings)? > 0.0)
}
