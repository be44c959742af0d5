//! Compares the SAT solver's results on small formulas with those of an enumeration of all
//! assignments.

use proptest::prelude::*;

use super::{Answer, Lit, Sat};

/// Number of variables in random formulas.
const VARIABLES: usize = 8;

type Clause = Vec<(usize, bool)>;

fn literals(clause: &Clause, variables: &[Lit]) -> Vec<Lit> {
    clause
        .iter()
        .map(|&(n, negative)| if negative { !variables[n] } else { variables[n] })
        .collect()
}

fn holds(assignment: u32, clause: &Clause) -> bool {
    clause.iter().any(|&(n, negative)| (assignment >> n & 1 == 1) != negative)
}

/// Returns true if some assignment of all variables satisfies the clauses and gives the variables
/// in `units` the values stated there.
fn possible(clauses: &[Clause], units: &[(usize, bool)]) -> bool {
    (0..1u32 << VARIABLES).any(|assignment| {
        clauses.iter().all(|clause| holds(assignment, clause))
            && units.iter().all(|&unit| holds(assignment, &vec![unit]))
    })
}

fn never() -> bool {
    false
}

fn literal() -> impl Strategy<Value = (usize, bool)> {
    (0..VARIABLES, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_those_of_trying_everything(
        rounds in prop::collection::vec(
            (
                prop::collection::vec(prop::collection::vec(literal(), 1..5), 0..12),
                prop::collection::vec(literal(), 0..5),
            ),
            1..6,
        ),
    ) {
        let mut sat = Sat::new();
        let variables: Vec<Lit> = (0..VARIABLES).map(|_| sat.variable()).collect();
        let relevant: Vec<usize> = variables.iter().map(|lit| lit.variable()).collect();
        let mut clauses: Vec<Clause> = Vec::new();
        // Clauses are added between checks, so learnt clauses must remain valid.
        for (more, assumed) in rounds {
            for clause in more {
                sat.clause(&literals(&clause, &variables));
                clauses.push(clause);
            }
            let assumptions = literals(&assumed, &variables);
            match sat.solve(&assumptions, &relevant, None, &never) {
                Answer::Satisfiable => {
                    let assignment = (0..VARIABLES)
                        .filter(|&n| sat.value(variables[n]) == Some(true))
                        .fold(0u32, |all, n| all | 1 << n);
                    prop_assert!(clauses.iter().all(|clause| holds(assignment, clause)));
                    prop_assert!(assumed.iter().all(|&unit| holds(assignment, &vec![unit])));
                }
                Answer::Contradiction => {
                    prop_assert!(sat.failed().iter().all(|lit| assumptions.contains(lit)));
                    let blamed: Vec<(usize, bool)> = sat
                        .failed()
                        .iter()
                        .map(|lit| (lit.variable(), lit.is_negative()))
                        .collect();
                    prop_assert!(!possible(&clauses, &blamed), "{blamed:?}");
                }
                Answer::Stopped => prop_assert!(false, "nobody asked for it"),
            }
        }
    }
}

/// Adds clauses which state that `count` pigeons sit in `count - 1` holes, at most one in each hole
/// (the pigeonhole principle). This is impossible, but hard to refute. Returns the variables.
fn pigeons(sat: &mut Sat, count: usize) -> Vec<usize> {
    let holes = count - 1;
    let sits: Vec<Vec<Lit>> =
        (0..count).map(|_| (0..holes).map(|_| sat.variable()).collect()).collect();
    for pigeon in &sits {
        sat.clause(pigeon);
    }
    for (n, one) in sits.iter().enumerate() {
        for other in &sits[..n] {
            for (&a, &b) in one.iter().zip(other) {
                sat.clause(&[!a, !b]);
            }
        }
    }
    sits.into_iter().flatten().map(Lit::variable).collect()
}

#[test]
fn what_is_learnt_is_forgotten_without_harm() {
    let mut sat = Sat::new();
    let relevant = pigeons(&mut sat, 8);
    assert_eq!(sat.solve(&[], &relevant, None, &never), Answer::Contradiction);
    assert_eq!(sat.failed(), []);
    // The contradiction is permanent.
    assert_eq!(sat.solve(&[], &[], None, &never), Answer::Contradiction);
}

#[test]
fn effort_ends_a_search_and_so_does_a_stop() {
    let mut sat = Sat::new();
    let relevant = pigeons(&mut sat, 12);
    assert_eq!(sat.solve(&[], &relevant, Some(10_000), &never), Answer::Stopped);
    assert_eq!(sat.solve(&[], &relevant, None, &|| true), Answer::Stopped);
    // An unrelated check remains easy.
    let free = sat.variable();
    let answer = sat.solve(&[!free], &[free.variable()], Some(10_000), &never);
    assert_eq!((answer, sat.value(free)), (Answer::Satisfiable, Some(false)));
}

#[test]
fn only_what_matters_is_decided() {
    let mut sat = Sat::new();
    let [a, b, c] = [(); 3].map(|()| sat.variable());
    sat.clause(&[a, b, c]);
    assert_eq!(sat.solve(&[], &[a.variable()], None, &never), Answer::Satisfiable);
    assert_eq!([a, b, c].map(|lit| sat.value(lit)), [Some(false), None, None]);
    assert_eq!(sat.solve(&[!b, !c], &[], None, &never), Answer::Satisfiable);
    assert_eq!(sat.value(a), Some(true));
    assert_eq!(sat.solve(&[!b, !a, !c], &[], None, &never), Answer::Contradiction);
    assert_eq!(sat.failed().len(), 3);
    assert_eq!(sat.solve(&[b, !a, !b], &[], None, &never), Answer::Contradiction);
    assert_eq!(sat.failed().len(), 2);
}
