//! Holds a program in the kernel and in the concrete interpreter, with equal map content. Also
//! holds the state from which the interpreter starts its next run.

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

/// The map in which an instrumented program records its path. If values such as times affect the
/// path, the record shows which path the kernel took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// Name of an array map with one element. The element contains the path as bits, followed by
    /// the results of calls.
    pub map: String,
    /// Number of bytes that the path takes at the start of the record.
    pub path_bytes: u64,
}

/// A program in the kernel, the same program in the interpreter, and the state that both share.
#[derive(Debug)]
pub struct Pair {
    pub loaded: LoadedProgram,
    pub lifted: Arc<Lifted>,
    /// State from which the interpreter starts its next run: its memory and its inputs.
    pub environment: Environment,
    /// Smallest and largest possible value of each input that the interpreter does not know, such
    /// as a time.
    pub open_inputs: BTreeMap<InputId, (u64, u64)>,
    pub tries: Tries,
    /// Length in bytes of the packet in the interpreter's memory.
    pub length: usize,
    pub path_record: Option<PathRecord>,
    /// Number of the CPU on which the kernel runs the program.
    pub cpu: usize,
    /// Number of possible CPUs of the system.
    pub cpus: usize,
    /// Guards that keep the content of installed witnesses in the kernel.
    pub installed: Vec<Installed>,
    /// Inner maps of maps of maps in installed witnesses (descriptions of runs to be reproduced).
    /// Each pair contains the index of the witness and the name of the map in it. They are numbered
    /// after the maps of the object.
    pub inner: Vec<(usize, String)>,
    pub object_maps: usize,
    /// True if the next run must first read from the kernel how many elements each map contains.
    pub recount: bool,
    /// Inputs that contain a time, each with the name of the helper that returns it.
    pub clocks: Vec<(InputId, String)>,
    /// Number of elements that were ever inserted into each map that evicts elements. The key is
    /// the memory region that contains the map's values.
    pub inserted: HashMap<RegionId, u64>,
    /// Elements of maps with eviction that are known to exist in the kernel before the current run.
    /// Each pair contains the memory region of the map's values and the element's position.
    pub confirmed: HashSet<(RegionId, u64)>,
}

impl Pair {
    /// Combines a program in the kernel with the same program for the interpreter. Both start with
    /// the initial content of their maps.
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
        let row = lifted.layout.program_type;
        let fields: Vec<&str> = match row.length() {
            Some(_) => row.fields.iter().map(|field| field.name).collect(),
            None => Vec::new(),
        };
        let (mut open_inputs, mut clocks) = (BTreeMap::new(), Vec::new());
        for (index, input) in lifted.program.inputs.iter().enumerate() {
            let id = InputId::from(index);
            if input.name == "bpf_get_smp_processor_id" {
                environment.inputs.insert(id, cpu as u64);
                continue;
            }
            // The context determines the receiving device and queue; other unknown inputs are open.
            if input.kind == InputKind::Unknown
                && !fields.contains(&input.name.as_str())
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

    /// Returns the address that the interpreter uses for the start of a memory region.
    pub fn base(&self, region: RegionId) -> Option<u64> {
        let kind = InputKind::BaseAddress(region);
        let input = self.lifted.program.inputs.iter().position(|input| input.kind == kind)?;
        self.environment.inputs.get(&InputId::from(input)).copied()
    }

    pub fn input(&self, name: &str) -> Option<InputId> {
        let mut inputs = self.lifted.program.inputs.iter();
        inputs.position(|input| input.name == name).map(InputId::from)
    }

    /// Returns a byte of the interpreter's memory at the end of `run`. If `run` is `None`, returns
    /// the byte at the start of the next run.
    pub fn byte(&self, run: Option<&Run>, place: (RegionId, u64)) -> u8 {
        let written = run.and_then(|run| run.written.get(&place));
        let known = written.or_else(|| self.environment.memory.get(&place));
        known.copied().unwrap_or(self.environment.fill)
    }

    /// Returns the map of maps to which the inner maps with the layout `layout` belong. Returns
    /// `None` if `layout` describes another map.
    pub fn outer(&self, layout: &MapLayout) -> Option<&MapLayout> {
        let outer = layout.name.strip_suffix(".inner").filter(|_| layout.inner)?;
        self.lifted.layout.maps.iter().find(|map| map.name == outer)
    }

    /// Returns the kernel's map for a layout of the interpreter's memory. With a `map_address`,
    /// returns the inner map (in a map of maps) for which the interpreter uses this address.
    pub fn kernel_map(&self, layout: &MapLayout, map_address: Option<u64>) -> Option<&Map> {
        let Some(map_address) = map_address else { return self.loaded.map(&layout.name) };
        self.map_by_number(self.inner_map_number(layout, map_address)?)
    }

    /// Returns the number of an inner map of a map of maps. `map_address` is the address that the
    /// interpreter uses for the inner map.
    pub fn inner_map_number(&self, layout: &MapLayout, map_address: u64) -> Option<usize> {
        let outer = self.outer(layout)?;
        let distance = map_address.checked_sub(self.base(outer.values)?)?;
        usize::try_from(distance >> outer.element_bits).ok()
    }

    /// Returns the total number of the object's maps and of inner maps of witnesses.
    pub fn map_count(&self) -> usize {
        self.object_maps + self.inner.len()
    }

    /// Returns the map with the number `number`: a map of the object, or after those an inner map
    /// of a witness.
    pub fn map_by_number(&self, number: usize) -> Option<&Map> {
        let Some(index) = number.checked_sub(self.object_maps) else {
            return self.loaded.map_by_number(number);
        };
        let (witness, name) = self.inner.get(index)?;
        self.installed.get(*witness)?.inner(name)
    }

    /// Returns the value that a map in the kernel has for a key. For a per-CPU map, returns the
    /// value on the CPU that runs the program.
    pub fn kernel_value(&self, map: &Map, key: &[u8]) -> Option<Vec<u8>> {
        let mut values = map.lookup_all(key).ok().flatten()?;
        let at = if values.len() > 1 { self.cpu } else { 0 };
        (at < values.len()).then(|| values.swap_remove(at))
    }

    /// Reads the path record from the kernel: the bits of the path, followed by the results of
    /// calls. Returns no bytes for programs that do not record their path.
    pub fn recorded(&self) -> Vec<u8> {
        let map = self.path_record.as_ref().and_then(|record| self.loaded.map(&record.map));
        map.and_then(|map| map.lookup(&[0; 4]).ok().flatten()).unwrap_or_default()
    }

    /// Returns the number of bytes that the path takes in the path record. Returns 0 for programs
    /// that do not record their path.
    pub fn path_bytes(&self) -> u64 {
        self.path_record.as_ref().map_or(0, |path_record| path_record.path_bytes)
    }
}

/// Returns true for queues and stacks, whose elements have an order instead of keys.
pub fn is_queue(map: &MapLayout) -> bool {
    entry_keys(map.kind) == EntryKeys::Order
}

/// Number of different sets of values that [`unusual_value`] can return.
pub const VALUE_SETS: usize = 4;

/// Returns a value between `min` and `max` that is unlikely to occur by chance: its bytes differ
/// from those of small numbers. Each number of `set` gives another value.
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
