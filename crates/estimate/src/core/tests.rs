use super::*;
use crate::growth::Occupancy;
use proptest::prelude::*;
use slowpath_target::Target;
use std::fmt::Write as _;

/// Returns the timing of a simple core: 4 instructions per cycle, a test-run loop of 100 cycles.
fn timing() -> Timing {
    described(64, "")
}

/// Returns the timing of the same core as [`timing`], plus the section `pipeline` of newer
/// calibrations, with which a kernel call overlaps the instructions around it.
fn pipelined() -> Timing {
    described(512, PIPELINE)
}

const PIPELINE: &str = "[timing.pipeline]\nfetch_cycles = 0.125\nfetch_queue = 64\n\
     move_latency_cycles = 1\nloop_stall_cycles = 13\n\
     [timing.pipeline.calls]\ninstructions = 4\nresult_share = 2\nresult_cycles = 8\n";

fn described(window: u32, more: &str) -> Timing {
    described_with_loop(window, 100, more)
}

fn described_with_loop(window: u32, loop_cycles: u32, more: &str) -> Timing {
    let text = Target::builtin_text("linux-xdp").unwrap();
    let head = text.split("[timing]").next().unwrap();
    let mut tables = String::from(
        "[timing]\nmachine = \"a core\"\ndate = \"2026-01-01\"\nclock_hz = 1_000_000_000\n\
         unknown_call_cycles = 50\n[timing.core]\ninstruction_cycles = 0.25\nmove_cycles = 0.25\n\
         constant_cycles = 0.5\nbranch_cycles = 0.25\ntaken_cycles = 1\nfunction_cycles = 20\n\
         forward_cycles = 2\npieces_cycles = 10\nloop_cycles = 100\nloop_instructions = 0\n[timing.call]\n\"ktime_get_ns\" = { cycles = 70 }\n\
         \"map_lookup_elem.hash\" = { cycles = 60, zero_cycles = 40, byte_cycles = 0.5 }\n\
         [timing.error]\nlow = 0.9\nhigh = 1.1\n",
    );
    for (unit, latency, interval) in [
        ("alu", 1, "0.25"),
        ("shift", 1, "0.5"),
        ("multiply", 3, "1"),
        ("divide", 10, "10"),
        ("load", 4, "0.5"),
        ("store", 1, "1"),
        ("atomic", 7, "7"),
        ("branch", 1, "0.5"),
    ] {
        let _ = write!(
            tables,
            "[timing.unit.{unit}]\nlatency_cycles = {latency}\ninterval_cycles = {interval}\n\
             queue = 16\n"
        );
    }
    let core = "loop_instructions = 0\n";
    let tables = tables.replace(core, &format!("{core}window = {window}\n"));
    let tables = tables.replace("loop_cycles = 100\n", &format!("loop_cycles = {loop_cycles}\n"));
    Target::parse(&format!("{head}{tables}{more}"), "test.toml").unwrap().timing.unwrap()
}

/// Returns the number of cycles that a path adds to an iteration of the kernel's test-run loop.
fn cycles(path: &Path) -> f64 {
    cycles_on(&timing(), path)
}

fn cycles_on(timing: &Timing, path: &Path) -> f64 {
    let flow = path.time(timing, Occupancy::Few);
    assert_eq!(flow.parts.iter().sum::<u64>(), flow.iteration - flow.empty);
    (flow.iteration - flow.empty) as f64 / 1000.0
}

fn path(steps: &[String], calls: &str) -> Path {
    Path::from_json(&format!("{{\"steps\":[{}],\"calls\":[{calls}]}}", steps.join(","))).unwrap()
}

/// Returns a path of `count` instructions of the execution unit `unit`. If `dependent` is true,
/// each instruction reads the result of the previous one.
fn chain(unit: &str, count: usize, dependent: bool) -> Path {
    let reads = if dependent { "[1]" } else { "[]" };
    let step = format!("[\"{unit}\",{reads},1,false,null,null]");
    path(&vec![step; count], "")
}

/// Returns the cycles per instruction of an execution unit: the difference between paths of 1,100
/// and 1,000 instructions, divided by 100. The costs of a path's start and end cancel out.
fn each(unit: &str, dependent: bool) -> f64 {
    (cycles(&chain(unit, 1100, dependent)) - cycles(&chain(unit, 1000, dependent))) / 100.0
}

#[test]
fn instructions_that_wait_for_each_other_take_their_latency() {
    assert_eq!(each("alu", true), 1.0);
    assert_eq!(each("multiply", true), 3.0);
    assert_eq!(each("divide", true), 10.0);
}

#[test]
fn others_take_what_the_core_or_the_unit_allows() {
    assert_eq!(each("alu", false), 0.25);
    assert_eq!(each("shift", false), 0.5);
    assert_eq!(each("multiply", false), 1.0);
    assert_eq!(each("renamed", false), 0.25);
    assert_eq!(each("constant", false), 0.5);
}

#[test]
fn few_that_wait_hide_behind_the_loop() {
    // Sixteen instructions wait in their queue while the loop continues.
    assert_eq!(cycles(&chain("multiply", 10, true)), 2.5);
    assert!(cycles(&chain("multiply", 200, true)) > 400.0);
}

#[test]
fn an_empty_path_takes_nothing() {
    let none = path(&[], "");
    assert!(none.is_empty());
    assert_eq!(cycles(&none), 0.0);
}

#[test]
fn calls_take_what_is_known_of_them() {
    let call = "[\"call\",[],0,false,null,0]".to_owned();
    let with = |calls: &str| cycles(&path(std::slice::from_ref(&call), calls));
    assert_eq!(with("[\"ktime_get_ns\",0,null]"), 70.25);
    assert_eq!(with("[\"map_lookup_elem.hash\",8,false]"), 64.25);
    assert_eq!(with("[\"map_lookup_elem.hash\",8,true]"), 44.25);
    let unknown = path(&[call], "[\"redirect\",0,null]");
    let flow = unknown.time(&timing(), Occupancy::Few);
    assert_eq!((flow.iteration - flow.empty, flow.unknown), (50_250, vec![0]));
}

#[test]
fn what_was_stored_in_pieces_is_loaded_later() {
    let store = |_| "[\"store\",[10,2],null,false,null,null]".to_owned();
    let load = |forwarded: &str| {
        let mut steps: Vec<String> = (0..2).map(store).collect();
        for _ in 0..200 {
            // Each address depends on the previous load.
            steps.push(format!("[\"load\",[1],1,false,{forwarded},null]"));
        }
        cycles(&path(&steps, ""))
    };
    let (other, whole, pieces) = (load("null"), load("[1,false]"), load("[1,true]"));
    assert!(whole < other, "{whole} {other}");
    assert!(pieces >= other + 5.0, "{pieces} {other}");
}

#[test]
fn a_jump_that_is_taken_costs_more() {
    let branch = |taken: bool| {
        let step = format!("[\"branch\",[1],null,{taken},null,null]");
        cycles(&path(&vec![step; 400], ""))
    };
    // A branch occupies its unit for half a cycle; after a jump, the next one waits longer.
    let more = branch(true) - branch(false);
    assert!((300.0..310.0).contains(&more), "{more}");
}

/// Returns the number of cycles that each repetition of the instructions `steps` adds to a long
/// path.
fn repeated(timing: &Timing, steps: &[&str], calls: &str) -> f64 {
    let of = |count: usize| {
        let steps: Vec<String> = steps.repeat(count).into_iter().map(str::to_owned).collect();
        cycles_on(timing, &path(&steps, calls))
    };
    (of(60) - of(40)) / 20.0
}

#[test]
fn an_atomic_operation_waits_until_all_before_it_are_done() {
    // Three dependent products of 3 cycles each, and an independent atomic operation of 7 cycles.
    let steps = [
        "[\"multiply\",[1],1,false,null,null]",
        "[\"multiply\",[1],1,false,null,null]",
        "[\"multiply\",[1],1,false,null,null]",
        "[\"atomic\",[2],3,false,null,null]",
    ];
    assert_eq!(repeated(&timing(), &steps, ""), 9.0);
    // The products overlap with the atomic operation, except those that depend on other products.
    let locked = repeated(&pipelined(), &steps, "");
    assert!((9.0..=16.5).contains(&locked), "{locked}");
    let alone = repeated(&pipelined(), &steps[3..], "");
    assert!((7.0..7.5).contains(&alone), "{alone}");
}

#[test]
fn calls_overlap_where_returns_are_predicted() {
    let call = "[\"call\",[],0,false,null,0]";
    let hash = "[\"map_lookup_elem.hash\",0,false]";
    // Instructions that do not depend on the call's result overlap with the call.
    let free = [call, "[\"alu\",[2],3,false,null,null]"];
    assert_eq!(repeated(&timing(), &free, hash), 60.5);
    assert_eq!(repeated(&pipelined(), &free, hash), 60.5);
    // The argument of each call is the result of the previous call, so calls cannot overlap. They
    // take twice as long plus 8 cycles.
    let chained = [call, "[\"renamed\",[0],1,false,null,null]"];
    assert_eq!(repeated(&timing(), &chained, hash), 60.5);
    let waiting = repeated(&pipelined(), &chained, hash);
    assert!((128.0..131.0).contains(&waiting), "{waiting}");
}

#[test]
fn a_call_waits_for_the_key_that_was_stored() {
    let with = |forwarded: &str| {
        let mut steps: Vec<String> = vec!["[\"multiply\",[1],1,false,null,null]".into(); 100];
        steps.push("[\"store\",[10,1],null,false,null,null]".into());
        steps.push(format!("[\"call\",[],0,false,{forwarded},0]"));
        steps.push("[\"atomic\",[0],2,false,null,null]".into());
        cycles_on(&pipelined(), &path(&steps, "[\"map_lookup_elem.hash\",0,false]"))
    };
    assert!(with("[100,false]") >= with("null"));
}

#[test]
fn a_key_in_pieces_makes_its_call_wait() {
    let call = |pieces: bool| {
        let steps = [
            "[\"store\",[10,1],null,false,null,null]".to_owned(),
            format!("[\"call\",[],0,false,[0,{pieces}],0]"),
        ];
        move |timing: &Timing| {
            cycles_on(timing, &path(&steps, "[\"map_lookup_elem.hash\",0,false]"))
        }
    };
    let (whole, pieces) = (call(false), call(true));
    assert_eq!(pieces(&pipelined()) - whole(&pipelined()), 10.0);
    // Older calibrations included this delay in the prices of calls.
    assert_eq!(pieces(&timing()), whole(&timing()));
}

#[test]
fn a_look_up_in_an_empty_trie_reads_no_key() {
    let with = |call: &str, occupancy| {
        let steps = [
            "[\"store\",[10,1],null,false,null,null]".to_owned(),
            "[\"call\",[],0,false,[0,true],0]".to_owned(),
        ];
        let flow = path(&steps, call).time(&pipelined(), occupancy);
        flow.iteration
    };
    let misses = "[\"map_lookup_elem.lpm_trie\",8,true]";
    let hits = "[\"map_lookup_elem.lpm_trie\",8,false]";
    // Loading the key in pieces takes 10 cycles.
    let one = Occupancy::Entries(1);
    assert_eq!(with(misses, one) - with(misses, Occupancy::Few), 10_000);
    assert_eq!(with(hits, one), with(hits, Occupancy::Few));
    let hash = "[\"map_lookup_elem.hash\",8,true]";
    assert_eq!(with(hash, one), with(hash, Occupancy::Few));
}

#[test]
fn an_atomic_operation_does_not_hide_behind_the_loop() {
    // The loop stalls all the time, and an atomic operation adds its 7 cycles to the stall.
    let stalls = described(
        512,
        "[timing.pipeline]\nfetch_cycles = 0.125\nfetch_queue = 64\nmove_latency_cycles = 1\n\
         loop_stall_cycles = 120\n",
    );
    let steps = ["[\"atomic\",[2],3,false,null,null]".to_owned()];
    let added = cycles_on(&stalls, &path(&steps, ""));
    assert!((7.0..7.5).contains(&added), "{added}");
    // Additions overlap with the stall.
    let sums = vec!["[\"alu\",[],2,false,null,null]".to_owned(); 40];
    let added = cycles_on(&stalls, &path(&sums, ""));
    assert!((0.0..6.0).contains(&added), "{added}");
}

#[test]
fn jumps_are_hidden_while_fetching_is_ahead() {
    let some = |every: usize| {
        let step =
            |at: usize| format!("[\"branch\",[1],null,{},null,null]", at.is_multiple_of(every));
        let steps: Vec<String> = (0..400).map(step).collect();
        cycles_on(&pipelined(), &path(&steps, ""))
    };
    // Eight instructions are fetched per cycle, but only two are executed.
    assert_eq!(some(40), some(401));
    assert!(some(1) > some(401) + 150.0, "{} {}", some(1), some(401));
}

#[test]
fn the_same_path_takes_the_same_time_each_time() {
    let one = chain("load", 500, true);
    assert_eq!(one.time(&timing(), Occupancy::Few), one.time(&timing(), Occupancy::Few));
}

/// Simulates every iteration of the test-run loop, without the shortcut for core states that occur
/// again. Returns the mean time of the iterations after the warm-up.
fn simulated(path: &Path, timing: &Timing, prices: &Prices, parts: &mut [u64]) -> u64 {
    let is_followed = timing.pipeline.is_some();
    let (warm, counted) = if is_followed { (WARM, MEAN_OF) } else { (TURNS, 1) };
    let mut core = Core::new(timing);
    (0..warm).for_each(|_| core.turn(path, prices, parts));
    let (fetched, retired) = (core.fetched, core.retired);
    (0..counted).for_each(|_| core.turn(path, prices, parts));
    let retiring = if is_followed { core.retired - retired } else { 0 };
    (core.fetched - fetched).max(retiring) / counted
}

/// Returns a strategy for an instruction of a path in JSON, at any position after the first.
fn any_step() -> impl Strategy<Value = String> {
    let units = ["alu", "shift", "multiply", "divide", "load", "store", "atomic", "branch"];
    let other = ["renamed", "constant", "function"];
    let work = prop::sample::select([&units[..], &other[..]].concat());
    let register = || prop::option::of(0..11u8);
    (work, register(), register(), any::<bool>(), any::<bool>()).prop_map(
        |(work, read, written, jumps, pieces)| {
            let read = read.map_or(String::new(), |register| register.to_string());
            let written = written.map_or("null".to_owned(), |register| register.to_string());
            // The first step is a store.
            let from = if work == "load" { format!("[0,{pieces}]") } else { "null".to_owned() };
            format!("[\"{work}\",[{read}],{written},{jumps},{from},null]")
        },
    )
}

proptest! {
    #[test]
    fn iterations_that_repeat_need_no_simulation(
        steps in prop::collection::vec(any_step(), 0..200),
        repeated in 1..20usize,
        calls in prop::collection::vec(0..300usize, 0..3),
        (window, loop_cycles) in (1..600u32, 1..100u32),
    ) {
        let mut all = vec!["[\"store\",[10,2],null,false,null,null]".to_owned()];
        all.extend(std::iter::repeat_n(steps, repeated).flatten());
        for at in calls {
            let call = "[\"call\",[],0,false,[0,false],0]".to_owned();
            all.insert(1 + at % all.len(), call);
        }
        let path = path(&all, "[\"map_lookup_elem.hash\",8,null]");
        let built_in = |name| Target::builtin_text(name).unwrap();
        let zen4 = Target::parse(built_in("linux-xdp-zen4"), "x.toml").unwrap().timing.unwrap();
        let pipelined = |more: &str| {
            let pipeline = PIPELINE.replace("loop_stall_cycles = 13", more);
            described_with_loop(window, loop_cycles, &pipeline)
        };
        let few = pipelined("loop_stall_cycles = 0");
        let plain = described_with_loop(window, loop_cycles, "");
        for timing in [plain, few, pipelined("loop_stall_cycles = 13"), zen4] {
            let prices = path.prices(&timing, Occupancy::Few, 0);
            let (mut parts, mut others) = (vec![0; path.len()], vec![0; path.len()]);
            let time = path.steady(&timing, &prices, &mut parts);
            prop_assert_eq!(time, simulated(&path, &timing, &prices, &mut others));
            prop_assert_eq!(parts, others);
            let idle = Path::new(&crate::Code::default(), []);
            prop_assert_eq!(
                idle.steady(&timing, &Prices::default(), &mut []),
                simulated(&idle, &timing, &Prices::default(), &mut [])
            );
        }
    }
}

/// Valid and invalid numbers, with which tests replace numbers in a target description.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "0.001",
    "4096",
    "999_999.999",
    "1000000",
    "1e12",
    "1e300",
    "-1e300",
    "5e-324",
    "9223372036854775807",
    "18446744073709551616",
    "nan",
    "inf",
    "-inf",
];

/// Returns the built-in target description with some numbers after `[timing]` replaced. Each change
/// consists of the index of a number and its new text.
fn changed(changes: &[(prop::sample::Index, &str)]) -> String {
    let text = Target::builtin_text("linux-xdp").unwrap();
    let (head, timing) = text.split_once("[timing]").unwrap();
    let mut words: Vec<String> =
        timing.split_inclusive([' ', '[', ']', ',', '\n']).map(str::to_owned).collect();
    let is_number =
        |word: &str| word.trim_end_matches([' ', ']', ',', '\n']).parse::<f64>().is_ok();
    let numbers: Vec<usize> = (0..words.len()).filter(|&at| is_number(&words[at])).collect();
    for (place, by) in changes {
        let word = &mut words[*place.get(&numbers)];
        let end = word.trim_end_matches([' ', ']', ',', '\n']).len();
        word.replace_range(..end, by);
    }
    format!("{head}[timing]{}", words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whatever_a_description_says_there_are_times_or_it_is_refused(
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(&NUMBERS[..])), 1..6),
        occupancy in prop::sample::select(vec![
            Occupancy::Few,
            Occupancy::Full,
            Occupancy::Entries(1),
            Occupancy::Entries(1000),
            Occupancy::Entries(u64::MAX),
        ]),
    ) {
        let Ok(target) = Target::parse(&changed(&changes), "x.toml") else { return Ok(()) };
        let timing = target.timing.unwrap();
        for model in timing.models.values() {
            for x in [0.0, 1.0, 1.5, 1e9, model.range().0, model.range().1] {
                prop_assert!(model.at(x).is_none_or(f64::is_finite));
            }
        }
        let calls: Vec<String> = timing.calls.keys().cloned().collect();
        let steps: Vec<String> =
            (0..calls.len()).map(|at| format!("[\"call\",[1],0,true,null,{at}]")).collect();
        let named: Vec<String> =
            calls.iter().map(|name| format!("[\"{name}\",4294967295,null]")).collect();
        for path in [path(&steps, &named.join(",")), chain("load", 50, true), chain("alu", 50, false)] {
            let flow = path.time(&timing, occupancy);
            prop_assert!(flow.iteration >= flow.empty);
            prop_assert!(timing.picoseconds(flow.iteration) < u64::MAX);
        }
        let full = crate::code::with_maps(&[("hash", u32::MAX, u32::MAX), ("array", 2, 1)]);
        for name in calls {
            crate::picoseconds(&format!("call.{name}"), &timing, &full, occupancy);
        }
    }
}
