//! Tests complete analyses of BPF objects, from the object file to the guaranteed counts.

use crate::common;

use common::{analyse, options, run};
use serde_json::Value;
use slowpath::{Options, ProgramFile, ProgramRequest, Target};
use std::path::PathBuf;

fn object(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read(path).expect("the object exists")
}

fn count(name: &str, options: Options) -> (Value, Vec<f64>) {
    let options = Options { target: "ebpf".into(), ..options };
    let read = ProgramFile::read(&object(name)).expect("an object");
    run(ProgramRequest { options, ..ProgramRequest::of(name, read) })
}

#[test]
fn bounds_fall_to_an_exact_count() {
    for name in ["examples/ddos_filter.bpf.o", "examples/firewall.bpf.o"] {
        let (result, bounds) = count(name, options());
        assert_eq!(result["error"], Value::Null, "{name}");
        let guarantee = &result["guarantee"];
        // The filter has a variable that a loader can set.
        let expected = if name.contains("ddos") { "conditional" } else { "exact" };
        assert_eq!(guarantee["verdict"], expected, "{name}");
        assert_eq!(guarantee["counts"], result["paths"][0]["cost"], "{name}");
        let instructions = guarantee["counts"]["instructions"].as_f64().expect("a count");
        assert!(bounds.iter().rev().is_sorted(), "{name}: bounds must only improve: {bounds:?}");
        assert_eq!(bounds.last(), Some(&instructions), "{name}");
        assert_eq!(
            result["naive"]["counts"]["instructions"].as_f64(),
            bounds.first().copied(),
            "{name}"
        );
    }
}

#[test]
fn every_path_has_at_most_the_count_of_the_slowest() {
    let all = Options { paths: Some(20), ..options() };
    let (result, _) = count("examples/firewall.bpf.o", all);
    let paths = result["paths"].as_array().expect("a list");
    let counts: Vec<u64> =
        paths.iter().filter_map(|path| path["cost"]["instructions"].as_u64()).collect();
    assert!(counts.len() > 1);
    assert!(counts.iter().rev().is_sorted(), "{counts:?}");
}

#[test]
fn metrics_are_the_components() {
    let (result, _) = count(
        "examples/firewall.bpf.o",
        Options { metric: Some("memory-accesses".into()), ..options() },
    );
    assert_eq!(result["metric"], "memory-accesses");
    let wrong = Options { metric: Some("bitrate".into()), ..options() };
    let (result, _) = count("examples/firewall.bpf.o", wrong);
    let error = result["error"].as_str().expect("an error");
    assert!(error.contains("instructions or memory-accesses"), "{error}");
}

#[test]
fn a_deadline_in_the_past_ends_at_once() {
    let late = Options { deadline_seconds: Some(0.0), ..options() };
    let (result, _) = count("examples/alaw2ulaw.bpf.o", late);
    assert!(result["error"].as_str().is_some_and(|error| error.contains("deadline")));
    assert_eq!(result["program"], "alaw2ulaw");
}

#[test]
fn only_counting_targets_have_counters() {
    let names = Target::builtin("ebpf").counters().expect("it counts");
    assert_eq!(names, ["instructions", "memory-accesses"]);
    assert_eq!(Target::builtin("agilio-cx-2x40").counters(), None);
    assert_eq!(Target::builtin("unheard-of").counters(), None);
    assert_eq!(Target::parse("mine.toml", "nonsense".into()).counters(), None);
}

#[test]
fn listings_have_no_bpf_instructions() {
    let ebpf = Options { target: "ebpf".into(), ..options() };
    let (result, _) = analyse(b"   0:\t.0  br[.15000]\n", ebpf);
    assert!(result["error"].as_str().is_some_and(|error| error.contains("not a BPF object")));
}
