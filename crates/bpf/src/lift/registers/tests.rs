//! Tests that the kinds of pointers in registers are found along single paths through small
//! programs.

use super::{Offset, RegisterValue, Registers};
use crate::insn::helper::XDP_ADJUST_HEAD;
use crate::insn::{AluOp, Call, Condition, Insn, Register, Size, Source, Width};
use crate::lift::{LiftOptions, registers};
use crate::{BpfProgram, Object};

fn r(number: u8) -> Register {
    Register::new(number).expect("a register")
}

fn alu(op: AluOp, dst: u8, src: Source) -> Insn {
    Insn::Alu { width: Width::W64, op, dst: r(dst), src }
}

fn reg(op: AluOp, dst: u8, src: u8) -> Insn {
    alu(op, dst, Source::Reg(r(src)))
}

fn imm(op: AluOp, dst: u8, value: i32) -> Insn {
    alu(op, dst, Source::Imm(value))
}

fn load(size: Size, dst: u8, base: u8, offset: i16) -> Insn {
    Insn::Load { size, signed: false, dst: r(dst), base: r(base), offset }
}

/// Number of instructions that [`of`] inserts before those of a test. The inserted instructions
/// leave the context in `r9`, the start of the packet in `r6` and its end in `r7`. They check that
/// the packet has at least 60 bytes.
const START: usize = 6;

/// Returns the register values of a program: instructions that load the packet's start and end,
/// followed by `body`.
fn of(body: &[Insn]) -> Registers {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/alaw2ulaw.bpf.o");
    let object = Object::parse(&std::fs::read(path).expect("the example")).expect("an object");
    let mut program: BpfProgram = object.link(0, None).expect("it links");
    program.insns = vec![
        reg(AluOp::Mov, 9, 1),
        load(Size::W, 6, 1, 0),
        load(Size::W, 7, 1, 4),
        reg(AluOp::Mov, 8, 6),
        imm(AluOp::Add, 8, 60),
        jump_if(Condition::Gt, 8, Source::Reg(r(7)), body.len() as i16 + 1),
    ];
    program.insns.extend(body);
    program.insns.push(imm(AluOp::Mov, 0, 1));
    // Shorter packets exit here.
    program.insns.extend([imm(AluOp::Mov, 0, 2), Insn::Exit]);
    program.lines = vec![None; program.insns.len()];
    program.subprograms.truncate(1);
    registers(&object, &program, &LiftOptions::default()).expect("it can be followed")
}

fn jump_if(cond: Condition, dst: u8, src: Source, offset: i16) -> Insn {
    Insn::Branch { width: Width::W64, cond, dst: r(dst), src, offset }
}

#[test]
fn kinds_of_pointers_are_distinguished() {
    let known = of(&[
        reg(AluOp::Mov, 1, 10),
        imm(AluOp::Add, 1, -8),
        load(Size::B, 2, 6, 0),
        imm(AluOp::And, 2, 7),
        reg(AluOp::Mov, 3, 6),
        reg(AluOp::Add, 3, 2),
        imm(AluOp::Mov, 4, 5),
    ]);
    let at = START + 7;
    assert_eq!(known.before(at, 9), RegisterValue::Context { offset: 0 });
    assert_eq!(known.before(at, 6), RegisterValue::Packet);
    assert_eq!(known.before(at, 7), RegisterValue::PacketEnd);
    let stack = RegisterValue::Stack { caller: false, offset: Offset::Constant(-8) };
    assert_eq!(known.before(at, 1), stack);
    assert_eq!(known.stack_frames(at, 1), [(0, Some(-8))]);
    assert_eq!(known.before(at, 2), RegisterValue::Other, "a number");
    assert_eq!(known.before(at, 3), RegisterValue::Packet);
    assert_eq!(known.before(at, 4), RegisterValue::Constant(5));
    assert!(known.is_reached(at + 2) && !known.is_reached(at + 3));
}

#[test]
fn distances_are_known_between_pointers_of_one_origin() {
    let known = of(&[
        reg(AluOp::Mov, 1, 6),
        imm(AluOp::Add, 1, 14),
        load(Size::B, 2, 6, 0),
        reg(AluOp::Mov, 3, 6),
        reg(AluOp::Add, 3, 2),
        reg(AluOp::Mov, 4, 3),
        imm(AluOp::Add, 4, -2),
        reg(AluOp::Mov, 5, 6),
        reg(AluOp::Add, 5, 2),
    ]);
    let at = START + 9;
    assert_eq!(known.packet_distance((at, 6), (at, 1)), Some(14));
    assert_eq!(known.packet_distance((at, 3), (at, 4)), Some(-2));
    assert_eq!(known.packet_distance((at, 6), (at, 3)), None);
    assert_eq!(known.packet_distance((at, 3), (at, 5)), None, "the verifier does not see it");
    assert_eq!(known.packet_distance((at, 2), (at, 5)), None, "a number");
}

#[test]
fn constants_of_different_paths_stay_known() {
    let known = of(&[
        load(Size::B, 2, 6, 0),
        imm(AluOp::Mov, 3, 112),
        jump_if(Condition::Eq, 2, Source::Imm(0), 1),
        imm(AluOp::Mov, 3, 272),
        // The paths merge here.
        reg(AluOp::Mov, 4, 3),
        imm(AluOp::Rsh, 4, 3),
        reg(AluOp::Mov, 1, 6),
        reg(AluOp::Add, 1, 4),
        imm(AluOp::Add, 3, 2),
        imm(AluOp::Rsh, 3, 3),
        reg(AluOp::Mov, 5, 6),
        reg(AluOp::Add, 5, 3),
    ]);
    let at = START + 12;
    assert_eq!(known.before(at, 3), RegisterValue::Other, "14 or 34");
    assert_eq!(known.packet_distance((at, 1), (at, 5)), Some(0), "the same on either way");
    assert_eq!(known.packet_distance((at, 6), (at, 1)), None, "another on each way");
}

#[test]
fn moving_the_packets_head_forgets_pointers() {
    let known = of(&[
        imm(AluOp::Mov, 2, 4),
        reg(AluOp::Mov, 1, 9),
        Insn::Call(Call::Helper(XDP_ADJUST_HEAD)),
        load(Size::W, 8, 9, 0),
    ]);
    let at = START + 4;
    assert_eq!(known.before(at, 6), RegisterValue::Other);
    assert_eq!(known.before(at, 7), RegisterValue::Other);
    assert_eq!(known.before(at, 8), RegisterValue::Packet);
}

#[test]
fn stack_pointers_of_different_paths_are_one_of_several() {
    let known = of(&[
        load(Size::B, 2, 6, 0),
        reg(AluOp::Mov, 1, 10),
        imm(AluOp::Add, 1, -8),
        jump_if(Condition::Eq, 2, Source::Imm(0), 1),
        imm(AluOp::Add, 1, -8),
        reg(AluOp::Mov, 3, 1),
    ]);
    let RegisterValue::Stack { caller: false, offset: Offset::OneOf(offset) } =
        known.before(START + 6, 3)
    else {
        panic!("{:?}", known.before(START + 6, 3));
    };
    assert!([-8, -16].contains(&offset));
}

/// Returns true if the jump condition `cond` holds for two 64-bit numbers (RFC 9669, section 4.3).
fn holds(cond: Condition, a: u64, b: u64) -> bool {
    match cond {
        Condition::Eq => a == b,
        Condition::Ne => a != b,
        Condition::Set => a & b != 0,
        Condition::Gt => a > b,
        Condition::Ge => a >= b,
        Condition::Lt => a < b,
        Condition::Le => a <= b,
        Condition::Sgt => a as i64 > b as i64,
        Condition::Sge => a as i64 >= b as i64,
        Condition::Slt => (a as i64) < b as i64,
        Condition::Sle => a as i64 <= b as i64,
    }
}

const CONDITIONS: [Condition; 11] = [
    Condition::Eq,
    Condition::Ne,
    Condition::Set,
    Condition::Gt,
    Condition::Ge,
    Condition::Lt,
    Condition::Le,
    Condition::Sgt,
    Condition::Sge,
    Condition::Slt,
    Condition::Sle,
];

/// Lifts a jump that compares the addresses at offsets `a` and `b` of one stack frame. Returns
/// whether the jump may be taken, and whether it may fall through.
fn outcomes(width: Width, cond: Condition, a: i32, b: i32) -> (bool, bool) {
    let known = of(&[
        reg(AluOp::Mov, 1, 10),
        imm(AluOp::Add, 1, a),
        reg(AluOp::Mov, 2, 10),
        imm(AluOp::Add, 2, b),
        Insn::Branch { width, cond, dst: r(1), src: Source::Reg(r(2)), offset: 2 },
        imm(AluOp::Mov, 0, 1),
        Insn::Exit,
        imm(AluOp::Mov, 3, 1),
    ]);
    (known.is_reached(START + 7), known.is_reached(START + 5))
}

#[test]
fn addresses_in_one_frame_are_in_the_order_of_their_offsets() {
    // Addresses of frames on the kernel stacks of 64-bit and 32-bit machines.
    let frames = [0xffff_c900_0001_3e48_u64, 0xffff_8000_0a2b_bc10, 0xc012_3f40, 0x8000_0200];
    for cond in CONDITIONS {
        for (a, b) in [(-8, -16), (-16, -8), (-8, -8), (0, -512), (-512, 0)] {
            let at = |frame: u64, offset: i32| frame.wrapping_add_signed(offset.into());
            let wide = outcomes(Width::W64, cond, a, b);
            if cond == Condition::Set {
                assert_eq!(wide, (true, true), "{a} and {b} have bits that nobody knows");
                continue;
            }
            for frame in frames {
                let taken = holds(cond, at(frame, a), at(frame, b));
                assert_eq!(wide, (taken, !taken), "{cond:?} {a} {b} {frame:#x}");
            }
        }
    }
}

#[test]
fn halves_of_addresses_are_not_compared() {
    for cond in CONDITIONS {
        assert_eq!(outcomes(Width::W32, cond, -8, -16), (true, true), "{cond:?}");
    }
}

#[test]
fn an_unknown_address_is_not_compared() {
    let known = of(&[
        load(Size::B, 1, 6, 0),
        imm(AluOp::And, 1, 7),
        imm(AluOp::Sub, 1, 64),
        reg(AluOp::Add, 1, 10),
        reg(AluOp::Mov, 2, 10),
        imm(AluOp::Add, 2, -8),
        jump_if(Condition::Lt, 1, Source::Reg(r(2)), 2),
        imm(AluOp::Mov, 0, 1),
        Insn::Exit,
        imm(AluOp::Mov, 3, 1),
    ]);
    assert!(known.is_reached(START + 7) && known.is_reached(START + 9));
}
