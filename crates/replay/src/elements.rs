//! Map elements that a run writes, compared with those of the kernel.

use std::collections::{BTreeSet, HashMap};

use slowpath_bpf::MapKind;
use slowpath_bpf::lift::{Bytes, MapLayout};
use slowpath_exec::concrete::Run;
use slowpath_kernel::Map;
use slowpath_kernel::witness::out_of_range;

use crate::outcome::bytes_match;
use crate::pair::{Pair, hex};

/// Types of maps whose elements can be read back and compared.
const READABLE: [MapKind; 7] = [
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::HASH,
    MapKind::LRU_HASH,
    MapKind::PERCPU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::LPM_TRIE,
];

/// Returns true if elements of maps of a type can be read back.
pub fn is_readable(kind: MapKind) -> bool {
    READABLE.contains(&kind)
}

/// An element that a run wrote, before and after the run.
#[derive(Clone, Debug)]
pub struct Touched {
    /// Index of its map in the layout.
    pub map: usize,
    /// Number of the element in the layout of the map.
    pub number: u64,
    pub key: Vec<u8>,
    /// Address that identifies the map inside a map of maps.
    pub which: Option<u64>,
    /// Value before the run.
    pub before: Option<Vec<u8>>,
    /// Value after the run, in the kernel.
    pub theirs: Option<Vec<u8>>,
    /// Value after the run, in the interpreter.
    pub ours: Option<Vec<u8>>,
}

impl Pair {
    /// Returns the elements that a run wrote, or that the same run with other open values wrote.
    pub fn touched(&self, run: &Run, other: Option<&Run>) -> Vec<Touched> {
        let mut all = Vec::new();
        for (index, layout) in self.lifted.layout.maps.iter().enumerate() {
            if !is_readable(layout.kind) {
                continue;
            }
            let mut found = self.written(layout, run);
            found.extend(other.into_iter().flat_map(|other| self.written(layout, other)));
            for (number, key, which) in found {
                let Some(map) = self.kernels(layout, which) else { continue };
                let value = |run| self.value(layout, map, run, (number, &key));
                let (before, ours) = (value(None), value(Some(run)));
                let theirs = self.theirs(map, &key);
                all.push(Touched { map: index, number, key, which, before, theirs, ours });
            }
        }
        all
    }

    /// Returns the elements of a map that a run wrote: number, key, and the address of an inner
    /// map.
    fn written(&self, layout: &MapLayout, run: &Run) -> BTreeSet<(u64, Vec<u8>, Option<u64>)> {
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
        if numbers.is_empty() {
            return BTreeSet::new();
        }
        if layout.identity.is_some() {
            let keys = self.tries.keys(layout, &numbers);
            return keys.into_iter().map(|(number, key)| (number, key, None)).collect();
        }
        let place = layout.present.unwrap_or(layout.values);
        let shift = if layout.present.is_some() { 0 } else { layout.element_bits };
        let bytes: Bytes = numbers.iter().map(|number| ((place, number << shift), 1)).collect();
        let elements = layout.elements(&bytes, &run.interned);
        elements.into_iter().filter_map(|e| Some((e.number, e.key?, e.map_address))).collect()
    }

    /// Returns the place of an element's value after a run, or before the next one.
    fn place(&self, layout: &MapLayout, run: Option<&Run>, number: u64) -> u64 {
        let (Some(moved), Some(run)) = (layout.moved, run) else { return number };
        let byte =
            |n| u64::from(run.written.get(&(moved, (number << 3) + n)).copied().unwrap_or(0));
        (0..8).fold(number, |place, n| place ^ byte(n) << (8 * n))
    }

    /// Returns the value of an element after a run, or before the next one, if it exists.
    fn value(
        &self,
        layout: &MapLayout,
        map: &Map,
        run: Option<&Run>,
        (number, key): (u64, &[u8]),
    ) -> Option<Vec<u8>> {
        if out_of_range(map, key) {
            return None;
        }
        let exists = layout.identity.is_some()
            || layout.present.is_none_or(|present| self.byte(run, (present, number)) != 0);
        let start = self.place(layout, run, number) << layout.element_bits;
        let byte = |n: u32| self.byte(run, (layout.values, start.wrapping_add(n.into())));
        exists.then(|| {
            let mut value: Vec<u8> = (0..layout.value_size).map(byte).collect();
            map.definition().clear_special(&mut value);
            value
        })
    }

    /// Describes the first difference between the elements that a run wrote and those of the
    /// kernel.
    pub fn differing_elements(&self, touched: &[Touched], other: Option<&Run>) -> Option<String> {
        for element in touched {
            let Touched { number, key, which, theirs, ours, .. } = element;
            let layout = &self.lifted.layout.maps[element.map];
            if theirs.is_none() && layout.kind.evicts() {
                // Any insertion may have evicted it.
                continue;
            }
            let or = other.and_then(|other| {
                let map = self.kernels(layout, *which)?;
                Some(self.value(layout, map, Some(other), (*number, key)))
            });
            let own = ours.clone().map(|own| self.with_their_addresses(theirs.as_deref(), own));
            if !matches(theirs.as_deref(), own.as_deref(), or.as_ref().map(Option::as_deref)) {
                return Some(element_fault(&layout.name, key, theirs, ours));
            }
        }
        None
    }

    /// Describes all differences between the maps of kernel and interpreter, one sentence each.
    /// Skips inner maps, and maps whose content is only partly known.
    pub fn differing_maps(&self) -> Vec<String> {
        let bytes: Bytes = self.environment.memory.iter().map(|(&k, &v)| (k, v)).collect();
        let mut differing = Vec::new();
        for layout in self.lifted.layout.maps.iter().filter(|layout| is_readable(layout.kind)) {
            let map = self.loaded.map(&layout.name);
            let Some(map) =
                map.filter(|_| layout.identity.is_none() && layout.prefix_lengths.is_none())
            else {
                continue;
            };
            let elements = layout.elements(&bytes, &self.environment.interned);
            let ours: HashMap<Vec<u8>, Vec<u8>> = elements
                .into_iter()
                .filter(|element| element.present == Some(true))
                .filter_map(|element| {
                    let mut value: Vec<u8> =
                        element.value.iter().map(|byte| byte.unwrap_or(0)).collect();
                    map.definition().clear_special(&mut value);
                    Some((element.key?, value))
                })
                .collect();
            let keys = map.keys().unwrap_or_default();
            for key in keys.iter().chain(ours.keys().filter(|key| !out_of_range(map, key))) {
                let theirs = self.theirs(map, key);
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

fn element_fault(
    map: &str,
    key: &[u8],
    theirs: &Option<Vec<u8>>,
    ours: &Option<Vec<u8>>,
) -> String {
    let shown = |value: &Option<Vec<u8>>| value.as_deref().map_or("nothing".to_owned(), hex);
    format!("{map} at {}: {} in the kernel, {} here", hex(key), shown(theirs), shown(ours))
}

/// Returns true if a value is the expected one; if two expectations differ, any value is accepted.
fn matches(theirs: Option<&[u8]>, ours: Option<&[u8]>, other: Option<Option<&[u8]>>) -> bool {
    let Some(other) = other else { return theirs == ours };
    match (theirs, ours, other) {
        (Some(theirs), Some(ours), Some(other)) => bytes_match(theirs, ours, other),
        (theirs, ours, other) => {
            ours.is_some() != other.is_some() || theirs.is_some() == ours.is_some()
        }
    }
}
