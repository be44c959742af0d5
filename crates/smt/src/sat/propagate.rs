//! Unit propagation with two watched literals per clause.

use super::Sat;
use super::arena::ClauseId;
use super::literal::Lit;
use super::watch::Watch;

impl Sat {
    /// Starts to watch the first two literals of a clause.
    pub(super) fn watch(&mut self, clause: ClauseId) {
        let (a, b) = (self.clauses.lit(clause, 0), self.clauses.lit(clause, 1));
        let binary = self.clauses.len(clause) == 2;
        self.watches[(!a).index()].push(Watch { clause, blocker: b, binary });
        self.watches[(!b).index()].push(Watch { clause, blocker: a, binary });
    }

    /// Propagates all assignments on the trail. Returns a violated clause if there is one.
    pub(super) fn propagate(&mut self) -> Option<ClauseId> {
        while self.propagated < self.trail.len() {
            let lit = self.trail[self.propagated];
            self.propagated += 1;
            if let Some(conflict) = self.visit(lit) {
                self.propagated = self.trail.len();
                return Some(conflict);
            }
        }
        None
    }

    /// Visits the clauses that watch the literal `!lit`, which has become false. Returns a violated
    /// clause if there is one.
    fn visit(&mut self, lit: Lit) -> Option<ClauseId> {
        let mut watches = std::mem::take(&mut self.watches[lit.index()]);
        let (mut read, mut kept) = (0, 0);
        let mut conflict = None;
        let lost = (!lit).code();
        'clauses: while read < watches.len() {
            let watch = watches[read];
            read += 1;
            let blocked = self.values[watch.blocker.index()];
            if blocked > 0 {
                watches[kept] = watch;
                kept += 1;
                continue;
            }
            let mut unit = watch.blocker;
            if !watch.binary {
                let codes = self.clauses.codes(watch.clause);
                if codes[0] == lost {
                    codes.swap(0, 1);
                }
                unit = Lit::from_code(codes[0]);
                if unit != watch.blocker && self.values[unit.index()] > 0 {
                    watches[kept] = Watch { blocker: unit, ..watch };
                    kept += 1;
                    continue;
                }
                for position in 2..codes.len() {
                    let other = Lit::from_code(codes[position]);
                    if self.values[other.index()] >= 0 {
                        codes.swap(1, position);
                        self.watches[(!other).index()].push(Watch { blocker: unit, ..watch });
                        continue 'clauses;
                    }
                }
            }
            watches[kept] = Watch { blocker: unit, ..watch };
            kept += 1;
            if self.values[unit.index()] < 0 {
                conflict = Some(watch.clause);
                break;
            }
            self.assign(unit, watch.clause);
        }
        watches.copy_within(read.., kept);
        watches.truncate(kept + watches.len() - read);
        self.watches[lit.index()] = watches;
        conflict
    }
}
