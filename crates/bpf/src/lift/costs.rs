//! Collects the costs of instructions, as events that belong to named cost classes. The target
//! description says how much one event of each class costs.

use std::collections::BTreeMap;

use slowpath_ir::{CostClassId, CostEvent, InsnIdx};

/// A collector of cost events of the current block. Also stores the names of all cost classes that
/// have occurred. A cost class is a kind of work for which the target description has one price.
#[derive(Debug, Default)]
pub(super) struct Costs {
    classes: BTreeMap<String, CostClassId>,
    events: Vec<CostEvent>,
}

impl Costs {
    /// Discards the cost events of the previous block.
    pub fn begin_block(&mut self) {
        self.events.clear();
    }

    /// Adds a cost event to the block: the instruction `insn` does the work of the cost class
    /// `class` once.
    pub fn add(&mut self, insn: InsnIdx, class: &str) {
        let next = CostClassId::from(self.classes.len());
        let class = match self.classes.get(class) {
            Some(&id) => id,
            None => *self.classes.entry(class.to_owned()).or_insert(next),
        };
        self.events.push(CostEvent { insn, class });
    }

    /// Returns the cost events since the start of the block.
    pub fn take_block(&mut self) -> Vec<CostEvent> {
        std::mem::take(&mut self.events)
    }

    /// Returns the names of the cost classes, indexed by [`CostClassId`].
    pub fn into_classes(self) -> Vec<String> {
        let mut classes = vec![String::new(); self.classes.len()];
        for (name, id) in self.classes {
            classes[id.index()] = name;
        }
        classes
    }
}
