//! Rows in which some attributes are text: their types' own input functions convert them, as COPY would, in the
//! columns' order, with COPY's error context.

#![expect(unsafe_code, reason = "calls input functions through PostgreSQL's function manager")]

use std::ffi::c_char;

use fastcsv_engine::job::Job;
use pgrx::pg_sys;

use super::RowPlace;
use crate::pg_compat;
use crate::pg_raw;
use crate::referee::Referee;

/// What converting such rows needs. Lives in the scan's memory; nothing in it has a destructor but the list of columns.
pub(crate) struct Mixed {
    /// The table's descriptor with the columns in question as text.
    descriptor: pg_sys::TupleDesc,
    columns: Vec<Column>,
    /// Where values are made; reset for each row.
    memory: pg_sys::MemoryContext,
}

/// One of those columns.
struct Column {
    index: usize,
    name: *const c_char,
    function: pg_sys::FmgrInfo,
    parameter: pg_sys::Oid,
    modifier: i32,
}

impl Mixed {
    /// For the text attributes of a job's rows.
    ///
    /// # Safety
    /// `table` must be the table's descriptor and outlive this; the current memory context too.
    pub(crate) unsafe fn new(table: pg_sys::TupleDesc, job: &Job) -> Mixed {
        // SAFETY: the caller's promise. The copy's attributes are changed before anybody looks at them.
        unsafe {
            let descriptor = pg_sys::CreateTupleDescCopy(table);
            let targets = job.fields.iter().filter_map(|field| field.target.as_ref());
            let mut columns = Vec::new();
            for target in targets.filter(|target| target.kind.is_none()) {
                let attribute = &pg_compat::attributes(table)[target.attribute];
                let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
                pg_sys::getTypeInputInfo(attribute.atttypid, &mut input, &mut parameter);
                let mut function = std::mem::zeroed();
                pg_sys::fmgr_info(input, &mut function);
                let number = attribute.attnum;
                pg_sys::TupleDescInitEntry(descriptor, number, std::ptr::null(), pg_sys::TEXTOID, -1, 0);
                columns.push(Column {
                    index: target.attribute,
                    name: attribute.attname.data.as_ptr(),
                    function,
                    parameter,
                    modifier: attribute.atttypmod,
                });
            }
            columns.sort_by_key(|column| column.index);
            let memory = pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"fastcsv values".as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            );
            Mixed { descriptor, columns, memory }
        }
    }

    /// Converts the row at `place` and puts it into the slot.
    ///
    /// # Errors
    /// Raises the input functions' errors, with COPY's context.
    ///
    /// # Safety
    /// All must be alive; nothing with a destructor on the caller's frames.
    pub(crate) unsafe fn store(
        this: *mut Mixed,
        tuple: *mut pg_sys::HeapTupleData,
        referee: *mut Referee,
        place: RowPlace,
        slot: *mut pg_sys::TupleTableSlot,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            pg_raw::clear_slot(slot);
            let (values, nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            pg_raw::heap_deform_tuple(tuple, (*this).descriptor, values, nulls);
            pg_sys::MemoryContextReset((*this).memory);
            let caller = pg_sys::MemoryContextSwitchTo((*this).memory);
            let outer = Referee::enter(referee, place.start);
            let columns = &mut (*this).columns;
            for column in columns {
                let text = if *nulls.add(column.index) {
                    std::ptr::null_mut()
                } else {
                    pg_sys::text_to_cstring((*values.add(column.index)).cast_mut_ptr())
                };
                Referee::name_value(referee, place.number, column.name, text);
                let value = pg_raw::InputFunctionCall(&mut column.function, text, column.parameter, column.modifier);
                *values.add(column.index) = value;
            }
            Referee::leave(referee, outer);
            pg_sys::MemoryContextSwitchTo(caller);
            pg_raw::ExecStoreVirtualTuple(slot);
        }
    }
}
