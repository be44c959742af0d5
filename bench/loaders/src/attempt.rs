//! Attempts to load the programs of an object with one of the compared loaders. This runs in a
//! separate process, which prints one JSON line for each requested program.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::in_kernel::InKernel;
use crate::wanted::Wanted;
use crate::{ours, with_aya, with_libbpf};

/// Names of the compared loaders, beginning with that of this project.
pub const LOADERS: [&str; 3] = ["ours", "aya", "libbpf"];

/// The reason why a program was not loaded.
#[derive(Debug, Default)]
pub struct Failure {
    /// Error that the loader's library returned.
    pub error: String,
    /// Messages that the library printed. libbpf prints details that other libraries return as
    /// errors.
    pub printed: String,
}

/// Result of a loader: a value that keeps the program loaded until it is dropped, or an error.
pub type LoadResult = Result<Box<dyn std::any::Any>, Failure>;

/// Result of loading one program with one of the compared loaders.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Attempt {
    pub section: String,
    pub program: String,
    pub loaded: bool,
    /// First line of the library's error; empty if the program was loaded.
    pub error: String,
    /// Number of lines of the library's error.
    pub error_lines: usize,
    pub printed_lines: usize,
    /// The last lines that the library printed, as one string.
    pub printed: String,
    /// Number of programs that this process holds in the kernel, including those in program arrays.
    pub programs: usize,
    pub maps: usize,
    /// The kernel's hash of the instructions, which excludes file descriptors of maps.
    pub tag: String,
    /// True if the loaded program has BTF type information.
    pub types: bool,
    /// Time in milliseconds from the bytes of the file to the loaded program.
    pub milliseconds: f64,
}

/// Attempts to load the programs that standard input lists as JSON, and prints the results.
pub fn answer(loader: &str, object: &Path) -> Result<(), Box<dyn Error>> {
    let wanted: Vec<Wanted> = serde_json::from_reader(std::io::stdin().lock())?;
    let data = std::fs::read(object)?;
    for wanted in &wanted {
        let attempt = attempt(loader, &data, wanted)?;
        println!("{}", serde_json::to_string(&attempt)?);
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn attempt(loader: &str, data: &[u8], wanted: &Wanted) -> Result<Attempt, Box<dyn Error>> {
    let load = match loader {
        "ours" => ours::load,
        "aya" => with_aya::load,
        "libbpf" => with_libbpf::load,
        _ => return Err(format!("no loader {loader}").into()),
    };
    let started = Instant::now();
    let held = load(data, wanted);
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    let Wanted { section, program } = wanted.clone();
    let attempt = Attempt { section, program, milliseconds, ..Attempt::default() };
    Ok(match held {
        Ok(_held) => {
            let kernel = InKernel::of_this_process(&wanted.program)?;
            Attempt {
                loaded: true,
                programs: kernel.programs,
                maps: kernel.maps,
                tag: kernel.tag,
                types: kernel.types,
                ..attempt
            }
        }
        Err(Failure { error, printed }) => Attempt {
            error: error.lines().next().unwrap_or_default().to_owned(),
            error_lines: error.lines().count(),
            printed_lines: printed.lines().count(),
            printed: last(&printed, 30),
            ..attempt
        },
    })
}

fn last(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
