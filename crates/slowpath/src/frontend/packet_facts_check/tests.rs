//! Tests that the check that is added at the start of a program accepts exactly the packets that
//! satisfy the given facts.

use super::*;
use slowpath_exec::concrete::{self, Environment};
use slowpath_ir::{Input, InputKind, KnownBits, Op, OriginOp, RegInfo, Region, RegionId};
use std::collections::BTreeSet;

const LENGTH: InputId = InputId(0);
const PACKET: RegionId = RegionId(0);
/// Length of the longest tested packet in bytes.
const MOST: u16 = 12;
const EXIT: u32 = 7;

fn nothing() -> Program {
    let input = |name: &str, width, (min, max), kind| Input {
        name: name.to_owned(),
        width,
        min,
        max,
        kind,
    };
    let reg = |name: &str, width| RegInfo { name: name.to_owned(), width };
    let base = slowpath_ir::Reg(0);
    Program {
        name: "nothing".to_owned(),
        insns: vec![slowpath_ir::Instruction { text: "exit".to_owned(), source: None }],
        regs: vec![reg("packet", 32)],
        inputs: vec![
            input("packet length", 14, (0, MOST.into()), InputKind::PacketLength),
            input("address", 32, (0x1000, 0x2000), InputKind::BaseAddress(PACKET)),
        ],
        regions: vec![Region {
            name: "packet".to_owned(),
            kind: RegionKind::Packet,
            base,
            content: None,
        }],
        prologue: vec![OriginOp {
            op: Op::Input { dst: base, input: InputId(1) },
            insn: InsnIdx(0),
        }],
        blocks: vec![Block {
            first: InsnIdx(0),
            insns: vec![InsnIdx(0)],
            ops: Vec::new(),
            costs: Vec::new(),
            terminator: Terminator::Jump(Edge {
                target: Destination::Exit(EXIT),
                costs: Vec::new(),
            }),
        }],
        packet_length: Some(LENGTH),
        ..Program::default()
    }
}

/// A generator of pseudo-random numbers (Marsaglia 2003, "Xorshift RNGs").
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn field(&mut self) -> Field {
        Field { offset: self.below(10) as u16, bytes: 1 + self.below(4) as u8 }
    }

    /// Returns a random packet of at least `least` bytes. The bytes take only two values, so that
    /// random facts about them often hold.
    fn packet(&mut self, least: u16) -> Vec<u8> {
        let length = u64::from(least) + self.below(u64::from(MOST - least) + 1);
        (0..length).map(|_| self.below(2) as u8).collect()
    }

    fn facts(&mut self) -> PacketFacts {
        let mut facts = PacketFacts::lengths(self.below(u64::from(MOST)) as u16, MOST);
        for _ in 0..self.below(3) {
            let bits = KnownBits::of(1 + self.below(3) as u8, self.below(2) as u8);
            facts.bits.extend(bits.map(|bits| (self.below(14) as u16, bits)));
        }
        if self.below(2) == 0 {
            let field = Field { bytes: 2, ..self.field() };
            let values = (0..3).map(|_| self.below(2) << 8 | self.below(2));
            let values: BTreeSet<u64> = values.collect();
            facts.values.insert(field, values);
        }
        if self.below(2) == 0 {
            let (first, second) = (self.field(), self.field());
            facts.equal.insert((first, Field { bytes: first.bytes, ..second }));
        }
        facts
    }
}

#[test]
fn a_run_is_possible_if_and_only_if_the_facts_hold() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut possible, mut impossible) = (0, 0);
    for _ in 0..4000 {
        let facts = numbers.facts();
        let mut program = nothing();
        restrict_to_facts(&mut program, &facts);
        let packet = numbers.packet(facts.min_length);
        let mut environment = Environment::with_fill(&program, numbers.below(2) as u8);
        environment.inputs.insert(LENGTH, packet.len() as u64);
        let bytes = packet.iter().enumerate();
        environment.memory.extend(bytes.map(|(at, &byte)| ((PACKET, at as u64), byte)));
        let run = concrete::run(&program, &environment, 10).expect("a run");
        assert_eq!(run.impossible, !facts.hold(&packet), "{facts:?} {packet:?}");
        if run.impossible {
            impossible += 1;
        } else {
            assert_eq!(run.exit, EXIT);
            possible += 1;
        }
        assert_eq!(run.costs, []);
    }
    assert!(possible > 400 && impossible > 400, "{possible} {impossible}");
}

#[test]
fn facts_about_lengths_only_add_no_check() {
    let mut program = nothing();
    restrict_to_facts(&mut program, &PacketFacts::lengths(2, 9));
    assert_eq!(program, nothing());
}
