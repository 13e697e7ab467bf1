//! From a field to a value: unquoted, NULL or not, in the server's encoding, converted.

use super::parse::LONGEST_CHARACTER;
use super::plan::{Needed, Plan};
use crate::convert::{Settings, Sink, Workspace};
use crate::job::Encoding;
use crate::record::unquote;
use crate::tuple::OutOfMemory;

/// Memory for one needed column's value on its way.
#[derive(Default)]
pub(super) struct ColumnScratch {
    pub(super) unquoted: Vec<u8>,
    pub(super) recoded: Vec<u8>,
    pub(super) built: Workspace,
}

impl ColumnScratch {
    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.unquoted.capacity() + self.recoded.capacity() + self.built.memory()
    }
}

/// What is known of all fields of a chunk.
#[derive(Clone, Copy)]
pub(super) struct Known<'p> {
    /// Whether there are none but ASCII characters.
    pub(super) is_ascii: bool,
    /// The settings that hold for them.
    pub(super) settings: &'p Settings,
}

/// What became of a field.
pub(super) enum Value {
    Null,
    Written,
    Declined,
}

impl Plan {
    /// How long a text is in the server's encoding.
    pub(super) fn recoded_length(&self, text: &[u8]) -> usize {
        match &self.encoding {
            Encoding::Table(table) if !text.is_ascii() => {
                let length = |byte: u8| if byte.is_ascii() { 1 } else { table[usize::from(byte)].len() };
                text.iter().copied().map(length).sum()
            }
            _ => text.len(),
        }
    }

    /// Converts one field into its place.
    ///
    /// # Errors
    /// If there is no memory to unquote or recode it.
    #[inline]
    pub(super) fn value(
        &self,
        needed: &Needed,
        (raw, is_quoted): (&[u8], bool),
        known: Known<'_>,
        scratch: &mut ColumnScratch,
        sink: &mut impl Sink,
    ) -> Result<Value, OutOfMemory> {
        let ColumnScratch { unquoted, recoded, built } = scratch;
        let content = if is_quoted { unquote(raw, self.quote, self.escape, unquoted)? } else { raw };
        let is_null = if is_quoted {
            needed.force_null && content == self.null
        } else {
            // COPY asks for FORCE_NOT_NULL first; only what is NULL after that can be made NULL by FORCE_NULL.
            content == self.null && !needed.force_not_null
        };
        if is_null {
            return Ok(Value::Null);
        }
        let content = match &self.encoding {
            Encoding::Table(table) if !known.is_ascii && !content.is_ascii() => recode(table, content, recoded)?,
            _ => content,
        };
        let written = needed.converter.write(content, known.settings, built, sink);
        Ok(written.map_or(Value::Declined, |()| Value::Written))
    }
}

/// Text in the server's encoding.
fn recode<'a>(table: &[Vec<u8>], text: &[u8], out: &'a mut Vec<u8>) -> Result<&'a [u8], OutOfMemory> {
    out.clear();
    out.try_reserve(LONGEST_CHARACTER * text.len()).map_err(|_| OutOfMemory)?;
    for &byte in text {
        if byte.is_ascii() {
            out.push(byte);
        } else {
            out.extend_from_slice(&table[usize::from(byte)]);
        }
    }
    Ok(out)
}
