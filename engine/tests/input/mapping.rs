//! A mapped file that becomes shorter while it is read.

#![expect(unsafe_code, reason = "maps files that the tests themselves own")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::process;
use std::sync::Mutex;

use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::job::{self, Io, Job, Output};
use fastcsv_engine::mapping::Mapping;
use fastcsv_engine::pipeline::{Input, ReadAt};
use fastcsv_engine::ring::{Geometry, Outcome};

use crate::run::{job, run};

/// A file that goes when this goes.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str, content: &[u8]) -> TemporaryFile {
        let path = std::env::temp_dir().join(format!("fastcsv-{}-{name}.csv", process::id()));
        fs::write(&path, content).unwrap();
        TemporaryFile(path)
    }

    fn mapping(&self) -> Mapping {
        let file = File::open(&self.0).unwrap();
        let size = file.metadata().unwrap().len();
        // SAFETY: the tests only make the file shorter or longer.
        unsafe { Mapping::new(file, size).unwrap() }
    }

    fn truncate(&self, size: u64) {
        OpenOptions::new().write(true).open(&self.0).unwrap().set_len(size).unwrap();
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn rows(count: usize) -> Vec<u8> {
    (0..count).flat_map(|row| format!("{row},\"a, b\",some more text\n").into_bytes()).collect()
}

fn file_job(size: usize, io: Io) -> Job {
    let input = job::Input::File { start: 0, size: size as u64, range_size: 64 * 1024, io };
    job(3, LineEnd::Lf, input)
}

const GEOMETRY: Geometry = Geometry { tickets: 64, blocks: 8, block_size: 8192, kept: 0 };

#[test]
fn a_mapped_file_gives_what_a_read_one_gives() {
    for ending in ["", "last,without,line end", "\"open,a,b\n"] {
        let content = [rows(20_000), ending.into()].concat();
        let file = TemporaryFile::new(&format!("same-{}", ending.len()), &content);
        let mapped = Input::File(Box::new(file.mapping()));
        let read = Input::File(Box::new(File::open(&file.0).unwrap()));
        let mapped = run(file_job(content.len(), Io::Mmap), mapped, GEOMETRY, |_| ());
        let read = run(file_job(content.len(), Io::Pread), read, GEOMETRY, |_| ());
        assert!(mapped == read, "{ending:?}");
        assert_eq!(mapped.entries.len(), 20_000 + usize::from(ending.starts_with("last")));
    }
}

#[test]
fn truncation_under_a_running_pipeline_is_short_and_no_row_is_made_up() {
    let content = rows(200_000);
    for (name, output, size, after_blocks) in [
        ("page", Output::Rows, 1 << 20, 3),
        ("odd", Output::Rows, (1 << 20) + 12_345, 3),
        ("few", Output::Rows, content.len() as u64 - 1, 3),
        ("zero", Output::Rows, 0, 0),
        ("count", Output::Count, 4096, 0),
    ] {
        let file = TemporaryFile::new(name, &content);
        let input = Input::File(Box::new(file.mapping()));
        let job = Job { output, ..file_job(content.len(), Io::Mmap) };
        if output == Output::Count {
            file.truncate(size); // there are no blocks at which to do it
        }
        let delivered = run(job, input, GEOMETRY, |block| {
            if block == after_blocks {
                file.truncate(size);
            }
        });
        let (last, _) = delivered.tickets.last().unwrap();
        assert_eq!(last.outcome, Outcome::Short, "{name}");
        for (_, _, row) in &delivered.entries {
            assert!(row.windows(4).any(|part| part == b"text"), "{name}: a row that the file never held");
        }
    }
}

#[test]
fn a_file_that_grows_is_read_up_to_the_size_it_had() {
    let content = rows(1000);
    let file = TemporaryFile::new("grows", &content);
    let input = Input::File(Box::new(file.mapping()));
    file.truncate(content.len() as u64 + 100_000);
    let delivered = run(file_job(content.len(), Io::Mmap), input, GEOMETRY, |_| ());
    assert_eq!(delivered.entries.len(), 1000);
}

#[test]
fn a_fault_is_remembered_after_the_file_has_its_size_again() {
    let file = TemporaryFile::new("regrows", &rows(10_000));
    let mapping = file.mapping();
    file.truncate(0);
    assert_eq!(mapping.slice(8192, 8193), Some(&[0][..]));
    file.truncate(1 << 20);
    let failure = mapping.failure().expect("the byte read was not the file's");
    assert_eq!(failure.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn many_mappings_come_and_go() {
    let file = TemporaryFile::new("many", &rows(1000));
    let kept = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let mapping = file.mapping();
                    assert_eq!(mapping.slice(0, 2), Some(&b"0,"[..]));
                }
                kept.lock().unwrap().push(file.mapping());
            });
        }
    });
    file.truncate(0);
    for mapping in kept.into_inner().unwrap() {
        assert_eq!(mapping.slice(0, 1), Some(&[0][..]));
        assert!(mapping.failure().is_some());
    }
}
