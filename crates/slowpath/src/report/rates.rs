//! Computes bounds for targets that have rates, in packets or bits per second.

use crate::result::{Bound, Verdict};
use slowpath_search::Metric;
use slowpath_target::{CostVector, Rate, ResourceRate, Target};

/// Converts an exact rate to a floating-point number. Returns `None` if the rate is infinite.
fn number(rate: Rate) -> Option<f64> {
    (!rate.is_infinite()).then(|| rate.as_f64())
}

/// Returns the name and rate of the bottleneck: the entry of `rates`, a component or a fixed limit,
/// with the lowest rate.
fn slowest(rates: &[ResourceRate]) -> (String, Rate) {
    let least = rates.iter().min_by_key(|resource| resource.rate);
    least.map_or(("none".to_owned(), Rate::infinite()), |r| (r.name.clone(), r.rate))
}

/// Returns the throughput of paths with the given cost, for packets of `size` bytes. The device's
/// fixed limits, such as the line rate, also apply.
///
/// A bound in bits per second is also limited by the packet rate that the device can receive with
/// packets of minimum size. No program makes the device receive more packets than that.
pub(super) fn bound(
    target: &Target,
    metric: Metric,
    cost: &CostVector,
    size: u32,
    least_size: u32,
) -> Bound {
    let rates = target.rates(cost, size);
    let (mut bottleneck, packets) = slowest(&rates);
    let mut bits = Target::bit_rate(packets, size);
    if metric == Metric::BitRate {
        for resource in target.rates(cost, least_size).iter().filter(|r| r.fixed) {
            let limit = Target::bit_rate(resource.rate, least_size);
            if limit < bits {
                (bits, bottleneck) = (limit, resource.name.clone());
            }
        }
    }
    Bound {
        bitrate_bps: Some(bits.as_f64()),
        packetrate_pps: Some(packets.as_f64()),
        counts: None,
        verdict: Verdict::Bound,
        exact: false,
        stopped: None,
        bottleneck: Some(bottleneck),
        components: Some(rates.iter().map(|r| (r.name.clone(), number(r.rate))).collect()),
    }
}
