//! Arrival of packets. The slow paths of the programs in `objects/receive.bpf.c` depend on it, and
//! the tests run each program in all named environments.

use crate::common;

use common::{accesses, of_object};
use serde_json::{Value, json};
use slowpath::Options;

/// Minimum number of memory accesses on the slow paths.
const SLOW: u64 = 40;

const ENVIRONMENTS: [&str; 5] = ["any", "native-page", "veth", "generic", "test-run"];

/// Programs in the order of the object; true if a run in the environment can take the slow path.
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

fn accesses_of(result: &Value) -> u64 {
    result["guarantee"]["counts"]["memory accesses"].as_u64().expect("a count")
}

#[test]
fn ways_are_open_where_packets_can_arrive_so() {
    for (index, (name, possible)) in PROGRAMS.into_iter().enumerate() {
        for (environment, possible) in ENVIRONMENTS.into_iter().zip(possible) {
            let result = bound(index, Some(environment));
            let at = format!("{name} on {environment}: {result}");
            assert_eq!(
                (&result["error"], &result["program"]),
                (&Value::Null, &json!(name)),
                "{at}"
            );
            assert_eq!(accesses_of(&result) >= SLOW, possible, "{at}");
        }
    }
}

/// The default needs no condition; each narrower environment adds one.
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
        let said = result["assumptions"][0].as_str().unwrap_or_default();
        assert!(
            said.starts_with(&format!("packets arrive as {environment} delivers them: ")),
            "{said}"
        );
    }
}

/// Returns the requirements of the slowest path on the environment.
fn needed(name: &str) -> Vec<(String, u64)> {
    let program = PROGRAMS.iter().position(|(other, _)| *other == name).expect("it is there");
    given(&bound(program, None)["paths"][0]["witness"])
}

/// Returns the names and values in the environment of a witness.
fn given(witness: &Value) -> Vec<(String, u64)> {
    let given = witness["environment"].as_array().cloned().unwrap_or_default();
    let named =
        |given: &Value| Some((given["name"].as_str()?.to_owned(), given["value"].as_u64()?));
    given.iter().filter_map(named).collect()
}

#[test]
fn witnesses_say_what_they_need_of_the_environment() {
    let value = |name: &str, of: &str| {
        needed(name).into_iter().find(|(other, _)| other == of).map(|(_, value)| value)
    };
    assert!(value("head_is_full", "head room of the packet").expect("room") < 200);
    assert!(value("grown_far", "tail room of the packet").expect("room") >= 10_000);
    assert!(value("metadata_is_known", "words of metadata").expect("metadata") >= 1);
    assert_eq!(value("metadata_is_refused", "driver supports metadata"), Some(0));
}

/// Among equally slow runs, the witness shows one that a test run can repeat.
#[test]
fn witnesses_are_as_in_a_test_run_where_they_can_be() {
    for name in ["never_full_again", "never_both_ends"] {
        let program = PROGRAMS.iter().position(|(other, _)| *other == name).expect("it is there");
        // The slow path is never taken, and the run with the most instructions is the same in all
        // environments.
        let options = Options { metric: Some("instructions".into()), ..accesses() };
        let path = of_object("receive.bpf.o", program, options)["paths"][0].clone();
        let length = path["min_packet_size"].as_u64().expect("a length");
        assert!((14..=3520).contains(&length), "{path}");
        for (of, value) in given(&path["witness"]) {
            match of.as_str() {
                "head room of the packet" => assert_eq!(value, 216, "{path}"),
                "tail room of the packet" => assert_eq!(value, 3520 - length, "{path}"),
                "words of metadata" => assert_eq!(value, 0, "{path}"),
                _ => {}
            }
        }
    }
}
