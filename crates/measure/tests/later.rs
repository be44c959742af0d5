//! Paths of packets after the first one, which find its changes in the maps: the counts of the
//! kernel equal those of the interpreter. Times are not tested.

use crate::assembled;
use crate::counter;

use std::path::Path;
use std::sync::Arc;

use assembled::{ADD, EXIT, insn, result};
use counter::{PUT_COUNTER, counter};
use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::timing::TimingThread;
use slowpath_kernel::{Context, Kernel, witness};
use slowpath_measure::{Arrangement, Case, Load, SubsequentPackets};
use slowpath_oracle::Oracle;
use slowpath_replay::Replay;

const DROP: u32 = 1;
const PASS: u32 = 2;
const PACKET: [u8; 64] = [0x11; 64];

/// Returns the timing thread and the kernel; without them, the test is skipped.
fn timing_thread() -> Option<(TimingThread, Arc<Kernel>)> {
    let kernel = Kernel::available().map_err(|reason| Oracle::Kernel.missing(reason)).ok()?;
    let timing_thread =
        TimingThread::start(None).map_err(|reason| Oracle::Kernel.missing(reason)).ok()?;
    Some((timing_thread, Arc::new(kernel)))
}

fn witness_of(packet: &[u8]) -> Value {
    let digits: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "packet": digits, "maps": {}, "unknowns": [], "environment": [] })
}

fn prepare(
    timing_thread: &TimingThread,
    kernel: &Arc<Kernel>,
    object: &Arc<Object>,
    packet: &[u8],
) -> Case {
    let case = Case::prepare(timing_thread, kernel, object, 0, witness_of(packet), None);
    case.unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the kernel's instruction counts and results of successive fresh packets.
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

/// Passes packets and counts them while the counter is below a limit; then drops them.
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

/// Passes every other packet, and drops the ones in between.
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

/// Passes the first packet unchanged. Changes further ones, and passes those not changed before.
fn marking() -> Arc<Object> {
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

/// Drops packets like the one before, and renumbers others. A packet that came in again as it went
/// out would therefore be a new one.
fn renumbering() -> Arc<Object> {
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

/// Changes packets, and passes those that were not changed before; the counter is not changed.
fn once_changed() -> Arc<Object> {
    counter(&[
        insn(0x71, 2, 8, 14, 0),
        insn(0x72, 8, 0, 14, 0x22),
        result(PASS),
        insn(0x15, 2, 0, 1, 0x11),
        result(DROP),
        EXIT,
    ])
}

/// Checks that further packets take one common path in the kernel, in the interpreter and in each
/// repetition.
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
    for another in &packets[1..] {
        assert_eq!(*another, (later.instructions(), later.action()));
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
fn packets_behind_the_first_find_what_it_left() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let here = (&timing_thread, &kernel);
    let (first, later) = steady(here, &limiter(1), &PACKET);
    assert_eq!((first.action(), later.action()), (PASS, DROP));
    assert!(later.instructions() < first.instructions());
    // The second packet is fresh, so it is changed for the first time.
    let (first, later) = steady(here, &marking(), &PACKET);
    assert_eq!((first.action(), later.action()), (PASS, PASS));
    let Arrangement::Restored(undo) = later.case().expect("is steady").arrangement() else {
        panic!("the packet stays changed");
    };
    assert_eq!((undo.packet.as_slice(), undo.elements.len()), (&[(14, vec![0x11])][..], 0));
    let (first, later) = steady(here, &renumbering(), &PACKET);
    assert_eq!((first.action(), later.action()), (PASS, DROP));
    Oracle::Kernel.compared(3, "paths of further packets");
}

#[test]
fn a_flow_is_inserted_once() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flow_monitor.bpf.o");
    let bytes = std::fs::read(file).expect("is there");
    let object = Arc::new(Object::parse(&bytes).expect("is an object"));
    // Ethernet, IPv4, UDP.
    let mut packet = vec![2; 12];
    packet.extend([8, 0, 0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x30, 0x39, 0, 53, 0, 30, 0, 0]);
    packet.resize(64, 0);
    let (first, later) = steady((&timing_thread, &kernel), &object, &packet);
    assert!(later.instructions() != first.instructions());
    Oracle::Kernel.compared(1, "paths of further packets");
}

#[test]
fn where_further_packets_differ_there_is_a_reason() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    for (object, action) in [(limiter(3), PASS), (toggle(), DROP)] {
        let case = prepare(&timing_thread, &kernel, &object, &PACKET);
        let later = case.subsequent_packets().expect("maps make a difference");
        let second = counted(&kernel, &object, &PACKET, 2)[1];
        assert_eq!((later.instructions(), later.action()), second);
        assert_eq!(later.action(), action);
        let reason = later.case().expect_err("is not steady");
        assert!(reason.contains("do not all take the path"), "{reason}");
    }
    Oracle::Kernel.compared(2, "reasons");
}

#[test]
fn what_only_the_packet_carries_on_is_no_later_path() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let counting = prepare(&timing_thread, &kernel, &limiter(1 << 30), &PACKET);
    assert_eq!(*counting.arrangement(), Arrangement::Repeated);
    assert!(counting.subsequent_packets().is_none());
    let changing = prepare(&timing_thread, &kernel, &once_changed(), &PACKET);
    assert!(matches!(changing.arrangement(), Arrangement::Restored(_)));
    assert!(changing.subsequent_packets().is_none());
    Oracle::Kernel.compared(2, "paths that all packets take");
}
