//! Translates the conditions of an unrolled program into simple code that runs fast with concrete
//! inputs. Each node has a list of computations and a branch at its end; each arc copies values.
//!
//! A term is computed at most once per path, at the last node that dominates all its uses (late
//! scheduling: Click, "Global code motion, global value numbering", 1995).

use super::classes::Leaf;
use super::computation::{Computation, Contents};
use super::slice::Slice;
use crate::dag::{Dag, DagNode, Head};
use crate::unroll::Unrolled;
use rustc_hash::FxHashMap as HashMap;
use slowpath_exec::{ArcId, NodeId, Varying};
use slowpath_smt::TermId;
use std::cell::Cell;

/// Origin of a value in the code: an input or a computation.
#[derive(Debug)]
pub(super) enum Source {
    /// An input, by its index among the inputs.
    Input(u32),
    /// A computation from values that were computed before and are stored in the table of the run.
    Computation(Computation),
}

/// The branch at the end of a node's code.
#[derive(Clone, Copy, Debug)]
pub(super) enum Branch {
    /// The run ends because a loop limit removed all arcs.
    Nowhere,
    /// A single arc, which the run always takes.
    Always(ArcId),
    /// A single arc, because a loop limit removed the other one. The run takes it if the value at
    /// the table position `condition` equals `holds`; otherwise the run ends.
    Only { arc: ArcId, condition: u32, holds: bool },
    /// Two arcs. The run takes the first if the value at the table position `condition` is true,
    /// else the second.
    Both { condition: u32, arcs: [ArcId; 2] },
}

/// Executable code for all nodes and arcs of an unrolled program. The code computes only branch
/// conditions and the values on which they depend.
#[derive(Debug)]
pub(super) struct Code {
    /// Values to compute, node by node: for each value, its position in the table of the run, and
    /// its source.
    computed: Vec<(u32, Source)>,
    /// Index in `computed` of each node's first value. The list has one more entry for the end of
    /// the last node.
    first: Vec<u32>,
    branches: Vec<Branch>,
    /// Index in `carried` of each arc's first copy. The list has one more entry for the end of the
    /// last arc.
    first_carried: Vec<u32>,
    /// Values that are copied within the table when a run takes an arc: for each value, its target
    /// position and its source position.
    carried: Vec<(u32, u32)>,
    heads: Vec<Head>,
    /// Initial values of all table positions, including constants.
    pub start: Vec<u64>,
}

impl Code {
    /// Generates the code for a slice. Returns `None` if some path would use a value that is not
    /// computed on it.
    pub fn new(unrolled: &Unrolled, slice: &Slice, leaves: &[Leaf]) -> Option<Code> {
        let nodes = scheduled(unrolled, slice, leaves)?;
        let (places, mut contents) = (Places::new(unrolled, slice), Contents::default());
        let pool = &unrolled.executor.pool;
        let mut by_node: Vec<Vec<(u32, Source)>> = Vec::new();
        by_node.resize_with(unrolled.dag.nodes.len(), Vec::new);
        let mut carried: Vec<Vec<(u32, u32)>> = vec![Vec::new(); unrolled.dag.arcs.len()];
        for &term in &slice.terms {
            let to = places.of(term);
            if let Some(Varying::Merged { incoming, .. }) = unrolled.executor.path_dependence(term)
            {
                for &(arc, value) in incoming {
                    carried[arc.index()].push((to, places.of(value)));
                }
                continue;
            }
            // The bytes of a multi-byte input have no uses of their own.
            let Some(&node) = nodes.get(&term) else { continue };
            let source = match leaves.binary_search_by_key(&term, |leaf| leaf.term) {
                Ok(leaf) => Source::Input(leaf as u32),
                Err(_) => {
                    Source::Computation(Computation::of(pool, &mut contents, term, |part| {
                        places.of(part)
                    })?)
                }
            };
            by_node[node.index()].push((to, source));
        }
        let branches = unrolled.dag.nodes.iter().map(|node| branch(unrolled, node, &places));
        let branches = branches.collect();
        let (first, computed) = flat(by_node);
        let (first_carried, carried) = flat(carried);
        let heads = unrolled.dag.arcs.iter().map(|arc| arc.head).collect();
        Some(Code { computed, first, branches, first_carried, carried, heads, start: places.start })
    }

    /// Returns the values to compute at a node: for each value, its position in the table of the
    /// run, and its source.
    pub fn node(&self, node: NodeId) -> &[(u32, Source)] {
        let node = node.index();
        &self.computed[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// Returns the branch at the end of a node.
    pub fn branch(&self, node: NodeId) -> Branch {
        self.branches[node.index()]
    }

    /// Returns the values to copy within the table of the run when it takes an arc: for each value,
    /// its target position and its source position.
    pub fn carried(&self, arc: ArcId) -> &[(u32, u32)] {
        let arc = arc.index();
        &self.carried[self.first_carried[arc] as usize..self.first_carried[arc + 1] as usize]
    }

    pub fn head(&self, arc: ArcId) -> Head {
        self.heads[arc.index()]
    }
}

/// Joins lists into one. Returns the index at which each list starts, followed by the total length;
/// and the elements of all lists.
fn flat<T>(lists: Vec<Vec<T>>) -> (Vec<u32>, Vec<T>) {
    let mut first = vec![0];
    let mut all = Vec::new();
    for list in lists {
        all.extend(list);
        first.push(all.len() as u32);
    }
    (first, all)
}

fn branch(unrolled: &Unrolled, node: &DagNode, places: &Places) -> Branch {
    let dag = &unrolled.dag;
    match node.out[..] {
        [] => Branch::Nowhere,
        [arc] => match dag[arc].condition {
            None => Branch::Always(arc),
            Some((condition, holds)) => {
                Branch::Only { arc, condition: places.of(condition), holds }
            }
        },
        [taken, other, ..] => match dag[taken].condition {
            Some((condition, holds)) => {
                let arcs = if holds { [taken, other] } else { [other, taken] };
                Branch::Both { condition: places.of(condition), arcs }
            }
            // Nodes with two arcs always have a condition, so this case does not occur.
            None => Branch::Nowhere,
        },
    }
}

/// For each term, the position of its value in the table that a run fills. Terms that do not affect
/// branches all have position 0.
struct Places {
    of: HashMap<TermId, u32>,
    start: Vec<u64>,
}

impl Places {
    fn new(unrolled: &Unrolled, slice: &Slice) -> Places {
        let pool = &unrolled.executor.pool;
        let mut places = Places { of: HashMap::default(), start: vec![0] };
        let mut add = |term: TermId, value: u64| {
            places.of.entry(term).or_insert_with(|| {
                places.start.push(value);
                places.start.len() as u32 - 1
            });
        };
        for &term in &slice.terms {
            match unrolled.executor.path_dependence(term) {
                Some(Varying::Merged { incoming, .. }) => {
                    let values = incoming.iter().map(|&(_, value)| value);
                    values.for_each(|value| pool.as_const(value).map_or((), |v| add(value, v)));
                }
                _ => pool
                    .children(term)
                    .for_each(|part| pool.as_const(part).map_or((), |v| add(part, v))),
            }
            add(term, 0);
        }
        for (condition, _) in unrolled.dag.arcs.iter().filter_map(|arc| arc.condition) {
            if let Some(value) = pool.as_const(condition) {
                add(condition, value);
            }
        }
        places
    }

    fn of(&self, term: TermId) -> u32 {
        self.of.get(&term).copied().unwrap_or(0)
    }
}

/// Chooses the node at which each term is computed: the last node that dominates all uses of the
/// term. Returns `None` if there is no such node.
fn scheduled(
    unrolled: &Unrolled,
    slice: &Slice,
    leaves: &[Leaf],
) -> Option<HashMap<TermId, NodeId>> {
    let dominators = Dominators::of(unrolled)?;
    let mut nodes: HashMap<TermId, NodeId> = HashMap::default();
    let needed = |nodes: &mut HashMap<TermId, NodeId>, term: TermId, at: NodeId| {
        if slice.bits(term) == 0 {
            return Some(());
        }
        let node = nodes.entry(term).or_insert(at);
        *node = dominators.meet(*node, at)?;
        Some(())
    };
    for (node, of) in unrolled.dag.numbered_nodes() {
        for &arc in &of.out {
            if let Some((condition, _)) = unrolled.dag[arc].condition {
                needed(&mut nodes, condition, node)?;
            }
        }
    }
    for &term in slice.terms.iter().rev() {
        if let Some(Varying::Merged { node: at, incoming }) =
            unrolled.executor.path_dependence(term)
        {
            // A merged variable is defined at its node, so this node must dominate all uses.
            if let Some(&used) = nodes.get(&term)
                && dominators.meet(at, used)? != at
            {
                return None;
            }
            for &(arc, value) in incoming {
                needed(&mut nodes, value, unrolled.dag[arc].tail)?;
            }
            nodes.remove(&term);
            continue;
        }
        let Some(&at) = nodes.get(&term) else { continue };
        if leaves.binary_search_by_key(&term, |leaf| leaf.term).is_ok() {
            continue;
        }
        for part in slice.sources(unrolled, term) {
            needed(&mut nodes, part, at)?;
        }
    }
    Some(nodes)
}

/// The dominator tree of the unrolled program (Cooper, Harvey and Kennedy, "A simple, fast
/// dominance algorithm", 2001). One pass is enough because the graph has no cycles.
struct Dominators {
    /// Immediate dominator of each node; for the entry, the entry itself. `None` if the node is
    /// unreachable.
    immediate: Vec<Option<NodeId>>,
    depth: Vec<u32>,
    /// Remaining number of steps up the dominator tree that the computation of dominators may take.
    fuel: Cell<u64>,
}

/// Maximum number of steps up the dominator tree. Trials of programs that need more steps would
/// take too long.
const MAX_FUEL: u64 = 1 << 23;

impl Dominators {
    fn of(unrolled: &Unrolled) -> Option<Dominators> {
        let nodes = unrolled.dag.nodes.len();
        let (immediate, depth) = (vec![None; nodes], vec![0; nodes]);
        let mut dominators = Dominators { immediate, depth, fuel: Cell::new(MAX_FUEL) };
        if let Some(entry) = dominators.immediate.first_mut() {
            *entry = Some(Dag::ENTRY);
        }
        for (index, node) in unrolled.dag.numbered_nodes() {
            // Nodes are visited in topological order, so all arcs into this node have been
            // processed.
            let Some(above) = dominators.immediate[index.index()] else { continue };
            if index != Dag::ENTRY {
                dominators.depth[index.index()] = dominators.depth[above.index()] + 1;
            }
            for &arc in &node.out {
                let Head::Node(to) = unrolled.dag[arc].head else { continue };
                let above = match dominators.immediate[to.index()] {
                    None => index,
                    Some(known) => dominators.meet(known, index)?,
                };
                dominators.immediate[to.index()] = Some(above);
            }
        }
        Some(dominators)
    }

    /// Returns the closest node that dominates both nodes. Returns `None` if a node is unreachable,
    /// or if the maximum number of steps has been used up.
    fn meet(&self, mut a: NodeId, mut b: NodeId) -> Option<NodeId> {
        while a != b {
            self.fuel.set(self.fuel.get().checked_sub(1)?);
            if self.depth[a.index()] < self.depth[b.index()] {
                std::mem::swap(&mut a, &mut b);
            }
            if a == Dag::ENTRY {
                return None;
            }
            a = self.immediate[a.index()]?;
        }
        Some(a)
    }
}
