//! The primitives in plain Rust: eight words of 8 bytes each, worked on as if a word were a vector (SWAR).
//!
//! This is what a CPU without a level of its own runs, so it is written for speed too: a comparison leaves one bit in
//! each byte of a word, and gathering these bits into the mask, the dear part, is left out where no byte matched, which
//! is the common case for quotes and carriage returns.

use super::vector::{BLOCK, Kernel, Vector};

/// The level that needs no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portable;

/// The lowest bit of each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const TOPS: u64 = 0x8080_8080_8080_8080;
/// Moves bit `8 * i` of a word to bit `56 + i` when multiplied; all other products fall on bits of their own below, so
/// nothing carries into the top byte.
const GATHER: u64 = 0x0102_0408_1020_4080;

impl Vector for Portable {
    type Bytes = [u64; 8];

    #[inline(always)]
    fn load(self, bytes: &[u8; BLOCK]) -> Self::Bytes {
        let (words, _) = bytes.as_chunks::<8>();
        std::array::from_fn(|i| u64::from_le_bytes(words[i]))
    }

    #[inline(always)]
    fn equal(self, bytes: Self::Bytes, needle: u8) -> u64 {
        gather(bytes.map(|word| equal_tops(word, ONES * u64::from(needle))))
    }

    #[inline(always)]
    fn any(self, bytes: Self::Bytes, needles: &[u8]) -> u64 {
        let mut tops = [0; 8];
        for &needle in needles {
            let needle = ONES * u64::from(needle);
            for (tops, word) in tops.iter_mut().zip(bytes) {
                *tops |= equal_tops(word, needle);
            }
        }
        gather(tops)
    }

    #[inline(always)]
    fn prefix_xor(self, mask: u64) -> u64 {
        let mut parity = mask;
        for shift in [1, 2, 4, 8, 16, 32] {
            parity ^= parity << shift;
        }
        parity
    }

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
}

/// The top bit of each byte of `word` that equals the byte of `needle`; exact, for no carry leaves a byte.
#[inline(always)]
fn equal_tops(word: u64, needle: u64) -> u64 {
    let difference = word ^ needle;
    let low_bits_differ = (difference & !TOPS) + !TOPS;
    !(low_bits_differ | difference) & TOPS
}

/// The top bits of 64 bytes as a mask.
#[inline(always)]
fn gather(tops: [u64; 8]) -> u64 {
    if tops.iter().fold(0, |all, word| all | word) == 0 {
        return 0;
    }
    let mut mask = 0;
    for (i, word) in tops.iter().enumerate() {
        mask |= ((word >> 7).wrapping_mul(GATHER) >> 56) << (8 * i);
    }
    mask
}
