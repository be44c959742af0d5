//! Finds the values on which a path's conditions depend: bytes, inputs, drawn values, and numbers
//! of interned pairs.

use slowpath_exec::Executor;
use slowpath_ir::{InputId, RegionId};
use slowpath_smt::{Evaluator, Model, Node, TermId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Value of all bytes in a replay that the path does not depend on.
pub(super) const FILL: u8 = 0xa5;

/// The values that a set of conditions depends on.
pub(super) struct Support {
    /// Bytes of memory at the start.
    pub bytes: BTreeMap<(RegionId, u64), u8>,
    pub inputs: BTreeSet<InputId>,
    /// Drawn values: all variables that are not inputs.
    pub drawn: HashSet<TermId>,
    /// Numbers of interned pairs.
    pub interned: HashMap<(u64, u64), u32>,
}

impl Support {
    pub fn of(executor: &Executor, conditions: &[TermId], model: &Model) -> Self {
        let pool = &executor.pool;
        let mut support = Support {
            bytes: BTreeMap::new(),
            inputs: BTreeSet::new(),
            drawn: HashSet::new(),
            interned: HashMap::new(),
        };
        let mut evaluator = Evaluator::new(pool, model);
        let mut seen = HashSet::new();
        let mut work = conditions.to_vec();
        while let Some(term) = work.pop() {
            if !seen.insert(term) {
                continue;
            }
            match *pool.node(term) {
                Node::Select { array, index } => {
                    let offset = evaluator.value(index);
                    let regions = (0..executor.program().regions.len()).map(RegionId::from);
                    for region in regions.filter(|&region| executor.array(region) == array) {
                        let byte = evaluator.value(term) as u8;
                        support.bytes.insert((region, offset), byte);
                    }
                }
                Node::Var(_) => {
                    let input = executor.inputs().iter().position(|&input| input == term);
                    match input {
                        Some(input) => support.inputs.extend([InputId::from(input)]),
                        None => support.drawn.extend([term]),
                    }
                }
                Node::Intern(a, b) => {
                    let pair = (evaluator.value(a), evaluator.value(b));
                    support.interned.insert(pair, evaluator.value(term) as u32);
                }
                _ => {}
            }
            work.extend(pool.children(term));
        }
        support
    }
}
