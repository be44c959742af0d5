//! Confirms counterexamples: runs both programs with the values that the solver found, and compares
//! the results. The concrete interpreter that runs them shares no code with the proof.

use super::facts::Packets;
use super::pair::{Member, Pair, RegionKey};
use serde::Serialize;
use slowpath_bpf::MapKind;
use slowpath_bpf::insn::helper;
use slowpath_bpf::lift::{Bytes, Element, Interned, MapLayout};
use slowpath_exec::concrete::{self, Environment, Run};
use slowpath_ir::{InputId, InputKind, KnownBits, RegionId};
use slowpath_product::Path;
use slowpath_smt::{Evaluator, Model, Node, TermId, TermPool};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum number of basic blocks that a run executes. No path has more.
const MAX_BLOCKS: usize = 200_000;

/// A packet and map content for which two programs differ, with the final state of each program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counterexample {
    /// The part of the final state that differs, in words.
    pub what: String,
    /// The packet that both programs receive, two hexadecimal digits per byte.
    pub packet: String,
    /// Nonzero bytes in the buffer around the packet, by offset from the packet's first byte.
    pub room: BTreeMap<i64, u8>,
    /// Nonzero bytes of the maps' memory before the run, by name of the memory region and by
    /// offset.
    pub maps: BTreeMap<String, BTreeMap<u64, u8>>,
    /// External values, such as the time or a random number, that helper calls of the first program
    /// return, in order.
    pub drawn: Vec<u64>,
    /// Final state of the first program.
    pub original: FinalState,
    /// Final state of the second program.
    pub specialised: FinalState,
}

/// The state that a run of a program leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FinalState {
    /// Return value of the program.
    pub result: u32,
    /// Distance that the program moved the packet's start, in bytes.
    pub start: i64,
    /// The packet after the run, two hexadecimal digits per byte.
    pub packet: String,
    /// The metadata in front of the packet, two hexadecimal digits per byte.
    pub metadata: String,
    /// Written fields of the context other than the packet pointers: byte values by offset.
    pub context: BTreeMap<u64, u8>,
    /// Calls of helpers in order: the number of each helper, followed by its arguments.
    pub calls: Vec<u64>,
    /// Map elements, in words.
    pub maps: Vec<String>,
}

/// Runs both programs with the values of a solver's model. Returns the packet, the map content and
/// the final states if these states differ.
///
/// # Errors
/// Returns the reason, in words, why the runs do not confirm a difference.
pub(super) fn confirm(
    pair: &Pair,
    packets: Packets<'_>,
    (path, other): (&Path, &Path),
    (what, terms, model): (String, &[TermId], &Model),
) -> Result<Counterexample, String> {
    let pool = &pair.original.side.executor.pool;
    let numbers = interned(pool, terms, model);
    let mut evaluator = Evaluator::new(pool, model);
    let mut values =
        |terms: &[TermId]| terms.iter().map(|&term| evaluator.value(term)).collect::<Vec<u64>>();
    let inputs = [&pair.original, &pair.other].map(|m| values(m.side.executor.inputs()));
    let draws = [path, other].map(|path| values(&path.draws));
    let [original, specialised] = &inputs;
    let mut environments = [
        pair.original.side.environment(original, draws[0].clone()),
        pair.other.side.environment(specialised, draws[1].clone()),
    ];
    same_addresses(pair, &mut environments)?;
    let mut memory = shared_memory(pair, model);
    let length = length(&pair.original, &environments[0]);
    let content = memory.entry((false, "packet".to_owned())).or_default();
    let packet = complete(content, packets, length)?;
    let room = content.iter().filter(|&(&at, &byte)| at >= length as u64 && byte != 0);
    let room = room.map(|(&at, &byte)| (at as i64, byte)).collect();
    for (member, environment) in [&pair.original, &pair.other].into_iter().zip(&mut environments) {
        for (key, bytes) in &memory {
            let Some(&region) = member.regions.get(key) else { continue };
            let bytes = bytes.iter().map(|(&offset, &byte)| ((region, offset), byte));
            environment.memory.extend(bytes);
        }
    }
    let [mut first, mut second] = environments;
    first.interned = numbers;
    let first_run = run(&pair.original, &first, draws[0].len())?;
    // Interned pairs that are equal must have the same number in both runs.
    second.interned.clone_from(&first_run.interned);
    let second_run = run(&pair.other, &second, draws[1].len())?;
    let ends = [
        After { member: &pair.original, environment: &first, run: &first_run },
        After { member: &pair.other, environment: &second, run: &second_run },
    ];
    let seen = Seen {
        places: touched(&ends),
        before: &memory,
        interned: &second_run.interned,
        maps: maps(pair),
        notes: &pair.notes,
    };
    let [original, specialised] = ends.each_ref().map(|end| end.state(&seen));
    if original == specialised {
        return Err("both programs do the same when they are run".into());
    }
    let maps = memory.clone().into_iter().filter(|((map, _), _)| *map);
    let maps = maps.map(|((_, name), mut bytes)| {
        bytes.retain(|_, byte| *byte != 0);
        (name, bytes)
    });
    let maps = maps.filter(|(_, bytes)| !bytes.is_empty()).collect();
    let [drawn, _] = draws;
    Ok(Counterexample { what, packet: hex(&packet), room, maps, drawn, original, specialised })
}

/// Returns the numbers by which a solver's model identifies pairs of words ([`Node::Intern`]), by
/// pair.
pub(super) fn interned(pool: &TermPool, terms: &[TermId], model: &Model) -> Interned {
    let mut evaluator = Evaluator::new(pool, model);
    let mut numbers = Interned::new();
    for term in pool.subterms(terms) {
        if let Node::Intern(a, b) = *pool.node(term) {
            let number = evaluator.value(term) as u32;
            numbers.insert((evaluator.value(a), evaluator.value(b)), number);
        }
    }
    numbers
}

/// Returns the initial content of the memory that both programs share, according to a model. The
/// keys are the region and the offset.
pub(super) fn shared_memory(pair: &Pair, model: &Model) -> BTreeMap<RegionKey, BTreeMap<u64, u8>> {
    let mut memory: BTreeMap<RegionKey, BTreeMap<u64, u8>> = BTreeMap::new();
    for (array, index, byte) in model.bytes() {
        if let Some((key, _)) = pair.arrays.iter().find(|(_, shared)| **shared == array) {
            memory.entry(key.clone()).or_default().insert(index, byte);
        }
    }
    memory
}

/// Gives each memory region that both programs share the same address in both, with large distances
/// between regions. The results of the programs do not depend on these addresses.
fn same_addresses(pair: &Pair, environments: &mut [Environment; 2]) -> Result<(), String> {
    /// Distance in bytes between the addresses of two regions. No region is larger than this.
    const SPREAD: u64 = 0x0080_0000;
    let mut places: BTreeMap<RegionKey, u64> = BTreeMap::new();
    for (side, (member, environment)) in
        [&pair.original, &pair.other].into_iter().zip(environments).enumerate()
    {
        let program = member.side.executor.program();
        for (index, input) in program.inputs.iter().enumerate() {
            let InputKind::BaseAddress(region) = input.kind else { continue };
            let own = (true, format!("{side} {}", program.regions[region.index()].name));
            let key = member.key(region).filter(|_| member.layout.calls != Some(region));
            let next = (places.len() as u64 + 2) * SPREAD;
            let place = *places.entry(key.unwrap_or(own)).or_insert(next);
            if !(input.min..=input.max).contains(&place) {
                return Err("there are too many memory regions to run the program".into());
            }
            environment.inputs.insert(InputId::from(index), place);
        }
    }
    Ok(())
}

fn length(member: &Member, environment: &Environment) -> usize {
    let input = member.side.executor.program().packet_length;
    let length = input.and_then(|input| environment.inputs.get(&input));
    length.and_then(|&length| usize::try_from(length).ok()).unwrap_or(0)
}

/// Chooses values for the packet bytes that the solver's model does not assign, so that the facts
/// hold. Returns all bytes of the packet.
///
/// # Errors
/// Returns a sentence if the facts do not hold for the resulting packet.
pub(super) fn complete(
    content: &mut BTreeMap<u64, u8>,
    packets: Packets<'_>,
    length: usize,
) -> Result<Vec<u8>, String> {
    for (&offset, &KnownBits { mask, value }) in &packets.known().bits {
        let byte = content.entry(offset.into()).or_default();
        *byte = *byte & !mask | value;
    }
    for (first, second) in &packets.known().equal {
        for n in 0..u64::from(first.bytes) {
            let byte = content.get(&(u64::from(first.offset) + n)).copied().unwrap_or(0);
            content.insert(u64::from(second.offset) + n, byte);
        }
    }
    let packet: Vec<u8> =
        (0..length as u64).map(|at| content.get(&at).copied().unwrap_or(0)).collect();
    if packets.contain(&packet) {
        return Ok(packet);
    }
    Err("the facts do not hold for the packet that the solver found".into())
}

fn run(member: &Member, environment: &Environment, draws: usize) -> Result<Run, String> {
    let program = member.side.executor.program();
    let run = concrete::run(program, environment, MAX_BLOCKS);
    let run = run.map_err(|error| format!("a run cannot be completed: {error}"))?;
    if run.impossible || run.unknowns != draws || !run.relied.is_empty() {
        return Err("a run does not take the path that the solver found".into());
    }
    Ok(run)
}

/// The final state of a run, with the program that made the run.
struct After<'a> {
    member: &'a Member,
    environment: &'a Environment,
    run: &'a Run,
}

/// Returns the region and offset of each byte of shared memory that a run has written, or that has
/// a stated initial value.
fn touched(ends: &[After<'_>; 2]) -> BTreeSet<(RegionKey, u64)> {
    let of = |end: &After<'_>| -> Vec<(RegionKey, u64)> {
        let places = end.run.written.keys().chain(end.environment.memory.keys());
        places.filter_map(|&(region, at)| Some((end.member.key(region)?, at))).collect()
    };
    ends.iter().flat_map(of).collect()
}

/// Initial memory and maps that are needed to describe the final memory of both runs in words.
struct Seen<'a> {
    places: BTreeSet<(RegionKey, u64)>,
    /// Content of memory before the runs, by memory region and offset.
    before: &'a BTreeMap<RegionKey, BTreeMap<u64, u8>>,
    /// For each interned pair of words ([`Node::Intern`]), the number that identifies it. Both runs
    /// use the same numbers.
    interned: &'a HashMap<(u64, u64), u32>,
    /// The maps that are compared, each with a program that uses it.
    maps: Vec<(&'a MapLayout, &'a Member)>,
    notes: &'a BTreeSet<RegionKey>,
}

/// Returns the maps whose content can be compared after the runs. If only one program uses a map,
/// its prologue must not have written to the map, because then the content that the other program
/// leaves is not known.
fn maps(pair: &Pair) -> Vec<(&MapLayout, &Member)> {
    let mut maps: BTreeMap<&str, (&MapLayout, &Member)> = BTreeMap::new();
    let members = [&pair.original, &pair.other];
    for member in members {
        let written = member.side.executor.written(&member.side.start).unwrap_or_default();
        let filled: BTreeSet<Option<RegionId>> =
            written.iter().map(|written| written.location.map(|at| at.region)).collect();
        for map in &member.layout.maps {
            let both = members.iter().all(|m| m.layout.maps.iter().any(|o| o.name == map.name));
            let regions = [Some(map.values), map.present, map.identity, map.prefix_lengths];
            let known = !regions.iter().any(|region| region.is_some() && filled.contains(region));
            let region = &member.side.executor.program().regions[map.values.index()];
            if both || (known && region.content.is_none()) {
                maps.entry(&map.name).or_insert((map, member));
            }
        }
    }
    maps.into_values().collect()
}

impl After<'_> {
    fn byte(&self, region: RegionId, offset: u64) -> u8 {
        let place = (region, offset);
        let regions = &self.member.side.executor.program().regions;
        let written = self.run.written.get(&place).copied();
        written.unwrap_or_else(|| match &regions[region.index()].content {
            Some(bytes) => {
                let byte = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset));
                byte.copied().unwrap_or(0)
            }
            None => self.environment.memory.get(&place).copied().unwrap_or(self.environment.fill),
        })
    }

    /// Reads a little-endian number of `bytes` bytes from memory.
    fn word(&self, region: RegionId, offset: u64, bytes: u64) -> u64 {
        (0..bytes).rev().fold(0, |word, n| word << 8 | u64::from(self.byte(region, offset + n)))
    }

    fn state(&self, seen: &Seen<'_>) -> FinalState {
        let layout = &self.member.layout;
        let base = self.base(layout.packet);
        let field = |offset| self.word(layout.context, offset, 4).wrapping_sub(base);
        let (data, end, meta) = (field(0), field(4), field(8));
        let bytes = |from: u64, to: u64| {
            let length = to.wrapping_sub(from) as u32;
            let at = |n: u32| self.byte(layout.packet, wide(from).wrapping_add(n.into()));
            hex(&(0..length.min(1 << 16)).map(at).collect::<Vec<u8>>())
        };
        let context = seen.places.iter().filter(|((map, name), _)| !map && name == "context");
        let context = context.map(|&(_, at)| (at, self.byte(layout.context, at)));
        // The pointers at the start of the context are compared as the start and end of the packet.
        let context = context.filter(|&(at, _)| at >= 12).collect();
        FinalState {
            result: self.word(layout.result, 0, 4) as u32,
            start: wide(data) as i64,
            packet: bytes(data, end),
            metadata: bytes(meta, data),
            context,
            calls: self.calls(),
            maps: seen.maps.iter().flat_map(|&map| self.map(map, seen)).collect(),
        }
    }

    /// Describes the content of a map in words, for all bytes that a run has written or that have a
    /// stated initial value.
    fn map(&self, (layout, user): (&MapLayout, &Member), seen: &Seen<'_>) -> Vec<String> {
        let mut bytes = Bytes::new();
        for (key, at) in seen.places.iter().filter(|(key, _)| key.0 && !seen.notes.contains(key)) {
            let Some(&region) = user.regions.get(key) else { continue };
            let byte = match self.member.regions.get(key) {
                Some(&own) => self.byte(own, *at),
                // A program that does not use the map leaves its content unchanged.
                None => seen.before.get(key).and_then(|bytes| bytes.get(at)).copied().unwrap_or(0),
            };
            bytes.insert((region, *at), byte);
        }
        if layout.kind == MapKind::RINGBUF {
            return self.records(layout, &bytes).into_iter().collect();
        }
        let elements = layout.elements(&bytes, seen.interned);
        let there = elements.into_iter().filter(|element| element.present != Some(false));
        there.map(|element| format!("{} {}", layout.name, describe(&element))).collect()
    }

    /// Describes the records in a ring buffer. Returns `None` if the program has discarded a
    /// record.
    fn records(&self, layout: &MapLayout, bytes: &Bytes) -> Option<String> {
        const DISCARD: u64 = helper::number("bpf_ringbuf_discard") as u64;
        let bytes = bytes.iter().map(|(&(_, at), byte)| format!("{at}: {byte:02x}"));
        let bytes: Vec<String> = bytes.collect();
        (!self.calls().contains(&DISCARD)).then(|| format!("{} {}", layout.name, bytes.join(", ")))
    }

    fn calls(&self) -> Vec<u64> {
        let Some(calls) = self.member.layout.calls else { return Vec::new() };
        let count = self.word(calls, 0, 8);
        (1..=count / 8).map(|n| self.word(calls, 8 * n, 8)).collect()
    }

    fn base(&self, region: RegionId) -> u64 {
        let inputs = &self.member.side.executor.program().inputs;
        let input = inputs.iter().position(|i| i.kind == InputKind::BaseAddress(region));
        let input = input.and_then(|input| self.environment.inputs.get(&InputId::from(input)));
        input.copied().unwrap_or(0)
    }
}

fn describe(element: &Element) -> String {
    let key = match &element.key {
        Some(key) => hex(key),
        None => format!("number {}", element.number),
    };
    let value: Vec<String> = element
        .value
        .runs()
        .iter()
        .map(|(offset, bytes)| format!("{offset}: {}", hex(bytes)))
        .collect();
    format!("{key}: {}", value.join(", "))
}

/// Sign-extends a 32-bit number, the distance between two addresses, to 64 bits.
fn wide(distance: u64) -> u64 {
    i64::from(distance as u32 as i32) as u64
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
