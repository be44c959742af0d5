//! Tests that paths of tc programs can be repeated. The state of `struct __sk_buff` that a run
//! leaves must be restored before the next run, or the path must be refused.

use crate::support;

use std::sync::Arc;

use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::timing::TimingThread;
use slowpath_measure::{Case, Load, MeasureError, Reference};
use slowpath_oracle::Oracle;
use support::{object, packet, program_number, timing_thread, witness};

const OK: u32 = 0;
const SHOT: u32 = 2;
const PIPE: u32 = 3;
const STOLEN: u32 = 4;
const REDIRECT: u32 = 7;

struct Tc {
    kernel: Arc<Kernel>,
    timing_thread: TimingThread,
    object: Arc<Object>,
}

impl Tc {
    fn new() -> Option<Tc> {
        let (timing_thread, kernel) = timing_thread()?;
        let object = object("crates/measure/tests/objects/skb.bpf.o");
        Some(Tc { kernel, timing_thread, object })
    }

    fn prepare(&self, name: &str, witness: Value) -> Result<Case, MeasureError> {
        let number = program_number(&self.object, name);
        support::prepare(&self.timing_thread, &self.kernel, (&self.object, number), witness)
    }

    /// Times runs of a program on a UDP packet, and checks that all of them return the same value.
    /// Returns the arrangement as text, and this value.
    fn outcome(&self, name: &str) -> (String, u32) {
        let witness = witness(&packet(17, [1, 2], 80), &json!({}), &json!([]));
        let case = self.prepare(name, witness).unwrap_or_else(|e| panic!("{name}: {e}"));
        self.time(name, case)
    }

    fn time(&self, name: &str, case: Case) -> (String, u32) {
        let case = Arc::new(case);
        assert!(case.is_tc() && case.answered().is_empty(), "{name}");
        let load = Load::new(&self.timing_thread, &self.kernel, vec![Arc::clone(&case)]);
        let load = Arc::new(load.unwrap_or_else(|e| panic!("{name}: {e}")));
        for repeat in [2, 50, 5_000] {
            let sample = load.sample(&self.timing_thread, 0, repeat).expect("is timed");
            assert_eq!(sample.return_value, case.action(), "{name}, {repeat} runs");
            assert!(sample.runs > 0 && sample.nanoseconds > 0, "{name}, {repeat} runs");
        }
        let empty = load.sample_reference(&self.timing_thread, Reference::Empty, 50);
        assert!(empty.is_ok_and(|sample| sample.nanoseconds > 0), "{name}");
        Oracle::Kernel.compared(3, "timed calls of tc programs");
        (case.arrangement().to_string(), case.action())
    }

    fn refusal(&self, name: &str, witness: Value) -> String {
        match self.prepare(name, witness) {
            Ok(case) => panic!("{name}: {}", case.arrangement()),
            Err(error) => error.to_string(),
        }
    }
}

#[test]
fn runs_of_tc_programs_start_alike() {
    let Some(tc) = Tc::new() else { return };
    let restored = |action| ("restored".to_owned(), action);
    assert_eq!(tc.outcome("steady"), ("repeated".to_owned(), OK));
    assert_eq!(tc.outcome("marks"), restored(OK));
    assert_eq!(tc.outcome("sends_ttl"), restored(REDIRECT));
    assert_eq!(tc.outcome("hashes"), restored(OK));
    assert_eq!(tc.outcome("pushes"), restored(OK));
    assert_eq!(tc.outcome("adds_room"), restored(OK));
    assert_eq!(tc.outcome("takes_room"), restored(OK));
    assert_eq!(tc.outcome("changes_tail"), restored(OK));
    assert_eq!(tc.outcome("changes_type"), restored(OK));
}

#[test]
fn fields_of_a_witness_reach_the_program() {
    let Some(tc) = Tc::new() else { return };
    let fields = |fields: Value| {
        let mut witness = witness(&packet(17, [1, 2], 80), &json!({}), &json!([]));
        witness["environment"] = fields;
        witness
    };
    let both = json!([{"name": "cb[1]", "value": 77}, {"name": "mark", "value": 78}]);
    let case = tc.prepare("needs_cb", fields(both)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(tc.time("needs_cb", case).1, STOLEN);
    let none = json!([{"name": "tc_index", "value": 0}]);
    let case = tc.prepare("needs_index", fields(none)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(tc.time("needs_index", case).1, OK);
    let five = json!([{"name": "tc_index", "value": 5}]);
    let refused = tc.refusal("needs_index", fields(five));
    assert!(refused.contains("tc_index = 5, which a test run cannot set"), "{refused}");
    // The path needs no such value.
    let long = json!([{"name": "wire_len", "value": 2}, {"name": "vlan_present", "value": 1}]);
    let case = tc.prepare("needs_index", fields(long)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(tc.time("needs_index", case).1, OK);
    let mut open = fields(json!([{"name": "protocol", "value": 0xdd86}]));
    open["packet"] = "--".repeat(60).into();
    let case = tc.prepare("steady", open).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(tc.time("steady", case).1, OK);
    let other = fields(json!([{"name": "protocol", "value": 0xdd86}]));
    let other = tc.refusal("needs_ipv4", other);
    assert!(other.contains("protocol = 56710"), "{other}");
}

#[test]
fn lasting_changes_are_refused_by_name() {
    let Some(tc) = Tc::new() else { return };
    let witness = || witness(&packet(17, [1, 2], 80), &json!({}), &json!([]));
    let head = tc.refusal("changes_head", witness());
    assert!(head.contains("by bpf_skb_change_head cannot be undone"), "{head}");
    let clones = tc.refusal("clones", witness());
    assert!(clones.contains("bpf_clone_redirect sends a copy"), "{clones}");
}

#[test]
fn later_packets_of_a_tc_program_take_their_path() {
    let Some(tc) = Tc::new() else { return };
    let witness = witness(&packet(17, [1, 2], 80), &json!({}), &json!([]));
    let case = tc.prepare("first_of_flow", witness).unwrap_or_else(|e| panic!("{e}"));
    let later = case.subsequent_packets().expect("another path");
    assert_eq!(later.action(), OK);
    let second = later.case().unwrap_or_else(|reason| panic!("{reason}"));
    assert_eq!(tc.time("first_of_flow", Case::clone(second)).1, OK);
    assert_eq!(tc.time("first_of_flow", case).1, PIPE);
}

#[test]
fn tc_and_xdp_programs_are_not_timed_together() {
    let Some(tc) = Tc::new() else { return };
    let prepare = |object: &Arc<Object>, name: &str| {
        let witness = witness(&packet(17, [1, 2], 160), &json!({}), &json!([]));
        let number = program_number(object, name);
        let case = support::prepare(&tc.timing_thread, &tc.kernel, (object, number), witness);
        Arc::new(case.unwrap_or_else(|e| panic!("{e}")))
    };
    let steady = prepare(&tc.object, "steady");
    assert_eq!(steady.action(), SHOT);
    let both = vec![steady, prepare(&support::example("firewall"), "firewall")];
    let error = Load::new(&tc.timing_thread, &tc.kernel, both).expect_err("two loops");
    assert!(matches!(error, MeasureError::SeveralTypes), "{error}");
}
