//! The whole pipeline: threads, ring and blocks, with a consumer that is not PostgreSQL.

#[path = "../common/mod.rs"]
mod common;
mod mapping;
mod run;
mod stream;
