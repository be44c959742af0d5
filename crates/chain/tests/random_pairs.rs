//! Tests equivalence proofs with pairs of random programs. Each program must be proved equivalent
//! to itself. Other pairs consist of a program and a copy in which one instruction is changed. If a
//! random packet shows a difference between them, the proof must not succeed. The packets run in
//! the concrete interpreter and in the kernel.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use slowpath_bpf::insn::{AluOp, Condition, Insn, Source, encode};
use slowpath_bpf::lift::{LiftOptions, Lifted, Receive, lift};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_chain::equivalence::{Proof, prove};
use slowpath_generate::{Features, Generated, Programs};
use slowpath_ir::{InputId, InputKind, PacketFacts, RegionId};
use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;
use slowpath_stop::{Limits, Stop};
use std::collections::BTreeMap;
use std::time::Duration;

use slowpath_exec::concrete::{Environment, run};

const LENGTHS: (u16, u16) = (60, 200);
const PACKETS: usize = 100;
const SECONDS: f64 = 2.0;

fn linked(object: &[u8]) -> Option<(Object, BpfProgram)> {
    let object = Object::parse(object).ok()?;
    let program = object.link(0, None).ok()?;
    Some((object, program))
}

fn compare(object: &Object, original: &BpfProgram, other: &BpfProgram) -> Option<Proof> {
    let stop =
        Stop::new(Limits { time: Some(Duration::from_secs_f64(SECONDS)), ..Limits::default() });
    let facts = PacketFacts::lengths(LENGTHS.0, LENGTHS.1);
    prove(object, original, other, &facts, &LiftOptions::default(), &stop).ok()
}

/// Returns an instruction that differs from `insn` in one operand or operator. `choice` selects the
/// difference. Returns `None` if the instruction cannot be changed.
fn changed(insn: Insn, choice: u32) -> Option<Insn> {
    let other = |value: i32| match choice % 3 {
        0 => value.wrapping_add(1),
        1 => value.wrapping_sub(1),
        _ => value ^ 1 << (choice / 3 % 8),
    };
    Some(match insn {
        Insn::Alu { width, op, dst, src: Source::Imm(value) } => {
            Insn::Alu { width, op, dst, src: Source::Imm(other(value)) }
        }
        Insn::Alu { width, op, dst, src } => {
            let op = match op {
                AluOp::Add => AluOp::Sub,
                AluOp::Sub => AluOp::Add,
                AluOp::And => AluOp::Or,
                AluOp::Or => AluOp::Xor,
                AluOp::Xor => AluOp::And,
                _ => return None,
            };
            Insn::Alu { width, op, dst, src }
        }
        Insn::Branch { width, cond, dst, src: Source::Imm(value), offset } if choice & 64 == 0 => {
            Insn::Branch { width, cond, dst, src: Source::Imm(other(value)), offset }
        }
        Insn::Branch { width, cond, dst, src, offset } => {
            let cond = match cond {
                Condition::Eq => Condition::Ne,
                Condition::Ne => Condition::Eq,
                Condition::Gt => Condition::Ge,
                Condition::Ge => Condition::Gt,
                Condition::Lt => Condition::Le,
                Condition::Le => Condition::Lt,
                _ => return None,
            };
            Insn::Branch { width, cond, dst, src, offset }
        }
        Insn::Load { size, signed, dst, base, offset } => {
            Insn::Load { size, signed, dst, base, offset: offset ^ 1 }
        }
        // The instruction is replaced by a jump to the next one.
        Insn::Store { .. } | Insn::Atomic { .. } => Insn::Jump { offset: 0, long: false },
        _ => return None,
    })
}

/// Returns the object of a program after one instruction was changed. Returns `None` if no
/// instruction can be changed.
fn mutant(program: &Generated, place: usize, choice: u32) -> Option<Vec<u8>> {
    let mut insns: Vec<Insn> = program.functions().concat();
    let before = encode(&insns);
    let mut object = program.object();
    let at = object.windows(before.len()).position(|window| window == before)?;
    let places = insns.iter().enumerate();
    let places: Vec<(usize, Insn)> =
        places.filter_map(|(slot, &insn)| Some((slot, changed(insn, choice)?))).collect();
    let &(slot, insn) = places.get(place.checked_rem(places.len())?)?;
    insns[slot] = insn;
    let after = encode(&insns);
    object[at..at + after.len()].copy_from_slice(&after);
    Some(object)
}

/// Final state of a run: return value, offsets of the packet's start, end and metadata, packet
/// bytes, and map bytes by map and offset.
type End = (u32, [u64; 3], Vec<u8>, BTreeMap<(String, u64), u8>);

fn end(lifted: &Lifted, packet: &[u8], fill: u8) -> Option<End> {
    let (program, layout) = (&lifted.program, &lifted.layout);
    let mut environment = Environment::with_fill(program, fill);
    for (index, input) in program.inputs.iter().enumerate() {
        if input.kind == InputKind::PacketLength {
            environment.inputs.insert(InputId::from(index), packet.len() as u64);
        }
    }
    let bytes = (0..).zip(packet).map(|(at, &byte)| ((layout.packet, at), byte));
    environment.memory.extend(bytes);
    let run = run(program, &environment, 10_000).ok()?;
    let byte = |region: RegionId, at: u64| {
        let written = run.written.get(&(region, at)).copied();
        written.or(environment.memory.get(&(region, at)).copied()).unwrap_or(fill)
    };
    let word = |region, at: u64| {
        (0..4).rev().fold(0u64, |word, n| word << 8 | u64::from(byte(region, at + n)))
    };
    let base = run.regs[program.regions[layout.packet.index()].base.index()];
    let ends = [0, 4, 8].map(|field| word(layout.context, field).wrapping_sub(base));
    let packet = (0..ends[1].wrapping_sub(ends[0]).min(4096))
        .map(|at| byte(layout.packet, (i64::from(ends[0] as u32 as i32) as u64).wrapping_add(at)));
    let maps = layout.maps.iter().map(|map| (map.values, &map.name));
    let maps: BTreeMap<RegionId, &String> = maps.collect();
    let written = run.written.iter().filter(|&(_, &byte)| byte != fill);
    let written = written
        .filter_map(|(&(region, at), &byte)| Some((((*maps.get(&region)?).clone(), at), byte)));
    Some((word(layout.result, 0) as u32, ends, packet.collect(), written.collect()))
}

fn packets(runner: &mut TestRunner) -> Vec<Vec<u8>> {
    let small = prop_oneof![3 => any::<u8>(), 1 => 0u8..8];
    let length = usize::from(LENGTHS.0)..=usize::from(LENGTHS.1);
    let packets = proptest::collection::vec(proptest::collection::vec(small, length), PACKETS);
    packets.new_tree(runner).expect("nothing is filtered").current()
}

fn runner(seed: u64) -> TestRunner {
    let mut bytes = [1; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[test]
fn programs_do_what_they_do() {
    let programs = Programs::new(Features::default(), 8);
    let (mut proved, mut all) = (0, 0);
    for seed in 0..60 {
        let program = programs.from_seed(seed);
        let Some((object, linked)) = linked(&program.object()) else { continue };
        let proof = compare(&object, &linked, &linked).expect("it can be lifted");
        assert_eq!(proof.counterexample, None, "{program}");
        proved += usize::from(proof.proved);
        all += 1;
    }
    assert!(proved * 10 >= all * 8, "{proved} of {all}");
}

#[test]
fn mutants_that_show_are_not_proved() {
    let features = Features { random: false, ..Features::default() };
    let programs = Programs::new(features, 8);
    let (mut shown, mut refuted, mut unseen, mut proved) = (0, 0, 0, 0);
    for seed in 0..150 {
        let program = programs.from_seed(1000 + seed);
        let mut runner = runner(seed);
        let (place, choice) = (seed as usize * 31 + 7, seed as u32 * 13);
        let Some(changed) = mutant(&program, place, choice) else { continue };
        let (Some((object, original)), Some((_, other))) =
            (linked(&program.object()), linked(&changed))
        else {
            continue;
        };
        let options = LiftOptions {
            receive: Receive::PAGE.with_length(LENGTHS.0, LENGTHS.1),
            ..Default::default()
        };
        let (Ok(first), Ok(second)) =
            (lift(&object, &original, &options), lift(&object, &other, &options))
        else {
            continue;
        };
        let differs = packets(&mut runner).iter().any(|packet| {
            [0, 0xa5].iter().any(|&fill| {
                match (end(&first, packet, fill), end(&second, packet, fill)) {
                    (Some(first), Some(second)) => first != second,
                    _ => false,
                }
            })
        });
        let Some(proof) = compare(&object, &original, &other) else { continue };
        if differs {
            assert!(!proof.proved, "seed {seed}: {program}\n{other:?}");
            shown += 1;
            refuted += usize::from(proof.counterexample.is_some());
        } else {
            unseen += 1;
            proved += usize::from(proof.proved);
        }
    }
    assert!(shown > 40 && refuted * 10 >= shown * 8, "{refuted} of {shown}");
    assert!(proved > 5, "{proved} of {unseen}");
}

#[test]
fn mutants_that_the_kernel_tells_apart_are_not_proved() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let programs = Programs::new(Features { maps: false, ..Features::default() }, 8);
    let (mut shown, mut compared) = (0, 0);
    for seed in 0..80 {
        let program = programs.from_seed(5000 + seed);
        let Some(changed) = mutant(&program, seed as usize * 17 + 3, seed as u32 * 7) else {
            continue;
        };
        let (Some((object, original)), Some((second, other))) =
            (linked(&program.object()), linked(&changed))
        else {
            continue;
        };
        // The verifier may reject the changed program.
        let (Ok(first), Ok(loaded)) = (kernel.load(&object, 0), kernel.load(&second, 0)) else {
            continue;
        };
        let Some(proof) = compare(&object, &original, &other) else { continue };
        let run = |program: &slowpath_kernel::LoadedProgram, packet: &[u8]| {
            let run = program.run(packet, 1).expect("runs");
            (run.return_value, run.packet)
        };
        let packets = packets(&mut runner(seed));
        let differs = packets.iter().any(|packet| run(&first, packet) != run(&loaded, packet));
        assert!(!(differs && proof.proved), "seed {seed}: {program}\n{other:?}");
        shown += usize::from(differs);
        compared += packets.len();
        // In the kernel, the memory around the packet holds zeros.
        if let Some(found) = proof.counterexample.filter(|found| found.room.is_empty()) {
            let digits = found.packet.as_bytes().chunks(2);
            let digits = digits.map(|pair| std::str::from_utf8(pair).expect("digits"));
            let packet: Vec<u8> =
                digits.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect();
            assert_ne!(run(&first, &packet), run(&loaded, &packet), "seed {seed}: {program}");
            compared += 1;
        }
    }
    assert!(shown > 15, "{shown}");
    Oracle::Kernel.compared(compared, "packets of changed programs");
}
