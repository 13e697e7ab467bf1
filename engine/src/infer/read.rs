//! A survey in one thread, from one place of a file to another: of small files, and of a file's first records.

use std::io;

use super::findings::Findings;
use super::survey::Surveyor;
use crate::dialect::LineEnd;
use crate::pipeline::{ReadAt, patiently};

/// Bytes surveyed at once.
const CHUNK: usize = 256 * 1024;

/// Surveys the records from `start` on of a file of that size, at most so many. Returns what was
/// found, and whether it was cut off: at a record that is longer than `longest`, or whose last quote never closes.
///
/// # Errors
/// Those of reading, which is the caller's, who may fail it to be let out; that memory ran out.
pub fn survey(
    surveyor: Surveyor,
    source: &dyn ReadAt,
    line_end: LineEnd,
    start: u64,
    size: u64,
    most: u64,
    longest: usize,
) -> io::Result<(Findings, bool)> {
    let mut surveyor = surveyor;
    let mut buffer = Vec::new();
    let mut position = start;
    let mut length = CHUNK;
    while position < size && surveyor.findings().records < most && !surveyor.findings().has_ended {
        let wanted = usize::try_from(size - position).map_or(length, |left| left.min(length));
        let is_end = position + wanted as u64 == size;
        read(source, &mut buffer, position, wanted)?;
        if is_end && !buffer.ends_with(line_end.bytes()) {
            buffer.extend_from_slice(line_end.bytes());
        }
        let left = most - surveyor.findings().records;
        let taken = surveyor.take(&buffer, buffer.len(), left).map_err(|_| out_of_memory())?;
        position += taken as u64;
        if taken > 0 {
            length = CHUNK;
        } else if is_end || length >= longest {
            return Ok((surveyor.into_findings(), true));
        } else {
            length = longest.min(2 * length);
        }
    }
    Ok((surveyor.into_findings(), false))
}

fn out_of_memory() -> io::Error {
    io::ErrorKind::OutOfMemory.into()
}

/// Fills the buffer with so many bytes.
fn read(source: &dyn ReadAt, buffer: &mut Vec<u8>, position: u64, length: usize) -> io::Result<()> {
    buffer.clear();
    // A line end may be added.
    buffer.try_reserve(length + 2).map_err(|_| out_of_memory())?;
    buffer.resize(length, 0);
    let mut filled = 0;
    while filled < length {
        match patiently(|| source.read_at(&mut buffer[filled..], position + filled as u64))? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(())
}
