//! Tests that the checker accepts only steps that follow from earlier ones. Real proofs of the
//! solver must pass, damaged proofs must fail.

use proptest::prelude::*;

use super::{Checker, ClauseSolver, Event, Fault, Trace};
use std::sync::{Arc, Mutex};

/// Number of variables in random formulas.
const VARIABLES: i32 = 30;

/// A trace that records all events.
#[derive(Clone, Debug, Default)]
struct Record(Arc<Mutex<Vec<Event>>>);

impl Trace for Record {
    fn event(&mut self, event: Event) {
        self.0.lock().expect("one thread").push(event);
    }

    fn fork(&self) -> Box<dyn Trace> {
        Box::new(Record::default())
    }
}

fn check(events: &[Event]) -> Result<(), Fault> {
    let mut checker = Checker::new();
    events.iter().try_for_each(|event| checker.step(event))
}

fn asked(assumptions: &[i32]) -> Event {
    Event::Query { assumptions: assumptions.to_vec(), relevant: Vec::new() }
}

/// Generates clauses of random length. If `satisfied` is true, an assignment of true to all
/// variables satisfies them.
fn clauses(satisfied: bool) -> impl Strategy<Value = Vec<Vec<i32>>> {
    let literal = (1..=VARIABLES, any::<bool>())
        .prop_map(|(variable, negative)| if negative { -variable } else { variable });
    let clause = prop::collection::vec(literal, 2..4).prop_map(move |mut clause| {
        if satisfied && clause.iter().all(|&lit| lit < 0) {
            clause[0] = -clause[0];
        }
        clause
    });
    prop::collection::vec(clause, 3 * VARIABLES as usize..6 * VARIABLES as usize)
}

/// Makes one check for each list of assumptions in `questions`, and adds some of the `clauses`
/// before each. Returns the events that the solver reports.
fn solved(clauses: &[Vec<i32>], questions: &[Vec<i32>]) -> Vec<Event> {
    let record = Record::default();
    let mut solver = ClauseSolver::traced(Box::new(record.clone()));
    let relevant: Vec<i32> = (1..=VARIABLES).collect();
    let share = clauses.len().div_ceil(questions.len());
    for (more, question) in clauses.chunks(share).zip(questions) {
        for clause in more {
            solver.clause(clause);
        }
        solver.solve(question, &relevant);
        // Delete learnt clauses early, so that deletion events occur.
        solver.forget();
    }
    let events = record.0.lock().expect("one thread");
    events.clone()
}

fn questions() -> impl Strategy<Value = Vec<Vec<i32>>> {
    let literal = (1..=VARIABLES, any::<bool>())
        .prop_map(|(variable, negative)| if negative { -variable } else { variable });
    prop::collection::vec(prop::collection::vec(literal, 0..8), 2..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn proofs_of_the_solver_are_taken(
        clauses in clauses(false),
        questions in questions(),
    ) {
        prop_assert_eq!(check(&solved(&clauses, &questions)), Ok(()));
    }

    /// Checks that a learnt clause is rejected after all its literals were made negative. Setting
    /// all variables to true satisfies all given clauses, so such a clause does not follow from
    /// them.
    #[test]
    fn a_damaged_clause_is_not_taken(
        clauses in clauses(true),
        questions in questions(),
        which in any::<prop::sample::Index>(),
    ) {
        let mut events = solved(&clauses, &questions);
        prop_assert_eq!(check(&events), Ok(()));
        let learnt: Vec<usize> =
            (0..events.len()).filter(|&n| matches!(events[n], Event::Learnt(_))).collect();
        prop_assume!(!learnt.is_empty());
        let at = learnt[which.index(learnt.len())];
        let Event::Learnt(clause) = &mut events[at] else { unreachable!() };
        clause.iter_mut().for_each(|lit| *lit = -lit.abs());
        let damaged = clause.clone();
        prop_assert_eq!(check(&events), Err(Fault::Learnt(damaged)));
    }
}

#[test]
fn what_does_not_follow_is_a_fault() {
    let given = [vec![1, 2], vec![1, -2, 3]].map(Event::Original);
    let with = |events: &[Event]| check(&[&given[..], events].concat());
    assert_eq!(with(&[Event::Learnt(vec![3, 1])]), Ok(()));
    assert_eq!(with(&[Event::Learnt(vec![1])]), Err(Fault::Learnt(vec![1])));
    assert_eq!(with(&[Event::Learnt(vec![])]), Err(Fault::Learnt(vec![])));
    let blamed = |failed: &[i32]| with(&[asked(&[-1, -3, 4]), Event::Unsat(failed.into())]);
    assert_eq!(blamed(&[-3, -1]), Ok(()));
    assert_eq!(blamed(&[-1]), Err(Fault::Contradiction(vec![-1])));
    assert_eq!(blamed(&[]), Err(Fault::Contradiction(vec![])));
    assert_eq!(blamed(&[-1, 3]), Err(Fault::NotAssumed(3)));
    // Opposite assumptions contradict each other without a clause.
    assert_eq!(with(&[asked(&[5, -5]), Event::Unsat(vec![5, -5])]), Ok(()));
}

#[test]
fn what_is_forgotten_is_not_used() {
    let given = [vec![1, 2], vec![1, -2]].map(Event::Original);
    let learnt = [Event::Learnt(vec![1, 7]), Event::Deleted(vec![7, 1])];
    let with = |events: &[Event]| check(&[&given[..], events].concat());
    assert_eq!(with(&learnt), Ok(()));
    let twice = [&learnt[..], &learnt[1..]].concat();
    assert_eq!(with(&twice), Err(Fault::Forgotten(vec![7, 1])));
    assert_eq!(with(&[Event::Deleted(vec![1, 2])]), Err(Fault::Forgotten(vec![1, 2])));
    // All four clauses over two variables. Without the last one they are satisfiable.
    let open = [vec![1, 2], vec![1, -2], vec![-1, 2], vec![-1, -2]].map(Event::Original);
    let end = [Event::Learnt(vec![1]), asked(&[]), Event::Unsat(vec![])];
    let events = |last: &[Event]| [&open[..3], last, &end].concat();
    assert_eq!(check(&events(&open[3..])), Ok(()));
    assert_eq!(check(&events(&[])), Err(Fault::Contradiction(vec![])));
}

#[test]
#[should_panic(expected = "the solver's proof is wrong: the learnt clause [1] does not follow")]
fn a_wrong_proof_ends_the_test() {
    let proof = super::Proof::new();
    let mut trace = proof.trace();
    trace.event(Event::Original(vec![1, 2]));
    trace.event(Event::Learnt(vec![1]));
}
