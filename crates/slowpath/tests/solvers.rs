//! The solver in use agrees with Z3 on all queries of all examples: searches for the slowest paths,
//! and walks along all branches, with as many queries as possible.
//!
//! What the search knows without a solver (facts, guesses) is left out in most of the searches, so
//! that every path checked is a query. Published listings are searched too, where they are at hand.

#[path = "solvers/programs.rs"]
mod programs;

use programs::{Case, examples, published};
use slowpath_oracle::Oracle;
use slowpath_search::{Event, Search, Tactics};
use slowpath_smt::{BitSolver, Both, Solver, SolverStatistics, Z3Solver};

/// Slowest paths of a program.
const PATHS: usize = 50;
/// A search has shown enough after so many steps,
const STEPS: usize = 400;
/// so many queries,
const QUERIES: u64 = 150;
/// or when they have taken Z3 so many seconds: some that hash take it a second each.
const SECONDS: f64 = 2.0;
/// Most steps that the slowest path may take to find.
const MOST_STEPS: usize = 10_000;

/// What is searched, and with what.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// As users do. Everything is compared until the slowest path is found, whatever it takes.
    AsUsed,
    /// All that can be a query is one.
    Asking,
    /// All paths, with a query at branches.
    Branches,
}

/// What Z3 said about the queries of a search, which is what the solver in use said.
fn search(case: &Case, way: Way) -> SolverStatistics {
    let tactics = match way {
        Way::AsUsed => Tactics::default(),
        Way::Asking | Way::Branches => Tactics { facts: false, guess: false, ..Tactics::default() },
    };
    let z3 = Z3Solver::new().expect("Z3 is available");
    let solver = Both { first: BitSolver::new(), second: z3 };
    let (model, target) = (&case.model, case.target.clone());
    let (unrolled, packets) = (case.unroll(), case.packets());
    let mut search =
        Search::with_tactics(unrolled, model, target, case.metric, packets, solver, tactics);
    if way == Way::Branches {
        search.exhaust();
    }
    let (mut paths, mut steps) = (0, 0);
    loop {
        let asked = search.solver().second.statistics();
        let enough = steps >= STEPS || asked.checks >= QUERIES || asked.seconds >= SECONDS;
        if paths >= PATHS || enough && (paths > 0 || way != Way::AsUsed) {
            return asked;
        }
        steps += 1;
        assert!(steps <= MOST_STEPS, "{}, {way:?}: the slowest path is not found", case.name);
        match search.step().unwrap_or_else(|error| panic!("{}, {way:?}: {error}", case.name)) {
            Event::Working | Event::Bound(_) => {}
            Event::Path(_) => paths += 1,
            Event::Complete => return search.solver().second.statistics(),
            Event::GaveUp(why) => panic!("{}, {way:?}: {why}", case.name),
        }
    }
}

/// Searches all of them; how often both solvers said "satisfiable" and "unsatisfiable".
fn compare(cases: &[Case]) -> (u64, u64) {
    let (mut sat, mut unsat) = (0, 0);
    for case in cases {
        for way in [Way::AsUsed, Way::Asking, Way::Branches] {
            let said = search(case, way);
            assert_eq!(said.unknown, 0, "{}, {way:?}: Z3 cannot tell", case.name);
            (sat, unsat) = (sat + said.sat, unsat + said.unsat);
        }
    }
    eprintln!("{sat} satisfiable queries, {unsat} unsatisfiable ones");
    Oracle::Z3.compared((sat + unsat) as usize, "queries of searches");
    (sat, unsat)
}

#[test]
fn solvers_agree_on_all_queries_of_the_examples() {
    let cases = examples();
    assert!(cases.len() > 20, "{} programs", cases.len());
    let (sat, unsat) = compare(&cases);
    assert!(sat > 1000 && unsat > 1000, "{sat} and {unsat} queries");
}

#[test]
fn solvers_agree_on_published_programs() {
    let wanted = [
        ("xdp-switch", None),
        ("xdp-dns-cache", None),
        ("xdp-quic-lb-ipv6-options", Some(10)),
        ("xdp-path-explosion", None),
        ("xdp-alaw2ulaw", Some(160)),
        ("xdp-cloudflare", None),
    ];
    let cases = published(&wanted);
    if cases.is_empty() {
        return;
    }
    let (sat, unsat) = compare(&cases);
    assert!(sat > 100 && unsat > 100, "{sat} and {unsat} queries");
    Oracle::Listings.compared(cases.len(), "listings searched");
}
