//! Returns the machine code that the running kernel executes along paths of XDP programs.
//!
//! Reads one JSON line for each path: the file of the object, the name of the program, and the path
//! as `slowpath._core.Flow.text` writes it. Writes one line for each: the bytes of each instruction
//! of the path, `null` for kernel calls, or an error. `bench/machine_code.py` starts this program.

mod path;

use path::{Flow, Loaded};
use serde::{Deserialize, Serialize};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::process::ExitCode;

#[derive(Deserialize)]
struct Request {
    file: String,
    program: String,
    flow: String,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Code(Vec<Option<String>>),
    Error(String),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // Ignore failures: the reader of standard error may be gone.
            let _ = writeln!(std::io::stderr(), "error: {reason}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let kernel = Kernel::available().map_err(|error| error.to_string())?;
    let mut known: HashMap<(String, String), Result<Loaded, String>> = HashMap::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let request: Request = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        let program = (request.file, request.program);
        let loaded =
            known.entry(program).or_insert_with_key(|(file, name)| load(&kernel, file, name));
        let answer = loaded.as_ref().map_err(Clone::clone).and_then(|loaded| {
            let flow: Flow =
                serde_json::from_str(&request.flow).map_err(|error| error.to_string())?;
            loaded.code(&flow).map_err(str::to_owned)
        });
        let answer = answer.map_or_else(Answer::Error, Answer::Code);
        let text = serde_json::to_string(&answer).map_err(|error| error.to_string())?;
        writeln!(out, "{text}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn load(kernel: &Kernel, file: &str, name: &str) -> Result<Loaded, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let object = Object::parse(&bytes).map_err(|error| error.to_string())?;
    let number = object.programs.iter().position(|program| program.name == name);
    let number = number.ok_or("there is no such program")?;
    let code = kernel.machine_code(&object, number).map_err(|error| error.to_string())?;
    Ok(Loaded::new(code, &object))
}
