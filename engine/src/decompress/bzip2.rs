//! bzip2 files. The crate's own reader would wait forever for memory that there is not.

use std::io::{self, BufRead, Read};

use bzip2::{Decompress, Status};

/// What the streams of a bzip2 file hold, one behind the other.
pub(super) struct Bzip2<R> {
    file: R,
    /// The stream at hand; none between two of them.
    stream: Option<Decompress>,
}

impl<R: BufRead> Bzip2<R> {
    pub(super) fn new(file: R) -> Bzip2<R> {
        Bzip2 { file, stream: None }
    }
}

impl<R: BufRead> Read for Bzip2<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let input = self.file.fill_buf()?;
            let is_at_end = input.is_empty();
            if self.stream.is_none() && is_at_end || buffer.is_empty() {
                return Ok(0);
            }
            let stream = self.stream.get_or_insert_with(|| Decompress::new(false));
            let (read, written) = (stream.total_in(), stream.total_out());
            let status = stream.decompress(input, buffer).map_err(|error| io::Error::other(describe(&error)))?;
            let (read, written) = (stream.total_in() - read, (stream.total_out() - written) as usize);
            self.file.consume(read as usize);
            match status {
                Status::MemNeeded => return Err(io::ErrorKind::OutOfMemory.into()),
                Status::StreamEnd => self.stream = None,
                _ if is_at_end && written == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
            if written > 0 {
                return Ok(written);
            }
        }
    }
}

fn describe(error: &bzip2::Error) -> &'static str {
    match error {
        bzip2::Error::DataMagic => "no stream begins here",
        _ => "the data is corrupt",
    }
}
