//! The settings named `fastcsv.*`.

#![expect(unsafe_code, reason = "a check hook, which PostgreSQL calls with a pointer")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum, pg_guard, pg_sys};

use crate::confine;
use crate::fault::Fault;
use crate::hook;

/// Kibibytes, the unit in which PostgreSQL keeps sizes of memory.
const KB: u64 = 1024;

static THREADS: GucSetting<i32> = GucSetting::<i32>::new(0);
static RANGE_SIZE: GucSetting<i32> = GucSetting::<i32>::new(1 << 20);
static MIN_PARALLEL_SIZE: GucSetting<i32> = GucSetting::<i32>::new(1024);
static MEMORY: GucSetting<i32> = GucSetting::<i32>::new(64 * 1024);
static SIMD: GucSetting<Simd> = GucSetting::<Simd>::new(Simd::Auto);
static ACCELERATE_COPY: GucSetting<bool> = GucSetting::<bool>::new(true);
static ALLOWED_DIRECTORIES: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static TAKEN_OVER: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static FAULT: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);

/// The instruction set of the structure scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PostgresGucEnum)]
enum Simd {
    #[name = c"auto"]
    Auto,
    #[name = c"avx512"]
    Avx512,
    #[name = c"avx2"]
    Avx2,
    #[name = c"sse2"]
    Sse2,
    #[name = c"portable"]
    Portable,
}

/// Threads that parse. Where the setting leaves it open, as many as there are cores; one less where the session itself
/// needs a core all the time (`is_busy`).
pub(crate) fn threads(is_busy: bool) -> usize {
    match usize::try_from(THREADS.get()) {
        Ok(threads @ 1..) => threads,
        _ => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            cores.saturating_sub(is_busy.into()).max(1)
        }
    }
}

/// Bytes of a range.
pub(crate) fn range_size() -> u64 {
    u64::try_from(RANGE_SIZE.get()).unwrap_or(1)
}

/// The smallest file, in bytes, that is read in parallel.
pub(crate) fn min_parallel_size() -> u64 {
    KB * u64::try_from(MIN_PARALLEL_SIZE.get()).unwrap_or(0)
}

/// Bytes of memory that a scan or load may hold in all processes.
pub(crate) fn memory() -> u64 {
    KB * u64::try_from(MEMORY.get()).unwrap_or(0)
}

/// The instruction set that is pinned, if one is.
pub(crate) fn simd() -> Option<&'static str> {
    match SIMD.get() {
        Simd::Auto => None,
        Simd::Avx512 => Some("avx512"),
        Simd::Avx2 => Some("avx2"),
        Simd::Sse2 => Some("sse2"),
        Simd::Portable => Some("portable"),
    }
}

/// Are COPY FROM statements taken over?
pub(crate) fn accelerates_copy() -> bool {
    ACCELERATE_COPY.get()
}

/// Are files read from some folders only?
pub(crate) fn confines() -> bool {
    ALLOWED_DIRECTORIES.get().is_some_and(|list| !list.is_empty())
}

/// The folders that files are read from, if not from all.
pub(crate) fn allowed_directories() -> Vec<PathBuf> {
    ALLOWED_DIRECTORIES.get().as_deref().and_then(confine::folders).unwrap_or_default()
}

/// Is the text a list of folders?
#[pg_guard]
unsafe extern "C-unwind" fn check_folders(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a place that holds a C string, or null.
    unsafe { (*value).is_null() || confine::folders(CStr::from_ptr(*value)).is_some() }
}

/// What is to go wrong, in tests.
pub(crate) fn fault() -> Fault {
    FAULT.get().as_deref().and_then(as_fault).unwrap_or(Fault::NONE)
}

fn as_fault(text: &CStr) -> Option<Fault> {
    text.to_str().ok().and_then(Fault::parse)
}

/// Is the text a fault?
#[pg_guard]
unsafe extern "C-unwind" fn check_fault(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a place that holds a C string, or null.
    unsafe { (*value).is_null() || as_fault(CStr::from_ptr(*value)).is_some() }
}

/// Declares the settings; called when the library is loaded.
pub(crate) fn declare() {
    integer(
        c"fastcsv.threads",
        c"Threads that parse a file.",
        c"0 means as many as the machine has cores. A small file is given fewer.",
        &THREADS,
        0..=1024,
        GucFlags::default(),
    );
    integer(
        c"fastcsv.range_size",
        c"Size of the pieces that a file is cut into for parallel parsing.",
        c"The default lets a piece stay in a core's cache. Other sizes are for tests.",
        &RANGE_SIZE,
        1..=1 << 30,
        GucFlags::UNIT_BYTE,
    );
    integer(
        c"fastcsv.min_parallel_size",
        c"Files smaller than this are read by PostgreSQL's own parser.",
        c"Below it, starting a worker takes longer than it saves.",
        &MIN_PARALLEL_SIZE,
        0..=i32::MAX,
        GucFlags::UNIT_KB,
    );
    integer(
        c"fastcsv.memory",
        c"Memory that a scan or load may hold in all of its processes.",
        c"Where it does not suffice for the threads asked for, there are fewer of them.",
        &MEMORY,
        1024..=i32::MAX,
        GucFlags::UNIT_KB,
    );
    GucRegistry::define_bool_guc(
        c"fastcsv.accelerate_copy",
        c"Lets COPY FROM read CSV with parallel threads.",
        c"What the statement does is the same.",
        &ACCELERATE_COPY,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_enum_guc(
        c"fastcsv.simd",
        c"Instruction set with which the structure of a file is found.",
        c"auto takes the best that the machine has. The others are for tests.",
        &SIMD,
        GucContext::Userset,
        GucFlags::default(),
    );
    // SAFETY: the hooks are those of texts.
    unsafe {
        GucRegistry::define_string_guc_with_hooks(
            hook::SETTING,
            c"Shows nothing: where a COPY that is taken over is run.",
            c"",
            &TAKEN_OVER,
            GucContext::Internal,
            GucFlags::NO_SHOW_ALL | GucFlags::DISALLOW_IN_FILE,
            None,
            None,
            Some(hook::arrived),
        );
        GucRegistry::define_string_guc_with_hooks(
            c"fastcsv.allowed_directories",
            c"Directories that files are read from, for every role but superusers.",
            c"A list of absolute paths. The empty list means that there is no such limit.",
            &ALLOWED_DIRECTORIES,
            GucContext::Suset,
            GucFlags::SUPERUSER_ONLY,
            Some(check_folders),
            None,
            None,
        );
        GucRegistry::define_string_guc_with_hooks(
            c"fastcsv.fault",
            c"Something that goes wrong on purpose, for tests.",
            c"",
            &FAULT,
            GucContext::Suset,
            GucFlags::NO_SHOW_ALL,
            Some(check_fault),
            None,
            None,
        );
    }
}

fn integer(
    name: &'static CStr,
    short: &'static CStr,
    long: &'static CStr,
    setting: &'static GucSetting<i32>,
    bounds: std::ops::RangeInclusive<i32>,
    unit: GucFlags,
) {
    let (least, most) = bounds.into_inner();
    GucRegistry::define_int_guc(name, short, long, setting, least, most, GucContext::Userset, unit);
}
