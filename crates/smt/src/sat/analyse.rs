//! What a conflict teaches: the clause of its first unique implication point, minimised, and which
//! assumptions are to blame.

use super::Sat;
use super::arena::ClauseId;
use super::literal::Lit;

const SEEN: u8 = 1;
/// Follows from other literals of the learnt clause.
const IMPLIED: u8 = 2;
/// Does not.
const NEEDED: u8 = 3;

/// What was learnt.
pub(super) struct Lesson {
    /// The asserting literal first, then one of the highest other level.
    pub(super) clause: Vec<Lit>,
    /// The level to go back to.
    pub(super) level: usize,
    /// Number of distinct levels in the clause.
    pub(super) levels: u32,
}

impl Sat {
    /// Learns from a violated clause at a level above zero.
    pub(super) fn analyse(&mut self, conflict: ClauseId) -> Lesson {
        let mut clause = vec![Lit::new(0, false)];
        let mut open = 0;
        let (mut reason, mut at, mut implied) = (conflict, self.trail.len(), None);
        let asserting = loop {
            self.improve(reason);
            for position in 0..self.clauses.len(reason) {
                let lit = self.clauses.lit(reason, position);
                let variable = self.variables[lit.variable()];
                if Some(lit) == implied || self.marks[lit.variable()] != 0 || variable.level == 0 {
                    continue;
                }
                self.mark(lit, SEEN);
                self.order.bump(lit.variable());
                if variable.level == self.level() {
                    open += 1;
                } else {
                    clause.push(lit);
                }
            }
            // The last one of this level that takes part.
            let lit = loop {
                at -= 1;
                let lit = self.trail[at];
                if self.marks[lit.variable()] == SEEN {
                    break lit;
                }
            };
            open -= 1;
            if open == 0 {
                break !lit;
            }
            (reason, implied) = (self.variables[lit.variable()].reason, Some(lit));
        };
        clause[0] = asserting;
        let mut kept = 1;
        for position in 1..clause.len() {
            if !self.follows(clause[position]) {
                clause[kept] = clause[position];
                kept += 1;
            }
        }
        clause.truncate(kept);
        self.unmark();
        let level = |sat: &Sat, lit: Lit| sat.variables[lit.variable()].level;
        let highest = (1..clause.len()).max_by_key(|&n| (level(self, clause[n]), usize::MAX - n));
        let mut back = 0;
        if let Some(highest) = highest {
            clause.swap(1, highest);
            back = level(self, clause[1]) as usize;
        }
        let levels = self.count_levels(&clause);
        Lesson { clause, level: back, levels }
    }

    /// A learnt clause that is used again may turn out to be better than it was.
    fn improve(&mut self, id: ClauseId) {
        let Some(known) = self.clauses.levels(id) else { return };
        if known > 2 {
            let literals: Vec<Lit> =
                (0..self.clauses.len(id)).map(|n| self.clauses.lit(id, n)).collect();
            let levels = self.count_levels(&literals);
            if levels < known {
                self.clauses.set_levels(id, levels);
            }
        }
    }

    fn count_levels(&mut self, literals: &[Lit]) -> u32 {
        self.stamp += 1;
        let mut count = 0;
        for lit in literals {
            let level = self.variables[lit.variable()].level as usize;
            if self.levels_seen.len() <= level {
                self.levels_seen.resize(level + 1, 0);
            }
            if self.levels_seen[level] != self.stamp {
                self.levels_seen[level] = self.stamp;
                count += 1;
            }
        }
        count
    }

    fn mark(&mut self, lit: Lit, mark: u8) {
        if self.marks[lit.variable()] == 0 {
            self.marked.push(lit);
        }
        self.marks[lit.variable()] = mark;
    }

    fn unmark(&mut self) {
        for lit in self.marked.drain(..) {
            self.marks[lit.variable()] = 0;
        }
    }

    /// Whether a literal of the learnt clause follows from others of it.
    fn follows(&mut self, lit: Lit) -> bool {
        if self.variables[lit.variable()].reason == ClauseId::NONE {
            return false;
        }
        // Literals being looked at, with the next position of their reason.
        let mut stack: Vec<(Lit, usize)> = vec![(lit, 0)];
        while let Some((top, position)) = stack.pop() {
            let reason = self.variables[top.variable()].reason;
            if position == self.clauses.len(reason) {
                if self.marks[top.variable()] == 0 {
                    self.mark(top, IMPLIED);
                }
                continue;
            }
            stack.push((top, position + 1));
            let other = self.clauses.lit(reason, position);
            let variable = self.variables[other.variable()];
            if other.variable() == top.variable() || variable.level == 0 {
                continue;
            }
            match self.marks[other.variable()] {
                SEEN | IMPLIED => {}
                0 if variable.reason != ClauseId::NONE => stack.push((other, 0)),
                _ => {
                    // Whatever led here does not follow, but for the literal itself.
                    for (blamed, _) in stack.into_iter().skip(1) {
                        if self.marks[blamed.variable()] == 0 {
                            self.mark(blamed, NEEDED);
                        }
                    }
                    return false;
                }
            }
        }
        true
    }

    /// The assumptions from which a literal, and with it a contradiction, follows.
    pub(super) fn blame(&mut self, roots: &[Lit]) {
        self.failed.clear();
        for &lit in roots {
            if self.variables[lit.variable()].level > 0 {
                self.mark(lit, SEEN);
            }
        }
        let start = self.decisions.first().copied().unwrap_or(self.trail.len());
        for at in (start..self.trail.len()).rev() {
            let lit = self.trail[at];
            if self.marks[lit.variable()] != SEEN {
                continue;
            }
            let reason = self.variables[lit.variable()].reason;
            if reason == ClauseId::NONE {
                self.failed.push(lit);
                continue;
            }
            for position in 0..self.clauses.len(reason) {
                let other = self.clauses.lit(reason, position);
                if self.variables[other.variable()].level > 0 {
                    self.mark(other, SEEN);
                }
            }
        }
        self.unmark();
    }
}
