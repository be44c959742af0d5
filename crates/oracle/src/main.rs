//! Prints what the tests of a run compared with which oracles, from the folder that
//! `SLOWPATH_ORACLES` names; exits with 1 when one of `SLOWPATH_REQUIRE` is missing, with 2 when
//! there is nothing to print.

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
