//! Strategies that generate instructions that the parser accepts.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use slowpath_nfp::{
    Address, AluOp, Bank, BranchCondition, Insn, LocalAccess, MemCommand, MulStep, Operand, Shift,
    ShiftAmount, ShiftKind,
};

fn gpr() -> impl Strategy<Value = Operand> {
    (any::<bool>(), 0..32u8)
        .prop_map(|(a, number)| Operand::Gpr(if a { Bank::A } else { Bank::B }, number))
}

fn local() -> impl Strategy<Value = Operand> {
    let access = prop_oneof![
        6 => (0..16u8).prop_map(LocalAccess::Word),
        1 => Just(LocalAccess::Increment),
        1 => Just(LocalAccess::Decrement),
    ];
    (0..4u8, access).prop_map(|(index, access)| Operand::Local { index, access })
}

fn xfer() -> impl Strategy<Value = Operand> {
    (0..32u8).prop_map(Operand::Xfer)
}

fn constant() -> impl Strategy<Value = Operand> {
    (0..=0xffu32).prop_map(Operand::Immediate)
}

fn source() -> impl Strategy<Value = Operand> {
    prop_oneof![4 => gpr(), 1 => local(), 1 => xfer(), 1 => constant()]
}

/// Returns a strategy for destination operands. The flag is true if the result is written to both
/// register banks.
fn destination() -> impl Strategy<Value = (Operand, bool)> {
    prop_oneof![
        4 => (gpr(), any::<bool>()),
        1 => prop_oneof![local(), xfer(), Just(Operand::None)].prop_map(|dst| (dst, false)),
    ]
}

/// Returns a strategy for destinations in which an instruction keeps some of the old bytes. The
/// flag is true if the result is written to both register banks.
fn merged() -> impl Strategy<Value = (Operand, bool)> {
    prop_oneof![4 => (gpr(), any::<bool>()), 1 => local().prop_map(|dst| (dst, false))]
}

fn amount() -> impl Strategy<Value = ShiftAmount> {
    prop_oneof![4 => (0..32u8).prop_map(ShiftAmount::Bits), 1 => Just(ShiftAmount::Indirect)]
}

fn shift() -> impl Strategy<Value = Option<Shift>> {
    let straight = select(vec![ShiftKind::Left, ShiftKind::Right]);
    let rotation = select(vec![ShiftKind::RotateLeft, ShiftKind::RotateRight]);
    option::of(prop_oneof![
        (straight, amount()).prop_map(|(kind, amount)| Shift { kind, amount }),
        (rotation, 0..32u8)
            .prop_map(|(kind, bits)| Shift { kind, amount: ShiftAmount::Bits(bits) }),
    ])
}

/// Returns a strategy for an operator with its two operands. Only logical operators are generated
/// if `shifts` is true. If the operator ignores its first operand, this is sometimes `--`.
fn operation(shifts: bool) -> impl Strategy<Value = (Operand, AluOp, Operand)> {
    let operators: Vec<_> =
        AluOp::ALL.iter().copied().filter(|op| !shifts || op.is_logical()).collect();
    (source(), select(operators), source(), any::<bool>()).prop_map(|(a, op, b, none)| {
        (if none && op.ignores_first() { Operand::None } else { a }, op, b)
    })
}

fn memory() -> impl Strategy<Value = Insn> {
    let part = || prop_oneof![4 => gpr(), 1 => constant()];
    let address = (part(), part(), any::<bool>())
        .prop_map(|(x, y, dram)| if dram { Address::Dram(x, y) } else { Address::Sram(x, y) });
    let command = select(MemCommand::ALL.to_vec());
    let wait = option::of((0..16u8, 0..3u8));
    (command, 0..32u8, address, 1..32u8, any::<bool>(), wait).prop_map(
        |(command, xfer, address, count, indirect, wait)| Insn::Mem {
            command,
            xfer,
            address,
            count,
            indirect,
            signal: wait.map(|(signal, _)| signal),
            defer: wait.map_or(0, |(_, defer)| defer),
        },
    )
}

fn multiplication() -> impl Strategy<Value = Insn> {
    (select(MulStep::ALL.to_vec()), destination(), source(), source()).prop_map(
        |(step, (dst, both_banks), a, b)| match step.writes_result() {
            true => Insn::MulStep { a: dst, b: Operand::None, step, both_banks },
            false => Insn::MulStep { a, b, step, both_banks: false },
        },
    )
}

fn branch() -> impl Strategy<Value = Insn> {
    let target = || prop_oneof![0..40u32, 15_000..15_003u32, any::<u32>()];
    prop_oneof![
        4 => (select(BranchCondition::ALL.to_vec()), target(), 0..4u8)
            .prop_map(|(condition, target, defer)| Insn::Branch { condition, target, defer }),
        1 => (source(), 0..32u8, any::<bool>(), target(), 0..4u8).prop_map(
            |(src, bit, set, target, defer)| Insn::BranchBit { src, bit, set, target, defer }
        ),
        1 => (source(), 0..4u8).prop_map(|(src, defer)| Insn::Return { src, defer }),
    ]
}

/// Returns a strategy for byte addresses of control registers. Half of the addresses are those of
/// registers that have a name.
fn control_register() -> impl Strategy<Value = u16> {
    let named = select(vec![0x64, 0x6c, 0x94, 0x9c, 0x148]);
    prop_oneof![1 => (0..0x800u16).prop_map(|register| 4 * register), 1 => named]
}

/// Returns a strategy for all instructions.
pub fn insn() -> impl Strategy<Value = Insn> {
    let value = (any::<u16>(), any::<bool>())
        .prop_map(|(value, inverted)| u32::from(value) | if inverted { 0xffff_0000 } else { 0 });
    prop_oneof![
        (destination(), operation(false)).prop_map(|((dst, both_banks), (a, op, b))| Insn::Alu {
            dst,
            a,
            op,
            b,
            both_banks
        }),
        (destination(), operation(true), shift()).prop_map(
            |((dst, both_banks), (a, op, b), shift)| {
                Insn::AluShf { dst, a, op, b, shift, both_banks }
            }
        ),
        (destination(), source(), amount()).prop_map(|((dst, both_banks), b, amount)| Insn::Asr {
            dst,
            b,
            amount,
            both_banks
        }),
        (destination(), source(), source(), amount()).prop_map(
            |((dst, both_banks), a, b, amount)| Insn::DblShf { dst, a, b, amount, both_banks }
        ),
        (destination(), value, select(vec![0, 8, 16])).prop_map(
            |((dst, both_banks), value, shift)| Insn::Immed { dst, value, shift, both_banks }
        ),
        (merged(), any::<u16>()).prop_map(|((dst, both_banks), value)| Insn::ImmedW1 {
            dst,
            value,
            both_banks
        }),
        (merged(), 0..16u8, source(), shift(), any::<bool>()).prop_map(
            |((dst, both_banks), mask, src, shift, clear)| {
                Insn::LdField { dst, mask, src, shift, clear, both_banks }
            }
        ),
        (0..4u8, source()).prop_map(|(index, src)| Insn::LocalCsrWr { index, src }),
        control_register().prop_map(|csr| Insn::LocalCsrRd { csr }),
        memory(),
        multiplication(),
        Just(Insn::Nop),
        branch(),
    ]
}
