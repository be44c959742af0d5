//! Tests that every feature of random programs occurs if it is enabled, and never occurs if it is
//! disabled.

use crate::common;

use common::{calls, generated, insns, jumps, opcodes};
use slowpath_bpf::insn::{AluOp, AtomicOp, Call, Insn, Register, Size, Source, SwapKind, Width};
use slowpath_generate::{Features, Generated};

/// Number of random programs among which every opcode and every pattern of instructions must occur.
const PROGRAMS: u64 = 1500;
const SIZE: usize = 10;
/// Minimum number of programs in which each pattern of instructions must occur.
const SEVERAL: usize = 8;

/// Returns the opcodes that the SmartNIC's driver translates, except packet loads of classic BPF.
/// The lower byte of each number is the opcode, and the upper byte is the width of a byte swap, or
/// 0 for other instructions.
fn offloadable() -> Vec<u16> {
    let (immediate, register) = (0x00, 0x08);
    let mut all = Vec::new();
    for class in [0x04, 0x07] {
        // Sum, difference, product, quotient, or, and, shifts, exclusive or, move.
        for op in [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0] {
            all.extend([class | op | immediate, class | op | register]);
        }
        all.push(class | 0x80);
    }
    for class in [0x05, 0x06] {
        for condition in [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0] {
            all.extend([class | condition | immediate, class | condition | register]);
        }
    }
    // Jump, call, exit, 64-bit immediate; swaps.
    all.extend([0x05, 0x85, 0x95, 0x18, 0x10dc, 0x20dc, 0x40dc]);
    for size in [0x00, 0x08, 0x10, 0x18] {
        // Loads, and stores of registers.
        all.extend([0x61 | size, 0x63 | size]);
    }
    all.extend([0xc3, 0xdb]);
    all
}

#[test]
fn every_opcode_occurs() {
    let found = opcodes(&generated(&Features::default(), SIZE, PROGRAMS));
    let missing: Vec<u16> =
        offloadable().into_iter().filter(|opcode| !found.contains(opcode)).collect();
    assert!(missing.is_empty(), "missing: {missing:02x?}");
    let mut more = found;
    offloadable().iter().for_each(|opcode| {
        more.remove(opcode);
    });
    assert!(more.is_empty(), "unexpected: {more:02x?}");
    let found = opcodes(&generated(&Features::all(), SIZE, PROGRAMS));
    let more = [0x10d4, 0x20d4, 0x40d4, 0x62, 0x6a, 0x72, 0x7a];
    assert!(more.iter().all(|opcode| found.contains(opcode)));
}

/// Returns the accesses to the stack as tuples: true for a store and false for a load, size of the
/// access, and offset from the frame pointer.
fn stack(program: &Generated) -> Vec<(bool, Size, i16)> {
    insns(program)
        .filter_map(|insn| match *insn {
            Insn::Load { size, base: Register::FRAME, offset, .. } => Some((false, size, offset)),
            Insn::Store { size, base: Register::FRAME, offset, .. } => Some((true, size, offset)),
            _ => None,
        })
        .collect()
}

/// Finds copies within the packet: pairs of a load and a store with the same size and registers.
/// Returns the distances in bytes from each copied value to the next.
fn copies(program: &Generated) -> Vec<i16> {
    let code: Vec<Insn> = insns(program).copied().collect();
    let pair = |pair: &[Insn]| match *pair {
        [
            Insn::Load { size, dst, base: from, offset: first, .. },
            Insn::Store { size: stored, base: to, offset, src: Source::Reg(src) },
        ] if size == stored && dst == src && from != Register::FRAME && to != Register::FRAME => {
            Some((size, dst, from, to, first, offset))
        }
        _ => None,
    };
    let next = |four: &[Insn]| {
        let (a, b) = (pair(&four[..2])?, pair(&four[2..])?);
        let same = (a.0, a.1, a.2, a.3) == (b.0, b.1, b.2, b.3);
        (same && b.4 - a.4 == b.5 - a.5).then_some(b.5 - a.5)
    };
    code.windows(4).filter_map(next).collect()
}

fn immediate(program: &Generated, wanted: AluOp, test: impl Fn(i32) -> bool) -> bool {
    insns(program).any(|insn| match *insn {
        Insn::Alu { op, src: Source::Imm(value), .. } => op == wanted && test(value),
        _ => false,
    })
}

/// Returns true if the program contains an instruction `first` with an immediate operand (such as a
/// mask), followed by a shift whose amount is the result.
fn masked_shift(program: &Generated, first: AluOp) -> bool {
    let code: Vec<Insn> = insns(program).copied().collect();
    code.windows(2).any(|two| match *two {
        [
            Insn::Alu { op, dst, src: Source::Imm(_), .. },
            Insn::Alu { op: AluOp::Lsh | AluOp::Rsh | AluOp::Arsh, src: Source::Reg(by), .. },
        ] => op == first && dst == by,
        _ => false,
    })
}

fn branch(program: &Generated, test: impl Fn(Width, Source) -> bool) -> bool {
    insns(program).any(|insn| match *insn {
        Insn::Branch { width, src, .. } => test(width, src),
        _ => false,
    })
}

type Shape = (&'static str, fn(&Generated) -> bool);

const SHAPES: &[Shape] = &[
    ("a stack deeper than 64 bytes", |p| stack(p).iter().any(|(_, _, at)| *at < -64)),
    ("a store across words", |p| {
        stack(p).iter().any(|(store, size, at)| *store && *size == Size::H && at % 4 == -2)
    }),
    ("a part that is loaded again", |p| {
        let all = stack(p);
        all.iter().any(|(store, size, at)| {
            let wide = |(other, more, from): &(bool, Size, i16)| {
                *other && more > size && from <= at && at - from < i16::from(more.bytes())
            };
            !store && all.iter().any(wide)
        })
    }),
    ("parts that are loaded as one", |p| {
        let all = stack(p);
        all.iter().any(|(store, size, at)| {
            let small = |(other, less, from): &(bool, Size, i16)| {
                *other && less < size && from > at && from - at < i16::from(size.bytes())
            };
            !store && all.iter().any(small)
        })
    }),
    ("a copy upwards", |p| copies(p).iter().any(|step| *step > 0)),
    ("a copy downwards", |p| copies(p).iter().any(|step| *step < 0)),
    ("a long copy", |p| copies(p).len() >= 6),
    ("a loop", |p| jumps(p).iter().any(|(from, to)| to <= from)),
    ("a loop in a loop", |p| {
        let back: Vec<_> = jumps(p).into_iter().filter(|(from, to)| to <= from).collect();
        back.iter().any(|(from, to)| back.iter().any(|(i, o)| i < from && o > to))
    }),
    ("a loop that is left early", |p| {
        let all = jumps(p);
        let back = |(end, head): &(usize, usize)| {
            let out = |(from, to): &(usize, usize)| head < from && from < end && *to == end + 1;
            head <= end && all.iter().any(out)
        };
        all.iter().any(back)
    }),
    ("a look-up", |p| calls(p, 1)),
    ("a moved start", |p| calls(p, 44)),
    ("a moved end", |p| calls(p, 65)),
    ("a function", |p| insns(p).any(|i| matches!(i, Insn::Call(Call::Subprogram { .. })))),
    ("two functions", |p| p.functions().len() > 2),
    ("a shift by a small number", |p| masked_shift(p, AluOp::And)),
    ("a shift by a large number", |p| masked_shift(p, AluOp::Or)),
    ("a negative sum", |p| immediate(p, AluOp::Add, |value| value < 0)),
    ("a negative difference", |p| immediate(p, AluOp::Sub, |value| value < 0)),
    ("a division by a large number", |p| immediate(p, AluOp::Div, |value| value > 0xffff)),
    ("a division by a power of two", |p| {
        immediate(p, AluOp::Div, |value| value > 1 && value.count_ones() == 1)
    }),
    ("a negative 64-bit comparison", |p| {
        branch(p, |width, src| width == Width::W64 && matches!(src, Source::Imm(v) if v < 0))
    }),
    ("a negative 32-bit comparison", |p| {
        branch(p, |width, src| width == Width::W32 && matches!(src, Source::Imm(v) if v < 0))
    }),
    ("an access below a pointer", |p| {
        insns(p).any(|i| {
            matches!(i, Insn::Load { base, offset, .. }
                if *base != Register::FRAME && *offset < 0)
        })
    }),
    ("the context in r1", |p| {
        insns(p).any(|i| matches!(i, Insn::Load { base, .. } if base.number() == 1))
    }),
    ("a jump between load and use", |p| {
        let code = &p.functions()[0];
        jumps(p).iter().any(|(from, to)| {
            let used = |dst: &Register| {
                matches!(code[*to], Insn::Alu { op: AluOp::And | AluOp::Lsh, dst: used, .. }
                    if used == *dst)
            };
            *to == from + 2 && matches!(&code[from + 1], Insn::Load { dst, .. } if used(dst))
        })
    }),
    ("a jump into a copy", |p| {
        let code = &p.functions()[0];
        jumps(p).iter().any(|(from, to)| {
            let stored = |dst: &Register| {
                matches!(code[*to], Insn::Store { src: Source::Reg(src), .. } if src == *dst)
            };
            *to == from + 2 && matches!(&code[from + 1], Insn::Load { dst, .. } if stored(dst))
        })
    }),
    ("many paths", |p| p.paths() > 100),
];

#[test]
fn every_shape_occurs() {
    let programs = generated(&Features::default(), SIZE, PROGRAMS);
    let rare: Vec<&str> = SHAPES
        .iter()
        .filter(|(_, has)| programs.iter().filter(|program| has(program)).count() < SEVERAL)
        .map(|(name, _)| *name)
        .collect();
    assert!(rare.is_empty(), "in fewer than {SEVERAL} of {PROGRAMS} programs: {rare:?}");
}

/// Returns true if at least one random program with these features contains an instruction that
/// `has` accepts.
fn some(features: Features, has: impl Fn(&Insn) -> bool) -> bool {
    generated(&features, SIZE, 300).iter().any(|program| insns(program).any(&has))
}

#[test]
fn disabled_features_do_not_occur() {
    let on = Features::all;
    let op = |wanted: &'static [AluOp]| move |insn: &Insn| matches!(insn, Insn::Alu { op, .. } if wanted.contains(op));
    let shift = |insn: &Insn| {
        matches!(
            insn,
            Insn::Alu { op: AluOp::Lsh | AluOp::Rsh | AluOp::Arsh, src: Source::Reg(_), .. }
        )
    };
    let call = |number| move |insn: &Insn| *insn == Insn::Call(Call::Helper(number));
    let atomic =
        |insn: &Insn| matches!(insn, Insn::Atomic { op: AtomicOp::Add { fetch: false }, .. });
    let swap =
        |wanted| move |insn: &Insn| matches!(insn, Insn::Swap { kind, .. } if *kind == wanted);
    let narrow = |insn: &Insn| matches!(insn, Insn::Branch { width: Width::W32, .. });
    let function = |insn: &Insn| matches!(insn, Insn::Call(Call::Subprogram { .. }));
    let writes = |insn: &Insn| matches!(insn, Insn::Store { base, .. } if *base != Register::FRAME);
    let back = |insn: &Insn| insn.jump_offset().is_some_and(|offset| offset < 0);
    let frame = |insn: &Insn| match insn {
        Insn::Load { base, .. } | Insn::Store { base, .. } => *base == Register::FRAME,
        _ => false,
    };
    let multiply = op(&[AluOp::Mul]);
    let divide = op(&[AluOp::Div]);
    assert!(some(on(), call(7)) && some(on(), swap(SwapKind::Le)));
    assert!(!some(Features { multiply: false, ..on() }, multiply));
    assert!(!some(Features { divide: false, ..on() }, divide));
    assert!(!some(Features { variable_shifts: false, ..on() }, shift));
    assert!(!some(Features { swaps: false, ..on() }, swap(SwapKind::Be)));
    assert!(!some(Features { little_endian: false, ..on() }, swap(SwapKind::Le)));
    assert!(!some(Features { jump32: false, ..on() }, narrow));
    assert!(!some(Features { packet_writes: false, ..on() }, writes));
    assert!(!some(Features { loops: false, ..on() }, back));
    assert!(!some(Features { maps: false, ..on() }, call(1)));
    assert!(!some(Features { atomics: false, ..on() }, atomic));
    assert!(!some(Features { helpers: false, ..on() }, call(44)));
    assert!(!some(Features { helpers: false, ..on() }, call(65)));
    assert!(!some(Features { random: false, ..on() }, call(7)));
    assert!(!some(Features { calls: false, ..on() }, function));
    assert!(!some(Features { stack: false, maps: false, ..on() }, frame));
    let copied = Features { copies: false, ..on() };
    assert!(generated(&copied, SIZE, 300).iter().all(|program| copies(program).len() < 4));
}
