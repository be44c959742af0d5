//! Tests the environments (headroom, tailroom and packet lengths of a driver) in which packets can
//! arrive. The slow paths of the programs in `objects/receive.bpf.c` depend on the environment.
//! Each program is analysed in all named environments.

use crate::common;

use common::{SLOW, accesses, memory_accesses, of_object};
use serde_json::{Value, json};
use slowpath::Options;

const ENVIRONMENTS: [&str; 5] = ["any", "native-page", "veth", "generic", "test-run"];

/// Programs in the order of the object file. Each has one flag for each environment in
/// `ENVIRONMENTS`, true if a run in this environment can take the slow path.
const PROGRAMS: [(&str, [bool; 5]); 12] = [
    ("tail_is_full", [true, false, true, true, true]),
    // On `generic`, packets of more than 65,335 bytes cannot grow here, because lengths have 16
    // bits.
    ("head_is_full", [true, false, true, true, false]),
    ("metadata_is_there", [true, false, true, false, false]),
    ("metadata_is_known", [true, false, true, false, false]),
    ("metadata_is_refused", [true, false, false, false, false]),
    ("longer_than_a_page", [true, false, false, true, false]),
    ("shorter_than_a_header", [true, false, true, true, false]),
    ("cut_far", [true, false, false, true, false]),
    ("grown_far", [true, false, true, true, false]),
    ("never_full_again", [false; 5]),
    ("never_refused_inwards", [false; 5]),
    ("never_both_ends", [false; 5]),
];

fn bound(program: usize, receive: Option<&str>) -> Value {
    let receive = receive.map(str::to_owned);
    of_object("receive.bpf.o", program, Options { receive, ..accesses() })
}

#[test]
fn slow_paths_are_possible_only_in_some_environments() {
    for (index, (name, possible)) in PROGRAMS.into_iter().enumerate() {
        for (environment, possible) in ENVIRONMENTS.into_iter().zip(possible) {
            let result = bound(index, Some(environment));
            let at = format!("{name} on {environment}: {result}");
            assert_eq!(
                (&result["error"], &result["program"]),
                (&Value::Null, &json!(name)),
                "{at}"
            );
            let accesses = memory_accesses(&result).expect("a count");
            assert_eq!(accesses >= SLOW, possible, "{at}");
        }
    }
}

/// Checks that the default environment adds no assumption to a guarantee, and that each more
/// restricted environment adds one.
#[test]
fn environments_are_conditions() {
    for (index, (name, _)) in PROGRAMS.into_iter().enumerate() {
        let result = bound(index, None);
        assert_eq!(result["guarantee"], bound(index, Some("any"))["guarantee"], "{name}");
        assert_eq!(result["guarantee"]["verdict"], "exact", "{name}");
        assert_eq!(result["assumptions"], json!([]), "{name}");
    }
    for environment in &ENVIRONMENTS[1..] {
        let result = bound(0, Some(environment));
        assert_eq!(result["guarantee"]["verdict"], "conditional", "{environment}");
        let assumption = result["assumptions"][0].as_str().unwrap_or_default();
        let start = format!("packets arrive as {environment} delivers them: ");
        assert!(assumption.starts_with(&start), "{assumption}");
    }
}

fn number(name: &str) -> usize {
    PROGRAMS.iter().position(|(other, _)| *other == name).expect("it is there")
}

/// Returns the requirements on the environment that a witness lists, each with its name and value.
fn requirements(witness: &Value) -> Vec<(String, u64)> {
    let all = witness["environment"].as_array().cloned().unwrap_or_default();
    let named = |requirement: &Value| {
        Some((requirement["name"].as_str()?.to_owned(), requirement["value"].as_u64()?))
    };
    all.iter().filter_map(named).collect()
}

#[test]
fn witnesses_have_their_requirements_on_the_environment() {
    let value = |program: &str, name: &str| {
        let result = bound(number(program), None);
        let all = requirements(&result["paths"][0]["witness"]);
        all.into_iter().find(|(other, _)| other == name).map(|(_, value)| value)
    };
    assert!(value("head_is_full", "head room of the packet").expect("room") < 200);
    assert!(value("grown_far", "tail room of the packet").expect("room") >= 10_000);
    assert!(value("metadata_is_known", "words of metadata").expect("metadata") >= 1);
    assert_eq!(value("metadata_is_refused", "driver supports metadata"), Some(0));
}

/// Checks that, among equally slow runs, the witness shows one that the kernel's test run
/// (`BPF_PROG_TEST_RUN`) can repeat.
#[test]
fn witnesses_prefer_the_environment_of_a_test_run() {
    for program in ["never_full_again", "never_both_ends"].map(number) {
        // The slow path is never taken, and the run with the most instructions is the same in all
        // environments.
        let options = Options { metric: Some("instructions".into()), ..accesses() };
        let path = of_object("receive.bpf.o", program, options)["paths"][0].clone();
        let length = path["min_packet_size"].as_u64().expect("a length");
        assert!((14..=3520).contains(&length), "{path}");
        for (name, value) in requirements(&path["witness"]) {
            match name.as_str() {
                "head room of the packet" => assert_eq!(value, 216, "{path}"),
                "tail room of the packet" => assert_eq!(value, 3520 - length, "{path}"),
                "words of metadata" => assert_eq!(value, 0, "{path}"),
                _ => {}
            }
        }
    }
}
