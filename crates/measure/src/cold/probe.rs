//! Whether a changed packet takes the path of the witness, once maps have what it looks for.

use std::collections::HashSet;

use slowpath_bpf::{MapDef, MapKind};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Context, Counted, Kernel, Tally};
use slowpath_replay::{Entry, Replay, Sought};

use crate::case::Case;
use crate::error::MeasureError;

/// Types of maps whose elements can be made for a packet: a value says all about them. That the same
/// can be read back, which a replay needs, is a coincidence: what is compared need not be made.
const MADE: [MapKind; 7] = [
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::HASH,
    MapKind::LRU_HASH,
    MapKind::PERCPU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::LPM_TRIE,
];
/// How often a packet is interpreted anew, because an element was missing: one look-up may decide
/// whether there is a further one.
const ROUNDS: usize = 16;

/// Elements that each CPU keeps free in a map that evicts (`LOCAL_FREE_TARGET` of
/// `kernel/bpf/bpf_lru_list.c`). A replay asks when evictions may begin; here it is asked how many
/// elements stay, with the same number of the kernel's.
const KEPT_FREE: usize = 128;

/// An element that the witness's packet makes the program look for.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its map and its key.
    pub sought: Sought,
    /// Its value; `None` if there is no such element.
    pub value: Option<Vec<u8>>,
    /// The map.
    pub map: MapDef,
    /// How many elements it has.
    pub present: usize,
}

impl Target {
    /// How many elements like it there can be.
    pub fn room(&self, cpus: usize) -> usize {
        let most = self.map.max_entries as usize;
        if self.value.is_none() || is_array(self.map.kind) {
            usize::MAX
        } else if self.map.kind.evicts() {
            // Some are gone before it is full.
            (most / 2).saturating_sub(KEPT_FREE * cpus)
        } else {
            most.saturating_sub(self.present)
        }
    }
}

/// The path in kernel and interpreter, on maps that get further elements.
#[derive(Debug)]
pub struct Probe {
    pub packet: Vec<u8>,
    /// What the witness's packet makes the program look for; the keys of changed packets stand at
    /// the same places.
    pub targets: Vec<Target>,
    /// Whether the interpreter takes the path by itself: there is nothing else that it depends on.
    /// If not, what is looked for after it has left the path is not known; the kernel's path decides.
    pub followed: bool,
    /// How many CPUs the kernel keeps values for.
    pub cpus: usize,
    context: Context,
    action: u32,
    replay: Replay,
    counted: Counted,
    first: Tally,
    made: HashSet<(usize, Vec<u8>)>,
    _installed: Installed,
}

impl Probe {
    /// The path of a case, its maps as the witness says.
    pub fn new(kernel: &Kernel, case: &Case) -> Result<Probe, MeasureError> {
        let mut replay = Replay::new(kernel, &case.object, case.program)?;
        replay.install(&case.witness)?;
        let search = replay.sought(&case.packet, &case.context)?;
        let search =
            search.ok_or_else(|| MeasureError::not_cold("the interpreter gives up".to_owned()))?;
        let followed = search.instructions == case.instructions;
        let mut targets = Vec::new();
        for sought in search.elements {
            let Some(map) = replay.loaded().map(&sought.map) else {
                targets.push(Target { sought, value: None, map: MapDef::new(""), present: 0 });
                continue;
            };
            let made = MADE.contains(&map.definition().kind);
            let values = if made { map.lookup_all(&sought.key)? } else { None };
            let value = values.and_then(|values| values.into_iter().next());
            let array = is_array(map.definition().kind);
            let present = if made && !array { map.keys()?.len() } else { 0 };
            targets.push(Target { sought, value, map: map.definition().clone(), present });
        }
        let (counted, installed) = case.counted(kernel)?;
        let (_, first) = counted.run_repeated(&case.packet, &case.context, 1)?;
        Ok(Probe {
            packet: case.packet.clone(),
            targets,
            followed,
            cpus: kernel.cpus(),
            context: case.context.clone(),
            action: case.action,
            replay,
            counted,
            first,
            made: HashSet::new(),
            _installed: installed,
        })
    }

    /// What a packet makes the program look for, as maps are.
    pub fn keys(&mut self, packet: &[u8]) -> Result<Vec<Sought>, MeasureError> {
        let search = self.replay.sought(packet, &self.context)?;
        Ok(search.map_or_else(Vec::new, |search| search.elements))
    }

    /// The keys that a packet makes the program look for, one for each target, if it takes the path;
    /// it finds there what the witness's packet finds.
    pub fn follow(&mut self, packet: &[u8]) -> Result<Option<Vec<Vec<u8>>>, MeasureError> {
        let mut found = None;
        for _ in 0..ROUNDS {
            let search = self.replay.sought(packet, &self.context)?;
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
        if search.elements.len() != self.targets.len() {
            return Ok(None);
        }
        let (run, tally) = self.counted.run_repeated(packet, &self.context, 1)?;
        if run.return_value != self.action || tally != self.first {
            return Ok(None);
        }
        Ok(Some(search.elements.into_iter().map(|sought| sought.key).collect()))
    }

    /// Makes elements like those of the targets; whether there were any to be made, `None` if one
    /// cannot be.
    fn make(&mut self, elements: &[Sought]) -> Option<bool> {
        let mut news = false;
        for (number, (sought, target)) in elements.iter().zip(&self.targets).enumerate() {
            if sought.map != target.sought.map {
                return None;
            }
            if sought.key == target.sought.key {
                continue;
            }
            // Another target's: it is to have that one's value.
            let others = self.targets.iter().filter(|other| other.sought == *sought);
            if others.clone().any(|other| other.value != target.value)
                || !MADE.contains(&target.map.kind)
            {
                return None;
            }
            let Some(value) = &target.value else { continue };
            if self.made.insert((number, sought.key.clone())) {
                let entry = Entry { key: sought.key.clone(), value: value.clone() };
                let map = self.counted.loaded().map(&sought.map)?;
                map.update(&entry.key, &entry.value).ok()?;
                self.replay.put(&sought.map, &entry).ok()?;
                news = true;
            }
        }
        Some(news)
    }
}

/// Whether a map has all of its elements from the start.
pub fn is_array(kind: MapKind) -> bool {
    matches!(kind, MapKind::ARRAY | MapKind::PERCPU_ARRAY)
}
