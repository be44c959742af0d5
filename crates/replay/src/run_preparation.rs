//! Preparation of a run: state of the kernel that the interpreter needs.

use std::collections::HashSet;

use slowpath_bpf::lift::{Bytes, MapLayout};
use slowpath_exec::concrete::ConcreteError;
use slowpath_ir::RegionId;
use slowpath_kernel::MapError;

use crate::clock::now;
use crate::entry::intern;
use crate::pair::{Pair, is_queue};

/// Most elements that each CPU keeps free for itself in an LRU map (`LOCAL_FREE_TARGET` of
/// `kernel/bpf/bpf_lru_list.c`). No element is evicted while more are left.
const KEPT_FREE: u64 = 128;

/// `BPF_F_NO_COMMON_LRU`: each CPU evicts from its own list.
const NO_COMMON_LRU: u32 = 1 << 1;

impl Pair {
    /// Copies state of the kernel into the interpreter before a run: the room in maps, and the
    /// time.
    pub fn prepare(&mut self) -> Result<(), MapError> {
        if self.recount {
            let lifted = self.lifted.clone();
            for layout in lifted.layout.maps.iter().filter(|layout| !is_queue(layout)) {
                let (Some(map), Some(room)) = (self.loaded.map(&layout.name), layout.free_elements)
                else {
                    continue;
                };
                let there = map.keys()?.len() as u64;
                let free = u64::from(room.max_entries).saturating_sub(there);
                self.environment.inputs.insert(room.free, free);
            }
            self.count_evicting()?;
            self.recount = false;
        }
        self.fill_inner_maps()?;
        for (clock, name) in &self.clocks {
            if let Some(time) = now(name) {
                self.environment.inputs.insert(*clock, time);
            }
        }
        Ok(())
    }

    /// Copies sizes and fill levels of the maps inside maps of maps.
    fn fill_inner_maps(&mut self) -> Result<(), MapError> {
        let lifted = self.lifted.clone();
        let told = |map: &&MapLayout| map.fill.is_some() || map.sizes.is_some();
        for layout in lifted.layout.maps.iter().filter(told) {
            let Some((outer, base)) =
                self.outer(layout).and_then(|outer| Some((outer, self.base(outer.values)?)))
            else {
                continue;
            };
            let mut there = Vec::new();
            for number in 0..self.numbers() {
                let Some(map) = self.numbered(number) else { continue };
                if map.definition().kind != layout.kind {
                    continue;
                }
                let size = map.definition().max_entries;
                let address = base + ((number as u64) << outer.element_bits);
                if let Some(fill) = layout.fill {
                    // Only the remaining room matters, so the fill level is adjusted to the
                    // layout's size.
                    let free = size.saturating_sub(map.keys()?.len() as u32);
                    there.push((fill.used, address, fill.max_entries.saturating_sub(free)));
                }
                there.extend(layout.sizes.map(|sizes| (sizes, address, size ^ layout.max_entries)));
            }
            for (region, address, value) in there {
                let number = intern((address, 0), &mut self.environment);
                for (n, byte) in (0..).zip(value.to_le_bytes()) {
                    self.environment.memory.insert((region, (number << 2) + n), byte);
                }
            }
        }
        Ok(())
    }

    /// Returns true if the kernel may have evicted elements of a map.
    pub fn may_evict(&self, layout: &MapLayout) -> bool {
        let Some(map) = self.loaded.map(&layout.name).filter(|_| layout.kind.evicts()) else {
            return false;
        };
        let inserted = self.inserted.get(&layout.values).copied().unwrap_or(0);
        let kept = KEPT_FREE.saturating_mul(self.cpus as u64);
        map.definition().flags & NO_COMMON_LRU != 0
            || inserted.saturating_add(kept) >= map.definition().max_entries.into()
    }

    /// Removes elements that a run looks up but that the kernel has evicted. Records the other
    /// elements that it looks up as certain to exist.
    ///
    /// # Errors
    /// If the interpreter cannot complete the run.
    pub fn forget_evicted(&mut self) -> Result<(), ConcreteError> {
        self.certain.clear();
        let lifted = self.lifted.clone();
        let maps = lifted.layout.maps.iter();
        let evicting: Vec<(RegionId, &MapLayout)> = maps
            .filter(|layout| self.may_evict(layout))
            .filter_map(|layout| Some((layout.present?, layout)))
            .collect();
        self.environment.watched = evicting.iter().map(|&(present, _)| present).collect();
        if evicting.is_empty() {
            return Ok(());
        }
        loop {
            let run = self.interpret(&[], None)?;
            let mut news = false;
            for &(present, layout) in &evicting {
                let asked =
                    self.unconfirmed_elements(&run.read).into_iter().filter(|at| at.0 == present);
                let bytes: Bytes = asked.map(|place| (place, 1)).collect();
                for element in layout.elements(&bytes, &run.interned) {
                    let place = (present, element.number);
                    let map = self.kernels(layout, element.map_address);
                    let there = map.zip(element.key).map(|(map, key)| self.theirs(map, &key));
                    if there.is_some_and(|value| value.is_none()) {
                        self.environment.memory.insert(place, 0);
                        news = true;
                    } else {
                        self.certain.insert(place);
                    }
                }
            }
            if !news {
                return Ok(());
            }
        }
    }

    /// Returns the elements that a run looked up and assumed to exist without confirmation by the
    /// kernel.
    pub fn unconfirmed_elements(&self, read: &[(RegionId, u64)]) -> HashSet<(RegionId, u64)> {
        let believed = |place: &&(RegionId, u64)| {
            !self.certain.contains(place) && self.byte(None, **place) != 0
        };
        read.iter().filter(believed).copied().collect()
    }
}
