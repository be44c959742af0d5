//! Tests random programs that call several helpers one after the other, on the same maps and the
//! same packet.
//!
//! For each program, the kernel and the lifted program must have the same results for the same
//! packets. No packet may execute more instructions than the bound. With the packet and maps of a
//! witness, the kernel must execute exactly as many instructions as the witness states, unless the
//! path depends on something else.

use crate::support;

use std::time::{Duration, Instant};

use slowpath_generate::sequence::{Sequence, Sequences};
use slowpath_kernel::Kernel;
use support::kernel;
use support::pin::on_every_cpu;
use support::sequences::{check, features};
use support::tally::{Class, Tally, setting};

/// Number of programs. The environment variable `SLOWPATH_SEQUENCES` overrides it.
const PROGRAMS: u64 = 100;
/// A bound is computed only for every n-th program, where n is this number.
const BOUND_EVERY: u64 = 2;
/// Maximum number of steps for shrinking a failing program. A step can be slow, because the
/// interpreter may try all possible results of helpers.
const SHRINKING_STEPS: usize = 150;
/// Maximum time for shrinking a failing program.
const SHRINKING_TIME: Duration = Duration::from_secs(20);

/// Shrinks the failing random program of the seed `seed`. Returns a text with the smallest program
/// that fails in the same way, and with its failure.
fn shrink(kernel: &Kernel, sequences: &Sequences, seed: u64, class: Class) -> String {
    let mut tree = sequences.tree_from_seed(seed);
    let fault = |sequence: &Sequence| {
        let result = check(kernel, sequence, seed, true, &mut Tally::default());
        result.err().filter(|(found, _)| *found == class).map(|(_, fault)| fault)
    };
    let mut smallest_case = fault(&tree.current()).map(|fault| (tree.current(), fault));
    let mut is_changed = tree.simplify();
    let start = Instant::now();
    for _ in 0..SHRINKING_STEPS {
        if !is_changed || start.elapsed() > SHRINKING_TIME {
            break;
        }
        let sequence = tree.current();
        is_changed = match fault(&sequence) {
            Some(fault) => {
                smallest_case = Some((sequence, fault));
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    smallest_case.map_or_else(String::new, |(sequence, fault)| format!("{fault}\n{sequence}"))
}

fn worker(kernel: &Kernel, number: usize, workers: usize, seeds: (u64, u64)) -> Tally {
    let sequences = Sequences::new(features());
    let mut tally = Tally::default();
    for seed in (seeds.0 + number as u64..seeds.0 + seeds.1).step_by(workers) {
        let sequence = sequences.from_seed(seed);
        let bound = (seed / workers as u64).is_multiple_of(BOUND_EVERY);
        if let Err((class, fault)) = check(kernel, &sequence, seed, bound, &mut tally) {
            let first = !tally.faults.contains_key(&class);
            let smallest_case =
                if first { shrink(kernel, &sequences, seed, class) } else { String::new() };
            tally.fault(class, format!("program {seed}: {fault}\n{sequence}{smallest_case}"));
        }
    }
    tally
}

#[test]
fn kernel_and_engine_agree_on_sequences_of_calls() {
    let Some(kernel) = kernel() else { return };
    let seeds = (setting("SLOWPATH_FIRST_SEED", 0), setting("SLOWPATH_SEQUENCES", PROGRAMS));
    let mut tally = Tally::default();
    for part in on_every_cpu(|number, workers| worker(&kernel, number, workers, seeds)) {
        tally.add(part);
    }
    tally.report("sequences of calls");
    tally.assert_no_faults("sequences of calls");
}
