//! Tests fingerprints of paths, which are sums over the executed basic blocks. A fingerprint shows
//! if all repetitions of a test run take the same path. Repetitions can differ, because the kernel
//! restores nothing between them.

use crate::support;

use slowpath_bpf::Object;
use slowpath_bpf::insn::{
    AluOp, Call, Condition, Insn, Size, Source, Width, helper::XDP_ADJUST_HEAD,
};
use slowpath_kernel::{Context, CountingProgram, Kernel, Tally};
use slowpath_oracle::Oracle;
use support::{assemble, examples, isa, kernel, object, packets};

const W64: Width = Width::W64;
const DROP: i32 = 1;
const PASS: i32 = 2;

fn branch(cond: Condition, dst: u8, src: Source, offset: i16) -> Insn {
    Insn::Branch { width: W64, cond, dst: isa::reg(dst), src, offset }
}

fn load(dst: u8, base: u8, offset: i16, size: Size) -> Insn {
    Insn::Load { size, signed: false, dst: isa::reg(dst), base: isa::reg(base), offset }
}

fn set(dst: u8, imm: i32) -> Insn {
    Insn::Alu { width: W64, op: AluOp::Mov, dst: isa::reg(dst), src: Source::Imm(imm) }
}

fn add(dst: u8, imm: i32) -> Insn {
    Insn::Alu { width: W64, op: AluOp::Add, dst: isa::reg(dst), src: Source::Imm(imm) }
}

/// Returns a program that inserts 20 bytes in front of the packet, and drops the packet if there is
/// no room.
fn growing() -> Vec<Insn> {
    vec![
        set(2, -20),
        Insn::Call(Call::Helper(XDP_ADJUST_HEAD)),
        branch(Condition::Ne, 0, Source::Imm(0), 2),
        set(0, PASS),
        Insn::Exit,
        set(0, DROP),
        Insn::Exit,
    ]
}

/// Returns a program that drops the packet if its byte at offset 22 is 1, and otherwise decrements
/// this byte.
fn ageing() -> Vec<Insn> {
    let copy = |dst, src| Insn::Alu {
        width: W64,
        op: AluOp::Mov,
        dst: isa::reg(dst),
        src: Source::Reg(isa::reg(src)),
    };
    vec![
        load(2, 1, 0, Size::W),
        load(3, 1, 4, Size::W),
        copy(4, 2),
        add(4, 23),
        branch(Condition::Gt, 4, Source::Reg(isa::reg(3)), 6),
        load(5, 2, 22, Size::B),
        branch(Condition::Le, 5, Source::Imm(1), 4),
        add(5, -1),
        Insn::Store { size: Size::B, base: isa::reg(2), offset: 22, src: Source::Reg(isa::reg(5)) },
        set(0, PASS),
        Insn::Exit,
        set(0, DROP),
        Insn::Exit,
    ]
}

/// Runs a packet `repeat` times on new maps. Returns the counts of all runs together: instructions
/// and fingerprint.
fn tally(kernel: &Kernel, object: &Object, packet: &[u8], repeat: u32) -> Tally {
    let counted = kernel.load_fingerprinted(object, 0, &[]).unwrap_or_else(|e| panic!("{e}"));
    run(&counted, packet, repeat)
}

fn run(counted: &CountingProgram, packet: &[u8], repeat: u32) -> Tally {
    let run = counted.run_repeated(packet, &Context::default(), repeat);
    run.unwrap_or_else(|e| panic!("{e}")).1
}

#[test]
fn a_start_that_cannot_move_any_further_is_noticed() {
    let Some(kernel) = kernel() else { return };
    let object = assemble::object(&[&growing()]);
    let first = tally(&kernel, &object, &[0; 60], 1);
    assert_eq!(first.instructions, 5);
    for repeat in [2, 10] {
        let all = tally(&kernel, &object, &[0; 60], repeat);
        assert!(all.is_multiple_of(&first, repeat), "{repeat}: {all:?}");
    }
    // The headroom is less than 220 bytes.
    for repeat in [11, 1000] {
        let all = tally(&kernel, &object, &[0; 60], repeat);
        assert!(!all.is_multiple_of(&first, repeat), "{repeat}: {all:?}");
        // Both paths have the same number of instructions.
        assert_eq!(all.instructions, 5 * u64::from(repeat));
    }
    Oracle::Kernel.compared(5, "fingerprints");
}

#[test]
fn a_counter_in_the_packet_that_runs_out_is_noticed() {
    let Some(kernel) = kernel() else { return };
    let object = assemble::object(&[&ageing()]);
    let mut packet = [0; 60];
    packet[22] = 64;
    let first = tally(&kernel, &object, &packet, 1);
    assert!(tally(&kernel, &object, &packet, 63).is_multiple_of(&first, 63));
    assert!(!tally(&kernel, &object, &packet, 64).is_multiple_of(&first, 64));
    Oracle::Kernel.compared(3, "fingerprints");
}

#[test]
fn an_insertion_that_becomes_a_hit_is_noticed() {
    let Some(kernel) = kernel() else { return };
    let files = examples();
    let file = files.iter().find(|file| file.ends_with("flow_monitor.bpf.o")).expect("is there");
    let object = object(file);
    let packets = packets();
    let (_, packet) = packets.iter().find(|(kind, _)| *kind == "IPv4 UDP").expect("is there");
    let counted = kernel.load_fingerprinted(&object, 0, &[]).unwrap_or_else(|e| panic!("{e}"));
    let first = run(&counted, packet, 1);
    let second = run(&counted, packet, 1);
    assert_ne!(first, second);
    assert!(run(&counted, packet, 20).is_multiple_of(&second, 20));
    assert!(!tally(&kernel, &object, packet, 20).is_multiple_of(&first, 20));
    // Counting without fingerprints gives the same number.
    let plain = kernel.load_counted(&object, 0).unwrap_or_else(|e| panic!("{e}"));
    let (_, count) = plain.run(packet, &Context::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(count, first.instructions);
    Oracle::Kernel.compared(5, "fingerprints");
}
