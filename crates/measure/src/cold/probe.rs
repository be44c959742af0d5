//! Tests if changed packets take the same path as the witness packet. Before each test, the map
//! elements that the changed packet looks up are created.

use std::collections::{BTreeSet, HashMap};

use slowpath_bpf::{MapDef, MapKind};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Context, CountingProgram, Kernel, Tally};
use slowpath_replay::{Entry, Lookup, Lookups, Replay};

use crate::case::Case;
use crate::error::MeasureError;

/// Types of maps whose elements can be created from a key and a value alone. (The replay crate has
/// a list of types whose elements can be read back; the two lists may differ.)
const CREATABLE: [MapKind; 7] = [
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::HASH,
    MapKind::LRU_HASH,
    MapKind::PERCPU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::LPM_TRIE,
];
/// Maximum number of times that one packet is interpreted. Each time, the missing map elements that
/// it looks up are created, which may lead to further lookups.
const MAX_INTERPRETATIONS: usize = 16;

/// Number of elements that the kernel keeps free for each CPU in a map that evicts elements
/// (`LOCAL_FREE_TARGET` of `kernel/bpf/bpf_lru_list.c`).
const KEPT_FREE: usize = 128;

/// A map element that the program looks up for the witness packet.
#[derive(Clone, Debug)]
pub struct Target {
    /// Name of the map, and the key of the element.
    pub lookup: Lookup,
    /// Value of the element; `None` if the map does not contain it.
    pub value: Option<Vec<u8>>,
    /// Definition of the map.
    pub map: MapDef,
    /// Number of elements that the map contains. It is 0 for arrays.
    pub present: usize,
    /// Number of map elements in the same map that the program looks up for the witness packet,
    /// including this one.
    pub targets_in_map: usize,
    /// True if the witness does not contain the element, so that it must be created.
    pub added: bool,
}

impl Target {
    /// Returns the maximum number of flows for which the map can hold different elements for this
    /// lookup. Lookups in the same map share its free room. `usize::MAX` stands for no limit.
    pub fn room(&self, cpus: usize) -> usize {
        let most = self.map.max_entries as usize;
        if self.value.is_none() || is_array(self.map.kind) {
            usize::MAX
        } else if self.map.kind.evicts() {
            // Evictions begin before the map is full.
            (most / 2).saturating_sub(KEPT_FREE * cpus) / self.targets_in_map
        } else {
            most.saturating_sub(self.present) / self.targets_in_map
        }
    }
}

/// A program in kernel and interpreter, in which changed packets can be run. Elements can be added
/// to the maps of both.
#[derive(Debug)]
pub struct Probe {
    /// The witness packet, possibly changed so that the program looks up more different elements.
    pub packet: Vec<u8>,
    /// Byte offsets at which `packet` differs from the witness packet.
    pub moved: BTreeSet<usize>,
    /// Map elements that the program looks up for `packet`, in the order of the lookups.
    pub targets: Vec<Target>,
    /// True if the interpreter follows the path to its end, because the path depends only on packet
    /// and maps. If false, the interpreter knows only the lookups before the point where it leaves
    /// the kernel's path. Then only the kernel's run shows if a packet takes the path.
    pub followed: bool,
    /// Number of possible CPUs of this machine.
    pub cpus: usize,
    context: Context,
    action: u32,
    replay: Replay,
    counted: CountingProgram,
    first: Tally,
    /// Values of the elements that were created, by map name and key.
    created: HashMap<(String, Vec<u8>), Vec<u8>>,
    _installed: Installed,
}

impl Probe {
    /// Loads a case's program in kernel and interpreter, with maps that are filled from the
    /// witness.
    pub fn new(kernel: &Kernel, case: &Case) -> Result<Probe, MeasureError> {
        let mut replay = Replay::new(kernel, &case.object, case.program)?;
        replay.install(&case.witness)?;
        let lookups = replay.lookup(&case.packet, &case.context)?;
        let lookups = lookups.ok_or_else(|| MeasureError::not_cold("the interpreter stops"))?;
        let followed = lookups.instructions == case.instructions;
        let mut targets = Vec::new();
        for lookup in lookups.elements {
            let (mut value, mut present, mut definition) = (None, 0, MapDef::new(""));
            if let Some(map) = replay.loaded().map(&lookup.map) {
                definition = map.definition().clone();
                if CREATABLE.contains(&definition.kind) {
                    let values = map.lookup_all(&lookup.key)?;
                    value = values.and_then(|values| values.into_iter().next());
                    present = if is_array(definition.kind) { 0 } else { map.keys()?.len() };
                }
            }
            let map = definition;
            targets.push(Target { lookup, value, map, present, targets_in_map: 1, added: false });
        }
        let (counted, installed) = case.counted(kernel)?;
        let (_, first) = counted.run_repeated(&case.packet, &case.context, 1)?;
        Ok(Probe {
            packet: case.packet.clone(),
            moved: BTreeSet::new(),
            targets: count_by_map(targets),
            followed,
            cpus: kernel.cpus(),
            context: case.context.clone(),
            action: case.action,
            replay,
            counted,
            first,
            created: HashMap::new(),
            _installed: installed,
        })
    }

    /// Returns the elements that the program looks up for a packet, with the current content of the
    /// maps.
    pub fn keys(&mut self, packet: &[u8]) -> Result<Vec<Lookup>, MeasureError> {
        let lookups = self.replay.lookup(packet, &self.context)?;
        Ok(lookups.map_or_else(Vec::new, |lookups| lookups.elements))
    }

    /// Tests if a changed packet takes the path. First creates the map elements that the packet
    /// looks up. Each gets the value of the element that `self.packet` finds in the corresponding
    /// lookup. Returns the looked-up keys, or `None` if the packet does not take the path.
    pub fn follow(&mut self, packet: &[u8]) -> Result<Option<Vec<Vec<u8>>>, MeasureError> {
        for _ in 0..MAX_INTERPRETATIONS {
            let lookups = self.replay.lookup(packet, &self.context)?;
            let Some(Lookups { elements, .. }) = lookups else { return Ok(None) };
            let Some(created) = self.create(&elements) else { return Ok(None) };
            if created {
                continue;
            }
            let follows = elements.len() == self.targets.len() && self.takes_the_path(packet)?;
            let keys = elements.into_iter().map(|lookup| lookup.key);
            return Ok(follows.then(|| keys.collect()));
        }
        Ok(None)
    }

    fn takes_the_path(&self, packet: &[u8]) -> Result<bool, MeasureError> {
        let (run, tally) = self.counted.run_repeated(packet, &self.context, 1)?;
        Ok(run.return_value == self.action && tally == self.first)
    }

    /// Replaces `self.packet` by `packet`, if `packet` takes the path and looks up more different
    /// map elements. Returns true if it did. Many fields of a witness are zero, so several of its
    /// lookups may find the same element.
    pub fn split_lookups(&mut self, packet: &[u8]) -> Result<bool, MeasureError> {
        for _ in 0..MAX_INTERPRETATIONS {
            let lookups = self.replay.lookup(packet, &self.context)?;
            let Some(lookups) = lookups else { return Ok(false) };
            let Some(targets) = self.targets_for(lookups.elements) else { return Ok(false) };
            let mut any_created = false;
            for target in targets.iter().filter(|target| target.added) {
                let created = self.put(target.lookup.clone(), target.value.clone());
                let Some(created) = created else { return Ok(false) };
                any_created |= created;
            }
            if any_created {
                continue;
            }
            if targets.len() <= self.targets.len() || !self.takes_the_path(packet)? {
                return Ok(false);
            }
            let differs = self.packet.iter().zip(packet).map(|(old, new)| old != new);
            self.moved.extend((0..).zip(differs).filter(|&(_, differs)| differs).map(|at| at.0));
            self.packet = packet.to_vec();
            self.targets = count_by_map(targets);
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns a [`Target`] for each element in `elements`. New elements get the value that all
    /// targets in the same map have. Returns `None` if these values differ.
    fn targets_for(&self, elements: Vec<Lookup>) -> Option<Vec<Target>> {
        let target = |lookup: Lookup| {
            let mut in_map = self.targets.iter().filter(|target| target.lookup.map == lookup.map);
            if let Some(known) = in_map.clone().find(|target| target.lookup == lookup) {
                return Some(known.clone());
            }
            let first = in_map.next()?;
            let alike = in_map.all(|target| target.value == first.value);
            let creatable = alike && CREATABLE.contains(&first.map.kind);
            creatable.then(|| Target { lookup, added: true, ..first.clone() })
        };
        elements.into_iter().map(target).collect()
    }

    /// Creates the elements that a changed packet looks up. Each gets the value of the target in
    /// the corresponding lookup of the original packet. Returns true if at least one element is
    /// new, and `None` if one cannot be created.
    fn create(&mut self, elements: &[Lookup]) -> Option<bool> {
        let mut values = Vec::new();
        for (lookup, target) in elements.iter().zip(&self.targets) {
            if lookup.map != target.lookup.map {
                return None;
            }
            if lookup.key == target.lookup.key {
                continue;
            }
            // If the element is another target's, it must keep that target's value.
            let mut others = self.targets.iter().filter(|other| other.lookup == *lookup);
            if others.any(|other| other.value != target.value)
                || !CREATABLE.contains(&target.map.kind)
            {
                return None;
            }
            values.push((lookup.clone(), target.value.clone()));
        }
        let mut any_created = false;
        for (lookup, value) in values {
            any_created |= self.put(lookup, value)?;
        }
        Some(any_created)
    }

    /// Creates an element in the maps of kernel and interpreter. Does nothing if `value` is `None`
    /// or the element was created before. Returns true if the element is new, and `None` if it
    /// cannot be created.
    fn put(&mut self, lookup: Lookup, value: Option<Vec<u8>>) -> Option<bool> {
        let Some(value) = value else { return Some(false) };
        let element = (lookup.map.clone(), lookup.key.clone());
        if self.created.insert(element, value.clone()).is_some_and(|created| created == value) {
            return Some(false);
        }
        let entry = Entry { key: lookup.key, value };
        self.counted.loaded().map(&lookup.map)?.update(&entry.key, &entry.value).ok()?;
        self.replay.put(&lookup.map, &entry).ok()?;
        Some(true)
    }
}

/// Sets `targets_in_map` of each target to the number of targets in the same map.
fn count_by_map(mut targets: Vec<Target>) -> Vec<Target> {
    let maps: Vec<String> = targets.iter().map(|target| target.lookup.map.clone()).collect();
    for target in &mut targets {
        target.targets_in_map = maps.iter().filter(|map| **map == target.lookup.map).count();
    }
    targets
}

/// Returns true for arrays, all of whose elements exist from the start.
pub fn is_array(kind: MapKind) -> bool {
    matches!(kind, MapKind::ARRAY | MapKind::PERCPU_ARRAY)
}
