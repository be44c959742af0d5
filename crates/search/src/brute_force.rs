//! Finds all satisfiable paths of a program by checking each path separately. Tests compare the
//! search with this reference.
//!
//! The reference uses the same symbolic execution and solver as the search. Unlike the search, it
//! does not learn from unsatisfiable paths, and it does not bound costs.

use crate::SearchError;
use crate::costs::CostGraph;
use crate::dag::{Dag, Head};
use crate::unroll::Unrolled;
use slowpath_exec::{ArcId, NodeId, Resolver};
use slowpath_smt::{Outcome, Solver};
use slowpath_target::CostVector;

/// A path that some packet takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrutePath {
    /// Arcs of the path through the unrolled program, in order.
    pub path: Vec<ArcId>,
    /// Cost of the path for each component of the device, including the fixed cost per packet.
    pub cost: CostVector,
    /// Length of the shortest packet that takes the path, in bytes.
    pub length: u32,
}

/// Returns all paths that some packet takes, in no particular order. `packets` is the range of
/// packet lengths in bytes. Takes exponential time, so it suits only small programs.
///
/// # Errors
/// Fails if execution or the solver fails, and if the solver gives up.
pub fn all_paths<S: Solver>(
    unrolled: &mut Unrolled,
    costs: &CostGraph,
    solver: &mut S,
    packets: (u32, u32),
) -> Result<Vec<BrutePath>, SearchError> {
    let mut found = Vec::new();
    let mut resolver = Resolver::new();
    let mut work: Vec<(NodeId, Vec<ArcId>)> = vec![(Dag::ENTRY, Vec::new())];
    while let Some((node, prefix)) = work.pop() {
        // With a limit of zero iterations the graph can be empty, without even an entry.
        let node = unrolled.dag.nodes.get(node.index());
        for arc in node.map_or_else(Vec::new, |node| node.out.clone()) {
            let mut path = prefix.clone();
            path.push(arc);
            match unrolled.dag[arc].head {
                Head::Node(next) => work.push((next, path)),
                Head::Exit(_) => {
                    let length = shortest(unrolled, &mut resolver, solver, &path, packets)?;
                    if let Some(length) = length {
                        found.push(BrutePath { cost: costs.path_cost(&path), length, path });
                    }
                }
            }
        }
    }
    Ok(found)
}

fn shortest<S: Solver>(
    unrolled: &mut Unrolled,
    resolver: &mut Resolver,
    solver: &mut S,
    path: &[ArcId],
    packets: (u32, u32),
) -> Result<Option<u32>, SearchError> {
    let mut steps = Vec::new();
    for &arc in path {
        if let Head::Node(node) = unrolled.dag[arc].head {
            steps.push((arc, node));
        }
    }
    resolver.follow(&steps);
    let mut assumptions = Vec::new();
    for &arc in path {
        if let Some((condition, holds)) = unrolled.dag[arc].condition {
            let resolved = resolver.resolve(&mut unrolled.executor, condition);
            let pool = &mut unrolled.executor.pool;
            let term = match resolved {
                Ok(term) => term,
                // An execution error does not matter if no packet reaches it.
                Err(error) => match solver.check(pool, &assumptions)? {
                    Outcome::Unsat(_) => return Ok(None),
                    Outcome::Sat(_) | Outcome::Unknown(_) => return Err(error.into()),
                },
            };
            assumptions.push(if holds { term } else { pool.not(term) });
        }
    }
    let length = unrolled.executor.packet_length();
    let mut possible = |size: u32| {
        let pool = &mut unrolled.executor.pool;
        let mut query = assumptions.clone();
        if let Some(length) = length {
            let size = pool.constant(pool.width(length), u64::from(size));
            let longer = pool.ult(size, length);
            query.push(pool.not(longer));
        }
        match solver.check(pool, &query)? {
            Outcome::Sat(_) => Ok(true),
            Outcome::Unsat(_) => Ok(false),
            Outcome::Unknown(why) => Err(SearchError::Internal(why)),
        }
    };
    if !possible(packets.1)? {
        return Ok(None);
    }
    let (mut low, mut high) = packets;
    while low < high {
        let middle = low + (high - low) / 2;
        if possible(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(Some(low))
}
