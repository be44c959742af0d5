//! A proof on its way: both programs, the solver, and what is found so far.

use super::compare::{self, Difference};
use super::draws::Draws;
use super::facts::Packets;
use super::pair::Pair;
use super::proof::Proof;
use slowpath_product::{Answer, Path, Queries, leave_open};
use slowpath_smt::{SolverError, TermId};
use slowpath_stop::Stop;
use std::collections::BTreeSet;

/// What has come of the comparison of all paths together.
pub(super) enum Together {
    /// There was none yet.
    NotTried,
    /// It shows nothing.
    Open,
    /// Both programs do the same. What paths there are is looked at for packets only, until it is time
    /// to stop.
    Proved(Stop),
}

/// What is asked about both programs, and what is found so far.
pub(super) struct Validation<'a, 'b> {
    pub packets: Packets<'a>,
    pub pair: &'a mut Pair,
    pub queries: &'a mut Queries<'b>,
    pub draws: Draws,
    /// Whether the solver has been told what is known of single bytes.
    knows_bits: bool,
    /// The slots of the original that those of the specialised program stand for, if that is known.
    pub origins: Option<&'a [usize]>,
    pub together: Together,
    pub found: Proof,
}

impl<'a, 'b> Validation<'a, 'b> {
    /// Nothing is compared yet.
    pub fn new(
        packets: Packets<'a>,
        (pair, origins): (&'a mut Pair, Option<&'a [usize]>),
        queries: &'a mut Queries<'b>,
        found: Proof,
    ) -> Self {
        let (draws, together) = (Draws::default(), Together::NotTried);
        Validation { packets, pair, queries, draws, knows_bits: false, origins, together, found }
    }

    /// Whether all paths are proved together.
    pub fn is_proved(&self) -> bool {
        matches!(self.together, Together::Proved(_))
    }

    /// Those of some differences that what is known of a path does not rule out.
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

    /// Tells the solver what is known of single bytes, if a program reads them by an address that is not
    /// known.
    pub fn tell_bits(&mut self) {
        if self.pair.facts.reads_anywhere.get() && !self.knows_bits {
            self.knows_bits = true;
            self.queries.assume(self.pair.facts.bits.iter().copied());
        }
    }

    /// Asks whether something is possible for a packet of a pair of paths.
    pub fn ask(&mut self, other: &Path, what: TermId) -> Result<Answer, SolverError> {
        self.tell_bits();
        let mut conditions = other.conditions.clone();
        conditions.push(what);
        let pool = self.pair.pool();
        match self.together {
            // What is hard for one path may not be for all together.
            Together::NotTried => self.queries.check_soon(pool, &conditions, 0),
            _ => self.queries.check(pool, &conditions),
        }
    }

    /// Whether a packet of two paths relies on something that is not modelled.
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
                // What holds of more runs than there are holds of those that there are.
                let matter = path.relied.iter().filter(|(on, _)| {
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
        leave_open(&mut self.found.undecided, why);
    }
}
