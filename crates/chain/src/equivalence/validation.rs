//! The state of an unfinished equivalence proof: both programs, the solver, and the results so far.

use super::compare::{self, Difference};
use super::draws::Draws;
use super::facts::Packets;
use super::pair::Pair;
use super::proof::Proof;
use slowpath_product::{Answer, Path, Queries, add_reason};
use slowpath_smt::{SolverError, TermId};
use slowpath_stop::Stop;
use std::collections::BTreeSet;

/// Progress of the comparison that treats all paths of two programs together.
pub(super) enum Together {
    NotTried,
    /// All paths were compared together, but they were not proved equal.
    Open,
    /// Both programs are proved to do the same. The comparison path by path continues only to find
    /// test inputs, until this condition stops it.
    Proved(Stop),
}

/// A proof of equivalence that is in progress.
pub(super) struct Validation<'a, 'b> {
    pub packets: Packets<'a>,
    pub pair: &'a mut Pair,
    pub queries: &'a mut Queries<'b>,
    pub draws: Draws,
    /// True if all queries to the solver have conditions for the known bits of packet bytes.
    knows_bits: bool,
    /// For each instruction slot of the specialised program, the slot of the original that it comes
    /// from. `None` if this is not known.
    pub origins: Option<&'a [usize]>,
    pub together: Together,
    pub found: Proof,
}

impl<'a, 'b> Validation<'a, 'b> {
    pub fn new(
        packets: Packets<'a>,
        (pair, origins): (&'a mut Pair, Option<&'a [usize]>),
        queries: &'a mut Queries<'b>,
        found: Proof,
    ) -> Self {
        let (draws, together) = (Draws::default(), Together::NotTried);
        Validation { packets, pair, queries, draws, knows_bits: false, origins, together, found }
    }

    /// Returns true if the comparison of all paths together has proved that both programs do the
    /// same.
    pub fn is_proved(&self) -> bool {
        matches!(self.together, Together::Proved(_))
    }

    /// Returns those of the possible differences that the conditions of the path `other` do not
    /// rule out.
    pub fn not_ruled_out(
        &mut self,
        other: &Path,
        mut differences: Vec<Difference>,
    ) -> Vec<Difference> {
        self.pair.swap_terms();
        let executor = &self.pair.other.side.executor;
        differences.retain(|&(_, differs)| executor.assume(&other.state, differs, true).is_some());
        self.pair.swap_terms();
        differences
    }

    /// Adds conditions for known bits of packet bytes to all later queries. Does nothing unless a
    /// program reads packet bytes at variable offsets.
    pub fn tell_bits(&mut self) {
        if self.pair.facts.reads_anywhere.get() && !self.knows_bits {
            self.knows_bits = true;
            self.queries.assume(self.pair.facts.bits.iter().copied());
        }
    }

    /// Asks the solver whether `what` can hold for a packet that takes the path `other` of the
    /// specialised program. The conditions of `other` include those of the original's path.
    pub fn ask(&mut self, other: &Path, what: TermId) -> Result<Answer, SolverError> {
        self.tell_bits();
        let mut conditions = other.conditions.clone();
        conditions.push(what);
        let pool = self.pair.pool();
        match self.together {
            // A query that is hard for a pair of paths may be easy for all paths together, so it
            // gets little time.
            Together::NotTried => self.queries.check_quickly(pool, &conditions, 0),
            _ => self.queries.check(pool, &conditions),
        }
    }

    /// Returns true if the behaviour of a packet on these two paths may depend on behaviour that
    /// the analysis does not model. For each behaviour of this kind, adds a sentence to the reasons
    /// why the proof is undecided.
    pub fn relies(&mut self, path: &Path, other: &Path) -> Result<bool, SolverError> {
        let mut relies = false;
        let sides = [(&self.pair.original, path), (&self.pair.other, other)];
        let pool = &self.pair.original.side.executor.pool;
        let untouched =
            sides.iter().all(|(member, path)| compare::leaves_packet(member, path, pool));
        let relied: BTreeSet<(String, TermId)> = sides
            .iter()
            .flat_map(|(member, path)| {
                let sentences = &member.side.executor.program().reliances;
                // A result for more runs than exist also holds for the existing runs.
                let matter = path.reliances.iter().filter(|(on, _)| {
                    !(member.wider.contains(on) || untouched && member.of_packet.contains(on))
                });
                matter.map(|&(on, term)| (sentences[on.index()].clone(), term))
            })
            .collect();
        for (sentence, term) in relied {
            let possible = match self.pair.pool().as_const(term) {
                Some(value) => value == 1,
                None => !matches!(self.ask(other, term)?, Answer::Unsat),
            };
            if possible {
                self.gap(sentence);
                relies = true;
            }
        }
        Ok(relies)
    }

    pub fn gap(&mut self, why: String) {
        add_reason(&mut self.found.undecided, why);
    }
}
