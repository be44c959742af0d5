//! Prints a summary of all comparisons with oracles, from the folder that the environment variable
//! `SLOWPATH_ORACLES` names. Exits with 1 if a required oracle (`SLOWPATH_REQUIRE`) is missing or
//! records cannot be read. Exits with 2 if `SLOWPATH_ORACLES` is not set.

use std::path::Path;
use std::process::ExitCode;

use slowpath_oracle::{FOLDER, Required, summary};

#[allow(clippy::print_stdout)]
fn main() -> ExitCode {
    let Some(folder) = std::env::var_os(FOLDER) else {
        eprintln!("error: {FOLDER} names no folder; `make test` does that");
        return ExitCode::from(2);
    };
    match Required::from_environment().and_then(|all| summary(Path::new(&folder), &all)) {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("{}", fault.trim_end());
            ExitCode::FAILURE
        }
    }
}
