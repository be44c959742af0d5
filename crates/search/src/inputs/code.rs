//! The conditions of an unrolled program as straight-line code for each node: what a node has to
//! compute, the branch behind it, and what is carried over each arc.
//!
//! A term is computed once on a path at most: at the last node that every way to its uses comes
//! through (the late schedule of Click, "Global code motion, global value numbering", 1995).

use super::classes::Leaf;
use super::computation::{Computation, Contents};
use super::slice::Slice;
use crate::dag::{Dag, DagNode, Head};
use crate::unroll::Unrolled;
use rustc_hash::FxHashMap as HashMap;
use slowpath_exec::{ArcId, NodeId, Varying};
use slowpath_smt::TermId;
use std::cell::Cell;

/// What computes one value.
#[derive(Debug)]
pub(super) enum Source {
    /// An input, by its number.
    Input(u32),
    /// A computation from other values.
    Computation(Computation),
}

/// How a node ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Branch {
    /// A limit cut all ways on.
    Nowhere,
    /// One way on.
    Always(ArcId),
    /// One way on, the other one is cut: the place of the condition, and its value on this way.
    Only { arc: ArcId, condition: u32, holds: bool },
    /// Two ways on: the place of the condition, the arc where it holds, the arc where it does not.
    Both { condition: u32, arcs: [ArcId; 2] },
}

/// The code.
#[derive(Debug)]
pub(super) struct Code {
    /// Places and how they are computed, node by node.
    computed: Vec<(u32, Source)>,
    /// Where those of each node begin; one more at the end.
    first: Vec<u32>,
    branches: Vec<Branch>,
    /// For each arc, where what it carries begins; one more at the end.
    first_carried: Vec<u32>,
    /// To which place, and from which.
    carried: Vec<(u32, u32)>,
    /// Where each arc leads.
    heads: Vec<Head>,
    /// Values of places before the first node: constants.
    pub start: Vec<u64>,
}

impl Code {
    /// The code for a slice; `None` where a value would be needed on ways that do not have it.
    pub fn new(unrolled: &Unrolled, slice: &Slice, leaves: &[Leaf]) -> Option<Code> {
        let nodes = scheduled(unrolled, slice, leaves)?;
        let (places, mut contents) = (Places::new(unrolled, slice), Contents::default());
        let pool = &unrolled.executor.pool;
        let mut by_node: Vec<Vec<(u32, Source)>> = Vec::new();
        by_node.resize_with(unrolled.dag.nodes.len(), Vec::new);
        let mut carried: Vec<Vec<(u32, u32)>> = vec![Vec::new(); unrolled.dag.arcs.len()];
        for &term in &slice.terms {
            let to = places.of(term);
            if let Some(Varying::Merged { incoming, .. }) = unrolled.executor.varying(term) {
                for &(arc, value) in incoming {
                    carried[arc.index()].push((to, places.of(value)));
                }
                continue;
            }
            // Parts of an input have no use of their own.
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

    /// What a node computes.
    pub fn node(&self, node: NodeId) -> &[(u32, Source)] {
        let node = node.index();
        &self.computed[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// How a node ends.
    pub fn branch(&self, node: NodeId) -> Branch {
        self.branches[node.index()]
    }

    /// What an arc carries: to which places, from which.
    pub fn carried(&self, arc: ArcId) -> &[(u32, u32)] {
        let arc = arc.index();
        &self.carried[self.first_carried[arc] as usize..self.first_carried[arc + 1] as usize]
    }

    /// Where an arc leads.
    pub fn head(&self, arc: ArcId) -> Head {
        self.heads[arc.index()]
    }
}

/// Lists one after the other, and where each begins.
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
            // Two ways without a condition: there are none.
            None => Branch::Nowhere,
        },
    }
}

/// Where values are: place 0 stands for all that does not matter.
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
            match unrolled.executor.varying(term) {
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

/// The node at which each term is computed: the last one that all ways to its uses come through.
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
        if let Some(Varying::Merged { node: at, incoming }) = unrolled.executor.varying(term) {
            // What arrives somewhere is there from then on, on all ways that come through.
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

/// The dominator tree of the graph (Cooper, Harvey and Kennedy, "A simple, fast dominance
/// algorithm", 2001: one pass is enough, because the graph has no cycles).
struct Dominators {
    /// The immediate dominator of each node: the last other one that all ways to it come through;
    /// the entry's is itself. None where no way leads.
    immediate: Vec<Option<NodeId>>,
    depth: Vec<u32>,
    /// How far up one may still go.
    fuel: Cell<u64>,
}

/// Most steps up to find where terms are computed; programs that need more take too long to run.
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
            // Nodes are in topological order: all ways here have been seen.
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

    /// The last node that all ways to both come through; `None` if there is no way to one of them,
    /// or it is too far up.
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
