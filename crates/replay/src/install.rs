//! Initial content of maps, in kernel and interpreter.

use serde_json::Value;
use slowpath_bpf::MapKind;
use slowpath_bpf::lift::MapLayout;
use slowpath_kernel::witness::{bytes, entries, install, out_of_range, push_order, value};
use slowpath_kernel::{Map, MapError};

use crate::entry::{Entry, install_at};
use crate::error::ReplayError;
use crate::pair::{Pair, is_queue};

/// Types of maps whose values the kernel's side chooses; the witness only lists their keys.
const CHOSEN: [MapKind; 3] = [MapKind::DEVMAP, MapKind::DEVMAP_HASH, MapKind::CPUMAP];

impl Pair {
    /// Fills the maps from a witness.
    pub fn install_witness(&mut self, witness: &Value) -> Result<(), ReplayError> {
        let installed = install(&self.loaded, witness)?;
        self.installed.push(installed);
        self.recount = true;
        let lifted = self.lifted.clone();
        for layout in lifted.layout.maps.iter().filter(|layout| layout.holds_maps()) {
            for entry in entries(witness, &layout.name) {
                if let Some(within) = entry["map"].as_str() {
                    self.hold(layout, &bytes(&entry["key"]), within);
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
                    self.enqueued(layout, &value);
                }
                continue;
            }
            let chosen = CHOSEN.contains(&layout.kind);
            let mut given = Vec::new();
            for entry in entries(witness, &layout.name).filter(|entry| entry["key"].is_string()) {
                let key = bytes(&entry["key"]);
                if let Some(told) = value(entry, layout.value_size)
                    && !out_of_range(map, &key)
                {
                    let theirs = if chosen { self.theirs(map, &key) } else { None };
                    given.push(Entry { value: theirs.unwrap_or(told), key });
                }
            }
            for entry in given {
                self.tries.install(layout, &entry, &mut self.environment);
            }
        }
        Ok(())
    }

    /// Puts an inner map of the last witness into a map of maps.
    fn hold(&mut self, layout: &MapLayout, key: &[u8], within: &str) {
        let witness = self.installed.len().saturating_sub(1);
        let known = self.inner.iter().position(|(of, name)| *of == witness && name == within);
        let place = known.unwrap_or_else(|| {
            self.inner.push((witness, within.to_owned()));
            self.inner.len() - 1
        });
        let number = (self.maps + place) as u32;
        // The element has no value; it refers to the map by number.
        let entry = Entry { key: key.to_owned(), value: Vec::new() };
        let element = install_at(layout, None, &entry, &mut self.environment);
        if let Some(identity) = layout.identity {
            for (n, byte) in (0..).zip(number.to_le_bytes()) {
                self.environment.memory.insert((identity, (element << 2) + n), byte);
            }
        }
    }

    /// Fills the inner maps of the last witness.
    fn install_into_inner(&mut self, layout: &MapLayout, witness: &Value) {
        let last = self.installed.len().saturating_sub(1);
        for entry in entries(witness, &layout.name) {
            let within = entry["map"].as_str().unwrap_or_default();
            let named = |(of, name): &(usize, String)| *of == last && name == within;
            let Some(place) = self.inner.iter().position(named) else { continue };
            let address = self.address(layout, self.maps + place);
            if let (Some(value), Some(_)) = (value(entry, layout.value_size), address) {
                let entry = Entry { key: bytes(&entry["key"]), value };
                install_at(layout, address, &entry, &mut self.environment);
            }
        }
    }

    /// Returns the address that stands for the map with a number in a map of maps.
    fn address(&self, layout: &MapLayout, number: usize) -> Option<u64> {
        let outer = self.outer(layout)?;
        Some(self.base(outer.values)?.wrapping_add((number as u64) << outer.element_bits))
    }

    /// Puts an element into a map, in kernel and interpreter.
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
            Some(layout) if is_queue(layout) => self.enqueued(layout, &entry.value),
            Some(layout) => self.tries.install(layout, entry, &mut self.environment),
            // The program does not use this map.
            None => {}
        }
        Ok(())
    }

    /// Puts an element into an inner map that belongs to the object. `name` is the name of the
    /// inner map, `outer` that of the map of maps.
    pub fn put_inner(&mut self, outer: &str, name: &str, entry: &Entry) -> Result<(), ReplayError> {
        let lifted = self.lifted.clone();
        let called = |map: &Map| map.definition().name == name;
        let found =
            (0..self.maps).find(|&number| self.loaded.map_by_number(number).is_some_and(called));
        let map = found.and_then(|number| Some((number, self.loaded.map_by_number(number)?)));
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

    /// Adds an element to a queue or stack in the interpreter.
    fn enqueued(&mut self, layout: &MapLayout, value: &[u8]) {
        let Some(room) = layout.free_elements else { return };
        let free = self.environment.inputs.get(&room.free).copied().unwrap_or_default();
        let place = u64::from(room.max_entries).saturating_sub(free);
        let start = place << layout.element_bits;
        for (offset, &byte) in (0u64..).zip(value) {
            self.environment.memory.insert((layout.values, start.wrapping_add(offset)), byte);
        }
        self.environment.inputs.insert(room.free, free.saturating_sub(1));
    }

    fn no_map(&self, name: &str) -> ReplayError {
        let program = self.lifted.program.name.clone();
        ReplayError::NoMap { program, map: name.to_owned() }
    }

    /// Reads the number of elements in evicting maps from the kernel.
    pub fn count_evicting(&mut self) -> Result<(), MapError> {
        let lifted = self.lifted.clone();
        for layout in lifted.layout.maps.iter().filter(|layout| layout.kind.evicts()) {
            let Some(map) = self.loaded.map(&layout.name) else { continue };
            self.inserted.insert(layout.values, map.keys()?.len() as u64);
        }
        Ok(())
    }
}
