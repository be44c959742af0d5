//! Paths on live packets: all packets are accounted for, and unsuitable paths are refused. Times
//! are not tested.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::live::Live;
use slowpath_kernel::timing::TimingThread;
use slowpath_measure::live::{LiveCase, LiveLoad, LiveSubject};
use slowpath_measure::{Case, MeasureError};
use slowpath_oracle::Oracle;

const FEATURES: &str = "../kernel/tests/objects/features.bpf.o";
const CHANGES: &str = "tests/objects/changes.bpf.o";
const FRAMES: u32 = 5000;

/// Returns the timing thread and the kernel; without them, the test is skipped.
fn timing_thread() -> Option<(TimingThread, Arc<Kernel>)> {
    let kernel = Kernel::available().map_err(|reason| Oracle::Kernel.missing(reason)).ok()?;
    Live::new(&kernel).map_err(|reason| Oracle::Kernel.missing(reason)).ok()?;
    let timing_thread =
        TimingThread::start(None).map_err(|reason| Oracle::Kernel.missing(reason)).ok()?;
    Some((timing_thread, Arc::new(kernel)))
}

/// Prepares the path of a packet of zeros with these maps.
fn prepare(
    timing_thread: &TimingThread,
    kernel: &Arc<Kernel>,
    (object, program): (&str, &str),
    maps: &Value,
) -> Result<LiveCase, MeasureError> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(object);
    let object = Object::parse(&std::fs::read(file).expect("is there")).expect("is an object");
    let number = object.programs.iter().position(|p| p.name == program).expect("is in it");
    let witness = json!({ "packet": "00".repeat(64), "maps": maps });
    let case = Case::prepare(timing_thread, kernel, &Arc::new(object), number, witness, None)?;
    LiveCase::prepare(timing_thread, kernel, &Arc::new(case), 64)
}

#[test]
fn what_is_redirected_to_a_device_arrives() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let ports = json!({ "ports": [{ "key": "03000000", "value": "01000000" }] });
    let case = prepare(&timing_thread, &kernel, (CHANGES, "redirect"), &ports).expect("runs live");
    assert_eq!((case.case().action(), case.receive_obstacle()), (4, None));
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
    }
    Oracle::Kernel.compared(4 * FRAMES as usize, "live packets");
}

#[test]
fn what_leads_nowhere_or_needs_a_reader_is_refused() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    // The program returns `XDP_REDIRECT` without redirecting the packet.
    let refused = prepare(&timing_thread, &kernel, (FEATURES, "answer"), &json!({}))
        .expect_err("goes nowhere");
    assert!(matches!(refused, MeasureError::NotLive { .. }), "{refused}");
    assert!(refused.to_string().contains("lead nowhere"), "{refused}");
    let refused = prepare(&timing_thread, &kernel, (CHANGES, "output_anyway"), &json!({}));
    let refused = refused.expect_err("fills a ring buffer").to_string();
    assert!(refused.contains("ring buffer"), "{refused}");
    Oracle::Kernel.compared(2, "refusals of live packets");
}
