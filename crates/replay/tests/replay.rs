//! Tests the results of replaying packets (path, instructions and effects), and the reports of
//! disagreements.

use std::path::Path;

use serde_json::json;
use slowpath_bpf::Object;
use slowpath_ir::{Op, Operand};
use slowpath_kernel::witness::{bytes, context};
use slowpath_kernel::{Context, Kernel};
use slowpath_oracle::Oracle;
use slowpath_replay::{Entry, Replay, ReplayError, Step};

fn kernel() -> Option<Kernel> {
    Kernel::available().map_err(|reason| Oracle::Kernel.missing(reason)).ok()
}

fn object(below: &str) -> Object {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(below);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Object::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Loads and lifts the program `name` of `features.bpf.o`.
fn features(kernel: &Kernel, name: &str) -> Replay {
    let object = object("crates/kernel/tests/objects/features.bpf.o");
    let number = object.programs.iter().position(|p| p.name == name).expect("it is there");
    Replay::new(kernel, &object, number).unwrap_or_else(|e| panic!("{e}"))
}

fn run(replay: &mut Replay, packet: &[u8]) -> Step {
    replay.run(packet, &Context::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_packet_has_a_path_and_effects_that_can_be_undone() {
    let Some(kernel) = kernel() else { return };
    let mut replay = features(&kernel, "all_maps");
    let entry = |key: u32, value: u64| Entry {
        key: key.to_ne_bytes().to_vec(),
        value: value.to_ne_bytes().to_vec(),
    };
    replay.put("table", &entry(1, 10)).expect("writes");
    let packet = [0; 60];
    let first = run(&mut replay, &packet);
    let change = first.effects.maps.iter().find(|change| change.map == "table");
    let change = change.expect("an element is counted up").clone();
    assert_eq!(change.key, 1u32.to_ne_bytes());
    assert_eq!(change.before, Some(10u64.to_ne_bytes().to_vec()));
    assert_eq!(change.after, Some(15u64.to_ne_bytes().to_vec()));
    // The first packet inserts elements that the second one finds.
    let inserted = first.effects.maps.iter().filter(|change| change.before.is_none()).count();
    assert!(inserted > 0, "{:?}", first.effects.maps);
    let unreadable: Vec<&str> = first.effects.unreadable.iter().map(|u| u.call.as_str()).collect();
    assert!(unreadable.contains(&"ringbuf_output"), "{unreadable:?}");
    assert!(unreadable.contains(&"perf_event_output"), "{unreadable:?}");
    let map = replay.changed_map(&change).expect("is there");
    map.update(&change.key, &change.before.expect("was there")).expect("writes");
    replay.reread().expect("reads");
    let second = run(&mut replay, &packet);
    let repeated = second.effects.maps.iter().find(|change| change.map == "table").expect("again");
    assert_eq!(repeated.after, Some(15u64.to_ne_bytes().to_vec()));
    let third = run(&mut replay, &packet);
    assert_eq!(second.path, third.path);
    assert_eq!(second.instructions, third.instructions);
    assert!(replay.differing_maps().is_empty(), "{:?}", replay.differing_maps());
    Oracle::Kernel.compared(3, "replayed packets");
}

#[test]
fn hits_and_misses_of_look_ups_are_different_paths() {
    let Some(kernel) = kernel() else { return };
    let mut replay = features(&kernel, "all_maps");
    let packet = [0; 60];
    let missed = run(&mut replay, &packet);
    replay
        .install(&json!({"maps": {"table": [{"key": "01000000", "value": "0a00000000000000"}]}}))
        .expect("installs");
    let found = run(&mut replay, &packet);
    assert_ne!(missed.path, found.path);
    Oracle::Kernel.compared(2, "replayed packets");
}

#[test]
fn a_wrong_model_is_reported_with_a_reproducer() {
    let Some(kernel) = kernel() else { return };
    let object = object("crates/kernel/tests/objects/features.bpf.o");
    let number = object.programs.iter().position(|p| p.name == "all_maps").expect("it is there");
    let mut lifted = Replay::lift(&kernel, &object, number).expect("is lifted");
    // Corrupt the model: it adds 6 where the program adds 5.
    let ops = lifted.program.blocks.iter_mut().flat_map(|block| &mut block.ops);
    let mut changed = 0;
    for origin in ops {
        if let Op::Binary { b: Operand::Const { value: value @ 5, .. }, .. } = &mut origin.op {
            (*value, changed) = (6, changed + 1);
        }
    }
    assert!(changed > 0, "there is an addition of 5");
    let mut replay = Replay::of(&kernel, &object, number, lifted).expect("loads");
    let entry = Entry { key: vec![1, 0, 0, 0], value: vec![10, 0, 0, 0, 0, 0, 0, 0] };
    replay.put("table", &entry).expect("writes");
    let fault = replay.run(&[0; 60], &Context::default()).expect_err("they differ");
    let ReplayError::Disagreement(disagreement) = &fault else { panic!("{fault}") };
    assert!(fault.to_string().contains("table at 01000000: 0f00"), "{fault}");
    assert_eq!(fault.to_string().lines().count(), 1);
    assert!(disagreement.report().contains("\"reproducer\""));
    // With the reproducer, the correct model agrees with the kernel.
    let witness = &disagreement.reproducer;
    assert_eq!(witness["maps"]["table"][0]["value"], "0a00000000000000", "{witness}");
    let mut right = Replay::new(&kernel, &object, number).expect("loads");
    right.install(witness).expect("installs");
    let step = right.run(&bytes(&witness["packet"]), &context(witness)).expect("agrees");
    assert_eq!(step.outcome, disagreement.kernel);
    // The replay can run further packets.
    assert!(matches!(replay.run(&[0; 60], &Context::default()), Err(ReplayError::Disagreement(_))));
    Oracle::Kernel.compared(2, "replayed packets");
}

/// Checks that the result for a packet is undecided if all tried runs of the interpreter contradict
/// guarantees of the kernel.
#[test]
fn runs_without_a_possible_choice_are_undecided() {
    let Some(kernel) = kernel() else { return };
    let object = object("crates/kernel/tests/objects/helpers.bpf.o");
    let name = "undecided_every_long_key";
    let number = object.programs.iter().position(|p| p.name == name).expect("it is there");
    let mut replay = Replay::new(&kernel, &object, number).unwrap_or_else(|e| panic!("{e}"));
    let fault = replay.run(&[5; 80], &Context::default()).expect_err("is undecided");
    assert!(matches!(fault, ReplayError::Undecided(_)), "{fault}");
}

#[test]
fn look_ups_are_known_before_the_kernel_runs() {
    let Some(kernel) = kernel() else { return };
    let object = object("examples/firewall.bpf.o");
    let mut replay = Replay::new(&kernel, &object, 0).unwrap_or_else(|e| panic!("{e}"));
    // IPv6, TCP.
    let mut packet = vec![0; 100];
    packet[12..14].copy_from_slice(&[0x86, 0xdd]);
    packet[14] = 0x60;
    packet[20] = 6;
    packet[66] = 0x50;
    let context = Context::default();
    let mut keys = Vec::new();
    for source in [1, 2] {
        packet[22] = source;
        let search = replay.lookup(&packet, &context).unwrap_or_else(|e| panic!("{e}"));
        let search = search.expect("the interpreter gets to the end");
        let step = run(&mut replay, &packet);
        assert_eq!(search.instructions, step.instructions);
        let rules = search.elements.into_iter().filter(|lookup| lookup.map == "rules");
        let found: Vec<Vec<u8>> = rules.map(|lookup| lookup.key).collect();
        assert_eq!(found.len(), 1);
        assert!(found[0].contains(&source));
        keys.extend(found);
    }
    assert_ne!(keys[0], keys[1]);
    Oracle::Kernel.compared(2, "look-ups known before the run");
}
