//! Repetition of all packets on fresh maps, to confirm a difference and to find the packet that
//! causes it.

use std::time::{Duration, Instant};

use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::Difference;
use slowpath_stop::Stop;

use crate::answers::Answers;
use crate::bench::{Bench, Comparison};
use crate::error::RehearsalError;
use crate::lane::Arrival;
use crate::options::{Install, Subject};
use crate::station::Station;

/// Longest time for comparing maps after each packet.
const PATIENCE: Duration = Duration::from_secs(5);

/// Result of the repetition.
pub enum Repeated {
    /// The programs differ after the packet with this number.
    Behind(usize, Difference),
    /// The programs differ after an unknown one of the packets.
    Somewhere(Difference),
    /// The difference does not recur, or the original is not deterministic.
    No,
}

/// Runs the packets again on fresh maps. Compares the results of each packet; compares the maps
/// after each packet except the first `alike` ones, after which they were the same.
pub fn repeat(
    kernel: &Kernel,
    subject: &Subject<'_>,
    install: Install<'_>,
    (answers, station): (&Answers, Station),
    packets: &[Arrival],
    alike: usize,
    stop: &Stop,
) -> Result<Repeated, RehearsalError> {
    let bench = Bench::new(kernel, subject, install, answers, station)?;
    let mut spent = Duration::ZERO;
    let mut skipped = false;
    for (number, packet) in packets.iter().enumerate() {
        match bench.compare(packet)? {
            Comparison::Ran { difference: Some(difference), .. } => {
                return Ok(Repeated::Behind(number, difference));
            }
            Comparison::Undetermined(_) | Comparison::Apart => return Ok(Repeated::No),
            Comparison::Ran { .. } | Comparison::Refused(_) => {}
            Comparison::Kept | Comparison::Lost => {}
        }
        if number < alike || skipped {
            continue;
        }
        let started = Instant::now();
        if let Some(difference) = bench.compare_maps()? {
            return Ok(match bench.compare_control_maps()? {
                Some(_) => Repeated::No,
                None => Repeated::Behind(number, difference),
            });
        }
        spent += started.elapsed();
        skipped = spent > PATIENCE || stop.reason().is_some();
    }
    if !skipped {
        return Ok(Repeated::No);
    }
    Ok(match (bench.compare_maps()?, bench.compare_control_maps()?) {
        (Some(difference), None) => Repeated::Somewhere(difference),
        _ => Repeated::No,
    })
}
