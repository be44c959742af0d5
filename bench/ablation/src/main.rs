//! Ablation study of the path search: analyses each program several times, each time with one
//! technique disabled or replaced.
//!
//! For each program and variant, prints the median seconds of the search alone, and the numbers of
//! examined paths, solver queries and nogoods. Exits with 1 if two variants contradict each other
//! about the slowest path, and with 2 if there is nothing to measure.

mod arguments;
mod measured;
mod program;
mod run;
mod table;
mod variant;

use arguments::{Arguments, USAGE};
use program::Program;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            report(&format!("{why}\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            report(&format!("error: {why}"));
            ExitCode::from(2)
        }
    }
}

#[allow(clippy::print_stdout)]
fn report(line: &str) {
    println!("{line}");
}

/// Measures all programs. Returns true if all variants of the search agree about the slowest paths.
fn run(arguments: &Arguments) -> Result<bool, String> {
    let files = match arguments.files.as_slice() {
        [] => examples(Path::new("examples"))?,
        files => files.to_vec(),
    };
    let variants = variant::variants();
    let mut lines = vec![table::csv_heading()];
    let (mut programs, mut fine) = (0, true);
    report(&table::heading());
    for program in files.iter().flat_map(|file| Program::read(file, &arguments.settings)) {
        let program = match program {
            Ok(program) => program,
            Err(why) => {
                report(&format!("skipped: {why}"));
                continue;
            }
        };
        programs += 1;
        let rows = measured::measure(&program, &variants, arguments.deadline, arguments.repeat);
        let rows = match rows {
            Ok(rows) => rows,
            Err(why) => {
                report(&format!("FAILED: {}: {why}", program.name));
                fine = false;
                continue;
            }
        };
        rows.iter().for_each(|row| report(&table::line(&program.name, row)));
        lines.extend(rows.iter().map(|row| table::csv_line(&program.name, row)));
        for contradiction in measured::contradictions(&rows) {
            report(&format!("CONTRADICTION: {}: {contradiction}", program.name));
            fine = false;
        }
    }
    if programs == 0 {
        return Err("no program could be read".into());
    }
    if let Some(file) = &arguments.csv {
        let written = std::fs::write(file, lines.concat());
        written.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(fine)
}

/// Returns the NFP listings (`.asm`) and BPF objects (`.o`) of a folder.
fn examples(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let located = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(located)? {
        let path = entry.map_err(located)?.path();
        if path.extension().is_some_and(|extension| extension == "asm" || extension == "o") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
