//! Tests contention for the simulated caches and memory.

use crate::support;

use proptest::prelude::*;
use slowpath_nicsim::{Client, Scenario};
use support::{close, function, mem_bench, outcome, simulate};

#[test]
fn what_fits_into_a_cache_stays_there() {
    // Half a megabyte for each thread: more than a level-1 cache, less than the cluster's cache.
    let found = simulate(vec![mem_bench(800_000, Some(1e6))], 3.0, 2.0);
    assert!(found.clients[0].misses < 0.001, "{:?}", found.clients[0]);
    close(found.clients[0].counters.l2crd, 32e6, 0.02);
    // More than the cluster's cache, less than the last-level cache.
    let found = simulate(vec![mem_bench(5_000_000, Some(2e6))], 10.0, 2.0);
    assert!(found.clients[0].misses < 0.01, "{:?}", found.clients[0]);
    close(found.clients[0].occupancy as f64, 5e6, 0.02);
    close(found.clients[0].counters.wss_mb, 5.0, 0.02);
    // More than all caches: each line of the sequence is evicted before it is needed again.
    let found = simulate(vec![mem_bench(20_000_000, Some(2e6))], 10.0, 2.0);
    assert!(found.clients[0].misses > 0.99, "{:?}", found.clients[0]);
}

/// Checks that about half of the random accesses to an array twice as large as the cache are hits.
#[test]
fn jumps_hit_as_far_as_the_cache_reaches() {
    let client =
        Client { working_set: 12_582_912, rate: Some(1e6), ..Client::new("mem-bench-step") };
    let found = simulate(vec![client], 30.0, 5.0);
    // One half, less the hits in the private caches.
    assert!((0.4..0.52).contains(&found.clients[0].misses), "{:?}", found.clients[0]);
}

#[test]
fn half_of_what_is_copied_is_written_back() {
    let found = simulate(vec![mem_bench(20_000_000, Some(1e6))], 10.0, 4.0);
    let counters = found.clients[0].counters;
    close(counters.l2crd, 32e6, 0.02);
    close(counters.l2cwr, 16e6, 0.03);
    // Each line crosses the bus once, or twice if it was written.
    close(found.memory.busy * 25.6e9 / 64.0, 48e6, 0.05);
}

#[test]
fn memory_saturates() {
    let busy = |benches: usize| {
        let all = vec![mem_bench(30_000_000, None); benches];
        let found = simulate(all, 2.0, 2.0);
        let lines: f64 = found.clients.iter().map(|client| client.counters.l2crd).sum();
        (found.memory.busy, lines, found.memory.waited_ns)
    };
    let (one, two, four) = (busy(1), busy(2), busy(4));
    assert!(four.0 > 0.75 && four.0 <= 1.0, "{four:?}");
    assert!(four.1 < 25.6e9 / 64.0);
    // Four competitors get hardly more bandwidth than two, and wait longer.
    assert!(four.1 < 1.15 * two.1 && two.1 < 2.0 * one.1, "{one:?} {two:?} {four:?}");
    assert!(four.2 > 1.5 * two.2 && two.2 > one.2, "{one:?} {two:?} {four:?}");
}

/// Checks that a simulation of one cache set in sixteen gives nearly the results of a simulation of
/// all sets.
#[test]
fn sampling_changes_little() {
    let clients = || vec![function("FlowStats", 8000, 1500, 0.0), mem_bench(6_000_000, Some(1e6))];
    let at = |sampling| {
        let scenario = Scenario {
            sampling,
            warm_up_ms: 20.0,
            measured_ms: 10.0,
            ..Scenario::new(clients(), 1)
        };
        outcome(&scenario).expect("it is possible")
    };
    let (all, some) = (at(1), at(16));
    for (one, other) in all.clients.iter().zip(&some.clients) {
        close(other.throughput, one.throughput, 0.02);
        close(other.misses, one.misses, 0.06);
        close(other.counters.l2cwr, one.counters.l2cwr, 0.05);
        close(other.occupancy as f64, one.occupancy as f64, 0.1);
    }
}

#[test]
fn flows_beyond_the_cache_make_functions_slower() {
    let at = |flows| {
        simulate(vec![function("FlowStats", flows, 1500, 0.0)], 30.0, 5.0).clients[0].throughput
    };
    let (few, some, many, more) = (at(500), at(16_000), at(100_000), at(200_000));
    assert!(few > some && some > 1.1 * many, "{few} {some} {many}");
    // Once all accesses miss, more flows do not change the throughput.
    close(more, many, 0.08);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Checks that more competitors never make a function faster, up to random effects.
    #[test]
    fn contention_makes_nothing_faster(
        name in prop::sample::select(vec!["FlowStats", "NAT", "FlowMonitor", "FlowClassifier"]),
        working_set in 2_000_000_u64..16_000_000,
        rate in 3e5_f64..2e6,
    ) {
        let beside = |benches: usize| {
            let mut clients = vec![function(name, 12_000, 1000, 0.0)];
            clients.extend(vec![mem_bench(working_set, Some(rate)); benches]);
            simulate(clients, 12.0, 5.0).clients[0].throughput
        };
        let throughput: Vec<_> = (0..4).map(beside).collect();
        for pair in throughput.windows(2) {
            prop_assert!(pair[1] <= 1.01 * pair[0], "{throughput:?}");
        }
        prop_assert!(throughput[3] < 0.99 * throughput[0], "{throughput:?}");
    }
}
