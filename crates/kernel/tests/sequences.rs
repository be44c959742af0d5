//! Tests of random sequences of helper calls on the same maps and packet. For each sequence,
//! packets have the same results in the kernel and in the lifted program, and no packet exceeds the
//! bound. Every witness that packet and maps determine executes exactly the stated instructions in
//! the kernel.

use crate::support;

use std::time::{Duration, Instant};

use slowpath_generate::sequence::{Sequence, Sequences};
use slowpath_kernel::Kernel;
use support::kernel;
use support::pin::on_every_cpu;
use support::sequences::{check, known};
use support::tally::{Class, Tally, setting};

/// Number of programs, unless `SLOWPATH_SEQUENCES` sets it.
const PROGRAMS: u64 = 300;
/// One out of this many programs gets a bound.
const BOUND_EVERY: u64 = 2;
/// Limits of shrinking, in steps and in time. A step can be slow: if no choice has the kernel's
/// results, the interpreter tries all of them.
const SHRINKING: usize = 150;
const PATIENCE: Duration = Duration::from_secs(20);

/// Shrinks a program, and returns the smallest one with the same class of fault, and its fault.
fn smallest(kernel: &Kernel, sequences: &Sequences, seed: u64, class: Class) -> String {
    let mut tree = sequences.tree_from_seed(seed);
    let fault = |sequence: &Sequence| {
        let result = check(kernel, sequence, seed, true, &mut Tally::default());
        result.err().filter(|(found, _)| *found == class).map(|(_, fault)| fault)
    };
    let mut least = fault(&tree.current()).map(|fault| (tree.current(), fault));
    let mut on = tree.simplify();
    let start = Instant::now();
    for _ in 0..SHRINKING {
        if !on || start.elapsed() > PATIENCE {
            break;
        }
        let sequence = tree.current();
        on = match fault(&sequence) {
            Some(fault) => {
                least = Some((sequence, fault));
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    least.map_or_else(String::new, |(sequence, fault)| format!("{fault}\n{sequence}"))
}

fn worker(kernel: &Kernel, number: usize, of: usize, seeds: (u64, u64)) -> Tally {
    let sequences = Sequences::new(known());
    let mut tally = Tally::default();
    for seed in (seeds.0 + number as u64..seeds.0 + seeds.1).step_by(of) {
        let sequence = sequences.from_seed(seed);
        let bound = (seed / of as u64).is_multiple_of(BOUND_EVERY);
        if let Err((class, fault)) = check(kernel, &sequence, seed, bound, &mut tally) {
            let first = !tally.faults.contains_key(&class);
            let least =
                if first { smallest(kernel, &sequences, seed, class) } else { String::new() };
            tally.fault(class, format!("program {seed}: {fault}\n{sequence}{least}"));
        }
    }
    tally
}

#[test]
fn kernel_and_engine_agree_on_sequences_of_calls() {
    let Some(kernel) = kernel() else { return };
    let seeds = (setting("SLOWPATH_FIRST_SEED", 0), setting("SLOWPATH_SEQUENCES", PROGRAMS));
    let mut tally = Tally::default();
    for part in on_every_cpu(|number, of| worker(&kernel, number, of, seeds)) {
        tally.add(part);
    }
    tally.report("sequences of calls");
    tally.judge("sequences of calls");
}
