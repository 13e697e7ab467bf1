//! The vector trait: what the scans need of an instruction set, and nothing more.
//!
//! A scan is a [`Kernel`], written once and generic over [`Vector`]. A type that implements `Vector` is a zero-sized
//! token; values of it are handed out only after the CPU was found to have the instructions, so holding one is the
//! proof that calling its methods is safe. [`Vector::run`] enters a function compiled for those instructions and calls
//! the kernel there, so that the kernel and the sink it feeds are inlined into one loop of the right instruction set.
//!
//! To add an instruction set: one file with a token and these four primitives, one arm in `level.rs`.

/// How many bytes a scan looks at in one step: one bit each in a `u64` mask.
pub const BLOCK: usize = 64;

/// The primitives of one instruction set. Bit `i` of a mask stands for byte `i` of the block.
pub trait Vector: Copy {
    /// 64 bytes, loaded.
    type Bytes: Copy;

    /// Loads a block.
    fn load(self, bytes: &[u8; BLOCK]) -> Self::Bytes;

    /// The bytes equal to `needle`.
    fn equal(self, bytes: Self::Bytes, needle: u8) -> u64;

    /// The bytes equal to any of `needles`.
    fn any(self, bytes: Self::Bytes, needles: &[u8]) -> u64;

    /// Bit `i` of the result is the parity of the bits 0 to `i` of `mask`.
    fn prefix_xor(self, mask: u64) -> u64;

    /// Runs a kernel in a function compiled for this instruction set.
    fn run<K: Kernel>(self, kernel: K) -> K::Output;
}

/// A scan, generic over the instruction set. Implementations are `#[inline(always)]`, and so is everything they call in
/// their loops: only what is inlined is compiled for the instruction set.
pub trait Kernel {
    /// What the scan returns.
    type Output;

    /// The scan.
    fn run<V: Vector>(self, vector: V) -> Self::Output;
}
