//! Prepares a run of the interpreter: copies state from the kernel that the run needs.

use std::collections::HashSet;

use slowpath_bpf::lift::{Bytes, MapLayout};
use slowpath_exec::concrete::ConcreteError;
use slowpath_ir::RegionId;
use slowpath_kernel::MapError;

use crate::clock::now;
use crate::entry::{intern, write};
use crate::pair::{Pair, is_queue};

/// Maximum number of free elements that each CPU reserves in an LRU map (`LOCAL_FREE_TARGET` of
/// `kernel/bpf/bpf_lru_list.c`). The kernel evicts nothing while more elements are free.
const KEPT_FREE: u64 = 128;

/// `BPF_F_NO_COMMON_LRU`: each CPU evicts from its own list.
const NO_COMMON_LRU: u32 = 1 << 1;

impl Pair {
    /// Copies the state that only the kernel knows into the interpreter before a run: the time, and
    /// the number of free elements in maps.
    pub fn prepare(&mut self) -> Result<(), MapError> {
        if self.recount {
            let lifted = self.lifted.clone();
            for layout in lifted.layout.maps.iter().filter(|layout| !is_queue(layout)) {
                let (Some(map), Some(room)) = (self.loaded.map(&layout.name), layout.free_elements)
                else {
                    continue;
                };
                let count = map.keys()?.len() as u64;
                let free = u64::from(room.max_entries).saturating_sub(count);
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

    /// Copies the sizes of inner maps and their numbers of elements from the kernel into the
    /// interpreter.
    fn fill_inner_maps(&mut self) -> Result<(), MapError> {
        let lifted = self.lifted.clone();
        let tracked = |map: &&MapLayout| map.fill.is_some() || map.sizes.is_some();
        for layout in lifted.layout.maps.iter().filter(tracked) {
            let Some((outer, base)) =
                self.outer(layout).and_then(|outer| Some((outer, self.base(outer.values)?)))
            else {
                continue;
            };
            let mut values = Vec::new();
            for number in 0..self.map_count() {
                let Some(map) = self.map_by_number(number) else { continue };
                if map.definition().kind != layout.kind {
                    continue;
                }
                let size = map.definition().max_entries;
                let address = base + ((number as u64) << outer.element_bits);
                if let Some(fill) = layout.fill {
                    // Only the free room matters, so the number of elements is computed from it and
                    // the layout's size.
                    let free = size.saturating_sub(map.keys()?.len() as u32);
                    values.push((fill.used, address, fill.max_entries.saturating_sub(free)));
                }
                values
                    .extend(layout.sizes.map(|sizes| (sizes, address, size ^ layout.max_entries)));
            }
            for (region, address, value) in values {
                let number = intern((address, 0), &mut self.environment);
                write(&mut self.environment, region, number << 2, &value.to_le_bytes());
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

    /// Removes elements from the interpreter that the kernel has evicted and that the next run
    /// would look up. Records the other elements that the run would look up as confirmed to exist.
    ///
    /// # Errors
    /// If the interpreter cannot complete the run.
    pub fn forget_evicted(&mut self) -> Result<(), ConcreteError> {
        self.confirmed.clear();
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
            let mut changed = false;
            for &(present, layout) in &evicting {
                let unconfirmed = self.unconfirmed_elements(&run.read).into_iter();
                let places = unconfirmed.filter(|place| place.0 == present);
                let bytes: Bytes = places.map(|place| (place, 1)).collect();
                for element in layout.elements(&bytes, &run.interned) {
                    let place = (present, element.number);
                    let map = self.kernel_map(layout, element.map_address);
                    let value = map.zip(element.key).map(|(map, key)| self.kernel_value(map, &key));
                    if value == Some(None) {
                        self.environment.memory.insert(place, 0);
                        changed = true;
                    } else {
                        self.confirmed.insert(place);
                    }
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }

    /// Returns the elements in `read` that exist in the interpreter, but that are not known to
    /// exist in the kernel. Each pair contains a memory region and a position.
    pub fn unconfirmed_elements(&self, read: &[(RegionId, u64)]) -> HashSet<(RegionId, u64)> {
        let unconfirmed = |place: &&(RegionId, u64)| {
            !self.confirmed.contains(place) && self.byte(None, **place) != 0
        };
        read.iter().filter(unconfirmed).copied().collect()
    }
}
