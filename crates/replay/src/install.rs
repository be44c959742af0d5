//! Fills maps in the kernel and in the interpreter with the same content.

use serde_json::Value;
use slowpath_bpf::MapKind;
use slowpath_bpf::lift::MapLayout;
use slowpath_kernel::MapError;
use slowpath_kernel::witness::{bytes, entries, install, out_of_range, push_order, value};

use crate::entry::{Entry, install_at, set_value, write};
use crate::error::ReplayError;
use crate::pair::{Pair, is_queue};

/// Types of maps whose values refer to devices or CPUs. This module chooses the values; the
/// witness, which describes the map content, supplies only the keys.
const CHOSEN: [MapKind; 3] = [MapKind::DEVMAP, MapKind::DEVMAP_HASH, MapKind::CPUMAP];

impl Pair {
    /// Fills the maps of kernel and interpreter with the map content in `witness`, a JSON
    /// description of a run to be reproduced.
    pub fn install_witness(&mut self, witness: &Value) -> Result<(), ReplayError> {
        let installed = install(&self.loaded, witness)?;
        self.installed.push(installed);
        self.recount = true;
        let lifted = self.lifted.clone();
        for layout in lifted.layout.maps.iter().filter(|layout| layout.holds_maps()) {
            for entry in entries(witness, &layout.name) {
                if let Some(within) = entry["map"].as_str() {
                    self.put_inner_map(layout, &bytes(&entry["key"]), within);
                }
            }
        }
        for layout in &lifted.layout.maps {
            if layout.inner {
                self.install_into_inner(layout, witness);
                continue;
            }
            let Some(map) = self.loaded.map(&layout.name) else { continue };
            if is_queue(layout) {
                for value in push_order(witness, map.definition()) {
                    self.enqueue(layout, &value);
                }
                continue;
            }
            let chosen = CHOSEN.contains(&layout.kind);
            let mut listed = Vec::new();
            for entry in entries(witness, &layout.name).filter(|entry| entry["key"].is_string()) {
                let key = bytes(&entry["key"]);
                if let Some(value) = value(entry, layout.value_size)
                    && !out_of_range(map, &key)
                {
                    let kernel = if chosen { self.kernel_value(map, &key) } else { None };
                    listed.push(Entry { value: kernel.unwrap_or(value), key });
                }
            }
            for entry in listed {
                self.tries.install(layout, &entry, &mut self.environment);
            }
        }
        Ok(())
    }

    /// Puts an inner map into a map of maps under `key`. `within` is the name that the last
    /// installed witness uses for the inner map. Changes only the interpreter.
    fn put_inner_map(&mut self, layout: &MapLayout, key: &[u8], within: &str) {
        let witness = self.installed.len().saturating_sub(1);
        let known = self.inner.iter().position(|(of, name)| *of == witness && name == within);
        let place = known.unwrap_or_else(|| {
            self.inner.push((witness, within.to_owned()));
            self.inner.len() - 1
        });
        let number = (self.object_maps + place) as u32;
        // The element has no value; it refers to the map by number.
        let entry = Entry { key: key.to_owned(), value: Vec::new() };
        let element = install_at(layout, None, &entry, &mut self.environment);
        if let Some(identity) = layout.identity {
            write(&mut self.environment, identity, element << 2, &number.to_le_bytes());
        }
    }

    /// Fills the inner maps of a map of maps with the content that `witness` describes, the last
    /// installed witness. Changes only the interpreter.
    fn install_into_inner(&mut self, layout: &MapLayout, witness: &Value) {
        let last = self.installed.len().saturating_sub(1);
        for entry in entries(witness, &layout.name) {
            let within = entry["map"].as_str().unwrap_or_default();
            let named = |(of, name): &(usize, String)| *of == last && name == within;
            let Some(place) = self.inner.iter().position(named) else { continue };
            let address = self.address(layout, self.object_maps + place);
            if let (Some(value), Some(_)) = (value(entry, layout.value_size), address) {
                let entry = Entry { key: bytes(&entry["key"]), value };
                install_at(layout, address, &entry, &mut self.environment);
            }
        }
    }

    /// Returns the address that the interpreter uses for the inner map with the number `number`.
    fn address(&self, layout: &MapLayout, number: usize) -> Option<u64> {
        let outer = self.outer(layout)?;
        Some(self.base(outer.values)?.wrapping_add((number as u64) << outer.element_bits))
    }

    /// Puts an element into a map, in kernel and interpreter. The key is ignored for queues and
    /// stacks.
    pub fn put(&mut self, name: &str, entry: &Entry) -> Result<(), ReplayError> {
        let lifted = self.lifted.clone();
        let map = self.loaded.map(name).ok_or_else(|| self.no_map(name))?;
        let layout = lifted.layout.maps.iter().find(|layout| layout.name == name);
        if layout.is_some_and(is_queue) {
            map.update(&[], &entry.value)?;
        } else {
            map.update(&entry.key, &entry.value)?;
        }
        self.recount = true;
        match layout {
            Some(layout) if is_queue(layout) => self.enqueue(layout, &entry.value),
            Some(layout) => self.tries.install(layout, entry, &mut self.environment),
            // The program does not use this map.
            None => {}
        }
        Ok(())
    }

    /// Puts an element into the inner map `name` of the object, in kernel and interpreter. `outer`
    /// is the map of maps that contains the inner map.
    pub fn put_inner(&mut self, outer: &str, name: &str, entry: &Entry) -> Result<(), ReplayError> {
        let lifted = self.lifted.clone();
        let mut maps =
            (0..self.object_maps).filter_map(|n| Some((n, self.loaded.map_by_number(n)?)));
        let map = maps.find(|(_, map)| map.definition().name == name);
        let (number, map) = map.ok_or_else(|| self.no_map(name))?;
        map.update(&entry.key, &entry.value)?;
        let inner = format!("{outer}.inner");
        let layout = lifted.layout.maps.iter().find(|layout| layout.name == inner);
        let place = layout.and_then(|layout| Some((layout, self.address(layout, number)?)));
        if let Some((layout, address)) = place {
            install_at(layout, Some(address), entry, &mut self.environment);
        }
        Ok(())
    }

    /// Adds an element to a queue or stack. Changes only the interpreter.
    fn enqueue(&mut self, layout: &MapLayout, value: &[u8]) {
        let Some(room) = layout.free_elements else { return };
        let free = self.environment.inputs.get(&room.free).copied().unwrap_or_default();
        let place = u64::from(room.max_entries).saturating_sub(free);
        set_value(layout, place, value, &mut self.environment);
        self.environment.inputs.insert(room.free, free.saturating_sub(1));
    }

    fn no_map(&self, name: &str) -> ReplayError {
        let program = self.lifted.program.name.clone();
        ReplayError::NoMap { program, map: name.to_owned() }
    }

    /// Reads from the kernel the number of elements of each map that evicts elements when it is
    /// full.
    pub fn count_evicting(&mut self) -> Result<(), MapError> {
        let lifted = self.lifted.clone();
        for layout in lifted.layout.maps.iter().filter(|layout| layout.kind.evicts()) {
            let Some(map) = self.loaded.map(&layout.name) else { continue };
            self.inserted.insert(layout.values, map.keys()?.len() as u64);
        }
        Ok(())
    }
}
