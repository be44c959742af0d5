//! Work that is counted: events of named cost classes, which are priced elsewhere.

use std::collections::BTreeMap;

use slowpath_ir::{CostClassId, CostEvent, InsnIdx};

/// The classes met, and the events of the current block.
#[derive(Debug, Default)]
pub(super) struct Costs {
    classes: BTreeMap<String, CostClassId>,
    events: Vec<CostEvent>,
}

impl Costs {
    /// A block begins.
    pub fn begin_block(&mut self) {
        self.events.clear();
    }

    /// Counts an instruction as work of a class.
    pub fn add(&mut self, insn: InsnIdx, class: &str) {
        let next = CostClassId::from(self.classes.len());
        let class = match self.classes.get(class) {
            Some(&id) => id,
            None => *self.classes.entry(class.to_owned()).or_insert(next),
        };
        self.events.push(CostEvent { insn, class });
    }

    /// The events since the block began.
    pub fn take_block(&mut self) -> Vec<CostEvent> {
        std::mem::take(&mut self.events)
    }

    /// The names of the classes, by their numbers.
    pub fn into_classes(self) -> Vec<String> {
        let mut classes = vec![String::new(); self.classes.len()];
        for (name, id) in self.classes {
            classes[id.index()] = name;
        }
        classes
    }
}
