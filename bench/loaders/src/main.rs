//! Compares loaders: every XDP program of the survey's manifest is loaded by our own loader, by aya
//! and by libbpf-rs. Each pair of object and loader has its own process.
//!
//! `survey` writes one row for each program and loader, `table` formats the rows as Markdown, and
//! `try` is the subcommand that `survey` starts. The results are in docs/explanation/loading.md.

mod attempt;
mod in_kernel;
mod ours;
mod survey;
mod table;
mod wanted;
mod with_aya;
mod with_libbpf;

use std::process::ExitCode;

const USAGE: &str = "usage: loaders survey MANIFEST.json RESULT.csv | table RESULT.csv";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["survey", manifest, result] => survey::run(manifest.as_ref(), result.as_ref()),
        ["table", result] => table::print(result.as_ref()),
        ["try", loader, object] => attempt::answer(loader, object.as_ref()),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}
