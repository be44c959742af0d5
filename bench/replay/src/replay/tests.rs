//! Tests the outcomes of replays on an example: a correct count, a wrong one, one that depends on a
//! clock, and a guarantee that a packet exceeds.

use super::replay;
use crate::outcome::Outcome;
use crate::result::{Entry, Guarantee, Surveyed};
use serde_json::{Value, json};
use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;

/// Returns the manifest's entry for the first program of an example.
fn entry(example: &str) -> Entry {
    let file = format!("{}/../../examples/{example}.bpf.o", env!("CARGO_MANIFEST_DIR"));
    let data = std::fs::read(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let object = slowpath_bpf::Object::parse(&data).unwrap_or_else(|e| panic!("{file}: {e}"));
    let program = &object.programs[0];
    Entry {
        project: "examples".to_owned(),
        object: file,
        section: program.section.clone(),
        program: program.name.clone(),
    }
}

fn guarantee(instructions: u64, witness: &Value) -> Surveyed {
    let (assumptions, witness) = (Vec::new(), witness.clone());
    Surveyed::Guarantee(Guarantee { instructions, assumptions, witness })
}

/// Returns the number of instructions that the witness packet executes, from the message about a
/// wrong count.
fn executed(kernel: &Kernel, entry: &Entry, witness: &Value) -> u64 {
    match replay(kernel, entry, &guarantee(u64::MAX, witness)) {
        Outcome::Different(how) => {
            how.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{how}"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn outcomes_are_told_apart() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let entry = entry("firewall");
    let packet = "00".repeat(14);
    let witness = json!({ "packet": packet });
    let count = executed(&kernel, &entry, &witness);
    // Longer packets execute more instructions, so this path does not give a guarantee.
    let exceeded = replay(&kernel, &entry, &guarantee(count, &witness));
    assert!(matches!(&exceeded, Outcome::Different(how) if how.contains("more than")));
    let timed = json!({
        "packet": packet,
        "unknowns": [{ "instruction": 0, "call": "bpf_ktime_get_ns", "result": "return value",
                       "value": 1, "meaning": "1 ns" }],
    });
    let open = replay(&kernel, &entry, &guarantee(1 << 20, &timed));
    assert!(matches!(&open, Outcome::Open { on, .. } if on[0].starts_with("bpf_ktime_get_ns")));
    let fewer = replay(&kernel, &entry, &guarantee(count - 1, &timed));
    assert!(matches!(fewer, Outcome::Different(_)), "{fewer:?}");
    let no_map = json!({ "packet": packet, "maps": { "nowhere": [] } });
    let no_map = replay(&kernel, &entry, &guarantee(count, &no_map));
    assert!(matches!(&no_map, Outcome::Different(how) if how.contains("nowhere")));
    Oracle::Kernel.compared(5, "outcomes of replays");
}
