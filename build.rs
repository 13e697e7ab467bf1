//! Compiles the C shims against the headers of the server that the chosen `pgNN` feature names.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=src/referee/shim.c");
    println!("cargo:rerun-if-changed=src/referee/client.c");
    println!("cargo:rerun-if-changed=src/referee/shim.h");
    println!("cargo:rerun-if-changed=src/hook/others.c");
    println!("cargo:rerun-if-env-changed=PGRX_PG_CONFIG_PATH");
    let pg_config = env::var("PGRX_PG_CONFIG_PATH").unwrap_or_else(|_| "pg_config".into());
    let version = ask(&pg_config, "--version");
    let major = chosen_major();
    assert!(
        version.starts_with(&format!("PostgreSQL {major}")),
        "feature pg{major} is on, but {pg_config} says {version}"
    );
    cc::Build::new()
        .files(["src/referee/shim.c", "src/referee/client.c", "src/hook/others.c"])
        .include(ask(&pg_config, "--includedir-server"))
        .flag("-fno-strict-aliasing")
        .flag("-fwrapv")
        .warnings(false) // PostgreSQL's own headers warn under -Wextra
        .compile("fastcsv_shim");
}

/// The PostgreSQL major version whose feature is on; exactly one must be.
fn chosen_major() -> u32 {
    let on: Vec<u32> = (15..=18).filter(|major| env::var_os(format!("CARGO_FEATURE_PG{major}")).is_some()).collect();
    match on[..] {
        [major] => major,
        _ => panic!("choose exactly one of the features pg15, pg16, pg17 and pg18, not {on:?}"),
    }
}

fn ask(pg_config: &str, question: &str) -> String {
    let path = PathBuf::from(pg_config);
    let answer = Command::new(&path)
        .arg(question)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", path.display()));
    assert!(answer.status.success(), "{} {question} failed", path.display());
    String::from_utf8_lossy(&answer.stdout).trim().to_owned()
}
