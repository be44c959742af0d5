//! Whether a changed packet takes the path of the witness, once maps have what it looks for.

use std::collections::{BTreeSet, HashMap};

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
    /// How many look-ups there are in the map, this one included.
    pub sharing: usize,
    /// Whether the witness does not say that it is there: it has to be made.
    pub added: bool,
}

impl Target {
    /// How many elements like it there can be.
    pub fn room(&self, cpus: usize) -> usize {
        let most = self.map.max_entries as usize;
        if self.value.is_none() || is_array(self.map.kind) {
            usize::MAX
        } else if self.map.kind.evicts() {
            // Some are gone before it is full.
            (most / 2).saturating_sub(KEPT_FREE * cpus) / self.sharing
        } else {
            most.saturating_sub(self.present) / self.sharing
        }
    }
}

/// The path in kernel and interpreter, on maps that get further elements.
#[derive(Debug)]
pub struct Probe {
    /// The witness's packet, or one like it in which fewer look-ups are for one element.
    pub packet: Vec<u8>,
    /// Where it is not the witness's.
    pub moved: BTreeSet<usize>,
    /// What the packet makes the program look for; the keys of changed packets stand at the same
    /// places.
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
    /// Elements that were made, and their values: of which map, and their keys.
    made: HashMap<(String, Vec<u8>), Vec<u8>>,
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
        if search.elements.len() != self.targets.len() || !self.takes_the_path(packet)? {
            return Ok(None);
        }
        Ok(Some(search.elements.into_iter().map(|sought| sought.key).collect()))
    }

    fn takes_the_path(&self, packet: &[u8]) -> Result<bool, MeasureError> {
        let (run, tally) = self.counted.run_repeated(packet, &self.context, 1)?;
        Ok(run.return_value == self.action && tally == self.first)
    }

    /// Starts from a packet instead, if it takes the path and makes the program look for more
    /// elements: of look-ups for one element (many fields of a witness are zero), each has its own
    /// from there on. Whether that is so.
    pub fn part(&mut self, packet: &[u8]) -> Result<bool, MeasureError> {
        for _ in 0..ROUNDS {
            let Some(search) = self.replay.sought(packet, &self.context)? else { return Ok(false) };
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

    /// Targets for these elements: known ones, and others like those of the same map, if all of
    /// these are alike.
    fn parted(&self, elements: Vec<Sought>) -> Option<Vec<Target>> {
        let target = |sought: Sought| {
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

    /// Makes elements like those of the targets; whether there were any to be made, `None` if one
    /// cannot be.
    fn make(&mut self, elements: &[Sought]) -> Option<bool> {
        let mut news = false;
        let mut wanted = Vec::new();
        for (sought, target) in elements.iter().zip(&self.targets) {
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
            wanted.push((sought.clone(), target.value.clone()));
        }
        for (sought, value) in wanted {
            news |= self.put(sought, value)?;
        }
        Some(news)
    }

    /// Makes an element, if there is to be one and it was not made before; whether it was made now,
    /// `None` if it cannot be.
    fn put(&mut self, sought: Sought, value: Option<Vec<u8>>) -> Option<bool> {
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

/// Targets that know how many there are in their map.
fn shared(mut targets: Vec<Target>) -> Vec<Target> {
    let maps: Vec<String> = targets.iter().map(|target| target.sought.map.clone()).collect();
    for target in &mut targets {
        target.sharing = maps.iter().filter(|map| **map == target.sought.map).count();
    }
    targets
}

/// Whether a map has all of its elements from the start.
pub fn is_array(kind: MapKind) -> bool {
    matches!(kind, MapKind::ARRAY | MapKind::PERCPU_ARRAY)
}
