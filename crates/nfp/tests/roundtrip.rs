//! Generated listings print and read back the same; damaged ones give an error, never a panic.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use slowpath_nfp::{
    Address, AluOp, Bank, BranchCondition, Insn, LiftOptions, Listing, LocalAccess, MemCommand,
    MulStep, Operand, Shift, ShiftAmount, ShiftKind, lift, parse, parse_bytes,
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

/// A destination and whether both banks are written.
fn destination() -> impl Strategy<Value = (Operand, bool)> {
    prop_oneof![
        4 => (gpr(), any::<bool>()),
        1 => prop_oneof![local(), xfer(), Just(Operand::None)].prop_map(|dst| (dst, false)),
    ]
}

/// A destination whose old value is read.
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

/// Operands of an operator: `--` where the first is ignored, sometimes.
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
    (command, 0..32u8, address, 1..32u8, any::<bool>(), option::of(0..16u8)).prop_map(
        |(command, xfer, address, count, indirect, signal)| Insn::Mem {
            command,
            xfer,
            address,
            count,
            indirect,
            signal,
        },
    )
}

fn multiplication() -> impl Strategy<Value = Insn> {
    (select(MulStep::ALL.to_vec()), destination(), source(), source()).prop_map(
        |(step, (dst, both), a, b)| match step.delivers() {
            true => Insn::MulStep { a: dst, b: Operand::None, step, both },
            false => Insn::MulStep { a, b, step, both: false },
        },
    )
}

fn branch() -> impl Strategy<Value = Insn> {
    let target = prop_oneof![0..40u32, 15_000..15_003u32, any::<u32>()];
    (select(BranchCondition::ALL.to_vec()), target, 0..4u8)
        .prop_map(|(condition, target, defer)| Insn::Branch { condition, target, defer })
}

fn insn() -> impl Strategy<Value = Insn> {
    let value = (any::<u16>(), any::<bool>())
        .prop_map(|(value, inverted)| u32::from(value) | if inverted { 0xffff_0000 } else { 0 });
    prop_oneof![
        (destination(), operation(false)).prop_map(|((dst, both), (a, op, b))| Insn::Alu {
            dst,
            a,
            op,
            b,
            both
        }),
        (destination(), operation(true), shift()).prop_map(|((dst, both), (a, op, b), shift)| {
            Insn::AluShf { dst, a, op, b, shift, both }
        }),
        (destination(), source(), amount()).prop_map(|((dst, both), b, amount)| Insn::Asr {
            dst,
            b,
            amount,
            both
        }),
        (destination(), source(), source(), amount())
            .prop_map(|((dst, both), a, b, amount)| Insn::DblShf { dst, a, b, amount, both }),
        (destination(), value, select(vec![0, 8, 16]))
            .prop_map(|((dst, both), value, shift)| Insn::Immed { dst, value, shift, both }),
        (merged(), any::<u16>()).prop_map(|((dst, both), value)| Insn::ImmedW1 {
            dst,
            value,
            both
        }),
        (merged(), 0..16u8, source(), shift(), any::<bool>()).prop_map(
            |((dst, both), mask, src, shift, clear)| {
                Insn::LdField { dst, mask, src, shift, clear, both }
            }
        ),
        (0..4u8, source()).prop_map(|(index, src)| Insn::LocalCsrWr { index, src }),
        memory(),
        multiplication(),
        Just(Insn::Nop),
        branch(),
    ]
}

fn instructions(listing: &Listing) -> Vec<Insn> {
    listing.insns().copied().collect()
}

/// Either a listing that prints back the same, and has a meaning or not, or an error with a line.
fn check_contract(bytes: &[u8]) {
    match parse_bytes(bytes) {
        Ok(listing) => {
            let again = parse(&listing.to_string()).expect("printed listings can be read");
            assert_eq!(instructions(&again), instructions(&listing));
            if let Ok(program) = lift(&listing, "generated", &LiftOptions::default()) {
                program.validate().expect("lifted programs are well formed");
            }
        }
        Err(error) => assert!(error.line >= 1, "{error}"),
    }
}

proptest! {
    #[test]
    fn listings_print_and_read_back(insns in vec(insn(), 1..40)) {
        let listing = Listing::new(insns);
        let text = listing.to_string();
        let again = parse(&text).expect("printed listings can be read");
        prop_assert_eq!(&again, &listing);
        prop_assert_eq!(again.to_string(), text);
    }

    #[test]
    fn straight_programs_are_well_formed(insns in vec(insn(), 1..30)) {
        let body = insns.into_iter().filter(|insn| !insn.is_branch());
        let exit =
            Insn::Branch { condition: BranchCondition::Always, target: 15_000, defer: 0 };
        for one in body {
            // One by one, so that one refusal does not hide the others.
            let listing = Listing::new([one, exit]);
            if let Ok(program) = lift(&listing, "generated", &LiftOptions::default()) {
                prop_assert_eq!(program.validate(), Ok(()));
            }
        }
    }

    #[test]
    fn damaged_listings_give_one_located_error(
        insns in vec(insn(), 1..20),
        damage in vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..4),
    ) {
        let mut bytes = Listing::new(insns).to_string().into_bytes();
        for (place, byte, kind) in damage {
            let at = place.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        check_contract(&bytes);
    }

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        check_contract(&bytes);
    }
}
