//! Running a job to its end: a ring in ordinary memory, and a consumer that collects what comes.

#![expect(unsafe_code, reason = "makes a ring")]

use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fastcsv_engine::convert::{DateOrder, Settings};
use fastcsv_engine::dialect::LineEnd;
use fastcsv_engine::entry::{self, EntryKind, Mark};
use fastcsv_engine::job::{self, Attribute, Encoding, Field, Job, Layout, Output, Syntax, Target};
use fastcsv_engine::pipeline::{Input, Pipeline, Wake};
use fastcsv_engine::ring::{Consumer, Geometry, Next, Outcome, Ring, Summary};

/// How long a consumer waits for something before the test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a job has delivered.
#[derive(Debug, Default, PartialEq)]
pub struct Delivered {
    /// Entries put together, in order.
    pub entries: Vec<(EntryKind, Option<Mark>, Vec<u8>)>,
    /// How each ticket ended, and how many entries came up to then.
    pub tickets: Vec<(Summary, usize)>,
}

/// COPY's defaults over so many columns of text.
pub fn job(columns: usize, line_end: LineEnd, input: job::Input) -> Job {
    let text = Attribute { length: None, align: 4, packable: true };
    let field =
        |attribute| Field { target: Some(Target { attribute, kind: None, force_not_null: false, force_null: false }) };
    let settings = Settings {
        date_order: DateOrder::Mdy,
        interval_sql_standard: false,
        zone: Vec::new(),
        default_words: true,
        single_byte: false,
        utf8: true,
    };
    Job {
        syntax: Syntax {
            delimiter: b',',
            quote: b'"',
            escape: b'"',
            line_end,
            null: Vec::new(),
            default: None,
            has_end_marker: true,
        },
        input,
        encoding: Encoding::Utf8,
        fields: (0..columns).map(field).collect(),
        layout: Layout { attributes: vec![text; columns], type_id: 2249, type_modifier: -1, constants: Vec::new() },
        filter: None,
        output: Output::Rows,
        settings,
        text: 0,
        threads: 2,
        longest_record: 1 << 20,
        level: None,
    }
}

/// A consumer's bell.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    condition: Condvar,
    panic: Mutex<Option<String>>,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.condition.notify_all();
    }

    fn wait(&self) {
        let (mut rung, timeout) =
            self.condition.wait_timeout_while(self.rung.lock().unwrap(), PATIENCE, |rung| !*rung).unwrap();
        assert!(!timeout.timed_out(), "nothing has come for a minute");
        *rung = false;
        if let Some(message) = self.panic.lock().unwrap().take() {
            panic!("a thread panicked: {message}");
        }
    }
}

struct Bells(Arc<Bell>);

impl Wake for Bells {
    fn consumer(&self) {
        self.0.ring();
    }

    fn finished(&self) {}

    fn panicked(&self, message: &str) {
        *self.0.panic.lock().unwrap() = Some(message.to_owned());
    }
}

pub fn spawn(body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().spawn(body)
}

/// Memory as aligned as a ring must be.
#[derive(Clone, Copy)]
#[repr(align(64))]
#[expect(dead_code, reason = "memory that is looked at through the ring only")]
struct CacheLine([u8; Geometry::ALIGN]);

/// Runs a job to its end, or to the first ticket that is neither plain nor an anomaly; `at_block` is called before each
/// block is taken, with the number of those before.
pub fn run(job: Job, input: Input, geometry: Geometry, at_block: impl FnMut(usize)) -> Delivered {
    run_fed(job, input, geometry, &spawn, at_block, |_| ())
}

/// How threads are started.
pub type Spawn<'s> = &'s dyn Fn(Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>;

/// As [`run`], while another thread feeds the input.
pub fn run_fed(
    job: Job,
    input: Input,
    geometry: Geometry,
    spawn: Spawn<'_>,
    mut at_block: impl FnMut(usize),
    feed: impl FnOnce(Ring) + Send,
) -> Delivered {
    let mut memory = vec![CacheLine([0; Geometry::ALIGN]); geometry.bytes().div_ceil(Geometry::ALIGN)];
    // SAFETY: the memory is large enough and aligned, and outlives pipeline and consumer.
    let ring = unsafe { Ring::create(NonNull::new(memory.as_mut_ptr()).unwrap().cast(), geometry) };
    let bell = Arc::new(Bell::default());
    let pipeline = Pipeline::start(job, ring, input, Box::new(Bells(Arc::clone(&bell))), spawn).unwrap();
    let delivered = thread::scope(|scope| {
        scope.spawn(|| feed(ring));
        let delivered = consume(ring, &bell, &mut at_block);
        // Lets a feeder go that still has something.
        ring.stop();
        ring.wake_all();
        delivered
    });
    pipeline.end();
    drop(memory);
    delivered
}

fn consume(ring: Ring, bell: &Bell, at_block: &mut dyn FnMut(usize)) -> Delivered {
    let (mut consumer, mut delivered, mut blocks) = (Consumer::new(ring), Delivered::default(), 0);
    let mut is_open = false;
    loop {
        match next(&mut consumer, bell) {
            Next::Block => {
                at_block(blocks);
                blocks += 1;
                collect(consumer.block(), &mut delivered.entries, &mut is_open);
            }
            Next::Finished(summary) => {
                delivered.tickets.push((summary, delivered.entries.len()));
                let goes_on = matches!(summary.outcome, Outcome::Plain | Outcome::Anomaly);
                if summary.is_last || !goes_on {
                    return delivered;
                }
            }
            Next::Nothing => unreachable!("it was waited for"),
        }
        ring.wake_sleepers(true);
    }
}

/// Waits for what comes next.
fn next(consumer: &mut Consumer, bell: &Bell) -> Next {
    loop {
        for sleeps in [false, true] {
            consumer.ring().consumer_sleeps(sleeps);
            match consumer.advance() {
                Next::Nothing => {}
                next => {
                    consumer.ring().consumer_sleeps(false);
                    return next;
                }
            }
        }
        bell.wait();
    }
}

/// Adds a block's entries, those in parts as one.
fn collect(block: &[u8], entries: &mut Vec<(EntryKind, Option<Mark>, Vec<u8>)>, is_open: &mut bool) {
    let mut offset = 0;
    while let Some((part, next)) = entry::read(block, offset) {
        match entries.last_mut() {
            Some((kind, _, payload)) if *is_open => {
                assert_eq!(*kind, part.kind, "parts are of one kind");
                payload.extend_from_slice(part.payload);
            }
            _ => entries.push((part.kind, part.mark, part.payload.to_vec())),
        }
        *is_open = part.more;
        offset = next;
    }
}
