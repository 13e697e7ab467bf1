//! The parity of the quotes in a buffer: all that a two-valued dialect needs to know of a range before it can be split.

use super::vector::{BLOCK, Kernel, Vector};

/// One buffer whose quotes are counted.
pub(super) struct Parity<'a> {
    pub(super) quote: u8,
    pub(super) buffer: &'a [u8],
}

impl Kernel for Parity<'_> {
    /// Whether the number of quotes is odd.
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> bool {
        let (blocks, tail) = self.buffer.as_chunks::<BLOCK>();
        // The parity of a XOR is the XOR of the parities, so the bits need to be counted only once, at the end.
        let mut quotes = 0;
        for block in blocks {
            quotes ^= vector.equal(vector.load(block), self.quote);
        }
        let in_tail = tail.iter().filter(|&&byte| byte == self.quote).count();
        (quotes.count_ones() as usize + in_tail) % 2 == 1
    }
}
