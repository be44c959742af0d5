//! A target device for BPF programs on which the cost of an instruction depends on earlier
//! instructions, as on the SmartNIC.

use slowpath_target::Target;

const HEAD: &str = r#"
schema = 1
name = "test"
instruction_set = "bpf"
description = "two components and context-dependent prices"
[sources]
here = "made up"
[packet]
min_size_bytes = 14
max_size_bytes = 1500
source = "here"
[[component]]
name = "cores"
kind = "cores"
cores = 3
clock_hz = 1000
overhead_cycles = 40
source = "here"
[[component]]
name = "engine"
kind = "engine"
clock_hz = 1000
serves = ["load", "store", "atomic", "helper"]
source = "here"
[mark.access]
description = "memory was accessed"
set_at_start = true
source = "here"
"#;

/// Returns the costs of a class of instructions, in TOML, as part of a target description. Memory
/// accesses start at least five cycles apart and keep the device's memory engine busy.
fn price(class: &str) -> String {
    let (cores, engine, sets) = match class.split('.').next().unwrap_or_default() {
        "load" => (spaced(2), Some("1.5"), true),
        "store" => (spaced(1), Some("2.25"), true),
        "atomic" => (spaced(4), Some("9"), true),
        "helper" => ("{ cycles = 11 }".to_owned(), Some("3"), false),
        _ => (
            "{ cycles = 1, just_after = { mark = \"access\", cycles = 3 } }".to_owned(),
            None,
            false,
        ),
    };
    let engine = engine.map_or_else(String::new, |e| format!("engine = {{ cycles = {e} }}\n"));
    let sets = if sets { "sets = [\"access\"]\n" } else { "" };
    format!("[price.\"{class}\"]\ncores = {cores}\n{engine}{sets}source = \"here\"\n")
}

fn spaced(cycles: u32) -> String {
    format!("{{ cycles = {cycles}, spacing = {{ mark = \"access\", cycles = 5 }} }}")
}

/// Returns a target device that defines a cost for each of the given classes of instructions.
pub fn target(classes: &[String]) -> Target {
    let prices: String = classes.iter().map(|class| price(class)).collect();
    Target::parse(&format!("{HEAD}{prices}"), "test").expect("the target is valid")
}
