use crate::{Target, Unit, check};

fn text() -> &'static str {
    Target::builtin_text("linux-xdp").unwrap()
}

/// Returns the problems of the built-in target description in which `by` replaces the first line
/// that starts with `line`.
fn with(line: &str, by: &str) -> Vec<String> {
    let number = text().lines().position(|original| original.starts_with(line)).unwrap();
    let lines = text().lines().enumerate();
    let changed: Vec<&str> =
        lines.map(|(at, original)| if at == number { by } else { original }).collect();
    check(&changed.join("\n"))
}

#[test]
fn numbers_are_thousandths_of_a_cycle() {
    let changed =
        text().replacen("[timing.call]\n", "[timing.call]\n\"a\" = { cycles = 1.5 }\n", 1);
    let timing = Target::parse(&changed, "x.toml").unwrap().timing.unwrap();
    let call = timing.call("a.hash.new").unwrap();
    assert_eq!((call.cycles, call.zero_cycles, call.byte_cycles), (1500, None, 0));
    // A billionth of the clock frequency is the number of cycles in a nanosecond.
    assert_eq!(timing.picoseconds(timing.clock_hz / 1_000_000), 1_000);
    assert!(timing.unit(Unit::Multiply).latency > timing.unit(Unit::Alu).latency);
}

#[test]
fn a_pipeline_is_optional_but_complete() {
    let with = |more: &str| Target::parse(&format!("{}\n{more}", text()), "x.toml");
    assert_eq!(with("").unwrap().timing.unwrap().pipeline, None);
    let fetch = "[timing.pipeline]\nfetch_cycles = 0.125\nfetch_queue = 64\n";
    let complete = format!("{fetch}move_latency_cycles = 1\nloop_stall_cycles = 13\n");
    let pipeline = with(&complete).unwrap().timing.unwrap().pipeline.unwrap();
    assert_eq!((pipeline.fetch_cycles, pipeline.move_latency, pipeline.calls), (125, 1000, None));
    assert_eq!(pipeline.loop_stall, 13_000);
    let calls = format!("{complete}[timing.pipeline.calls]\nresult_share = 2\nresult_cycles = 8\n");
    let calls = format!("{calls}instructions = 4\n");
    let overlap = with(&calls).unwrap().timing.unwrap().pipeline.unwrap().calls.unwrap();
    assert_eq!((overlap.instructions, overlap.result_share), (4000, 2000));
    for (wrong, what) in [
        (fetch.to_owned(), "`timing.pipeline.move_latency_cycles` is missing"),
        (format!("{complete}[timing.pipeline.calls]\n"), "`timing.pipeline.calls.instructions`"),
        (format!("{complete}depth = 1\n"), "unknown key `timing.pipeline.depth`"),
    ] {
        let problems = check(&format!("{}\n{wrong}", text()));
        assert!(problems.iter().any(|problem| problem.contains(what)), "{wrong}: {problems:?}");
    }
}

#[test]
fn times_of_calls_depend_on_map_result_and_size() {
    let timing = Target::parse(text(), "x.toml").unwrap().timing.unwrap();
    let call = timing.call("map_lookup_elem.hash").unwrap();
    assert!(call.cycles(Some(true), 8) < call.cycles(Some(false), 8));
    assert_eq!(call.cycles(None, 8), call.cycles(Some(false), 8));
    assert!(call.cycles(None, 8) < call.cycles(None, 16));
    assert!(call.max_cycles() >= call.cycles(None, 40));
    assert!(timing.call("no_such_helper").is_none());
}

#[test]
fn errors_name_the_key() {
    for (line, by, what) in [
        ("clock_hz", "clock_hz = 0", "timing.clock_hz"),
        ("window", "window = 0", "timing.core.window"),
        ("taken_cycles", "taken_cycles = -1", "timing.core.taken_cycles"),
        ("taken_cycles", "", "`timing.core.taken_cycles` is missing"),
        ("loop_cycles", "loop_cycles = 1e12", "must not be above"),
        ("low = ", "low = 1.5", "`low` is at most 1"),
        ("unknown_call_cycles", "unknown_cycles = 1", "timing.unknown_cycles"),
        ("[timing.unit.store]", "[timing.unit.stores]", "timing.unit.store"),
        ("instruction_set", "instruction_set = \"nfp\"", "`timing` needs BPF instructions"),
        ("name = \"memory accesses\"", "name = \"ns\"", "\"ns\" is taken already"),
    ] {
        let problems = with(line, by);
        assert!(problems.iter().any(|problem| problem.contains(what)), "{by}: {problems:?}");
    }
}
