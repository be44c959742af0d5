//! Finds the values on which the conditions of a path depend: bytes of memory, inputs, values from
//! outside such as random numbers, and numbers by which terms represent pairs of words.

use slowpath_exec::Executor;
use slowpath_ir::{InputId, RegionId};
use slowpath_smt::{Evaluator, Model, Node, TermId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Value that a replay gives to all bytes on which the path does not depend.
pub(super) const FILL: u8 = 0xa5;

/// The values that a set of path conditions depends on.
pub(super) struct Support {
    /// Bytes of memory before the run, by region and offset.
    pub bytes: BTreeMap<(RegionId, u64), u8>,
    pub inputs: BTreeSet<InputId>,
    /// Terms that stand for values from outside the program, such as random numbers: all variables
    /// in the conditions except the program's inputs.
    pub drawn: HashSet<TermId>,
    /// Numbers by which terms represent pairs of words (interned pairs), by pair.
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
