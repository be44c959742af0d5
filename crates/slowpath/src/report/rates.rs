//! Computes bounds for targets that have rates.

use crate::result::{Bound, Verdict};
use slowpath_search::Metric;
use slowpath_target::{CostVector, Rate, ResourceRate, Target};

/// Converts a rate to a number. Returns `None` if the rate is infinite.
fn number(rate: Rate) -> Option<f64> {
    (!rate.is_infinite()).then(|| rate.as_f64())
}

/// Returns the component or fixed limit with the lowest rate.
fn slowest(rates: &[ResourceRate]) -> (String, Rate) {
    let least = rates.iter().min_by_key(|resource| resource.rate);
    least.map_or(("none".to_owned(), Rate::infinite()), |r| (r.name.clone(), r.rate))
}

/// Returns the throughput of paths that have this cost, for packets of this size. Fixed limits of
/// the device also limit it.
///
/// For bit rates, the fixed limits at the smallest packet size apply too, because no program makes
/// the device receive more packets.
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
