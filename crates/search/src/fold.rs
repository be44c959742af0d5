//! Nogoods inside the dynamic program.
//!
//! A path contains a nogood if it takes its arcs one after the other. Which nogoods it has matched
//! in part, and how far, can be part of the state: longest paths over such states avoid these
//! nogoods without any branching (the state augmentation of Villeneuve and Desaulniers, "The
//! shortest path problem with forbidden paths", EJOR 2005, for arcs that need not be adjacent).
//! Where nogoods are short, as those of one round of a loop are, only few are matched at a time,
//! and the states stay few however many nogoods there are; branch and bound would try the
//! combinations of what to avoid in which round. Where many overlap, states multiply, and the
//! nogoods are left to branching.

mod partial_matches;
mod product;

use crate::costs::CostGraph;
use crate::dag::Dag;
use product::Product;
use slowpath_exec::ArcId;

/// A set of nogoods and the graph without the paths that contain one.
#[derive(Debug)]
pub struct Folded {
    graph: CostGraph,
    /// None before the first nogood.
    product: Option<Product>,
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
        Folded { graph, product: None, max_states }
    }

    /// The graph without the paths that contain one of the nogoods.
    pub fn graph(&self) -> &CostGraph {
        &self.graph
    }

    /// Takes in as many nogoods as fit, short ones first, each given by its arcs. Returns which.
    ///
    /// `plain` is the graph without any nogoods.
    pub fn add(&mut self, dag: &Dag, plain: &CostGraph, new: &[Vec<ArcId>]) -> Vec<bool> {
        let order = |arcs: &Vec<ArcId>| {
            let mut arcs = arcs.clone();
            arcs.sort_by_key(|&arc| (dag[arc].tail, arc));
            arcs.dedup();
            arcs
        };
        let tail = |arc: Option<&ArcId>| arc.map_or(0, |&arc| dag[arc].tail.0);
        let mut by_length: Vec<(u32, usize, Vec<ArcId>)> = new
            .iter()
            .map(order)
            .enumerate()
            .filter(|(_, arcs)| !arcs.is_empty())
            .map(|(index, arcs)| (tail(arcs.last()) - tail(arcs.first()), index, arcs))
            .collect();
        by_length.sort();
        let mut taken = vec![false; new.len()];
        let product = self.product.get_or_insert_with(|| Product::new(dag, plain));
        let mut fit = by_length.len();
        while fit > 0 {
            let nogoods: Vec<Vec<ArcId>> =
                by_length[..fit].iter().map(|(_, _, arcs)| arcs.clone()).collect();
            if product.add(dag, plain, &nogoods, self.max_states) {
                self.graph = product.graph(plain);
                by_length[..fit].iter().for_each(|&(_, index, _)| taken[index] = true);
                break;
            }
            fit /= 2;
        }
        taken
    }
}

#[cfg(test)]
mod tests;
