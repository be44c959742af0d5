//! Tests random programs. The kernel's verifier must accept every program. Random packets must have
//! the same results in the kernel and in the concrete interpreter with the lifted program.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_bpf::Object;
use slowpath_bpf::insn::{AluOp, Condition, Insn, Register, Size, Source, SwapKind, Width, encode};
use slowpath_generate::{Features, Generated, Programs, programs};
use slowpath_kernel::{Kernel, LoadError};
use slowpath_oracle::{Oracle, random_cases};
use support::assemble::object as object_of;
use support::random::{fill, mutated};
use support::replay_pair::ReplayPair;
use support::{hex, kernel, packets};

/// Number of random programs.
const PROGRAMS: u64 = 300;
/// Number of packets for each program.
const PACKETS: usize = 40;
/// Approximate number of top-level statements of a program.
const SIZE: usize = 10;

/// Totals over the random programs: numbers of programs, instructions, paths, basic blocks and
/// packets.
#[derive(Default)]
struct Tally {
    programs: usize,
    accepted: usize,
    slots: usize,
    paths: u64,
    packets: usize,
    blocks: usize,
    covered: usize,
    opcodes: BTreeMap<u8, usize>,
}

impl Tally {
    fn count(&mut self, program: &Generated) {
        self.programs += 1;
        self.slots += program.slots();
        self.paths += program.paths();
        for word in program.functions().iter().flat_map(|f| encode(f)).step_by(8) {
            *self.opcodes.entry(word).or_default() += 1;
        }
    }

    fn report(&self) {
        let mean = |sum: f64| sum / self.programs.max(1) as f64;
        eprintln!(
            "{} of {} programs accepted; {:.1} instructions, {:.1} paths on average; {} packets, \
             which reach {:.0} % of the blocks",
            self.accepted,
            self.programs,
            mean(self.slots as f64),
            mean(self.paths as f64),
            self.packets,
            100.0 * self.covered as f64 / self.blocks.max(1) as f64,
        );
        let opcodes: Vec<String> =
            self.opcodes.iter().map(|(opcode, count)| format!("{opcode:02x}:{count}")).collect();
        eprintln!("{} opcodes: {}", opcodes.len(), opcodes.join(" "));
    }
}

/// Returns a random packet of words: constants with which programs often compare, in either byte
/// order, and random numbers.
fn edges(rng: &mut StdRng) -> Vec<u8> {
    const EDGES: [u32; 16] = [
        0,
        1,
        2,
        4,
        0x1f,
        0x20,
        0x7f,
        0x80,
        0xff,
        0x100,
        0xffff,
        0x1_0000,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_0000,
        0xffff_ffff,
    ];
    let length = rng.random_range(14..=130);
    let mut packet = Vec::with_capacity(length + 3);
    while packet.len() < length {
        let word = match rng.random_range(0..4) {
            0 => rng.random::<u32>(),
            _ => EDGES[rng.random_range(0..EDGES.len())],
        };
        let short = rng.random_bool(0.2);
        let bytes = if rng.random() { word.to_le_bytes() } else { word.to_be_bytes() };
        packet.extend_from_slice(if short { &bytes[..1] } else { &bytes[..] });
    }
    packet.truncate(length);
    packet
}

/// Returns the end of the verifier's log if the verifier rejects the program.
fn log(kernel: &Kernel, object: &Object) -> String {
    match kernel.load(object, 0) {
        Err(LoadError::Rejected { log, .. }) => log,
        _ => String::new(),
    }
}

/// Checks that random packets have the same results in the kernel and in the interpreter. Adds the
/// counts to `tally`.
fn agree(kernel: &Kernel, program: &Generated, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let object = Object::parse(&program.object()).map_err(|e| e.to_string())?;
    let lifted = ReplayPair::lifted(kernel, &object, 0)?;
    tally.blocks += lifted.program.blocks.len();
    let replay_pair = ReplayPair::of(kernel, &object, 0, lifted);
    let mut replay_pair =
        replay_pair.map_err(|fault| format!("{fault}\n{}", log(kernel, &object)))?;
    tally.accepted += 1;
    let seeds = packets();
    let mut rng = StdRng::seed_from_u64(seed);
    fill(&mut replay_pair, &mut rng, &seeds)?;
    let mut covered = BTreeSet::new();
    for _ in 0..PACKETS {
        let packet = if rng.random_bool(0.3) { mutated(&mut rng, &seeds) } else { edges(&mut rng) };
        let run =
            replay_pair.compare(&packet).map_err(|e| format!("packet {}: {e}", hex(&packet)))?;
        covered.extend(run.path.iter().map(|taken| taken.block));
        tally.packets += 1;
    }
    tally.covered += covered.len();
    match replay_pair.differing_maps().first() {
        Some(fault) => Err(fault.clone()),
        None => Ok(()),
    }
}

#[test]
fn kernel_and_interpreter_agree_on_generated_programs() {
    let Some(kernel) = kernel() else { return };
    let programs = Programs::new(Features { little_endian: true, ..Features::default() }, SIZE);
    let mut tally = Tally::default();
    let mut faults = Vec::new();
    for seed in 0..random_cases(PROGRAMS) {
        let program = programs.from_seed(seed);
        tally.count(&program);
        if let Err(fault) = agree(&kernel, &program, seed, &mut tally) {
            faults.push(format!("program {seed}: {fault}\n{program}"));
        }
    }
    tally.report();
    let shown = faults.iter().take(3).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} programs are at fault:\n{shown}", faults.len());
    Oracle::Kernel.compared(tally.accepted, "random programs");
    Oracle::Kernel.compared(tally.packets, "packets through random programs");
}

/// Returns the reason why the verifier rejects a program, or `None` if it accepts the program.
fn refusal(kernel: &Kernel, program: &Generated) -> Option<String> {
    let object = Object::parse(&program.object()).map_err(|e| e.to_string());
    match object.map(|object| kernel.load(&object, 0)) {
        Ok(Ok(_)) => None,
        Ok(Err(LoadError::Rejected { reason, log, .. })) => {
            Some(format!("{reason}\n{log}\n{program}"))
        }
        Ok(Err(other)) => Some(format!("{other}\n{program}")),
        Err(fault) => Some(format!("{fault}\n{program}")),
    }
}

#[test]
fn the_kernel_accepts_programs_with_all_features() {
    let Some(kernel) = kernel() else { return };
    let large = Features { max_slots: 400, max_paths: 4096, packet_reach: 200, ..Features::all() };
    for (features, size) in [(Features::all(), SIZE), (Features::plain(), SIZE), (large, 30)] {
        let programs = Programs::new(features, size);
        let faults: Vec<String> =
            (0..100).filter_map(|seed| refusal(&kernel, &programs.from_seed(seed))).collect();
        assert!(faults.is_empty(), "{} of 100: {}", faults.len(), faults[0]);
        Oracle::Kernel.compared(100, "random programs");
    }
}

#[test]
fn the_kernel_accepts_what_programs_shrink_to() {
    let Some(kernel) = kernel() else { return };
    let strategy = programs(Features::default(), SIZE);
    let mut runner = TestRunner::deterministic();
    for number in 0..12 {
        let mut tree = strategy.new_tree(&mut runner).expect("nothing is filtered");
        // Undo every third step, as shrinking does when the smaller program does not fail.
        for step in 0..40 {
            let on = if step % 3 == number % 3 { tree.complicate() } else { tree.simplify() };
            let fault = refusal(&kernel, &tree.current());
            assert!(fault.is_none(), "{}", fault.unwrap_or_default());
            if !on && step % 3 != number % 3 {
                break;
            }
        }
    }
}

/// Returns the operands of an instruction that the NFP driver limits: each register with the
/// maximum number of bits of its value.
fn demands(insn: &Insn) -> Vec<(Register, u8)> {
    match *insn {
        Insn::Alu { op: AluOp::Mul, dst, src: Source::Reg(src), .. } => vec![(dst, 32), (src, 32)],
        Insn::Alu { op: AluOp::Mul | AluOp::Div, dst, .. } => vec![(dst, 32)],
        Insn::Alu {
            op: AluOp::Lsh | AluOp::Rsh | AluOp::Arsh,
            width,
            src: Source::Reg(src),
            ..
        } => vec![(src, if width == Width::W64 { 6 } else { 5 })],
        _ => Vec::new(),
    }
}

/// Adds checks of the NFP driver's limits on operands to a function. If an operand violates its
/// limit, the check jumps to a memory access that the verifier rejects. The checked register is
/// saved in the stack slot `place`, which the function must not use.
fn demanding(function: &[Insn], place: i16) -> Vec<Insn> {
    let (size, base, offset) = (Size::DW, Register::FRAME, place);
    let width = Width::W64;
    let mut code = Vec::new();
    let (mut starts, mut slots, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for insn in function {
        starts.push(code.len());
        for (dst, bits) in demands(insn) {
            let by = Source::Imm(bits.into());
            code.push(Insn::Store { size, base, offset, src: Source::Reg(dst) });
            code.push(Insn::Alu { width, op: AluOp::Rsh, dst, src: by });
            refused.push(code.len());
            let (cond, src) = (Condition::Ne, Source::Imm(0));
            code.push(Insn::Branch { width, cond, dst, src, offset: 0 });
            code.push(Insn::Load { size, signed: false, dst, base, offset });
        }
        slots.push(code.len());
        code.push(*insn);
    }
    for (at, insn) in function.iter().enumerate() {
        let Some(target) = insn.jump_target(at) else { continue };
        lead(&mut code, slots[at], starts[target]);
    }
    let end = code.len();
    for at in &refused {
        lead(&mut code, *at, end);
    }
    if !refused.is_empty() {
        let dst = Register::R0;
        code.push(Insn::Load { size, signed: false, dst, base, offset: 8 });
        code.push(Insn::Exit);
    }
    code
}

/// Makes the slot `to` the target of the jump at the slot `at`.
fn lead(code: &mut [Insn], at: usize, to: usize) {
    let distance = to as i32 - at as i32 - 1;
    match &mut code[at] {
        Insn::Branch { offset, .. } => *offset = distance as i16,
        Insn::Jump { offset, .. } => *offset = distance,
        _ => {}
    }
}

#[test]
fn the_verifier_knows_what_the_driver_demands() {
    let Some(kernel) = kernel() else { return };
    // A demand can fail: the verifier does not know the range of a product.
    let number = Insn::Swap { kind: SwapKind::Be, size: Size::DW, dst: Register::R0 };
    let (dst, src) = (Register::R0, Source::Reg(Register::R0));
    let set = Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Imm(1) };
    let product = Insn::Alu { width: Width::W64, op: AluOp::Mul, dst, src };
    let wrong = demanding(&[set, product, number, product, Insn::Exit], -8);
    assert!(kernel.load(&object_of(&[&wrong]), 0).is_err());
    let right = demanding(&[set, product, Insn::Exit], -8);
    kernel.load(&object_of(&[&right]), 0).unwrap_or_else(|e| panic!("{e}"));

    // No maps and no calls, because `demanding` does not relocate addresses and functions.
    let features = Features { maps: false, calls: false, max_slots: 80, ..Features::default() };
    let place = -8 - features.stack_depth as i16;
    let programs = Programs::new(features, SIZE);
    let mut demanded = 0;
    for seed in 0..300 {
        let program = programs.from_seed(seed);
        let code = demanding(&program.functions()[0], place);
        demanded += program.functions()[0].iter().map(|insn| demands(insn).len()).sum::<usize>();
        if let Err(LoadError::Rejected { reason, log, .. }) = kernel.load(&object_of(&[&code]), 0) {
            panic!("program {seed}: {reason}\n{log}\n{program}");
        }
    }
    assert!(demanded > 300, "{demanded} demands");
}
