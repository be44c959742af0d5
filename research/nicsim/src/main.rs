//! Reads a JSON list of [`Scenario`] from standard input, simulates them, and writes a JSON list of
//! their outcomes. The argument is the number of threads.

use slowpath_nicsim::{Device, Functions, Scenario, run_all};
use std::error::Error;
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    match simulate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn simulate() -> Result<(), Box<dyn Error>> {
    let threads = std::env::args().nth(1).map_or(Ok(1), |threads| threads.parse())?;
    let scenarios: Vec<Scenario> = serde_json::from_reader(io::stdin().lock())?;
    let outcomes = run_all(&Device::bluefield_2()?, &Functions::built_in()?, &scenarios, threads)?;
    Ok(serde_json::to_writer(io::stdout().lock(), &outcomes)?)
}
