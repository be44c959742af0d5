//! Collects the costs of instructions, as events that belong to named cost classes. The target sets
//! the prices of the classes.

use std::collections::BTreeMap;

use slowpath_ir::{CostClassId, CostEvent, InsnIdx};

/// Collects the names of all cost classes used so far, and the events of the current block.
#[derive(Debug, Default)]
pub(super) struct Costs {
    classes: BTreeMap<String, CostClassId>,
    events: Vec<CostEvent>,
}

impl Costs {
    /// Discards the events of the last block.
    pub fn begin_block(&mut self) {
        self.events.clear();
    }

    /// Adds an event: the instruction costs the price of this class.
    pub fn add(&mut self, insn: InsnIdx, class: &str) {
        let next = CostClassId::from(self.classes.len());
        let class = match self.classes.get(class) {
            Some(&id) => id,
            None => *self.classes.entry(class.to_owned()).or_insert(next),
        };
        self.events.push(CostEvent { insn, class });
    }

    /// Returns the events since the start of the block.
    pub fn take_block(&mut self) -> Vec<CostEvent> {
        std::mem::take(&mut self.events)
    }

    /// Returns the names of the classes, indexed by [`CostClassId`].
    pub fn into_classes(self) -> Vec<String> {
        let mut classes = vec![String::new(); self.classes.len()];
        for (name, id) in self.classes {
            classes[id.index()] = name;
        }
        classes
    }
}
