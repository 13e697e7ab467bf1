//! What the file does not have: the defaults of other columns, and the part of the condition that the threads can
//! decide.
//!
//! COPY computes defaults for each row. One whose value cannot change from row to row is computed once and goes to the
//! threads, which write it into every tuple; the others are computed here, for each row.

#![expect(unsafe_code, reason = "evaluates expressions through PostgreSQL's executor")]

use fastcsv_engine::filter::Filter;
use fastcsv_engine::job::Constant;
use pgrx::{PgList, pg_sys};

use super::table::{evaluate, per_tuple_expressions};
use crate::fdw::filter;
use crate::pg_compat;
use crate::pg_raw;
use crate::reader::constant;
use crate::referee::{Opening, Referee, shim};

/// The defaults of columns that are not in the file. Plain memory of PostgreSQL's.
pub(super) struct Defaults {
    expressions: *mut Default,
    count: usize,
    /// The condition's clauses, if the threads may decide them: the file has every column that they are about, and
    /// nothing is to be computed for a row that is left out.
    clauses: *mut pg_sys::List,
    table: pg_sys::Oid,
}

#[derive(Clone, Copy)]
struct Default {
    /// The attribute, 0-based.
    index: usize,
    expression: *mut pg_sys::ExprState,
    /// Whether it is the same in every row, and its value once that is settled.
    is_constant: bool,
    value: Option<pg_sys::Datum>,
}

impl Defaults {
    /// Those of a load.
    ///
    /// # Safety
    /// The referee must be over the opening's table.
    pub(super) unsafe fn of(opening: &Opening, referee: *mut Referee) -> Defaults {
        // SAFETY: the caller's promise.
        unsafe {
            let copy = Referee::copy(referee);
            let most = (*(*opening.relation).rd_att).natts.unsigned_abs() as usize;
            let expressions: *mut Default = pg_sys::palloc(most.max(1) * size_of::<Default>()).cast();
            let mut count = 0;
            let mut expression = std::ptr::null_mut();
            for place in 0.. {
                let number = shim::fastcsv_shim_default(copy, place, &mut expression);
                let Some(index) = usize::try_from(number - 1).ok() else { break };
                if Referee::fixes(referee, index) {
                    continue;
                }
                let is_constant = !pg_sys::contain_volatile_functions((*expression).expr.cast());
                expressions.add(count).write(Default { index, expression, is_constant, value: None });
                count += 1;
            }
            let mut defaults =
                Defaults { expressions, count, clauses: std::ptr::null_mut(), table: (*opening.relation).rd_id };
            // COPY computes defaults before it asks the condition: a sequence counts the rows that are left out too.
            if !defaults.are_computed() && knows_columns(opening, referee) {
                defaults.clauses = opening.condition;
            }
            defaults
        }
    }

    fn all(&self) -> &[Default] {
        // SAFETY: `of` has written so many.
        unsafe { std::slice::from_raw_parts(self.expressions, self.count) }
    }

    /// Must some of them be computed for each row?
    pub(super) fn are_computed(&self) -> bool {
        self.all().iter().any(|default| !default.is_constant)
    }

    /// Computes those that are the same in every row. The first row has done so without an error.
    ///
    /// # Safety
    /// The relation must be open; the current memory context must last as long as the load.
    pub(super) unsafe fn settle(&mut self, relation: pg_sys::Relation, executor: *mut pg_sys::EState) {
        // SAFETY: the caller's promise; values are copied out of the memory that goes with the row.
        unsafe {
            let context = per_tuple_expressions(executor);
            let attributes = pg_compat::attributes((*relation).rd_att);
            for place in 0..self.count {
                let default = self.expressions.add(place);
                if (*default).is_constant {
                    let attribute = &attributes[(*default).index];
                    let value = evaluate((*default).expression, context);
                    let is_long = value.is_some_and(|value| is_long(value, attribute));
                    (*default).is_constant = !is_long;
                    (*default).value =
                        value.map(|value| pg_raw::datumCopy(value, attribute.attbyval, attribute.attlen.into()));
                }
            }
            self.note_types(attributes);
        }
    }

    /// Makes varlenas plain: the threads write them into tuples as they are.
    ///
    /// # Safety
    /// The attributes must be the table's.
    unsafe fn note_types(&mut self, attributes: &[pg_sys::FormData_pg_attribute]) {
        // SAFETY: the caller's promise.
        unsafe {
            for place in 0..self.count {
                let default = self.expressions.add(place);
                if attributes[(*default).index].attlen == -1
                    && let Some(value) = (*default).value
                {
                    (*default).value = Some(pg_sys::Datum::from(pg_sys::pg_detoast_datum(value.cast_mut_ptr())));
                }
            }
        }
    }

    /// The constants, as the threads want them.
    pub(super) fn constants(&self) -> Vec<(usize, Constant)> {
        // SAFETY: the values are of their attributes' types, plain and alive.
        let constant = |default: &Default| unsafe {
            let value = default.value?;
            let relation = pg_sys::RelationIdGetRelation(self.table);
            let attribute = pg_compat::attributes((*relation).rd_att)[default.index];
            pg_sys::RelationClose(relation);
            Some((default.index, constant::of(value, &attribute)))
        };
        self.all().iter().filter(|default| default.is_constant).filter_map(constant).collect()
    }

    /// The part of the condition that the threads can decide.
    ///
    /// # Safety
    /// The table must be locked.
    pub(super) unsafe fn filter(&self) -> Option<Filter> {
        // SAFETY: the caller's promise.
        unsafe { if self.clauses.is_null() { None } else { filter::of_clauses(self.clauses, 1, self.table) } }
    }

    /// Computes the others into a slot whose arrays hold a row from the file.
    ///
    /// # Safety
    /// As for [`super::table::Table::wants`].
    pub(super) unsafe fn fill(&self, slot: *mut pg_sys::TupleTableSlot, context: *mut pg_sys::ExprContext) {
        // SAFETY: the caller's promise; the arrays have an element for each attribute.
        unsafe {
            for default in self.all().iter().filter(|default| !default.is_constant) {
                let value = evaluate(default.expression, context);
                *(*slot).tts_isnull.add(default.index) = value.is_none();
                *(*slot).tts_values.add(default.index) = value.unwrap_or(pg_sys::Datum::null());
            }
            if (*slot).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 != 0 {
                pg_raw::ExecStoreVirtualTuple(slot);
            }
        }
    }
}

/// The longest value, in bytes, that is handed to the threads: each of them holds it, and so does the job.
const LONGEST_CONSTANT: usize = 8 * 1024;

/// Is the value too long to be handed on? It is then computed for each row.
///
/// # Safety
/// The value must be of the attribute's type.
unsafe fn is_long(value: pg_sys::Datum, attribute: &pg_sys::FormData_pg_attribute) -> bool {
    // SAFETY: the caller's promise; a varlena tells its length, or that of what it stands for.
    attribute.attlen == -1 && unsafe { pg_sys::toast_raw_datum_size(value) } > LONGEST_CONSTANT
}

/// Does the file have every column that the condition is about?
///
/// # Safety
/// As for [`Defaults::of`].
unsafe fn knows_columns(opening: &Opening, referee: *mut Referee) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let (_, options) = Referee::views(referee);
        let mut used = std::ptr::null_mut();
        pg_sys::pull_varattnos(opening.condition.cast(), 1, &mut used);
        let list = PgList::<std::ffi::c_int>::from_pg(options.attributes);
        let mut in_file = std::ptr::null_mut();
        for index in 0..list.len() {
            let number = pg_sys::list_nth_int(options.attributes, index as i32);
            in_file = pg_sys::bms_add_member(in_file, number - pg_sys::FirstLowInvalidHeapAttributeNumber);
        }
        pg_sys::bms_is_subset(used, in_file)
    }
}
