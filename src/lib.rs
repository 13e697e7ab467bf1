//! fastcsv: CSV files as tables, and into tables, with PostgreSQL's own rows and errors.
//!
//! Two ways in, both declared in `sql/`:
//!
//! * the foreign data wrapper `fastcsv` ([`fdw`]), which reads what `file_fdw` reads, and
//! * the function `fastcsv_copy` ([`load`]), which loads what `COPY FROM` loads.
//!
//! Both let PostgreSQL's own COPY parser do the reading ([`referee`]) and add to each of its errors where in the
//! file it happened ([`position`]). What a file is made of is known to the crate `fastcsv-engine`, which never
//! links PostgreSQL.
//!
//! Functions are declared by hand, as C extensions do it: [`call::sql_functions`] exports what `sql/` names.

pgrx::pg_module_magic!();

mod archive;
mod call;
mod client;
mod confine;
mod convert_test;
mod encoding;
mod fault;
mod fdw;
mod file;
mod files;
mod filter_test;
mod header;
mod hook;
mod image_test;
mod import;
mod infer;
mod last_run;
mod load;
mod memory;
mod options;
mod pg_compat;
mod pg_raw;
mod position;
mod read;
mod reader;
mod referee;
mod referee_test;
mod settings;
mod stream;
mod text;
mod types;
mod worker;

call::sql_functions!(
    fastcsv_fdw_handler => fdw::handler,
    fastcsv_fdw_validator => options::validator,
    fastcsv_copy => load::copy,
    fastcsv_import => import::import,
    fastcsv_infer => infer::infer,
    fastcsv_preview => infer::preview,
    fastcsv_last_run => last_run::last_run,
    fastcsv_read => read::read,
    fastcsv_rows => load::next_row,
    fastcsv_test_convert => convert_test::compare,
    fastcsv_test_filter => filter_test::compare,
    fastcsv_test_image => image_test::compare,
    fastcsv_test_referee => referee_test::read_from,
);

#[doc(hidden)]
#[pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    settings::declare();
    hook::install();
    read::install();
}

#[doc(hidden)]
#[expect(unsafe_code, reason = "a worker process finds it by its symbol")]
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
pub extern "C-unwind" fn fastcsv_worker_main(argument: pgrx::pg_sys::Datum) {
    worker::run(argument);
}
