//! Tests that run network functions and competitors on this machine. Times are not tested.

use slowpath_neighbours::{Mix, MixSpec, NeighbourError, allowed_cpus};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);

fn mix(text: &str) -> Result<Mix, NeighbourError> {
    let spec: MixSpec = serde_json::from_str(text).unwrap();
    Mix::new(&spec, Vec::new())
}

fn traffic() -> &'static str {
    r#"{"flows": 100, "packet_bytes": 256, "mtbr": 600, "ring": 64}"#
}

/// Returns two CPUs that the process may use. If there is only one, prints a message and returns
/// `None`, so that the test is skipped.
fn two() -> Option<[usize; 2]> {
    match *allowed_cpus().as_slice() {
        [one, other, ..] => Some([one, other]),
        _ => {
            eprintln!("skipped: this process may use one CPU only");
            None
        }
    }
}

#[test]
fn every_function_runs_to_completion() {
    let cpu = allowed_cpus()[0];
    for stages in [
        r#"["flow-statistics"]"#,
        r#"["nat"]"#,
        r#"[{"router": {"prefixes": 1000}}]"#,
        r#"[{"acl": {"rules": 100}}, "flow-statistics"]"#,
        r#"[]"#,
    ] {
        for service in ["null", r#""regex""#, r#""compression""#] {
            let text = format!(
                r#"{{"subjects": [{{"kind": "function", "cpu": {cpu}, "stages": {stages},
                "pattern": "run-to-completion", "traffic": {}, "service": {service}}}]}}"#,
                traffic()
            );
            match mix(&text) {
                Ok(mix) => {
                    let block = mix.block(true, SHORT, SHORT, &|| true).unwrap();
                    let [reading] = block.subjects.as_slice() else { panic!("one thread") };
                    let packets = reading.served[0];
                    assert!(packets.items > 0 && packets.bytes == 256 * packets.items);
                    assert!(reading.seconds > 0.0 && reading.cpu == cpu);
                    if let Some(accelerator) = reading.served.get(1) {
                        assert_eq!(accelerator.items, packets.results);
                        assert!(accelerator.nanoseconds > 0);
                    }
                }
                Err(error) => {
                    assert!(stages == "[]" && service == "null", "{error}");
                }
            }
        }
    }
}

#[test]
fn other_clients_take_turns_only_in_blocks_with_competitors() {
    let cpu = allowed_cpus()[0];
    let text = format!(
        r#"{{"subjects": [{{"kind": "function", "cpu": {cpu}, "stages": ["nat"],
        "pattern": "run-to-completion", "traffic": {}, "service": "regex",
        "clients": [{{"packet_bytes": 128, "mtbr": 0, "queues": 2}}]}}]}}"#,
        traffic()
    );
    let mix = mix(&text).unwrap();
    let alone = mix.block(false, SHORT, SHORT, &|| true).unwrap().subjects.remove(0);
    assert_eq!(alone.served[2].items, 0);
    let beside = mix.block(true, SHORT, SHORT, &|| true).unwrap().subjects.remove(0);
    let (own, others) = (beside.served[1].items, beside.served[2].items);
    // A snapshot may be taken in the middle of a round.
    assert!(own > 0 && others.abs_diff(2 * own) <= 4, "{own} and {others}");
}

#[test]
fn both_threads_of_a_pipeline_work() {
    let Some([one, other]) = two() else { return };
    let text = format!(
        r#"{{"subjects": [{{"kind": "function", "cpu": {one}, "accelerator_cpu": {other},
        "stages": ["flow-statistics"], "pattern": "pipeline", "traffic": {}, "queue": 8,
        "service": "regex"}}]}}"#,
        traffic()
    );
    let mix = mix(&text).unwrap();
    let block = mix.block(false, SHORT, Duration::from_millis(200), &|| true).unwrap();
    let [headers, accelerator] = block.subjects.as_slice() else { panic!("two threads") };
    assert!(headers.served[0].items > 0 && accelerator.served[0].items > 0);
}

#[test]
fn competitors_run_beside_subjects() {
    let Some([one, other]) = two() else { return };
    for touch in ["updates", "copies"] {
        let text = format!(
            r#"{{"subjects": [{{"kind": "probe", "cpu": {one}, "bytes": 65536}}],
            "competitors": [{{"kind": "memory", "cpu": {other}, "bytes": 1000000,
            "touch": "{touch}"}}]}}"#
        );
        let mix = mix(&text).unwrap();
        let alone = mix.block(false, SHORT, SHORT, &|| true).unwrap();
        assert!(alone.competitors.is_empty() && alone.subjects[0].served[0].items > 0);
        let beside = mix.block(true, SHORT, Duration::from_millis(200), &|| true).unwrap();
        assert!(beside.competitors[0].served[0].items > 0);
        assert_eq!((beside.subjects[0].name, beside.competitors[0].name), ("probe", "mem-bench"));
    }
}

#[test]
fn a_block_can_be_ended_early() {
    let cpu = allowed_cpus()[0];
    let text = format!(r#"{{"subjects": [{{"kind": "probe", "cpu": {cpu}, "bytes": 65536}}]}}"#);
    let mix = mix(&text).unwrap();
    let hour = Duration::from_secs(3600);
    let start = Instant::now();
    let go_on = || start.elapsed() < SHORT;
    let stopped = mix.block(true, SHORT, hour, &go_on);
    assert!(matches!(stopped, Err(NeighbourError::Stopped)));
    assert!(mix.block(true, Duration::ZERO, SHORT, &|| true).is_ok());
}

#[test]
fn invalid_mixes_are_refused_with_a_reason() {
    let cpus = allowed_cpus();
    let probe = |cpu| format!(r#"{{"kind": "probe", "cpu": {cpu}, "bytes": 65536}}"#);
    let many: Vec<String> = (0..=cpus.len()).map(probe).collect();
    let Err(error) = mix(&format!(r#"{{"subjects": [{}]}}"#, many.join(", "))) else {
        panic!("more threads than CPUs")
    };
    assert!(error.to_string().starts_with(&format!("{} CPUs are needed (", cpus.len() + 1)));
    let Err(error) = mix(&format!(r#"{{"subjects": [{}]}}"#, probe(100_000))) else {
        panic!("no such CPU")
    };
    assert!(error.to_string().contains("CPU 100000 is not among those"), "{error}");
    let huge = format!(
        r#"{{"subjects": [{{"kind": "memory", "cpu": {}, "bytes": 1e15, "touch": "updates"}}]}}"#,
        cpus[0]
    );
    assert!(serde_json::from_str::<MixSpec>(&huge).is_err());
    let pipeline = format!(
        r#"{{"subjects": [{{"kind": "function", "cpu": {}, "stages": ["nat"],
        "pattern": "pipeline", "traffic": {}}}]}}"#,
        cpus[0],
        traffic()
    );
    let Err(error) = mix(&pipeline) else { panic!("a pipeline without an accelerator") };
    assert_eq!(error.to_string(), "a pipeline needs an accelerator; name its service");
}
