//! Nogoods: sets of arcs that no packet takes together, or no packet below a certain length.
//!
//! If a nogood holds for packets of any length, some branch conditions contradict each other. A
//! nogood with a finite length is a *size lemma*: a packet that takes all its arcs has at least
//! this length.

use crate::subproblem::ArcStatus;
use slowpath_exec::ArcId;

/// Value of [`Nogood::below`] for nogoods that hold for packets of any length.
pub const ANY_LENGTH: u32 = u32::MAX;

/// A set of arcs that no packet shorter than a given length takes together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nogood {
    /// Arcs that no packet shorter than `below` takes together, in ascending order.
    pub arcs: Vec<ArcId>,
    /// Packet length in bytes. Packets shorter than this cannot take all arcs together.
    pub below: u32,
    /// True if the nogood is folded: no path of the search graph contains all its arcs any more.
    pub folded: bool,
}

impl Nogood {
    /// Creates a nogood that is not yet excluded from the search graph.
    pub fn new(arcs: Vec<ArcId>, below: u32) -> Self {
        Nogood { arcs, below, folded: false }
    }
}

/// All learnt nogoods of a program. They hold for all components and metrics.
#[derive(Clone, Debug, Default)]
pub struct Nogoods {
    all: Vec<Nogood>,
    by_arc: Vec<Vec<u32>>,
    /// For each arc, the indices of the nogoods that watch it. Each nogood watches two of its arcs,
    /// like clauses in SAT solvers. If all arcs of a nogood except one are required, then at least
    /// one watched arc is required.
    watched: Vec<Vec<u32>>,
    /// For each arc, a lower bound for the length of packets that take it, in bytes.
    unit: Vec<u32>,
    activity: Vec<u32>,
    counts: Vec<u32>,
}

impl Nogoods {
    /// Creates an empty set of nogoods. `min_lengths` contains, for each arc of the graph, the
    /// minimum length of packets that take it, in bytes.
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

    /// Returns the number of learnt nogoods. Minimum packet lengths of single arcs that were known
    /// from the start do not count.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns all learnt nogoods.
    pub fn all(&self) -> &[Nogood] {
        &self.all
    }

    /// Returns true if no nogood has been learnt.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the learnt nogoods for use with a new search graph, which does not exclude any of
    /// them yet.
    pub fn into_unfolded(self) -> Vec<Nogood> {
        let unfolded = |nogood| Nogood { folded: false, ..nogood };
        self.all.into_iter().map(unfolded).collect()
    }

    /// Adds a learnt nogood.
    pub fn add(&mut self, mut nogood: Nogood) {
        nogood.arcs.sort_unstable();
        nogood.arcs.dedup();
        let index = self.all.len() as u32;
        // Arcs in few nogoods are rarely required, so watching these arcs costs little.
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

    /// Returns true if `arc`, which is one of the arcs in `taken`, rules out packets of `length`
    /// bytes. Either the arc needs longer packets, or it completes a nogood whose other arcs are
    /// also taken.
    pub fn completed(&self, arc: ArcId, taken: &[bool], length: u32) -> bool {
        let all = |index: &u32| {
            let nogood = &self.all[*index as usize];
            nogood.below > length && nogood.arcs.iter().all(|&arc| taken[arc.index()])
        };
        self.unit[arc.index()] > length || self.by_arc[arc.index()].iter().any(all)
    }

    /// Returns a lower bound for the length in bytes of packets that take the path. It follows from
    /// the size lemmas, which are nogoods for packets below a certain length.
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

    /// Resets the counters (`counts`) of all nogoods that contain an arc of the path.
    fn forget(&mut self, path: &[ArcId]) {
        for &arc in path {
            for &index in &self.by_arc[arc.index()] {
                self.counts[index as usize] = 0;
            }
        }
    }

    /// Returns, for each arc, the least length of packets that take it, in bytes.
    pub fn unit_lengths(&self) -> &[u32] {
        &self.unit
    }

    /// Returns the number of nogoods that contain an arc. The search branches on arcs in many
    /// nogoods first.
    pub fn activity(&self, arc: ArcId) -> u32 {
        self.activity[arc.index()]
    }

    /// Returns a nogood that proves that no packet of `length` bytes takes a path, or `None` if
    /// there is none. Prefers nogoods that are folded into the search graph, then nogoods with few
    /// arcs.
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

    pub(crate) fn arcs(&self, index: u32) -> &[ArcId] {
        &self.all[index as usize].arcs
    }

    /// Returns the indices, in ascending order, of nogoods that prove that no packet of `length`
    /// bytes takes a path. Omits nogoods that the search graph excludes, and nogoods with more than
    /// `max_arcs` arcs.
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

    /// Marks those arcs as forbidden in `status` that no packet of `length` bytes takes together
    /// with all `required` arcs. Returns false if a nogood excludes the required arcs themselves.
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
