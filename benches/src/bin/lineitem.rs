//! Writes TPC-H's lineitem table as CSV, the same bytes for the same scale factor on every machine.
//!
//! `lineitem SCALE PATH [--no-header]`: scale factor 1 is 6,001,215 rows and about 750 MB.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use tpchgen::csv::LineItemCsv;
use tpchgen::generators::LineItemGenerator;

/// Large enough that writing costs a few thousand system calls, not a million.
const BUFFER_BYTES: usize = 1 << 20;

struct Arguments {
    scale: f64,
    path: String,
    header: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(arguments) = parse(&arguments) else {
        eprintln!("usage: lineitem SCALE PATH [--no-header]");
        return ExitCode::from(2);
    };
    match write_lineitem(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lineitem: cannot write {}: {error}", arguments.path);
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Option<Arguments> {
    let (scale, path, header) = match arguments {
        [scale, path] => (scale, path, true),
        [scale, path, flag] if flag == "--no-header" => (scale, path, false),
        _ => return None,
    };
    let scale = scale.parse().ok().filter(|scale| *scale > 0.0)?;
    Some(Arguments { scale, path: path.clone(), header })
}

fn write_lineitem(arguments: &Arguments) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, File::create(&arguments.path)?);
    if arguments.header {
        writeln!(file, "{}", LineItemCsv::header())?;
    }
    for item in LineItemGenerator::new(arguments.scale, 1, 1).iter() {
        writeln!(file, "{}", LineItemCsv::new(item))?;
    }
    file.flush()
}
