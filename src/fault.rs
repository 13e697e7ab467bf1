//! `fastcsv.fault`: something goes wrong, on purpose, so that tests can see what happens then.
//!
//! The setting is `POINT` or `POINT:COUNT`: the fault happens when that point is reached for the COUNT-th time (the
//! first if none is named) in a scan or load that starts while it is set. It travels to the worker beside the job.
//! Where it is not set, nothing of this is in the way: each point is at the start of something that takes long, or has
//! a wrapper that only a fault puts there.

use crate::memory;

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Fault {
    point: Point,
    /// When the point is reached for that time, from 1.
    count: u64,
}

/// Where a fault can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Point {
    /// Nowhere.
    None,
    /// The backend panics when it turns to the next block or ticket.
    BackendPanic,
    /// Allocations in the backend fail, from the COUNT-th on.
    Allocation,
    /// The worker's main thread panics when it is woken.
    WorkerPanic,
    /// The worker's main thread exits with status 1 when it is woken.
    WorkerExit,
    /// Allocations in the worker fail, from the COUNT-th on.
    WorkerAllocation,
    /// The COUNT-th start of a thread fails; if that is the first, every one does.
    ThreadStart,
    /// The thread that does the COUNT-th read panics.
    ThreadPanic,
}

/// The points by their names in the setting.
const POINTS: [(&str, Point); 7] = [
    ("backend-panic", Point::BackendPanic),
    ("allocation", Point::Allocation),
    ("worker-panic", Point::WorkerPanic),
    ("worker-exit", Point::WorkerExit),
    ("worker-allocation", Point::WorkerAllocation),
    ("thread-start", Point::ThreadStart),
    ("thread-panic", Point::ThreadPanic),
];

impl Fault {
    /// No fault.
    pub(crate) const NONE: Fault = Fault { point: Point::None, count: 0 };

    /// The setting's text; `None` if it is none of those above. The empty text is no fault.
    pub(crate) fn parse(text: &str) -> Option<Fault> {
        if text.is_empty() {
            return Some(Fault::NONE);
        }
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => (name, count.parse().ok().filter(|count| *count > 0)?),
            None => (text, 1),
        };
        POINTS.iter().find(|(known, _)| *known == name).map(|(_, point)| Fault { point: *point, count })
    }

    /// How often the point must be reached, if it is this one.
    pub(crate) fn at(self, point: Point) -> Option<u64> {
        (self.point == point).then_some(self.count)
    }

    /// Whether it happens when the worker's main thread is woken, which is otherwise left alone until the end.
    pub(crate) fn needs_main_thread(self) -> bool {
        matches!(self.point, Point::WorkerPanic | Point::WorkerExit)
    }

    /// The backend begins a scan or load.
    pub(crate) fn begin_in_backend(self) {
        memory::forget(self.at(Point::Allocation));
    }

    /// The worker begins.
    pub(crate) fn begin_in_worker(self) {
        memory::forget(self.at(Point::WorkerAllocation));
    }

    /// The fault, counted down where its point is reached.
    pub(crate) fn countdown(self, point: Point) -> Countdown {
        Countdown { left: self.at(point).unwrap_or(0) }
    }
}

/// Says when a point has been reached often enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Countdown {
    /// 0 if there is nothing to count, or it is over.
    left: u64,
}

impl Countdown {
    /// The point is reached once more: now?
    #[inline]
    pub(crate) fn is_now(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.left == 0
    }
}
