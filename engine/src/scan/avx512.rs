//! The primitives in AVX-512: one vector of 64 bytes, whose comparisons give the masks themselves.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m512i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_set1_epi8, _mm512_cmpeq_epi8_mask,
    _mm512_loadu_si512, _mm512_set1_epi8,
};

use super::vector::{BLOCK, Kernel, Vector};

/// Proof that the CPU has AVX-512F, AVX-512BW, PCLMULQDQ, POPCNT, LZCNT, BMI1 and BMI2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512(());

impl Avx512 {
    /// The proof, if the CPU can give it.
    pub fn detect() -> Option<Avx512> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2");
        has.then_some(Avx512(()))
    }

    #[target_feature(enable = "avx512f,avx512bw,pclmulqdq,popcnt,lzcnt,bmi1,bmi2")]
    fn enter<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
}

#[expect(unsafe_code, reason = "intrinsics; the token is the proof that the CPU has them")]
impl Vector for Avx512 {
    type Bytes = __m512i;

    #[inline(always)]
    fn load(self, bytes: &[u8; BLOCK]) -> Self::Bytes {
        // SAFETY: the token proves AVX-512F; 64 bytes are readable there, and the load needs no alignment.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn equal(self, bytes: Self::Bytes, needle: u8) -> u64 {
        // SAFETY: the token proves AVX-512BW.
        unsafe { _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(needle.cast_signed())) }
    }

    #[inline(always)]
    fn any(self, bytes: Self::Bytes, needles: &[u8]) -> u64 {
        needles.iter().fold(0, |found, &needle| found | self.equal(bytes, needle))
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
