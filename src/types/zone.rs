//! The session's time zone as a list of offsets.

#![expect(unsafe_code, reason = "asks PostgreSQL's time zone code")]

use std::cell::RefCell;

use fastcsv_engine::convert::zone::{CYCLE, CYCLES_FROM, KNOWN_FROM, KNOWN_UNTIL};
use pgrx::pg_sys;

/// A zone's offsets, as `Settings::zone` wants them.
type Offsets = Vec<(i64, i32)>;

thread_local! {
    /// The last zone asked for. PostgreSQL keeps every zone it has loaded, so an address names a zone.
    static LAST: RefCell<(usize, Offsets)> = const { RefCell::new((0, Vec::new())) };
}

/// The session's zone, empty where its offsets cannot be told for all times.
pub(super) fn of_session() -> Offsets {
    // SAFETY: the zone is set as long as the session lives.
    let zone = unsafe { pg_sys::session_timezone };
    LAST.with_borrow_mut(|(known, offsets)| {
        if *known != zone.addr() {
            // SAFETY: as above.
            *offsets = unsafe { offsets_of(zone) }.unwrap_or_default();
            *known = zone.addr();
        }
        offsets.clone()
    })
}

/// # Safety
/// `zone` must be a loaded zone.
unsafe fn offsets_of(zone: *const pg_sys::pg_tz) -> Option<Offsets> {
    let mut offsets = Offsets::new();
    let mut time = KNOWN_FROM;
    // One cycle more than is handed out, to see that the cycles repeat.
    while time < KNOWN_UNTIL + CYCLE {
        let (mut before, mut boundary, mut after) = (0, 0, 0);
        let (mut was_summer, mut is_summer) = (0, 0);
        // SAFETY: the caller's promise; the rest are places for results.
        let found = unsafe {
            pg_sys::pg_next_dst_boundary(
                &time,
                &mut before,
                &mut was_summer,
                &mut boundary,
                &mut after,
                &mut is_summer,
                zone,
            )
        };
        if offsets.is_empty() {
            offsets.push((KNOWN_FROM, i32::try_from(before).ok()?));
        }
        match found {
            0 => break,
            1.. if boundary > time => offsets.push((boundary, i32::try_from(after).ok()?)),
            _ => return None,
        }
        // A second further: at the very last change in its table PostgreSQL says that none will follow.
        time = boundary + 1;
    }
    offsets.dedup_by_key(|(_, offset)| *offset);
    if !repeats(&offsets) {
        return None;
    }
    offsets.retain(|(since, _)| *since < KNOWN_UNTIL);
    Some(offsets)
}

/// Are the changes of the second cycle those of the first?
fn repeats(offsets: &Offsets) -> bool {
    let cycle = |from: i64| offsets.iter().filter(move |(since, _)| (from..from + CYCLE).contains(since));
    let shifted = cycle(CYCLES_FROM).map(|(since, offset)| (since + CYCLE, *offset));
    shifted.eq(cycle(CYCLES_FROM + CYCLE).copied())
}
