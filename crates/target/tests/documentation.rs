//! Tests that the examples in `docs/reference/targets.md` work as shown.

use slowpath_target::{Target, check};

const NAME: &str = "docs/reference/targets.md";
const PAGE: &str = include_str!("../../../docs/reference/targets.md");

/// Returns the text of the code blocks in the page that open with exactly this fence.
fn blocks(fence: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = PAGE.lines();
    while lines.by_ref().any(|line| line == fence) {
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        found.push(block.join("\n"));
    }
    found
}

#[test]
fn example_targets_pass_the_check() {
    let examples = blocks("```toml");
    assert_eq!(examples.len(), 2, "one of each kind");
    for text in examples {
        assert_eq!(check(&text), Vec::<String>::new());
        Target::parse(&text, NAME).expect("parses");
    }
}

#[test]
fn example_assumptions_make_refused_classes_usable() {
    let examples = blocks("```toml assume");
    assert_eq!(examples.len(), 1);
    let mut target = Target::builtin("agilio-cx-2x40").expect("built in").expect("parses");
    let classes = ["mem.dram.write32.wait".to_owned()];
    assert!(target.cost_model(&classes).is_err());
    let sentences = target.apply_assumptions(&examples[0], NAME).expect("valid");
    assert_eq!(sentences.len(), 1);
    assert!(target.cost_model(&classes).is_ok());
}

#[test]
fn every_class_of_the_documented_scheme_is_priced_but_dram_writes() {
    let target = Target::builtin("agilio-cx-2x40").expect("built in").expect("parses");
    let mut classes: Vec<String> = Vec::new();
    for name in ["insn", "insn.cc", "branch", "branch.taken", "branch.not_taken"] {
        classes.push(name.into());
    }
    for memory in ["sram", "dram"] {
        for operation in ["read32", "write8", "write32", "add"] {
            for end in ["wait", "post"] {
                classes.push(format!("mem.{memory}.{operation}.{end}"));
            }
        }
    }
    for class in classes {
        let refused = target.cost_model(std::slice::from_ref(&class)).is_err();
        assert_eq!(refused, class.starts_with("mem.dram.write"), "{class}");
    }
}
