//! Compares the default solver with Z3 on queries from all examples. The queries are from searches
//! for the slowest paths and from enumerations of all paths. For many more queries, a proof checker
//! confirms each answer "unsatisfiable".
//!
//! Most searches use the solver even where cheaper methods would decide, so that every checked path
//! is a query. Published listings are searched too, if they are available.

mod programs;
mod searches;

use programs::{Case, examples, published};
use searches::{Limits, STRATEGIES, search};
use slowpath_oracle::Oracle;
use slowpath_smt::{BitSolver, CrossCheck, Proof, Solver, Z3Solver};

/// Limits for searches that are repeated with Z3, which needs a second for some queries with
/// hashes.
const COMPARED: Limits = Limits { steps: 400, queries: 150, seconds: 2.0 };
/// Limits for searches whose "unsatisfiable" answers a proof checker verifies.
const PROVED: Limits = Limits { steps: 4000, queries: 2000, seconds: f64::INFINITY };

/// Published programs, with the maximum number of iterations of their loops.
const PUBLISHED: [(&str, Option<u32>); 6] = [
    ("xdp-switch", None),
    ("xdp-dns-cache", None),
    ("xdp-quic-lb-ipv6-options", Some(10)),
    ("xdp-path-explosion", None),
    ("xdp-alaw2ulaw", Some(160)),
    ("xdp-cloudflare", None),
];

/// Searches all programs with both solvers. Returns the numbers of "satisfiable" and
/// "unsatisfiable" answers.
fn compare(cases: &[Case]) -> (u64, u64) {
    let (mut sat, mut unsat) = (0, 0);
    for case in cases {
        for strategy in STRATEGIES {
            // `CrossCheck` fails on different answers, so Z3's statistics apply to both solvers.
            let z3 = Z3Solver::new().expect("Z3 is available");
            let both = CrossCheck { first: BitSolver::new(), second: z3 };
            let counts = search(case, strategy, both, |both| both.second.statistics(), &COMPARED);
            assert_eq!(counts.unknown, 0, "{}, {strategy:?}: Z3 cannot tell", case.name);
            (sat, unsat) = (sat + counts.sat, unsat + counts.unsat);
        }
    }
    eprintln!("{sat} satisfiable queries, {unsat} unsatisfiable ones");
    Oracle::Z3.compared((sat + unsat) as usize, "queries of searches");
    (sat, unsat)
}

/// Searches all programs with checks of proofs. Returns the numbers of verified "unsatisfiable"
/// answers and of verified learnt clauses.
fn prove(cases: &[Case]) -> (usize, usize) {
    let proof = Proof::new();
    for case in cases {
        for strategy in STRATEGIES {
            let solver = BitSolver::traced(proof.trace());
            let counts = search(case, strategy, solver, BitSolver::statistics, &PROVED);
            assert_eq!(counts.unknown, 0, "{}, {strategy:?}: the solver cannot tell", case.name);
        }
    }
    let (answers, learnt) = (proof.contradictions(), proof.learnt());
    Oracle::Proof.compared(answers, "answers \"unsatisfiable\" in searches");
    Oracle::Proof.compared(learnt, "learnt clauses in searches");
    (answers, learnt)
}

#[test]
fn answers_in_searches_of_the_examples_have_proofs() {
    let (answers, learnt) = prove(&examples());
    assert!(answers > 1000 && learnt > 1000, "{answers} answers, {learnt} clauses");
}

#[test]
fn answers_in_searches_of_published_programs_have_proofs() {
    let cases = published(&PUBLISHED);
    if !cases.is_empty() {
        Oracle::Listings.compared(cases.len(), "listings searched with proofs");
        prove(&cases);
    }
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
    let cases = published(&PUBLISHED);
    if cases.is_empty() {
        return;
    }
    let (sat, unsat) = compare(&cases);
    assert!(sat > 100 && unsat > 100, "{sat} and {unsat} queries");
    Oracle::Listings.compared(cases.len(), "listings searched");
}
