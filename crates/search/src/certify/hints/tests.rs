//! Checks the hints of proofs for random contradictory clauses.

use super::with_hints;
use crate::certify::solve;
use proptest::prelude::*;
use slowpath_certificate::lrat::{self, Step};
use slowpath_oracle::random_cases;

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
