//! What is in a block: entries, one behind the other, each aligned to 8 bytes.
//!
//! ```text
//! length (4) | kind (1) | more follows (1) | 0 (2) | mark (32, some kinds only) | payload, padded to 8
//! ```
//!
//! A payload that does not fit into what is left of a block is cut; its parts travel in entries of the same kind, all
//! but the last of which say that more follows. Only the first has the mark.

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A finished tuple.
    Row,
    /// A mark and a finished tuple.
    PlacedRow,
    /// A mark and a tuple in which some attributes are text.
    MixedRow,
    /// A mark and a record as it stands in the file, for COPY.
    Record,
    /// A mark and the rest of a stream's segment as it stands in the stream, for COPY, with a few bytes of what
    /// follows. The mark's length is that of the segment's own bytes.
    Rest,
    /// As that, of the stream's last segment: nothing follows.
    LastRest,
    /// What a range's records hold: [`Findings`](crate::infer::Findings), written.
    Findings,
}

impl EntryKind {
    fn has_mark(self) -> bool {
        !matches!(self, EntryKind::Row | EntryKind::Findings)
    }

    fn from_byte(byte: u8) -> EntryKind {
        match byte {
            0 => EntryKind::Row,
            1 => EntryKind::PlacedRow,
            2 => EntryKind::MixedRow,
            3 => EntryKind::Record,
            4 => EntryKind::Rest,
            5 => EntryKind::LastRest,
            _ => EntryKind::Findings,
        }
    }
}

/// Where in its segment a record starts, and how long it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Its offset in the input, 0-based.
    pub byte: u64,
    /// Records of the segment before it.
    pub records: u32,
    /// Physical line ends of the segment before it.
    pub lines: u32,
    /// Line ends inside quotes, as COPY counts them, of the segment before it.
    pub inner: u32,
    /// Those of the record itself.
    pub own_inner: u32,
    /// Bytes of the record in the server's encoding, its line end not counted.
    pub length: u32,
    /// Bytes at the payload's end that are no part of the tuple but the beginning of the record, as it stands in the
    /// file.
    pub text: u32,
}

/// Bytes of an entry before its mark or payload.
const HEAD: usize = 8;

/// Bytes of a mark.
const MARK: usize = 32;

/// What entries and payloads are aligned to.
const ALIGN: usize = 8;

/// The smallest block in which any payload makes progress.
pub const SMALLEST_BLOCK: usize = HEAD + MARK + 24;

/// Writes as much of an entry as fits behind the first `used` bytes of `block`; returns the bytes then used, and how
/// much of the payload was written, or `None` if not even a part fits.
pub(crate) fn write(
    block: &mut [u8],
    used: usize,
    kind: EntryKind,
    mark: Option<Mark>,
    payload: &[u8],
) -> Option<(usize, usize)> {
    let head = head(mark);
    let room = block.len().checked_sub(used + head)?;
    let fits = if payload.len() <= room { payload.len() } else { room / ALIGN * ALIGN };
    if fits == 0 && !payload.is_empty() {
        return None;
    }
    block[used + head..used + head + fits].copy_from_slice(&payload[..fits]);
    Some((finish(block, used, kind, mark, fits, fits < payload.len()), fits))
}

/// Bytes of an entry before its payload.
#[inline]
pub(crate) fn head(mark: Option<Mark>) -> usize {
    HEAD + if mark.is_some() { MARK } else { 0 }
}

/// Finishes an entry whose payload, of so many bytes, stands already behind where its head goes; returns the bytes then
/// used.
#[inline]
pub(crate) fn finish(
    block: &mut [u8],
    used: usize,
    kind: EntryKind,
    mark: Option<Mark>,
    payload: usize,
    more: bool,
) -> usize {
    let head = head(mark);
    let entry = &mut block[used..used + head];
    entry[..4].copy_from_slice(&(payload as u32).to_le_bytes());
    entry[4..HEAD].copy_from_slice(&[kind as u8, u8::from(more), 0, u8::from(mark.is_some())]);
    if let Some(mark) = mark {
        entry[HEAD..HEAD + 8].copy_from_slice(&mark.byte.to_le_bytes());
        let words = [mark.records, mark.lines, mark.inner, mark.own_inner, mark.length, mark.text];
        for (place, word) in entry[HEAD + 8..head].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
    (used + head + payload).next_multiple_of(ALIGN).min(block.len())
}

/// One entry of a block, or one part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it holds.
    pub kind: EntryKind,
    /// Whether the next entry goes on with this payload.
    pub more: bool,
    /// The record's place, for the first part of the kinds that have one.
    pub mark: Option<Mark>,
    /// The payload or a part of it, aligned to 8 bytes if the block is.
    pub payload: &'a [u8],
}

/// The entry at `offset` of a block's used bytes, and the offset of the next; `None` at the end.
#[inline]
pub fn read(block: &[u8], offset: usize) -> Option<(Entry<'_>, usize)> {
    let rest = block.get(offset..)?;
    let (head, rest) = rest.split_first_chunk::<HEAD>()?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let kind = EntryKind::from_byte(head[4]);
    let has_mark = kind.has_mark() && head[7] != 0;
    let mark = if has_mark { Some(read_mark(rest.first_chunk()?)) } else { None };
    let skip = if has_mark { MARK } else { 0 };
    let payload = rest.get(skip..skip + length)?;
    let next = (offset + HEAD + skip + length).next_multiple_of(ALIGN);
    Some((Entry { kind, more: head[5] != 0, mark, payload }, next))
}

#[inline]
fn read_mark(bytes: &[u8; MARK]) -> Mark {
    let word = |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
    Mark {
        byte: u64::from(word(0)) | u64::from(word(4)) << 32,
        records: word(8),
        lines: word(12),
        inner: word(16),
        own_inner: word(20),
        length: word(24),
        text: word(28),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A block, aligned as the ring's are.
    #[repr(align(64))]
    struct Block([u8; 512]);

    /// What was written, read back: kind, mark and payload of each entry.
    type Entries = Vec<(EntryKind, Option<Mark>, Vec<u8>)>;

    fn mark() -> impl Strategy<Value = Mark> {
        (any::<u64>(), any::<[u32; 6]>()).prop_map(|(byte, [records, lines, inner, own_inner, length, text])| Mark {
            byte,
            records,
            lines,
            inner,
            own_inner,
            length,
            text,
        })
    }

    fn entries() -> impl Strategy<Value = Entries> {
        let kinds = [EntryKind::Row, EntryKind::PlacedRow, EntryKind::MixedRow, EntryKind::Record];
        let bytes = |length| prop::collection::vec(any::<u8>(), length);
        let payload = prop_oneof![3 => bytes(0..40), 1 => bytes(0..900)];
        let entry = (prop::sample::select(kinds.to_vec()), mark(), payload);
        let with_mark =
            |(kind, mark, payload): (EntryKind, Mark, Vec<u8>)| (kind, kind.has_mark().then_some(mark), payload);
        prop::collection::vec(entry.prop_map(with_mark), 0..12)
    }

    /// Writes entries into as many blocks of `size` bytes as it takes, and hands each to `full` with its used bytes.
    fn write_all(entries: &Entries, size: usize, mut full: impl FnMut(&[u8])) {
        let mut block = Block([0x5a; 512]);
        let mut used = 0;
        for (kind, mark, payload) in entries {
            let (mut mark, mut rest) = (*mark, &payload[..]);
            loop {
                match write(&mut block.0[..size], used, *kind, mark, rest) {
                    Some((now, written)) => {
                        assert!(now > used && now <= size && now.is_multiple_of(ALIGN), "{used} to {now} of {size}");
                        (used, rest, mark) = (now, &rest[written..], None);
                        if rest.is_empty() {
                            break;
                        }
                    }
                    None => assert_ne!(used, 0, "an empty block of {size} bytes takes a part"),
                }
                full(&block.0[..used]);
                (block, used) = (Block([0xa5; 512]), 0);
            }
        }
        full(&block.0[..used]);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_however_small_the_blocks_are(
            entries in entries(),
            size in (SMALLEST_BLOCK.div_ceil(ALIGN)..=512 / ALIGN).prop_map(|words| words * ALIGN),
        ) {
            let mut found: Entries = Vec::new();
            let mut is_open = false;
            write_all(&entries, size, |block| {
                let mut offset = 0;
                while let Some((entry, next)) = read(block, offset) {
                    assert_eq!(entry.payload.as_ptr().align_offset(ALIGN), 0);
                    if is_open {
                        let last = found.last_mut().expect("an entry is open");
                        assert_eq!((entry.kind, entry.mark), (last.0, None));
                        last.2.extend_from_slice(entry.payload);
                    } else {
                        found.push((entry.kind, entry.mark, entry.payload.to_vec()));
                    }
                    (offset, is_open) = (next, entry.more);
                }
                assert_eq!(offset, block.len());
            });
            prop_assert!(!is_open);
            prop_assert_eq!(found, entries);
        }

        #[test]
        fn no_bytes_make_reading_go_astray(bytes in prop::collection::vec(any::<u8>(), 0..200), offset in 0_usize..250) {
            if let Some((entry, next)) = read(&bytes, offset) {
                prop_assert!(next > offset && offset + HEAD + entry.payload.len() <= bytes.len());
            }
        }
    }

    #[test]
    fn an_entry_that_does_not_fit_writes_nothing() {
        let mut block = [0; 64];
        assert_eq!(write(&mut block, 56, EntryKind::Row, None, b"x"), None);
        assert_eq!(write(&mut block, 24, EntryKind::Record, Some(Mark::default()), b"x"), None);
        assert_eq!(block, [0; 64]);
        assert_eq!(write(&mut block, 56, EntryKind::Row, None, b""), Some((64, 0)));
    }
}
