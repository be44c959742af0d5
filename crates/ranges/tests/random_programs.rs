//! Tests that run random programs with loops and memory, and check that registers stay within their
//! ranges before each block, for all options.

use crate::support;

use slowpath_exec::concrete::run_observed;
use slowpath_ir::{BinaryOp, BlockBuilder, DrawId, Emit, Liveness, Operand, Reg, RegionKind};
use slowpath_ranges::{MemoryModel, Options, Ranges, analyze_with};
use support::program::Builder;
use support::{Random, environment};

const PROGRAMS: u64 = 600;
const RUNS: usize = 25;
const LONGEST: usize = 150;

struct Registers {
    /// Registers of the program, one list for each width: 64, 32, 8 and 1 bits.
    values: [Vec<Reg>; 4],
    bases: Vec<Reg>,
}

const WIDTHS: [u8; 4] = [64, 32, 8, 1];

const OPERATORS: [BinaryOp; 13] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Udiv,
    BinaryOp::Urem,
    BinaryOp::Sdiv,
    BinaryOp::Srem,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Lshr,
    BinaryOp::Ashr,
];

fn small(random: &mut Random, width: u8) -> Operand {
    let value = match random.below(6) {
        0 => random.next(),
        1 => random.below(10).wrapping_neg(),
        2 => 1u64 << random.below(64),
        _ => random.below(40),
    };
    Operand::constant(width, value)
}

fn operand(random: &mut Random, regs: &Registers, size: usize) -> Operand {
    if random.below(3) == 0 { small(random, WIDTHS[size]) } else { reg(random, regs, size).into() }
}

fn reg(random: &mut Random, regs: &Registers, size: usize) -> Reg {
    regs.values[size][random.below(regs.values[size].len() as u64) as usize]
}

fn comparison(b: &mut BlockBuilder<'_>, random: &mut Random, regs: &Registers) -> Operand {
    let size = random.below(3) as usize;
    let op = [BinaryOp::Eq, BinaryOp::Ult, BinaryOp::Slt][random.below(3) as usize];
    let (x, y) = (reg(random, regs, size), operand(random, regs, size));
    let x: Operand = match random.below(4) {
        0 => b.binary(BinaryOp::And, x, small(random, WIDTHS[size])),
        1 => b.binary(BinaryOp::Add, x, small(random, WIDTHS[size])),
        _ => x.into(),
    };
    let holds = if random.below(2) == 0 { b.binary(op, x, y) } else { b.binary(op, y, x) };
    if random.below(2) == 0 { b.not(holds) } else { holds }
}

/// Returns an address within the first 64 bytes of one of the regions.
fn address(b: &mut BlockBuilder<'_>, random: &mut Random, regs: &Registers) -> Operand {
    let base = regs.bases[random.below(regs.bases.len() as u64) as usize];
    let distance = if random.below(3) == 0 {
        let any = reg(random, regs, 0);
        b.binary(BinaryOp::And, any, Operand::constant(64, random.below(56)))
    } else {
        Operand::constant(64, random.below(7) * 4)
    };
    b.binary(BinaryOp::Add, base, distance)
}

fn statement(b: &mut BlockBuilder<'_>, random: &mut Random, regs: &Registers) {
    let size = random.below(4) as usize;
    let dst = reg(random, regs, size);
    let value = match random.below(12) {
        0 => operand(random, regs, size),
        1 if size < 3 => {
            let address = address(b, random, regs);
            b.load(address, WIDTHS[size] / 8)
        }
        2 | 3 => {
            let stored = random.below(3) as usize;
            let (address, value) = (address(b, random, regs), operand(random, regs, stored));
            b.store(address, value);
            return;
        }
        4 if size < 3 => {
            let narrow = reg(random, regs, size + 1);
            if random.below(2) == 0 {
                b.zero_extend(narrow, WIDTHS[size])
            } else {
                b.sign_extend(narrow, WIDTHS[size])
            }
        }
        5 if size > 0 => {
            let wide = reg(random, regs, size - 1);
            let lo = random.below(u64::from(WIDTHS[size - 1] - WIDTHS[size]) + 1);
            b.extract(wide, if random.below(2) == 0 { 0 } else { lo as u8 }, WIDTHS[size])
        }
        6 => {
            let (cond, x) = (reg(random, regs, 3), operand(random, regs, size));
            let y = operand(random, regs, size);
            b.select(cond, x, y)
        }
        7 if size == 3 => comparison(b, random, regs),
        8 => b.not(reg(random, regs, size)),
        9 => {
            let limit = if size == 3 { 1 } else { 1 + random.below(100) };
            b.unknown(DrawId(0), WIDTHS[size], 0, limit)
        }
        _ => {
            let op = OPERATORS[random.below(OPERATORS.len() as u64) as usize];
            let x = reg(random, regs, size);
            b.binary(op, x, operand(random, regs, size))
        }
    };
    b.copy(dst, value);
}

fn program(random: &mut Random) -> Builder {
    let mut builder = Builder::new();
    let mut values: [Vec<Reg>; 4] = Default::default();
    for (size, &width) in WIDTHS.iter().enumerate() {
        values[size].push(builder.any(width));
        values[size].push(builder.between(width, 0, random.below(30) & ((1 << width.min(5)) - 1)));
        let third = values[size][0];
        values[size].push(third);
    }
    let kinds = [RegionKind::Stack, RegionKind::Packet, RegionKind::Map];
    let bases = kinds.map(|kind| builder.region(kind)).to_vec();
    let regs = Registers { values, bases };
    let blocks = 3 + random.below(7);
    for _ in 0..blocks {
        let target = |random: &mut Random| {
            let to = random.below(blocks + 2);
            (to < blocks).then_some(to as u32)
        };
        let targets = [target(random), target(random)];
        let count = random.below(7);
        let of = |b: &mut BlockBuilder<'_>, random: &mut Random| {
            (0..count).for_each(|_| statement(b, random, &regs));
        };
        if random.below(4) == 0 {
            builder.jump(|b| of(b, random), targets[0]);
        } else {
            let of = |b: &mut BlockBuilder<'_>| {
                of(b, random);
                comparison(b, random, &regs)
            };
            builder.branch(of, targets[0], targets[1]);
        }
    }
    builder
}

#[test]
fn runs_of_random_programs_stay_within_ranges() {
    let (mut compared, mut dead) = (0, 0);
    for number in 1..=PROGRAMS {
        let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let program = program(&mut random).program;
        assert_eq!(program.validate(), Ok(()));
        let liveness = Liveness::of(&program);
        let analyses: Vec<Ranges> = [MemoryModel::Every, MemoryModel::Slots]
            .map(|memory| analyze_with(&program, &Options { memory, ..Options::default() }))
            .into();
        dead += (0..program.blocks.len())
            .filter(|&block| !analyses[0].is_reachable(slowpath_ir::BlockId::from(block)))
            .count();
        for _ in 0..RUNS {
            let mut environment = environment(&program, &mut random);
            environment.unknowns = (0..64).map(|_| random.below(2)).collect();
            let entered = |block, values: &[u64]| {
                for ranges in &analyses {
                    assert!(ranges.is_reachable(block), "program {number}: {block:?} is not dead");
                    for reg in liveness.live_in(block) {
                        let domain = ranges.on_entry(block, reg).expect("alive");
                        let value = values[reg.index()];
                        assert!(
                            domain.contains(value),
                            "program {number}, {block:?}, {reg:?} is {value:#x}: {domain:?}\n{:#?}",
                            program.blocks
                        );
                        compared += 1;
                    }
                }
            };
            if let Ok(run) = run_observed(&program, &environment, LONGEST, entered) {
                for taken in run.path {
                    assert!(analyses.iter().all(|r| r.edge_reachable(taken.block, taken.edge)));
                }
            }
        }
    }
    assert!(compared > 100_000 && dead > 100, "{compared} {dead}");
}
