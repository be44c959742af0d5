//! The compared solvers, with adapters to their interfaces.

use crate::record::{Asked, Recording};
use batsat::{BasicSolver, Lit, SolverInterface, lbool};
use cpu_time::ThreadTime;
use slowpath_smt::ClauseSolver;

/// A SAT solver under test, with a function that replays recorded clauses and queries to it.
pub struct Contestant {
    pub name: &'static str,
    /// Replays all recordings with this solver. Returns the seconds of CPU time, or a description
    /// of the first wrong answer.
    pub replay: fn(&[Recording]) -> Result<f64, String>,
}

/// The compared solvers, starting with our own.
pub const CONTESTANTS: [Contestant; 3] = [
    Contestant { name: "slowpath", replay: own },
    Contestant { name: "batsat", replay: batsat },
    Contestant { name: "CaDiCaL", replay: cadical },
];

/// Replays each recording with a fresh solver. `clause` adds a clause to a solver, and `solve` asks
/// for satisfiability.
fn replay<S>(
    recordings: &[Recording],
    fresh: impl Fn() -> S,
    clause: impl Fn(&mut S, &[i32]),
    solve: impl Fn(&mut S, &[i32], &[i32]) -> bool,
) -> Result<f64, String> {
    let start = ThreadTime::now();
    for recording in recordings {
        let mut solver = fresh();
        for (number, step) in recording.steps.iter().enumerate() {
            match step {
                Asked::Clause(literals) => clause(&mut solver, literals),
                Asked::Question { assumptions, relevant, satisfiable } => {
                    let answer = solve(&mut solver, assumptions, relevant);
                    if answer != *satisfiable {
                        return Err(format!("step {number}: says {answer}, not {satisfiable}"));
                    }
                }
            }
        }
    }
    Ok(start.elapsed().as_secs_f64())
}

fn own(recordings: &[Recording]) -> Result<f64, String> {
    replay(recordings, ClauseSolver::new, ClauseSolver::clause, ClauseSolver::solve)
}

fn batsat(recordings: &[Recording]) -> Result<f64, String> {
    let literals = |solver: &mut BasicSolver, all: &[i32]| -> Vec<Lit> {
        let literal = |&lit: &i32| Lit::new(solver.var_of_int(lit.unsigned_abs() - 1), lit > 0);
        all.iter().map(literal).collect()
    };
    replay(
        recordings,
        BasicSolver::default,
        |solver, clause| {
            let mut clause = literals(solver, clause);
            solver.add_clause_reuse(&mut clause);
        },
        |solver, assumptions, _| {
            let assumptions = literals(solver, assumptions);
            solver.solve_limited(&assumptions) == lbool::TRUE
        },
    )
}

fn cadical(recordings: &[Recording]) -> Result<f64, String> {
    replay(
        recordings,
        || <cadical::Solver>::new(),
        |solver, clause| solver.add_clause(clause.iter().copied()),
        |solver, assumptions, _| solver.solve_with(assumptions.iter().copied()) == Some(true),
    )
}
