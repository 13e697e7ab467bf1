//! Schema inference: the same findings however a file is cut, and files whose dialect and types are known.

mod cuts;
mod dialects;
mod types;
