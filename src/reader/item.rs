//! What is asked of a reader, and what it gives.

use fastcsv_engine::job::Io;
use fastcsv_engine::locate::Checkpoint;
use pgrx::pg_sys;

/// What is wanted of the rows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// Whether only the number of rows matters.
    pub(crate) count_only: bool,
    /// Whether a row is taken apart into the slot's values: for slots that do not hold heap tuples, and queries that
    /// ask for system columns.
    pub(crate) takes_apart: bool,
    /// Whether the place of each row is wanted too.
    pub(crate) places: bool,
    /// How the threads read a file.
    pub(crate) io: Io,
}

/// What [`Reader::next`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A row, in the slot.
    Row,
    /// So many rows at once, of which only the number is told.
    Rows(u64),
    /// The end.
    End,
}

/// What [`Reader::next_item`] found.
#[derive(Clone, Copy)]
pub(crate) enum Item {
    /// A finished tuple of the relation's row type.
    Tuple {
        data: pg_sys::HeapTupleHeader,
        length: u32,
        place: RowPlace,
        /// Whether it stays where it is until [`Reader::give_back`]; otherwise until the next call.
        is_lasting: bool,
    },
    /// A row, in the slot; its values live until the next call. The referee knows the place of those that come without.
    InSlot { place: Option<RowPlace> },
    /// No more can be read before [`Reader::give_back`].
    Full,
    /// The end of a file. Another follows behind [`Reader::next_file`], before which no slot may hold a row any more.
    EndOfFile,
    /// The end.
    End,
}

/// What becomes of a row that [`Reader::finished_rows`] offers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// It is taken.
    Taken,
    /// It is taken, and no other is wanted now.
    Last,
    /// It is not taken; [`Reader::next_item`] finds it again.
    Refused,
}

/// The place of a row, as COPY's messages tell it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPlace {
    /// Where its record starts.
    pub(crate) start: Checkpoint,
    /// COPY's counter once it has read the record.
    pub(crate) number: u64,
    /// Bytes of the record in the server's encoding, without its line end.
    pub(crate) length: u32,
    /// The beginning of the record as it stands in the file, if that cannot be read again; lives as long as the row.
    pub(crate) text: *const [u8],
}
