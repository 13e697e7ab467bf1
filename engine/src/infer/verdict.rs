//! What the findings of a whole file come to.

use super::classify::Signs;
use super::column::{Column, Refusal, WORDS};
use super::findings::Findings;
use super::types::{Candidates, Type};

/// How the texts of a column are to be read, where PostgreSQL's input function alone does not do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// As they are.
    Plain,
    /// With the day before the month.
    DayFirst,
    /// With the month before the day.
    MonthFirst,
    /// With the one or the other before: nothing in the file tells.
    DayOrMonth,
    /// With a comma for the point, and points between thousands.
    DecimalComma,
    /// With commas between thousands.
    ThousandsComma,
}

/// Why a column is text although it need not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// A comma may stand for the point or between thousands.
    PointOrThousands,
    /// All values are the same short word, which may be a truth value.
    OneTruthWord,
    /// There are no values.
    NoValues,
}

/// The value that ruled a type out, or an order of day and month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The type; none if it is any but text.
    pub ruled_out: Option<Type>,
    /// The line on which the value's record starts, 0-based, from the start of the survey.
    pub line: u64,
    /// The value, or its beginning.
    pub value: Vec<u8>,
}

/// What a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Its type.
    pub kind: Type,
    /// How its texts are to be read.
    pub reading: Reading,
    /// The first value that ruled out the next narrower type.
    pub evidence: Option<Evidence>,
    /// The first value that ruled out the other order of day and month.
    pub order: Option<Evidence>,
    /// Why it is text nevertheless.
    pub doubt: Option<Doubt>,
    /// Fields that are NULL, those counted that are quoted.
    pub nulls: u64,
    /// Whether some of these are quoted, so that COPY must be told (`FORCE_NULL`).
    pub has_quoted_nulls: bool,
}

impl Findings {
    /// What the columns are, if NULL is what the survey took for it.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let columns: Vec<Resolved> = self.columns.iter().map(Resolved::of).collect();
        let plain = Candidates::DECIMAL | Candidates::NUMERIC;
        // Some column has only the one reading, and none only the other.
        let only = |this: Candidates, other: Candidates| {
            let decides = |this, other| {
                move |column: &Resolved| {
                    let possible = column.possible;
                    possible.meets(this) && !possible.meets(other) && !possible.meets(plain)
                }
            };
            columns.iter().any(decides(this, other)) && !columns.iter().any(decides(other, this))
        };
        let habits = Habits {
            day_first: only(DMY, MDY),
            month_first: only(MDY, DMY),
            decimal_comma: only(Candidates::COMMA, Candidates::GROUPED),
            thousands_comma: only(Candidates::GROUPED, Candidates::COMMA),
        };
        columns.iter().map(|column| column.verdict(habits)).collect()
    }

    /// The word that stands for NULL, if some column has a type only if it does, and no other word (the survey's own,
    /// which is the empty text, among them) makes more columns have one.
    pub fn null_word(&self) -> Option<&'static str> {
        let with = |word: Option<u8>| {
            let fits = |column: &&Column| match word {
                None => column.words.is_empty(),
                Some(word) => column.nulls == 0 && column.words.iter().all(|found| found.index == word),
            };
            let typed = |column: &&Column| is_typed(column.possible, column.signs);
            self.columns.iter().filter(typed).filter(fits).count()
        };
        let empty = with(None);
        let words = (0..WORDS.len() as u8).map(|word| (with(Some(word)), word));
        // The first of the best.
        let best = words.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.filter(|(count, _)| *count > empty).map(|(_, word)| WORDS[usize::from(word)])
    }

    /// How many columns have a type other than text.
    pub fn typed_columns(&self) -> usize {
        self.columns.iter().filter(|column| is_typed(column.possible, column.signs)).count()
    }
}

const DMY: Candidates = Candidates(Candidates::DATE_DMY.0 | Candidates::LOCAL_DMY.0 | Candidates::ZONED_DMY.0);
const MDY: Candidates = Candidates(Candidates::DATE_MDY.0 | Candidates::LOCAL_MDY.0 | Candidates::ZONED_MDY.0);

/// Does this come to a type other than text?
pub(super) fn is_typed(possible: Candidates, signs: Signs) -> bool {
    possible != Candidates::ALL && choose(possible, signs) != Type::Text
}

/// What the other columns of the file do.
#[derive(Clone, Copy)]
struct Habits {
    day_first: bool,
    month_first: bool,
    decimal_comma: bool,
    thousands_comma: bool,
}

/// The type that the readings come to, commas and the order of days and months left aside.
fn choose(possible: Candidates, signs: Signs) -> Type {
    let readings = possible & !Candidates::BOOLEANS;
    let is_boolean = possible.meets(Candidates::TRUTH)
        || (possible.meets(Candidates::BOOLEANS) && signs.holds(Signs(Signs::TRUE.0 | Signs::FALSE.0)));
    match readings.preferred() {
        _ if is_boolean => Type::Boolean,
        Type::Double | Type::Numeric if !signs.holds(Signs::NUMBER) => Type::Text,
        found => found,
    }
}

/// A column in which only its own text of NULL is NULL.
struct Resolved<'c> {
    column: &'c Column,
    possible: Candidates,
    /// The first word that is no NULL after all.
    word: Option<Refusal>,
}

impl<'c> Resolved<'c> {
    fn of(column: &'c Column) -> Resolved<'c> {
        let first = column.words.iter().min_by_key(|word| word.line).filter(|_| !column.possible.is_none());
        let word = first.map(|word| Refusal {
            line: word.line,
            value: WORDS[usize::from(word.index)].as_bytes().to_vec(),
            refuted: column.possible,
        });
        let possible = if word.is_some() { Candidates::NONE } else { column.possible };
        Resolved { column, possible, word }
    }

    fn verdict(&self, habits: Habits) -> Verdict {
        let (mut kind, mut reading, mut doubt) = (choose(self.possible, self.column.signs), Reading::Plain, None);
        if self.possible == Candidates::ALL {
            (kind, doubt) = (Type::Text, Some(Doubt::NoValues));
        } else if kind == Type::Numeric {
            match self.number_reading(habits) {
                Some(found) => reading = found,
                None => (kind, doubt) = (Type::Text, Some(Doubt::PointOrThousands)),
            }
        } else if kind == Type::Text && self.possible.meets(Candidates::BOOLEANS) {
            doubt = Some(Doubt::OneTruthWord);
        }
        let mut order = None;
        let dates = match kind {
            Type::Date => Candidates::DATES,
            Type::Timestamp => Candidates::LOCALS,
            Type::Timestamptz => Candidates::ZONEDS,
            _ => Candidates::NONE,
        };
        let sure = Candidates::DATE | Candidates::LOCAL | Candidates::ZONED;
        let left = self.possible & dates;
        if !left.is_none() && !left.meets(sure) {
            reading = match (left.meets(DMY), left.meets(MDY)) {
                (true, false) => Reading::DayFirst,
                (false, true) => Reading::MonthFirst,
                _ if habits.day_first => Reading::DayFirst,
                _ if habits.month_first => Reading::MonthFirst,
                _ => Reading::DayOrMonth,
            };
            let other = if reading == Reading::DayFirst { MDY } else { DMY };
            let refused = self.column.refusals.iter().find(|refusal| refusal.refuted.meets(other & dates));
            order = refused.filter(|_| !left.meets(other)).map(|refusal| evidence(refusal, None));
        }
        let quoted_nulls = if kind == Type::Text { 0 } else { self.column.quoted_nulls };
        Verdict {
            kind,
            reading,
            evidence: self.evidence(kind, reading, doubt),
            order,
            doubt,
            nulls: self.column.nulls + quoted_nulls,
            has_quoted_nulls: quoted_nulls > 0,
        }
    }

    /// How numbers are read, if there is no doubt about it.
    fn number_reading(&self, habits: Habits) -> Option<Reading> {
        if self.possible.meets(Candidates::DECIMAL | Candidates::NUMERIC) {
            return Some(Reading::Plain);
        }
        match (self.possible.meets(Candidates::COMMA), self.possible.meets(Candidates::GROUPED)) {
            (true, false) => Some(Reading::DecimalComma),
            (false, true) => Some(Reading::ThousandsComma),
            _ if habits.decimal_comma => Some(Reading::DecimalComma),
            _ if habits.thousands_comma => Some(Reading::ThousandsComma),
            _ => None,
        }
    }

    /// What ruled out the next narrower type.
    fn evidence(&self, kind: Type, reading: Reading, doubt: Option<Doubt>) -> Option<Evidence> {
        let refusals = &self.column.refusals;
        let first = |readings: Candidates, narrower: Type| {
            let refusal = refusals.iter().find(|refusal| refusal.refuted.meets(readings))?;
            Some(evidence(refusal, Some(narrower)))
        };
        let last = |readings: Candidates, narrower: Type| {
            let refusal = refusals.iter().rev().find(|refusal| refusal.refuted.meets(readings))?;
            Some(evidence(refusal, Some(narrower)))
        };
        match kind {
            Type::Integer => first(Candidates::INT2, Type::SmallInt),
            Type::BigInt => first(Candidates::INT4, Type::Integer),
            Type::Numeric if reading == Reading::Plain && self.possible.meets(Candidates::DECIMAL) => {
                first(Candidates::INT8, Type::BigInt)
            }
            Type::Numeric if reading == Reading::Plain => first(Candidates::FLOAT, Type::Double),
            Type::Numeric => first(Candidates::INT8, Type::BigInt),
            Type::Double => first(Candidates::DECIMAL, Type::Numeric),
            Type::Timestamp => last(Candidates::DATES, Type::Date),
            Type::Timestamptz => last(Candidates::LOCALS, Type::Timestamp),
            Type::Text if doubt.is_none() => {
                let refusal = self.word.as_ref().or(refusals.last())?;
                let was_anything = refusal.refuted == Candidates::ALL;
                Some(evidence(refusal, (!was_anything).then(|| refusal.refuted.preferred())))
            }
            _ => None,
        }
    }
}

fn evidence(refusal: &Refusal, ruled_out: Option<Type>) -> Evidence {
    Evidence { ruled_out, line: refusal.line, value: refusal.value.clone() }
}
