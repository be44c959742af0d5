use crate::{CostVector, Rate, Target, TargetError, TargetKind, check};

const SMALL: &str = r#"
schema = 1
name = "small"
kind = "counts"
description = "for tests"
[sources]
us = "this test"
[packet]
min_size_bytes = 14
max_size_bytes = 1500
source = "us"
[[component]]
name = "instructions"
[[component]]
name = "memory accesses"
counts = ["load", "store"]
"#;

fn small() -> Target {
    Target::parse(SMALL, "small.toml").expect("parses")
}

/// Returns, for each component, the sum of its counts over one event of each cost class in
/// `classes`.
fn counts(target: &Target, classes: &[&str]) -> Vec<u64> {
    let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
    let model = target.cost_model(&classes).expect("nothing needs a price");
    let (mut cost, mut context) = (model.zero(), model.start());
    for class in 0..classes.len() {
        context = model.step(context, class as u32, &mut cost);
    }
    assert_eq!(context, model.start(), "there are no marks");
    assert_eq!(model.overhead(), model.zero());
    cost.as_slice().to_vec()
}

#[test]
fn components_count_the_events_of_their_classes() {
    assert_eq!(check(SMALL), Vec::<String>::new());
    let classes = ["insn", "load", "load.map", "loaded", "store.packet", "call"];
    assert_eq!(counts(&small(), &classes), [6, 3]);
}

#[test]
fn there_are_no_rates_and_no_cores() {
    let target = small();
    assert_eq!((target.kind, target.cores), (TargetKind::Counts, 0));
    let mut cost = CostVector::zero(2);
    cost.add(0, 7);
    assert!(target.rates(&cost, 64).is_empty());
    assert_eq!(target.packet_rate(0, 7), Rate::infinite());
    assert!(matches!(target.with_cores(1), Err(TargetError::NoCores { .. })));
}

#[test]
fn slowness_is_the_count_for_every_packet_size() {
    let target = small();
    assert!(target.slowness(0, 8, Some(1500)) > target.slowness(0, 7, Some(60)));
    assert_eq!(target.slowness(1, 7, None), target.slowness(1, 7, Some(60)));
}

#[test]
fn option_names_have_no_spaces() {
    let target = small();
    let metrics = target.metrics().expect("it counts");
    assert_eq!(metrics, ["instructions", "memory-accesses"]);
    assert_eq!(target.counter("memory-accesses"), Some(1));
    assert_eq!(target.counter("memory accesses"), None);
    let card = Target::builtin("agilio-cx-2x40").expect("built in").expect("parses");
    assert_eq!((card.metrics(), card.counter("processing")), (None, None));
}

#[test]
fn keys_of_other_targets_are_refused() {
    let changed = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        check(&SMALL.replace(from, to)).join("\n")
    };
    let price = "[price.load]\ninstructions = { cycles = 1 }\n[[component]]\nname = \"memory";
    assert!(changed("[[component]]\nname = \"memory", price).contains("unknown key `price`"));
    let clock = "counts = [\"load\"]\nclock_hz = 5";
    assert!(changed("counts = [\"load\", \"store\"]", clock).contains("unknown key"));
    assert!(changed("kind = \"counts\"", "kind = \"speeds\"").contains("`kind` must be"));
    assert!(changed("memory accesses", "instructions").contains("is taken already"));
    assert!(changed("memory accesses", "bitrate").contains("is taken already"));
    let without = SMALL.split("[[component]]").next().expect("a beginning");
    assert!(check(without).join("\n").contains("needs one"));
}

#[test]
fn prices_cannot_be_assumed_but_helpers_can() {
    let mut target = small();
    let prices = target.apply_assumptions("[price.load]\ninstructions = 2\n", "f");
    assert!(prices.expect_err("no prices").to_string().contains("counts events"));
    let helpers = "[helper.bpf_get_hash]\nreason = \"any\"\n";
    assert_eq!(target.apply_assumptions(helpers, "f"), Ok(Vec::new()));
    assert!(target.apply_assumptions("", "f").is_err());
}

#[test]
fn the_built_in_target_counts_bpf_instructions() {
    let target = Target::builtin("ebpf").expect("built in").expect("parses");
    let classes = ["insn", "branch.taken", "load", "atomic.add", "call"];
    assert_eq!(counts(&target, &classes), [5, 2]);
}
