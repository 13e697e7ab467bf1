//! What a pipeline does when the world fails it: reads that fail or come late, a file that shrinks, threads that cannot
//! be had or that panic.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::job::{Encoding, Input, Job};
use fastcsv_engine::pipeline::{ReadAt, StartError};
use fastcsv_engine::ring::{Geometry, Outcome};

use crate::Bytes;
use crate::expected;
use crate::harness::{Delivered, Pace, run, run_with, spawn_thread};
use crate::reference::read;
use crate::shapes::job;

const GEOMETRY: Geometry = Geometry { tickets: 4, blocks: 8, kept: 1, block_size: 256 };

/// A thousand records; the escape chooses between the two scans.
fn text() -> Vec<u8> {
    (0..1000).map(|number| format!("{number},\"some\n{number}\"\n")).collect::<String>().into_bytes()
}

fn jobs(size: usize) -> Vec<Job> {
    let mut job = job(2, LineEnd::Lf, 700);
    job.input = Input::File { start: 0, size: size as u64, range_size: 700, io: fastcsv_engine::job::Io::Pread };
    job.syntax.has_end_marker = false;
    let mut with_escape = job.clone();
    with_escape.syntax.escape = b'\\';
    vec![job, with_escape]
}

/// A file of which something is wrong with the bytes from an offset on.
struct Faulty {
    bytes: Bytes,
    from: u64,
    fault: Fault,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Error(i32),
    End,
    Panic,
}

impl ReadAt for Faulty {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset < self.from {
            let length = buffer.len().min((self.from - offset) as usize);
            return self.bytes.read_at(&mut buffer[..length], offset);
        }
        match self.fault {
            Fault::Error(number) => Err(io::Error::from_raw_os_error(number)),
            Fault::End => Ok(0),
            Fault::Panic => panic!("the file is on fire"),
        }
    }
}

fn run_faulty(job: &Job, bytes: &[u8], from: u64, fault: Fault) -> Delivered {
    let source = Faulty { bytes: Bytes(bytes.to_vec()), from, fault };
    run(job.clone(), Box::new(source), GEOMETRY, Pace::Prompt)
}

/// The tickets before the one that failed are what they must be.
fn check_before(job: &Job, bytes: &[u8], delivered: &mut Delivered) {
    let failed = delivered.tickets.pop().expect("one ticket tells of the failure");
    assert_eq!(failed.entries, []);
    expected::check(job, bytes, delivered, false);
}

#[test]
fn a_read_error_ends_its_ticket_and_those_before_it_are_whole() {
    let bytes = text();
    for job in jobs(bytes.len()) {
        for from in (0..bytes.len() as u64).step_by(1234) {
            let mut delivered = run_faulty(&job, &bytes, from, Fault::Error(5));
            let summary = delivered.tickets.last().unwrap().summary;
            assert_eq!((summary.outcome, summary.errno), (Outcome::ReadError, 5));
            check_before(&job, &bytes, &mut delivered);
        }
    }
}

#[test]
fn a_file_that_has_become_shorter_ends_its_ticket_and_those_before_it_are_whole() {
    let bytes = text();
    for job in jobs(bytes.len()) {
        for from in (0..bytes.len() as u64).step_by(1111) {
            let mut delivered = run_faulty(&job, &bytes, from, Fault::End);
            assert_eq!(delivered.tickets.last().unwrap().summary.outcome, Outcome::Short);
            check_before(&job, &bytes, &mut delivered);
        }
    }
}

#[test]
fn bytes_behind_the_size_that_the_job_names_are_not_read() {
    let bytes = text();
    for job in jobs(bytes.len() - 1500) {
        let delivered = run_faulty(&job, &bytes, bytes.len() as u64 - 1500, Fault::Panic);
        expected::check(&job, &bytes, &delivered, true);
    }
}

#[test]
fn a_panic_in_a_thread_is_told_and_stops_the_others() {
    let bytes = text();
    for job in jobs(bytes.len()) {
        for from in [0, 9000] {
            let delivered = run_faulty(&job, &bytes, from, Fault::Panic);
            assert_eq!(delivered.panic.as_deref(), Some("the file is on fire"));
            let records: u64 = delivered.tickets.iter().map(|ticket| ticket.summary.records).sum();
            let all = read(&job.syntax, &Encoding::Utf8, &bytes, 0).records.len() as u64;
            assert!(records < all);
        }
    }
}

/// A file whose reads are cut short and interrupted.
struct Hesitant {
    bytes: Bytes,
    calls: AtomicU32,
}

impl ReadAt for Hesitant {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.calls.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => Err(io::ErrorKind::Interrupted.into()),
            1 => Err(io::ErrorKind::WouldBlock.into()),
            _ => {
                let length = buffer.len().min(777);
                self.bytes.read_at(&mut buffer[..length], offset)
            }
        }
    }
}

#[test]
fn reads_that_are_short_or_interrupted_are_gone_on_with() {
    let bytes = text();
    for job in jobs(bytes.len()) {
        let source = Hesitant { bytes: Bytes(bytes.clone()), calls: AtomicU32::new(0) };
        let delivered = run(job.clone(), Box::new(source), GEOMETRY, Pace::Prompt);
        expected::check(&job, &bytes, &delivered, true);
    }
}

#[test]
fn those_threads_that_can_be_had_do_the_work() {
    let bytes = text();
    for job in jobs(bytes.len()) {
        let job = Job { threads: 8, ..job };
        for most in [1, 3] {
            let started = AtomicU32::new(0);
            // Each attempt ends at the same number of threads; the last one asks for no more.
            let spawn = |body: Box<dyn FnOnce() + Send>| match started.fetch_add(1, Ordering::Relaxed) {
                before if before == most => {
                    started.store(0, Ordering::Relaxed);
                    Err(io::Error::other("no more threads"))
                }
                _ => spawn_thread(body),
            };
            let source = Box::new(Bytes(bytes.clone()));
            let delivered =
                run_with(job.clone(), source, GEOMETRY, Pace::Prompt, &spawn).expect("one thread is enough");
            expected::check(&job, &bytes, &delivered, true);
        }
    }
}

#[test]
fn without_a_thread_nothing_is_started() {
    let bytes = text();
    let job = jobs(bytes.len()).swap_remove(0);
    let spawn = |_: Box<dyn FnOnce() + Send>| Err(io::Error::other("no threads today"));
    let outcome = run_with(job, Box::new(Bytes(bytes)), GEOMETRY, Pace::Prompt, &spawn);
    assert!(matches!(outcome, Err(StartError::Threads(message)) if message.contains("no threads today")));
}

#[test]
fn an_instruction_set_that_nobody_knows_is_refused() {
    let bytes = text();
    let job = Job { level: Some("mmx".into()), ..jobs(bytes.len()).swap_remove(0) };
    let outcome = run_with(job, Box::new(Bytes(bytes)), GEOMETRY, Pace::Prompt, &spawn_thread);
    assert!(matches!(outcome, Err(StartError::Level(_))));
}
