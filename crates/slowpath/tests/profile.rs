//! Tests the profile of the slowest path, which splits its cost by instruction and line. Prices
//! depend on earlier instructions, and all parts of the profile add up to the total cost.

use crate::common;

use common::{analyse, example, examples, options, run};
use serde_json::Value;
use slowpath::{Options, ProgramFile, ProgramRequest};

/// Converts a cost to billionths of a cycle, the engine's smallest unit, so that sums are exact.
fn ticks(cost: &Value, component: &str) -> u64 {
    let cycles = cost[component].as_f64().expect("a cost");
    (cycles * 1e9).round() as u64
}

fn list<'a>(profile: &'a Value, key: &str) -> &'a Vec<Value> {
    profile[key].as_array().expect("a list")
}

/// Checks that the costs of all instructions add up to the total cost. The costs of all source
/// lines, plus those of instructions without a line, must also add up to it.
fn check_sums(result: &Value, name: &str) {
    let profile = &result["profile"];
    let components = profile["cost"].as_object().expect("costs").keys();
    for component in components {
        let cost = |value: &Value| ticks(&value["cost"], component);
        let total = cost(profile);
        let overhead = ticks(&profile["overhead"], component);
        let instructions = list(profile, "instructions");
        let sum: u64 = instructions.iter().map(cost).sum();
        assert_eq!(overhead + sum, total, "{name}: instructions, {component}");
        let lines: u64 = list(profile, "lines").iter().map(cost).sum();
        let without_line = instructions.iter().filter(|insn| insn["line"].is_null());
        let without_line: u64 = without_line.map(cost).sum();
        assert_eq!(overhead + lines + without_line, total, "{name}: lines, {component}");
    }
    if let Some(path) = list(result, "paths").first() {
        assert_eq!(path["cost"], profile["cost"], "{name}");
    }
}

#[test]
fn the_costs_of_listings_add_up() {
    for name in examples(".asm") {
        for metric in ["bitrate", "packetrate"] {
            let options = Options { metric: Some(metric.into()), ..options() };
            let (result, _) = analyse(&example(&name), options);
            check_sums(&result, &name);
        }
    }
}

#[test]
fn the_costs_of_source_lines_add_up() {
    for name in ["alaw2ulaw.bpf.o", "ddos_filter.bpf.o", "firewall.bpf.o", "tunnel.bpf.o"] {
        let object = ProgramFile::read(&example(name)).expect("an object");
        let options = Options { target: "ebpf".into(), ..options() };
        let (result, _) = run(ProgramRequest { options, ..ProgramRequest::of(name, object) });
        assert_eq!(result["error"], Value::Null, "{name}");
        check_sums(&result, name);
        let lines = list(&result["profile"], "lines");
        assert!(lines.iter().all(|line| line["function"].is_string()), "{name}");
        let executed = |line: &Value| line["instructions"].as_u64() >= line["runs"].as_u64();
        assert!(lines.iter().all(executed), "{name}");
    }
}

/// Returns two figures of the instruction with the number `number`: how often it is executed, and
/// its processing cycles.
fn instruction(profile: &Value, number: u64) -> (u64, u64) {
    let found = list(profile, "instructions").iter().find(|i| i["instruction"] == number);
    let found = found.unwrap_or_else(|| panic!("instruction {number} is on the path"));
    let cycles = found["cost"]["processing"].as_u64().expect("whole cycles");
    (found["runs"].as_u64().expect("a count"), cycles)
}

/// Checks the costs of two branches of a loop. The branch at the loop's head runs 13 times. It
/// falls through 12 times and is taken the last time, directly after the instruction that sets the
/// condition codes. The branch at the loop's end is always taken.
#[test]
fn the_price_of_a_branch_depends_on_its_context() {
    let (result, _) = analyse(&example("counter_loop.asm"), options());
    assert_eq!(instruction(&result["profile"], 14), (13, 12 + 4));
    assert_eq!(instruction(&result["profile"], 21), (12, 12 * 4));
}

/// Checks that an access to memory that must wait for an earlier access is charged for the wait.
#[test]
fn waiting_is_charged_to_the_instruction_that_waits() {
    let (result, _) = analyse(&example("dram_reads.asm"), options());
    let profile = &result["profile"];
    // Reads are at least 25 cycles apart, and other instructions of the loop use some of them. So a
    // read waits for less than 25 cycles, but costs more than the 3 cycles of the read itself.
    let (runs, cycles) = instruction(profile, 21);
    assert_eq!(runs, 8);
    assert!(cycles > 3 * 8 && cycles < 25 * 8, "{cycles}");
    let others = list(profile, "instructions").iter().filter(|i| i["instruction"] != 21);
    let dram: u64 = others.map(|i| ticks(&i["cost"], "dram")).sum();
    assert_eq!(dram, 0, "only the reads load the DRAM engine");
}

#[test]
fn a_bound_that_is_not_exact_has_costs() {
    let data = example("impossible_pair.asm");
    let (result, _) = analyse(&data, Options { paths: Some(0), ..options() });
    assert_eq!(result["guarantee"]["exact"], false);
    assert!(list(&result, "paths").is_empty());
    check_sums(&result, "impossible_pair");
    let rate = result["guarantee"]["components"]["processing"].as_f64().expect("a rate");
    let cycles = result["profile"]["cost"]["processing"].as_f64().expect("cycles");
    assert!((rate * cycles - 50.0 * 800e6).abs() < 1e3, "{rate} packets/s of {cycles} cycles");
}

#[test]
fn a_program_without_guarantee_has_no_costs() {
    let (failed, _) = analyse(b"nonsense", options());
    assert!(failed["error"].is_string());
    assert_eq!(failed["profile"], Value::Null);
}
