//! Checks proofs that clauses contradict each other (LRAT, restricted to unit propagation).
//!
//! A proof is a list of clauses, each with hints. The hints name earlier clauses from which unit
//! propagation derives the new clause. The last clause is empty. Source: Cruz-Filipe, Heule, Hunt,
//! Kaufmann and Schneider-Kamp, "Efficient Certified RAT Verification" (CADE 2017).

use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A clause of a proof. Literals are numbers as in DIMACS: the number of a variable, negative if
/// the variable is negated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step(
    /// Literals of the clause.
    pub Vec<i32>,
    /// Numbers of earlier clauses, in the order in which unit propagation uses them. The clauses of
    /// the formula have the numbers from 1; the steps of the proof follow.
    pub Vec<u32>,
);

/// Checks that `proof` derives the empty clause from `clauses`.
///
/// # Errors
/// Fails at the first step that does not follow. The text names the step and the reason.
pub fn check(clauses: &[Vec<i32>], proof: &[Step]) -> Result<(), String> {
    let greatest = clauses.iter().flatten().map(|lit| lit.unsigned_abs()).max().unwrap_or(0);
    let is_known = |lit: &i32| (1..=greatest).contains(&lit.unsigned_abs());
    if let Some(at) = proof.iter().position(|Step(clause, _)| !clause.iter().all(is_known)) {
        return Err(format!("step {}: a literal has no variable of the clauses", at + 1));
    }
    let variables = greatest as usize;
    // For each variable, the sign of its true literal; 0 if it has no value.
    let mut values = vec![0i8; variables + 1];
    let mut known: Vec<&[i32]> = clauses.iter().map(Vec::as_slice).collect();
    for (number, Step(clause, hints)) in proof.iter().enumerate() {
        let mut trail = Vec::new();
        let follows = propagate(&known, (clause, hints), &mut values, &mut trail);
        for literal in trail {
            values[variable(literal)] = 0;
        }
        follows.map_err(|reason| format!("step {}: {reason}", number + 1))?;
        known.push(clause);
    }
    match proof.last() {
        Some(Step(clause, _)) if clause.is_empty() => Ok(()),
        _ => Err("the last step is not the empty clause".into()),
    }
}

/// Assumes that all literals of `clause` are false, and propagates the clauses that `hints` names,
/// in this order. Succeeds if one of them becomes false. Assigned literals are added to `trail`.
fn propagate(
    known: &[&[i32]],
    (clause, hints): (&[i32], &[u32]),
    values: &mut [i8],
    trail: &mut Vec<i32>,
) -> Result<(), String> {
    for &literal in clause {
        match value(values, literal) {
            0 => assign(values, trail, -literal),
            1 => return Ok(()), // The clause has a literal and its negation, so it always holds.
            _ => {}
        }
    }
    for &hint in hints {
        let Some(&hinted) = (hint as usize).checked_sub(1).and_then(|at| known.get(at)) else {
            return Err(format!("there is no earlier clause {hint}"));
        };
        let mut open = None;
        for &literal in hinted {
            match value(values, literal) {
                0 if open.is_none_or(|other| other == literal) => open = Some(literal),
                0 | 1 => return Err(format!("clause {hint} is not a unit clause")),
                _ => {}
            }
        }
        match open {
            Some(literal) => assign(values, trail, literal),
            None => return Ok(()),
        }
    }
    Err("no clause becomes false".into())
}

fn assign(values: &mut [i8], trail: &mut Vec<i32>, literal: i32) {
    values[variable(literal)] = literal.signum() as i8;
    trail.push(literal);
}

/// Returns 1 for a true literal, -1 for a false one, and 0 for a literal without a value.
fn value(values: &[i8], literal: i32) -> i8 {
    values[variable(literal)] * literal.signum() as i8
}

fn variable(literal: i32) -> usize {
    literal.unsigned_abs() as usize
}

/// Writes clauses in the format DIMACS, which other checkers read.
pub fn to_dimacs(clauses: &[Vec<i32>]) -> String {
    let variables = clauses.iter().flatten().map(|lit| lit.unsigned_abs()).max().unwrap_or(0);
    let mut text = format!("p cnf {variables} {}\n", clauses.len());
    for clause in clauses {
        for literal in clause {
            let _ = write!(text, "{literal} ");
        }
        text.push_str("0\n");
    }
    text
}

/// Writes a proof in the format LRAT. `clauses` is the number of clauses of the formula.
pub fn to_lrat(clauses: usize, proof: &[Step]) -> String {
    let mut text = String::new();
    for (number, Step(clause, hints)) in proof.iter().enumerate() {
        let _ = write!(text, "{} ", clauses + number + 1);
        for literal in clause {
            let _ = write!(text, "{literal} ");
        }
        text.push_str("0 ");
        for hint in hints {
            let _ = write!(text, "{hint} ");
        }
        text.push_str("0\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Step, check, to_dimacs, to_lrat};

    /// All four clauses over two variables, which contradict each other.
    fn clauses() -> Vec<Vec<i32>> {
        vec![vec![1, 2], vec![1, -2], vec![-1, 2], vec![-1, -2]]
    }

    fn proof() -> Vec<Step> {
        vec![Step(vec![1], vec![1, 2]), Step(vec![], vec![5, 3, 4])]
    }

    #[test]
    fn a_proof_is_accepted() {
        assert_eq!(check(&clauses(), &proof()), Ok(()));
        let always_true = [&[Step(vec![2, -2], vec![])], &proof()[..1]].concat();
        let end = [Step(vec![], vec![6, 3, 4])];
        assert_eq!(check(&clauses(), &[&always_true[..], &end].concat()), Ok(()));
    }

    #[test]
    fn wrong_proofs_are_refused() {
        let refused = |clauses: &[Vec<i32>], proof: &[Step], reason: &str| {
            let error = check(clauses, proof).expect_err("a wrong proof");
            assert!(error.contains(reason), "{error}");
        };
        let (all, right) = (clauses(), proof());
        refused(&all, &[], "not the empty clause");
        refused(&all, &right[..1], "not the empty clause");
        refused(&all[..3], &right, "step 2: there is no earlier clause 5");
        refused(&all, &[Step(vec![1], vec![1])], "step 1: no clause becomes false");
        refused(&all, &[Step(vec![], vec![1])], "step 1: clause 1 is not a unit clause");
        refused(&all, &[Step(vec![2], vec![1, 1])], "step 1: clause 1 is not a unit clause");
        for literal in [0, 3, -3, i32::MIN, i32::MAX] {
            refused(&all, &[Step(vec![1, literal], vec![1])], "step 1: a literal has no variable");
        }
        refused(&all, &[Step(vec![1], vec![0])], "there is no earlier clause 0");
        // A step must not use itself.
        refused(&all, &[Step(vec![1], vec![5])], "there is no earlier clause 5");
        refused(&[vec![1, 2]], &[Step(vec![1], vec![1]), Step(vec![], vec![2])], "step 1");
    }

    #[test]
    fn the_texts_have_the_numbers_of_the_formats() {
        assert!(to_dimacs(&clauses()).starts_with("p cnf 2 4\n1 2 0\n1 -2 0\n"));
        assert_eq!(to_lrat(4, &proof()), "5 1 0 1 2 0\n6 0 5 3 4 0\n");
    }
}
