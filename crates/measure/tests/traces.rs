//! Tests traces of packets with initial map content. Kernel and interpreter must agree on packets
//! that find this content. Errors must name content that cannot be installed.

use crate::support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::timing::TimingThread;
use slowpath_measure::{MeasureError, Trace, TraceReport};
use slowpath_oracle::Oracle;
use support::{DROP, PASS, REDIRECT, kernel, object, program_number};

/// Writes packets to a new capture file. Its name is unique, because tests run in parallel.
fn capture(packets: &[Vec<u8>]) -> PathBuf {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{}.pcap", FILES.fetch_add(1, Ordering::Relaxed));
    let word = |number: usize| (number as u32).to_le_bytes();
    let mut file = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0].to_vec();
    file.extend([word(0), word(0), word(65535), word(1)].concat());
    for packet in packets {
        file.extend([word(0), word(0), word(packet.len()), word(packet.len())].concat());
        file.extend(packet);
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, file).expect("is written");
    path
}

/// Runs packets of a capture file through the program with this name, whose maps have initial
/// content.
fn run(
    kernel: &Arc<Kernel>,
    (object, program): (&Arc<Object>, &str),
    file: &Path,
    content: Value,
) -> Result<TraceReport, MeasureError> {
    let timing_thread = TimingThread::start(None).expect("starts");
    let number = program_number(object, program);
    let trace = Trace::start(&timing_thread, kernel, object, number, file, content)?;
    while trace.advance(&timing_thread, Duration::from_secs(1))? {}
    let report = trace.report();
    for fault in [&report.refused, &report.undecided, &report.disagreements] {
        assert_eq!(fault.packets, 0, "{:?}", fault.what);
    }
    assert!(report.complete);
    Ok(report)
}

fn packet(port: u16) -> Vec<u8> {
    support::packet(6, [port, 443], 64)
}

/// Returns, in hexadecimal digits, the key that the firewall looks up for a test packet.
fn flow(port: u16) -> String {
    let mapped = "00000000000000000000ffff";
    format!("{mapped}0a000001{mapped}0a000002{port:04x}01bb06000000")
}

#[test]
fn packets_find_the_initial_map_content() {
    let Some(kernel) = kernel() else { return };
    let object = support::example("firewall");
    let packets: Vec<Vec<u8>> = (0..40).map(|n| packet(n % 8)).collect();
    let file = capture(&packets);
    let firewall = (&object, "firewall");
    let plain = run(&kernel, firewall, &file, json!({})).expect("runs");
    assert_eq!(plain.paths.len(), 1);
    assert!(plain.maps.iter().all(|map| map.entries.is_none()));

    let rules: Vec<Value> =
        [1u16, 5].iter().map(|&port| json!({ "key": flow(port), "value": [1, 0, 0, 0] })).collect();
    let text = json!({ "rules": rules, "verdicts": [{ "key": 1, "value": 7 }] }).to_string();
    let content = slowpath::initial_maps(&text, &object).expect("can be read");
    let filled = run(&kernel, firewall, &file, content).expect("runs");
    let entries: Vec<(&str, Option<u64>)> =
        filled.maps.iter().map(|map| (map.name.as_str(), map.entries)).collect();
    assert_eq!(entries, [("rules", Some(2)), ("prefixes", None), ("verdicts", Some(1))]);
    assert_eq!(filled.paths.len(), 2);
    for (number, taken) in filled.taken.iter().enumerate() {
        let path = &filled.paths[taken.expect("is known") as usize - 1];
        let denied = [1, 5].contains(&(number % 8));
        assert_eq!(path.action, if denied { DROP } else { PASS }, "packet {number}");
        assert_eq!(path.path == plain.paths[0].path, !denied, "packet {number}");
    }
    Oracle::Kernel.compared(2 * packets.len(), "packets of a trace");
}

/// Runs three packets of zeros through a program of a test object. `maps` is the initial map
/// content in the format of the option `--maps`.
fn run_features(kernel: &Arc<Kernel>, program: &str, maps: &Value) -> Result<TraceReport, String> {
    let object = support::features();
    let file = capture(&vec![vec![0; 64]; 3]);
    let content = slowpath::initial_maps(&maps.to_string(), &object).map_err(|e| e.to_string())?;
    run(kernel, (&object, program), &file, content).map_err(|e| e.to_string())
}

#[test]
fn maps_of_all_types_are_filled() {
    let Some(kernel) = kernel() else { return };
    let pairs = json!([{ "key": 1, "value": 5 }, { "key": 3, "value": 7 }]);
    let cases = [
        (json!({}), PASS),
        (json!({ "per_cpu": pairs, "table": pairs, "recent": pairs }), PASS),
        (json!({ "table": [{ "key": 1, "value": 5 }, { "others": 7 }] }), PASS),
        (json!({ "routes": [{ "key": [32, 0x0100_000a], "value": 1 }] }), DROP),
        (json!({ "routes": [{ "key": [8, 0x0000_000a], "value": 1 }] }), DROP),
        (json!({ "routes": [{ "key": [8, 0x0000_000b], "value": 1 }] }), PASS),
        (json!({ "ports": [{ "key": 3, "value": 9 }] }), REDIRECT),
    ];
    for (maps, action) in &cases {
        let report =
            run_features(&kernel, "all_maps", maps).unwrap_or_else(|e| panic!("{maps}: {e}"));
        let taken: Vec<u32> = report.paths.iter().map(|path| path.action).collect();
        assert!(taken.iter().all(|taken| taken == action), "{maps}: {taken:?}");
        for map in &report.maps {
            let given = maps[&map.name].as_array();
            assert_eq!(map.entries.is_some(), given.is_some(), "{maps}: {map:?}");
        }
    }
    let full = run_features(&kernel, "all_maps", &cases[2].0).expect("runs");
    let table = full.maps.iter().find(|map| map.name == "table").expect("is reached");
    assert_eq!((table.entries, table.others), (Some(8), 7));
    // Content of maps that the program cannot reach is ignored, like content that equals the
    // default.
    let same = json!({ ".rodata": [{ "key": 0, "value": 3 }], "table": pairs });
    assert_eq!(run_features(&kernel, "globals", &same).expect("runs").paths[0].action, 3);
    let slots =
        json!({ "calls": [{ "key": 1, "program": "answer" }, { "key": 2, "program": "again" }] });
    assert_eq!(run_features(&kernel, "tail_call", &slots).expect("runs").paths[0].action, REDIRECT);
    Oracle::Kernel.compared(3 * (cases.len() + 3), "packets of a trace");
}

#[test]
fn queues_are_filled_in_order() {
    let Some(kernel) = kernel() else { return };
    let object = object("crates/kernel/tests/objects/helpers.bpf.o");
    let file = capture(&vec![vec![0; 512]; 4]);
    for map in ["queue", "stack"] {
        let text = format!("{{\"{map}\": [{{\"value\": 5}}, {{\"value\": 6}}]}}");
        let content = slowpath::initial_maps(&text, &object).expect("can be read");
        let report = run(&kernel, (&object, &format!("{map}_steps")), &file, content);
        let report = report.unwrap_or_else(|e| panic!("{map}: {e}"));
        assert!(report.maps.iter().any(|report| report.name == map && report.entries == Some(2)));
    }
    Oracle::Kernel.compared(8, "packets of a trace");
}

#[test]
fn errors_name_content_that_cannot_be_installed() {
    let Some(kernel) = kernel() else { return };
    let cases = [
        (
            "globals",
            json!({ ".rodata": [{ "key": 0, "value": 4 }] }),
            "map .rodata: the map is read-only",
        ),
        ("tail_call", json!({ "calls": [] }), "map calls: key 01000000 differs from the object"),
        (
            "all_maps",
            json!({ "nested": [{ "key": 0, "map": "nested#1" }] }),
            "map nested: key 00000000",
        ),
        ("all_maps", json!({ "routes": [{ "others": 2 }] }), "map routes: `others` is not enough"),
        ("all_maps", json!({ "ring": [] }), "map ring: a ringbuf has no entries"),
        ("all_maps", json!({ "table": [{ "others": 9 }] }), "map table: 9 entries exceed its 8"),
        (
            "all_maps",
            json!({ "routes": [{ "key": [33, 1], "value": 1 }] }),
            "map routes: entry 1: `key` has a prefix of 33 bits, and its keys have 32",
        ),
    ];
    for (program, maps, reason) in &cases {
        let refused = run_features(&kernel, program, maps).expect_err("is refused");
        assert!(refused.contains(reason), "{refused}");
    }
    Oracle::Kernel.compared(cases.len(), "refusals of map content");
}
