//! What stays of a run for the next one: maps keep what it wrote.

use slowpath_exec::concrete::Run;
use slowpath_ir::RegionKind;

use super::Twin;
use super::elements::theirs;

impl Twin {
    /// Maps keep what the run wrote; of bytes that are open, what the kernel has.
    pub(super) fn commit(&mut self, run: &Run, other: Option<&Run>) {
        let mut adopted = Vec::new();
        for layout in self.compared_maps() {
            // Elements that were moved start the next run at their own place.
            if other.is_some() || layout.moved.is_some() {
                for (number, key, which) in self.all_touched(layout, run, other) {
                    let Some(map) = self.kernels(layout, which) else { continue };
                    adopted.push((layout.clone(), number, theirs(map, &key)));
                }
            }
        }
        let regions = &self.lifted.program.regions;
        for (&place, &byte) in &run.written {
            // What is known at the start of every run is no content of maps.
            let region = &regions[place.0.index()];
            if region.kind == RegionKind::Map && region.content.is_none() {
                self.environment.memory.insert(place, byte);
            }
        }
        self.commit_queues(run);
        for (layout, number, theirs) in adopted {
            // Of a trie, these are the numbers of places; whether a key finds one is known.
            if let Some(present) = layout.present.filter(|_| layout.identity.is_none()) {
                self.environment.memory.insert((present, number), theirs.is_some().into());
            }
            let start = number << layout.element_bits;
            for (offset, &byte) in theirs.iter().flatten().enumerate() {
                self.environment.memory.insert((layout.values, start + offset as u64), byte);
            }
        }
    }

    /// Elements of queues are numbered from the oldest on in every run.
    fn commit_queues(&mut self, run: &Run) {
        let layout = self.lifted.layout.clone();
        for (map, room) in layout.maps.iter().filter_map(|map| Some((map, map.room?))) {
            let register = |what: &str| {
                let name = format!("{}.{what}", map.name);
                let regs = &self.lifted.program.regs;
                regs.iter().position(|reg| reg.name == name).map(|reg| run.regs[reg])
            };
            let (Some(oldest), Some(next)) = (register("oldest"), register("next")) else {
                continue;
            };
            let bytes = |number: u64| number << map.element_bits;
            let content: Vec<u8> = (bytes(oldest)..bytes(next))
                .map(|offset| self.byte(run, (map.values, offset)))
                .collect();
            for (offset, byte) in (0u64..).zip(content) {
                self.environment.memory.insert((map.values, offset), byte);
            }
            let free = u64::from(room.max_entries) - (next - oldest);
            self.environment.inputs.insert(room.free, free);
        }
    }
}
