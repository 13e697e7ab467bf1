//! Findings as bytes, for the way from the worker to the session: numbers in seven-bit groups, texts with their length
//! before them. A range's findings are as short as its columns are plain.

use super::classify::Signs;
use super::column::{Column, Refusal, Word};
use super::findings::{Findings, Ragged};
use super::types::Candidates;
use crate::tuple::OutOfMemory;

/// The longest number: 64 bits in groups of seven.
const LONGEST_NUMBER: usize = 10;

impl Findings {
    /// Writes them into `out`, which is emptied before.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), OutOfMemory> {
        out.clear();
        let mut out = Writer(out);
        let flags = u64::from(self.has_ended) | u64::from(self.beyond_ascii) << 1;
        let columns = self.columns.len() as u64;
        for number in [self.records, self.lines, self.ragged, self.controls.into(), flags, columns] {
            out.number(number)?;
        }
        for line in [self.not_utf8, self.nul, self.stray, self.first_ragged.map(|first| first.line)] {
            out.number(line.map_or(0, |line| line + 1))?;
        }
        out.number(self.first_ragged.map_or(0, |first| first.fields))?;
        self.columns.iter().try_for_each(|column| out.column(column))
    }

    /// Reads what [`Findings::write`] has written; `None` if it is something else.
    pub fn read(bytes: &[u8]) -> Option<Findings> {
        let mut bytes = Reader(bytes);
        let [records, lines, ragged, controls, flags, columns] = bytes.numbers()?;
        let [not_utf8, nul, stray, ragged_line, fields] = bytes.numbers()?;
        let mut findings = Findings::new(usize::try_from(columns).ok()?).ok()?;
        for column in &mut findings.columns {
            *column = bytes.column()?;
        }
        let line = |number: u64| number.checked_sub(1);
        Some(Findings {
            records,
            lines,
            ragged,
            controls: u32::try_from(controls).ok()?,
            not_utf8: line(not_utf8),
            nul: line(nul),
            stray: line(stray),
            has_ended: flags & 1 != 0,
            beyond_ascii: flags & 2 != 0,
            first_ragged: line(ragged_line).map(|line| Ragged { line, fields }),
            ..findings
        })
    }
}

struct Writer<'w>(&'w mut Vec<u8>);

impl Writer<'_> {
    fn number(&mut self, mut number: u64) -> Result<(), OutOfMemory> {
        self.0.try_reserve(LONGEST_NUMBER).map_err(|_| OutOfMemory)?;
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), OutOfMemory> {
        self.number(text.len() as u64)?;
        self.0.try_reserve(text.len()).map_err(|_| OutOfMemory)?;
        self.0.extend_from_slice(text);
        Ok(())
    }

    fn column(&mut self, column: &Column) -> Result<(), OutOfMemory> {
        for number in [column.possible.0.into(), column.signs.0.into(), column.nulls, column.quoted_nulls] {
            self.number(number)?;
        }
        self.number(column.words.len() as u64)?;
        for word in &column.words {
            for number in [word.index.into(), word.count, word.line] {
                self.number(number)?;
            }
        }
        self.number(column.refusals.len() as u64)?;
        for refusal in &column.refusals {
            self.number(refusal.line)?;
            self.number(refusal.refuted.0.into())?;
            self.text(&refusal.value)?;
        }
        self.number(column.samples.len() as u64)?;
        column.samples.iter().try_for_each(|sample| self.text(sample))
    }
}

struct Reader<'r>(&'r [u8]);

impl<'r> Reader<'r> {
    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Some(numbers)
    }

    fn text(&mut self) -> Option<&'r [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    fn column(&mut self) -> Option<Column> {
        let [possible, signs, nulls, quoted_nulls] = self.numbers()?;
        let mut column = Column {
            possible: Candidates(u32::try_from(possible).ok()?),
            signs: Signs(u8::try_from(signs).ok()?),
            nulls,
            quoted_nulls,
            ..Column::default()
        };
        for _ in 0..self.number()? {
            let [index, count, line] = self.numbers()?;
            column.words.push(Word { index: u8::try_from(index).ok()?, count, line });
        }
        for _ in 0..self.number()? {
            let [line, refuted] = self.numbers()?;
            let refuted = Candidates(u32::try_from(refuted).ok()?);
            column.refusals.push(Refusal { line, value: self.text()?.to_vec(), refuted });
        }
        for _ in 0..self.number()? {
            column.samples.push(self.text()?.to_vec());
        }
        column.choose_quick();
        Some(column)
    }
}
