//! What results are measured by: bounds and paths of the search as bounds and paths of the report.

use super::costs::{costs, counts};
use super::{lines, rates};
use crate::frontend::Lifted;
use crate::result::{Bound, PathResult, Verdict, WitnessResult};
use slowpath_exec::NodeId;
use slowpath_search::{Bound as Found, FoundPath, Head, Metric, Unrolled};
use slowpath_target::{CostVector, Target, TargetKind};

/// What results are measured by.
#[derive(Clone, Copy)]
pub(crate) struct Measure<'a> {
    pub target: &'a Target,
    pub metric: Metric,
    /// The least packet length in bytes.
    pub least_size: u32,
}

impl Measure<'_> {
    /// The bound that paths with this cost and packet size stand for.
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

    /// What a bound of the search stands for.
    pub fn found_bound(&self, unrolled: &Unrolled, bound: &Found) -> Bound {
        // A bound on packet rates has no packet size: take what its path needs at least.
        let needed = || {
            let lengths = bound.path.iter().map(|&arc| unrolled.dag[arc].min_length);
            lengths.max().unwrap_or(0).max(self.least_size)
        };
        let size = if self.metric == Metric::BitRate { bound.length } else { needed() };
        self.bound(&bound.cost, size)
    }

    /// What the metric says of a bound: bit/s, packets/s, or a count.
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

    /// The bound that no run costs more than this on any component, whatever the packet.
    pub fn any_packet(&self, cost: &CostVector) -> Bound {
        self.bound(cost, self.least_size)
    }

    /// Whether a bound says more than another one.
    pub fn is_tighter(&self, bound: &Bound, other: &Bound) -> bool {
        match self.target.kind {
            TargetKind::Rates => self.value(bound) > self.value(other),
            TargetKind::Counts => self.value(bound) < self.value(other),
        }
    }

    /// Lowers a bound that a fixed limit leaves above a later, exact guarantee: the guarantee's
    /// packets are larger, and the line carries fewer of them.
    pub fn not_above(&self, bound: &mut Bound, guarantee: &Bound) {
        if self.target.kind == TargetKind::Rates && self.value(bound) > self.value(guarantee) {
            *bound = guarantee.clone().not_more();
        }
    }

    /// A satisfiable path for the report, and what only human reports show, if that is wanted.
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
