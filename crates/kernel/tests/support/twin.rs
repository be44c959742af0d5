//! A program twice: in the kernel, and lifted in the concrete interpreter, on the same maps.
//!
//! A packet goes through both. What the interpreter lets open (is there room in a map, what time is
//! it) the kernel decides: the two agree if some choice among what is open does what the kernel did.
//! Bytes that depend on an open value of many bits (clock, random number) may be anything.

use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use slowpath_bpf::lift::{Bytes, Layout, LiftOptions, Lifted, MapLayout, MapRoom, lift};
use slowpath_bpf::{MapKind, Object, SlotRef};
use slowpath_exec::concrete::{self, Environment, Run};
use slowpath_ir::{InputId, InputKind, Op, RegionId, RegionKind};
use slowpath_kernel::witness::out_of_range;
use slowpath_kernel::{Kernel, Loaded, Map};

use super::contents::{Entry, Tries, install_at, intern};

/// More blocks than any example executes.
const MAX_BLOCKS: usize = 1_000_000;
/// Choices among open values that are tried for one packet.
const MAX_CHOICES: usize = 3000;
/// The same where the program says which path it takes.
const MAX_CHOICES_FOR_PATH: usize = 100_000;
/// Greatest number of a place that an element of a map gets; elements have small numbers at the start.
const PLACES: u64 = (1 << 33) - 1;
/// Open values with more possibilities than this make bytes open.
const FEW: u64 = 4096;

/// Open values with no more possibilities than this beside the least stand for a choice: all are
/// tried.
const NAMED: u64 = 16;

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
}

/// What a run did to a packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub action: u32,
    pub packet: Vec<u8>,
    pub metadata: Vec<u8>,
}

/// An element of a map: its number in the layout, its key, and in which of several maps.
type Touched = (u64, Vec<u8>, Option<u64>);

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
            kernel: kernel.shared_types(),
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

    fn outcome(&self, run: &Run) -> Outcome {
        let layout = &self.lifted.layout;
        let byte = |region: RegionId, offset: u64| self.byte(run, (region, offset));
        let word = |region: RegionId, offset: u64| {
            u32::from_le_bytes([0, 1, 2, 3].map(|n| byte(region, offset + n)))
        };
        let field = |offset: u64| u64::from(word(layout.context, offset));
        let base = run.regs[self.lifted.program.regions[layout.packet.index()].base.index()];
        let (data, end, meta) = (field(0), field(4), field(8));
        let between = |from: u64, to: u64| {
            (from..to).map(|address| byte(layout.packet, address.wrapping_sub(base))).collect()
        };
        Outcome {
            action: word(layout.result, 0),
            packet: between(data, end),
            metadata: between(meta, data),
        }
    }

    /// A byte after a run.
    fn byte(&self, run: &Run, place: (RegionId, u64)) -> u8 {
        let known = run.written.get(&place).or_else(|| self.environment.memory.get(&place));
        known.copied().unwrap_or(self.environment.fill)
    }

    /// The least and greatest of the open values that a run met, in order.
    fn drawn(&self, run: &Run) -> Vec<(u64, u64)> {
        if run.unknowns == 0 {
            return Vec::new();
        }
        let blocks = run.path.iter().map(|taken| self.lifted.program.block(taken.block));
        let ops = self.lifted.program.prologue.iter().chain(blocks.flat_map(|block| &block.ops));
        let range = |op: Op| match op {
            Op::Unknown { min, max, .. } => Some((min, max)),
            _ => None,
        };
        ops.filter_map(|origin| range(origin.op)).collect()
    }

    /// Which of them are keys of elements that the kernel goes through.
    fn drawn_keys(&self, run: &Run) -> Vec<bool> {
        let program = &self.lifted.program;
        let blocks = run.path.iter().map(|taken| program.block(taken.block));
        let ops = program.prologue.iter().chain(blocks.flat_map(|block| &block.ops));
        let key = |op: Op| match op {
            Op::Unknown { draw, .. } => {
                Some(program.draws[draw.index()].result == "the element's key")
            }
            _ => None,
        };
        ops.filter_map(|origin| key(origin.op)).collect()
    }

    /// The keys in the kernel's maps that are numbers.
    fn numbers(&self) -> Vec<u64> {
        let maps = self.lifted.layout.maps.iter().filter_map(|map| self.loaded.map(&map.name));
        let tables = maps.filter(|map| map.definition().kind == MapKind::HASH);
        let keys = tables.flat_map(|map| map.keys().unwrap_or_default());
        let number =
            |key: Vec<u8>| key.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        keys.filter(|key| key.len() <= 8).map(number).collect()
    }

    /// Runs a packet through both.
    ///
    /// # Errors
    /// How they differ, for the choice of open values that comes first.
    pub fn compare(&mut self, packet: &[u8]) -> Result<Run, String> {
        self.set_packet(packet);
        for (layout, room) in counted(&self.lifted.layout) {
            let Some(map) = self.loaded.map(&layout.name) else { continue };
            let there = map.keys().map_err(|e| e.to_string())?.len() as u64;
            let free = u64::from(room.max_entries) - there;
            self.environment.inputs.insert(room.free, free);
        }
        self.fill_inner_maps();
        self.forget_evicted();
        for clock in &self.clocks {
            self.environment.inputs.insert(*clock, soon());
        }
        let theirs = self.loaded.run(packet, 1).map_err(|e| e.to_string())?;
        let theirs = Outcome {
            action: theirs.return_value,
            packet: theirs.packet,
            metadata: theirs.metadata,
        };
        let (mut first, mut seen) = (None, HashSet::new());
        // The most promising choice comes first; among those the last or, with a path, the first.
        let mut pending = BinaryHeap::from([(0, 0, Vec::new(), None)]);
        let most = if self.path_bytes > 0 { MAX_CHOICES_FOR_PATH } else { MAX_CHOICES };
        for _ in 0..most {
            let Some((_, _, choice, changed)) = pending.pop() else { break };
            let (ours, run) = self.interpret(&choice, false)?;
            let drawn = self.drawn(&run);
            let mut chosen: Vec<u64> = drawn.iter().map(|&(min, _)| min).collect();
            let fits = |(&(min, max), value): (&(u64, u64), &u64)| (min..=max).contains(value);
            if !drawn.iter().zip(&choice).all(fits) {
                // Chosen for another path.
                continue;
            }
            let common = choice.len().min(chosen.len());
            chosen[..common].copy_from_slice(&choice[..common]);
            let keys = self.drawn_keys(&run);
            let wide = |at: usize| drawn[at].1 - drawn[at].0 > FEW && !keys[at];
            let many = (0..drawn.len()).any(wide) || !self.others.is_empty();
            let other = if many && !run.impossible {
                let most = (0..drawn.len()).map(|at| match wide(at) {
                    true => other(drawn[at].0, drawn[at].1),
                    false => chosen[at],
                });
                let most: Vec<u64> = most.collect();
                Some(self.interpret(&most, true)?)
            } else {
                None
            };
            let impossible = run.impossible.then(|| "no run of the kernel".to_owned());
            let differs = impossible
                .or_else(|| differing_outcome(&theirs, &ours, other.as_ref().map(|(o, _)| o)))
                .or_else(|| self.differing_elements(&run, other.as_ref().map(|(_, run)| run)))
                .or_else(|| self.differing_path(&run));
            let Some(differs) = differs else {
                self.commit(&run, other.as_ref().map(|(_, run)| run));
                return Ok(run);
            };
            first.get_or_insert(differs);
            let promise = if run.impossible { drawn.len() } else { self.common_results(&run) };
            // Those of few possibilities come first, and behind them those of many; of either kind,
            // what comes later depends on what comes before.
            let many = |&at: &usize| wide(at);
            let later = |at: &usize| match changed {
                None => true,
                Some(last) => *at > last || (many(at) && last < drawn.len() && !many(&last)),
            };
            let (many, few): (Vec<usize>, Vec<usize>) =
                (0..drawn.len()).filter(later).partition(many);
            let mut order: Vec<usize> = few.iter().chain(&many).copied().collect();
            if self.path_bytes == 0 {
                order.reverse();
            }
            for at in order {
                let alternatives = match keys[at] {
                    true => self.numbers(),
                    false => self.alternatives(drawn[at].0, drawn[at].1),
                };
                for value in alternatives {
                    let mut next = chosen.clone();
                    next[at] = value;
                    if few.contains(&at) {
                        next.truncate(at + 1);
                    }
                    if pending.len() < most && seen.insert(next.clone()) {
                        let tried = seen.len();
                        let order = if self.path_bytes > 0 { usize::MAX - tried } else { tried };
                        pending.push((promise, order, next, Some(at)));
                    }
                }
            }
        }
        Err(first.unwrap_or_else(|| "no choice was tried".to_owned()))
    }

    /// Values other than the least that are worth trying for an open value.
    fn alternatives(&self, min: u64, max: u64) -> Vec<u64> {
        let many = max - min > FEW;
        if many && self.path_bytes == 0 {
            return Vec::new();
        }
        if max - min <= NAMED {
            return (min + 1..=max).rev().collect();
        }
        if max == PLACES {
            // Those of elements that had small numbers at the start.
            return (0..16).map(|number| (1 << 32) + number).collect();
        }
        let mut values: BTreeSet<u64> = BTreeSet::from([min + 1, max]);
        if max - min > 1 {
            // Results that the program kept: numbers, or errors.
            for word in self.output().as_chunks::<8>().0 {
                let word = u64::from_le_bytes(*word);
                values.extend([word, word.wrapping_neg()]);
                if many {
                    // It may have kept a part.
                    values.extend([8, 16, 32, 40, 48, 56].map(|bits| word << bits));
                }
            }
        }
        values.into_iter().filter(|value| (min + 1..=max).contains(value)).collect()
    }

    /// What the program kept, in the kernel.
    fn output(&self) -> Vec<u8> {
        let out = self.loaded.map("out").and_then(|out| out.lookup(&[0; 4]).ok().flatten());
        out.unwrap_or_default()
    }

    /// Whether a run took another path than the kernel's.
    fn differing_path(&self, run: &Run) -> Option<String> {
        let out = self.lifted.layout.maps.iter().find(|map| map.name == "out")?;
        let ours: Vec<u8> =
            (0..self.path_bytes).map(|at| self.byte(run, (out.values, at))).collect();
        let theirs = self.output();
        let theirs = theirs.get(..ours.len()).filter(|theirs| *theirs != ours)?;
        Some(format!("path {} in the kernel, {} here", hex(theirs), hex(&ours)))
    }

    /// Tells the interpreter how full the maps are that maps of maps can hold.
    fn fill_inner_maps(&mut self) {
        let mut there = Vec::new();
        for layout in &self.lifted.layout.maps {
            let Some(fill) = layout.fill else { continue };
            let mut maps = self.lifted.layout.maps.iter();
            let outer = maps.find(|outer| format!("{}.inner", outer.name) == layout.name);
            let Some((outer, base)) = outer.and_then(|o| Some((o, self.base(o.values)?))) else {
                continue;
            };
            let maps = (0u64..).map_while(|n| Some((n, self.loaded.map_at(n as usize)?)));
            for (number, map) in maps.filter(|(_, map)| map.definition().kind == layout.kind) {
                let count = map.keys().map_or(0, |keys| keys.len() as u32);
                there.push((fill.used, base + (number << outer.element_bits), count));
            }
        }
        for (used, which, count) in there {
            let number = intern((which, 0), &mut self.environment);
            for (n, byte) in (0..).zip(count.to_le_bytes()) {
                self.environment.memory.insert((used, (number << 2) + n), byte);
            }
        }
    }

    /// Elements that the kernel has evicted do not exist.
    fn forget_evicted(&mut self) {
        for layout in self.lifted.layout.maps.iter().filter(|layout| evicts(layout)) {
            let (Some(map), Some(present)) = (self.loaded.map(&layout.name), layout.present) else {
                continue;
            };
            let there =
                self.environment.memory.iter().filter(|((region, _), _)| *region == present);
            let bytes: Bytes = there.map(|(&place, &byte)| (place, byte)).collect();
            for element in layout.elements(&bytes, &self.environment.interned) {
                let gone = |key: &Vec<u8>| matches!(map.lookup_all(key), Ok(None));
                if element.present == Some(true) && element.key.as_ref().is_some_and(gone) {
                    self.environment.memory.insert((present, element.number), 0);
                }
            }
        }
    }

    /// How far a run went as the kernel's did, where the program says which way it goes: bits of its
    /// path and bytes of the results behind it.
    fn common_results(&self, run: &Run) -> usize {
        let out = self.lifted.layout.maps.iter().find(|map| map.name == "out");
        let Some(out) = out.filter(|_| self.path_bytes > 0) else { return 0 };
        let theirs = self.output();
        let behind = (0..).zip(&theirs).skip(self.path_bytes as usize);
        let results = behind.take_while(|&(at, byte)| self.byte(run, (out.values, at)) == *byte);
        let path = (0..).zip(&theirs).take(self.path_bytes as usize);
        let mut path = path.map(|(at, byte)| self.byte(run, (out.values, at)) ^ byte);
        let first = path.find(|differing| *differing != 0);
        results.count() + first.map_or(8, |differing| differing.trailing_zeros()) as usize
    }

    /// The elements that a run wrote, of a map that the kernel has.
    fn touched(&self, layout: &MapLayout, run: &Run, touched: &mut BTreeSet<Touched>) {
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
        if layout.identity.is_some() {
            let keys = self.tries.keys(layout, &numbers);
            touched.extend(keys.into_iter().map(|(number, key)| (number, key, None)));
            return;
        }
        if numbers.is_empty() {
            return;
        }
        let place = layout.present.unwrap_or(layout.values);
        let shift = if layout.present.is_some() { 0 } else { layout.element_bits };
        let bytes: Bytes = numbers.iter().map(|number| ((place, number << shift), 1)).collect();
        let elements = layout.elements(&bytes, &run.interned);
        touched.extend(elements.into_iter().filter_map(|e| Some((e.number, e.key?, e.which))));
    }

    fn all_touched(&self, layout: &MapLayout, run: &Run, other: Option<&Run>) -> BTreeSet<Touched> {
        let mut touched = BTreeSet::new();
        self.touched(layout, run, &mut touched);
        if let Some(other) = other {
            self.touched(layout, other, &mut touched);
        }
        touched
    }

    /// Where an element's value is after a run.
    fn place(&self, layout: &MapLayout, run: &Run, number: u64) -> u64 {
        let Some(moved) = layout.moved else { return number };
        let byte =
            |n| u64::from(run.written.get(&(moved, (number << 3) + n)).copied().unwrap_or(0));
        (0..8).fold(number, |place, n| place ^ byte(n) << (8 * n))
    }

    /// The value of an element after a run, if it exists.
    fn value(
        &self,
        layout: &MapLayout,
        map: &Map,
        run: &Run,
        (number, key): (u64, &[u8]),
    ) -> Option<Vec<u8>> {
        if out_of_range(map, key) {
            return None;
        }
        let exists = layout.identity.is_some()
            || layout.present.is_none_or(|present| self.byte(run, (present, number)) != 0);
        let start = self.place(layout, run, number) << layout.element_bits;
        let byte = |n: u32| self.byte(run, (layout.values, start + u64::from(n)));
        exists.then(|| (0..layout.value_size).map(byte).collect())
    }

    fn differing_elements(&self, run: &Run, other: Option<&Run>) -> Option<String> {
        for layout in self.compared_maps() {
            for (number, key, which) in self.all_touched(layout, run, other) {
                let Some(map) = self.kernels(layout, which) else { continue };
                let theirs = theirs(map, &key);
                let ours = self.value(layout, map, run, (number, &key));
                if theirs.is_none() && evicts(layout) {
                    // It may go with any insertion.
                    continue;
                }
                let or = other.map(|other| self.value(layout, map, other, (number, &key)));
                if !matches(theirs.as_deref(), ours.as_deref(), or.as_ref().map(Option::as_deref)) {
                    return Some(element_fault(&layout.name, &key, &theirs, &ours));
                }
            }
        }
        None
    }

    /// Maps keep what the run wrote; of bytes that are open, what the kernel has.
    fn commit(&mut self, run: &Run, other: Option<&Run>) {
        let mut adopted = Vec::new();
        for layout in self.compared_maps() {
            // Elements that were moved start the next run at their own place.
            if other.is_some() || layout.moved.is_some() {
                for (number, key, which) in self.all_touched(layout, run, other) {
                    let Some(map) = self.kernels(layout, which) else { continue };
                    adopted.push((layout.clone(), number, theirs(map, &key)));
                }
            }
        }
        let regions = &self.lifted.program.regions;
        for (&place, &byte) in &run.written {
            // What is known at the start of every run is no content of maps.
            let region = &regions[place.0.index()];
            if region.kind == RegionKind::Map && region.content.is_none() {
                self.environment.memory.insert(place, byte);
            }
        }
        self.commit_queues(run);
        for (layout, number, theirs) in adopted {
            if let Some(present) = layout.present {
                self.environment.memory.insert((present, number), theirs.is_some().into());
            }
            let start = number << layout.element_bits;
            for (offset, &byte) in theirs.iter().flatten().enumerate() {
                self.environment.memory.insert((layout.values, start + offset as u64), byte);
            }
        }
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

    /// Elements of queues are numbered from the oldest on in every run.
    fn commit_queues(&mut self, run: &Run) {
        let layout = self.lifted.layout.clone();
        for (map, room) in layout.maps.iter().filter_map(|map| Some((map, map.room?))) {
            let register = |what: &str| {
                let name = format!("{}.{what}", map.name);
                let regs = &self.lifted.program.regs;
                regs.iter().position(|reg| reg.name == name).map(|reg| run.regs[reg])
            };
            let (Some(oldest), Some(next)) = (register("oldest"), register("next")) else {
                continue;
            };
            let bytes = |number: u64| number << map.element_bits;
            let content: Vec<u8> = (bytes(oldest)..bytes(next))
                .map(|offset| self.byte(run, (map.values, offset)))
                .collect();
            for (offset, byte) in (0u64..).zip(content) {
                self.environment.memory.insert((map.values, offset), byte);
            }
            let free = u64::from(room.max_entries) - (next - oldest);
            self.environment.inputs.insert(room.free, free);
        }
    }

    /// The maps whose content is compared: those whose elements can be read back.
    fn compared_maps(&self) -> impl Iterator<Item = &MapLayout> {
        let readable = |layout: &&MapLayout| {
            [
                MapKind::ARRAY,
                MapKind::PERCPU_ARRAY,
                MapKind::HASH,
                MapKind::LRU_HASH,
                MapKind::PERCPU_HASH,
                MapKind::LRU_PERCPU_HASH,
                MapKind::LPM_TRIE,
            ]
            .contains(&layout.kind)
        };
        self.lifted.layout.maps.iter().filter(readable)
    }

    /// The kernel's map, of those out of a map of maps the one at an address.
    fn kernels(&self, layout: &MapLayout, which: Option<u64>) -> Option<&Map> {
        let Some(which) = which else { return self.loaded.map(&layout.name) };
        let mut maps = self.lifted.layout.maps.iter();
        let outer = maps.find(|outer| format!("{}.inner", outer.name) == layout.name)?;
        let base = self.base(outer.values)?;
        self.loaded.map_at(usize::try_from((which - base) >> outer.element_bits).ok()?)
    }

    /// Where the maps of the two differ, one sentence each.
    pub fn differing_maps(&self) -> Vec<String> {
        let bytes: Bytes = self.environment.memory.iter().map(|(&k, &v)| (k, v)).collect();
        let mut differing = Vec::new();
        for layout in self.compared_maps() {
            let map = self.loaded.map(&layout.name);
            let Some(map) = map.filter(|_| layout.identity.is_none() && layout.lengths.is_none())
            else {
                continue;
            };
            let elements = layout.elements(&bytes, &self.environment.interned);
            let ours: HashMap<Vec<u8>, Vec<u8>> = elements
                .into_iter()
                .filter(|element| element.present == Some(true))
                .filter_map(|element| {
                    let value = element.value.iter().map(|byte| byte.unwrap_or(0)).collect();
                    Some((element.key?, value))
                })
                .collect();
            let keys = map.keys().unwrap_or_default();
            for key in keys.iter().chain(ours.keys().filter(|key| !out_of_range(map, key))) {
                let theirs = theirs(map, key);
                let zeros =
                    || layout.present.is_none().then(|| vec![0; layout.value_size as usize]);
                let expected = ours.get(key).cloned().or_else(zeros);
                if theirs != expected {
                    differing.push(element_fault(&layout.name, key, &theirs, &expected));
                }
            }
        }
        differing
    }
}

/// Whether elements make room for others.
fn evicts(map: &MapLayout) -> bool {
    matches!(map.kind, MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH)
}

fn is_queue(map: &MapLayout) -> bool {
    matches!(map.kind, MapKind::QUEUE | MapKind::STACK)
}

/// The maps of which it is known how many elements there is room for; of queues nothing can be asked.
fn counted(layout: &Layout) -> impl Iterator<Item = (&MapLayout, MapRoom)> {
    let maps = layout.maps.iter().filter(|map| !is_queue(map));
    maps.filter_map(|map| Some((map, map.room?)))
}

/// A value in a range that has no byte in common with a small one.
fn other(min: u64, max: u64) -> u64 {
    (0x3b5d_9f27_c3a1_e695 & max).clamp(min, max)
}

/// A second from now, in nanoseconds since the start of the system.
fn soon() -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split('.').next().and_then(|seconds| seconds.parse().ok());
    seconds.unwrap_or(0u64).saturating_add(2) * 1_000_000_000
}

/// The value of a key; of several CPUs, which had the same to begin with, the one that changed.
fn theirs(map: &Map, key: &[u8]) -> Option<Vec<u8>> {
    let values = map.lookup_all(key).ok().flatten()?;
    let here = rustix::thread::sched_getcpu();
    values.get(if values.len() > 1 { here } else { 0 }).cloned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn element_fault(
    map: &str,
    key: &[u8],
    theirs: &Option<Vec<u8>>,
    ours: &Option<Vec<u8>>,
) -> String {
    let shown = |value: &Option<Vec<u8>>| value.as_deref().map_or("nothing".to_owned(), hex);
    format!("{map} at {}: {} in the kernel, {} here", hex(key), shown(theirs), shown(ours))
}

/// Whether a value is the one expected, where both expectations are the same.
fn matches(theirs: Option<&[u8]>, ours: Option<&[u8]>, other: Option<Option<&[u8]>>) -> bool {
    let Some(other) = other else { return theirs == ours };
    match (theirs, ours, other) {
        (Some(theirs), Some(ours), Some(other)) => bytes_match(theirs, ours, other),
        (theirs, ours, other) => {
            ours.is_some() != other.is_some() || theirs.is_some() == ours.is_some()
        }
    }
}

fn bytes_match(theirs: &[u8], ours: &[u8], other: &[u8]) -> bool {
    if ours.len() != other.len() {
        return true;
    }
    let expected = ours.iter().zip(other);
    theirs.len() == ours.len() && theirs.iter().zip(expected).all(|(t, (a, b))| a != b || t == a)
}

/// How outcomes differ, in a few words.
fn differing_outcome(theirs: &Outcome, ours: &Outcome, other: Option<&Outcome>) -> Option<String> {
    let other = other.unwrap_or(ours);
    let same = (ours.action != other.action || ours.action == theirs.action)
        && bytes_match(&theirs.packet, &ours.packet, &other.packet)
        && bytes_match(&theirs.metadata, &ours.metadata, &other.metadata);
    if same {
        return None;
    }
    let shape =
        |o: &Outcome| format!("{} ({}+{} bytes)", o.action, o.metadata.len(), o.packet.len());
    let first = theirs.packet.iter().zip(&ours.packet).position(|(a, b)| a != b);
    let byte = first.map_or(String::new(), |at| {
        let there = |o: &Outcome| hex(&o.packet[at..o.packet.len().min(at + 16)]);
        format!("; from byte {at}: {}, {}", there(theirs), there(ours))
    });
    Some(format!("action {} in the kernel, {} here{byte}", shape(theirs), shape(ours)))
}
