//! Helpers that run analyses to their end. Not all tests use all of them.

use serde_json::Value;
use slowpath::{Analysis, Event, Options, Poll, ProgramFile, ProgramRequest};
use std::path::Path;
use std::time::Duration;

/// Returns the default options of the command line.
pub fn options() -> Options {
    Options { target: "agilio-cx-2x40".into(), paths: Some(1), ..Options::default() }
}

/// Returns options that count the memory accesses on the slowest path.
pub fn accesses() -> Options {
    let metric = Some("memory-accesses".into());
    Options { target: "ebpf".into(), metric, ..options() }
}

/// Reads an object of the folder `objects`.
pub fn object(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects").join(file);
    std::fs::read(path).expect("the object is there")
}

/// Analyses a program of an object of this folder.
pub fn of_object(file: &str, program: usize, options: Options) -> Value {
    let read = ProgramFile::read(&object(file)).expect("an object");
    run(ProgramRequest { program, options, ..ProgramRequest::of(file, read) }).0
}

/// Analyses a listing. Returns the result and all bounds before it.
pub fn analyse(data: &[u8], options: Options) -> (Value, Vec<f64>) {
    let read = ProgramFile::read(data).expect("a program");
    run(ProgramRequest { options, ..ProgramRequest::of("folder/test.asm", read) })
}

/// Runs an analysis. Returns the result and all bounds before it.
pub fn run(request: ProgramRequest) -> (Value, Vec<f64>) {
    let analysis = Analysis::start(request);
    let mut bounds = Vec::new();
    loop {
        match analysis.next(Duration::from_secs(60)) {
            Poll::Pending => panic!("the analysis takes more than a minute"),
            Poll::Finished => panic!("the analysis ended without a result"),
            Poll::Event(Event::Bound { value, .. }) => bounds.push(value),
            Poll::Event(Event::Path { .. } | Event::Intermediate(_)) => {}
            Poll::Event(Event::Result(report)) => {
                let result = serde_json::from_str(&report.json).expect("the result is JSON");
                let _: Value = serde_json::from_str(&report.detail).expect("the detail is JSON");
                return (result, bounds);
            }
        }
    }
}
