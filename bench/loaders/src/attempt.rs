//! One try of one loader with one program. The process that makes it says what came of it in a line
//! of JSON for each program that it is asked for.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::in_kernel::InKernel;
use crate::wanted::Wanted;
use crate::{ours, with_aya, with_libbpf};

/// The loaders, ours first.
pub const LOADERS: [&str; 3] = ["ours", "aya", "libbpf"];

/// Why a program is not loaded.
#[derive(Debug, Default)]
pub struct Failure {
    /// What the library's error says.
    pub error: String,
    /// What it said beside that: libbpf prints where others return.
    pub printed: String,
}

/// A result of a loader: what keeps the program loaded.
pub type Held = Result<Box<dyn std::any::Any>, Failure>;

/// What came of a try.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Attempt {
    pub section: String,
    pub program: String,
    pub loaded: bool,
    /// First line of the error.
    pub error: String,
    /// Lines of the error, and of what was printed beside it.
    pub error_lines: usize,
    pub printed_lines: usize,
    /// The last lines that were printed, as one.
    pub printed: String,
    /// How many programs and maps are in the kernel for it.
    pub programs: usize,
    pub maps: usize,
    /// The kernel's hash of the instructions, file descriptors of maps left out.
    pub tag: String,
    /// Whether the program has the object's types.
    pub types: bool,
    /// Milliseconds, from the bytes of the file on.
    pub milliseconds: f64,
}

/// Tries the programs that are asked for on the standard input.
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
