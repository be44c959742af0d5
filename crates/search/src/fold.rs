//! Folding: removes all paths that contain a known nogood from the cost graph.
//!
//! A path contains a nogood if it takes all arcs of the nogood, in any positions. The states of the
//! new graph record how many arcs of each nogood the path has taken so far. Longest paths over such
//! states avoid the nogoods without branching (state augmentation: Villeneuve and Desaulniers, "The
//! shortest path problem with forbidden paths", EJOR 2005; here extended to arcs that need not be
//! adjacent).
//!
//! Short nogoods, such as those within a loop iteration, overlap little. A path has begun only few
//! of them at a time, so few states are needed for any number of nogoods. Branch and bound would
//! try combinations over all iterations. If many nogoods overlap, the number of states grows too
//! large; these nogoods are then left to branch and bound.

mod partial_matches;
mod product;

use crate::costs::CostGraph;
use crate::dag::Dag;
use product::Product;
use slowpath_exec::ArcId;

/// A graph of the paths that contain none of the folded nogoods. A nogood is a set of arcs that no
/// packet takes together.
#[derive(Debug)]
pub struct Folded {
    graph: CostGraph,
    /// The graph in which each state also records the nogoods that a path has partly matched.
    /// `None` before the first nogood is added.
    product: Option<Product>,
    /// Maximum number of states of the graph with nogoods.
    max_states: usize,
}

/// Constant part of the maximum number of states of the graph with nogoods.
const FEW_STATES: usize = 4_096;
/// Number of states that the graph with nogoods may have for each state of the graph without
/// nogoods, in addition to the constant part.
const GROWTH: usize = 8;

impl Folded {
    /// Creates a graph that excludes no nogoods (sets of arcs that no packet takes together) yet.
    pub fn new(graph: CostGraph) -> Self {
        let max_states = FEW_STATES + GROWTH * graph.states();
        Folded { graph, product: None, max_states }
    }

    /// Returns the graph of all paths that contain none of the added nogoods.
    pub fn graph(&self) -> &CostGraph {
        &self.graph
    }

    /// Removes the paths that contain a nogood in `new` from the graph, unless this needs too many
    /// states; short nogoods come first. Each nogood is given by its arcs. Returns, for each
    /// nogood, true if the graph now excludes it.
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
