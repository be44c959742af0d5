//! Copies the content of the kernel's maps into the interpreter.

use std::collections::BTreeSet;

use slowpath_bpf::lift::MapLayout;
use slowpath_ir::RegionId;
use slowpath_kernel::{Map, MapError};

use crate::elements::is_readable;
use crate::entry::{Entry, install_at};
use crate::pair::Pair;

impl Pair {
    /// Replaces the content of all readable maps in the interpreter by their content in the kernel.
    pub fn sync_maps(&mut self) -> Result<(), MapError> {
        let lifted = self.lifted.clone();
        let readable = || lifted.layout.maps.iter().filter(|layout| is_readable(layout.kind));
        let regions = |layout: &MapLayout| {
            let MapLayout { values, present, prefix_lengths: lengths, .. } = *layout;
            [Some(values), present, lengths]
        };
        let discarded: BTreeSet<RegionId> = readable().flat_map(regions).flatten().collect();
        self.environment.memory.retain(|place, _| !discarded.contains(&place.0));
        self.tries.clear();
        self.recount = true;
        for layout in readable() {
            let Some(outer) = self.outer(layout) else {
                let Some(map) = self.loaded.map(&layout.name) else { continue };
                for entry in self.content(map, layout)? {
                    self.tries.install(layout, &entry, &mut self.environment);
                }
                continue;
            };
            let (base, bits) = (self.base(outer.values).unwrap_or(0), outer.element_bits);
            for number in 0..self.map_count() {
                let has_layout = |map: &&Map| {
                    let def = map.definition();
                    (def.kind, def.key_size, def.value_size)
                        == (layout.kind, layout.key_size, layout.value_size)
                };
                let Some(map) = self.map_by_number(number).filter(has_layout) else { continue };
                let address = base.wrapping_add((number as u64) << bits);
                for entry in self.content(map, layout)? {
                    install_at(layout, Some(address), &entry, &mut self.environment);
                }
            }
        }
        Ok(())
    }

    /// Reads the elements of a map from the kernel. Leaves out array elements whose bytes are all
    /// zero.
    fn content(&self, map: &Map, layout: &MapLayout) -> Result<Vec<Entry>, MapError> {
        let keys = map.keys()?.into_iter();
        let entries =
            keys.filter_map(|key| Some(Entry { value: self.kernel_value(map, &key)?, key }));
        let counts =
            |entry: &Entry| layout.present.is_some() || entry.value.iter().any(|b| *b != 0);
        Ok(entries.filter(counts).collect())
    }
}
