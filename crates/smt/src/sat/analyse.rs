//! Analyses conflicts. Learns the minimised clause of the first unique implication point, and finds
//! the assumptions that cause a contradiction.

use super::Sat;
use super::arena::ClauseId;
use super::literal::Lit;

const SEEN: u8 = 1;
/// Mark of a literal that the other literals of the learnt clause imply, so that it can be dropped.
const IMPLIED: u8 = 2;
/// Mark of a literal that the other literals of the learnt clause do not imply.
const NEEDED: u8 = 3;

/// Result of conflict analysis.
pub(super) struct ConflictAnalysis {
    /// Learnt clause. The first literal becomes true after backtracking. Among the other literals,
    /// the second one has the highest decision level.
    pub(super) clause: Vec<Lit>,
    /// Decision level to which the search backtracks.
    pub(super) level: usize,
    /// Number of distinct decision levels in the clause.
    pub(super) levels: u32,
}

impl Sat {
    /// Learns a clause from `conflict`, a clause that is violated at a level above zero.
    pub(super) fn analyse(&mut self, conflict: ClauseId) -> ConflictAnalysis {
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
            // Finds the latest literal on the trail that takes part in the conflict.
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
        ConflictAnalysis { clause, level: back, levels }
    }

    /// Lowers the stored number of distinct decision levels of a learnt clause if its literals now
    /// have fewer levels.
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

    /// Returns true if other literals of the learnt clause imply this literal, so that it can be
    /// dropped.
    fn follows(&mut self, lit: Lit) -> bool {
        if self.variables[lit.variable()].reason == ClauseId::NONE {
            return false;
        }
        // Literals under examination, each with the next position to examine in its reason.
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
                    // All literals on the stack depend on this literal, so none of them is implied.
                    // The first one belongs to the clause and keeps its mark.
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

    /// Finds the assumptions that imply the literals in `roots`, and stores them in `failed`.
    pub(super) fn collect_failed_assumptions(&mut self, roots: &[Lit]) {
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
