//! Results of calls that follow from what a program has in memory, but that the model does not
//! compute: a path that depends on one relies on it. Programs: `objects/sums.bpf.c`.

use serde_json::Value;
use slowpath::{Analysis, Event, Options, Request, Step};
use std::path::PathBuf;
use std::time::Duration;

/// Accesses of memory on the slow ways.
const SLOW: u64 = 40;

fn bound(program: usize) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/objects/sums.bpf.o");
    let data = std::fs::read(path).expect("the object is there");
    let options = Options {
        target: "ebpf".into(),
        metric: Some("memory-accesses".into()),
        paths: Some(1),
        mtu: 1500,
        ..Options::default()
    };
    let request =
        Request { file: "sums.bpf.o".into(), data, program, options, ..Request::default() };
    let analysis = Analysis::start(request);
    loop {
        match analysis.next(Duration::from_secs(60)) {
            Step::Event(Event::Result(report)) => {
                return serde_json::from_str(&report.json).expect("the result is JSON");
            }
            Step::Event(_) => {}
            Step::Pending | Step::Finished => panic!("the analysis ended without a result"),
        }
    }
}

/// The programs, and what their slow way relies on.
const PROGRAMS: [(&str, Option<&str>); 3] = [
    ("depends_on_a_sum", Some("bpf_csum_diff")),
    ("stores_a_sum", None),
    ("depends_on_a_text", Some("bpf_snprintf")),
];

#[test]
fn what_is_not_computed_is_relied_on_where_it_matters() {
    for (index, (name, call)) in PROGRAMS.into_iter().enumerate() {
        let result = bound(index);
        assert_eq!(result["program"], name);
        assert_eq!(result["error"], Value::Null, "{name}");
        let guarantee = &result["guarantee"];
        assert!(guarantee["counts"]["memory accesses"].as_u64() >= Some(SLOW), "{name}");
        let verdict = if call.is_some() { "conditional" } else { "exact" };
        assert_eq!(guarantee["verdict"], verdict, "{name}");
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
        }
        if call.is_some() {
            assert_eq!(result["paths"][0]["relies_on"], result["assumptions"], "{name}");
        }
    }
}
