//! A program in the kernel and in the concrete interpreter, on the same maps, with the initial
//! state of the interpreter's next run.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use slowpath_bpf::lift::{EntryKeys, FreeElements, Lifted, MapLayout, entry_keys};
use slowpath_bpf::{Object, SlotRef};
use slowpath_exec::concrete::{Environment, Run};
use slowpath_ir::{InputId, InputKind, RegionId};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{LoadedProgram, Map};

use crate::clock::now;
use crate::cpu;
use crate::tries::Tries;

/// The path record of an instrumented program. The interpreter must find the recorded path,
/// whatever open values it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// Name of an array whose only element starts with the bits of the path, followed by the
    /// results of calls.
    pub map: String,
    /// Number of bytes of the path.
    pub path_bytes: u64,
}

/// The program in kernel and interpreter.
#[derive(Debug)]
pub struct Pair {
    pub loaded: LoadedProgram,
    pub lifted: Arc<Lifted>,
    /// Initial state of the interpreter's next run.
    pub environment: Environment,
    /// Ranges of the open inputs.
    pub others: BTreeMap<InputId, (u64, u64)>,
    pub tries: Tries,
    /// Length of the packet in memory.
    pub length: usize,
    pub path_record: Option<PathRecord>,
    /// CPU that runs the program.
    pub cpu: usize,
    /// Number of CPUs for which the kernel keeps elements.
    pub cpus: usize,
    /// Guards that keep the installed witnesses alive.
    pub installed: Vec<Installed>,
    /// Inner maps of witnesses: index of the witness, and name of the map in it. Their numbers
    /// follow those of the object's maps.
    pub inner: Vec<(usize, String)>,
    /// Number of maps of the object.
    pub maps: usize,
    /// True if the fill levels of maps must be read from the kernel again.
    pub recount: bool,
    /// Inputs that are times, with the helper that returns them.
    pub clocks: Vec<(InputId, String)>,
    /// Number of elements ever inserted into each evicting map, by the region of its values.
    pub inserted: HashMap<RegionId, u64>,
    /// Elements of evicting maps that the kernel just confirmed to exist.
    pub certain: HashSet<(RegionId, u64)>,
}

impl Pair {
    /// Combines a loaded and a lifted program, with all maps as the kernel creates them.
    pub fn new(loaded: LoadedProgram, object: &Object, lifted: Arc<Lifted>, cpus: usize) -> Pair {
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
        let rooms: Vec<FreeElements> =
            lifted.layout.maps.iter().filter_map(|map| map.free_elements).collect();
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
            // The receiving device is given; all other unknown inputs are open.
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
            path_record: None,
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

    /// Returns the address that stands for the start of a region.
    pub fn base(&self, region: RegionId) -> Option<u64> {
        let kind = InputKind::BaseAddress(region);
        let input = self.lifted.program.inputs.iter().position(|input| input.kind == kind)?;
        self.environment.inputs.get(&InputId::from(input)).copied()
    }

    /// Returns the input with a name.
    pub fn input(&self, name: &str) -> Option<InputId> {
        let mut inputs = self.lifted.program.inputs.iter();
        inputs.position(|input| input.name == name).map(InputId::from)
    }

    /// Returns a byte of memory after a run, or before the next one.
    pub fn byte(&self, run: Option<&Run>, place: (RegionId, u64)) -> u8 {
        let written = run.and_then(|run| run.written.get(&place));
        let known = written.or_else(|| self.environment.memory.get(&place));
        known.copied().unwrap_or(self.environment.fill)
    }

    /// Returns the map of maps that holds the maps with this layout.
    pub fn outer(&self, layout: &MapLayout) -> Option<&MapLayout> {
        let outer = layout.name.strip_suffix(".inner").filter(|_| layout.inner)?;
        self.lifted.layout.maps.iter().find(|map| map.name == outer)
    }

    /// Returns the map in the kernel; for an inner map, the one at the address `which`.
    pub fn kernels(&self, layout: &MapLayout, which: Option<u64>) -> Option<&Map> {
        let Some(which) = which else { return self.loaded.map(&layout.name) };
        self.numbered(self.number_at(layout, which)?)
    }

    /// Returns the number of the inner map that an address stands for.
    pub fn number_at(&self, layout: &MapLayout, which: u64) -> Option<usize> {
        let outer = self.outer(layout)?;
        let distance = which.checked_sub(self.base(outer.values)?)?;
        usize::try_from(distance >> outer.element_bits).ok()
    }

    /// Returns the number of numbered maps.
    pub fn numbers(&self) -> usize {
        self.maps + self.inner.len()
    }

    /// Returns the map with a number: one of the object, or an inner map of a witness.
    pub fn numbered(&self, number: usize) -> Option<&Map> {
        let Some(further) = number.checked_sub(self.maps) else {
            return self.loaded.map_by_number(number);
        };
        let (witness, name) = self.inner.get(further)?;
        self.installed.get(*witness)?.inner(name)
    }

    /// Returns the value of a key in the kernel. In a per-CPU map, it is that of the CPU that runs
    /// the program.
    pub fn theirs(&self, map: &Map, key: &[u8]) -> Option<Vec<u8>> {
        let mut values = map.lookup_all(key).ok().flatten()?;
        let at = if values.len() > 1 { self.cpu } else { 0 };
        (at < values.len()).then(|| values.swap_remove(at))
    }

    /// Returns the record of the path and the results of calls, from the kernel.
    pub fn told(&self) -> Vec<u8> {
        let map =
            self.path_record.as_ref().and_then(|path_record| self.loaded.map(&path_record.map));
        map.and_then(|map| map.lookup(&[0; 4]).ok().flatten()).unwrap_or_default()
    }

    /// Returns the length of the path record in bytes.
    pub fn path_bytes(&self) -> u64 {
        self.path_record.as_ref().map_or(0, |path_record| path_record.path_bytes)
    }
}

/// Returns true if elements of a map have an order instead of keys.
pub fn is_queue(map: &MapLayout) -> bool {
    entry_keys(map.kind) == EntryKeys::Order
}

/// Number of sets of other open values.
pub const OTHERS: usize = 4;

/// Returns an unusual value in a range: no byte equals one of a small number or of another set.
pub fn other(which: usize, min: u64, max: u64) -> u64 {
    const BYTES: [u64; OTHERS] = [
        0x3b5d_9f27_c3a1_e695,
        0x2c71_e8b4_59d6_3a4f,
        0x1d86_63f9_0e4b_a7c2,
        0x35aa_4c92_f718_5de1,
    ];
    (BYTES[which % OTHERS] & max).clamp(min, max)
}

/// Formats bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
