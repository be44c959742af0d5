//! Tests the example programs with random runs: no run may cost more than the guarantee.

use crate::common;
mod environment;
mod fuzz;
mod random;

use fuzz::Fuzzer;
use serde_json::Value;
use slowpath::{Options, ProgramFile, ProgramRequest};
use slowpath_bpf::Object;
use slowpath_bpf::lift::{LiftOptions, Lifted, Receive, lift};

/// Number of random packets per example program.
const STEPS: u64 = 1_000;
/// Minimum and maximum packet length that target `ebpf` accepts at an MTU of 1500 bytes.
const PACKETS: (u16, u16) = (14, 1500);

/// Returns the guaranteed maximum of a metric, such as the number of instructions, and a witness of
/// the path that reaches it.
fn guaranteed(name: &str, data: &[u8], metric: &str) -> (u64, Value) {
    let options = Options {
        target: "ebpf".into(),
        metric: Some(metric.into()),
        deadline_seconds: Some(2.0),
        paths: Some(1),
        ..Options::default()
    };
    let object = ProgramFile::read(data).expect("an object");
    let (result, _) = common::run(ProgramRequest { options, ..ProgramRequest::of(name, object) });
    assert_eq!(result["error"], Value::Null, "{name}");
    let count = &result["guarantee"]["counts"][metric.replace('-', " ")];
    (count.as_u64().expect("a count"), result["paths"][0]["witness"].clone())
}

fn lifted(data: &[u8]) -> Lifted {
    let object = Object::parse(data).expect("an object");
    let program = object.link(0, None).expect("it links");
    let (min_packet, max_packet) = PACKETS;
    let options = LiftOptions {
        receive: Receive::PAGE.with_length(min_packet, max_packet),
        ..LiftOptions::default()
    };
    lift(&object, &program, &options).expect("it is supported")
}

#[test]
fn no_run_costs_more_than_is_guaranteed() {
    for name in common::examples(".bpf.o") {
        let data = common::example(&name);
        let (instructions, slowest) = guaranteed(&name, &data, "instructions");
        let (accesses, busiest) = guaranteed(&name, &data, "memory-accesses");
        let lifted = lifted(&data);
        let seeds = [(&slowest, 0), (&slowest, 0xa5), (&busiest, 0)];
        let seeds = seeds.map(|(witness, fill)| environment::of_witness(&lifted, witness, fill));
        let mut fuzzer = Fuzzer::new(&lifted, PACKETS, seeds.to_vec());
        (0..STEPS).for_each(|_| fuzzer.step());
        assert!(fuzzer.runs >= STEPS, "{name}: runs must come to an end");
        let most = fuzzer.most;
        assert!(most.instructions <= instructions, "{name}: {most:?}, not {instructions}");
        assert!(most.accesses <= accesses, "{name}: {most:?}, not {accesses}");
    }
}
