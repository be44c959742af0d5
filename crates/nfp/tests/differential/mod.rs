//! Runs a BPF program and its compiled listing in the concrete interpreter, with the same packets,
//! map contents and random numbers.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::Object;
use slowpath_bpf::lift::{self, Lifted, MapLayout};
use slowpath_exec::concrete::{self, Environment, Run};
use slowpath_ir::{InputId, InputKind, Program, RegionId};
use slowpath_nfp::{CompileOptions, Compiled, LiftOptions, RECEIVE, compile, word};

/// Maximum number of blocks that a run may execute. The programs in these tests execute fewer.
const MAX_BLOCKS: usize = 100_000;
/// Offset in bytes from the start of a packet buffer at which the firmware puts the packet.
const IN_BUFFER: u64 = 128;
/// Address of the packet on the card.
const ADDRESS: u64 = 0x0100_0000 + IN_BUFFER;

/// Initial state of a run: the packet, the map, and the random numbers that the program draws.
#[derive(Clone, Debug)]
pub struct Start {
    pub packet: Vec<u8>,
    /// Bytes of the map's elements, by index and offset.
    pub elements: BTreeMap<(u64, u64), u8>,
    /// Value of all memory bytes before the run, except the packet and `elements`.
    pub fill: u8,
    pub random: Vec<u64>,
}

/// Observable result of a run: the return code, and the state of the packet and the map.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub result: u32,
    /// Distance in bytes by which the packet's start has moved.
    pub start: i64,
    pub packet: Vec<u8>,
    /// Bytes of the map's elements that the run changed, by index and offset.
    pub elements: BTreeMap<(u64, u64), u8>,
}

/// A BPF program and its compiled listing, both lifted to the intermediate representation.
pub struct Pair {
    bpf: Lifted,
    card: Program,
    pub compiled: Compiled,
}

impl Pair {
    /// Links, lifts and compiles the first program of an object.
    pub fn new(data: &[u8]) -> Result<Pair, String> {
        let object = Object::parse(data).map_err(|e| e.to_string())?;
        let linked = object.link(0, None).map_err(|e| e.to_string())?;
        let lifted = lift::lift(
            &object,
            &linked,
            &lift::LiftOptions { receive: RECEIVE, ..Default::default() },
        );
        let bpf = lifted.map_err(|e| e.to_string())?;
        let compiled = compile(&object, &linked, &CompileOptions::default());
        let compiled = compiled.map_err(|e| e.to_string())?;
        for insn in compiled.listing.insns() {
            let word = word::encode(insn).map_err(|e| format!("{insn}: {e}"))?;
            let back = word::decode(word).map_err(|e| format!("{insn}: {e}"))?;
            if back != *insn {
                return Err(format!("{insn} is {back} as a word"));
            }
        }
        let options = LiftOptions { stores_result: true, ..LiftOptions::default() };
        let card = slowpath_nfp::lift(&compiled.listing, "card", &options);
        let card = card.map_err(|e| format!("{e}\n{}", compiled.listing))?;
        Ok(Pair { bpf, card, compiled })
    }

    fn map(&self) -> Option<&MapLayout> {
        self.bpf.layout.maps.first()
    }

    /// Runs the BPF program and its listing from the same state, and returns the results in this
    /// order.
    pub fn run(&self, start: &Start) -> Result<(Outcome, Outcome), String> {
        Ok((self.run_bpf(start)?, self.run_card(start)?))
    }

    fn run_bpf(&self, start: &Start) -> Result<Outcome, String> {
        let Lifted { program, layout, .. } = &self.bpf;
        let mut environment = environment(program, layout.packet, start);
        if let Some(map) = self.map() {
            for (&(index, offset), &byte) in &start.elements {
                let place = (index << map.element_bits) + offset;
                environment.memory.insert((map.values, place), byte);
            }
        }
        let run = concrete::run(program, &environment, MAX_BLOCKS).map_err(|e| e.to_string())?;
        let memory = Memory { program, run: &run, environment: &environment };
        let base = base(program, &environment, layout.packet);
        let data = memory.word(layout.context, 0);
        let end = memory.word(layout.context, 4);
        let elements = self.map().map(|map| memory.elements(map.values, map.element_bits));
        Ok(Outcome {
            result: memory.word(layout.result, 0) as u32,
            start: data as i64 - base as i64,
            packet: memory.bytes(layout.packet, data.wrapping_sub(base), end.wrapping_sub(data)),
            elements: elements.unwrap_or_default(),
        })
    }

    fn run_card(&self, start: &Start) -> Result<Outcome, String> {
        let program = &self.card;
        let region = |name: &str| {
            let found = program.regions.iter().position(|region| region.name == name);
            RegionId::from(found.expect("the region exists"))
        };
        let packet = region("packet");
        let mut environment = environment(program, packet, start);
        let bits =
            self.map().map_or(0, |map| map.value_size.next_power_of_two().trailing_zeros()) as u8;
        for (&(index, offset), &byte) in &start.elements {
            environment.memory.insert((region("dram"), (index << bits) + offset), byte);
        }
        let packet_base =
            program.inputs.iter().position(|input| input.kind == InputKind::BaseAddress(packet));
        let packet_base = InputId::from(packet_base.expect("the packet has an address"));
        environment.inputs.insert(packet_base, ADDRESS);
        let run = concrete::run(program, &environment, MAX_BLOCKS).map_err(|e| e.to_string())?;
        let memory = Memory { program, run: &run, environment: &environment };
        let length = memory.word(region("context"), 0) & 0x3fff;
        let address = memory.word(region("context"), 8);
        Ok(Outcome {
            result: memory.word(region("result"), 0) as u32,
            start: address as i64 - ADDRESS as i64,
            packet: memory.bytes(packet, address.wrapping_sub(ADDRESS), length),
            elements: memory.elements(region("dram"), bits),
        })
    }
}

fn environment(program: &Program, packet: RegionId, start: &Start) -> Environment {
    let mut environment = Environment::with_fill(program, start.fill);
    environment.unknowns.clone_from(&start.random);
    if let Some(length) = program.packet_length {
        environment.inputs.insert(length, start.packet.len() as u64);
    }
    for (offset, &byte) in (0..).zip(&start.packet) {
        environment.memory.insert((packet, offset), byte);
    }
    environment
}

/// Returns the address of a region's first byte.
fn base(program: &Program, environment: &Environment, region: RegionId) -> u64 {
    let input =
        program.inputs.iter().position(|input| input.kind == InputKind::BaseAddress(region));
    input.map_or(0, |input| environment.inputs[&InputId::from(input)])
}

/// Memory at the end of a run.
struct Memory<'a> {
    program: &'a Program,
    run: &'a Run,
    environment: &'a Environment,
}

impl Memory<'_> {
    fn byte(&self, region: RegionId, offset: u64) -> u8 {
        // Offsets wrap around at the width of addresses.
        let width = self.program.width(self.program.regions[region.index()].base);
        let offset = offset & (u64::MAX >> (64 - u32::from(width)));
        let initial = || self.environment.memory.get(&(region, offset)).copied();
        let written = self.run.written.get(&(region, offset)).copied();
        written.or_else(initial).unwrap_or(self.environment.fill)
    }

    /// Returns the four bytes at an offset as a little-endian number.
    fn word(&self, region: RegionId, offset: u64) -> u64 {
        (0..4).rev().fold(0, |word, n| word << 8 | u64::from(self.byte(region, offset + n)))
    }

    fn bytes(&self, region: RegionId, from: u64, length: u64) -> Vec<u8> {
        (0..length.min(1 << 14)).map(|n| self.byte(region, from.wrapping_add(n))).collect()
    }

    /// Returns the bytes of map elements that the run changed, by element index and offset. An
    /// element has 2^`bits` bytes.
    fn elements(&self, region: RegionId, bits: u8) -> BTreeMap<(u64, u64), u8> {
        let written: BTreeSet<u64> =
            self.run.written.keys().filter(|(of, _)| *of == region).map(|(_, at)| *at).collect();
        let before = |at: u64| {
            let known = self.environment.memory.get(&(region, at)).copied();
            known.unwrap_or(self.environment.fill)
        };
        let changed = written.into_iter().filter(|&at| self.byte(region, at) != before(at));
        let place = |at: u64| (at >> bits, at & ((1 << bits) - 1));
        changed.map(|at| (place(at), self.byte(region, at))).collect()
    }
}
