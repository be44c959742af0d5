//! Tests whether a changed packet takes the path of the witness, once the maps hold the elements
//! that it looks up.

use std::collections::{BTreeSet, HashMap};

use slowpath_bpf::{MapDef, MapKind};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Context, CountingProgram, Kernel, Tally};
use slowpath_replay::{Entry, Lookup, Replay};

use crate::case::Case;
use crate::error::MeasureError;

/// Types of maps whose elements can be created for a packet, because key and value describe them
/// fully. Replay has a similar list of types that can be read back; the two need not match.
const MADE: [MapKind; 7] = [
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::HASH,
    MapKind::LRU_HASH,
    MapKind::PERCPU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::LPM_TRIE,
];
/// Most interpretations of one packet, each after missing elements were created: one lookup may
/// decide whether there is another.
const ROUNDS: usize = 16;

/// Elements that each CPU keeps free in a map that evicts (`LOCAL_FREE_TARGET` of
/// `kernel/bpf/bpf_lru_list.c`). Replay uses the same kernel constant to tell when evictions may
/// begin; here it limits how many elements stay.
const KEPT_FREE: usize = 128;

/// An element that the witness's packet makes the program look up.
#[derive(Clone, Debug)]
pub struct Target {
    /// Map name and key.
    pub sought: Lookup,
    /// Value; `None` if the map has no such element.
    pub value: Option<Vec<u8>>,
    /// Definition of the map.
    pub map: MapDef,
    /// Number of elements in the map.
    pub present: usize,
    /// Number of targets in the same map, including this one.
    pub sharing: usize,
    /// True if the witness does not contain the element, so that it must be created.
    pub added: bool,
}

impl Target {
    /// Returns how many elements like this one the map can hold.
    pub fn room(&self, cpus: usize) -> usize {
        let most = self.map.max_entries as usize;
        if self.value.is_none() || is_array(self.map.kind) {
            usize::MAX
        } else if self.map.kind.evicts() {
            // Evictions begin before the map is full.
            (most / 2).saturating_sub(KEPT_FREE * cpus) / self.sharing
        } else {
            most.saturating_sub(self.present) / self.sharing
        }
    }
}

/// The path in kernel and interpreter, on maps that receive further elements.
#[derive(Debug)]
pub struct Probe {
    /// The witness's packet, or a variant in which fewer lookups share one element.
    pub packet: Vec<u8>,
    /// Offsets at which the packet differs from the witness's.
    pub moved: BTreeSet<usize>,
    /// Elements that the packet makes the program look up; the keys of changed packets have the
    /// same order.
    pub targets: Vec<Target>,
    /// True if the interpreter follows the path to its end, so that the path depends on nothing but
    /// packet and maps. If false, lookups after the point of divergence are unknown, and only the
    /// kernel's run decides.
    pub followed: bool,
    /// Number of CPUs for which the kernel keeps values.
    pub cpus: usize,
    context: Context,
    action: u32,
    replay: Replay,
    counted: CountingProgram,
    first: Tally,
    /// Created elements: map name and key, with their value.
    made: HashMap<(String, Vec<u8>), Vec<u8>>,
    _installed: Installed,
}

impl Probe {
    /// Prepares the path of a case, with maps filled from the witness.
    pub fn new(kernel: &Kernel, case: &Case) -> Result<Probe, MeasureError> {
        let mut replay = Replay::new(kernel, &case.object, case.program)?;
        replay.install(&case.witness)?;
        let search = replay.lookup(&case.packet, &case.context)?;
        let search =
            search.ok_or_else(|| MeasureError::not_cold("the interpreter gives up".to_owned()))?;
        let followed = search.instructions == case.instructions;
        let mut targets = Vec::new();
        for sought in search.elements {
            let Some(map) = replay.loaded().map(&sought.map) else {
                targets.push(Target {
                    sought,
                    value: None,
                    map: MapDef::new(""),
                    present: 0,
                    sharing: 1,
                    added: false,
                });
                continue;
            };
            let made = MADE.contains(&map.definition().kind);
            let values = if made { map.lookup_all(&sought.key)? } else { None };
            let value = values.and_then(|values| values.into_iter().next());
            let array = is_array(map.definition().kind);
            let present = if made && !array { map.keys()?.len() } else { 0 };
            let map = map.definition().clone();
            targets.push(Target { sought, value, map, present, sharing: 1, added: false });
        }
        let (counted, installed) = case.counted(kernel)?;
        let (_, first) = counted.run_repeated(&case.packet, &case.context, 1)?;
        Ok(Probe {
            packet: case.packet.clone(),
            moved: BTreeSet::new(),
            targets: shared(targets),
            followed,
            cpus: kernel.cpus(),
            context: case.context.clone(),
            action: case.action,
            replay,
            counted,
            first,
            made: HashMap::new(),
            _installed: installed,
        })
    }

    /// Returns the elements that a packet makes the program look up, with the maps in their present
    /// state.
    pub fn keys(&mut self, packet: &[u8]) -> Result<Vec<Lookup>, MeasureError> {
        let search = self.replay.lookup(packet, &self.context)?;
        Ok(search.map_or_else(Vec::new, |search| search.elements))
    }

    /// Creates the elements that a packet looks up, with the values that the witness's packet
    /// finds. Returns the keys, one for each target, if the packet takes the path.
    pub fn follow(&mut self, packet: &[u8]) -> Result<Option<Vec<Vec<u8>>>, MeasureError> {
        let mut found = None;
        for _ in 0..ROUNDS {
            let search = self.replay.lookup(packet, &self.context)?;
            let Some(search) = search else { return Ok(None) };
            match self.make(&search.elements) {
                Some(false) => {
                    found = Some(search);
                    break;
                }
                Some(true) => {}
                None => return Ok(None),
            }
        }
        let Some(search) = found else { return Ok(None) };
        if search.elements.len() != self.targets.len() || !self.takes_the_path(packet)? {
            return Ok(None);
        }
        Ok(Some(search.elements.into_iter().map(|sought| sought.key).collect()))
    }

    fn takes_the_path(&self, packet: &[u8]) -> Result<bool, MeasureError> {
        let (run, tally) = self.counted.run_repeated(packet, &self.context, 1)?;
        Ok(run.return_value == self.action && tally == self.first)
    }

    /// Takes `packet` as the new base packet if it takes the path and looks up more elements. Many
    /// fields of a witness are zero, so several lookups may share one element; in the new packet
    /// they differ. Returns true if the packet was taken.
    pub fn split_lookups(&mut self, packet: &[u8]) -> Result<bool, MeasureError> {
        for _ in 0..ROUNDS {
            let Some(search) = self.replay.lookup(packet, &self.context)? else { return Ok(false) };
            let Some(targets) = self.parted(search.elements) else { return Ok(false) };
            let mut news = false;
            for target in targets.iter().filter(|target| target.added) {
                let made = self.put(target.sought.clone(), target.value.clone());
                let Some(made) = made else { return Ok(false) };
                news |= made;
            }
            if news {
                continue;
            }
            if targets.len() <= self.targets.len() || !self.takes_the_path(packet)? {
                return Ok(false);
            }
            let differs = self.packet.iter().zip(packet).map(|(old, new)| old != new);
            self.moved.extend((0..).zip(differs).filter(|&(_, differs)| differs).map(|at| at.0));
            self.packet = packet.to_vec();
            self.targets = shared(targets);
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns targets for these elements: the known ones, and new ones modelled on those of the
    /// same map. `None` if the known targets of that map have different values.
    fn parted(&self, elements: Vec<Lookup>) -> Option<Vec<Target>> {
        let target = |sought: Lookup| {
            let mut like = self.targets.iter().filter(|target| target.sought.map == sought.map);
            if let Some(known) = like.clone().find(|target| target.sought == sought) {
                return Some(known.clone());
            }
            let first = like.next()?;
            let alike = like.all(|target| target.value == first.value);
            (alike && MADE.contains(&first.map.kind)).then(|| Target {
                sought,
                added: true,
                ..first.clone()
            })
        };
        elements.into_iter().map(target).collect()
    }

    /// Creates elements like those of the targets. Returns true if any was new, `None` if one
    /// cannot be created.
    fn make(&mut self, elements: &[Lookup]) -> Option<bool> {
        let mut news = false;
        let mut wanted = Vec::new();
        for (sought, target) in elements.iter().zip(&self.targets) {
            if sought.map != target.sought.map {
                return None;
            }
            if sought.key == target.sought.key {
                continue;
            }
            // The element is also another target's and must have that target's value.
            let others = self.targets.iter().filter(|other| other.sought == *sought);
            if others.clone().any(|other| other.value != target.value)
                || !MADE.contains(&target.map.kind)
            {
                return None;
            }
            wanted.push((sought.clone(), target.value.clone()));
        }
        for (sought, value) in wanted {
            news |= self.put(sought, value)?;
        }
        Some(news)
    }

    /// Creates an element unless it has no value or exists already. Returns true if it is new,
    /// `None` if it cannot be created.
    fn put(&mut self, sought: Lookup, value: Option<Vec<u8>>) -> Option<bool> {
        let Some(value) = value else { return Some(false) };
        let place = (sought.map.clone(), sought.key.clone());
        if self.made.insert(place, value.clone()).is_some_and(|made| made == value) {
            return Some(false);
        }
        let entry = Entry { key: sought.key, value };
        self.counted.loaded().map(&sought.map)?.update(&entry.key, &entry.value).ok()?;
        self.replay.put(&sought.map, &entry).ok()?;
        Some(true)
    }
}

/// Sets the number of targets in the same map for each target.
fn shared(mut targets: Vec<Target>) -> Vec<Target> {
    let maps: Vec<String> = targets.iter().map(|target| target.sought.map.clone()).collect();
    for target in &mut targets {
        target.sharing = maps.iter().filter(|map| **map == target.sought.map).count();
    }
    targets
}

/// Returns true if a map of this type has all of its elements from the start.
pub fn is_array(kind: MapKind) -> bool {
    matches!(kind, MapKind::ARRAY | MapKind::PERCPU_ARRAY)
}
