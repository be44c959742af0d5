//! Tests paths that change the packet or maps. Each repeated run must take the path of the first
//! run. Depending on the test, changes must be undone, ring buffers must be emptied, or the path
//! must be refused.

use crate::support;

use std::sync::Arc;

use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::timing::TimingThread;
use slowpath_measure::{Case, Load, MeasureError};
use slowpath_oracle::Oracle;
use support::{DROP, PASS, TX, prepare, program_number, witness};

struct Changes {
    kernel: Arc<Kernel>,
    timing_thread: TimingThread,
    object: Arc<Object>,
}

impl Changes {
    fn new() -> Option<Changes> {
        let (timing_thread, kernel) = support::timing_thread()?;
        Some(Changes { kernel, timing_thread, object: support::changes() })
    }

    fn prepare(&self, name: &str, maps: &Value, unknowns: &Value) -> Result<Case, MeasureError> {
        let program = (&self.object, program_number(&self.object, name));
        prepare(&self.timing_thread, &self.kernel, program, witness(&[0; 60], maps, unknowns))
    }

    /// Times runs of a program, and checks their return values. Returns the arrangement as text,
    /// true if ring buffers are emptied, and the return value.
    fn outcome(&self, name: &str, maps: Value, unknowns: Value) -> (String, bool, u32) {
        let case = self.prepare(name, &maps, &unknowns).unwrap_or_else(|e| panic!("{name}: {e}"));
        let case = Arc::new(case);
        assert!(case.answered().is_empty(), "{name}");
        let load = Load::new(&self.timing_thread, &self.kernel, vec![Arc::clone(&case)]);
        let load = Arc::new(load.unwrap_or_else(|e| panic!("{name}: {e}")));
        for repeat in [1, 2, 50, 5_000] {
            let sample = load.sample(&self.timing_thread, 0, repeat).expect("is timed");
            assert_eq!(sample.return_value, case.action(), "{name}, {repeat} runs");
            assert!(sample.runs > 0 || repeat == 1, "{name}, {repeat} runs");
        }
        (case.arrangement().to_string(), case.is_drained(), case.action())
    }
}

fn expected(arrangement: &str, drained: bool, action: u32) -> (String, bool, u32) {
    (arrangement.to_owned(), drained, action)
}

/// Returns the field `unknowns` of a witness with one entry: a result of a helper call that packet
/// and maps do not determine.
fn unknown(call: &str, result: &str, value: u64, meaning: &str) -> Value {
    json!([{
        "instruction": 0, "call": call, "result": result, "value": value, "meaning": meaning,
    }])
}

#[test]
fn ring_buffers_are_emptied_between_calls() {
    let Some(changes) = Changes::new() else { return };
    for (name, arrangement, action) in [
        ("output_small", "repeated", PASS),
        ("output_large", "repeated", PASS),
        // The program takes the same path without room, so the written bytes are counted.
        ("output_anyway", "repeated", PASS),
        ("reserve_two", "repeated", PASS),
        ("insert_and_tell", "restored", TX),
    ] {
        let outcome = changes.outcome(name, json!({}), json!([]));
        assert_eq!(outcome, expected(arrangement, true, action), "{name}");
    }
    Oracle::Kernel.compared(5, "paths that write to ring buffers");
}

#[test]
fn full_ring_buffers_are_filled_and_not_drained() {
    let Some(changes) = Changes::new() else { return };
    for (name, call) in
        [("output_small", "bpf_ringbuf_output"), ("reserve_most", "bpf_ringbuf_reserve")]
    {
        let full = unknown(call, "room in small", 1, "no");
        assert_eq!(
            changes.outcome(name, json!({}), full),
            expected("repeated", false, DROP),
            "{name}"
        );
    }
    Oracle::Kernel.compared(2, "paths that find ring buffers full");
}

#[test]
fn ring_buffers_with_room_for_a_single_run_are_refused() {
    let Some(changes) = Changes::new() else { return };
    let refused = changes.prepare("reserve_most", &json!({}), &json!([])).expect_err("is refused");
    assert!(
        refused.to_string().contains("small has no room for the output of two runs"),
        "{refused}"
    );
}

#[test]
fn events_have_a_listener_unless_the_path_excludes_it() {
    let Some(changes) = Changes::new() else { return };
    let received = changes.outcome("tell_event", json!({}), json!([]));
    assert_eq!(received, expected("repeated", false, PASS));
    let no_listener = unknown("bpf_perf_event_output", "return value", 1, "-ENOENT");
    assert_eq!(
        changes.outcome("tell_event", json!({}), no_listener),
        expected("repeated", false, DROP)
    );
    Oracle::Kernel.compared(2, "paths that send events");
}

#[test]
fn insertions_and_deletions_are_undone() {
    let Some(changes) = Changes::new() else { return };
    let element = |map: &str| json!({map: [{"key": "00000000", "value": "0100000000000000"}]});
    let queued = |map: &str| json!({map: [{"value": "07000000"}, {"value": "07000000"}]});
    let cases = [
        ("insert_per_cpu", json!({}), TX),
        ("insert_recent", json!({}), TX),
        ("insert_recent_per_cpu", json!({}), TX),
        ("delete_element", element("table"), TX),
        ("delete_per_cpu", element("per_cpu"), TX),
        ("push_queue", json!({}), TX),
        ("push_stack", json!({}), TX),
        ("pop_queue", queued("queue"), TX),
        ("pop_stack", queued("stack"), TX),
    ];
    let count = cases.len();
    for (name, maps, action) in cases {
        assert_eq!(
            changes.outcome(name, maps, json!([])),
            expected("restored", false, action),
            "{name}"
        );
    }
    // Nothing to delete.
    assert_eq!(
        changes.outcome("delete_element", json!({}), json!([])),
        expected("repeated", false, PASS)
    );
    Oracle::Kernel.compared(count + 1, "paths that insert and delete");
}
