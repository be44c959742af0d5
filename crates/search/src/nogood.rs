//! Nogoods: sets of arcs that no packet below a certain length takes together.
//!
//! A nogood for every length is a conflict between branch conditions; one with a finite length is
//! a *size lemma*: these arcs together need at least that many bytes.

use crate::subproblem::ArcStatus;
use slowpath_exec::ArcId;

/// The length of nogoods that hold for packets of any length.
pub const ANY_LENGTH: u32 = u32::MAX;

/// One nogood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nogood {
    /// The arcs, ascending.
    pub arcs: Vec<ArcId>,
    /// No packet shorter than this takes all of them.
    pub below: u32,
    /// Whether the graph that paths are taken from is without it.
    pub folded: bool,
}

impl Nogood {
    /// A nogood that is not folded in.
    pub fn new(arcs: Vec<ArcId>, below: u32) -> Self {
        Nogood { arcs, below, folded: false }
    }
}

/// All nogoods of a program; they hold for every component and objective.
#[derive(Clone, Debug, Default)]
pub struct Nogoods {
    all: Vec<Nogood>,
    by_arc: Vec<Vec<u32>>,
    /// Nogoods by two of their arcs each: if all arcs but one are required, one of the two is.
    watched: Vec<Vec<u32>>,
    /// For single arcs: packets shorter than this do not take them.
    unit: Vec<u32>,
    activity: Vec<u32>,
    counts: Vec<u32>,
}

impl Nogoods {
    /// No nogoods yet for a graph with these least lengths per arc.
    pub fn new(min_lengths: Vec<u32>) -> Self {
        Nogoods {
            all: Vec::new(),
            by_arc: vec![Vec::new(); min_lengths.len()],
            watched: vec![Vec::new(); min_lengths.len()],
            activity: vec![0; min_lengths.len()],
            unit: min_lengths,
            counts: Vec::new(),
        }
    }

    /// The number of nogoods, those of single arcs excluded that were known from the start.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether none has been learnt.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a nogood.
    pub fn add(&mut self, mut nogood: Nogood) {
        nogood.arcs.sort_unstable();
        nogood.arcs.dedup();
        let index = self.all.len() as u32;
        // Arcs in few nogoods are required more rarely.
        let mut rarest = nogood.arcs.clone();
        rarest.sort_by_key(|&arc| (self.activity[arc.index()], arc));
        for &arc in rarest.iter().take(2) {
            self.watched[arc.index()].push(index);
        }
        for &arc in &nogood.arcs {
            self.by_arc[arc.index()].push(index);
            self.activity[arc.index()] += 1;
        }
        if let [arc] = nogood.arcs[..] {
            let unit = &mut self.unit[arc.index()];
            *unit = (*unit).max(nogood.below);
        }
        self.counts.push(0);
        self.all.push(nogood);
    }

    /// Whether the arcs in `taken` are too much for packets of `length` bytes because of `arc`, one
    /// of them: it needs longer ones, or completes a nogood.
    pub fn completed(&self, arc: ArcId, taken: &[bool], length: u32) -> bool {
        let all = |index: &u32| {
            let nogood = &self.all[*index as usize];
            nogood.below > length && nogood.arcs.iter().all(|&arc| taken[arc.index()])
        };
        self.unit[arc.index()] > length || self.by_arc[arc.index()].iter().any(all)
    }

    /// The least length of packets that take a path which some packet takes, as far as size lemmas
    /// say, in bytes.
    pub fn least_length(&mut self, path: &[ArcId]) -> u32 {
        let mut least = 0;
        for &arc in path {
            least = least.max(self.unit[arc.index()]);
            for &index in &self.by_arc[arc.index()] {
                let count = &mut self.counts[index as usize];
                *count += 1;
                let nogood = &self.all[index as usize];
                if *count as usize == nogood.arcs.len() && nogood.below != ANY_LENGTH {
                    least = least.max(nogood.below);
                }
            }
        }
        self.forget(path);
        least
    }

    /// Sets the counts for the nogoods with arcs of a path to zero.
    fn forget(&mut self, path: &[ArcId]) {
        for &arc in path {
            for &index in &self.by_arc[arc.index()] {
                self.counts[index as usize] = 0;
            }
        }
    }

    /// Least packet lengths that single arcs need, in bytes.
    pub fn unit_lengths(&self) -> &[u32] {
        &self.unit
    }

    /// How many nogoods an arc is part of.
    pub fn activity(&self, arc: ArcId) -> u32 {
        self.activity[arc.index()]
    }

    /// A nogood that rules out a path for packets of `length` bytes: one that is folded in, if there
    /// is one, else the smallest.
    pub fn violated(&mut self, path: &[ArcId], length: u32) -> Option<&Nogood> {
        let mut found: Option<u32> = None;
        for &arc in path {
            for &index in &self.by_arc[arc.index()] {
                let count = &mut self.counts[index as usize];
                *count += 1;
                let nogood = &self.all[index as usize];
                if *count as usize == nogood.arcs.len() && nogood.below > length {
                    let size = |index: u32| {
                        let nogood = &self.all[index as usize];
                        (!nogood.folded, nogood.arcs.len())
                    };
                    if found.is_none_or(|best| size(index) < size(best)) {
                        found = Some(index);
                    }
                }
            }
        }
        self.forget(path);
        found.map(|index| &self.all[index as usize])
    }

    /// The arcs of a nogood by its number.
    pub(crate) fn arcs(&self, index: u32) -> &[ArcId] {
        &self.all[index as usize].arcs
    }

    /// The nogoods with at most `max_arcs` arcs, none of them folded in, that rule out a path for
    /// packets of `length` bytes; by number, ascending.
    pub(crate) fn unfolded_in(&mut self, path: &[ArcId], length: u32, max_arcs: usize) -> Vec<u32> {
        let mut found = Vec::new();
        for &arc in path {
            for &index in &self.by_arc[arc.index()] {
                let count = &mut self.counts[index as usize];
                *count += 1;
                let nogood = &self.all[index as usize];
                let size = nogood.arcs.len();
                if *count as usize == size
                    && nogood.below > length
                    && !nogood.folded
                    && size <= max_arcs
                {
                    found.push(index);
                }
            }
        }
        self.forget(path);
        found.sort_unstable();
        found
    }

    /// Forbids the arcs that packets of `length` bytes cannot take together with the `required`
    /// ones. Returns false when these exclude each other.
    pub fn propagate(&self, required: &[ArcId], length: u32, status: &mut [ArcStatus]) -> bool {
        for &arc in required {
            for &index in &self.watched[arc.index()] {
                let nogood = &self.all[index as usize];
                if nogood.below <= length {
                    continue;
                }
                let mut free = None;
                let mut several = false;
                let mut satisfied = false;
                for &other in &nogood.arcs {
                    match status[other.index()] {
                        ArcStatus::Forbidden => satisfied = true,
                        ArcStatus::Free if free.is_some() => several = true,
                        ArcStatus::Free => free = Some(other),
                        ArcStatus::Required => {}
                    }
                }
                match free {
                    _ if satisfied || several => {}
                    Some(last) => status[last.index()] = ArcStatus::Forbidden,
                    None => return false,
                }
            }
        }
        true
    }
}
