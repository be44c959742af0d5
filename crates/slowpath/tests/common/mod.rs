//! Functions that run analyses to completion. Not every test uses all of them.

use serde_json::Value;
use slowpath::{Analysis, Event, Options, Poll, ProgramFile, ProgramRequest};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Minimum number of memory accesses on a slow path of the test programs in the folder `objects`.
pub const SLOW: u64 = 40;

/// Returns the options that the tests use unless they state others: the target `agilio-cx-2x40`,
/// and one path.
pub fn options() -> Options {
    Options { target: "agilio-cx-2x40".into(), paths: Some(1), ..Options::default() }
}

/// Returns options that count the memory accesses on the slowest path.
pub fn accesses() -> Options {
    let metric = Some("memory-accesses".into());
    Options { target: "ebpf".into(), metric, ..options() }
}

/// Returns the text of an NFP listing with the given instructions.
pub fn listing(instructions: &[&str]) -> String {
    let line = |(index, text): (usize, &&str)| format!("{:4x}:\t.{index}  {text}\n", 8 * index);
    instructions.iter().enumerate().map(line).collect()
}

/// Returns the guaranteed number of memory accesses; `None` if the result has none.
pub fn memory_accesses(result: &Value) -> Option<u64> {
    result["guarantee"]["counts"]["memory accesses"].as_u64()
}

/// Returns the sorted names of all example files with the given extension.
pub fn examples(extension: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the examples exist");
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().expect("a text");
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
    names.retain(|name| name.ends_with(extension));
    names.sort();
    assert!(!names.is_empty(), "there are examples");
    names
}

pub fn example(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).expect("the example exists")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Reads a BPF object file from the folder `objects`.
pub fn object(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects").join(file);
    std::fs::read(path).expect("the object is there")
}

/// Analyses a program of an object file in the folder `objects`, and returns the result.
pub fn of_object(file: &str, program: usize, options: Options) -> Value {
    let read = ProgramFile::read(&object(file)).expect("an object");
    run(ProgramRequest { program, options, ..ProgramRequest::of(file, read) }).0
}

/// Analyses an NFP listing. Returns the result and, in order, all bounds that the analysis reported
/// before it ended.
pub fn analyse(data: &[u8], options: Options) -> (Value, Vec<f64>) {
    let read = ProgramFile::read(data).expect("a program");
    run(ProgramRequest { options, ..ProgramRequest::of("folder/test.asm", read) })
}

/// Runs an analysis. Returns the result and, in order, all bounds that the analysis reported before
/// it ended.
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
