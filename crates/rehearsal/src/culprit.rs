//! All packets again on maps as at the start: which one is the reason that programs differ, and
//! whether they differ again.

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

/// For how long maps are compared behind each packet; large ones take long.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of it.
pub enum Repeated {
    /// They differ behind the packet with this number.
    Behind(usize, Difference),
    /// They differ, somewhere among the packets.
    Somewhere(Difference),
    /// They do not differ again, or the original does not do the same again.
    No,
}

/// Runs the packets again. Results are compared for each; maps behind each but the first `alike`
/// ones, behind which they were the same before.
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
