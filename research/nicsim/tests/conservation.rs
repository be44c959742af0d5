//! Tests that the simulation conserves packets and obeys Little's law.

use crate::support;

use proptest::prelude::*;
use slowpath_nicsim::{Client, Functions, Outcome};
use support::{close, function, mem_bench, simulate};

/// Checks conservation of packets, and Little's law up to a relative error of `share`.
fn check(outcome: &Outcome, share: f64) {
    for client in &outcome.clients {
        let (before, after) = client.inside;
        assert_eq!(before + client.begun, client.done + after, "{client:?}");
        let inside = client.throughput * client.sojourn_ns * 1e-9;
        close(client.mean_inside, inside, share);
        let counters = client.counters;
        assert!(counters.ipc <= 3.0 && counters.l2crd <= counters.memrd + counters.memwr);
        assert!((0.0..=1.0).contains(&client.idle) && (0.0..=1.0).contains(&client.misses));
    }
    let all: u64 = outcome.clients.iter().map(|client| client.occupancy).sum();
    assert!(all <= 6_291_456, "{all}");
    assert!(outcome.memory.busy <= 1.0);
    for accelerator in outcome.accelerators.values() {
        assert!(accelerator.busy <= 1.0, "{accelerator:?}");
    }
}

#[test]
fn every_function_loses_no_packet() {
    let functions = Functions::built_in().expect("they are valid");
    let names = || functions.names().filter(|name| !name.contains("-bench"));
    assert_eq!(names().count(), 16);
    for name in names() {
        let clients = vec![function(name, 5000, 700, 600.0), mem_bench(4_000_000, Some(3e5))];
        let found = simulate(clients, 1.0, 4.0);
        assert!(found.clients[0].done > 200, "{name}: {:?}", found.clients[0]);
        check(&found, 0.05);
    }
}

/// Checks that a run-to-completion function has one packet at a time, and that a pipeline fills its
/// ring.
#[test]
fn execution_patterns_show_in_packets_inside() {
    let inside =
        |name| simulate(vec![function(name, 100, 1500, 3000.0)], 1.0, 5.0).clients[0].mean_inside;
    close(inside("NF1-run-to-completion"), 1.0, 0.01);
    // One packet in each stage, and 64 in the ring and the accelerator.
    assert!((64.0..=66.0).contains(&inside("NF1-pipeline")));
}

/// Checks Little's law for an accelerator: the mean number of its requests is the size of the full
/// ring.
#[test]
fn accelerators_obey_littles_law() {
    let outcome = simulate(vec![function("regex-bench", 1, 1500, 500.0)], 1.0, 10.0);
    let regex = &outcome.accelerators["regex"];
    close(regex.served[0] * regex.sojourn_ns[0] * 1e-9, 64.0, 0.02);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn any_mix_conserves_packets(
        names in prop::sample::subsequence(
            vec!["FlowStats", "IPTunnel", "NAT", "FlowMonitor", "NIDS", "IPCompGateway", "ACL"],
            1..4,
        ),
        flows in 1_u32..300_000,
        bytes in 64_u32..1500,
        mtbr in 0.0_f64..2000.0,
        rate in prop::option::of(5e4_f64..1e7),
    ) {
        let one = |name: &&str| Client { rate, ..function(name, flows, bytes, mtbr) };
        let mut clients: Vec<_> = names.iter().map(one).collect();
        clients.push(mem_bench(8_000_000, rate));
        check(&simulate(clients, 1.0, 3.0), 0.08);
    }
}
