//! Tests programs under offered load in the running kernel. Each packet must be counted exactly
//! once, at the stage where it got lost. Times are not tested.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use slowpath_bpf::Object;
use slowpath_kernel::Mode;
use slowpath_kernel::echo::EchoPlaces;
use slowpath_measure::MeasureError;
use slowpath_measure::offered::{OfferedLoad, Trial};
use slowpath_oracle::Oracle;
use support::assembled::{ADD, EXIT, PUT_COUNTER, counter, insn, object, result};
use support::{DROP, PASS, TX, witness};

const TIME: Duration = Duration::from_millis(50);
const ABORTED: u32 = 0;

/// Offers packets of 64 zeros to the program of an object. Returns `None`, so that the test is
/// skipped, if this machine does not allow it.
fn offered(object: &Object, mode: Mode) -> Option<OfferedLoad> {
    let kernel = support::kernel()?;
    let (packet, places) = (vec![0; 64], EchoPlaces { mode, sender: 0, program: 1 });
    let witness = witness(&packet, &json!({}), &json!([]));
    match OfferedLoad::new(&kernel, (object, 0), &witness, packet, places) {
        Ok(load) => Some(load),
        Err(MeasureError::Echo(reason)) => {
            Oracle::Kernel.missing(reason);
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// Returns a program that returns `action` for each packet.
fn returning(action: u32) -> Arc<Object> {
    object([2, 4, 8, 1], &[result(action), EXIT])
}

/// Runs a trial, and checks that the counts of all stages add up to the number of packets.
fn trial(load: &OfferedLoad, rate: Option<f64>) -> Trial {
    let trial = load.trial(rate, TIME).expect("runs");
    let Trial { paced, refused, kept, lost_back, unmarked, received, latencies } = &trial;
    assert_eq!(paced.due, paced.sent + paced.late);
    assert_eq!(paced.refused, *refused, "{trial:?}");
    assert_eq!(paced.sent, refused + kept + lost_back + unmarked + received, "{trial:?}");
    assert_eq!(latencies.len(), if *received > 0 { 6 } else { 0 });
    assert!(latencies.is_sorted());
    if let Some(rate) = rate {
        assert_eq!(paced.due, (rate * TIME.as_secs_f64()) as u64);
    }
    Oracle::Kernel.compared(1, "trials");
    trial
}

#[test]
fn returned_packets_are_received_or_lost_in_a_queue() {
    for mode in [Mode::Native, Mode::Generic] {
        let Some(load) = offered(&returning(TX), mode) else { return };
        for rate in [Some(1e3), Some(5e4), None] {
            let trial = trial(&load, rate);
            assert_eq!((trial.kept, trial.unmarked), (0, 0), "{trial:?}");
            assert!(trial.received > 0, "{mode:?} {rate:?}: {trial:?}");
        }
    }
}

#[test]
fn packets_that_the_program_keeps_are_counted() {
    for mode in [Mode::Native, Mode::Generic] {
        for action in [ABORTED, DROP, PASS] {
            let Some(load) = offered(&returning(action), mode) else { return };
            let trial = trial(&load, Some(1e4));
            assert_eq!(trial.kept, trial.paced.sent - trial.refused, "{mode:?}: {trial:?}");
        }
    }
}

#[test]
fn a_program_that_drops_each_other_packet_loses_half() {
    // The counter goes up by 1; the action is XDP_TX if it is then odd.
    let body = [
        insn(ADD, 1, 0, 0, 1),
        PUT_COUNTER,
        insn(0x57, 1, 0, 0, 1),
        result(TX),
        insn(0x55, 1, 0, 1, 0),
        result(DROP),
        EXIT,
    ];
    let Some(load) = offered(&counter(&body), Mode::Native) else { return };
    let trial = trial(&load, Some(1e4));
    let half = (trial.paced.sent - trial.refused) / 2;
    assert!(trial.kept.abs_diff(half) <= 1, "{trial:?}");
    assert!((trial.received + trial.lost_back).abs_diff(half) <= 1, "{trial:?}");
}

#[test]
fn packets_with_a_damaged_mark_do_not_count_as_received() {
    // `bpf_xdp_adjust_tail` shortens the packet by 8 bytes, which are the half of its mark.
    let body = [insn(0xb7, 2, 0, 0, -8), insn(0x85, 0, 0, 0, 65), result(TX), EXIT];
    let Some(load) = offered(&object([2, 4, 8, 1], &body), Mode::Native) else { return };
    let trial = trial(&load, Some(1e4));
    assert_eq!(trial.received, 0, "{trial:?}");
    assert_eq!(trial.unmarked, trial.paced.sent - trial.refused - trial.lost_back);
}

#[test]
fn a_stopped_load_sends_nothing() {
    let Some(load) = offered(&returning(TX), Mode::Native) else { return };
    load.stop();
    let trial = load.trial(Some(1e4), TIME).expect("runs");
    assert_eq!((trial.paced.due, trial.received), (0, 0));
    Oracle::Kernel.compared(1, "trials");
}
