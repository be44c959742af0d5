use crate::{Target, check};

fn text() -> &'static str {
    Target::builtin_text("dpdk-swx").unwrap()
}

#[test]
fn times_are_picoseconds() {
    let price = "[interpreter.part]\n\"table.a.hit\" = { ns = 1.5, byte_ns = 0.25 }\n";
    let changed = text().replacen("[interpreter.part]\n", price, 1);
    let interpreter = Target::parse(&changed, "x.toml").unwrap().interpreter.unwrap();
    assert_eq!(interpreter.picoseconds("table.a.hit", 0), Some(1500));
    assert_eq!(interpreter.picoseconds("table.a.hit", 8), Some(3500));
    assert_eq!(interpreter.picoseconds("table.a.miss", 8), None);
    // Without a model, the effect of entries is not known.
    assert_eq!(interpreter.growth("table.a.hit", 1000), None);
}

#[test]
fn lookups_in_the_shipped_target_take_longer_with_more_entries() {
    let interpreter = Target::builtin("dpdk-swx").unwrap().unwrap().interpreter.unwrap();
    for part in ["table.exact.hit", "table.exact.miss", "table.wildcard.hit"] {
        assert!(interpreter.picoseconds(part, 4).is_some_and(|time| time > 10_000), "{part}");
        let growth = |entries| interpreter.growth(part, entries).unwrap();
        assert_eq!(growth(1), 0, "{part}");
        assert!(growth(1_000_000) > 5_000, "{part}");
        // Beyond the measured range, times grow further.
        assert!(growth(100_000_000) > growth(1_000_000), "{part}");
    }
}

#[test]
fn problems_have_the_key() {
    let with = |line: &str, by: &str| {
        let number = text().lines().position(|one| one.starts_with(line)).unwrap();
        let lines = text().lines().enumerate();
        let changed: Vec<&str> =
            lines.map(|(at, original)| if at == number { by } else { original }).collect();
        check(&changed.join("\n"))
    };
    for (line, by, what) in [
        ("software = ", "", "`interpreter.software` is missing"),
        ("empty_ns = ", "empty_ns = -1", "`interpreter.empty_ns`"),
        ("\"rx\" = ", "\"rx\" = { cycles = 3 }", "`interpreter.part.rx.ns` is missing"),
        ("low = ", "low = 1.5", "`interpreter.error`: `low` is at most 1"),
        ("instruction_set = ", "instruction_set = \"bpf\"", "`interpreter` needs pipelines"),
    ] {
        let problems = with(line, by);
        assert!(problems.iter().any(|problem| problem.contains(what)), "{by}: {problems:?}");
    }
}
