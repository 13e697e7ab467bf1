//! The primitives in AVX2: two vectors of 32 bytes, PCLMULQDQ for the prefix XOR.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m256i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_set1_epi8, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256,
};

use super::vector::{BLOCK, Kernel, Vector};

/// Proof that the CPU has AVX2, PCLMULQDQ, POPCNT, LZCNT, BMI1 and BMI2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx2(());

impl Avx2 {
    /// The proof, if the CPU can give it.
    pub fn detect() -> Option<Avx2> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2");
        has.then_some(Avx2(()))
    }

    #[target_feature(enable = "avx2,pclmulqdq,popcnt,lzcnt,bmi1,bmi2")]
    fn enter<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
}

#[expect(unsafe_code, reason = "intrinsics; the token is the proof that the CPU has them")]
impl Vector for Avx2 {
    type Bytes = [__m256i; 2];

    #[inline(always)]
    fn load(self, bytes: &[u8; BLOCK]) -> Self::Bytes {
        let start = bytes.as_ptr().cast::<__m256i>();
        // SAFETY: the token proves AVX2; 64 bytes are readable at `start`, and the loads need no alignment.
        unsafe { [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))] }
    }

    #[inline(always)]
    fn equal(self, bytes: Self::Bytes, needle: u8) -> u64 {
        // SAFETY: the token proves AVX2.
        unsafe {
            let needle = _mm256_set1_epi8(needle.cast_signed());
            movemask(bytes.map(|half| _mm256_cmpeq_epi8(half, needle)))
        }
    }

    #[inline(always)]
    fn any(self, bytes: Self::Bytes, needles: &[u8]) -> u64 {
        // SAFETY: the token proves AVX2.
        unsafe {
            let mut found = [_mm256_setzero_si256(); 2];
            for &needle in needles {
                let needle = _mm256_set1_epi8(needle.cast_signed());
                for (found, half) in found.iter_mut().zip(bytes) {
                    *found = _mm256_or_si256(*found, _mm256_cmpeq_epi8(half, needle));
                }
            }
            movemask(found)
        }
    }

    #[inline(always)]
    fn prefix_xor(self, mask: u64) -> u64 {
        // SAFETY: the token proves PCLMULQDQ (and SSE2 is part of x86-64).
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
#[target_feature(enable = "avx2")]
fn movemask(halves: [__m256i; 2]) -> u64 {
    let [low, high] = halves.map(|half| u64::from(_mm256_movemask_epi8(half).cast_unsigned()));
    low | high << 32
}
