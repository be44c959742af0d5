//! Converts bounds and paths that the search has found to the types of reports.

use super::costs::{costs, counts};
use super::{lines, rates};
use crate::frontend::Lifted;
use crate::result::{Bound, PathResult, Verdict, WitnessResult};
use slowpath_exec::NodeId;
use slowpath_search::{Bound as Found, FoundPath, Head, Metric, Unrolled};
use slowpath_target::{CostVector, Target, TargetKind};

/// The target and metric with which bounds and paths of the search are converted to the types of
/// reports.
#[derive(Clone, Copy)]
pub(crate) struct Measure<'a> {
    pub target: &'a Target,
    pub metric: Metric,
    /// Minimum length of packets, in bytes.
    pub least_size: u32,
}

impl Measure<'_> {
    /// Returns the bound for paths with the given cost and packets of `size` bytes: a throughput,
    /// or counts of events on targets that count.
    pub fn bound(&self, cost: &CostVector, size: u32) -> Bound {
        match self.target.kind {
            TargetKind::Rates => {
                rates::bound(self.target, self.metric, cost, size, self.least_size)
            }
            TargetKind::Counts => Bound {
                bitrate_bps: None,
                packetrate_pps: None,
                counts: Some(counts(self.target, cost)),
                verdict: Verdict::Bound,
                exact: false,
                stopped: None,
                bottleneck: None,
                components: None,
            },
        }
    }

    /// Converts a bound of the search to the type of reports.
    pub fn found_bound(&self, unrolled: &Unrolled, bound: &Found) -> Bound {
        // A bound on packet rates has no packet size, so the minimum packet length of its path is
        // used.
        let min_length = || {
            let lengths = bound.path.iter().map(|&arc| unrolled.dag[arc].min_length);
            lengths.max().unwrap_or(0).max(self.least_size)
        };
        let size = if self.metric == Metric::BitRate { bound.length } else { min_length() };
        self.bound(&bound.cost, size)
    }

    /// Returns the value of the metric in a bound: bit/s, packets/s, or a count.
    pub fn value(&self, bound: &Bound) -> f64 {
        let value = match self.metric {
            Metric::BitRate => bound.bitrate_bps,
            Metric::PacketRate => bound.packetrate_pps,
            Metric::Component(component) => {
                let name = self.target.component_name(component);
                bound.counts.as_ref().and_then(|counts| counts.get(name)).map(|&count| count as f64)
            }
        };
        value.unwrap_or_default()
    }

    /// Returns a bound that holds for packets of any size. The caller must ensure that no run costs
    /// more than `cost` in any component of the target.
    pub fn any_packet(&self, cost: &CostVector) -> Bound {
        self.bound(cost, self.least_size)
    }

    pub fn is_tighter(&self, bound: &Bound, other: &Bound) -> bool {
        match self.target.kind {
            TargetKind::Rates => self.value(bound) > self.value(other),
            TargetKind::Counts => self.value(bound) < self.value(other),
        }
    }

    /// Lowers `bound` to `guarantee`, which is exact, if it is above it. A bound can be above the
    /// guarantee because of a fixed limit, such as the line rate: if the packets that set the
    /// guarantee are larger than those of the bound, fewer of them fit on the line.
    pub fn cap_at_guarantee(&self, bound: &mut Bound, guarantee: &Bound) {
        if self.target.kind == TargetKind::Rates && self.value(bound) > self.value(guarantee) {
            *bound = guarantee.clone().into_bound();
        }
    }

    /// Converts a path that the search has found to the type of reports. `witness` is a packet that
    /// takes the path.
    pub fn path(
        &self,
        lifted: &Lifted,
        unrolled: &Unrolled,
        found: &FoundPath,
        witness: WitnessResult,
    ) -> PathResult {
        let bound = self.bound(&found.cost, found.length);
        let program = unrolled.executor.program();
        let first_of = |node: NodeId| program.block(unrolled.dag[node].block).first.0;
        let mut source = Vec::new();
        let mut edges = Vec::with_capacity(found.path.len());
        for &arc in &found.path {
            let arc = &unrolled.dag[arc];
            let to = match arc.head {
                Head::Node(node) => first_of(node),
                Head::Exit(exit) => exit,
            };
            edges.push((first_of(arc.tail), to));
            for insn in &program.block(unrolled.dag[arc.tail].block).insns {
                if let Some(location) = &program.insns[insn.index()].source {
                    let line = (location.file.clone(), location.line);
                    if source.last() != Some(&line) {
                        source.push(line);
                    }
                }
            }
        }
        let (lines, _) = lines::of_path(lifted, unrolled, &found.path);
        PathResult {
            relies_on: Vec::new(),
            estimate: None,
            cost: costs(self.target, &found.cost),
            min_packet_size: found.length,
            bitrate_bps: bound.bitrate_bps,
            packetrate_pps: bound.packetrate_pps,
            bottleneck: bound.bottleneck,
            edges,
            source,
            lines,
            witness,
        }
    }
}
