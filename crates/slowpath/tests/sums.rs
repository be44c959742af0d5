//! Tests calls of helpers that compute their result from memory of the program, and whose result
//! the model leaves open. If a path depends on the result of such a call, the assumptions name the
//! call. The programs are in `objects/sums.bpf.c`.

use crate::common;

use common::{SLOW, accesses, memory_accesses, of_object};
use serde_json::Value;

fn bound(program: usize) -> Value {
    of_object("sums.bpf.o", program, accesses())
}

/// Programs, each with the call whose result the slow path relies on; `None` if it relies on no
/// call.
const PROGRAMS: [(&str, Option<&str>); 3] = [
    ("depends_on_a_sum", Some("bpf_csum_diff")),
    ("stores_a_sum", None),
    ("depends_on_a_text", Some("bpf_snprintf")),
];

#[test]
fn paths_rely_on_results_that_are_not_computed() {
    for (index, (name, call)) in PROGRAMS.into_iter().enumerate() {
        let result = bound(index);
        assert_eq!(result["program"], name);
        assert_eq!(result["error"], Value::Null, "{name}");
        assert!(memory_accesses(&result) >= Some(SLOW), "{name}");
        let verdict = if call.is_some() { "conditional" } else { "exact" };
        assert_eq!(result["guarantee"]["verdict"], verdict, "{name}");
        let relied: Vec<&str> = result["assumptions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(relied.len(), usize::from(call.is_some()), "{name}: {relied:?}");
        if let Some(call) = call {
            assert!(relied[0].starts_with(&format!("{call} at instruction ")), "{relied:?}");
            assert!(relied[0].ends_with(" yields what the witness says"), "{relied:?}");
            assert_eq!(result["paths"][0]["relies_on"], result["assumptions"], "{name}");
        }
    }
}
