//! Tests timing with live packets, which really go where the program sends them. All packets must
//! be accounted for, and unsuitable paths must be refused. Times are not tested.

use crate::support;

use std::sync::Arc;

use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::live::Live;
use slowpath_kernel::timing::TimingThread;
use slowpath_measure::MeasureError;
use slowpath_measure::live::{LiveCase, LiveLoad, LiveSubject};
use slowpath_oracle::Oracle;
use support::{REDIRECT, changes, features, program_number, witness};

const FRAMES: u32 = 5000;

/// Returns a timing thread and the kernel. Returns `None`, so that the test is skipped, if one of
/// them or live packets are not available.
fn timing_thread() -> Option<(TimingThread, Arc<Kernel>)> {
    let (timing_thread, kernel) = support::timing_thread()?;
    Live::new(&kernel).map_err(|reason| Oracle::Kernel.missing(reason)).ok()?;
    Some((timing_thread, kernel))
}

/// Verifies that live packets of 64 zeros take a path of the program, so that the path can be
/// timed. `maps` is the content of its maps.
fn prepare(
    timing_thread: &TimingThread,
    kernel: &Arc<Kernel>,
    (object, program): (&Arc<Object>, &str),
    maps: &Value,
) -> Result<LiveCase, MeasureError> {
    let program = (object, program_number(object, program));
    let witness = witness(&[0; 64], maps, &json!([]));
    let case = support::prepare(timing_thread, kernel, program, witness)?;
    LiveCase::prepare(timing_thread, kernel, &Arc::new(case), 64)
}

#[test]
fn redirected_packets_arrive() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let ports = json!({ "ports": [{ "key": "03000000", "value": "01000000" }] });
    let case =
        prepare(&timing_thread, &kernel, (&changes(), "redirect"), &ports).expect("runs live");
    assert_eq!((case.case().action(), case.receive_obstacle()), (REDIRECT, None));
    let case = Arc::new(case);
    let load = LiveLoad::new(&timing_thread, &kernel, vec![Arc::clone(&case)]).map(Arc::new);
    let load = load.expect("is loaded");
    for subject in LiveSubject::ALL {
        let sample = load.sample(&timing_thread, 0, subject, FRAMES, 64).expect("runs");
        assert_eq!(sample.frames, FRAMES);
        assert_eq!(sample.arrived + sample.lost, u64::from(FRAMES), "{subject:?}: {sample:?}");
        assert!(sample.nanoseconds > 0);
    }
    assert!(load.sample(&timing_thread, 1, LiveSubject::Program, 1, 64).is_err());
    // A program gets at most as many packets as were seen to take the path.
    let counted = case.counted();
    for subject in [LiveSubject::Program, LiveSubject::Receiver] {
        let more = load.sample(&timing_thread, 0, subject, counted - FRAMES + 1, 64);
        let refused = more.expect_err("were not counted");
        assert!(matches!(refused, MeasureError::NotCounted { .. }), "{refused}");
        // The refused packets were not sent, so a smaller number can still be sent.
        let fewer = load.sample(&timing_thread, 0, subject, FRAMES, 64);
        fewer.unwrap_or_else(|e| panic!("{subject:?}: {e}"));
    }
    Oracle::Kernel.compared(4 * FRAMES as usize, "live packets");
}

#[test]
fn paths_without_a_target_or_with_a_reader_are_refused() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    // The program returns `XDP_REDIRECT` without redirecting the packet.
    let refused = prepare(&timing_thread, &kernel, (&features(), "answer"), &json!({}))
        .expect_err("goes nowhere");
    assert!(matches!(refused, MeasureError::NotLive { .. }), "{refused}");
    assert!(refused.to_string().contains("only devices in maps are supported"), "{refused}");
    let refused = prepare(&timing_thread, &kernel, (&changes(), "output_anyway"), &json!({}));
    let refused = refused.expect_err("fills a ring buffer").to_string();
    assert!(refused.contains("ring buffer"), "{refused}");
    Oracle::Kernel.compared(2, "refusals of live packets");
}
