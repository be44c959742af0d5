//! Copies the map content that a run of the interpreter left, so that the next run starts with it.

use std::collections::HashMap;

use slowpath_exec::concrete::Run;
use slowpath_ir::{InputId, RegionKind};

use crate::choices::Agreed;
use crate::elements::Touched;
use crate::entry::set_value;
use crate::pair::Pair;

impl Pair {
    /// Copies the map content that a run left, so that the next run starts with it. Copies bytes
    /// that depend on clocks or random numbers from the kernel.
    pub fn commit(&mut self, agreed: &Agreed) {
        let Agreed { run, touched, open_bytes, .. } = agreed;
        let lifted = self.lifted.clone();
        for (&place, &byte) in &run.written {
            // A region with content starts every run with it, so it does not keep what a run wrote.
            let region = &lifted.program.regions[place.0.index()];
            if region.kind == RegionKind::Map && region.content.is_none() {
                self.environment.memory.insert(place, byte);
            }
        }
        self.commit_queues(run);
        let mut freed: HashMap<InputId, i64> = HashMap::new();
        for element in touched {
            let layout = &lifted.layout.maps[element.map];
            let Touched { number, before, kernel, interpreter, .. } = element;
            if layout.kind.evicts() && before.is_none() {
                *self.inserted.entry(layout.values).or_default() += 1;
            }
            if let Some(room) = layout.free_elements {
                let fewer = i64::from(before.is_some()) - i64::from(kernel.is_some());
                *freed.entry(room.free).or_default() += fewer;
            }
            // The interpreter keeps the place of moved elements for the current run only.
            if !open_bytes && layout.moved.is_none() && kernel == interpreter {
                continue;
            }
            // For a trie (with an identity region), `present` holds the results of lookups, which a
            // run does not change.
            if let Some(present) = layout.present.filter(|_| layout.identity.is_none()) {
                let there = kernel.is_some().into();
                self.environment.memory.insert((present, *number), there);
            }
            if let Some(kernel) = kernel {
                set_value(layout, *number, kernel, &mut self.environment);
            }
        }
        for (input, freed) in freed {
            let free = self.environment.inputs.entry(input).or_default();
            *free = free.saturating_add_signed(freed);
        }
    }

    /// Renumbers the elements of queues after a run, so that the oldest element has the number 0,
    /// as the next run of the interpreter expects.
    fn commit_queues(&mut self, run: &Run) {
        let lifted = self.lifted.clone();
        let regs = &lifted.program.regs;
        for (map, room) in
            lifted.layout.maps.iter().filter_map(|map| Some((map, map.free_elements?)))
        {
            let register = |what: &str| {
                let name = format!("{}.{what}", map.name);
                regs.iter().position(|reg| reg.name == name).map(|reg| run.regs[reg])
            };
            let (Some(oldest), Some(next)) = (register("oldest"), register("next")) else {
                continue;
            };
            let bytes = |number: u64| number << map.element_bits;
            let content: Vec<u8> = (bytes(oldest)..bytes(next))
                .map(|offset| self.byte(Some(run), (map.values, offset)))
                .collect();
            for (offset, byte) in (0u64..).zip(content) {
                self.environment.memory.insert((map.values, offset), byte);
            }
            let free = u64::from(room.max_entries).saturating_sub(next.saturating_sub(oldest));
            self.environment.inputs.insert(room.free, free);
        }
    }
}
