//! CSV structure at the speed of memory: the engine of fastcsv, without any PostgreSQL in it.
//!
//! * [`byte_ring`]: bytes from one process to another.
//! * [`coding`]: files that are compressed or in UTF-16.
//! * [`convert`]: from a field's text to the bytes of a PostgreSQL datum, or declined.
//! * [`decompress`]: what compressed files hold.
//! * [`dialect`]: what a CSV file may look like, resolved once.
//! * [`filter`]: conditions on converted values, for rows that need go no further.
//! * [`first_record`]: its first record, for a look at what may be a header.
//! * [`glob`]: file name patterns.
//! * [`infer`]: how a file is written, and the types of its columns.
//! * [`scan`]: where its fields and records end.
//! * [`locate`]: the place in a file that a line number of COPY's means.
//! * [`names`]: which column a name of a header is.
//! * [`mapping`]: mapped files that may become shorter.
//!
//! Bytes are bytes here: nothing is decoded, and no field is ever a `str`.
//!
//! ```
//! use fastcsv_engine::dialect::{Dialect, LineEnd};
//! use fastcsv_engine::scan::{Boundaries, Level, QUOTED, Scanner, State};
//!
//! let scanner = Scanner::new(&Dialect::copy_csv(LineEnd::Lf), Level::detect());
//! let (mut state, mut list) = (State::at_record(0), Boundaries::new());
//! scanner.scan(&mut state, b"1,\"a,b\"\n2,c\n", &mut list);
//! assert_eq!(list.ends(), [1, 7 | QUOTED, 9, 11]);
//! assert_eq!(list.records(), [2, 4]);
//! ```

pub mod byte_ring;
pub mod coding;
pub mod convert;
pub mod decompress;
pub mod dialect;
pub mod entry;
pub mod filter;
pub mod first_record;
pub mod glob;
pub mod infer;
pub mod job;
pub mod locate;
pub mod mapping;
pub mod names;
pub mod pipeline;
mod record;
pub mod ring;
pub mod scan;
mod segment;
mod split;
mod sync;
pub mod trail;
pub mod tuple;
pub mod walk;
