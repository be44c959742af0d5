//! Tests counting instructions in the kernel. A program with instruction counters must have the
//! same results as the original. It must count as many instructions as the interpreter executes.

use crate::support;

use slowpath_bpf::{Object, ProgramKind};
use slowpath_kernel::{Context, Kernel};
use slowpath_oracle::Oracle;
use support::pin::each_on_every_cpu;
use support::replay_pair::ReplayPair;
use support::{examples, features, kernel, object, packets, path};

/// Programs that this test skips, because other tests run them or the kernel should reject them.
const ELSEWHERE: [&str; 5] =
    ["kernel_function", "rejected", "on_devmap", "lifted_only", "undecided_every_long_key"];

/// Checks that a program with instruction counters has the results of the original, and counts as
/// many instructions as the interpreter executes. Returns the number of packets.
fn check(kernel: &Kernel, object: &Object, number: usize) -> Result<usize, String> {
    let lifted = ReplayPair::lifted(kernel, object, number)?;
    let packets = packets();
    for (kind, packet) in &packets {
        // Each run starts with fresh maps.
        let counted = kernel.load_counted(object, number).map_err(|e| e.to_string())?;
        let (run, count) = counted.run(packet, &Context::default()).map_err(|e| e.to_string())?;
        let mut replay_pair = ReplayPair::of(kernel, object, number, lifted.clone())?;
        let interpreted = replay_pair.compare(packet).map_err(|e| format!("{kind}: {e}"))?;
        let plain = kernel.load(object, number).map_err(|e| e.to_string())?;
        let plain = plain.run(packet, 1).map_err(|e| e.to_string())?;
        if (run.return_value, &run.packet) != (plain.return_value, &plain.packet) {
            return Err(format!("{kind}: counting changes what it does"));
        }
        if count != interpreted.costs.len() as u64 {
            let expected = interpreted.costs.len();
            return Err(format!("{kind}: {count} instructions in the kernel, not {expected}"));
        }
    }
    Ok(packets.len())
}

#[test]
fn the_kernel_executes_as_many_instructions_as_the_interpreter() {
    let Some(kernel) = kernel() else { return };
    let (mut faults, mut compared) = (Vec::new(), 0);
    let objects = examples().into_iter().map(|file| object(&file));
    let objects: Vec<Object> =
        objects.chain([features(), object(&path("tests/objects/helpers.bpf.o"))]).collect();
    let programs: Vec<(&Object, usize)> = objects
        .iter()
        .flat_map(|object| (0..object.programs.len()).map(move |number| (object, number)))
        .filter(|(object, number)| object.programs[*number].kind == ProgramKind::Xdp)
        .collect();
    let checked = each_on_every_cpu(programs.len(), |at| {
        let (object, number) = programs[at];
        (object.programs[number].name.as_str(), check(&kernel, object, number))
    });
    for (name, checked) in checked {
        match checked {
            Ok(packets) => compared += packets,
            Err(_) if ELSEWHERE.contains(&name) => {}
            Err(fault) => faults.push(format!("{name}: {fault}")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Oracle::Kernel.compared(compared, "counts of instructions");
}
