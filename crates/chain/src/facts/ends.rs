//! Finds the results with which packets end instead of reaching the next program, and the branches
//! that lead to these results.

use super::departure::{WRAPPED, arriving, result};
use super::explanation::InsnLocation;
use super::results::ResultSet;
use slowpath_exec::{ArcId, Executor, NodeId, Varying};
use slowpath_ir::{RegionId, Terminator};
use slowpath_search::{Head, Unrolled};
use slowpath_smt::TermId;
use std::collections::BTreeSet;

/// Maximum number of program ends that are listed.
const MAX_ENDS: usize = 16;

/// A result with which packets end instead of reaching the next program, and the branch that leads
/// to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The result, such as an XDP action; `None` if it is not constant.
    pub result: Option<u32>,
    /// Last branch before the end of the program; `None` if there is no branch on the way.
    pub branch: Option<InsnLocation>,
}

/// Lists the ends of a program at which the result is not one of `results`, each with the last
/// branch before it.
pub(super) fn ends(unrolled: &mut Unrolled, region: RegionId, results: &ResultSet) -> Vec<End> {
    let mut before: Vec<Vec<ArcId>> = vec![Vec::new(); unrolled.dag.nodes.len()];
    for (number, arc) in unrolled.dag.arcs.iter().enumerate() {
        if let Head::Node(node) = arc.head
            && let Some(arcs) = before.get_mut(node.index())
        {
            arcs.push(ArcId::from(number));
        }
    }
    let mut ends = BTreeSet::new();
    for (exit, state) in unrolled.exits.clone() {
        let Some(term) = result(&mut unrolled.executor, &state, region) else { continue };
        // The value of a phi is decided on the paths that lead to it.
        let mut open = vec![(exit, term)];
        let mut seen = BTreeSet::new();
        while let Some((arc, term)) = open.pop() {
            if !seen.insert((arc, term)) {
                continue;
            }
            let executor = &mut unrolled.executor;
            if let Some((node, arcs)) = meeting(executor, term, WRAPPED) {
                let over = |arc| (arc, arriving(executor, term, node, arc, WRAPPED));
                open.extend(arcs.into_iter().map(over));
                continue;
            }
            let result = executor.pool.as_const(term).map(|value| value as u32);
            if result.is_some_and(|result| results.contain(result)) {
                continue;
            }
            for branch in branches(unrolled, &before, unrolled.dag[arc].tail) {
                ends.insert(End { result, branch });
            }
        }
    }
    ends.into_iter().take(MAX_ENDS).collect()
}

/// Finds a phi (a value that depends on the path) at most `deep` levels inside a term. Returns the
/// node at which the phi merges paths, and the edges into this node.
fn meeting(executor: &Executor, term: TermId, deep: u32) -> Option<(NodeId, Vec<ArcId>)> {
    if let Some(Varying::Merged { node, incoming }) = executor.path_dependence(term) {
        return Some((node, incoming.iter().map(|&(arc, _)| arc).collect()));
    }
    let deeper = deep.checked_sub(1)?;
    executor.pool.children(term).find_map(|part| meeting(executor, part, deeper))
}

/// Lists the last branch on each path to a node; `None` for a path without branches.
fn branches(
    unrolled: &Unrolled,
    arriving: &[Vec<ArcId>],
    node: NodeId,
) -> Vec<Option<InsnLocation>> {
    let program = unrolled.executor.program();
    let (mut found, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![node]);
    while let Some(node) = open.pop() {
        if !seen.insert(node) || found.len() > MAX_ENDS {
            continue;
        }
        let block = program.block(unrolled.dag[node].block);
        if let Terminator::Branch { .. } = block.terminator {
            found.push(Some(InsnLocation::of_branch(program, block)));
        } else if arriving[node.index()].is_empty() {
            found.push(None);
        } else {
            open.extend(arriving[node.index()].iter().map(|&arc| unrolled.dag[arc].tail));
        }
    }
    found
}
