//! Lists the branches of a path with the inputs that decide them: bytes of the packet, its length,
//! and maps.

use crate::Error;
use crate::result::PathBranch;
use indexmap::IndexMap;
use slowpath_exec::Executor;
use slowpath_ir::{RegionId, RegionKind};
use slowpath_search::{FoundPath, Search};
use slowpath_smt::{ArrayId, Evaluator, Node, Solver, TermId};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A branch with the inputs on which its conditions depend, and the terms of its conditions that
/// were already searched for inputs.
#[derive(Default)]
struct Branch {
    runs: u64,
    taken: u64,
    bytes: BTreeSet<u64>,
    length: bool,
    maps: BTreeSet<String>,
    seen: HashSet<TermId>,
}

/// Returns the branches of a path whose conditions depend on inputs, in the order of their first
/// executions. The path's model determines the values of offsets that are not constant.
///
/// # Errors
/// If a condition cannot be executed symbolically.
pub(crate) fn branches<S: Solver>(
    search: &mut Search<S>,
    found: &FoundPath,
) -> Result<Vec<PathBranch>, Error> {
    let conditions = search.branch_conditions(&found.path)?;
    let unrolled = search.unrolled();
    let executor = &unrolled.executor;
    let (program, pool) = (executor.program(), &executor.pool);
    let regions = regions_by_array(executor);
    let mut evaluator = Evaluator::new(pool, &found.model);
    let mut branches: IndexMap<u32, Branch> = IndexMap::new();
    for (arc, condition) in conditions {
        let arc = &unrolled.dag[arc];
        let block = program.block(unrolled.dag[arc.tail].block);
        // A branch of a listing is followed by its delay slots.
        let edge = block.terminator.edges().nth(arc.edge);
        let at = edge.and_then(|edge| edge.costs.first()).map(|event| event.insn);
        let at = at.or(block.insns.last().copied()).unwrap_or(block.first).0;
        let branch = branches.entry(at).or_default();
        branch.runs += 1;
        branch.taken += u64::from(arc.edge == 0);
        let mut work = vec![condition];
        while let Some(term) = work.pop() {
            if !branch.seen.insert(term) {
                continue;
            }
            branch.length |= executor.packet_length() == Some(term);
            if let Node::Select { array, index } = *pool.node(term)
                && let Some(&region) = regions.get(&array)
            {
                let region = &program.regions[region.index()];
                match region.kind {
                    RegionKind::Packet => {
                        branch.bytes.insert(evaluator.value(index));
                    }
                    RegionKind::Map => {
                        branch.maps.insert(region.name.clone());
                    }
                    RegionKind::Stack | RegionKind::Context => {}
                }
            }
            work.extend(pool.children(term));
        }
    }
    let known = branches.into_iter().map(|(instruction, branch)| PathBranch {
        instruction,
        runs: branch.runs,
        taken: branch.taken,
        bytes: branch.bytes.into_iter().collect(),
        length: branch.length,
        maps: branch.maps.into_iter().collect(),
    });
    Ok(known.filter(|one| one.length || !one.bytes.is_empty() || !one.maps.is_empty()).collect())
}

fn regions_by_array(executor: &Executor) -> HashMap<ArrayId, RegionId> {
    let regions = (0..executor.program().regions.len()).map(RegionId::from);
    regions.map(|region| (executor.array(region), region)).collect()
}
