//! Memory in which a ring can be made, as two processes would share it.

use std::ptr::NonNull;

use fastcsv_engine::ring::{Geometry, Ring};

/// One cache line, so that a vector of them is aligned as a ring wants it.
#[repr(C, align(64))]
#[derive(Clone)]
struct Line([u8; Geometry::ALIGN]);

/// Memory for a ring. It must outlive everybody who uses the ring.
pub struct Memory(Vec<Line>);

impl Memory {
    /// As much as a ring of this geometry takes.
    pub fn new(geometry: Geometry) -> Memory {
        // What was there before must not matter.
        Memory(vec![Line([0xa5; Geometry::ALIGN]); geometry.bytes().div_ceil(Geometry::ALIGN)])
    }

    /// A ring in this memory.
    #[expect(unsafe_code, reason = "a ring lives in memory that it does not own")]
    pub fn ring(&mut self, geometry: Geometry) -> Ring {
        let base = NonNull::from(&mut self.0[..]).cast();
        // SAFETY: the memory is aligned and large enough, and whoever made it keeps it until everybody has ended.
        unsafe { Ring::create(base, geometry) }
    }
}
