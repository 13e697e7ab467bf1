//! What is known of one column: the readings that all of its values have, and what took the others away.

use super::classify::{Classifier, Signs};
use super::types::Candidates;
use crate::convert::digits::{decimal, value as digits_value};
use crate::convert::{Scratch, date, time};

/// Words that often stand, unquoted, where there is no value.
pub const WORDS: [&str; 13] =
    ["NA", "N/A", "n/a", "NULL", "null", "\\N", "None", "NaT", "#N/A", "-", "?", "(null)", "nil"];

/// So many distinct values are kept to be shown.
const SAMPLES: usize = 5;

/// So many bytes of a value are kept to be shown.
const SHOWN: usize = 60;

/// The longest number that the quick tests take: a `double precision` keeps all of its digits.
const QUICK_NUMBER: usize = 17;

/// A value that took readings away from its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The physical line on which its record starts, counted from the start of what was surveyed, 0-based.
    pub line: u64,
    /// The value, or its beginning.
    pub value: Vec<u8>,
    /// The readings that the values before it had, and it has not.
    pub refuted: Candidates,
}

/// How often a word that may stand for NULL was met, and where first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its place in [`WORDS`].
    pub index: u8,
    /// How often.
    pub count: u64,
    /// The line of the first, as in [`Refusal`].
    pub line: u64,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The readings that every value has.
    pub possible: Candidates,
    pub(super) quick: Quick,
    /// What some value had; complete for the types that are still possible.
    pub signs: Signs,
    /// Fields that are NULL.
    pub nulls: u64,
    /// Quoted fields with the text of NULL, which are NULL for a type that cannot hold that text (`FORCE_NULL`).
    /// Complete as long as a type is possible.
    pub quoted_nulls: u64,
    /// Words that may stand for NULL, by number; complete as long as a type is possible.
    pub words: Vec<Word>,
    /// The first values that took away readings, in order.
    pub refusals: Vec<Refusal>,
    /// The first distinct values.
    pub samples: Vec<Vec<u8>>,
    pub(super) hints: Hints,
}

/// Where a sample is looked for first: where one of the same length and first byte was found before. It says nothing of
/// the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hints([u8; 16]);

impl PartialEq for Hints {
    fn eq(&self, _: &Hints) -> bool {
        true
    }
}

impl Eq for Hints {}

impl Hints {
    #[inline]
    fn slot(value: &[u8]) -> usize {
        (value.len() ^ usize::from(value.first().copied().unwrap_or(0))) % 16
    }
}

/// The test that most values of a column pass, and that leaves its readings as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quick {
    /// Nothing is left to test.
    Nothing,
    /// There is no such test.
    None,
    /// A whole number of at most so many, in either direction.
    Whole(u64),
    /// A number with a point.
    Decimal,
    /// A date such as 2024-01-31.
    Date,
    /// A date and a time such as 2024-01-31 10:20:30.
    Local,
}

/// What all columns of a survey share.
pub(super) struct Shared<'s> {
    pub(super) classifier: &'s Classifier,
    /// The text of NULL.
    pub(super) null: &'s [u8],
    /// Whether it is certain, so that no other word is taken for NULL.
    pub(super) null_is_certain: bool,
}

impl Default for Column {
    fn default() -> Column {
        Column {
            possible: Candidates::ALL,
            quick: Quick::None,
            signs: Signs::default(),
            nulls: 0,
            quoted_nulls: 0,
            words: Vec::new(),
            refusals: Vec::new(),
            samples: Vec::new(),
            hints: Hints::default(),
        }
    }
}

impl Column {
    /// Takes a field's content.
    #[inline]
    pub(super) fn take(
        &mut self,
        content: &[u8],
        is_quoted: bool,
        line: u64,
        shared: &Shared<'_>,
        scratch: &mut Scratch,
    ) {
        let is_null = content == shared.null;
        if is_null && !is_quoted {
            self.nulls += 1;
            return;
        }
        if self.samples.len() < SAMPLES && !is_null {
            self.keep_sample(content);
        }
        if !self.passes_quickly(content, shared) {
            self.test(content, is_quoted, line, shared, scratch);
        }
    }

    /// Has the value all readings that the others have? It may, if this says no.
    #[inline]
    fn passes_quickly(&self, value: &[u8], shared: &Shared<'_>) -> bool {
        match self.quick {
            Quick::Nothing => true,
            Quick::None => false,
            Quick::Whole(most) => {
                let digits = value.strip_prefix(b"-").unwrap_or(value);
                digits.len() <= QUICK_NUMBER
                    && (digits.len() == 1 || digits.first() != Some(&b'0'))
                    && digits_value(digits).is_some_and(|number| number <= most)
            }
            Quick::Decimal => {
                let digits = value.strip_prefix(b"-").unwrap_or(value);
                digits.len() <= QUICK_NUMBER && !matches!(digits, [b'0', b'0'..=b'9', ..]) && decimal(digits).is_some()
            }
            Quick::Date => value.len() == 10 && date::iso(value).is_some(),
            Quick::Local => {
                let separates = |byte: u8| byte == b' ' || (byte == b'T' && shared.classifier.has_default_words());
                value.get(10).is_some_and(|byte| separates(*byte))
                    && date::iso(value).is_some()
                    && time::iso(&value[11..]).is_some_and(|(_, rest)| rest.is_empty())
            }
        }
    }

    #[inline(never)]
    fn test(&mut self, value: &[u8], is_quoted: bool, line: u64, shared: &Shared<'_>, scratch: &mut Scratch) {
        if is_quoted && value == shared.null {
            self.quoted_nulls += 1;
            return;
        }
        let (readings, signs) = shared.classifier.readings(value, self.possible, scratch);
        if readings == self.possible {
            self.signs.0 |= signs.0;
            return;
        }
        if !is_quoted && !shared.null_is_certain && self.note_word(value, line) {
            return;
        }
        self.signs.0 |= signs.0;
        let refuted = self.possible & !readings;
        self.refusals.push(Refusal { line, value: shown(value), refuted });
        self.possible = readings;
        self.choose_quick();
    }

    /// Counts a word that may stand for NULL.
    #[cold]
    fn note_word(&mut self, value: &[u8], line: u64) -> bool {
        let Some(index) = WORDS.iter().position(|word| word.as_bytes() == value) else { return false };
        self.add_word(Word { index: index as u8, count: 1, line });
        true
    }

    fn add_word(&mut self, word: Word) {
        match self.words.binary_search_by_key(&word.index, |known| known.index) {
            Ok(place) => {
                let known = &mut self.words[place];
                known.count += word.count;
                known.line = known.line.min(word.line);
            }
            Err(place) => self.words.insert(place, word),
        }
    }

    #[inline]
    fn keep_sample(&mut self, value: &[u8]) {
        let value = &value[..value.len().min(SHOWN)];
        // Where a column has few different values, all of them come here.
        let slot = Hints::slot(value);
        let likely = self.samples.get(usize::from(self.hints.0[slot]));
        if !likely.is_some_and(|sample| are_equal(sample, value)) {
            self.keep_unlikely_sample(value, slot);
        }
    }

    #[cold]
    fn keep_unlikely_sample(&mut self, value: &[u8], slot: usize) {
        let known = self.samples.iter().position(|sample| sample == value);
        let place = known.unwrap_or_else(|| {
            self.samples.push(value.to_vec());
            self.samples.len() - 1
        });
        self.hints.0[slot] = place as u8;
    }

    /// Finds the test for the readings that are left.
    pub(super) fn choose_quick(&mut self) {
        let possible = self.possible;
        let whole = Candidates::POINTED;
        let decimal = Candidates::DECIMAL | Candidates::FLOAT | Candidates::NUMERIC | Candidates::GROUPED;
        self.quick = match () {
            () if possible.is_none() => Quick::Nothing,
            () if whole.holds(possible) && possible.meets(Candidates::INTEGERS) => Quick::Whole(match () {
                () if possible.meets(Candidates::INT2) => i16::MAX as u64,
                () if possible.meets(Candidates::INT4) => i32::MAX as u64,
                () => i64::MAX as u64,
            }),
            () if decimal.holds(possible) && possible.meets(Candidates::DECIMAL) => Quick::Decimal,
            () if (Candidates::DATES | Candidates::LOCALS).holds(possible) && possible.meets(Candidates::DATES) => {
                Quick::Date
            }
            () if Candidates::LOCALS.holds(possible) => Quick::Local,
            () => Quick::None,
        };
    }

    /// Adds what a later part of the file, `lines` further on, holds.
    pub(super) fn merge(&mut self, later: Column, lines: u64) {
        self.signs.0 |= later.signs.0;
        self.nulls += later.nulls;
        self.quoted_nulls += later.quoted_nulls;
        for word in later.words {
            self.add_word(Word { line: word.line + lines, ..word });
        }
        for refusal in later.refusals {
            let refuted = refusal.refuted & self.possible;
            if !refuted.is_none() {
                self.refusals.push(Refusal { line: refusal.line + lines, value: refusal.value, refuted });
                self.possible = self.possible & !refuted;
            }
        }
        for sample in later.samples {
            if self.samples.len() < SAMPLES && !self.samples.contains(&sample) {
                self.samples.push(sample);
            }
        }
        self.choose_quick();
    }

    /// Bytes of memory it holds beside its own.
    pub(super) fn memory(&self) -> usize {
        let refusals: usize = self.refusals.iter().map(|refusal| refusal.value.capacity()).sum();
        let samples: usize = self.samples.iter().map(Vec::capacity).sum();
        refusals + samples + self.refusals.capacity() * size_of::<Refusal>() + self.words.capacity() * size_of::<Word>()
    }
}

/// Are the texts the same? Where they are short, this takes less time than a call.
#[inline]
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let words = |text: &[u8]| {
        let (first, last) = (text.first_chunk::<8>()?, text.last_chunk::<8>()?);
        Some((u64::from_le_bytes(*first), u64::from_le_bytes(*last)))
    };
    match one.len() {
        length if length != other.len() => false,
        0..8 => one.iter().zip(other).all(|(one, other)| one == other),
        8..=16 => words(one) == words(other),
        _ => one == other,
    }
}

/// As much of a value as is shown.
fn shown(value: &[u8]) -> Vec<u8> {
    value[..value.len().min(SHOWN)].to_vec()
}
