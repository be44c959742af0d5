//! The conditions of an unrolled program as straight-line code for each node: what a node has to
//! compute, the branch behind it, and what is carried over each arc.
//!
//! A term is computed once on a path at most: at the last node that every way to its uses comes
//! through (the late schedule of Click, "Global code motion, global value numbering", 1995).

use super::classes::Leaf;
use super::slice::Slice;
use super::step::{Contents, Step};
use crate::dag::Head;
use crate::unroll::Unrolled;
use rustc_hash::FxHashMap as HashMap;
use slowpath_exec::Varying;
use slowpath_smt::TermId;
use std::cell::Cell;

/// What computes one value.
#[derive(Debug)]
pub(super) enum Source {
    /// An input, by its number.
    Input(u32),
    /// A step.
    Step(Step),
}

/// How a node ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Branch {
    /// A limit cut all ways on.
    Nowhere,
    /// One way on.
    Always(u32),
    /// One way on, the other one is cut: the place of the condition, and its value on this way.
    Only { arc: u32, condition: u32, holds: bool },
    /// Two ways on: the place of the condition, the arc where it holds, the arc where it does not.
    Both { condition: u32, arcs: [u32; 2] },
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
        let pool = &unrolled.machine.pool;
        let mut by_node: Vec<Vec<(u32, Source)>> = Vec::new();
        by_node.resize_with(unrolled.dag.nodes.len(), Vec::new);
        let mut carried: Vec<Vec<(u32, u32)>> = vec![Vec::new(); unrolled.dag.arcs.len()];
        for &term in &slice.terms {
            let to = places.of(term);
            if let Some(Varying::Merged { incoming, .. }) = unrolled.machine.varying(term) {
                for &(arc, value) in incoming {
                    carried[arc.0 as usize].push((to, places.of(value)));
                }
                continue;
            }
            // Parts of an input have no use of their own.
            let Some(&node) = nodes.get(&term) else { continue };
            let source = match leaves.binary_search_by_key(&term, |leaf| leaf.term) {
                Ok(leaf) => Source::Input(leaf as u32),
                Err(_) => {
                    Source::Step(Step::of(pool, &mut contents, term, |part| places.of(part))?)
                }
            };
            by_node[node as usize].push((to, source));
        }
        let branches = (0..unrolled.dag.nodes.len()).map(|node| branch(unrolled, node, &places));
        let branches = branches.collect();
        let (first, computed) = flat(by_node);
        let (first_carried, carried) = flat(carried);
        let heads = unrolled.dag.arcs.iter().map(|arc| arc.head).collect();
        Some(Code { computed, first, branches, first_carried, carried, heads, start: places.start })
    }

    /// What a node computes.
    pub fn node(&self, node: u32) -> &[(u32, Source)] {
        let node = node as usize;
        &self.computed[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// How a node ends.
    pub fn branch(&self, node: u32) -> Branch {
        self.branches[node as usize]
    }

    /// What an arc carries: to which places, from which.
    pub fn carried(&self, arc: u32) -> &[(u32, u32)] {
        let arc = arc as usize;
        &self.carried[self.first_carried[arc] as usize..self.first_carried[arc + 1] as usize]
    }

    /// Where an arc leads.
    pub fn head(&self, arc: u32) -> Head {
        self.heads[arc as usize]
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

fn branch(unrolled: &Unrolled, node: usize, places: &Places) -> Branch {
    let arcs = &unrolled.dag.arcs;
    match unrolled.dag.nodes[node].out[..] {
        [] => Branch::Nowhere,
        [arc] => match arcs[arc as usize].condition {
            None => Branch::Always(arc),
            Some((condition, holds)) => {
                Branch::Only { arc, condition: places.of(condition), holds }
            }
        },
        [taken, other, ..] => match arcs[taken as usize].condition {
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
        let pool = &unrolled.machine.pool;
        let mut places = Places { of: HashMap::default(), start: vec![0] };
        let mut add = |term: TermId, value: u64| {
            places.of.entry(term).or_insert_with(|| {
                places.start.push(value);
                places.start.len() as u32 - 1
            });
        };
        for &term in &slice.terms {
            match unrolled.machine.varying(term) {
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
fn scheduled(unrolled: &Unrolled, slice: &Slice, leaves: &[Leaf]) -> Option<HashMap<TermId, u32>> {
    let dominators = Dominators::of(unrolled)?;
    let mut nodes: HashMap<TermId, u32> = HashMap::default();
    let needed = |nodes: &mut HashMap<TermId, u32>, term: TermId, at: u32| {
        if slice.bits(term) == 0 {
            return Some(());
        }
        let node = nodes.entry(term).or_insert(at);
        *node = dominators.meet(*node, at)?;
        Some(())
    };
    for (node, of) in unrolled.dag.nodes.iter().enumerate() {
        for &arc in &of.out {
            if let Some((condition, _)) = unrolled.dag.arcs[arc as usize].condition {
                needed(&mut nodes, condition, node as u32)?;
            }
        }
    }
    for &term in slice.terms.iter().rev() {
        if let Some(Varying::Merged { point, incoming }) = unrolled.machine.varying(term) {
            // What arrives somewhere is there from then on, on all ways that come through.
            if let Some(&used) = nodes.get(&term)
                && dominators.meet(point.0, used)? != point.0
            {
                return None;
            }
            for &(arc, value) in incoming {
                needed(&mut nodes, value, unrolled.dag.arcs[arc.0 as usize].tail)?;
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

/// For each node the last other one that all ways to it come through.
struct Dominators {
    above: Vec<u32>,
    depth: Vec<u32>,
    /// How far up one may still go.
    fuel: Cell<u64>,
}

/// Most steps up to find where terms are computed; programs that need more take too long to run.
const MAX_FUEL: u64 = 1 << 23;

impl Dominators {
    fn of(unrolled: &Unrolled) -> Option<Dominators> {
        let nodes = unrolled.dag.nodes.len();
        let (above, depth) = (vec![u32::MAX; nodes], vec![0; nodes]);
        let mut dominators = Dominators { above, depth, fuel: Cell::new(MAX_FUEL) };
        if let Some(entry) = dominators.above.first_mut() {
            *entry = 0;
        }
        for (index, node) in unrolled.dag.nodes.iter().enumerate() {
            // Nodes are in topological order: all ways here have been seen.
            if dominators.above[index] == u32::MAX {
                continue;
            }
            if index > 0 {
                dominators.depth[index] = dominators.depth[dominators.above[index] as usize] + 1;
            }
            for &arc in &node.out {
                let Head::Node(to) = unrolled.dag.arcs[arc as usize].head else { continue };
                let above = match dominators.above[to as usize] {
                    u32::MAX => Some(index as u32),
                    known => dominators.meet(known, index as u32),
                };
                dominators.above[to as usize] = above?;
            }
        }
        Some(dominators)
    }

    /// The last node that all ways to both come through; `None` if there is no way to one of them,
    /// or it is too far up.
    fn meet(&self, mut a: u32, mut b: u32) -> Option<u32> {
        while a != b {
            self.fuel.set(self.fuel.get().checked_sub(1)?);
            if self.depth[a as usize] < self.depth[b as usize] {
                std::mem::swap(&mut a, &mut b);
            }
            if a == 0 {
                return None;
            }
            a = *self.above.get(a as usize)?;
            if a == u32::MAX {
                return None;
            }
        }
        Some(a)
    }
}
