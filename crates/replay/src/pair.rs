//! A program in the kernel and in the concrete interpreter, with equal map content, and the initial
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
use crate::entry::write;
use crate::tries::Tries;

/// The path record of an instrumented program. The search for open values looks for the recorded
/// path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// Name of an array with one element: the bits of the path, followed by the results of calls.
    pub map: String,
    /// Number of bytes of the path.
    pub path_bytes: u64,
}

/// A program in kernel and interpreter.
#[derive(Debug)]
pub struct Pair {
    pub loaded: LoadedProgram,
    pub lifted: Arc<Lifted>,
    /// Initial state of the interpreter's next run.
    pub environment: Environment,
    /// Minimum and maximum of each open input.
    pub open_inputs: BTreeMap<InputId, (u64, u64)>,
    pub tries: Tries,
    /// Length in bytes of the packet in the interpreter's memory.
    pub length: usize,
    pub path_record: Option<PathRecord>,
    /// CPU that runs the program.
    pub cpu: usize,
    /// Number of possible CPUs.
    pub cpus: usize,
    /// Guards that keep the installed witnesses alive.
    pub installed: Vec<Installed>,
    /// Inner maps of witnesses: index of the witness, and name of the map in it. They are numbered
    /// after the maps of the object.
    pub inner: Vec<(usize, String)>,
    /// Number of maps of the object.
    pub object_maps: usize,
    /// True if the numbers of elements of maps must be read from the kernel before the next run.
    pub recount: bool,
    /// Inputs that are times, with the name of the helper that returns them.
    pub clocks: Vec<(InputId, String)>,
    /// Number of elements ever inserted into each evicting map, by the region of its values.
    pub inserted: HashMap<RegionId, u64>,
    /// Elements of evicting maps that are in the kernel's maps before the current run.
    pub confirmed: HashSet<(RegionId, u64)>,
}

impl Pair {
    /// Combines a loaded and a lifted program, with the initial content of their maps.
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
                let bytes = (inner as u32).to_le_bytes();
                write(&mut environment, identity, u64::from(slot) << 2, &bytes);
            }
            let initial = def.and_then(|def| def.initial.as_deref()).unwrap_or_default();
            write(&mut environment, map.values, 0, initial);
        }
        let rooms: Vec<FreeElements> =
            lifted.layout.maps.iter().filter_map(|map| map.free_elements).collect();
        for room in &rooms {
            environment.inputs.insert(room.free, room.max_entries.into());
        }
        let cpu = cpu::current();
        let (mut open_inputs, mut clocks) = (BTreeMap::new(), Vec::new());
        for (index, input) in lifted.program.inputs.iter().enumerate() {
            let id = InputId::from(index);
            if input.name == "bpf_get_smp_processor_id" {
                environment.inputs.insert(id, cpu as u64);
                continue;
            }
            // The context determines the receiving device and queue; other unknown inputs are open.
            if input.kind == InputKind::Unknown
                && !input.name.ends_with("_index")
                && !input.name.ends_with("_ifindex")
                && !rooms.iter().any(|room| room.free == id)
            {
                open_inputs.insert(id, (input.min, input.max));
                if now(&input.name).is_some() {
                    clocks.push((id, input.name.clone()));
                }
            }
        }
        Pair {
            loaded,
            lifted,
            environment,
            open_inputs,
            tries: Tries::default(),
            length: 0,
            path_record: None,
            cpu,
            cpus,
            installed: Vec::new(),
            inner: Vec::new(),
            object_maps: object.maps.len(),
            recount: true,
            clocks,
            inserted: HashMap::new(),
            confirmed: HashSet::new(),
        }
    }

    /// Returns the interpreter's address of the start of a region.
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

    /// Returns a byte of the interpreter's memory after a run; for `None`, at the start of the next
    /// run.
    pub fn byte(&self, run: Option<&Run>, place: (RegionId, u64)) -> u8 {
        let written = run.and_then(|run| run.written.get(&place));
        let known = written.or_else(|| self.environment.memory.get(&place));
        known.copied().unwrap_or(self.environment.fill)
    }

    /// Returns the map of maps that contains the inner maps with this layout; `None` if the layout
    /// is not that of inner maps.
    pub fn outer(&self, layout: &MapLayout) -> Option<&MapLayout> {
        let outer = layout.name.strip_suffix(".inner").filter(|_| layout.inner)?;
        self.lifted.layout.maps.iter().find(|map| map.name == outer)
    }

    /// Returns a map in the kernel; with a `map_address`, the inner map that it stands for.
    pub fn kernel_map(&self, layout: &MapLayout, map_address: Option<u64>) -> Option<&Map> {
        let Some(map_address) = map_address else { return self.loaded.map(&layout.name) };
        self.map_by_number(self.inner_map_number(layout, map_address)?)
    }

    /// Returns the number of the inner map that an address stands for.
    pub fn inner_map_number(&self, layout: &MapLayout, map_address: u64) -> Option<usize> {
        let outer = self.outer(layout)?;
        let distance = map_address.checked_sub(self.base(outer.values)?)?;
        usize::try_from(distance >> outer.element_bits).ok()
    }

    /// Returns the number of maps of the object and inner maps of witnesses.
    pub fn map_count(&self) -> usize {
        self.object_maps + self.inner.len()
    }

    /// Returns the map with a number: a map of the object, or an inner map of a witness.
    pub fn map_by_number(&self, number: usize) -> Option<&Map> {
        let Some(index) = number.checked_sub(self.object_maps) else {
            return self.loaded.map_by_number(number);
        };
        let (witness, name) = self.inner.get(index)?;
        self.installed.get(*witness)?.inner(name)
    }

    /// Returns the kernel's value of a key; in a per-CPU map, the value of the CPU that runs the
    /// program.
    pub fn kernel_value(&self, map: &Map, key: &[u8]) -> Option<Vec<u8>> {
        let mut values = map.lookup_all(key).ok().flatten()?;
        let at = if values.len() > 1 { self.cpu } else { 0 };
        (at < values.len()).then(|| values.swap_remove(at))
    }

    /// Reads the path record from the kernel: the bits of the path and the results of calls. Empty
    /// for programs without a record.
    pub fn recorded(&self) -> Vec<u8> {
        let map = self.path_record.as_ref().and_then(|record| self.loaded.map(&record.map));
        map.and_then(|map| map.lookup(&[0; 4]).ok().flatten()).unwrap_or_default()
    }

    /// Returns the number of bytes of the path in the path record; 0 without a record.
    pub fn path_bytes(&self) -> u64 {
        self.path_record.as_ref().map_or(0, |path_record| path_record.path_bytes)
    }
}

/// Returns true for queues and stacks, whose elements have an order instead of keys.
pub fn is_queue(map: &MapLayout) -> bool {
    entry_keys(map.kind) == EntryKeys::Order
}

/// Number of sets of values for [`unusual_value`].
pub const VALUE_SETS: usize = 4;

/// Returns an unusual value between `min` and `max`. Its bytes differ from those of small numbers
/// and from those of the other sets.
pub fn unusual_value(set: usize, min: u64, max: u64) -> u64 {
    const BYTES: [u64; VALUE_SETS] = [
        0x3b5d_9f27_c3a1_e695,
        0x2c71_e8b4_59d6_3a4f,
        0x1d86_63f9_0e4b_a7c2,
        0x35aa_4c92_f718_5de1,
    ];
    (BYTES[set % VALUE_SETS] & max).clamp(min, max)
}

/// Formats bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
