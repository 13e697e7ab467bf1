//! Compressed files: what they hold comes out, however they are cut, and damage is told as such.

use std::io::{self, Read, Write};

use fastcsv_engine::decompress::{Decoder, Format, From, NEEDS_TOO_MUCH};

const FORMATS: [Format; 4] = [Format::Gzip, Format::Zstd, Format::Bzip2, Format::Xz];

fn pack(format: Format, content: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    match format {
        Format::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap();
        }
        Format::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(&mut packed, 3).unwrap();
            encoder.include_checksum(true).unwrap();
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap();
        }
        Format::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(&mut packed, bzip2::Compression::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap();
        }
        Format::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(&mut packed, 6);
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap();
        }
    }
    packed
}

/// A file that comes in pieces of a few bytes.
struct Dribble<'a>(&'a [u8], usize);

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.1);
        self.0.read(&mut buffer[..length])
    }
}

fn unpack(format: Format, packed: &[u8], piece: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    Decoder::new(format, Dribble(packed, piece))?.read_to_end(&mut content).map(|_| content)
}

fn content() -> Vec<u8> {
    (0..15_000_u64)
        .flat_map(|row| format!("{row},{:x}\n", row.wrapping_mul(0x9E37_79B9_7F4A_7C15)).into_bytes())
        .collect()
}

fn damage(format: Format, packed: &[u8]) -> String {
    let error = unpack(format, packed, 1000).expect_err("it is damaged");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{format:?}: {error}");
    error.to_string()
}

#[test]
fn what_was_packed_is_unpacked_from_pieces_of_any_size() {
    let content = content();
    for format in FORMATS {
        let packed = pack(format, &content);
        assert_eq!(Format::of(&packed[..Format::HEAD]), Some(format));
        for piece in [1, 7, 65_536, 1 << 20] {
            assert!(unpack(format, &packed, piece).unwrap() == content, "{format:?} in pieces of {piece}");
        }
    }
}

#[test]
fn several_members_are_read_as_one_and_so_are_empty_ones() {
    for format in FORMATS {
        let packed = [pack(format, b"1,a\n"), pack(format, b""), pack(format, b"2,b\n")].concat();
        assert_eq!(unpack(format, &packed, 3).unwrap(), b"1,a\n2,b\n", "{format:?}");
        assert_eq!(unpack(format, &pack(format, b""), 3).unwrap(), b"", "{format:?}");
        assert_eq!(Format::of(&pack(format, b"")), Some(format));
    }
}

#[test]
fn a_file_that_ends_early_is_damaged_wherever_it_ends() {
    for format in FORMATS {
        let packed = pack(format, b"1,a\n2,b\n3,c\n");
        for length in Format::HEAD..packed.len() {
            let said = damage(format, &packed[..length]);
            assert!(
                said == "The compressed data ends too early." || format == Format::Xz,
                "{format:?} {length}: {said}"
            );
        }
    }
}

#[test]
fn what_follows_the_last_member_and_is_none_is_damage() {
    for format in FORMATS {
        for garbage in [&b"x"[..], b"some text behind it, which is none of ours\n"] {
            damage(format, &[&pack(format, b"1,a\n")[..], garbage].concat());
        }
    }
}

#[test]
fn a_flipped_bit_is_noticed() {
    let content = content();
    for format in FORMATS {
        let mut packed = pack(format, &content);
        let middle = packed.len() / 2;
        packed[middle] ^= 4;
        damage(format, &packed);
    }
}

#[test]
fn a_window_that_is_too_large_is_refused() {
    let mut packed = Vec::new();
    let mut encoder = zstd::stream::write::Encoder::new(&mut packed, 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(b"1,a\n").unwrap();
    encoder.finish().unwrap();
    assert_eq!(damage(Format::Zstd, &packed), NEEDS_TOO_MUCH);
    let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
    options.dict_size(512 << 20);
    let mut filters = liblzma::stream::Filters::new();
    filters.lzma2(&options);
    let stream = liblzma::stream::Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc64).unwrap();
    let mut packed = Vec::new();
    let mut encoder = liblzma::write::XzEncoder::new_stream(&mut packed, stream);
    encoder.write_all(b"1,a\n").unwrap();
    encoder.finish().unwrap();
    assert_eq!(damage(Format::Xz, &packed), NEEDS_TOO_MUCH);
}

#[test]
fn what_the_system_says_comes_through() {
    struct Failing(Vec<u8>, usize);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(self.0.len() - self.1).min(10);
            if length == 0 {
                return Err(io::Error::from_raw_os_error(5));
            }
            buffer[..length].copy_from_slice(&self.0[self.1..self.1 + length]);
            self.1 += length;
            Ok(length)
        }
    }
    for format in FORMATS {
        let mut packed = pack(format, &content());
        packed.truncate(500);
        let error = Decoder::new(format, Failing(packed, 0)).unwrap().read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5), "{format:?}: {error}");
    }
}

#[test]
fn plain_text_is_not_taken_for_a_compressed_file() {
    let texts: [&[u8]; 8] = [
        b"",
        b"1",
        b"id,t\n",
        b"BZh1,a,b,c\n",
        b"BZh91AY&S",
        b"\x1f\x8b",
        b"PK\x03\x04,,,,,,,",
        b"\xef\xbb\xbfid,text,",
    ];
    for text in texts {
        assert_eq!(Format::of(text), None, "{text:?}");
    }
}

#[test]
fn reading_from_an_offset_on_passes_over_what_comes_before() {
    let content = content();
    for offset in [0, 1, 65_536, 100_000, content.len(), content.len() + 5] {
        let mut reader = From::new(&content[..], offset as u64);
        let (mut found, mut buffer) = (Vec::new(), [0; 1000]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => found.extend_from_slice(&buffer[..length]),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::Interrupted),
            }
        }
        assert!(found == content[offset.min(content.len())..], "from {offset} on");
    }
}
