//! Tests that the kernel ends runs of a path at the requested instruction, and that the pieces of
//! the path add up to the whole path.

use crate::support;

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
use support::{example, kernel, program_number, timing_thread, witness};

fn packet() -> Vec<u8> {
    support::packet(17, [12345, 53], 124)
}

/// Returns the indices of the instructions that the interpreter executes for the test packet, in
/// order.
fn trace(kernel: &Kernel, object: &Object, number: usize) -> Vec<usize> {
    let mut replay = Replay::new(kernel, object, number).expect("loads");
    let step = replay.run(&packet(), &Context::default()).unwrap_or_else(|e| panic!("{e}"));
    step.run.costs.iter().map(|cost| cost.insn.index()).collect()
}

/// Runs a program that may end early at the instructions `places`. It ends at `places[at]`, or runs
/// to its end if `at` is `None`. Returns the number of executed instructions and the return value.
fn counted(
    kernel: &Kernel,
    (object, number): (&Object, usize),
    places: &[usize],
    at: Option<usize>,
) -> Result<(u64, u32), LoadError> {
    let (counted, selector) = kernel.load_cuttable_counted(object, number, &[], places)?;
    selector.select(counted.loaded(), at).expect("can be written");
    let (run, tally) =
        counted.run_repeated(&packet(), &Context::default(), 1).expect("the kernel runs it");
    Ok((tally.instructions, run.return_value))
}

/// Returns the possible exit points that the path passes exactly once. Each pair contains the
/// number of instructions before the point, and the index of the instruction at the point.
fn passed_once(program: &BpfProgram, trace: &[usize]) -> Vec<(usize, usize)> {
    let places = exit_points(program);
    let once = |slot: usize| trace.iter().filter(|&&other| other == slot).count() == 1;
    let points = trace.iter().enumerate().filter(|(_, slot)| places[**slot] && once(**slot));
    points.map(|(before, &slot)| (before, slot)).collect()
}

#[test]
fn paths_end_at_their_cut() {
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
    let witness = witness(&packet(), &json!({}), &json!([]));
    let case = support::prepare(timing_thread, kernel, (object, number), witness);
    Arc::new(case.unwrap_or_else(|e| panic!("{e}")))
}

fn calls(stretches: &Stretches) -> Vec<&str> {
    stretches.stretches.iter().filter_map(|stretch| stretch.call.as_deref()).collect()
}

#[test]
fn stretches_cover_the_path_and_can_be_timed() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let mut compared = 0;
    for name in ["firewall", "flow_monitor", "dns_cache", "tunnel", "count_min.8", "path_explosion"]
    {
        let case = case(&timing_thread, &kernel, &example(name), 0);
        let path =
            case.stretches(&timing_thread, &kernel).unwrap_or_else(|e| panic!("{name}: {e}"));
        let parts = &path.stretches;
        let instructions: usize = parts.iter().map(|part| part.instructions).sum();
        assert_eq!(instructions as u64, case.instructions(), "{name}");
        assert_eq!(parts[0].from, 0, "{name}");
        for pair in parts.windows(2) {
            assert_eq!(pair[0].to, Some(pair[1].from), "{name}");
            assert!(pair[0].queries < pair[1].queries || pair[1].to.is_none(), "{name}");
        }
        assert_eq!(parts.last().expect("there is one").to, None, "{name}");
        assert!(parts.len() > 2, "{name}: {:?}", path.uncut);
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
fn calls_have_separate_stretches() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let object = example("flow_monitor");
    let path = case(&timing_thread, &kernel, &object, 0)
        .stretches(&timing_thread, &kernel)
        .expect("is cut");
    let called = calls(&path);
    assert!(called.contains(&"bpf_map_lookup_elem"), "{called:?}");
    assert!(called.contains(&"bpf_map_update_elem"), "{called:?}");
    let program = object.link(0, None).expect("links");
    for stretch in path.stretches.iter().filter(|stretch| stretch.call.is_some()) {
        assert!(matches!(program.insns[stretch.from], Insn::Call(_)), "{stretch:?}");
        assert!(stretch.source.is_some());
    }
}

#[test]
fn paths_are_not_cut_under_a_lock() {
    let Some((timing_thread, kernel)) = timing_thread() else { return };
    let object = support::features();
    let case = case(&timing_thread, &kernel, &object, program_number(&object, "spin_lock"));
    let path = case.stretches(&timing_thread, &kernel).expect("is cut");
    assert!(!path.uncut.is_empty());
    let instructions: usize = path.stretches.iter().map(|part| part.instructions).sum();
    assert_eq!(instructions as u64, case.instructions());
}
