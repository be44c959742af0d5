//! Compares our SAT solver with CaDiCaL and batsat, on the queries of searches.
//!
//! Searches in the examples and in random programs are recorded: every clause and every query, in
//! order. Each solver then answers all queries incrementally with the same assumptions. The solvers
//! take turns, and the median of the runs counts. An answer that differs from the recorded one ends
//! the program with exit code 1.

mod arguments;
mod contestants;
mod record;
mod table;

// Shared with the tests, which use more of these modules.
#[allow(dead_code)]
#[path = "../../../crates/slowpath/tests/solvers/programs.rs"]
mod programs;
#[allow(dead_code)]
#[path = "../../../crates/slowpath/tests/solvers/searches.rs"]
mod searches;

use arguments::Arguments;
use contestants::CONTESTANTS;
use record::{Recording, random, searched};
use searches::Strategy;
use std::process::ExitCode;
use table::Row;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n{}", arguments::USAGE);
            return ExitCode::from(2);
        }
    };
    let examples = programs::examples();
    let random = random(arguments.programs);
    let sets = [
        ("examples", searched(&examples, Strategy::Default, false)),
        ("examples, all questions", searched(&examples, Strategy::Queries, true)),
        ("examples, at branches", searched(&examples, Strategy::Branches, true)),
        ("random programs", random),
    ];
    let mut rows = Vec::new();
    for (name, recordings) in &sets {
        match measured(name, recordings, arguments.repeat) {
            Ok(row) => rows.push(row),
            Err(error) => {
                eprintln!("error: {name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{}", if arguments.markdown { table::markdown(&rows) } else { table::text(&rows) });
    ExitCode::SUCCESS
}

/// Replays the recordings with all solvers, in turns and `repeat` times each, and times them.
fn measured(name: &str, recordings: &[Recording], repeat: usize) -> Result<Row, String> {
    let mut seconds = vec![Vec::new(); CONTESTANTS.len()];
    for round in 0..repeat {
        for turn in 0..CONTESTANTS.len() {
            let number = (turn + round) % CONTESTANTS.len();
            let taken = (CONTESTANTS[number].replay)(recordings);
            let taken = taken.map_err(|error| format!("{}: {error}", CONTESTANTS[number].name))?;
            seconds[number].push(taken);
        }
    }
    Ok(Row::new(name, recordings, seconds))
}
