//! Nogoods inside the dynamic program.
//!
//! A path contains a nogood if it takes its arcs one after the other. Which nogoods it has begun,
//! and how far, can be part of the state: longest paths over such states avoid these nogoods
//! without any branching. Where nogoods are short, as those of one round of a loop are, only few
//! are begun at a time, and the states stay few however many nogoods there are; branch and bound
//! would try the combinations of what to avoid in which round. Where many overlap, states multiply,
//! and the nogoods are left to branching.

use crate::costs::{CostGraph, EXIT, Step};
use crate::dag::{Dag, Head};
use std::collections::HashMap;

/// Nogoods begun, by number, with how many of their arcs have been taken.
type Begun = Vec<(u32, u32)>;

/// A set of nogoods and the graph without the paths that contain one.
#[derive(Debug)]
pub struct Folded {
    /// The arcs of each, in the order in which paths take them.
    nogoods: Vec<Vec<u32>>,
    graph: CostGraph,
    /// Most states that the graph may have.
    max_states: usize,
}

/// States that any graph may have.
const FEW_STATES: usize = 4_096;
/// How many times more states the graph may have than without nogoods.
const GROWTH: usize = 8;

impl Folded {
    /// No nogoods yet.
    pub fn new(graph: CostGraph) -> Self {
        let max_states = FEW_STATES + GROWTH * graph.states();
        Folded { nogoods: Vec::new(), graph, max_states }
    }

    /// The graph without the paths that contain one of the nogoods.
    pub fn graph(&self) -> &CostGraph {
        &self.graph
    }

    /// Takes in as many nogoods as fit, short ones first, each given by its arcs. Returns which.
    ///
    /// `plain` is the graph without any nogoods.
    pub fn add(&mut self, dag: &Dag, plain: &CostGraph, new: &[Vec<u32>]) -> Vec<bool> {
        let order = |arcs: &Vec<u32>| {
            let mut arcs = arcs.clone();
            arcs.sort_by_key(|&arc| dag.arcs[arc as usize].tail);
            arcs
        };
        let tail = |arc: Option<&u32>| arc.map_or(0, |&arc| dag.arcs[arc as usize].tail);
        let mut by_length: Vec<(u32, usize, Vec<u32>)> = new
            .iter()
            .map(order)
            .enumerate()
            .map(|(index, arcs)| (tail(arcs.last()) - tail(arcs.first()), index, arcs))
            .collect();
        by_length.sort();
        let mut taken = vec![false; new.len()];
        let mut fit = by_length.len();
        while fit > 0 {
            let more = by_length[..fit].iter().map(|(_, _, arcs)| arcs.clone());
            let nogoods: Vec<Vec<u32>> = self.nogoods.iter().cloned().chain(more).collect();
            if let Some(graph) = product(dag, plain, &nogoods, self.max_states) {
                (self.nogoods, self.graph) = (nogoods, graph);
                by_length[..fit].iter().for_each(|&(_, index, _)| taken[index] = true);
                break;
            }
            fit /= 2;
        }
        taken
    }
}

/// The graph whose states also say which nogoods a path has begun; `None` if there would be too
/// many.
fn product(
    dag: &Dag,
    plain: &CostGraph,
    nogoods: &[Vec<u32>],
    max_states: usize,
) -> Option<CostGraph> {
    let mut starting: HashMap<u32, Vec<u32>> = HashMap::new();
    for (number, arcs) in nogoods.iter().enumerate() {
        let first = *arcs.first()?;
        starting.entry(first).or_default().push(number as u32);
    }
    // What can be begun at each state, and where in the list each is.
    let mut sets: Vec<Vec<Begun>> = vec![Vec::new(); plain.states()];
    let mut places: Vec<HashMap<Begun, u32>> = vec![HashMap::new(); plain.states()];
    let mut first_of = Vec::with_capacity(plain.states());
    let mut first = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    if let Some(start) = sets.first_mut() {
        start.push(Vec::new());
    }
    for state in 0..plain.states() {
        first_of.push(first.len() as u32);
        places[state] = HashMap::new();
        for begun in std::mem::take(&mut sets[state]) {
            first.push(steps.len() as u32);
            for step in plain.steps(state) {
                let Step { arc, next, cost, .. } = plain.step(step);
                let after = match dag.arcs[arc as usize].head {
                    Head::Node(node) => node,
                    Head::Exit(_) => u32::MAX,
                };
                let Some(begun) = advance(dag, nogoods, &starting, &begun, arc, after) else {
                    continue;
                };
                let place = if next == EXIT {
                    0
                } else {
                    let (sets, places) = (&mut sets[next as usize], &mut places[next as usize]);
                    let fresh = sets.len() as u32;
                    *places.entry(begun).or_insert_with_key(|begun| {
                        sets.push(begun.clone());
                        fresh
                    })
                };
                steps.push(Step { arc, next, place, cost });
            }
        }
        if first.len() > max_states {
            return None;
        }
    }
    for step in &mut steps {
        if step.next != EXIT {
            step.next = first_of[step.next as usize] + step.place;
        }
    }
    first.push(steps.len() as u32);
    Some(plain.with_states(first, &steps))
}

/// What is begun behind an arc; `None` if it completes a nogood.
fn advance(
    dag: &Dag,
    nogoods: &[Vec<u32>],
    starting: &HashMap<u32, Vec<u32>>,
    begun: &Begun,
    arc: u32,
    after: u32,
) -> Option<Begun> {
    let mut next = Begun::with_capacity(begun.len() + 1);
    let new = starting.get(&arc).into_iter().flatten().map(|&number| (number, 0));
    for (number, taken) in begun.iter().copied().chain(new) {
        let arcs = &nogoods[number as usize];
        let taken = if arcs[taken as usize] == arc { taken + 1 } else { taken };
        let &wanted = arcs.get(taken as usize)?;
        // A path that has passed by an arc will not take it.
        if dag.arcs[wanted as usize].tail >= after {
            next.push((number, taken));
        }
    }
    next.sort_unstable();
    Some(next)
}
