//! A program twice: in the kernel, and lifted in the concrete interpreter, on the same maps.
//!
//! A packet goes through both. What the interpreter lets open (is there room in a map, what time is
//! it) the kernel decides: the two agree if some choice among what is open does what the kernel did.
//! Bytes that depend on an open value of many bits (clock, random number) may be anything.

mod after;
mod before;
mod choices;
mod elements;
mod outcome;

use std::collections::HashMap;

use outcome::Outcome;
use slowpath_bpf::lift::{
    Bytes, EntryKeys, LiftOptions, Lifted, MapLayout, MapRoom, entry_keys, lift,
};
use slowpath_bpf::{Object, SlotRef};
use slowpath_exec::concrete::{self, Environment, Run};
use slowpath_ir::{InputId, InputKind, RegionId};
use slowpath_kernel::{Kernel, Loaded};

use super::contents::{Entry, Tries, install_at};

/// More blocks than any example executes.
const MAX_BLOCKS: usize = 1_000_000;
/// Open values with more possibilities than this make bytes open.
const FEW: u64 = 4096;

/// The two.
pub struct Twin {
    pub loaded: Loaded,
    pub lifted: Lifted,
    /// What the interpreter's next run starts from.
    pub environment: Environment,
    /// Other values of the open inputs.
    others: HashMap<InputId, u64>,
    /// Inputs that are times.
    clocks: Vec<InputId>,
    tries: Tries,
    length: usize,
    /// What was put into maps, by the map's name.
    pub installed: Vec<(String, Entry)>,
    /// So many bytes at the start of the map `out` tell paths apart: the interpreter has to find the
    /// kernel's path, whatever it takes for open values.
    pub path_bytes: u64,
    /// Whether the last comparison found no choice that does what the kernel did, but has not tried
    /// all.
    pub undecided: bool,
}

impl Twin {
    /// Loads and lifts the program with this number. All maps are as the kernel makes them.
    pub fn new(kernel: &Kernel, object: &Object, number: usize) -> Result<Twin, String> {
        Twin::of(kernel, object, number, Twin::lifted(kernel, object, number)?)
    }

    /// Lifts the program with this number.
    pub fn lifted(kernel: &Kernel, object: &Object, number: usize) -> Result<Lifted, String> {
        let linked = object.link(number, kernel.types()).map_err(|e| e.to_string())?;
        let mut options = LiftOptions {
            min_packet: 14,
            max_packet: 3500,
            kernel_types: kernel.shared_types(),
            ..LiftOptions::default()
        };
        let lifted = lift(object, &linked, &options).map_err(|e| e.to_string())?;
        if !lifted.layout.maps.iter().any(is_queue) {
            return Ok(lifted);
        }
        // What is left in a queue, registers say at the end.
        options.keeps_dead_operations = true;
        lift(object, &linked, &options).map_err(|e| e.to_string())
    }

    /// Loads the program and starts with all maps as the kernel makes them.
    pub fn of(
        kernel: &Kernel,
        object: &Object,
        number: usize,
        lifted: Lifted,
    ) -> Result<Twin, String> {
        let loaded = kernel.load(object, number).map_err(|e| e.to_string())?;
        let mut environment = Environment::with_fill(&lifted.program, 0);
        for map in &lifted.layout.maps {
            let def = object.maps.iter().find(|def| def.name == map.name);
            let initial = def.and_then(|def| def.initial.as_deref()).unwrap_or_default();
            for (offset, &byte) in initial.iter().enumerate() {
                environment.memory.insert((map.values, offset as u64), byte);
            }
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
        }
        let rooms: Vec<MapRoom> = lifted.layout.maps.iter().filter_map(|map| map.room).collect();
        for room in &rooms {
            environment.inputs.insert(room.free, room.max_entries.into());
        }
        let (mut others, mut clocks) = (HashMap::new(), Vec::new());
        for (index, input) in lifted.program.inputs.iter().enumerate() {
            // The device is given, everything else that is open differs.
            if input.kind == InputKind::Unknown
                && !input.name.ends_with("_index")
                && !input.name.ends_with("_ifindex")
                && !rooms.iter().any(|room| room.free == InputId::from(index))
            {
                if input.name.contains("ktime") {
                    clocks.push(InputId::from(index));
                }
                others.insert(InputId::from(index), other(input.min, input.max));
            }
        }
        let tries = Tries::default();
        Ok(Twin {
            loaded,
            lifted,
            environment,
            others,
            clocks,
            tries,
            length: 0,
            installed: Vec::new(),
            path_bytes: 0,
            undecided: false,
        })
    }

    /// Puts an element into a map, in both.
    pub fn install(&mut self, layout: &MapLayout, entry: &Entry) -> Result<(), String> {
        let Some(map) = self.loaded.map(&layout.name) else { return Ok(()) };
        map.update(&entry.key, &entry.value).map_err(|e| e.to_string())?;
        self.installed.push((layout.name.clone(), entry.clone()));
        self.tries.install(layout, entry, &mut self.environment);
        Ok(())
    }

    /// Puts an element into a map that a map of maps holds, in both; `name` is its own.
    pub fn install_inner(
        &mut self,
        layout: &MapLayout,
        name: &str,
        entry: &Entry,
    ) -> Result<(), String> {
        let numbered = (0..).map_while(|number| Some((number, self.loaded.map_at(number)?)));
        let Some((which, map)) =
            numbered.into_iter().find(|(_, map)| map.definition().name == name)
        else {
            return Ok(());
        };
        map.update(&entry.key, &entry.value).map_err(|e| e.to_string())?;
        self.installed.push((name.to_owned(), entry.clone()));
        let mut maps = self.lifted.layout.maps.iter();
        let outer = maps.find(|outer| format!("{}.inner", outer.name) == layout.name);
        let place = outer.and_then(|outer| {
            Some(self.base(outer.values)? + ((which as u64) << outer.element_bits))
        });
        if let Some(place) = place {
            install_at(layout, Some(place), entry, &mut self.environment);
        }
        Ok(())
    }

    /// The address that stands for the start of a region.
    fn base(&self, region: RegionId) -> Option<u64> {
        let kind = InputKind::BaseAddress(region);
        let input = self.lifted.program.inputs.iter().position(|input| input.kind == kind)?;
        self.environment.inputs.get(&InputId::from(input)).copied()
    }

    /// Keys that a packet makes the program look for in a map, as far as numbers stand for them.
    pub fn keys(&mut self, layout: &MapLayout, packet: &[u8]) -> Vec<Vec<u8>> {
        self.set_packet(packet);
        let Ok((_, run)) = self.interpret(&[], false) else { return Vec::new() };
        let Some(present) = layout.present else { return Vec::new() };
        let numbers = run.interned.values().map(|&number| ((present, u64::from(number)), 1));
        let bytes: Bytes = numbers.collect();
        let elements = layout.elements(&bytes, &run.interned);
        elements.into_iter().filter_map(|element| element.key).collect()
    }

    fn set_packet(&mut self, packet: &[u8]) {
        let region = self.lifted.layout.packet;
        for (offset, &byte) in packet.iter().enumerate() {
            self.environment.memory.insert((region, offset as u64), byte);
        }
        for offset in packet.len()..self.length {
            self.environment.memory.remove(&(region, offset as u64));
        }
        self.length = packet.len();
        if let Some(input) = self.lifted.program.packet_length {
            self.environment.inputs.insert(input, packet.len() as u64);
        }
    }

    /// Interprets the program with these open values, and the least of those behind them; or with
    /// others for those that have many possibilities.
    fn interpret(&mut self, choice: &[u64], others: bool) -> Result<(Outcome, Run), String> {
        self.environment.unknowns = choice.to_vec();
        let first: HashMap<InputId, u64> = self.environment.inputs.clone();
        if others {
            self.environment.inputs.extend(&self.others);
        }
        let result = loop {
            let run = concrete::run(&self.lifted.program, &self.environment, MAX_BLOCKS);
            let run = match run {
                Ok(run) => run,
                Err(fault) => break Err(fault.to_string()),
            };
            // The same numbers in every later run.
            self.environment.interned.extend(&run.interned);
            // A trie's answer to a new key has to be known before the run.
            if !self.tries.answer(&self.lifted.layout.maps, &run, &mut self.environment) {
                break Ok((self.outcome(&run), run));
            }
        };
        self.environment.inputs = first;
        result
    }

    /// A byte after a run.
    fn byte(&self, run: &Run, place: (RegionId, u64)) -> u8 {
        let known = run.written.get(&place).or_else(|| self.environment.memory.get(&place));
        known.copied().unwrap_or(self.environment.fill)
    }

    /// Puts an element into a queue or stack, in both.
    pub fn enqueue(&mut self, layout: &MapLayout, value: &[u8]) -> Result<(), String> {
        let Some(map) = self.loaded.map(&layout.name) else { return Ok(()) };
        map.update(&[], value).map_err(|e| e.to_string())?;
        let Some(room) = layout.room else { return Ok(()) };
        let free = self.environment.inputs.get(&room.free).copied().unwrap_or_default();
        let start = (u64::from(room.max_entries) - free) << layout.element_bits;
        for (offset, &byte) in (0u64..).zip(value) {
            self.environment.memory.insert((layout.values, start + offset), byte);
        }
        self.environment.inputs.insert(room.free, free - 1);
        Ok(())
    }
}

/// Whether elements make room for others.
fn evicts(map: &MapLayout) -> bool {
    map.kind.evicts()
}

fn is_queue(map: &MapLayout) -> bool {
    entry_keys(map.kind) == EntryKeys::Order
}

/// A value in a range that has no byte in common with a small one.
fn other(min: u64, max: u64) -> u64 {
    (0x3b5d_9f27_c3a1_e695 & max).clamp(min, max)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
