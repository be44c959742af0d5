//! Tests that runs are reproducible, and that invalid scenarios are refused.

use crate::support;

use slowpath_nicsim::{Client, Device, Functions, Scenario, run_all};
use support::{close, function, mem_bench, outcome};

fn scenario(seed: u64) -> Scenario {
    let clients = vec![
        function("FlowMonitor", 3000, 1500, 600.0),
        function("IPCompGateway", 3000, 1500, 600.0),
        mem_bench(4_000_000, Some(5e5)),
    ];
    Scenario { warm_up_ms: 2.0, measured_ms: 4.0, ..Scenario::new(clients, seed) }
}

#[test]
fn outcomes_do_not_depend_on_the_number_of_threads() {
    let (device, functions) =
        (Device::bluefield_2().expect("valid"), Functions::built_in().expect("valid"));
    let scenarios: Vec<_> = (0..6).map(scenario).collect();
    let with = |threads| run_all(&device, &functions, &scenarios, threads).expect("possible");
    let one = with(1);
    assert_eq!(one, with(3));
    assert_eq!(one[2], outcome(&scenarios[2]).expect("possible"));
    assert_ne!(one[0], one[1]);
    close(one[0].clients[0].throughput, one[1].clients[0].throughput, 0.15);
    assert!(run_all(&device, &functions, &[], 2).expect("nothing").is_empty());
}

#[test]
fn what_cannot_be_is_named() {
    let wrong = |change: fn(&mut Scenario), part: &str| {
        let mut scenario = scenario(1);
        change(&mut scenario);
        let error = outcome(&scenario).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    wrong(|s| s.clients[1].function = "Nothing".into(), "no function \"Nothing\"; there are ACL");
    wrong(|s| s.clients = vec![Client::new("ACL"); 5], "ACL: there are 8 cores");
    wrong(|s| s.clients[0].packet_bytes = 3000, "buffers of 2048");
    wrong(|s| s.clients[0].packet_bytes = 20, "client 1 (FlowMonitor), packet_bytes: 20");
    wrong(|s| s.clients[0].flows = 0, "flows");
    wrong(|s| s.clients[0].mtbr = f64::NAN, "mtbr");
    wrong(|s| s.clients[2].rate = Some(-1.0), "client 3 (mem-bench), rate");
    wrong(|s| s.sampling = 3, "sampling: 3");
    wrong(|s| s.sampling = 32, "sampling: 32");
    wrong(|s| s.measured_ms = 0.0, "measured_ms");
    wrong(|s| s.warm_up_ms = f64::INFINITY, "warm_up_ms");
}

#[test]
fn nobody_is_an_outcome_as_well() {
    let found = outcome(&Scenario::new(Vec::new(), 1)).expect("possible");
    assert!(found.clients.is_empty() && found.events == 0 && found.memory.busy == 0.0);
    assert_eq!(found.device, "simulated-bluefield-2");
}

#[test]
fn an_accelerator_that_the_device_lacks_is_named() {
    let text = Device::bluefield_2_text().replace("[accelerator.regex]", "[accelerator.pattern]");
    let device = Device::parse("x", &text).expect("valid");
    let functions = Functions::built_in().expect("valid");
    let error = run_all(&device, &functions, &[scenario(1)], 1).expect_err("no regex");
    assert_eq!(
        error.to_string(),
        "FlowMonitor: there is no accelerator \"regex\"; there are compression, pattern"
    );
}

#[test]
fn noise_changes_throughput_by_a_little_and_nothing_else() {
    let quiet = outcome(&scenario(1)).expect("possible");
    let noisy = outcome(&Scenario { noise: true, ..scenario(1) }).expect("possible");
    for (one, other) in quiet.clients.iter().zip(&noisy.clients) {
        assert_ne!(one.throughput, other.throughput);
        close(other.throughput, one.throughput, 0.06);
        assert_eq!(one.counters, other.counters);
    }
}
