//! What must come of a job: made from the reference's records, ticket by ticket, and compared with what came.

use fastcsv_engine::convert::{Converter, Datum, Scratch};
use fastcsv_engine::entry::{EntryKind, Mark};
use fastcsv_engine::job::{Constant, Encoding, Input, Job, Output};
use fastcsv_engine::ring::{Outcome, Summary};

use crate::harness::{Delivered, Entry};
use crate::image::image;
use crate::reference::{Reading, Record, read};

/// Everything that came must be what the reference says, up to the first anomaly that is COPY's to judge; if the
/// consumer took all there is, nothing may be missing.
pub fn check(job: &Job, input: &[u8], delivered: &Delivered, took_all: bool) {
    assert_eq!(delivered.panic, None);
    let Input::File { start, size, range_size, .. } = job.input else { panic!("the job reads a file") };
    let reading = read(&job.syntax, &job.encoding, &input[..size as usize], start as usize);
    let mut check = Check { job, reading: &reading, next: 0 };
    for (index, ticket) in (0..).zip(&delivered.tickets) {
        let high = size.min((start + index * range_size).saturating_add(range_size));
        let is_last = high == size;
        assert_eq!(ticket.summary.is_last, is_last, "ticket {index}");
        let is_decided = check.ticket(index, high, &ticket.entries, &ticket.summary);
        if is_decided {
            return;
        }
    }
    let is_whole = delivered.tickets.last().map_or(start == size, |ticket| ticket.summary.is_last);
    assert!(is_whole || !took_all, "tickets are missing: {} came", delivered.tickets.len());
    if is_whole {
        assert_eq!(check.next, reading.records.len());
        assert_eq!(reading.stop, None);
    }
}

struct Check<'c> {
    job: &'c Job,
    reading: &'c Reading,
    /// The record that the next ticket's first one must be.
    next: usize,
}

impl Check<'_> {
    /// Compares one ticket, whose range ends at `high`; true if COPY would find an error, or the data's end, in it.
    fn ticket(&mut self, index: u64, high: u64, entries: &[Entry], summary: &Summary) -> bool {
        let owned = self.reading.records[self.next..].iter().take_while(|record| (record.start as u64) < high);
        let owned: Vec<&Record> = owned.collect();
        let stop = self.reading.stop.filter(|&stop| (stop as u64) < high);
        let stop = stop.filter(|_| self.next + owned.len() == self.reading.records.len());
        let first = owned.first().map(|record| record.start).or(stop);
        let taken = match summary.outcome {
            Outcome::Plain => owned.len(),
            _ => summary.records as usize,
        };
        assert!(taken <= owned.len(), "ticket {index}: records of another range, {summary:?}");
        let following = owned.get(taken).map(|record| record.start).or(stop);
        let end = following.or(owned.last().map(|record| record.end));
        let outcome = if following.is_some() { Outcome::Anomaly } else { Outcome::Plain };
        if let Some(record) = owned.get(taken) {
            let length = record.end - record.start;
            assert!(length >= self.job.longest_record, "ticket {index}: no anomaly at {}, {summary:?}", record.start);
        }
        let mut expected = Summary {
            outcome,
            start: first.map_or(high, |start| start as u64),
            end: end.map_or(high, |end| end as u64),
            has_records: first.is_some(),
            wrong_guess: summary.wrong_guess,
            is_last: summary.is_last,
            ..Summary::default()
        };
        let mut entries = entries.iter();
        for record in &owned[..taken] {
            let entry = self.entry(record, &mut expected);
            if let Some(entry) = entry {
                assert_eq!(entries.next(), Some(&entry), "ticket {index}, record at {}", record.start);
            }
        }
        assert_eq!(entries.next(), None, "ticket {index}");
        assert_eq!(*summary, expected, "ticket {index}");
        self.next += owned.len();
        stop.is_some()
    }

    /// What must be delivered for a record, which is added to the summary.
    fn entry(&self, record: &Record, summary: &mut Summary) -> Option<Entry> {
        let mark = Mark {
            byte: record.start as u64,
            records: summary.records as u32,
            lines: summary.lines as u32,
            inner: summary.inner as u32,
            own_inner: record.inner,
            length: self.server_length(record),
            text: 0,
        };
        summary.records += 1;
        summary.lines += u64::from(record.lines);
        summary.inner += u64::from(record.inner);
        let counts_all = self.job.output == Output::Count && self.job.fields.iter().all(|field| field.target.is_none());
        let is_odd = record.fields.len() != self.job.fields.len() || self.has_default(record);
        if counts_all && !is_odd {
            return None;
        }
        let Some(values) = self.values(record).filter(|_| !is_odd) else {
            summary.declined += 1;
            return Some(Entry { kind: EntryKind::Record, mark: Some(mark), payload: record.text.clone() });
        };
        let values: Vec<_> = values.iter().map(|value| value.as_ref().map(Value::datum)).collect();
        if self.job.filter.as_ref().is_some_and(|filter| !filter.passes(&values)) {
            summary.filtered += 1;
            return None;
        }
        let (kind, mark) = match self.job.output {
            Output::Rows => (EntryKind::Row, None),
            Output::PlacedRows => (EntryKind::PlacedRow, Some(mark)),
            Output::MixedRows => (EntryKind::MixedRow, Some(mark)),
            Output::Count => return None,
            Output::Survey { .. } => panic!("a survey is no matter of rows"),
        };
        Some(Entry { kind, mark, payload: image(&self.job.layout, &values) })
    }

    fn has_default(&self, record: &Record) -> bool {
        let default = self.job.syntax.default.as_ref();
        default.is_some_and(|text| record.fields.iter().any(|field| !field.has_quote && field.raw == *text))
    }

    fn server_length(&self, record: &Record) -> u32 {
        let content = &record.text[..record.text.len() - self.job.syntax.line_end.bytes().len()];
        self.recoded(content).len() as u32
    }

    fn recoded(&self, text: &[u8]) -> Vec<u8> {
        match &self.job.encoding {
            Encoding::Table(table) => {
                let recode = |&byte: &u8| if byte < 0x80 { vec![byte] } else { table[usize::from(byte)].clone() };
                text.iter().flat_map(recode).collect()
            }
            Encoding::Utf8 | Encoding::AnyByte => text.to_vec(),
        }
    }

    /// The row's values, or `None` if one was declined. The record has as many fields as the job.
    fn values(&self, record: &Record) -> Option<Vec<Option<Value>>> {
        let layout = &self.job.layout;
        let mut values: Vec<Option<Value>> = vec![None; layout.attributes.len()];
        for (attribute, constant) in &layout.constants {
            values[*attribute] = Some(match constant {
                Constant::Word(word) => Value::Word(*word),
                Constant::Bytes(bytes) => Value::Bytes(bytes.clone()),
            });
        }
        for (field, wanted) in record.fields.iter().zip(&self.job.fields) {
            let Some(target) = &wanted.target else { continue };
            let is_null_text = field.content == self.job.syntax.null;
            let is_null = match field.has_quote {
                false => is_null_text && !target.force_not_null,
                true => is_null_text && target.force_null,
            };
            if is_null {
                continue;
            }
            let text = self.recoded(&field.content);
            let mut scratch = Scratch::default();
            values[target.attribute] = Some(match target.kind.clone().map(Converter::new) {
                None => Value::Bytes(text),
                Some(converter) => match converter.convert(&text, &self.job.settings, &mut scratch)? {
                    Datum::Word(word) => Value::Word(word),
                    Datum::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
                },
            });
        }
        Some(values)
    }
}

/// A datum that owns its bytes.
#[derive(Clone, Debug)]
enum Value {
    Word(u64),
    Bytes(Vec<u8>),
}

impl Value {
    fn datum(&self) -> Datum<'_> {
        match self {
            Value::Word(word) => Datum::Word(*word),
            Value::Bytes(bytes) => Datum::Bytes(bytes),
        }
    }
}
