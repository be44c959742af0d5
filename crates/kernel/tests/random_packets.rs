//! Tests that random packets have the same action, packet and maps in the kernel and in slowpath's
//! interpreter. The maps are empty or filled.

use crate::support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand::rngs::StdRng;
use slowpath_bpf::ProgramKind;
use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;
use support::pin::on_every_cpu;
use support::random::{fill, mutated};
use support::replay_pair::ReplayPair;
use support::{hex, kernel, object, packets, path};

/// Number of random packets in total.
const PACKETS: usize = 105_000;
/// Number of packets after which a program is loaded again. With more packets, its maps would
/// become full.
const EPOCH: usize = 700;

fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path("../../examples")).unwrap_or_else(|e| panic!("{e}"));
    let mut files: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|f| f.file_name().is_some_and(|n| n.to_string_lossy().ends_with(".bpf.o")));
    files.sort();
    files
}

/// Checks that packets have the same results in the kernel and in the interpreter, for each XDP
/// program of an object. Returns the number of packets, or a description of the first difference.
fn agree(kernel: &Kernel, file: &Path, packets_each: usize) -> Result<usize, String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let object = object(file);
    let seeds = packets();
    let mut count = 0;
    for (number, program) in object.programs.iter().enumerate() {
        if program.kind != ProgramKind::Xdp {
            continue;
        }
        let fault = |fault: String| format!("{name}: {fault}");
        let lifted = ReplayPair::lifted(kernel, &object, number).map_err(fault)?;
        let mut covered = BTreeSet::new();
        let mut rng = StdRng::seed_from_u64(0x510_9a7);
        for epoch in 0..packets_each.div_ceil(EPOCH) {
            let mut replay_pair =
                ReplayPair::of(kernel, &object, number, lifted.clone()).map_err(fault)?;
            if epoch % 4 != 0 {
                fill(&mut replay_pair, &mut rng, &seeds).map_err(fault)?;
            }
            for _ in 0..EPOCH {
                let packet = mutated(&mut rng, &seeds);
                let run = replay_pair.compare(&packet).map_err(|fault| {
                    format!("{name}, epoch {epoch}, packet {}: {fault}", hex(&packet))
                })?;
                covered.extend(run.path.iter().map(|taken| taken.block));
                count += 1;
            }
            if let Some(fault) = replay_pair.differing_maps().first() {
                return Err(format!("{name}, after epoch {epoch}: {fault}"));
            }
        }
        let blocks = lifted.program.blocks.len();
        eprintln!("{name}: {} of {blocks} blocks, {count} packets", covered.len());
    }
    Ok(count)
}

#[test]
fn kernel_and_interpreter_agree_on_the_examples() {
    let Some(kernel) = kernel() else { return };
    let examples = examples();
    let each = PACKETS.div_ceil(examples.len());
    let work = |number, of| {
        let own = examples.iter().skip(number).step_by(of);
        own.map(|file| agree(&kernel, file, each)).collect::<Vec<_>>()
    };
    let results = on_every_cpu(work).into_iter().flatten();
    let results: Vec<Result<usize, String>> = results.collect();
    let faults: Vec<&str> =
        results.iter().filter_map(|r| Some(r.as_ref().err()?.as_str())).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let packets: usize = results.into_iter().flatten().sum();
    assert!(packets >= 100_000, "{packets} packets");
    Oracle::Kernel.compared(packets, "packets through examples");
}
