//! Runs all packets again with new maps, to confirm a difference between two programs and to find
//! the packet that causes it.

use std::time::{Duration, Instant};

use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::Difference;
use slowpath_stop::Stop;

use crate::answers::Answers;
use crate::error::RehearsalError;
use crate::loaded_chain::{Comparison, LoadedChain};
use crate::options::{Install, Subject};
use crate::program_harness::Arrival;
use crate::run_environment::RunEnvironment;

/// Maximum total time for comparing the maps after every single packet. After this time, maps are
/// compared only after the last packet.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Result of running all packets again to confirm a difference between two programs.
pub enum Repeated {
    /// The programs differ after the packet with this index, but not before it.
    AfterPacket(usize, Difference),
    /// The maps of the two programs differ after the last packet. The packet that causes the
    /// difference is unknown.
    Somewhere(Difference),
    /// The difference did not occur again, or two copies of the original program gave different
    /// results.
    No,
}

/// Runs the packets again with new maps, and compares the results of both programs for each packet.
/// Also compares the maps after each packet, except after the first `equal_until` packets, for
/// which the maps are known to be equal.
pub fn repeat(
    kernel: &Kernel,
    subject: &Subject<'_>,
    install: Install<'_>,
    (answers, environment): (&Answers, RunEnvironment),
    packets: &[Arrival],
    equal_until: usize,
    stop: &Stop,
) -> Result<Repeated, RehearsalError> {
    let loaded_chain = LoadedChain::new(kernel, subject, install, answers, environment)?;
    let mut spent = Duration::ZERO;
    let mut skipped = false;
    for (number, packet) in packets.iter().enumerate() {
        match loaded_chain.compare(packet)? {
            Comparison::Ran { difference: Some(difference), .. } => {
                return Ok(Repeated::AfterPacket(number, difference));
            }
            Comparison::Undetermined(_) | Comparison::PartlyDelivered => return Ok(Repeated::No),
            Comparison::Ran { .. }
            | Comparison::Refused(_)
            | Comparison::Kept
            | Comparison::Lost => {}
        }
        if number < equal_until || skipped {
            continue;
        }
        let started = Instant::now();
        if let Some(difference) = loaded_chain.compare_maps()? {
            return Ok(match loaded_chain.compare_control_maps()? {
                Some(_) => Repeated::No,
                None => Repeated::AfterPacket(number, difference),
            });
        }
        spent += started.elapsed();
        skipped = spent > MAX_TIME || stop.reason().is_some();
    }
    if !skipped {
        return Ok(Repeated::No);
    }
    Ok(match (loaded_chain.compare_maps()?, loaded_chain.compare_control_maps()?) {
        (Some(difference), None) => Repeated::Somewhere(difference),
        _ => Repeated::No,
    })
}
