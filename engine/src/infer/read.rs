//! A survey in one thread, from one end of the input to the other: of small files, and of a file's first records.

use std::io::{self, Read};

use super::findings::Findings;
use super::survey::Surveyor;
use crate::dialect::LineEnd;
use crate::pipeline::patiently;

/// Bytes surveyed at once.
const CHUNK: usize = 256 * 1024;

/// Surveys the records of an input, at most so many, the first of which starts with its first byte. Returns what was
/// found, and whether it was cut off: at a record that is longer than `longest`, or whose last quote never closes.
///
/// # Errors
/// Those of reading, which is the caller's, who may fail it to be let out; that memory ran out.
pub fn survey(
    surveyor: Surveyor,
    input: &mut dyn Read,
    line_end: LineEnd,
    most: u64,
    longest: usize,
) -> io::Result<(Findings, bool)> {
    let mut surveyor = surveyor;
    let mut bytes = Vec::new();
    let (mut wanted, mut is_end) = (CHUNK, false);
    while surveyor.findings().records < most && !surveyor.findings().has_ended {
        if !is_end {
            is_end = fill(input, &mut bytes, wanted)?;
            if is_end && !bytes.is_empty() && !bytes.ends_with(line_end.bytes()) {
                bytes.extend_from_slice(line_end.bytes());
            }
        }
        if bytes.is_empty() {
            break;
        }
        let left = most - surveyor.findings().records;
        let taken = surveyor.take(&bytes, bytes.len(), left).map_err(|_| out_of_memory())?;
        if taken > 0 {
            bytes.drain(..taken);
            wanted = CHUNK;
        } else if is_end || wanted >= longest {
            return Ok((surveyor.into_findings(), true));
        } else {
            wanted = longest.min(2 * wanted);
        }
    }
    Ok((surveyor.into_findings(), false))
}

fn out_of_memory() -> io::Error {
    io::ErrorKind::OutOfMemory.into()
}

/// Reads on until there are so many bytes; true if the input ends before.
fn fill(input: &mut dyn Read, bytes: &mut Vec<u8>, length: usize) -> io::Result<bool> {
    let mut filled = bytes.len();
    // A line end may be added.
    bytes.try_reserve(length.saturating_sub(filled) + 2).map_err(|_| out_of_memory())?;
    bytes.resize(length.max(filled), 0);
    let is_end = loop {
        if filled >= length {
            break false;
        }
        match patiently(|| input.read(&mut bytes[filled..]))? {
            0 => break true,
            count => filled += count,
        }
    };
    bytes.truncate(filled);
    Ok(is_end)
}
