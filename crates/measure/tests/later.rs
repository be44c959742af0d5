//! Tests the paths of packets after the first one, which find the maps as the first one left them.
//! The kernel must count as many instructions as the interpreter. No test checks a time.

use crate::support;

use std::sync::Arc;

use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::timing::TimingThread;
use slowpath_kernel::{Context, Kernel, witness};
use slowpath_measure::{Arrangement, Case, Load, SubsequentPackets};
use slowpath_oracle::Oracle;
use slowpath_replay::Replay;
use support::assembled::{ADD, EXIT, PUT_COUNTER, counter, insn, result};
use support::{DROP, PASS, timing_thread};

const PACKET: [u8; 64] = [0x11; 64];

fn witness_of(packet: &[u8]) -> Value {
    support::witness(packet, &json!({}), &json!([]))
}

fn prepare(
    timing_thread: &TimingThread,
    kernel: &Arc<Kernel>,
    object: &Arc<Object>,
    packet: &[u8],
) -> Case {
    let case = support::prepare(timing_thread, kernel, (object, 0), witness_of(packet));
    case.unwrap_or_else(|e| panic!("{e}"))
}

/// Runs the same packet several times, on maps that keep the changes of earlier runs. Returns the
/// kernel's instruction count and return value for each run.
fn counted(kernel: &Kernel, object: &Object, packet: &[u8], packets: usize) -> Vec<(u64, u32)> {
    let counted = kernel.load_counted(object, 0).expect("loads");
    let _installed = witness::install(counted.loaded(), &witness_of(packet)).expect("installs");
    let run = |_| {
        let (run, tally) =
            counted.run_repeated(packet, &Context::default(), 1).expect("the kernel runs it");
        (tally.instructions, run.return_value)
    };
    (0..packets).map(run).collect()
}

/// Builds a program that counts packets and passes them while the count is below a limit. Then it
/// drops them.
fn limiter(limit: i32) -> Arc<Object> {
    counter(&[
        insn(0x35, 1, 0, 4, limit),
        insn(ADD, 1, 0, 0, 1),
        PUT_COUNTER,
        result(PASS),
        EXIT,
        result(DROP),
        EXIT,
    ])
}

/// Builds a program that passes every second packet and drops the others.
fn toggle() -> Arc<Object> {
    counter(&[
        insn(0xa7, 1, 0, 0, 1),
        PUT_COUNTER,
        insn(0x15, 1, 0, 2, 0),
        result(PASS),
        EXIT,
        result(DROP),
        EXIT,
    ])
}

/// Builds a program that passes the first packet unchanged. The program changes one byte of all
/// later packets, and drops those that already have the changed byte.
fn change_later_packets() -> Arc<Object> {
    counter(&[
        insn(0x55, 1, 0, 4, 0),
        insn(0xb7, 1, 0, 0, 1),
        PUT_COUNTER,
        result(PASS),
        EXIT,
        insn(0x71, 2, 8, 14, 0),
        insn(0x72, 8, 0, 14, 0x22),
        result(PASS),
        insn(0x15, 2, 0, 1, 0x11),
        result(DROP),
        EXIT,
    ])
}

/// Builds a program that compares one byte of each packet, its number, with that of the previous
/// packet. The program drops packets with an equal number, and increments the number in all others.
/// A packet that is not restored would therefore pass again.
fn renumber() -> Arc<Object> {
    counter(&[
        insn(0x71, 2, 8, 14, 0),
        insn(0x1d, 2, 1, 5, 0),
        insn(0x7b, 7, 2, 0, 0),
        insn(ADD, 2, 0, 0, 1),
        insn(0x73, 8, 2, 14, 0),
        result(PASS),
        EXIT,
        result(DROP),
        EXIT,
    ])
}

/// Builds a program that changes byte 14 of each packet to 0x22. It passes packets in which the byte
/// was 0x11, and drops all others, such as changed ones. It does not change the counter in its map.
fn change_packet() -> Arc<Object> {
    counter(&[
        insn(0x71, 2, 8, 14, 0),
        insn(0x72, 8, 0, 14, 0x22),
        result(PASS),
        insn(0x15, 2, 0, 1, 0x11),
        result(DROP),
        EXIT,
    ])
}

/// Checks that all packets after the first one take the same path, with the same instruction count
/// and return value in the kernel, in the interpreter and in each repeated run.
fn steady(
    (timing_thread, kernel): (&TimingThread, &Arc<Kernel>),
    object: &Arc<Object>,
    packet: &[u8],
) -> (Case, SubsequentPackets) {
    let first = prepare(timing_thread, kernel, object, packet);
    let later = first.subsequent_packets().expect("takes another path").clone();
    let case = Arc::clone(later.case().expect("is steady"));
    let packets = counted(kernel, object, packet, 4);
    assert_eq!(packets[0], (first.instructions(), first.action()));
    for later_packet in &packets[1..] {
        assert_eq!(*later_packet, (later.instructions(), later.action()));
    }
    assert_eq!((case.instructions(), case.action()), packets[1]);
    assert!(case.subsequent_packets().is_none());
    let mut replay = Replay::new(kernel, object, 0).expect("loads");
    replay.install(&witness_of(packet)).expect("installs");
    let mut step = || replay.run(packet, &Context::default()).unwrap_or_else(|e| panic!("{e}"));
    let paths = [step().path, step().path];
    assert_eq!([first.path(), case.path()], paths.map(Some));
    // In the same load, in any order: each case has its own maps.
    let cases = vec![Arc::new(first.clone()), Arc::clone(&case)];
    let load = Arc::new(Load::new(timing_thread, kernel, cases).expect("loads"));
    for number in [0, 1, 1, 0, 1] {
        let sample = load.sample(timing_thread, number, 50).expect("runs");
        assert_eq!(sample.return_value, [first.action(), later.action()][number]);
    }
    (first, later)
}

#[test]
fn later_packets_find_the_changes_of_the_first() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let setup = (&timing_thread, &kernel);
    let (first, later) = steady(setup, &limiter(1), &PACKET);
    assert_eq!((first.action(), later.action()), (PASS, DROP));
    assert!(later.instructions() < first.instructions());
    // The second packet is fresh, so it is changed for the first time.
    let (first, later) = steady(setup, &change_later_packets(), &PACKET);
    assert_eq!((first.action(), later.action()), (PASS, PASS));
    let Arrangement::Restored(undo) = later.case().expect("is steady").arrangement() else {
        panic!("the packet stays changed");
    };
    assert_eq!((undo.packet.as_slice(), undo.elements.len()), (&[(14, vec![0x11])][..], 0));
    let (first, later) = steady(setup, &renumber(), &PACKET);
    assert_eq!((first.action(), later.action()), (PASS, DROP));
    Oracle::Kernel.compared(3, "paths of further packets");
}

#[test]
fn a_flow_is_inserted_once() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let object = support::example("flow_monitor");
    let packet = support::packet(17, [12345, 53], 64);
    let (first, later) = steady((&timing_thread, &kernel), &object, &packet);
    assert!(later.instructions() != first.instructions());
    Oracle::Kernel.compared(1, "paths of further packets");
}

#[test]
fn unsteady_later_packets_have_a_reason() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    for (object, action) in [(limiter(3), PASS), (toggle(), DROP)] {
        let case = prepare(&timing_thread, &kernel, &object, &PACKET);
        let later = case.subsequent_packets().expect("maps make a difference");
        let second = counted(&kernel, &object, &PACKET, 2)[1];
        assert_eq!((later.instructions(), later.action()), second);
        assert_eq!(later.action(), action);
        let reason = later.case().expect_err("is not steady");
        assert!(reason.contains("do not take the path"), "{reason}");
    }
    Oracle::Kernel.compared(2, "reasons");
}

#[test]
fn changes_of_the_packet_alone_make_no_later_path() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let counting = prepare(&timing_thread, &kernel, &limiter(1 << 30), &PACKET);
    assert_eq!(*counting.arrangement(), Arrangement::Repeated);
    assert!(counting.subsequent_packets().is_none());
    let changing = prepare(&timing_thread, &kernel, &change_packet(), &PACKET);
    assert!(matches!(changing.arrangement(), Arrangement::Restored(_)));
    assert!(changing.subsequent_packets().is_none());
    Oracle::Kernel.compared(2, "paths that all packets take");
}
