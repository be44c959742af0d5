//! A program twice: in the kernel, and lifted in the concrete interpreter, on the same maps; and what
//! the interpreter's next run starts from.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use slowpath_bpf::lift::{EntryKeys, Lifted, MapLayout, MapRoom, entry_keys};
use slowpath_bpf::{Object, SlotRef};
use slowpath_exec::concrete::{Environment, Run};
use slowpath_ir::{InputId, InputKind, RegionId};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Loaded, Map};

use crate::clock::now;
use crate::cpu;
use crate::tries::Tries;

/// Where a program says which way it went, for programs that do: then the interpreter has to find
/// that way, whatever it takes for open values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    /// An array whose only element has these bits at its start, and behind them what calls
    /// returned.
    pub map: String,
    /// How many bytes tell ways apart.
    pub path_bytes: u64,
}

/// The two.
#[derive(Debug)]
pub struct Pair {
    pub loaded: Loaded,
    pub lifted: Arc<Lifted>,
    /// What the interpreter's next run starts from.
    pub environment: Environment,
    /// The open inputs, with the least and the greatest that they can be.
    pub others: BTreeMap<InputId, (u64, u64)>,
    pub tries: Tries,
    /// Length of the packet in memory.
    pub length: usize,
    pub telling: Option<Telling>,
    /// Where the program runs.
    pub cpu: usize,
    /// How many CPUs the kernel keeps elements for.
    pub cpus: usize,
    /// What witnesses need to stay as they are.
    pub installed: Vec<Installed>,
    /// Maps of theirs that maps of maps hold: of which witness, and what it calls them. They are
    /// numbered behind those of the object.
    pub inner: Vec<(usize, String)>,
    /// How many maps the object has.
    pub maps: usize,
    /// Whether the kernel has to be asked how full maps are.
    pub recount: bool,
    /// Inputs that are times, with the helper that tells them.
    pub clocks: Vec<(InputId, String)>,
    /// How many elements were ever put into maps that evict, by the region of their values.
    pub inserted: HashMap<RegionId, u64>,
    /// Elements of maps that evict of which the kernel has just said that they exist.
    pub certain: HashSet<(RegionId, u64)>,
}

impl Pair {
    /// A loaded program and a lifted one, with all maps as the kernel makes them.
    pub fn new(loaded: Loaded, object: &Object, lifted: Arc<Lifted>, cpus: usize) -> Pair {
        let mut environment = Environment::with_fill(&lifted.program, 0);
        environment.unnumbered = Some(0);
        for map in &lifted.layout.maps {
            let def = object.maps.iter().find(|def| def.name == map.name);
            for &(slot, target) in def.iter().flat_map(|def| &def.slots) {
                let (SlotRef::Map(inner), Some(present), Some(identity)) =
                    (target, map.present, map.identity)
                else {
                    continue;
                };
                environment.memory.insert((present, slot.into()), 1);
                for (n, byte) in (0..).zip((inner as u32).to_le_bytes()) {
                    environment.memory.insert((identity, (u64::from(slot) << 2) + n), byte);
                }
            }
            let initial = def.and_then(|def| def.initial.as_deref()).unwrap_or_default();
            for (offset, &byte) in (0..).zip(initial) {
                environment.memory.insert((map.values, offset), byte);
            }
        }
        let rooms: Vec<MapRoom> = lifted.layout.maps.iter().filter_map(|map| map.room).collect();
        for room in &rooms {
            environment.inputs.insert(room.free, room.max_entries.into());
        }
        let cpu = cpu::current();
        let (mut others, mut clocks) = (BTreeMap::new(), Vec::new());
        for (index, input) in lifted.program.inputs.iter().enumerate() {
            let id = InputId::from(index);
            if input.name == "bpf_get_smp_processor_id" {
                environment.inputs.insert(id, cpu as u64);
                continue;
            }
            // The device is given, everything else that is open differs.
            if input.kind == InputKind::Unknown
                && !input.name.ends_with("_index")
                && !input.name.ends_with("_ifindex")
                && !rooms.iter().any(|room| room.free == id)
            {
                others.insert(id, (input.min, input.max));
                if now(&input.name).is_some() {
                    clocks.push((id, input.name.clone()));
                }
            }
        }
        Pair {
            loaded,
            lifted,
            environment,
            others,
            tries: Tries::default(),
            length: 0,
            telling: None,
            cpu,
            cpus,
            installed: Vec::new(),
            inner: Vec::new(),
            maps: object.maps.len(),
            recount: true,
            clocks,
            inserted: HashMap::new(),
            certain: HashSet::new(),
        }
    }

    /// The address that stands for the start of a region.
    pub fn base(&self, region: RegionId) -> Option<u64> {
        let kind = InputKind::BaseAddress(region);
        let input = self.lifted.program.inputs.iter().position(|input| input.kind == kind)?;
        self.environment.inputs.get(&InputId::from(input)).copied()
    }

    /// The input with a name.
    pub fn input(&self, name: &str) -> Option<InputId> {
        let mut inputs = self.lifted.program.inputs.iter();
        inputs.position(|input| input.name == name).map(InputId::from)
    }

    /// A byte after a run, or before the next.
    pub fn byte(&self, run: Option<&Run>, place: (RegionId, u64)) -> u8 {
        let written = run.and_then(|run| run.written.get(&place));
        let known = written.or_else(|| self.environment.memory.get(&place));
        known.copied().unwrap_or(self.environment.fill)
    }

    /// The map of maps that holds the maps with this layout.
    pub fn outer(&self, layout: &MapLayout) -> Option<&MapLayout> {
        let outer = layout.name.strip_suffix(".inner").filter(|_| layout.inner)?;
        self.lifted.layout.maps.iter().find(|map| map.name == outer)
    }

    /// The kernel's map, of those out of a map of maps the one at an address.
    pub fn kernels(&self, layout: &MapLayout, which: Option<u64>) -> Option<&Map> {
        let Some(which) = which else { return self.loaded.map(&layout.name) };
        self.numbered(self.number_at(layout, which)?)
    }

    /// The number of the map in a map of maps that an address stands for.
    pub fn number_at(&self, layout: &MapLayout, which: u64) -> Option<usize> {
        let outer = self.outer(layout)?;
        let distance = which.checked_sub(self.base(outer.values)?)?;
        usize::try_from(distance >> outer.element_bits).ok()
    }

    /// How many numbers maps have.
    pub fn numbers(&self) -> usize {
        self.maps + self.inner.len()
    }

    /// The map with a number: one of the object, or one that a witness puts into a map of maps.
    pub fn numbered(&self, number: usize) -> Option<&Map> {
        let Some(further) = number.checked_sub(self.maps) else {
            return self.loaded.map_at(number);
        };
        let (witness, name) = self.inner.get(further)?;
        self.installed.get(*witness)?.inner(name)
    }

    /// The value of a key in the kernel, of several CPUs that of the one that runs the program.
    pub fn theirs(&self, map: &Map, key: &[u8]) -> Option<Vec<u8>> {
        let mut values = map.lookup_all(key).ok().flatten()?;
        let at = if values.len() > 1 { self.cpu } else { 0 };
        (at < values.len()).then(|| values.swap_remove(at))
    }

    /// What the program kept of its way and of what calls returned, in the kernel.
    pub fn told(&self) -> Vec<u8> {
        let map = self.telling.as_ref().and_then(|telling| self.loaded.map(&telling.map));
        map.and_then(|map| map.lookup(&[0; 4]).ok().flatten()).unwrap_or_default()
    }

    /// How many bytes tell the kernel's way.
    pub fn path_bytes(&self) -> u64 {
        self.telling.as_ref().map_or(0, |telling| telling.path_bytes)
    }
}

/// Whether elements come out in an order, and not by keys.
pub fn is_queue(map: &MapLayout) -> bool {
    entry_keys(map.kind) == EntryKeys::Order
}

/// How many other values there are for what is open.
pub const OTHERS: usize = 4;

/// A value in a range that has no byte in common with a small one, and one with another number.
pub fn other(which: usize, min: u64, max: u64) -> u64 {
    const BYTES: [u64; OTHERS] = [
        0x3b5d_9f27_c3a1_e695,
        0x2c71_e8b4_59d6_3a4f,
        0x1d86_63f9_0e4b_a7c2,
        0x35aa_4c92_f718_5de1,
    ];
    (BYTES[which % OTHERS] & max).clamp(min, max)
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
