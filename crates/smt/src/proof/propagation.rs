//! Unit propagation for the proof checker: derives the literals that follow from clauses. Clauses
//! can be added and removed.
//!
//! Literals that follow from the clauses without assumptions stay assigned. This holds even after
//! the removal of a clause that implied them, because the given clauses still imply them. Every
//! clause that is not permanently satisfied is watched at two literals that are not false.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClauseNumber(usize);

/// A set of clauses, and the literals that they imply.
#[derive(Debug, Default)]
pub(super) struct Propagation {
    /// Literals of each clause. The first two are watched. Empty for clauses that are removed or
    /// permanently satisfied.
    clauses: Vec<Vec<i32>>,
    /// For each literal, the clauses that watch it.
    watched: Vec<Vec<usize>>,
    /// Value of each variable: 0 if unassigned, else the sign of the true literal.
    values: Vec<i8>,
    /// True literals in order of assignment.
    trail: Vec<i32>,
    /// Number of literals in `trail` that have been propagated.
    propagated: usize,
    /// True if the clauses contradict each other, without any assumption.
    contradictory: bool,
}

impl Propagation {
    /// Adds a clause and propagates its consequences.
    pub(super) fn add(&mut self, clause: &[i32]) -> ClauseNumber {
        let number = self.clauses.len();
        let mut literals: Vec<i32> = clause.to_vec();
        literals.sort_unstable();
        literals.dedup();
        for &lit in &literals {
            self.reserve(lit);
        }
        let valid = literals.iter().any(|lit| literals.binary_search(&-lit).is_ok());
        if valid || literals.iter().any(|&lit| self.value(lit) > 0) {
            self.clauses.push(Vec::new());
            return ClauseNumber(number);
        }
        // Permanently false literals can be removed.
        literals.retain(|&lit| self.value(lit) == 0);
        match literals[..] {
            [] => self.contradictory = true,
            [lit] => {
                self.set(lit);
                self.contradictory |= self.propagate();
            }
            [first, second, ..] => {
                self.watched[place(first)].push(number);
                self.watched[place(second)].push(number);
            }
        }
        self.clauses.push(if literals.len() > 1 { literals } else { Vec::new() });
        ClauseNumber(number)
    }

    /// Removes a clause; literals that it implied stay assigned.
    pub(super) fn remove(&mut self, ClauseNumber(number): ClauseNumber) {
        let clause = std::mem::take(&mut self.clauses[number]);
        for &lit in clause.iter().take(2) {
            self.watched[place(lit)].retain(|&other| other != number);
        }
    }

    /// Returns true if unit propagation of these literals yields a contradiction with the clauses.
    pub(super) fn contradicts(&mut self, literals: &[i32]) -> bool {
        let start = self.trail.len();
        let mut contradiction = self.contradictory;
        for &lit in literals {
            self.reserve(lit);
            match self.value(lit) {
                0 => self.set(lit),
                value => contradiction |= value < 0,
            }
        }
        contradiction = contradiction || self.propagate();
        for lit in self.trail.drain(start..) {
            self.values[variable(lit)] = 0;
        }
        self.propagated = start;
        contradiction
    }

    /// Derives all literals that follow from the assigned ones. Returns true if this violates a
    /// clause.
    fn propagate(&mut self) -> bool {
        while let Some(&lit) = self.trail.get(self.propagated) {
            self.propagated += 1;
            let lost = -lit;
            let mut clauses = std::mem::take(&mut self.watched[place(lost)]);
            let mut contradiction = false;
            clauses.retain(|&number| {
                contradiction || {
                    let stays = self.visit(number, lost);
                    contradiction = stays == Visit::Violated;
                    stays != Visit::Moved
                }
            });
            self.watched[place(lost)] = clauses;
            if contradiction {
                return true;
            }
        }
        false
    }

    /// Updates the watches of a clause after its watched literal `lost` has become false.
    fn visit(&mut self, number: usize, lost: i32) -> Visit {
        let mut clause = std::mem::take(&mut self.clauses[number]);
        if clause[0] == lost {
            clause.swap(0, 1);
        }
        let other = clause[0];
        let mut outcome = Visit::Stays;
        if self.value(other) <= 0 {
            let free = (2..clause.len()).find(|&position| self.value(clause[position]) >= 0);
            if let Some(position) = free {
                clause.swap(1, position);
                self.watched[place(clause[1])].push(number);
                outcome = Visit::Moved;
            } else if self.value(other) < 0 {
                outcome = Visit::Violated;
            } else {
                self.set(other);
            }
        }
        self.clauses[number] = clause;
        outcome
    }

    fn set(&mut self, lit: i32) {
        self.values[variable(lit)] = lit.signum() as i8;
        self.trail.push(lit);
    }

    /// Returns 1 for a true literal, -1 for a false one, 0 for an unassigned one.
    fn value(&self, lit: i32) -> i8 {
        self.values[variable(lit)] * lit.signum() as i8
    }

    /// Extends the tables so that they contain the variable of `lit`.
    fn reserve(&mut self, lit: i32) {
        let count = variable(lit) + 1;
        if self.values.len() < count {
            self.values.resize(count, 0);
            self.watched.resize_with(2 * count, Vec::new);
        }
    }
}

/// Result of visiting a clause after a literal has become false: it keeps its watch on the literal,
/// watches another literal instead, or is violated.
#[derive(PartialEq, Eq)]
enum Visit {
    Stays,
    Moved,
    Violated,
}

fn variable(lit: i32) -> usize {
    lit.unsigned_abs() as usize - 1
}

fn place(lit: i32) -> usize {
    2 * variable(lit) + usize::from(lit < 0)
}
