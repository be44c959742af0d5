//! Compares the original and the rewritten program on given packets, with given map content. The
//! packets can be witnesses: one packet for each path.

use std::collections::HashSet;

use slowpath_kernel::Kernel;
use slowpath_stop::Stop;

use crate::answers::Answers;
use crate::comparing::{Programs, programs};
use crate::error::RehearsalError;
use crate::loaded_chain::{Comparison, LoadedChain};
use crate::options::{Cover, Subject};
use crate::outcome::{Covered, Found};
use crate::program_harness::Arrival;
use crate::run_environment::RunEnvironment;

/// Runs groups of packets through the original and the rewritten program, but not through the
/// upstream programs. Each group gets new maps with its own content.
pub fn cover(
    kernel: &Kernel,
    subject: &Subject<'_>,
    covers: &[Cover<'_>],
    stop: &Stop,
) -> Result<Covered, RehearsalError> {
    let mut covered = Covered::default();
    let mut ways = HashSet::new();
    let Programs { original, rewritten, unpredictable, .. } = programs(kernel, subject)?;
    if !unpredictable.is_empty() {
        // A packet might take another path in each run.
        return Ok(covered);
    }
    let answers = Answers::new(&original, &rewritten, 0);
    let alone = Subject { upstream: &[], ..*subject };
    for Cover { packets, install } in covers {
        if stop.reason().is_some() {
            covered.not_run += packets.len() as u64;
            continue;
        }
        let loaded_chain =
            match LoadedChain::new(kernel, &alone, *install, &answers, RunEnvironment::TestRun) {
                Ok(loaded_chain) => loaded_chain,
                Err(RehearsalError::Install { cause, .. }) => {
                    covered.not_installed.get_or_insert_with(|| cause.to_string());
                    continue;
                }
                Err(fault) => return Err(fault),
            };
        let mut alike = 0;
        for (number, packet) in packets.iter().enumerate() {
            let arrival = Arrival::bare(packet.clone());
            let difference = match loaded_chain.compare(&arrival)? {
                Comparison::Refused(_)
                | Comparison::Kept
                | Comparison::Lost
                | Comparison::PartlyDelivered => continue,
                // With other maps, packets may be deterministic.
                Comparison::Undetermined(_) => break,
                Comparison::Ran { difference, way } => {
                    ways.insert(way);
                    difference
                }
            };
            if let Some(difference) = difference {
                let found = Found::new(&difference, Some(arrival), number);
                return Ok(Covered { difference: Some(found), ..covered });
            }
            alike += 1;
        }
        if let Some(difference) = loaded_chain.compare_maps()?
            && loaded_chain.compare_control_maps()?.is_none()
        {
            let only = packets.first().filter(|_| packets.len() == 1).cloned();
            let before = packets.len().saturating_sub(1);
            let found = Found::new(&difference, only.map(Arrival::bare), before);
            return Ok(Covered { difference: Some(found), ..covered });
        }
        covered.packets += alike;
        covered.ways = ways.len();
    }
    Ok(covered)
}
