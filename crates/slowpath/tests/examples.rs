//! Tests that each example program has the guarantee that the comment in its source states.

use crate::common;

use common::{analyse, example, options};
use serde_json::Value;
use slowpath::Options;

/// Analyses an example on five cores. Checks that the guarantee is exact, and that its bounds only
/// improve over time.
fn analysed(name: &str, metric: &str) -> Value {
    let options = Options { metric: Some(metric.into()), cores: Some(5), ..options() };
    let (result, bounds) = analyse(&example(name), options);
    assert_eq!(result["error"], Value::Null, "{name}");
    assert_eq!(result["guarantee"]["exact"], true, "{name}");
    assert_eq!(result["assumptions"], Value::Array(Vec::new()), "{name}");
    assert!(bounds.is_sorted(), "{name}: bounds must only improve");
    result
}

/// Cycles that a slowest path takes, and the length in bytes of the shortest packet that takes it.
type Expected = (u64, u64);

/// Example programs, each with its expected slowest path by packet rate and by bit rate.
const EXPECTED: [(&str, Expected, Expected); 4] = [
    ("two_protocols.asm", (323, 100), (244, 60)),
    ("size_classes.asm", (312, 160), (269, 60)),
    ("counter_loop.asm", (514, 78), (457, 62)),
    ("impossible_pair.asm", (498, 60), (498, 60)),
];

#[test]
fn slowest_paths_are_the_documented_ones() {
    for (name, by_packets, by_bits) in EXPECTED {
        for (metric, (cycles, size)) in [("packetrate", by_packets), ("bitrate", by_bits)] {
            let result = analysed(name, metric);
            let path = &result["paths"][0];
            assert_eq!(path["cost"]["processing"], cycles, "{name} by {metric}");
            assert_eq!(path["min_packet_size"], size, "{name} by {metric}");
            let rate = 5.0 * 800e6 / cycles as f64;
            let found = result["guarantee"]["packetrate_pps"].as_f64().expect("a number");
            assert!((found - rate).abs() < 1.0, "{name} by {metric}: {found}, not {rate}");
        }
    }
}

#[test]
fn dram_is_the_bottleneck_of_its_example_on_all_cores() {
    let (result, _) = analyse(&example("dram_reads.asm"), options());
    assert_eq!(result["guarantee"]["bottleneck"], "dram");
    let reads = 197_410_807.0 / 8.0;
    let found = result["guarantee"]["packetrate_pps"].as_f64().expect("a number");
    assert!((found - reads).abs() < 1.0, "eight reads a packet: {found}, not {reads}");
}

#[test]
fn fixed_limits_cap_the_guarantee() {
    let (result, _) = analyse(&example("size_classes.asm"), options());
    assert_eq!(result["guarantee"]["bottleneck"], "mac");
    assert_eq!(result["guarantee"]["packetrate_pps"], 54_400_000.0);
    assert_eq!(result["guarantee"]["bitrate_bps"], 54_400_000.0 * 480.0);
}

#[test]
fn the_search_improves_on_the_naive_bound() {
    let result = analysed("impossible_pair.asm", "bitrate");
    let rate = |which: &str| result[which]["bitrate_bps"].as_f64().expect("a number");
    assert!(rate("naive") < rate("guarantee"));
    assert_eq!(result["naive"]["exact"], false);
}
