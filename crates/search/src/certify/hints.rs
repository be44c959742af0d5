//! Adds hints to the clauses that a SAT solver learnt, so that a checker needs no search (LRAT).
//!
//! Each clause is derived again by unit propagation; the hints are the clauses that the propagation
//! used, in order. Clauses without use for the contradiction are left out (as in "Trimming while
//! Checking Clausal Proofs", Heule, Hunt and Wetzler, FMCAD 2013).

use slowpath_certificate::lrat::Step;

/// Returns a proof that the clauses contradict each other, from the clauses that a solver learnt.
/// Returns `None` if the contradiction does not follow by unit propagation.
pub(super) fn with_hints(given: &[Vec<i32>], learnt: &[Vec<i32>]) -> Option<Vec<Step>> {
    let mut propagation = Propagation::default();
    for clause in given {
        propagation.add(clause);
    }
    let mut derived: Vec<(&[i32], Vec<usize>)> = Vec::with_capacity(learnt.len() + 1);
    for clause in learnt.iter().map(Vec::as_slice).chain([&[][..]]) {
        let hints = propagation.derive(clause)?;
        derived.push((clause, hints));
        if clause.is_empty() {
            break;
        }
        propagation.add(clause);
    }
    // Clauses that the contradiction needs, directly or not. Hints name only earlier clauses.
    let mut needed = vec![false; derived.len()];
    *needed.last_mut()? = true;
    for number in (0..derived.len()).rev() {
        if needed[number] {
            for learnt in derived[number].1.iter().filter_map(|hint| hint.checked_sub(given.len()))
            {
                needed[learnt] = true;
            }
        }
    }
    let mut renumbered = vec![0u32; derived.len()];
    let mut proof = Vec::new();
    for (number, (clause, hints)) in derived.iter().enumerate().filter(|(n, _)| needed[*n]) {
        let hint = |&hint: &usize| match hint.checked_sub(given.len()) {
            Some(learnt) => renumbered[learnt],
            None => hint as u32 + 1,
        };
        proof.push(Step(clause.to_vec(), hints.iter().map(hint).collect()));
        renumbered[number] = (given.len() + proof.len()) as u32;
    }
    Some(proof)
}

/// Marks assumed literals, which no clause implied.
const ASSUMED: usize = usize::MAX;

/// Unit propagation that remembers the clause that implied each literal.
#[derive(Default)]
struct Propagation {
    /// Clauses; the first two literals are watched.
    clauses: Vec<Vec<i32>>,
    /// For each literal, the clauses that watch it.
    watched: Vec<Vec<usize>>,
    /// Value of each variable: the sign of its true literal, or 0.
    values: Vec<i8>,
    /// For each variable with a value, the clause that implied it, or [`ASSUMED`].
    reasons: Vec<usize>,
    seen: Vec<bool>,
    trail: Vec<i32>,
    propagated: usize,
    /// A clause that is false without assumptions.
    contradiction: Option<usize>,
}

impl Propagation {
    /// Adds a clause, and propagates what follows from it without assumptions.
    fn add(&mut self, clause: &[i32]) {
        let number = self.clauses.len();
        let mut literals = clause.to_vec();
        literals.sort_unstable();
        literals.dedup();
        for &literal in &literals {
            self.reserve(literal);
        }
        // Literals that are not false come first, so that they are watched.
        literals.sort_by_key(|&literal| self.value(literal) < 0);
        let open = literals.iter().filter(|&&literal| self.value(literal) >= 0).count();
        if let [first, second, ..] = literals[..] {
            self.watched[place(first)].push(number);
            self.watched[place(second)].push(number);
        }
        let first = literals.first().copied();
        self.clauses.push(literals);
        match (open, first) {
            (0, _) => self.contradiction = self.contradiction.or(Some(number)),
            (1, Some(only)) if self.value(only) == 0 => {
                self.set(only, number);
                let contradiction = self.propagate();
                self.contradiction = self.contradiction.or(contradiction);
            }
            _ => {}
        }
    }

    /// Returns the clauses from which unit propagation derives `clause`, in the order of their use.
    fn derive(&mut self, clause: &[i32]) -> Option<Vec<usize>> {
        if let Some(contradiction) = self.contradiction {
            return Some(self.explain(contradiction, None));
        }
        let start = self.trail.len();
        let mut hints = None;
        for &literal in clause {
            self.reserve(literal);
            match self.value(literal) {
                0 => self.set(-literal, ASSUMED),
                value if value > 0 => {
                    let reason = self.reasons[variable(literal)];
                    // A clause with a literal and its negation needs no hints.
                    let own = (reason == ASSUMED).then(Vec::new);
                    hints = own.or_else(|| Some(self.explain(reason, Some(literal))));
                    break;
                }
                _ => {}
            }
        }
        if hints.is_none() {
            hints = self.propagate().map(|contradiction| self.explain(contradiction, None));
        }
        for literal in self.trail.drain(start..) {
            self.values[variable(literal)] = 0;
        }
        self.propagated = start;
        hints
    }

    /// Returns the clauses that made all literals of a clause false, except the literal `but`, and
    /// finally the clause.
    fn explain(&mut self, clause: usize, but: Option<i32>) -> Vec<usize> {
        let mut hints = vec![clause];
        let mut marked = Vec::new();
        let mut open = 0;
        let Propagation { clauses, seen, trail, reasons, .. } = self;
        let mut mark = |literals: &[i32], but: Option<i32>, seen: &mut [bool]| {
            for &literal in literals.iter().filter(|&&literal| Some(literal) != but) {
                if !std::mem::replace(&mut seen[variable(literal)], true) {
                    marked.push(variable(literal));
                }
            }
            marked.len()
        };
        let mut found = mark(&clauses[clause], but, seen);
        for &literal in trail.iter().rev() {
            if open == found {
                break;
            }
            if !seen[variable(literal)] {
                continue;
            }
            open += 1;
            let reason = reasons[variable(literal)];
            if reason != ASSUMED {
                hints.push(reason);
                found = mark(&clauses[reason], Some(literal), seen);
            }
        }
        for variable in marked {
            seen[variable] = false;
        }
        hints.reverse();
        hints
    }

    /// Derives all literals that follow. Returns a clause that is false, if there is one.
    fn propagate(&mut self) -> Option<usize> {
        while let Some(&literal) = self.trail.get(self.propagated) {
            self.propagated += 1;
            let lost = -literal;
            let mut watching = std::mem::take(&mut self.watched[place(lost)]);
            let mut contradiction = None;
            watching.retain(|&number| {
                contradiction.is_some() || self.visit(number, lost, &mut contradiction)
            });
            self.watched[place(lost)] = watching;
            if contradiction.is_some() {
                return contradiction;
            }
        }
        None
    }

    /// Updates a clause whose watched literal `lost` became false. Returns true if the clause goes
    /// on watching it. Sets `contradiction` if the clause is false.
    fn visit(&mut self, number: usize, lost: i32, contradiction: &mut Option<usize>) -> bool {
        let mut clause = std::mem::take(&mut self.clauses[number]);
        if clause[0] == lost {
            clause.swap(0, 1);
        }
        let mut stays = true;
        if self.value(clause[0]) <= 0 {
            if let Some(at) = (2..clause.len()).find(|&at| self.value(clause[at]) >= 0) {
                clause.swap(1, at);
                self.watched[place(clause[1])].push(number);
                stays = false;
            } else if self.value(clause[0]) < 0 {
                *contradiction = Some(number);
            } else {
                self.set(clause[0], number);
            }
        }
        self.clauses[number] = clause;
        stays
    }

    fn set(&mut self, literal: i32, reason: usize) {
        self.values[variable(literal)] = literal.signum() as i8;
        self.reasons[variable(literal)] = reason;
        self.trail.push(literal);
    }

    /// Returns 1 for a true literal, -1 for a false one, and 0 for a literal without a value.
    fn value(&self, literal: i32) -> i8 {
        self.values[variable(literal)] * literal.signum() as i8
    }

    fn reserve(&mut self, literal: i32) {
        let count = variable(literal) + 1;
        if self.values.len() < count {
            self.values.resize(count, 0);
            self.reasons.resize(count, ASSUMED);
            self.seen.resize(count, false);
            self.watched.resize_with(2 * count, Vec::new);
        }
    }
}

fn variable(literal: i32) -> usize {
    literal.unsigned_abs() as usize - 1
}

fn place(literal: i32) -> usize {
    2 * variable(literal) + usize::from(literal < 0)
}

#[cfg(test)]
mod tests;
