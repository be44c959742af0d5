//! What a run does to elements of maps, against those that the kernel has.

use std::collections::{BTreeSet, HashMap};

use slowpath_bpf::MapKind;
use slowpath_bpf::lift::{Bytes, MapLayout};
use slowpath_exec::concrete::Run;
use slowpath_kernel::Map;
use slowpath_kernel::witness::out_of_range;

use super::outcome::bytes_match;
use super::{Twin, evicts, hex};

/// An element of a map: its number in the layout, its key, and in which of several maps.
pub(super) type Touched = (u64, Vec<u8>, Option<u64>);

impl Twin {
    pub(super) fn all_touched(
        &self,
        layout: &MapLayout,
        run: &Run,
        other: Option<&Run>,
    ) -> BTreeSet<Touched> {
        let mut touched = BTreeSet::new();
        self.touched(layout, run, &mut touched);
        if let Some(other) = other {
            self.touched(layout, other, &mut touched);
        }
        touched
    }

    /// The elements that a run wrote, of a map that the kernel has.
    fn touched(&self, layout: &MapLayout, run: &Run, touched: &mut BTreeSet<Touched>) {
        let mut numbers = BTreeSet::new();
        for &(region, offset) in run.written.keys() {
            if region == layout.values {
                let number = offset >> layout.element_bits;
                if layout.moved.is_none() || number <= u32::MAX.into() {
                    numbers.insert(number);
                }
            } else if Some(region) == layout.present {
                numbers.insert(offset);
            }
        }
        if layout.identity.is_some() {
            let keys = self.tries.keys(layout, &numbers);
            touched.extend(keys.into_iter().map(|(number, key)| (number, key, None)));
            return;
        }
        if numbers.is_empty() {
            return;
        }
        let place = layout.present.unwrap_or(layout.values);
        let shift = if layout.present.is_some() { 0 } else { layout.element_bits };
        let bytes: Bytes = numbers.iter().map(|number| ((place, number << shift), 1)).collect();
        let elements = layout.elements(&bytes, &run.interned);
        touched.extend(elements.into_iter().filter_map(|e| Some((e.number, e.key?, e.which))));
    }

    /// Where an element's value is after a run.
    fn place(&self, layout: &MapLayout, run: &Run, number: u64) -> u64 {
        let Some(moved) = layout.moved else { return number };
        let byte =
            |n| u64::from(run.written.get(&(moved, (number << 3) + n)).copied().unwrap_or(0));
        (0..8).fold(number, |place, n| place ^ byte(n) << (8 * n))
    }

    /// The value of an element after a run, if it exists.
    fn value(
        &self,
        layout: &MapLayout,
        map: &Map,
        run: &Run,
        (number, key): (u64, &[u8]),
    ) -> Option<Vec<u8>> {
        if out_of_range(map, key) {
            return None;
        }
        let exists = layout.identity.is_some()
            || layout.present.is_none_or(|present| self.byte(run, (present, number)) != 0);
        let start = self.place(layout, run, number) << layout.element_bits;
        let byte = |n: u32| self.byte(run, (layout.values, start + u64::from(n)));
        exists.then(|| (0..layout.value_size).map(byte).collect())
    }

    pub(super) fn differing_elements(&self, run: &Run, other: Option<&Run>) -> Option<String> {
        for layout in self.compared_maps() {
            for (number, key, which) in self.all_touched(layout, run, other) {
                let Some(map) = self.kernels(layout, which) else { continue };
                let theirs = theirs(map, &key);
                let ours = self.value(layout, map, run, (number, &key));
                if theirs.is_none() && evicts(layout) {
                    // It may go with any insertion.
                    continue;
                }
                let or = other.map(|other| self.value(layout, map, other, (number, &key)));
                if !matches(theirs.as_deref(), ours.as_deref(), or.as_ref().map(Option::as_deref)) {
                    return Some(element_fault(&layout.name, &key, &theirs, &ours));
                }
            }
        }
        None
    }

    /// The maps whose content is compared: those whose elements can be read back.
    pub(super) fn compared_maps(&self) -> impl Iterator<Item = &MapLayout> {
        let readable = |layout: &&MapLayout| {
            [
                MapKind::ARRAY,
                MapKind::PERCPU_ARRAY,
                MapKind::HASH,
                MapKind::LRU_HASH,
                MapKind::PERCPU_HASH,
                MapKind::LRU_PERCPU_HASH,
                MapKind::LPM_TRIE,
            ]
            .contains(&layout.kind)
        };
        self.lifted.layout.maps.iter().filter(readable)
    }

    /// The kernel's map, of those out of a map of maps the one at an address.
    pub(super) fn kernels(&self, layout: &MapLayout, which: Option<u64>) -> Option<&Map> {
        let Some(which) = which else { return self.loaded.map(&layout.name) };
        let mut maps = self.lifted.layout.maps.iter();
        let outer = maps.find(|outer| format!("{}.inner", outer.name) == layout.name)?;
        let base = self.base(outer.values)?;
        self.loaded.map_at(usize::try_from((which - base) >> outer.element_bits).ok()?)
    }

    /// Where the maps of the two differ, one sentence each.
    pub fn differing_maps(&self) -> Vec<String> {
        let bytes: Bytes = self.environment.memory.iter().map(|(&k, &v)| (k, v)).collect();
        let mut differing = Vec::new();
        for layout in self.compared_maps() {
            let map = self.loaded.map(&layout.name);
            let Some(map) = map.filter(|_| layout.identity.is_none() && layout.lengths.is_none())
            else {
                continue;
            };
            let elements = layout.elements(&bytes, &self.environment.interned);
            let ours: HashMap<Vec<u8>, Vec<u8>> = elements
                .into_iter()
                .filter(|element| element.present == Some(true))
                .filter_map(|element| {
                    let value = element.value.iter().map(|byte| byte.unwrap_or(0)).collect();
                    Some((element.key?, value))
                })
                .collect();
            let keys = map.keys().unwrap_or_default();
            for key in keys.iter().chain(ours.keys().filter(|key| !out_of_range(map, key))) {
                let theirs = theirs(map, key);
                let zeros =
                    || layout.present.is_none().then(|| vec![0; layout.value_size as usize]);
                let expected = ours.get(key).cloned().or_else(zeros);
                if theirs != expected {
                    differing.push(element_fault(&layout.name, key, &theirs, &expected));
                }
            }
        }
        differing
    }
}

/// The value of a key; of several CPUs, which had the same to begin with, the one that changed.
pub(super) fn theirs(map: &Map, key: &[u8]) -> Option<Vec<u8>> {
    let values = map.lookup_all(key).ok().flatten()?;
    let here = rustix::thread::sched_getcpu();
    values.get(if values.len() > 1 { here } else { 0 }).cloned()
}

fn element_fault(
    map: &str,
    key: &[u8],
    theirs: &Option<Vec<u8>>,
    ours: &Option<Vec<u8>>,
) -> String {
    let shown = |value: &Option<Vec<u8>>| value.as_deref().map_or("nothing".to_owned(), hex);
    format!("{map} at {}: {} in the kernel, {} here", hex(key), shown(theirs), shown(ours))
}

/// Whether a value is the one expected, where both expectations are the same.
fn matches(theirs: Option<&[u8]>, ours: Option<&[u8]>, other: Option<Option<&[u8]>>) -> bool {
    let Some(other) = other else { return theirs == ours };
    match (theirs, ours, other) {
        (Some(theirs), Some(ours), Some(other)) => bytes_match(theirs, ours, other),
        (theirs, ours, other) => {
            ours.is_some() != other.is_some() || theirs.is_some() == ours.is_some()
        }
    }
}
