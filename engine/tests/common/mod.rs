//! What the tests share: bytes in which something happens.

use proptest::prelude::*;

/// The bytes that mean something in some of the dialects tested, and one that never does.
pub const ALPHABET: &[u8] = b"\",\n\r\\#|abx\0\xff";

/// Random bytes of up to `longest`, dense with what dialects care about, sparse in places.
pub fn csv_like(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    let dense = prop::sample::select(ALPHABET).prop_map(|byte| vec![byte]);
    let line_end = prop::sample::select(vec![&b"\n"[..], b"\r\n", b"\r"]).prop_map(<[u8]>::to_vec);
    let boring = (1_usize..90).prop_map(|length| vec![b'x'; length]);
    let piece = prop_oneof![20 => dense, 3 => line_end, 1 => boring];
    prop::collection::vec(piece, 0..longest).prop_map(move |pieces| {
        let mut bytes = pieces.concat();
        bytes.truncate(longest);
        bytes
    })
}
