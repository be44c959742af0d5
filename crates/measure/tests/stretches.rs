//! Paths end where they are cut, confirmed by the kernel's counts; stretches add up to the path.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use slowpath_bpf::insn::Insn;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_kernel::early_exit::{CHECK_INSNS, EXIT_ACTION, EXIT_INSNS, exit_points};
use slowpath_kernel::timing::TimingThread;
use slowpath_kernel::{Context, Kernel, LoadError};
use slowpath_measure::{Case, Load, Stretches};
use slowpath_oracle::Oracle;
use slowpath_replay::Replay;

fn kernel() -> Option<Arc<Kernel>> {
    Kernel::available().map(Arc::new).map_err(|reason| Oracle::Kernel.missing(reason)).ok()
}

fn object(below: &str) -> Arc<Object> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(below);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Arc::new(Object::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

fn example(name: &str) -> Arc<Object> {
    object(&format!("examples/{name}.bpf.o"))
}

/// Builds a UDP packet over IPv4.
fn packet() -> Vec<u8> {
    let mut packet = vec![2; 12];
    packet.extend([8, 0, 0x45, 0, 0, 110, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x30, 0x39, 0, 53, 0, 90, 0, 0]);
    packet.resize(124, 0);
    packet
}

/// Returns the slots of the executed instructions, from the interpreter, which agrees with the
/// kernel.
fn trace(kernel: &Kernel, object: &Object, number: usize) -> Vec<usize> {
    let mut replay = Replay::new(kernel, object, number).expect("loads");
    let step = replay.run(&packet(), &Context::default()).unwrap_or_else(|e| panic!("{e}"));
    step.run.costs.iter().map(|cost| cost.insn.index()).collect()
}

/// Counts the instructions of a program that can end at these places, and ends at one of them.
fn counted(
    kernel: &Kernel,
    (object, number): (&Object, usize),
    places: &[usize],
    at: Option<usize>,
) -> Result<(u64, u32), LoadError> {
    let (counted, switch) = kernel.load_cuttable_counted(object, number, &[], places)?;
    switch.select(counted.loaded(), at).expect("can be written");
    let (run, tally) =
        counted.run_repeated(&packet(), &Context::default(), 1).expect("the kernel runs it");
    Ok((tally.instructions, run.return_value))
}

/// Returns the places that the path passes once, each after the number of instructions before it.
fn passed_once(program: &BpfProgram, trace: &[usize]) -> Vec<(usize, usize)> {
    let places = exit_points(program);
    let once = |slot: usize| trace.iter().filter(|&&other| other == slot).count() == 1;
    let points = trace.iter().enumerate().filter(|(_, slot)| places[**slot] && once(**slot));
    points.map(|(before, &slot)| (before, slot)).collect()
}

#[test]
fn a_path_ends_where_it_is_cut() {
    let Some(kernel) = kernel() else { return };
    let mut compared = 0;
    for name in ["firewall", "dns_cache", "tunnel", "count_min.8", "header_parser", "ddos_filter"] {
        let object = example(name);
        let trace = trace(&kernel, &object, 0);
        let program = object.link(0, None).expect("links");
        let points = passed_once(&program, &trace);
        assert!(points.len() > 5, "{name}");
        let points: Vec<(usize, usize)> =
            points.iter().step_by(points.len().div_ceil(20)).copied().collect();
        let places: Vec<usize> = points.iter().map(|&(_, slot)| slot).collect();
        for (number, &(before, slot)) in points.iter().enumerate() {
            let taken = counted(&kernel, (&object, 0), &places, Some(number));
            let taken = taken.unwrap_or_else(|e| panic!("{name}: {e}"));
            let expected = before as u64 + CHECK_INSNS * (number as u64 + 1) + EXIT_INSNS;
            assert_eq!(taken, (expected, EXIT_ACTION), "{name}, cut at {slot}");
            compared += 1;
        }
        let whole = counted(&kernel, (&object, 0), &places, None).expect("loads").0;
        assert_eq!(whole, trace.len() as u64 + CHECK_INSNS * places.len() as u64, "{name}");
    }
    Oracle::Kernel.compared(compared, "cut paths");
}

fn case(
    timing_thread: &TimingThread,
    kernel: &Arc<Kernel>,
    object: &Arc<Object>,
    number: usize,
) -> Arc<Case> {
    let digits: String = packet().iter().map(|byte| format!("{byte:02x}")).collect();
    let witness = json!({"packet": digits, "maps": {}, "unknowns": [], "environment": []});
    let case = Case::prepare(timing_thread, kernel, object, number, witness, None);
    Arc::new(case.unwrap_or_else(|e| panic!("{e}")))
}

fn calls(stretches: &Stretches) -> Vec<&str> {
    stretches.stretches.iter().filter_map(|stretch| stretch.call.as_deref()).collect()
}

#[test]
fn stretches_are_the_whole_path_and_each_can_be_timed() {
    let Some(kernel) = kernel() else { return };
    let timing_thread = TimingThread::start(None).expect("starts");
    let mut compared = 0;
    for name in ["firewall", "flow_monitor", "dns_cache", "tunnel", "count_min.8", "path_explosion"]
    {
        let case = case(&timing_thread, &kernel, &example(name), 0);
        let cut = case.stretches(&timing_thread, &kernel).unwrap_or_else(|e| panic!("{name}: {e}"));
        let parts = &cut.stretches;
        let instructions: usize = parts.iter().map(|part| part.instructions).sum();
        assert_eq!(instructions as u64, case.instructions(), "{name}");
        assert_eq!(parts[0].from, 0, "{name}");
        for pair in parts.windows(2) {
            assert_eq!(pair[0].to, Some(pair[1].from), "{name}");
            assert!(pair[0].queries < pair[1].queries || pair[1].to.is_none(), "{name}");
        }
        assert_eq!(parts.last().expect("there is one").to, None, "{name}");
        assert!(parts.len() > 2, "{name}: {:?}", cut.uncut);
        let cases = parts.iter().map(|part| Arc::clone(&part.case)).collect();
        let load = Arc::new(Load::new(&timing_thread, &kernel, cases).expect("loads"));
        // In any order: no case depends on the ones that ran before.
        for number in (0..parts.len()).chain((0..parts.len()).rev()) {
            let sample = load.sample(&timing_thread, number, 50).expect("runs");
            let ends = parts[number].to.is_some();
            let result = if ends { EXIT_ACTION } else { case.action() };
            assert_eq!(sample.return_value, result, "{name}, stretch {number}");
            compared += 1;
        }
    }
    Oracle::Kernel.compared(compared, "timed beginnings of paths");
}

#[test]
fn calls_are_stretches_of_their_own() {
    let Some(kernel) = kernel() else { return };
    let timing_thread = TimingThread::start(None).expect("starts");
    let object = example("flow_monitor");
    let cut = case(&timing_thread, &kernel, &object, 0)
        .stretches(&timing_thread, &kernel)
        .expect("is cut");
    let called = calls(&cut);
    assert!(called.contains(&"bpf_map_lookup_elem"), "{called:?}");
    assert!(called.contains(&"bpf_map_update_elem"), "{called:?}");
    let program = object.link(0, None).expect("links");
    for stretch in cut.stretches.iter().filter(|stretch| stretch.call.is_some()) {
        assert!(matches!(program.insns[stretch.from], Insn::Call(_)), "{stretch:?}");
        assert!(stretch.source.is_some());
    }
}

#[test]
fn where_a_program_holds_a_lock_it_is_not_cut() {
    let Some(kernel) = kernel() else { return };
    let timing_thread = TimingThread::start(None).expect("starts");
    let object = object("crates/kernel/tests/objects/features.bpf.o");
    let number = object.programs.iter().position(|program| program.name == "spin_lock");
    let case = case(&timing_thread, &kernel, &object, number.expect("it is there"));
    let cut = case.stretches(&timing_thread, &kernel).expect("is cut");
    assert!(!cut.uncut.is_empty());
    let instructions: usize = cut.stretches.iter().map(|part| part.instructions).sum();
    assert_eq!(instructions as u64, case.instructions());
}
