use crate::{Target, TargetError, check};

const SMALL: &str = r#"
schema = 1
name = "small"
description = "for tests"
[sources]
us = "this test"
[packet]
min_size_bytes = 60
max_size_bytes = 1500
source = "us"
[[component]]
name = "cpu"
kind = "cores"
cores = 2
clock_hz = 1_000
overhead_cycles = 7
source = "us"
[[component]]
name = "ram"
kind = "engine"
clock_hz = 500
serves = ["mem"]
source = "us"
[[limit]]
name = "port"
packets_per_second = 99
source = "us"
[mark.mem]
description = "memory was accessed"
source = "us"
[price.insn]
cpu = { cycles = 1 }
source = "us"
[price."mem.read"]
cpu = { cycles = 2, spacing = { mark = "mem", cycles = 9 }, just_after = { mark = "mem", cycles = 3 } }
ram = { cycles = 1.5 }
sets = ["mem"]
source = "us, page 2"
"#;

/// Returns the small target description of these tests, in which the text `to` replaces `from`.
fn changed(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from:?} is not in the text");
    SMALL.replacen(from, to, 1)
}

#[test]
fn a_complete_description_is_read() {
    assert_eq!(check(SMALL), Vec::<String>::new());
    let target = Target::parse(SMALL, "small.toml").expect("parses");
    assert_eq!((target.cores, target.min_packet, target.max_packet), (2, 60, 1500));
    let model = target.cost_model(&["insn".into(), "mem.read".into()]).expect("priced");
    let mut cost = model.overhead();
    let context = model.step(model.start(), 1, &mut cost);
    model.step(context, 1, &mut cost);
    assert_eq!(cost.as_slice(), [7 + 2 + 9, 3_000_000_000]);
}

#[test]
fn errors_name_file_line_and_key() {
    let cases: &[(&str, &str, &str)] = &[
        ("schema = 1\n", "", "`schema` is missing"),
        ("schema = 1", "schema = 2", "`schema` is 2; this version reads schema 1"),
        ("name = \"small\"", "name = 5", "`name` must be a string, not of type integer"),
        ("name = \"small\"", "name = \" \"", "`name` is empty"),
        ("name = \"small\"", "name = \"small", "not TOML"),
        ("description", "descripton", "`description` is missing"),
        ("[packet]", "[packets]", "`packet` is missing"),
        ("min_size_bytes = 60", "min_size_bytes = 1501", "`packet.min_size_bytes` is above"),
        ("min_size_bytes = 60", "min_size_bytes = 60.0", "`packet.min_size_bytes` must be a whole"),
        ("cores = 2", "cores = 0", "`component[0].cores` must be between 1 and"),
        ("cores = 2", "cores = -2", "`component[0].cores` must be between 1 and 1000000, not -2"),
        ("clock_hz = 1_000", "clock = 1_000", "`component[0].clock_hz` is missing"),
        ("overhead_cycles", "overhead", "`component[0].overhead_cycles` is missing"),
        ("kind = \"cores\"", "kind = \"core\"", "`component[0].kind` must be \"cores\" or"),
        ("kind = \"engine\"", "kind = \"cores\"", "exactly one must be of kind \"cores\""),
        ("name = \"ram\"", "name = \"cpu\"", "`component[1].name`: \"cpu\" is taken already"),
        ("name = \"ram\"", "name = \"source\"", "`component[1].name`: \"source\" is taken"),
        ("name = \"port\"", "name = \"cpu\"", "`limit[0].name`: \"cpu\" is taken already"),
        ("serves = [\"mem\"]", "serves = \"mem\"", "`component[1].serves` must be a list of str"),
        ("packets_per_second = 99", "pps = 99", "`limit[0].packets_per_second` or `bits_per"),
        ("packets_per_second = 99", "bits_per_second = 99", "`limit[0].frame_overhead_bytes` is"),
        ("cpu = { cycles = 1 }", "cpu = 1", "`price.insn.cpu` must be a table, not of type int"),
        ("cpu = { cycles = 1 }", "cpu = { cycles = 1.5 }", "`price.insn.cpu.cycles` must be a who"),
        ("cpu = { cycles = 1 }", "cpu = { cycles = -1 }", "`price.insn.cpu.cycles` must be betwe"),
        ("cpu = { cycles = 1 }", "cpu = { }", "`price.insn.cpu.cycles` is missing"),
        ("cpu = { cycles = 1 }", "gpu = { cycles = 1 }", "unknown key `price.insn.gpu`"),
        ("cpu = { cycles = 1 }", "", "`price.insn` has no price"),
        ("cpu = { cycles = 1 }", "ram = { cycles = 1 }", "component ram does not serve this"),
        (
            "ram = { cycles = 1.5 }",
            "ram = { cycles = -1.5 }",
            "\"mem.read\".ram.cycles` must not b",
        ),
        ("ram = { cycles = 1.5 }", "ram = { cycles = inf }", "ram.cycles` must be a finite"),
        ("ram = { cycles = 1.5 }", "ram = { cycles = 1e30 }", "ram.cycles` has too many digits"),
        ("ram = { cycles = 1.5 }", "ram = { cycles = 1e10 }", "ram.cycles` must be at most"),
        ("cycles = 9", "cycles = 60001", "spacing.cycles` must be between 0 and 60000"),
        ("spacing = { mark = \"mem\"", "spacing = { mark = \"m\"", "there is no mark \"m\""),
        ("sets = [\"mem\"]", "sets = [\"cc\"]", "`price.\"mem.read\".sets`: there is no mark"),
        ("[price.\"mem.read\"]", "[price.\"mem read\"]", "is not the name of a cost class"),
        ("[mark.mem]", "[mark.x.y]", "unknown key `mark.x.y`"),
        (
            "source = \"us\"\n[mark",
            "source = \"us\"\nset = true\n[mark",
            "unknown key `limit[0].set`",
        ),
    ];
    for (from, to, expected) in cases {
        let text = changed(from, to);
        let error = Target::parse(&text, "dir/small.toml").expect_err(to).to_string();
        let listed = check(&text);
        assert!(listed.iter().any(|line| line.contains(expected)), "{to}: {listed:#?}");
        let line = error.strip_prefix("dir/small.toml:").and_then(|rest| rest.split_once(": "));
        assert!(line.is_some_and(|(n, _)| n.parse::<usize>().is_ok()), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_single_problem_is_the_error_and_has_the_right_line() {
    let error = Target::parse(&changed("cores = 2", "cores = 0"), "t.toml").expect_err("bad");
    let TargetError::Malformed { line, what, further, .. } = error else { panic!("{error}") };
    assert_eq!((line, further), (14, 0));
    assert_eq!(what, "`component[0].cores` must be between 1 and 1000000, not 0");
}

#[test]
fn errors_of_keys_without_a_unit_name_the_key_with_the_unit() {
    let listed = check(&changed("clock_hz = 500", "clock = 500"));
    assert_eq!(
        listed,
        [
            "line 18: `component[1].clock_hz` is missing",
            "line 21: unknown key `component[1].clock`; the name of a key ends in its unit: `clock_hz`",
        ]
    );
}

#[test]
fn descriptions_with_invalid_sources_are_usable() {
    let cases = [
        (
            "max_size_bytes = 1500\nsource = \"us\"",
            "max_size_bytes = 1500",
            "`packet.source` is mi",
        ),
        ("source = \"us, page 2\"", "", "`price.\"mem.read\".cpu.source` is missing"),
        ("source = \"us, page 2\"", "source = \"them\"", "must begin with a name from `[sources]`"),
        ("packets_per_second = 99\nsource", "packets_per_second = 99\n#", "`limit[0].source` is"),
        (
            "memory was accessed\"\nsource",
            "memory was accessed\"\n#",
            "`mark.mem.source` is missing",
        ),
        ("serves = [\"mem\"]\nsource", "serves = [\"mem\"]\n#", "`component[1].source` is missing"),
    ];
    for (from, to, expected) in cases {
        let text = changed(from, to);
        let listed = check(&text);
        assert!(listed.iter().any(|line| line.contains(expected)), "{to}: {listed:#?}");
        assert!(Target::parse(&text, "small.toml").is_ok(), "{to}");
    }
    // A price with its own source needs none in its table.
    let own =
        changed("cpu = { cycles = 1 }\nsource = \"us\"", "cpu = { cycles = 1, source = \"us\" }");
    assert_eq!(check(&own), Vec::<String>::new());
}

#[test]
fn errors_of_other_files_have_one_line() {
    let zeros = "\0".repeat(1 << 20);
    let nested = format!("x = {}", "[".repeat(100_000));
    for text in ["", "\u{feff}", "hello", "[[[", "x = 1", zeros.as_str(), nested.as_str()] {
        let error = Target::parse(text, "t.toml").expect_err("no description").to_string();
        assert!(error.starts_with("t.toml:1: "), "{error}");
        assert!(error.lines().count() == 1 && error.len() < 300, "{error}");
        assert!(!check(text).is_empty());
    }
}

#[test]
fn assumptions_add_prices_and_are_listed() {
    let mut target = Target::parse(SMALL, "small.toml").expect("parses");
    let assumed = r#"
        [price."mem.write"]
        cpu = { cycles = 2, spacing = { mark = "mem", cycles = 4 } }
        ram = 2.25
        sets = ["mem"]
        source = "a guess"
        [price.insn]
        cpu = 3
    "#;
    assert!(target.cost_model(&["mem.write".into()]).is_err());
    let assumptions = target.apply_assumptions(assumed, "guess.toml").expect("valid");
    let sentences: Vec<&str> = assumptions.iter().map(|a| a.sentence.as_str()).collect();
    assert_eq!(
        sentences,
        [
            "`insn` costs 3 cycles on cpu, not the target's 1 (guess.toml)",
            "`mem.write` costs 2 cycles on cpu, ending at least 4 after the last \
             `mem` (guess.toml: a guess)",
            "`mem.write` costs 2.25 cycles on ram (guess.toml: a guess)",
        ]
    );
    let classes: Vec<&str> = assumptions.iter().map(|a| a.class.as_str()).collect();
    assert_eq!(classes, ["insn", "mem.write", "mem.write"]);
    let model = target.cost_model(&["mem.write".into(), "insn".into()]).expect("priced now");
    let mut cost = model.zero();
    let context = model.step(model.start(), 0, &mut cost);
    let context = model.step(context, 0, &mut cost);
    model.step(context, 1, &mut cost);
    assert_eq!(cost.as_slice(), [2 + 4 + 3, 4_500_000_000]);
}

#[test]
fn an_assumption_for_one_component_keeps_the_rest_of_the_price() {
    let mut target = Target::parse(SMALL, "small.toml").expect("parses");
    target.apply_assumptions("[price.\"mem.read\"]\nram = 5", "a.toml").expect("valid");
    let model = target.cost_model(&["mem.read".into()]).expect("priced");
    let mut cost = model.zero();
    let context = model.step(model.start(), 0, &mut cost);
    model.step(context, 0, &mut cost);
    assert_eq!(cost.as_slice(), [2 + 9, 10_000_000_000]);
}

#[test]
fn bad_assumptions_change_nothing() {
    let original = Target::parse(SMALL, "small.toml").expect("parses");
    let cases = [
        ("[price.insn]\ncpu = -1", "`price.insn.cpu` must be between 0"),
        ("[price.insn]\ncpu = \"1\"", "`price.insn.cpu` must be a whole number"),
        ("[price.insn]\ngpu = 1", "`price.insn` has no price (and 1 more problem)"),
        ("[price.insn]\nram = 1", "component ram does not serve this class"),
        ("[prices.insn]\ncpu = 1", "`price` is missing"),
        ("price = 3", "`price` must be a table"),
        ("[price.ok]\ncpu = 1\n[price.bad]\ncpu = { cycles = 1, spacing = 2 }", "must be a table"),
    ];
    for (text, expected) in cases {
        let mut target = original.clone();
        let error = target.apply_assumptions(text, "a.toml").expect_err(text).to_string();
        assert!(error.starts_with("a.toml:") && error.contains(expected), "{text}: {error}");
        assert_eq!(target, original);
    }
}
