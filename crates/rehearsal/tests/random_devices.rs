//! Tests that rewriting random programs for a virtual device does not change their results on it.
//! The programs depend on the headroom, the tailroom and the metadata of packets.

use slowpath_bpf::Object;
use slowpath_bpf::insn::helper::{XDP_ADJUST_HEAD, XDP_ADJUST_META, XDP_ADJUST_TAIL};
use slowpath_bpf::insn::{AluOp, Call, Condition, Insn, Register, Size, Source, Width};
use slowpath_bpf::lift::Receive;
use slowpath_ir::PacketFacts;
use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;
use slowpath_random::Random;
use slowpath_rehearsal::{Devices, Options, Subject, rehearse};
use slowpath_specialise::{Facts, Mode, specialise_for};
use slowpath_stop::Stop;

use crate::on_devices::with_devices;
use crate::rehearsals::{object, of_insns, set, written};

/// Default number of random programs that are tested. The variable `SLOWPATH_VETH_PROGRAMS`
/// overrides it, and `SLOWPATH_FIRST_SEED` is the number of the first program, by default 0.
const PROGRAMS: u64 = 24;
/// Number of frames that each program gets on each virtual device.
const FRAMES: u64 = 40;
/// Environments for which programs are rewritten, such as a driver in which they receive packets.
/// The first is the default of `slowpath chain`.
const ENVIRONMENTS: [&str; 3] = ["any", "veth", "generic"];
/// Offset in bytes of the field `data` in `struct xdp_md`; the other fields follow.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const DATA_META: i16 = 8;
/// Register in which generated programs keep the address of the context.
const CONTEXT: Register = Register::R6;
/// Register in which generated programs add up the results of their tests.
const SUM: Register = Register::R7;

fn alu(op: AluOp, dst: Register, src: Source) -> Insn {
    Insn::Alu { width: Width::W64, op, dst, src }
}

fn field(dst: Register, offset: i16) -> Insn {
    Insn::Load { size: Size::W, signed: false, dst, base: CONTEXT, offset }
}

fn jump(cond: Condition, dst: Register, src: Source, offset: i16) -> Insn {
    Insn::Branch { width: Width::W64, cond, dst, src, offset }
}

/// Returns a random number from `-most` to `most`.
fn near(random: &mut Random, most: i32) -> i32 {
    i32::try_from(random.below(2 * u64::from(most.unsigned_abs()) + 1)).expect("fits") - most
}

/// Generates code that tests the headroom, the tailroom, the metadata or the length of a packet.
/// Depending on the result, the code adds a number to the register [`SUM`].
fn environment_test(random: &mut Random) -> Vec<Insn> {
    let adjusted = |helper, delta| {
        vec![
            alu(AluOp::Mov, Register::R1, Source::Reg(CONTEXT)),
            set(Register::R2, delta),
            Insn::Call(Call::Helper(helper)),
        ]
    };
    // Sets r2 to the context field `from` plus `bytes`, and r3 to the field `to`.
    let reaches = |from, bytes, to| {
        vec![
            field(Register::R2, from),
            field(Register::R3, to),
            alu(AluOp::Add, Register::R2, Source::Imm(bytes)),
        ]
    };
    let condition = [Condition::Eq, Condition::Ne][usize::from(random.below(2) == 1)];
    let failed = |offset| jump(condition, Register::R0, Source::Imm(0), offset);
    let beyond = |offset| jump(Condition::Gt, Register::R2, Source::Reg(Register::R3), offset);
    let more = i32::try_from(1 + random.below(1000)).expect("fits");
    let add = alu(AluOp::Add, SUM, Source::Imm(more));
    let (mut insns, rest) = match random.below(6) {
        0 => (adjusted(XDP_ADJUST_HEAD, near(random, 300)), vec![failed(1), add]),
        1 => (adjusted(XDP_ADJUST_TAIL, near(random, 400)), vec![failed(1), add]),
        2 => (adjusted(XDP_ADJUST_TAIL, near(random, 70_000)), vec![failed(1), add]),
        3 => (adjusted(XDP_ADJUST_META, 4 * near(random, 20)), vec![failed(1), add]),
        4 => (reaches(DATA_META, 4, DATA), vec![beyond(1), add]),
        _ => {
            let most = if random.below(2) == 0 { 70 } else { 9100 };
            let bytes = i32::try_from(1 + random.below(most)).expect("fits");
            let (base, dst) = (Register::R2, Register::R4);
            let last = Insn::Load { size: Size::B, signed: false, dst, base, offset: -1 };
            let add = alu(AluOp::Add, SUM, Source::Reg(dst));
            (reaches(DATA, bytes, DATA_END), vec![beyond(2), last, add])
        }
    };
    insns.extend(rest);
    insns
}

/// Generates a random program that returns `XDP_DROP` or `XDP_PASS`, depending on tests of the
/// packet's headroom, tailroom, metadata and length.
fn random_program(random: &mut Random) -> Object {
    let mut insns = vec![alu(AluOp::Mov, CONTEXT, Source::Reg(Register::R1)), set(SUM, 0)];
    for _ in 0..2 + random.below(5) {
        insns.extend(environment_test(random));
    }
    insns.extend([
        alu(AluOp::And, SUM, Source::Imm(1)),
        alu(AluOp::Add, SUM, Source::Imm(1)),
        alu(AluOp::Mov, Register::R0, Source::Reg(SUM)),
        Insn::Exit,
    ]);
    of_insns(&object("chain_second.bpf.o"), insns)
}

/// Rehearses a random program that was rewritten for a random environment. Returns the number of
/// frames on which the original and the rewritten program agree, and true if the rewritten program
/// is shorter.
fn check(kernel: &Kernel, seed: u64) -> (u64, bool) {
    let mut random = Random::new(seed);
    let original = random_program(&mut random);
    let environment = ENVIRONMENTS[usize::try_from(random.below(3)).expect("fits")];
    let receive = Receive::parse(environment).expect("is an environment");
    let facts = PacketFacts::lengths(receive.length.0, receive.length.1);
    let program = original.link(0, None).expect("links");
    let known = Facts { facts: &facts, frozen: None, receive };
    let made = specialise_for(&original, &program, known, Mode::Trust, &Stop::never());
    let made = made.expect("is specialised").program;
    let is_shorter = made.insns.len() < program.insns.len();
    let rewritten = written(&original, &made);
    let subject = Subject { upstream: &[], original: (&original, 0), rewritten: (&rewritten, 0) };
    let devices = Devices::delivering(environment, FRAMES, &[]).expect("is an environment");
    let options = Options { packets: 0, rounds: 0, devices, seed, ..Options::default() };
    let done =
        rehearse(kernel, &subject, &[vec![0; 130]], &|_, _| Ok(None), &options, &Stop::never());
    let done = done.unwrap_or_else(|e| panic!("program {seed} for {environment}: {e}"));
    assert_eq!(done.difference, None, "program {seed} for {environment}: {:?}", program.insns);
    assert_eq!(done.undetermined, None, "program {seed} for {environment}");
    (done.devices.iter().map(|device| device.frames).sum(), is_shorter)
}

#[test]
fn rewritten_programs_agree_on_each_device_that_they_are_for() {
    let Some(kernel) = with_devices() else { return };
    let setting = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let first: u64 = setting("SLOWPATH_FIRST_SEED").unwrap_or(0);
    let programs: u64 = setting("SLOWPATH_VETH_PROGRAMS").unwrap_or(PROGRAMS);
    let (mut frames, mut shorter) = (0, 0);
    for seed in first..first + programs {
        let (agreed, is_shorter) = check(&kernel, seed);
        frames += agreed;
        shorter += u64::from(is_shorter);
    }
    eprintln!("{frames} frames agree; {shorter} of {programs} programs became shorter");
    assert!(4 * shorter > programs, "{shorter} of {programs} became shorter");
    Oracle::Kernel.compared(usize::try_from(frames).expect("fits"), "frames in rehearsals");
}
