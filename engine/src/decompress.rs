//! Compressed files: which they are, by their first bytes, and what they hold.
//!
//! A [`Decoder`] reads one from its start to its end, in memory that depends on the file's format and the settings it
//! was compressed with, but not on its length: at most [`MEMORY`]. Files made of several members, frames or streams one
//! behind the other are read as one. Whatever follows the last of them and is none is damage, as a member that ends too
//! early is: nobody can know what was meant to be there.
//!
//! The decoders are the formats' usual ones. What they have to say is told in two kinds of errors: what is wrong with
//! the bytes is [`io::ErrorKind::InvalidData`], with a sentence for the user; what the system says when the bytes are
//! read comes through as it is.

mod bzip2;

use std::io::{self, BufReader, Read};

use liblzma::stream::Stream;

/// The most memory a decoder takes for what it must remember, in bytes: the largest window (zstd) or dictionary (xz)
/// that is accepted. It is what `zstd` itself accepts without being told to take more, and twice what `xz -9` makes.
pub const MEMORY: u64 = 1 << WINDOW_LOG;

const WINDOW_LOG: u32 = 27;

/// What is said of a file that needs more.
pub const NEEDS_TOO_MUCH: &str = "The file was compressed with a window of more than 128 MB.";

/// What is said of a file that ends before its last member does.
const ENDS_EARLY: &str = "The compressed data ends too early.";

/// Compressed bytes read at once.
const BUFFER: usize = 64 * 1024;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Format {
    /// gzip, of one member or more.
    Gzip,
    /// Zstandard.
    Zstd,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
}

impl Format {
    /// So many bytes of a file's beginning tell.
    pub const HEAD: usize = 10;

    /// How the file is compressed that begins with these bytes, if it is. No text in UTF-8 begins like that, but for
    /// one whose first ten characters are those of a bzip2 file.
    pub fn of(head: &[u8]) -> Option<Format> {
        match head {
            // The third byte is the method, of which there is one.
            [0x1F, 0x8B, 8, ..] => Some(Format::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Format::Zstd),
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Format::Xz),
            // The first block's magic, or that of the end, where there is no block.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Some(Format::Bzip2),
            _ => None,
        }
    }

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Gzip => "gzip",
            Format::Zstd => "zstd",
            Format::Bzip2 => "bzip2",
            Format::Xz => "xz",
        }
    }
}

/// What a compressed file holds, from one end to the other.
pub struct Decoder<R: Read> {
    format: Format,
    inner: Inner<BufReader<R>>,
}

/// The formats' decoders.
enum Inner<R> {
    Gzip(Box<flate2::bufread::MultiGzDecoder<R>>),
    Zstd(zstd::stream::read::Decoder<'static, R>),
    Bzip2(bzip2::Bzip2<R>),
    Xz(liblzma::bufread::XzDecoder<R>),
}

impl<R: Read> Decoder<R> {
    /// A decoder of the file whose first byte comes first.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(format: Format, file: R) -> io::Result<Decoder<R>> {
        let file = BufReader::with_capacity(BUFFER, file);
        let inner = match format {
            Format::Gzip => Inner::Gzip(Box::new(flate2::bufread::MultiGzDecoder::new(file))),
            Format::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(file)?;
                decoder.window_log_max(WINDOW_LOG)?;
                Inner::Zstd(decoder)
            }
            Format::Bzip2 => Inner::Bzip2(bzip2::Bzip2::new(file)),
            Format::Xz => {
                let stream = Stream::new_stream_decoder(MEMORY, liblzma::stream::CONCATENATED)?;
                Inner::Xz(liblzma::bufread::XzDecoder::new_stream(file, stream))
            }
        };
        Ok(Decoder { format, inner })
    }

    /// The error, in one of the two kinds that users of this know.
    fn told(&self, error: io::Error) -> io::Error {
        if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::OutOfMemory {
            return error;
        }
        let text = error.to_string();
        let lzma = error.get_ref().and_then(|error| error.downcast_ref::<liblzma::stream::Error>());
        let damage = match (error.kind(), lzma) {
            (_, Some(liblzma::stream::Error::Mem)) => return io::ErrorKind::OutOfMemory.into(),
            _ if text == "Allocation error : not enough memory" => return io::ErrorKind::OutOfMemory.into(),
            (_, Some(liblzma::stream::Error::MemLimit)) => NEEDS_TOO_MUCH.to_owned(),
            _ if text == "Frame requires too much memory for decoding" => NEEDS_TOO_MUCH.to_owned(),
            (io::ErrorKind::UnexpectedEof, _) => ENDS_EARLY.to_owned(),
            _ => format!("The {} decoder says: {text}.", self.format.name()),
        };
        io::Error::new(io::ErrorKind::InvalidData, damage)
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.inner {
            Inner::Gzip(decoder) => decoder.read(buffer),
            Inner::Zstd(decoder) => decoder.read(buffer),
            Inner::Bzip2(decoder) => decoder.read(buffer),
            Inner::Xz(decoder) => decoder.read(buffer),
        };
        read.map_err(|error| self.told(error))
    }
}

/// Bytes passed over at once by [`From`].
const STRIDE: usize = 64 * 1024;

/// What a reader reads from an offset on. While it comes to that, it says [`io::ErrorKind::Interrupted`] from time to
/// time, so that whoever reads can look whether that is still wanted.
pub struct From<R> {
    reader: R,
    left: u64,
    scratch: Vec<u8>,
}

impl<R: Read> From<R> {
    /// What follows the first `offset` bytes of the reader.
    pub fn new(reader: R, offset: u64) -> From<R> {
        From { reader, left: offset, scratch: Vec::new() }
    }
}

impl<R: Read> Read for From<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return self.reader.read(buffer);
        }
        self.scratch.resize(STRIDE, 0);
        let most = usize::try_from(self.left).map_or(STRIDE, |left| left.min(STRIDE));
        match self.reader.read(&mut self.scratch[..most])? {
            0 => Ok(0),
            length => {
                self.left -= length as u64;
                if self.left == 0 {
                    self.scratch = Vec::new();
                }
                Err(io::ErrorKind::Interrupted.into())
            }
        }
    }
}
