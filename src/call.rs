//! How SQL reaches Rust: version-1 call convention entry points, and reading their arguments.
//!
//! The SQL is written by hand in `sql/`, so what pgrx would generate from attributes is made here by one macro:
//! for each function a `pg_finfo_*` record and a guarded entry point, in which a Rust panic or a PostgreSQL error
//! becomes an ordinary ERROR.

#![expect(unsafe_code, reason = "reads the argument array PostgreSQL passes by pointer")]

use std::ffi::{CStr, c_char};

use pgrx::pg_sys;

/// Exports functions for `LANGUAGE C`: `name => path` makes symbol `name` call `path(&Call) -> Datum`.
macro_rules! sql_functions {
    ($($name:ident => $body:path),* $(,)?) => {$(
        const _: () = {
            #[doc(hidden)]
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($name)))]
            #[expect(unsafe_code, reason = "PostgreSQL looks the record up by its symbol")]
            extern "C" fn record() -> &'static pgrx::pg_sys::Pg_finfo_record {
                const V1: pgrx::pg_sys::Pg_finfo_record = pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &V1
            }

            #[doc(hidden)]
            #[unsafe(export_name = stringify!($name))]
            #[expect(unsafe_code, reason = "PostgreSQL calls it by its symbol")]
            #[pgrx::pg_guard]
            unsafe extern "C-unwind" fn entry(info: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
                // SAFETY: PostgreSQL's function manager passes a valid call frame that outlives this call.
                $body(&unsafe { $crate::call::Call::new(info) })
            }
        };
    )*};
}
pub(crate) use sql_functions;

/// One call of an SQL function: its arguments by number, 0-based.
pub(crate) struct Call {
    info: pg_sys::FunctionCallInfo,
}

impl Call {
    /// # Safety
    /// `info` must be the frame of a call in progress.
    pub(crate) unsafe fn new(info: pg_sys::FunctionCallInfo) -> Self {
        Self { info }
    }

    /// The raw frame, for what PostgreSQL itself wants to be handed.
    pub(crate) fn frame(&self) -> pg_sys::FunctionCallInfo {
        self.info
    }

    /// Argument `index`, or `None` where it is NULL.
    pub(crate) fn datum(&self, index: usize) -> Option<pg_sys::Datum> {
        // SAFETY: `new` was promised a valid frame; the slice is bounded by its own argument count.
        let arguments = unsafe {
            let count = usize::try_from((*self.info).nargs).unwrap_or(0);
            (*self.info).args.as_slice(count)
        };
        arguments.get(index).filter(|argument| !argument.isnull).map(|argument| argument.value)
    }

    /// Argument `index`, declared `oid` or an alias of it.
    pub(crate) fn oid(&self, index: usize) -> Option<pg_sys::Oid> {
        Some(pg_sys::Oid::from(self.datum(index)?.value() as u32)) // an oid is a datum's low 32 bits
    }

    /// Argument `index`, declared `text`, as a C string in the current memory context.
    pub(crate) fn text(&self, index: usize) -> Option<*mut c_char> {
        let datum = self.datum(index)?;
        // SAFETY: the argument is declared `text`, so its datum is a varlena pointer.
        Some(unsafe { pg_sys::text_to_cstring(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr()).cast()) })
    }

    /// Argument `index`, declared `"any"`, as COPY would want it spelled: a boolean as `true` or `false`, anything
    /// else as its type prints it.
    pub(crate) fn spelled(&self, index: usize) -> Option<*mut c_char> {
        let datum = self.datum(index)?;
        let argument = i32::try_from(index).expect("a function has at most 100 arguments");
        // SAFETY: the frame is valid (see `new`), and the output function is looked up for the datum's own type.
        unsafe {
            let kind = pg_sys::get_fn_expr_argtype((*self.info).flinfo, argument);
            if kind == pg_sys::BOOLOID {
                let word: &CStr = if datum.value() != 0 { c"true" } else { c"false" };
                return Some(pg_sys::pstrdup(word.as_ptr()));
            }
            let (mut output, mut is_varlena) = (pg_sys::InvalidOid, false);
            pg_sys::getTypeOutputInfo(kind, &mut output, &mut is_varlena);
            Some(pg_sys::OidOutputFunctionCall(output, datum))
        }
    }

    /// Argument `index`, declared `text[]`, as C strings; a NULL element is `None`.
    pub(crate) fn texts(&self, index: usize) -> Option<Vec<Option<*mut c_char>>> {
        let datum = self.datum(index)?;
        let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        // SAFETY: the argument is declared `text[]`; deconstruct_array fills `count` elements of both arrays.
        unsafe {
            let array = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast();
            let align = pg_sys::TYPALIGN_INT as c_char;
            pg_sys::deconstruct_array(array, pg_sys::TEXTOID, -1, false, align, &mut values, &mut nulls, &mut count);
            let element = |i: usize| (!*nulls.add(i)).then(|| pg_sys::text_to_cstring((*values.add(i)).cast_mut_ptr()));
            Some((0..usize::try_from(count).unwrap_or(0)).map(element).collect())
        }
    }

    /// The function's result is NULL.
    pub(crate) fn null(&self) -> pg_sys::Datum {
        // SAFETY: the frame is valid (see `new`).
        unsafe { (*self.info).isnull = true };
        pg_sys::Datum::null()
    }

    /// A row as the function's result, which must be declared with OUT arguments of the values' types.
    pub(crate) fn row(&self, columns: &[Option<pg_sys::Datum>]) -> pg_sys::Datum {
        let mut nulls: Vec<bool> = columns.iter().map(Option::is_none).collect();
        let mut values: Vec<pg_sys::Datum> =
            columns.iter().map(|value| value.unwrap_or(pg_sys::Datum::null())).collect();
        // SAFETY: the frame is valid; the descriptor is the declared one, and as long as both arrays (checked).
        unsafe {
            let mut descriptor = std::ptr::null_mut();
            pg_sys::get_call_result_type(self.info, std::ptr::null_mut(), &mut descriptor);
            assert_eq!((*descriptor).natts as usize, columns.len(), "the function is declared with these columns");
            let descriptor = pg_sys::BlessTupleDesc(descriptor);
            let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data)
        }
    }

    /// Rows as the function's result, which must be declared as a set of rows of these columns.
    ///
    /// # Errors
    /// Raises that the function is called where no set can be.
    pub(crate) fn rows(&self, rows: impl Iterator<Item = Vec<Option<pg_sys::Datum>>>) -> pg_sys::Datum {
        // SAFETY: the frame is valid (see `new`); the call makes a store for rows of the declared descriptor, and
        // checks that one may be returned. Each row is as long as the descriptor (checked).
        unsafe {
            pg_sys::InitMaterializedSRF(self.info, 0);
            let result = (*self.info).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            let (store, descriptor) = ((*result).setResult, (*result).setDesc);
            for columns in rows {
                let mut nulls: Vec<bool> = columns.iter().map(Option::is_none).collect();
                let mut values: Vec<pg_sys::Datum> =
                    columns.iter().map(|value| value.unwrap_or(pg_sys::Datum::null())).collect();
                assert_eq!((*descriptor).natts as usize, columns.len(), "the function is declared with these columns");
                pg_sys::tuplestore_putvalues(store, descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
            }
            (*self.info).isnull = true;
        }
        pg_sys::Datum::null()
    }
}
