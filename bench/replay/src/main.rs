//! Checks whether the kernel confirms guarantees. Loads the programs of a survey with a counter in
//! each basic block, installs the map content of the witness, and runs its packet. Compares the
//! number of executed instructions with the guarantee. Then runs other packets, none of which may
//! execute more.
//!
//! Takes the manifest of `bench/survey.py` and its folder of results. Prints Markdown tables. Exits
//! with 1 if the kernel contradicts a witness, and with 2 if there is nothing to compare.

mod outcome;
mod packets;
mod replay;
mod result;
mod table;

use outcome::Outcome;
use result::{Entry, Surveyed};
use slowpath_kernel::Kernel;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: replay MANIFEST.json RESULTS_FOLDER [OUTCOMES.json]";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(manifest), Some(results)) = (arguments.next(), arguments.next()) else {
        report(USAGE);
        return ExitCode::from(2);
    };
    match run(&manifest, &results, arguments.next().as_deref()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            report(&format!("error: {reason}"));
            ExitCode::from(2)
        }
    }
}

#[allow(clippy::print_stdout)]
fn report(line: &str) {
    println!("{line}");
}

/// Replays the witness packets of all surveyed programs. Returns true if none contradicts its
/// guarantee.
fn run(manifest: &Path, results: &Path, outcomes: Option<&Path>) -> Result<bool, String> {
    let kernel = Kernel::available().map_err(|e| e.to_string())?;
    let entries = result::manifest(manifest)?;
    let mut rows: Vec<(Entry, Surveyed, Outcome)> = Vec::new();
    for (number, entry) in entries.into_iter().enumerate() {
        let surveyed = result::read(&results.join(format!("{number}.json")));
        let outcome = replay::replay(&kernel, &entry, &surveyed);
        rows.push((entry, surveyed, outcome));
    }
    if rows.is_empty() {
        return Err(format!("{}: no programs; {USAGE}", manifest.display()));
    }
    report(&table::markdown(&rows));
    if let Some(file) = outcomes {
        let json = table::json(&rows);
        std::fs::write(file, json).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(!rows.iter().any(|(_, _, outcome)| matches!(outcome, Outcome::Different(_))))
}
