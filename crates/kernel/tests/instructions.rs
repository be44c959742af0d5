//! Tests every instruction. The kernel and the concrete interpreter with the lifted program must
//! agree on special and random operands. The test also fails if its tables lack a kind of
//! instruction that the decoder knows.

use crate::support;

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_bpf::insn::{Call, Imm64, Insn, Size, Source};
use slowpath_bpf::lift::{LiftOptions, lift};
use slowpath_oracle::Oracle;
use support::replay_pair::ReplayPair;
use support::{assemble, isa, kernel};

/// Operands at the limits of value ranges, such as the largest signed number.
const EDGES: [u64; 14] = [
    0,
    1,
    2,
    31,
    64,
    0x7f,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_0000_0000,
    u64::MAX,
];
/// Number of pairs of random operands.
const RANDOM: usize = 16;

/// Returns one instruction of each kind that this test does not cover. Other tests cover these
/// kinds in programs with several functions or with maps, or check that programs with them are
/// rejected.
fn other_kinds() -> Vec<Insn> {
    let r0 = isa::reg(0);
    let imm = |value| Insn::LoadImm64 { dst: r0, value };
    let mut kinds = vec![
        // Tested by `functions_are_called` and by every program of `helpers.rs`.
        Insn::Call(Call::Subprogram { offset: 0 }),
        Insn::Call(Call::Helper(0)),
        Insn::Exit,
        imm(Imm64::Function { offset: 0 }),
        imm(Imm64::Map(0)),
        imm(Imm64::MapValue { map: 0, offset: 0 }),
    ];
    kinds.extend(refused());
    kinds
}

/// Returns instructions that slowpath rejects, because compiled XDP programs do not contain them.
fn refused() -> Vec<Insn> {
    let r0 = isa::reg(0);
    let imm = |value| Insn::LoadImm64 { dst: r0, value };
    let mut kinds = vec![
        Insn::Call(Call::Kfunc { id: 0, module: 0 }),
        imm(Imm64::MapFd(0)),
        imm(Imm64::MapFdValue { fd: 0, offset: 0 }),
        imm(Imm64::Variable { id: 0, module: 0 }),
    ];
    for size in [Size::B, Size::H, Size::W] {
        for index in [None, Some(r0)] {
            kinds.push(Insn::LoadPacket { size, index, offset: 0 });
        }
    }
    kinds
}

/// Returns true if the result of an instruction depends only on its first operand.
fn unary(insn: Insn) -> bool {
    match insn {
        Insn::Alu { src, .. } | Insn::Branch { src, .. } | Insn::Store { src, .. } => {
            matches!(src, Source::Imm(_))
        }
        Insn::Atomic { .. } | Insn::MoveSigned { .. } | Insn::StoreRelease { .. } => false,
        _ => true,
    }
}

fn packet(a: u64, b: u64, c: u64) -> Vec<u8> {
    let mut packet: Vec<u8> = [a, b, c].iter().flat_map(|word| word.to_le_bytes()).collect();
    packet.resize(isa::PACKET, 0);
    packet
}

#[test]
fn every_kind_of_instruction_is_in_a_table() {
    let known = isa::instructions().into_iter().chain(other_kinds()).map(isa::kind);
    let known: BTreeSet<String> = known.collect();
    let decoded: BTreeSet<String> = isa::decoded_kinds().into_keys().collect();
    let missing: Vec<&String> = decoded.difference(&known).collect();
    let invented: Vec<&String> = known.difference(&decoded).collect();
    assert!(missing.is_empty() && invented.is_empty(), "missing {missing:?}, extra {invented:?}");
}

#[test]
fn kernel_and_interpreter_agree_on_every_instruction() {
    let Some(kernel) = kernel() else { return };
    let mut rng = StdRng::seed_from_u64(9669);
    let (mut faults, mut compared) = (Vec::new(), 0);
    for insn in isa::instructions() {
        let object = assemble::object(&[&isa::program(&isa::operands(), &isa::body(insn))]);
        let mut replay_pair = match ReplayPair::new(&kernel, &object, 0) {
            Ok(replay_pair) => replay_pair,
            Err(fault) => {
                faults.push(format!("{insn}: {fault}"));
                continue;
            }
        };
        let mut operands = Vec::new();
        for a in EDGES {
            let others = if unary(insn) { &EDGES[..1] } else { &EDGES[..] };
            operands.extend(others.iter().map(|&b| (a, b, if b & 1 == 0 { a } else { b })));
        }
        operands.extend((0..RANDOM).map(|_| (rng.random(), rng.random(), rng.random())));
        for (a, b, c) in operands {
            if let Err(fault) = replay_pair.compare(&packet(a, b, c)) {
                faults.push(format!("{insn} with {a:#x}, {b:#x}, {c:#x}: {fault}"));
                break;
            }
            compared += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Oracle::Kernel.compared(compared, "operands of instructions");
}

/// Checks that instructions with constant operands have the same results in the kernel and in the
/// interpreter. The lifter computes such results in advance, and removes dead code.
#[test]
fn kernel_and_interpreter_agree_on_known_operands() {
    const OPERANDS: [[u64; 3]; 4] = [
        [0x8000_0000_0000_0000, u64::MAX, 0x8000_0000_0000_0000],
        [0x1_8000_0000, 0xffff_ffff_0000_0021, 0x8000_0000],
        [5, 0, 5],
        [0x1234_5678_ffff_fff0, 0x1234_5678_ffff_fff0, 7],
    ];
    let Some(kernel) = kernel() else { return };
    let (mut faults, mut compared) = (Vec::new(), 0);
    for insn in isa::instructions() {
        for values in OPERANDS {
            let program = isa::program(&isa::constants(values), &isa::body(insn));
            let done = ReplayPair::new(&kernel, &assemble::object(&[&program]), 0)
                .and_then(|mut replay_pair| replay_pair.compare(&packet(0, 0, 0)));
            match done {
                Ok(_) => compared += 1,
                Err(fault) => faults.push(format!("{insn} with {values:x?}: {fault}")),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Oracle::Kernel.compared(compared, "operands of instructions");
}

#[test]
fn functions_are_called() {
    let Some(kernel) = kernel() else { return };
    let w64 = slowpath_bpf::insn::Width::W64;
    let copy = |dst, src| Insn::Alu {
        width: w64,
        op: slowpath_bpf::insn::AluOp::Mov,
        dst: isa::reg(dst),
        src: Source::Reg(isa::reg(src)),
    };
    // The caller's r6 to r9 are preserved, and the callee has its own stack.
    let body = [copy(8, 4), copy(1, 3), copy(2, 4), Insn::Call(Call::Subprogram { offset: 0 })];
    let restore = [copy(3, 8), copy(4, 8)];
    let mut entry = isa::program(&isa::operands(), &[&body[..], &restore].concat());
    let call = entry.iter().position(|i| matches!(i, Insn::Call(_))).expect("there is a call");
    let offset = i32::try_from(entry.len() - call - 1).expect("short");
    entry[call] = Insn::Call(Call::Subprogram { offset });
    let callee = [
        isa::store(10, -8, 2),
        copy(8, 1),
        Insn::Alu {
            width: w64,
            op: slowpath_bpf::insn::AluOp::Xor,
            dst: isa::reg(8),
            src: Source::Reg(isa::reg(2)),
        },
        copy(0, 8),
        Insn::Exit,
    ];
    let object = assemble::object(&[&entry, &callee]);
    let mut replay_pair = ReplayPair::new(&kernel, &object, 0).unwrap_or_else(|e| panic!("{e}"));
    for a in EDGES {
        replay_pair.compare(&packet(a, !a >> 3, 5)).unwrap_or_else(|e| panic!("{a:#x}: {e}"));
    }
}

#[test]
fn instructions_for_loaded_programs_only_are_refused() {
    for insn in refused() {
        let mut insns = isa::body(insn);
        insns.extend([isa::mov(0, 1), Insn::Exit]);
        let object = match slowpath_bpf::Object::parse(&assemble::file(&[&insns])) {
            Ok(object) => object,
            Err(fault) => {
                assert_eq!(fault.to_string().lines().count(), 1, "{fault}");
                continue;
            }
        };
        let fault = match object.link(0, None) {
            Ok(linked) => lift(&object, &linked, &LiftOptions::default())
                .map_or_else(|fault| fault.to_string(), |_| panic!("{insn} is lifted")),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(fault.lines().count(), 1, "{fault}");
        assert!(fault.contains("xdp"), "{insn}: {fault}");
    }
}
