//! Compares the map elements that a run of the interpreter writes with the elements in the kernel.

use std::collections::{BTreeSet, HashMap};

use slowpath_bpf::MapKind;
use slowpath_bpf::lift::{Bytes, MapLayout};
use slowpath_exec::concrete::Run;
use slowpath_ir::InputKind;
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

/// Lowest address of kernel memory, on x86-64 and on arm64 with at most 48 address bits.
const KERNEL: u64 = 0xffff_0000_0000_0000;
/// Size in bytes of the address range that counts as part of a memory region, from the region's
/// start.
const REACH: u64 = 1 << 24;

pub fn is_readable(kind: MapKind) -> bool {
    READABLE.contains(&kind)
}

/// A map element that a run wrote, with its values before and after the run.
#[derive(Clone, Debug)]
pub struct Touched {
    /// Index of the map that contains the element, among the maps of the lifted program.
    pub map: usize,
    /// Number of the element, which is its position in the interpreter's memory.
    pub number: u64,
    pub key: Vec<u8>,
    /// Address that the interpreter uses for the map if it is an inner map of a map of maps; `None`
    /// for other maps.
    pub map_address: Option<u64>,
    /// Value before the run; `None` if the element did not exist.
    pub before: Option<Vec<u8>>,
    /// Value in the kernel after the run; `None` if the element does not exist.
    pub kernel: Option<Vec<u8>>,
    /// Value in the interpreter after the run; `None` if the element does not exist.
    pub interpreter: Option<Vec<u8>>,
}

impl Pair {
    /// Returns the elements that a run wrote. `other` is a repetition of the run with other clocks
    /// and random numbers; the elements that it wrote are included.
    pub fn touched(&self, run: &Run, other: Option<&Run>) -> Vec<Touched> {
        let mut all = Vec::new();
        for (index, layout) in self.lifted.layout.maps.iter().enumerate() {
            if !is_readable(layout.kind) {
                continue;
            }
            let mut found = self.written(layout, run);
            found.extend(other.into_iter().flat_map(|other| self.written(layout, other)));
            for (number, key, map_address) in found {
                let Some(map) = self.kernel_map(layout, map_address) else { continue };
                let value = |run| self.value(layout, map, run, (number, &key));
                let (before, interpreter) = (value(None), value(Some(run)));
                let kernel = self.kernel_value(map, &key);
                all.push(Touched {
                    map: index,
                    number,
                    key,
                    map_address,
                    before,
                    kernel,
                    interpreter,
                });
            }
        }
        all
    }

    /// Returns the elements of a map that a run wrote. Each tuple contains the number and the key
    /// of an element. For an inner map of a map of maps, it also contains the address that the
    /// interpreter uses for the map.
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

    /// Returns the position of an element's value in the interpreter's memory after `run`. If `run`
    /// is `None`, returns the position before the next run.
    fn place(&self, layout: &MapLayout, run: Option<&Run>, number: u64) -> u64 {
        let (Some(moved), Some(run)) = (layout.moved, run) else { return number };
        let byte =
            |n| u64::from(run.written.get(&(moved, (number << 3) + n)).copied().unwrap_or(0));
        (0..8).fold(number, |place, n| place ^ byte(n) << (8 * n))
    }

    /// Returns the interpreter's value of an element after `run`. If `run` is `None`, returns the
    /// value before the next run. Returns `None` if the element does not exist.
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

    /// Describes the first of the elements in `touched` whose value differs between interpreter and
    /// kernel. Returns `None` if all values agree. Where the repeated run `other` has other bytes,
    /// any byte is accepted.
    pub fn differing_elements(&self, touched: &[Touched], other: Option<&Run>) -> Option<String> {
        for element in touched {
            let Touched { number, key, map_address, kernel, interpreter, .. } = element;
            let layout = &self.lifted.layout.maps[element.map];
            if kernel.is_none() && layout.kind.evicts() {
                // Any insertion may have evicted it.
                continue;
            }
            let alternative = other.and_then(|other| {
                let map = self.kernel_map(layout, *map_address)?;
                Some(self.value(layout, map, Some(other), (*number, key)))
            });
            let own =
                interpreter.clone().map(|own| self.with_kernel_addresses(kernel.as_deref(), own));
            if !matches(
                kernel.as_deref(),
                own.as_deref(),
                alternative.as_ref().map(Option::as_deref),
            ) {
                return Some(element_fault(&layout.name, key, kernel, interpreter));
            }
        }
        None
    }

    /// Replaces each address in the interpreter's value by the kernel's address at the same offset
    /// of the value. Does not check that both addresses refer to the same object.
    fn with_kernel_addresses(&self, kernel: Option<&[u8]>, mut interpreter: Vec<u8>) -> Vec<u8> {
        let Some(kernel) = kernel.filter(|kernel| kernel.len() == interpreter.len()) else {
            return interpreter;
        };
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        for (to, from) in interpreter.chunks_exact_mut(8).zip(kernel.chunks_exact(8)) {
            if word(from) >= KERNEL && self.is_address(word(to)) {
                to.copy_from_slice(from);
            }
        }
        interpreter
    }

    fn is_address(&self, number: u64) -> bool {
        let regions = self.lifted.program.inputs.iter().filter_map(|input| match input.kind {
            InputKind::BaseAddress(region) => Some(region),
            _ => None,
        });
        let mut bases = regions.filter_map(|region| self.base(region));
        bases.any(|base| number.wrapping_sub(base) < REACH)
    }

    /// Describes all differences between the maps of kernel and interpreter, in one sentence each.
    /// Skips inner maps and tries, because the interpreter knows only some of their elements.
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
            let interpreter: HashMap<Vec<u8>, Vec<u8>> = elements
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
            for key in keys.iter().chain(interpreter.keys().filter(|key| !out_of_range(map, key))) {
                let kernel = self.kernel_value(map, key);
                let zeros =
                    || layout.present.is_none().then(|| vec![0; layout.value_size as usize]);
                let expected = interpreter.get(key).cloned().or_else(zeros);
                if kernel != expected {
                    differing.push(element_fault(&layout.name, key, &kernel, &expected));
                }
            }
        }
        differing
    }
}

fn element_fault(
    map: &str,
    key: &[u8],
    kernel: &Option<Vec<u8>>,
    interpreter: &Option<Vec<u8>>,
) -> String {
    let shown = |value: &Option<Vec<u8>>| value.as_deref().map_or("nothing".to_owned(), hex);
    format!("{map} at {}: {} in the kernel, {} here", hex(key), shown(kernel), shown(interpreter))
}

/// Returns true if the kernel's value agrees with the interpreter's. Bytes in which `interpreter`
/// and `other` differ may have any value in the kernel.
fn matches(
    kernel: Option<&[u8]>,
    interpreter: Option<&[u8]>,
    other: Option<Option<&[u8]>>,
) -> bool {
    let Some(other) = other else { return kernel == interpreter };
    match (kernel, interpreter, other) {
        (Some(kernel), Some(interpreter), Some(other)) => bytes_match(kernel, interpreter, other),
        (kernel, interpreter, other) => {
            interpreter.is_some() != other.is_some() || kernel.is_some() == interpreter.is_some()
        }
    }
}
