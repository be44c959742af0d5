//! Checks the hints of proofs for random contradictory clauses.

use super::with_hints;
use crate::certify::solve;
use proptest::prelude::*;
use slowpath_certificate::lrat::{self, Step};
use slowpath_oracle::{Oracle, random_cases};
use std::process::Command;

/// Number of variables of random clauses.
const VARIABLES: i32 = 24;

fn clauses() -> impl Strategy<Value = Vec<Vec<i32>>> {
    let literal = (1..=VARIABLES, any::<bool>())
        .prop_map(|(variable, negated)| if negated { -variable } else { variable });
    // At this ratio of clauses to variables, most formulas of three literals are contradictory.
    prop::collection::vec(prop::collection::vec(literal, 1..4), 110..180)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(random_cases(200)))]

    #[test]
    fn proofs_with_hints_are_accepted(clauses in clauses()) {
        let (solver, answer, learnt) = solve(&clauses, &|| false);
        match answer {
            Some(true) => {
                let holds = |&literal: &i32| {
                    solver.value(literal.unsigned_abs() as usize) == (literal > 0)
                };
                prop_assert!(clauses.iter().all(|clause| clause.iter().any(holds)));
            }
            Some(false) => {
                let proof = with_hints(&clauses, &learnt).expect("a proof");
                prop_assert_eq!(lrat::check(&clauses, &proof), Ok(()));
            }
            None => prop_assert!(false, "no limit"),
        }
    }

    /// Checks that no proof is accepted for clauses that an assignment satisfies, whatever step of
    /// it is damaged: satisfiable clauses have no proof.
    #[test]
    fn satisfiable_clauses_have_no_proof(
        mut clauses in clauses(),
        keep in any::<[bool; VARIABLES as usize]>(),
        steps in prop::collection::vec((any::<u16>(), any::<u16>()), 0..6),
    ) {
        let (_, _, learnt) = solve(&clauses, &|| false);
        let proof = with_hints(&clauses, &learnt).unwrap_or_default();
        for clause in &mut clauses {
            let literal = clause[0];
            let holds = |&literal: &i32| keep[literal.unsigned_abs() as usize - 1] == (literal > 0);
            if !clause.iter().any(holds) {
                clause[0] = -literal;
            }
        }
        prop_assert!(lrat::check(&clauses, &proof).is_err());
        let mut damaged = proof;
        for (place, value) in steps {
            if damaged.is_empty() {
                break;
            }
            let at = usize::from(place) % damaged.len();
            let Step(literals, hints) = &mut damaged[at];
            hints.push(u32::from(value) % 300);
            literals.pop();
        }
        prop_assert!(lrat::check(&clauses, &damaged).is_err());
    }
}

/// Runs `rate` on clauses and a proof. Returns its verdict; `None` if it is not installed.
fn verdict_of_rate(clauses: &[Vec<i32>], proof: &[Step], name: &str) -> Option<bool> {
    let folder = std::env::temp_dir();
    let stem = format!("slowpath-{}-{name}", std::process::id());
    let (formula, steps) =
        (folder.join(format!("{stem}.cnf")), folder.join(format!("{stem}.drat")));
    let line = |Step(clause, _): &Step| {
        clause.iter().map(|literal| format!("{literal} ")).collect::<String>() + "0\n"
    };
    std::fs::write(&formula, lrat::to_dimacs(clauses)).expect("a file");
    std::fs::write(&steps, proof.iter().map(line).collect::<String>()).expect("a file");
    let run = Command::new("rate").args([&formula, &steps]).output();
    let (_, _) = (std::fs::remove_file(&formula), std::fs::remove_file(&steps));
    let output = String::from_utf8_lossy(&run.ok()?.stdout).into_owned();
    Some(output.contains("s VERIFIED"))
}

#[test]
fn rate_accepts_proofs_and_refuses_shortened_ones() {
    if verdict_of_rate(&[vec![1], vec![-1]], &[Step(vec![], vec![])], "none").is_none() {
        return Oracle::Rate
            .missing("`rate` is not in the PATH; install it with cargo install rate");
    }
    let mut random = 1u64;
    let mut next = |end: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % end
    };
    let mut compared = 0;
    for number in 0..random_cases(40u32) {
        let mut literal = || next(60) as i32 + 1;
        let clauses: Vec<Vec<i32>> = (0..330)
            .map(|_| {
                (0..3).map(|_| if literal() % 2 == 0 { literal() } else { -literal() }).collect()
            })
            .collect();
        let (_, answer, learnt) = solve(&clauses, &|| false);
        if answer != Some(false) {
            continue;
        }
        let proof = with_hints(&clauses, &learnt).expect("a proof");
        let name = number.to_string();
        assert_eq!(verdict_of_rate(&clauses, &proof, &name), Some(true));
        // Without its clauses, the contradiction does not follow by unit propagation.
        if proof.len() > 3 {
            assert_eq!(verdict_of_rate(&clauses, &proof[proof.len() - 1..], &name), Some(false));
        }
        compared += 1;
    }
    Oracle::Rate.compared(compared, "proofs");
}
