//! What the kernel knows before a run and the interpreter has to be told.

use slowpath_bpf::lift::{Bytes, Layout, MapLayout, MapRoom};

use super::super::contents::intern;
use super::{Twin, evicts, is_queue};

impl Twin {
    /// Tells the interpreter what the kernel knows before a run: how full maps are, which elements are
    /// gone, what time it is.
    pub(super) fn prepare(&mut self) -> Result<(), String> {
        for (layout, room) in counted(&self.lifted.layout) {
            let Some(map) = self.loaded.map(&layout.name) else { continue };
            let there = map.keys().map_err(|e| e.to_string())?.len() as u64;
            let free = u64::from(room.max_entries) - there;
            self.environment.inputs.insert(room.free, free);
        }
        self.fill_inner_maps();
        self.forget_evicted();
        for clock in &self.clocks {
            self.environment.inputs.insert(*clock, soon());
        }
        Ok(())
    }

    /// Tells the interpreter how full the maps are that maps of maps can hold.
    fn fill_inner_maps(&mut self) {
        let mut there = Vec::new();
        for layout in &self.lifted.layout.maps {
            let Some(fill) = layout.fill else { continue };
            let mut maps = self.lifted.layout.maps.iter();
            let outer = maps.find(|outer| format!("{}.inner", outer.name) == layout.name);
            let Some((outer, base)) = outer.and_then(|o| Some((o, self.base(o.values)?))) else {
                continue;
            };
            let maps = (0u64..).map_while(|n| Some((n, self.loaded.map_at(n as usize)?)));
            for (number, map) in maps.filter(|(_, map)| map.definition().kind == layout.kind) {
                let count = map.keys().map_or(0, |keys| keys.len() as u32);
                there.push((fill.used, base + (number << outer.element_bits), count));
            }
        }
        for (used, which, count) in there {
            let number = intern((which, 0), &mut self.environment);
            for (n, byte) in (0..).zip(count.to_le_bytes()) {
                self.environment.memory.insert((used, (number << 2) + n), byte);
            }
        }
    }

    /// Elements that the kernel has evicted do not exist.
    fn forget_evicted(&mut self) {
        for layout in self.lifted.layout.maps.iter().filter(|layout| evicts(layout)) {
            let (Some(map), Some(present)) = (self.loaded.map(&layout.name), layout.present) else {
                continue;
            };
            let there =
                self.environment.memory.iter().filter(|((region, _), _)| *region == present);
            let bytes: Bytes = there.map(|(&place, &byte)| (place, byte)).collect();
            for element in layout.elements(&bytes, &self.environment.interned) {
                let gone = |key: &Vec<u8>| matches!(map.lookup_all(key), Ok(None));
                if element.present == Some(true) && element.key.as_ref().is_some_and(gone) {
                    self.environment.memory.insert((present, element.number), 0);
                }
            }
        }
    }
}

/// The maps of which it is known how many elements there is room for; of queues nothing can be asked.
fn counted(layout: &Layout) -> impl Iterator<Item = (&MapLayout, MapRoom)> {
    let maps = layout.maps.iter().filter(|map| !is_queue(map));
    maps.filter_map(|map| Some((map, map.room?)))
}

/// A second from now, in nanoseconds since the start of the system.
fn soon() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split('.').next().and_then(|seconds| seconds.parse().ok());
    seconds.unwrap_or(0u64).saturating_add(2) * 1_000_000_000
}
