//! The whole pipeline: threads, ring and blocks, with a consumer that is not PostgreSQL.

mod mapping;
mod run;
