//! Tests live runs: how many packets arrive, and which runs the kernel refuses. No test checks a
//! duration.

use crate::support;

use std::time::{Duration, Instant};

use serde_json::json;
use slowpath_bpf::insn::{AluOp, Condition, Insn, Register, Size, Source, Width};
use slowpath_kernel::live::{Action, Live, LiveError, Receiver};
use slowpath_kernel::witness::install_towards;
use slowpath_kernel::{Context, Kernel, LoadedProgram, NamespaceError, listing};
use slowpath_oracle::Oracle;
use support::{assemble, features, kernel, load};

const PACKET: [u8; 64] = [0; 64];

/// Creates a namespace for live runs. Returns `None` if the kernel does not support them, so that
/// the test is skipped.
fn live() -> Option<(Kernel, Live)> {
    let kernel = kernel()?;
    match Live::new(&kernel) {
        Ok(live) => Some((kernel, live)),
        Err(
            reason @ (LiveError::Unsupported { .. }
            | LiveError::Namespace(NamespaceError::Refused(_))),
        ) => {
            Oracle::Kernel.missing(reason);
            None
        }
        Err(fault) => panic!("{fault}"),
    }
}

/// Returns how many packets the program of a receiver has sent back.
fn returned(live: &Live, receiver: &Receiver) -> u64 {
    live.namespace().counts(receiver.sender()).expect("are counted").received
}

/// Loads a program that sends a packet back if its first byte is 1, and sets this byte to 2. The
/// program drops all other packets.
fn only_once(kernel: &Kernel) -> LoadedProgram {
    let [data, end, byte] = [Register::R2, Register::R3, Register::R4];
    let alu = |op, dst, src| Insn::Alu { width: Width::W64, op, dst, src };
    let field = |dst, offset| {
        let base = Register::R1;
        Insn::Load { size: Size::W, signed: false, dst, base, offset }
    };
    let branch =
        |cond, dst, src, offset| Insn::Branch { width: Width::W64, cond, dst, src, offset };
    let program = [
        field(data, 0),
        field(end, 4),
        alu(AluOp::Mov, Register::R0, Source::Imm(Action::Drop as i32)),
        alu(AluOp::Mov, byte, Source::Reg(data)),
        alu(AluOp::Add, byte, Source::Imm(1)),
        branch(Condition::Gt, byte, Source::Reg(end), 4),
        Insn::Load { size: Size::B, signed: false, dst: byte, base: data, offset: 0 },
        branch(Condition::Ne, byte, Source::Imm(1), 2),
        Insn::Store { size: Size::B, base: data, offset: 0, src: Source::Imm(2) },
        alu(AluOp::Mov, Register::R0, Source::Imm(Action::Tx as i32)),
        Insn::Exit,
    ];
    load(kernel, &assemble::object(&[&program]), "test")
}

#[test]
fn packets_sent_by_baselines_arrive() {
    let Some((_, live)) = live() else { return };
    let mut compared = 0;
    for action in Action::ALL {
        let sends = matches!(action, Action::Tx | Action::Redirect);
        for (frames, batch) in [(0, 0), (1, 1), (100, 16), (10_000, 64)] {
            let run = live.run(live.baseline(action), &PACKET, &Context::default(), frames, batch);
            let run = run.unwrap_or_else(|fault| panic!("{action:?}: {fault}"));
            let frames = frames.max(1);
            assert_eq!(run.frames, frames);
            let expected = if sends { frames } else { 0 };
            assert_eq!(run.delivered + run.lost, u64::from(expected), "{action:?}: {run:?}");
            assert!(run.elapsed > Duration::ZERO);
            compared += frames as usize;
        }
    }
    Oracle::Kernel.compared(compared, "live packets");
}

#[test]
fn lost_packets_are_counted() {
    let Some((_, live)) = live() else { return };
    let run = live.run(live.baseline(Action::Tx), &PACKET, &Context::default(), 200_000, 256);
    let run = run.expect("runs");
    assert_eq!(run.delivered + run.lost, 200_000, "{run:?}");
    let mut receiver = live.receiver(live.minimal(Action::Pass), &PACKET).expect("is attached");
    let run = receiver.run(100_000, 256).expect("runs");
    assert_eq!(run.received + run.lost, 100_000, "{run:?}");
    assert_eq!(returned(&live, &receiver), 0);
    Oracle::Kernel.compared(300_000, "live packets");
}

#[test]
fn redirects_of_witnesses_reach_the_requested_device() {
    let Some((kernel, live)) = live() else { return };
    let loaded = load(&kernel, &features(), "all_maps");
    let witness = json!({ "maps": { "ports": [{ "key": "03000000", "value": "01000000" }] } });
    let device = live.device();
    let installed = live.namespace().enter(|| install_towards(&loaded, &witness, device));
    let _kept = installed.expect("is entered").expect("is installed");
    let prepared = live.prepare(&loaded).expect("is prepared");
    let run = live.run(&prepared, &PACKET, &Context::default(), 1000, 0).expect("runs");
    assert_eq!((run.delivered, run.lost), (1000, 0), "{run:?}");

    let mut receiver = live.receiver(&loaded, &PACKET).expect("is attached");
    let device = receiver.device();
    let installed = live.namespace().enter(|| install_towards(&loaded, &witness, device));
    let _kept = installed.expect("is entered").expect("is installed");
    let run = receiver.run(1000, 0).expect("runs");
    assert_eq!((run.received, run.lost), (1000, 0), "{run:?}");
    assert_eq!(returned(&live, &receiver), 1000);
    Oracle::Kernel.compared(2000, "live packets");
}

#[test]
fn receivers_and_their_programs_count_the_same_packets() {
    let Some((kernel, live)) = live() else { return };
    let loaded = load(&kernel, &features(), "globals");
    let seen = || {
        let data = loaded.map(".data").and_then(|data| data.lookup(&[0; 4]).ok().flatten());
        let data: [u8; 4] = data.expect("is there").try_into().expect("an int");
        u64::from(u32::from_ne_bytes(data))
    };
    let mut receiver = live.receiver(&loaded, &PACKET).expect("is attached");
    for frames in [1, 64, 5000] {
        let (before, returned_before) = (seen(), returned(&live, &receiver));
        let run = receiver.run(frames, 0).expect("runs");
        assert_eq!((run.received, run.lost), (u64::from(frames), 0), "{run:?}");
        let all = (run.received, run.received);
        assert_eq!((seen() - before, returned(&live, &receiver) - returned_before), all);
    }
    Oracle::Kernel.compared(5065, "live packets");
}

#[test]
fn receivers_get_unchanged_packets_but_runs_reuse_them() {
    let Some((kernel, live)) = live() else { return };
    let loaded = only_once(&kernel);
    for len in [14, 15, 64, 1500] {
        let mut packet = vec![3; len];
        packet[0] = 1;
        let mut receiver = live.receiver(&loaded, &packet).expect("is attached");
        let run = receiver.run(2000, 0).expect("runs");
        assert_eq!((run.received, returned(&live, &receiver)), (2000, 2000), "{run:?}");
        let prepared = live.prepare(&loaded).expect("is prepared");
        let run = live.run(&prepared, &packet, &Context::default(), 2000, 0).expect("runs");
        assert!((1..2000).contains(&run.delivered), "memory is used again: {run:?}");
    }
    Oracle::Kernel.compared(4 * 4000, "live packets");
}

#[test]
fn prepared_programs_can_have_each_packet_rewritten() {
    let Some((kernel, live)) = live() else { return };
    let loaded = only_once(&kernel);
    for len in [14, 15, 64, 1500] {
        let mut packet = vec![3; len];
        packet[0] = 1;
        let prepared = live.prepare_rewritten(&loaded, &packet).expect("is prepared");
        let run = live.run(&prepared, &packet, &Context::default(), 2000, 0).expect("runs");
        assert_eq!((run.delivered, run.lost), (2000, 0), "{run:?}");
    }
    for action in Action::ALL {
        let prepared = live.prepare_rewritten(live.minimal(action), &PACKET).expect("is prepared");
        let run = live.run(&prepared, &PACKET, &Context::default(), 1000, 0).expect("runs");
        assert_eq!(run.delivered, if action.sends() { 1000 } else { 0 }, "{action:?}: {run:?}");
    }
    Oracle::Kernel.compared(4 * 2000 + 5000, "live packets");
}

#[test]
fn unsendable_packets_are_refused_with_a_reason() {
    let Some((kernel, live)) = live() else { return };
    let run = |packet: &[u8], context: &Context, batch| {
        live.run(live.baseline(Action::Tx), packet, context, 10, batch)
    };
    let plain = Context::default();
    let with_metadata = Context { metadata: vec![1; 32], ..plain.clone() };
    assert_eq!(run(&PACKET, &with_metadata, 0).expect("runs").delivered, 10);
    assert!(matches!(run(&PACKET[..13], &plain, 0), Err(LiveError::TooShort { len: 13 })));
    assert!(matches!(run(&[0; 4000], &plain, 0), Err(LiveError::TooLong { len: 4000 })));
    assert!(matches!(run(&PACKET, &plain, 257), Err(LiveError::Batch { batch: 257 })));
    let queue = run(&PACKET, &Context { rx_queue_index: 1, ..plain.clone() }, 0);
    let queue = queue.expect_err("there is one queue").to_string();
    assert!(queue.ends_with("check its metadata, and use queue 0"), "{queue}");
    let from = |number| Context { ingress_ifindex: number, ..plain.clone() };
    let device = live.device().index();
    assert_eq!(run(&PACKET, &from(device), 0).expect("runs").delivered, 10);
    let other = run(&PACKET, &from(device + 100), 0);
    assert!(matches!(other, Err(LiveError::Device { .. })), "{other:?}");
    let mut receiver = live.receiver(&kernel.load_pass().expect("loads"), &[0; 13]).expect("waits");
    assert!(matches!(receiver.run(1, 0), Err(LiveError::TooShort { len: 13 })));
    Oracle::Kernel.compared(6, "refusals of live packets");
}

#[test]
fn examples_run_live() {
    let Some((kernel, live)) = live() else { return };
    let packets = support::packets();
    let (mut sent, mut run) = (0, 0);
    for path in support::examples() {
        let name = path.display();
        let object = support::object(&path);
        for number in 0..object.programs.len() {
            // Other tests cover programs that the kernel rejects.
            let Ok(loaded) = kernel.load(&object, number) else { continue };
            let prepared = live.prepare(&loaded).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            for (kind, packet) in &packets {
                let run = live.run(&prepared, packet, &Context::default(), 100, 0);
                let run = run.unwrap_or_else(|fault| panic!("{name}, {kind}: {fault}"));
                assert!(run.delivered + run.lost <= 100, "{name}, {kind}: {run:?}");
            }
            let (kind, packet) = &packets[number % packets.len()];
            let receiver = live.receiver(&loaded, packet);
            let mut receiver = receiver.unwrap_or_else(|fault| panic!("{name}: {fault}"));
            let got = receiver.run(200, 0).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            assert_eq!(got.received + got.lost, 200, "{name}, {kind}: {got:?}");
            assert!(returned(&live, &receiver) <= got.received, "{name}, {kind}: {got:?}");
            (sent, run) = (sent + packets.len() * 100 + 200, run + 1);
        }
    }
    Oracle::Kernel.compared(sent, "live packets");
    assert!(run > 0, "no example was run");
}

#[test]
fn programs_see_the_index_of_the_device() {
    let Some((kernel, live)) = live() else { return };
    // r0 = ctx->ingress_ifindex == number ? XDP_TX : XDP_DROP
    let [r0, device] = [Register::R0, Register::R2];
    let set = |dst, value| {
        let src = Source::Imm(value);
        Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src }
    };
    let (base, offset) = (Register::R1, 12);
    let for_device = |number: u32| {
        let program = [
            Insn::Load { size: Size::W, signed: false, dst: device, base, offset },
            set(r0, Action::Tx as i32),
            Insn::Branch {
                width: Width::W64,
                cond: Condition::Eq,
                dst: device,
                src: Source::Imm(number as i32),
                offset: 1,
            },
            set(r0, Action::Drop as i32),
            Insn::Exit,
        ];
        load(&kernel, &assemble::object(&[&program]), "test")
    };
    let device = live.device().index();
    for (number, expected) in [(device, 10), (device + 1, 0)] {
        let prepared = live.prepare(&for_device(number)).expect("is prepared");
        let run = live.run(&prepared, &PACKET, &Context::default(), 10, 0).expect("runs");
        assert_eq!(run.delivered, expected);
    }
    Oracle::Kernel.compared(2, "by number; only devices");
}

#[test]
fn dropping_live_runs_unloads_all_programs() {
    let Some((kernel, live)) = live() else { return };
    let loaded = kernel.load_pass().expect("loads");
    let prepared = live.prepare(&loaded).expect("is prepared");
    let receiver = live.receiver(&loaded, &PACKET).expect("is attached");
    let mut programs: Vec<u32> = Action::ALL
        .iter()
        .map(|&action| live.minimal(action).id().expect("has a number"))
        .collect();
    programs.push(loaded.id().expect("has a number"));
    drop((live, loaded));
    let left = || {
        let all = listing::programs().expect("are listed");
        programs.iter().filter(|program| all.contains(program)).count()
    };
    assert!(left() > 0, "prepared and attached programs remain");
    drop((prepared, receiver));
    let start = Instant::now();
    while left() > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "{} programs are there", left());
        std::thread::sleep(Duration::from_millis(20));
    }
    Oracle::Kernel.compared(programs.len(), "programs that are gone afterwards");
}
