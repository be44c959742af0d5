//! Tests that rehearsals on virtual Ethernet find faults that show only on devices, and report no
//! difference between correct programs.

use std::sync::Arc;

use slowpath_bpf::Object;
use slowpath_bpf::insn::helper::{GET_PRANDOM_U32, XDP_ADJUST_META, XDP_ADJUST_TAIL};
use slowpath_bpf::insn::{AluOp, Call, Condition, Insn, Register, Size, Source, Width};
use slowpath_kernel::{Kernel, Namespace, NamespaceError};
use slowpath_oracle::Oracle;
use slowpath_rehearsal::{Devices, OnDevice, Options, Rehearsal, Stage};
use slowpath_specialise::Mode;

use crate::rehearsals::{
    FEW, PASS, facts, first_of_chain, kernel, object, of_insns, rehearsed, set, specialised,
    written,
};

/// The XDP action `XDP_TX`, which sends the packet back.
const TX: i32 = 3;

/// Returns the kernel, or `None` if network namespaces cannot be created.
pub fn with_devices() -> Option<Kernel> {
    let kernel = kernel()?;
    match Namespace::new() {
        Ok(_) => Some(kernel),
        Err(reason @ NamespaceError::Refused(_)) => {
            Oracle::Kernel.missing(reason);
            None
        }
        Err(fault) => panic!("{fault}"),
    }
}

/// Returns options for a rehearsal that sends frames to virtual devices, but makes no test runs.
fn on(native: bool, generic: bool) -> Options {
    Options { packets: 0, devices: Devices { frames: 300, native, generic, ..Devices::ALL }, ..FEW }
}

/// Returns options for a rehearsal with test runs, and then with frames on virtual devices in
/// native and generic XDP mode.
fn with_test_runs() -> Options {
    Options { packets: 2000, ..on(true, true) }
}

fn to(dst: Register, src: Register) -> Insn {
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Reg(src) }
}

/// Builds a program that appends `bytes` bytes to the packet and sends it back. If there is no
/// room, the program passes the packet on, or with `ignores_failure` sends it back unchanged.
fn trailer(bytes: i32, ignores_failure: bool) -> Object {
    let fails = Insn::Branch {
        width: Width::W64,
        cond: Condition::Ne,
        dst: Register::R0,
        src: Source::Imm(0),
        offset: 2,
    };
    let mut insns = vec![set(Register::R2, bytes), Insn::Call(Call::Helper(XDP_ADJUST_TAIL))];
    insns.extend((!ignores_failure).then_some(fails));
    insns.extend([set(Register::R0, TX), Insn::Exit]);
    if !ignores_failure {
        insns.extend([set(Register::R0, PASS.cast_signed()), Insn::Exit]);
    }
    of_insns(&object("chain_second.bpf.o"), insns)
}

/// Builds a program that drops packets longer than `bytes` bytes. With `None`, the program drops no
/// packets.
fn longest(bytes: Option<i32>) -> Object {
    let load =
        |dst, offset| Insn::Load { size: Size::W, signed: false, dst, base: Register::R1, offset };
    let mut insns = vec![load(Register::R2, 0), load(Register::R3, 4), set(Register::R0, 1)];
    if let Some(bytes) = bytes {
        let (width, dst) = (Width::W64, Register::R2);
        insns.extend([
            Insn::Alu { width, op: AluOp::Add, dst, src: Source::Imm(bytes) },
            Insn::Branch {
                width,
                cond: Condition::Lt,
                dst,
                src: Source::Reg(Register::R3),
                offset: 1,
            },
        ]);
    }
    insns.extend([set(Register::R0, PASS.cast_signed()), Insn::Exit]);
    of_insns(&object("chain_second.bpf.o"), insns)
}

/// Rehearses an original and a rewritten program, and returns the difference between them. Checks
/// that the difference occurs only on virtual devices, not in test runs.
fn found(
    kernel: &Kernel,
    upstream: &[Stage],
    pair: (&Object, &Object),
    options: Options,
) -> String {
    let done = rehearsed(kernel, upstream, pair, options).expect("runs");
    assert_eq!((done.compared, done.undetermined), (options.packets, None));
    let packet = done.difference.expect("devices show it");
    assert!(packet.packet.is_some(), "{packet:?}");
    packet.what
}

/// Returns the mode of each device, and the number of frames on which both programs gave the same
/// results.
fn agreed(done: &Rehearsal) -> Vec<(&'static str, u64)> {
    let OnDevice { why_not, .. } = done.devices.first().expect("devices");
    assert_eq!((&done.difference, why_not), (&None, &None));
    done.devices.iter().map(|device| (device.mode, device.frames)).collect()
}

#[test]
fn programs_without_enough_room_on_a_device_differ() {
    let Some(kernel) = with_devices() else { return };
    let (right, wrong) = (trailer(500, false), trailer(500, true));
    let what = found(&kernel, &[], (&right, &wrong), on(false, true));
    assert_eq!(what, "on veth (generic), the runs return 2 and 3");
    let (right, wrong) = (trailer(100, false), trailer(100, true));
    let what = found(&kernel, &[], (&right, &wrong), with_test_runs());
    assert_eq!(what, "on veth (native), the runs return 2 and 3");
    let same = rehearsed(&kernel, &[], (&right, &right), with_test_runs()).expect("runs");
    assert_eq!(agreed(&same), [("native", 300), ("generic", 300)]);
    let lengths: Vec<_> = same.devices.iter().filter_map(|device| device.lengths).collect();
    assert_eq!(lengths, [(14, 3414), (14, 9014)]);
    Oracle::Kernel.compared(600, "frames in rehearsals");
}

#[test]
fn packets_too_long_for_test_runs_are_sent() {
    let Some(kernel) = with_devices() else { return };
    let (right, wrong) = (longest(Some(5000)), longest(None));
    let what = found(&kernel, &[], (&right, &wrong), with_test_runs());
    assert_eq!(what, "on veth (generic), the runs return 1 and 2");
    let short = Devices { lengths: (0, 5000), ..with_test_runs().devices };
    let options = Options { devices: short, ..with_test_runs() };
    let same = rehearsed(&kernel, &[], (&right, &wrong), options).expect("runs");
    assert_eq!(agreed(&same), [("native", 300), ("generic", 300)]);
    assert_eq!(same.devices[1].lengths, Some((14, 5000)));
    Oracle::Kernel.compared(600, "frames in rehearsals");
}

#[test]
fn programs_in_front_run_on_the_device_too() {
    let Some(kernel) = with_devices() else { return };
    let original = object("chain_second.bpf.o");
    let rewritten = specialised(&original, &facts(), Mode::Trust);
    let pair = (&original, &rewritten);
    let done = rehearsed(&kernel, &first_of_chain(), pair, on(true, true)).expect("runs");
    assert_eq!(agreed(&done), [("native", 300), ("generic", 300)]);
    let alone = found(&kernel, &[], pair, on(false, true));
    assert!(alone.starts_with("on veth (generic), the runs return "), "{alone}");
    // An upstream program uses room that the next program then lacks.
    let grows = of_insns(
        &object("chain_second.bpf.o"),
        vec![
            set(Register::R2, 100),
            Insn::Call(Call::Helper(XDP_ADJUST_TAIL)),
            set(Register::R0, PASS.cast_signed()),
            Insn::Exit,
        ],
    );
    let upstream = [Stage { object: Arc::new(grows), program: 0, results: vec![PASS] }];
    let what =
        found(&kernel, &upstream, (&trailer(100, false), &trailer(100, true)), with_test_runs());
    assert_eq!(what, "on veth (native), the runs return 2 and 3");
    Oracle::Kernel.compared(600, "frames in rehearsals");
}

#[test]
fn packets_and_maps_are_compared_there() {
    let Some(kernel) = with_devices() else { return };
    let original = object("chain_first.bpf.o");
    let mut changed = original.link(0, None).expect("links");
    for insn in &mut changed.insns {
        match insn {
            Insn::Alu { src: Source::Imm(number @ 1), dst, .. } if *dst != Register::R0 => {
                *number = 3;
            }
            Insn::Store { src: Source::Imm(number @ 1), .. } => *number = 3,
            _ => {}
        }
    }
    let rewritten = written(&original, &changed);
    let what = found(&kernel, &[], (&original, &rewritten), on(true, false));
    assert_eq!(what, "on veth (native), the runs leave different content of map seen");
    let writes = |byte| {
        let (packet, end) = (Register::R2, Register::R3);
        let load = |dst, offset| {
            let base = Register::R1;
            Insn::Load { size: Size::W, signed: false, dst, base, offset }
        };
        let (width, dst) = (Width::W64, Register::R4);
        of_insns(
            &object("chain_second.bpf.o"),
            vec![
                set(Register::R0, PASS.cast_signed()),
                load(packet, 0),
                load(end, 4),
                to(dst, packet),
                Insn::Alu { width, op: AluOp::Add, dst, src: Source::Imm(14) },
                Insn::Branch { width, cond: Condition::Gt, dst, src: Source::Reg(end), offset: 1 },
                Insn::Store { size: Size::B, base: packet, offset: 13, src: Source::Imm(byte) },
                Insn::Exit,
            ],
        )
    };
    let what = found(&kernel, &[], (&writes(1), &writes(2)), on(true, true));
    assert_eq!(what, "on veth (native), the runs leave packets that differ in byte 13");
    // The metadata differs only in its length.
    let with_metadata = |delta| {
        let insns = vec![
            set(Register::R2, delta),
            Insn::Call(Call::Helper(XDP_ADJUST_META)),
            set(Register::R0, PASS.cast_signed()),
            Insn::Exit,
        ];
        of_insns(&object("chain_second.bpf.o"), insns)
    };
    let what = found(&kernel, &[], (&with_metadata(-36), &with_metadata(-40)), on(true, false));
    assert_eq!(what, "on veth (native), the runs leave different metadata");
    Oracle::Kernel.compared(3, "changed programs in rehearsals");
}

/// Builds a program that returns the constant `returns` for every packet.
fn passing(returns: u32, section: &str) -> Object {
    let like = object("chain_second.bpf.o");
    let mut program = like.link(0, None).expect("links");
    section.clone_into(&mut program.section);
    program.insns = vec![set(Register::R0, returns.cast_signed()), Insn::Exit];
    program.lines = vec![None; program.insns.len()];
    program.subprograms.truncate(1);
    written(&like, &program)
}

#[test]
fn programs_for_several_buffers_run_in_front_of_others() {
    let Some(kernel) = with_devices() else { return };
    let first = Arc::new(passing(PASS, "xdp.frags"));
    let upstream = [Stage { object: first, program: 0, results: vec![PASS] }];
    let second = passing(PASS, "xdp");
    let done = rehearsed(&kernel, &upstream, (&second, &second), on(true, true)).expect("runs");
    assert_eq!(agreed(&done), [("native", 300), ("generic", 300)]);
    Oracle::Kernel.compared(600, "frames in rehearsals");
}

#[test]
fn reasons_for_no_comparison_are_reported() {
    let Some(kernel) = with_devices() else { return };
    let original = object("chain_second.bpf.o");
    let reason = |options: Options, upstream: &[Stage]| {
        let done = rehearsed(&kernel, upstream, (&original, &original), options).expect("runs");
        assert_eq!(done.compared, options.packets, "test runs go on");
        let device = done.devices.first().expect("it was requested");
        assert_eq!(device.frames, 0);
        device.why_not.clone().expect("there is a reason")
    };
    let long = Devices { lengths: (9500, 9600), ..with_test_runs().devices };
    let reported = reason(Options { devices: long, ..with_test_runs() }, &[]);
    assert_eq!(reported, "its frames cannot have this length");
    let random = of_insns(
        &original,
        vec![
            Insn::Call(Call::Helper(GET_PRANDOM_U32)),
            set(Register::R0, PASS.cast_signed()),
            Insn::Exit,
        ],
    );
    let upstream = [Stage { object: Arc::new(random), program: 0, results: vec![PASS] }];
    let reported = reason(with_test_runs(), &upstream);
    assert!(reported.ends_with("depend on results of bpf_get_prandom_u32"), "{reported}");
    let drops = passing(1, "xdp");
    let upstream = [Stage { object: Arc::new(drops), program: 0, results: vec![PASS] }];
    let done = rehearsed(&kernel, &upstream, (&original, &original), on(true, false));
    let device = done.expect("runs").devices.remove(0);
    assert_eq!(device.why_not.as_deref(), Some("only 0 frames reached both programs"));
    Oracle::Kernel.compared(3, "reasons in rehearsals");
}
