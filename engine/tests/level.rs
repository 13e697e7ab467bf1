//! Instruction sets are had by asking the CPU, and pinned by name.

use fastcsv_engine::scan::{Level, LevelError};

#[test]
fn the_best_available_level_is_the_one_detected_and_the_portable_one_is_always_there() {
    let available = Level::available();
    assert_eq!(available.first(), Some(&Level::detect()));
    assert_eq!(available.last().map(|level| level.name()), Some("portable"));
}

#[test]
fn a_level_is_found_by_its_name_or_lacking_by_its_name() {
    for name in Level::NAMES {
        match Level::from_name(name) {
            Ok(level) => assert_eq!(level.name(), name),
            Err(error) => assert_eq!(error, LevelError::Lacking { name: name.to_owned() }),
        }
    }
}

#[test]
fn an_unknown_level_is_refused_with_the_valid_names() {
    let error = Level::from_name("mmx").unwrap_err();
    let text = r#"unknown instruction set "mmx", valid names are avx512, avx2, sse2, portable"#;
    assert_eq!(error.to_string(), text);
}
