//! The primitives in SSE2: four vectors of 16 bytes, PCLMULQDQ for the prefix XOR.
//!
//! SSE2 itself is part of x86-64; PCLMULQDQ and POPCNT came together to every x86-64 line by 2011.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m128i, _mm_clmulepi64_si128, _mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_loadu_si128,
    _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8, _mm_setzero_si128,
};

use super::vector::{BLOCK, Kernel, Vector};

/// Proof that the CPU has SSE2, PCLMULQDQ and POPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sse2(());

impl Sse2 {
    /// The proof, if the CPU can give it.
    pub fn detect() -> Option<Sse2> {
        let has = is_x86_feature_detected!("sse2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("popcnt");
        has.then_some(Sse2(()))
    }

    #[target_feature(enable = "sse2,pclmulqdq,popcnt")]
    fn enter<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
}

#[expect(unsafe_code, reason = "intrinsics; the token is the proof that the CPU has them")]
impl Vector for Sse2 {
    type Bytes = [__m128i; 4];

    #[inline(always)]
    fn load(self, bytes: &[u8; BLOCK]) -> Self::Bytes {
        let start = bytes.as_ptr().cast::<__m128i>();
        // SAFETY: SSE2 is part of x86-64; 64 bytes are readable at `start`, and the loads need no alignment.
        unsafe { [0, 1, 2, 3].map(|quarter| _mm_loadu_si128(start.add(quarter))) }
    }

    #[inline(always)]
    fn equal(self, bytes: Self::Bytes, needle: u8) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let needle = _mm_set1_epi8(needle.cast_signed());
            movemask(bytes.map(|quarter| _mm_cmpeq_epi8(quarter, needle)))
        }
    }

    #[inline(always)]
    fn any(self, bytes: Self::Bytes, needles: &[u8]) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let mut found = [_mm_setzero_si128(); 4];
            for &needle in needles {
                let needle = _mm_set1_epi8(needle.cast_signed());
                for (found, quarter) in found.iter_mut().zip(bytes) {
                    *found = _mm_or_si128(*found, _mm_cmpeq_epi8(quarter, needle));
                }
            }
            movemask(found)
        }
    }

    #[inline(always)]
    fn prefix_xor(self, mask: u64) -> u64 {
        // SAFETY: the token proves PCLMULQDQ.
        unsafe {
            let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(mask.cast_signed()), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product).cast_unsigned()
        }
    }

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: the token proves every feature that `enter` enables.
        unsafe { self.enter(kernel) }
    }
}

/// The top bits of 64 bytes.
#[inline]
#[target_feature(enable = "sse2")]
fn movemask(quarters: [__m128i; 4]) -> u64 {
    let [a, b, c, d] = quarters.map(|quarter| u64::from(_mm_movemask_epi8(quarter).cast_unsigned()));
    a | b << 16 | c << 32 | d << 48
}
