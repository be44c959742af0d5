//! Lists every instruction of RFC 9669 and of CPU version 4, each in a small test program.
//!
//! Each case is a piece of code. It starts with `r3` = a, `r4` = b, `r0` = c, and with an 8-byte
//! cell on the stack that contains a. It leaves its results in these three registers and the cell.
//! Operands are read from the packet, and results are written to it.

use std::collections::BTreeMap;

use slowpath_bpf::insn::{
    AluOp, AtomicOp, Call, Condition, Imm64, Insn, Register, Size, Source, SwapKind, Width, decode,
};

/// Value that `r3` gets if the tested conditional jump is not taken.
pub const NOT_TAKEN: i32 = 0x77;
/// Offset in bytes of the results in the packet. These are `r3`, `r4`, `r0` and the stack cell,
/// with 8 bytes each.
pub const RESULTS: i16 = 24;
/// Length of the packet in bytes.
pub const PACKET: usize = 128;
/// Offset in bytes of the stack cell from the frame pointer.
const CELL: i16 = -8;

const ALU: [AluOp; 14] = [
    AluOp::Add,
    AluOp::Sub,
    AluOp::Mul,
    AluOp::Div,
    AluOp::Sdiv,
    AluOp::Or,
    AluOp::And,
    AluOp::Lsh,
    AluOp::Rsh,
    AluOp::Mod,
    AluOp::Smod,
    AluOp::Xor,
    AluOp::Mov,
    AluOp::Arsh,
];
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
const SIZES: [Size; 4] = [Size::B, Size::H, Size::W, Size::DW];
const WIDTHS: [Width; 2] = [Width::W32, Width::W64];

pub fn reg(number: u8) -> Register {
    Register::new(number).unwrap_or(Register::R0)
}

/// Returns the immediate operands with which an operation of this width is tested.
fn immediates(op: Option<AluOp>, width: Width) -> Vec<i32> {
    match op {
        Some(AluOp::Lsh | AluOp::Rsh | AluOp::Arsh) => vec![0, 1, 7, i32::from(width.bits()) - 1],
        Some(AluOp::Div | AluOp::Sdiv | AluOp::Mod | AluOp::Smod) => {
            vec![1, -1, i32::MIN, i32::MAX, 3]
        }
        _ => vec![0, 1, -1, i32::MIN, i32::MAX, 0x1234_5678],
    }
}

/// Returns all instructions to test.
pub fn instructions() -> Vec<Insn> {
    let (a, b, frame) = (reg(3), reg(4), Register::FRAME);
    let mut all = Vec::new();
    for width in WIDTHS {
        for op in ALU {
            all.push(Insn::Alu { width, op, dst: a, src: Source::Reg(b) });
            // Both operands in the same register.
            all.push(Insn::Alu { width, op, dst: a, src: Source::Reg(a) });
            let immediate = |value| Insn::Alu { width, op, dst: a, src: Source::Imm(value) };
            all.extend(immediates(Some(op), width).into_iter().map(immediate));
        }
        all.push(Insn::Neg { width, dst: a });
        for from in [Size::B, Size::H, Size::W] {
            if from.bits() < width.bits() {
                all.push(Insn::MoveSigned { width, from, dst: a, src: b });
            }
        }
        for cond in CONDITIONS {
            all.push(Insn::Branch { width, cond, dst: a, src: Source::Reg(b), offset: 1 });
            let immediate =
                |value| Insn::Branch { width, cond, dst: a, src: Source::Imm(value), offset: 1 };
            all.extend(immediates(None, width).into_iter().map(immediate));
        }
        for op in atomics() {
            for offset in [CELL, CELL + 8 - i16::from(width.bits() / 8)] {
                all.push(Insn::Atomic { op, width, base: frame, offset, src: b });
            }
        }
    }
    for kind in [SwapKind::Le, SwapKind::Be, SwapKind::Always] {
        let swap = |size| Insn::Swap { kind, size, dst: a };
        all.extend([Size::H, Size::W, Size::DW].map(swap));
    }
    for size in SIZES {
        for offset in [CELL, CELL + 8 - i16::from(size.bytes())] {
            all.push(Insn::Load { size, signed: false, dst: a, base: frame, offset });
            if size != Size::DW {
                all.push(Insn::Load { size, signed: true, dst: a, base: frame, offset });
            }
            all.push(Insn::Store { size, base: frame, offset, src: Source::Reg(b) });
            all.push(Insn::Store { size, base: frame, offset, src: Source::Imm(-0x1234_5678) });
            all.push(Insn::LoadAcquire { size, dst: a, base: frame, offset });
            all.push(Insn::StoreRelease { size, base: frame, offset, src: b });
        }
    }
    all.push(Insn::LoadImm64 { dst: a, value: Imm64::Value(0x8765_4321_0fed_cba9) });
    all.push(Insn::Jump { offset: 1, long: false });
    all.push(Insn::Jump { offset: 1, long: true });
    all.push(Insn::MayGoto { offset: 1 });
    all
}

fn atomics() -> Vec<AtomicOp> {
    let mut all = vec![AtomicOp::Xchg, AtomicOp::Cmpxchg];
    for fetch in [false, true] {
        all.extend([AtomicOp::Add { fetch }, AtomicOp::Or { fetch }]);
        all.extend([AtomicOp::And { fetch }, AtomicOp::Xor { fetch }]);
    }
    all
}

/// Returns an instruction to test, with code that makes its effect visible: if it is a jump that is
/// not taken, `r3` becomes [`NOT_TAKEN`].
pub fn body(insn: Insn) -> Vec<Insn> {
    let mut body = Vec::new();
    if let Insn::Jump { .. } = insn {
        // The kernel rejects unreachable code.
        let (b, c) = (reg(4), Source::Reg(reg(0)));
        let cond = Condition::Eq;
        body.push(Insn::Branch { width: Width::W64, cond, dst: b, src: c, offset: 1 });
    }
    body.push(insn);
    if insn.slots() == 2 {
        body.push(Insn::SecondSlot);
    }
    if insn.jump_offset().is_some() {
        body.push(mov(3, NOT_TAKEN));
    }
    body
}

pub fn mov(dst: u8, value: i32) -> Insn {
    let src = Source::Imm(value);
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst: reg(dst), src }
}

pub fn load(size: Size, dst: u8, base: u8, offset: i16) -> Insn {
    Insn::Load { size, signed: false, dst: reg(dst), base: reg(base), offset }
}

pub fn store(base: u8, offset: i16, src: u8) -> Insn {
    Insn::Store { size: Size::DW, base: reg(base), offset, src: Source::Reg(reg(src)) }
}

/// Returns code that loads the operands from the packet, whose address is in `r6`.
pub fn operands() -> Vec<Insn> {
    vec![
        load(Size::DW, 3, 6, 0),
        load(Size::DW, 4, 6, 8),
        load(Size::DW, 0, 6, 16),
        store(10, CELL, 3),
    ]
}

/// Returns code that sets the operands to constants.
pub fn constants(values: [u64; 3]) -> Vec<Insn> {
    let mut insns = Vec::new();
    for (number, value) in [3, 4, 0].into_iter().zip(values) {
        insns.push(Insn::LoadImm64 { dst: reg(number), value: Imm64::Value(value) });
        insns.push(Insn::SecondSlot);
    }
    insns.push(store(10, CELL, 3));
    insns
}

/// Returns a program that the kernel accepts. It sets the operands, runs `body`, and then writes
/// the results of `body` to the packet.
pub fn program(operands: &[Insn], body: &[Insn]) -> Vec<Insn> {
    let copy =
        Insn::Alu { width: Width::W64, op: AluOp::Mov, dst: reg(2), src: Source::Reg(reg(6)) };
    let end = Insn::Alu {
        width: Width::W64,
        op: AluOp::Add,
        dst: reg(2),
        src: Source::Imm(PACKET as i32),
    };
    let mut insns = vec![
        load(Size::W, 6, 1, 0),
        load(Size::W, 7, 1, 4),
        copy,
        end,
        Insn::Branch {
            width: Width::W64,
            cond: Condition::Le,
            dst: reg(2),
            src: Source::Reg(reg(7)),
            offset: 2,
        },
        mov(0, 0),
        Insn::Exit,
    ];
    insns.extend_from_slice(operands);
    insns.extend_from_slice(body);
    for (number, from) in (0..).zip([3, 4, 0]) {
        insns.push(store(6, RESULTS + 8 * number, from));
    }
    insns.push(load(Size::DW, 3, 10, CELL));
    insns.push(store(6, RESULTS + 24, 3));
    insns.extend([mov(0, 1), Insn::Exit]);
    insns
}

/// Returns the kind of an instruction, which is its text without operands.
pub fn kind(insn: Insn) -> String {
    let zero = Register::R0;
    let source = |src| match src {
        Source::Reg(_) => Source::Reg(zero),
        Source::Imm(_) => Source::Imm(0),
    };
    let plain = match insn {
        Insn::Alu { width, op, src, .. } => Insn::Alu { width, op, dst: zero, src: source(src) },
        Insn::Neg { width, .. } => Insn::Neg { width, dst: zero },
        Insn::MoveSigned { width, from, .. } => {
            Insn::MoveSigned { width, from, dst: zero, src: zero }
        }
        Insn::Swap { kind, size, .. } => Insn::Swap { kind, size, dst: zero },
        Insn::LoadImm64 { value, .. } => {
            let value = match value {
                Imm64::Value(_) => Imm64::Value(0),
                Imm64::MapFd(_) => Imm64::MapFd(0),
                Imm64::MapFdValue { .. } => Imm64::MapFdValue { fd: 0, offset: 0 },
                Imm64::Variable { .. } => Imm64::Variable { id: 0, module: 0 },
                Imm64::Function { .. } => Imm64::Function { offset: 0 },
                Imm64::Map(_) => Imm64::Map(0),
                Imm64::MapValue { .. } => Imm64::MapValue { map: 0, offset: 0 },
            };
            Insn::LoadImm64 { dst: zero, value }
        }
        Insn::SecondSlot => insn,
        Insn::Load { size, signed, .. } => {
            Insn::Load { size, signed, dst: zero, base: zero, offset: 0 }
        }
        Insn::Store { size, src, .. } => {
            Insn::Store { size, base: zero, offset: 0, src: source(src) }
        }
        Insn::Atomic { op, width, .. } => {
            Insn::Atomic { op, width, base: zero, offset: 0, src: zero }
        }
        Insn::LoadAcquire { size, .. } => {
            Insn::LoadAcquire { size, dst: zero, base: zero, offset: 0 }
        }
        Insn::StoreRelease { size, .. } => {
            Insn::StoreRelease { size, base: zero, offset: 0, src: zero }
        }
        Insn::LoadPacket { size, index, .. } => {
            Insn::LoadPacket { size, index: index.map(|_| zero), offset: 0 }
        }
        Insn::Jump { long, .. } => Insn::Jump { offset: 0, long },
        Insn::Branch { width, cond, src, .. } => {
            Insn::Branch { width, cond, dst: zero, src: source(src), offset: 0 }
        }
        Insn::MayGoto { .. } => Insn::MayGoto { offset: 0 },
        Insn::Call(call) => Insn::Call(match call {
            Call::Helper(_) => Call::Helper(0),
            Call::Subprogram { .. } => Call::Subprogram { offset: 0 },
            Call::Kfunc { .. } => Call::Kfunc { id: 0, module: 0 },
        }),
        Insn::Exit => insn,
    };
    format!("{plain:?}")
}

/// Returns every kind of instruction that the decoder knows, each with a decoded example.
pub fn decoded_kinds() -> BTreeMap<String, Insn> {
    let mut kinds = BTreeMap::new();
    for code in 0..=u8::MAX {
        let atomic = code & 0xe7 == 0xc3;
        let numbers: Vec<i32> = if atomic { (0..=0x1ff).collect() } else { vec![0, 1, 16, 32, 64] };
        for src in 0..8u8 {
            for offset in [0u8, 1, 8, 16, 32] {
                for number in &numbers {
                    let mut bytes = vec![code, src << 4, offset, 0];
                    bytes.extend(number.to_le_bytes());
                    if code == 0x18 {
                        bytes.extend([0; 8]);
                    }
                    if let Ok(insns) = decode(&bytes) {
                        kinds.insert(kind(insns[0]), insns[0]);
                    }
                }
            }
        }
    }
    kinds
}
