use crate::{CostModel, Target, TargetError};

const CLASSES: &[&str] = &[
    "insn",
    "insn.cc",
    "branch",
    "branch.taken",
    "branch.not_taken",
    "mem.sram.read32.wait",
    "mem.dram.read32.wait",
    "mem.dram.add.post",
];

fn agilio() -> Target {
    Target::builtin("agilio-cx-2x40").expect("built in").expect("parses")
}

fn names(classes: &[&str]) -> Vec<String> {
    classes.iter().map(|&class| class.to_owned()).collect()
}

fn model() -> CostModel {
    agilio().cost_model(&names(CLASSES)).expect("all priced")
}

/// Returns the cycles that each event costs, if the events follow the start of a program in this
/// order.
fn cycles(events: &[&str]) -> Vec<u64> {
    let model = model();
    let mut context = model.start();
    let steps = events.iter().map(|event| {
        let class = CLASSES.iter().position(|class| class == event).expect("listed above");
        let mut cost = model.zero();
        context = model.step(context, class as u32, &mut cost);
        cost[0]
    });
    steps.collect()
}

#[test]
fn plain_instructions_and_branches() {
    let events = ["insn", "insn.cc", "branch", "branch.not_taken"];
    assert_eq!(cycles(&events), [1, 1, 4, 1]);
}

#[test]
fn taken_branches_wait_for_new_condition_codes() {
    assert_eq!(cycles(&["insn.cc", "branch.taken"]), [1, 4]);
    assert_eq!(cycles(&["insn.cc", "insn", "branch.taken"]), [1, 1, 3]);
    assert_eq!(cycles(&["insn.cc", "branch.not_taken", "branch.taken"]), [1, 1, 3]);
    assert_eq!(cycles(&["insn.cc", "branch.taken", "branch.taken"]), [1, 4, 3]);
    assert_eq!(cycles(&["branch.taken"]), [3]);
}

#[test]
fn memory_waits_are_spaced_from_the_end_of_the_previous_access() {
    let (sram, dram) = ("mem.sram.read32.wait", "mem.dram.read32.wait");
    assert_eq!(cycles(&[sram, sram, dram]), [16, 16, 25]);
    assert_eq!(cycles(&["insn", "insn", sram]), [1, 1, 14]);
    assert_eq!(cycles(&[sram, "insn", "insn", dram]), [16, 1, 1, 23]);
    assert_eq!(cycles(&["mem.dram.add.post", sram]), [1, 16]);
    let mut events = vec!["insn"; 22];
    events.push(dram);
    assert_eq!(cycles(&events)[22], 3);
}

#[test]
fn engine_work_is_counted_in_its_own_ticks() {
    let model = model();
    let mut cost = model.overhead();
    assert_eq!(cost.as_slice(), [224, 0]);
    let context = model.step(model.start(), 6, &mut cost);
    model.step(context, 7, &mut cost);
    assert_eq!(cost.as_slice(), [224 + 25 + 1, 4_052_463_036 + 3_219_818_926]);
}

#[test]
fn classes_without_rules_need_fewer_contexts() {
    let count = |classes: &[&str]| {
        let model = agilio().cost_model(&names(classes)).expect("priced");
        let mut seen = std::collections::BTreeSet::from([model.start()]);
        let mut open = vec![model.start()];
        while let Some(context) = open.pop() {
            for class in 0..classes.len() as u32 {
                let next = model.step(context, class, &mut model.zero());
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen.len()
    };
    assert_eq!(count(&["insn", "insn.cc"]), 1);
    assert_eq!(count(&["insn", "branch.not_taken", "mem.sram.read32.wait"]), 14);
    assert!(count(CLASSES) <= 2 * 23, "{}", count(CLASSES));
}

#[test]
fn errors_name_all_classes_without_a_price() {
    let classes = names(&["insn", "mem.dram.write32.wait", "call.helper", "call.helper"]);
    let error = agilio().cost_model(&classes).expect_err("unpriced");
    assert!(matches!(&error, TargetError::Unpriced { classes, .. } if classes.len() == 2));
    assert_eq!(
        error.to_string(),
        "target agilio-cx-2x40 has no price for `mem.dram.write32.wait` on dram, `call.helper` on \
         processing; state one in a file with a line such as `[price.\"mem.dram.write32.wait\"]`, \
         followed by `dram = CYCLES`, and pass it with --assume FILE"
    );
}

#[test]
fn an_invalid_class_costs_the_maximum() {
    let model = model();
    let mut cost = model.zero();
    model.step(model.start(), 999, &mut cost);
    assert_eq!(cost.as_slice(), [u64::MAX, u64::MAX]);
}
