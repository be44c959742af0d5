//! From what the search found to what is reported.

mod lines;
mod profile;
mod rates;

use crate::Error;
use crate::frontend::Lifted;
use crate::result::{
    Amount, Bound, CodeInsn, PathDetail, PathResult, Profile, Verdict, WitnessResult,
};
use indexmap::IndexMap;
use slowpath_ir::Terminator;
use slowpath_search::{Bound as Found, FoundPath, Head, Metric, Unrolled};
use slowpath_target::{CostModel, CostVector, Target, TargetKind};

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
            let lengths = bound.path.iter().map(|&arc| unrolled.dag.arcs[arc as usize].min_length);
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

    /// Lowers a bound that a fixed limit leaves above a later, exact guarantee: the guarantee's
    /// packets are larger, and the line carries fewer of them.
    pub fn not_above(&self, bound: &mut Bound, guarantee: &Bound) {
        if self.target.kind == TargetKind::Rates && self.value(bound) > self.value(guarantee) {
            *bound = guarantee.clone().not_more();
        }
    }

    /// Where the cost of a path goes, instruction by instruction and line by line.
    ///
    /// # Errors
    /// When the parts do not add up to `cost`, which is a defect.
    pub fn profile(
        &self,
        lifted: &Lifted,
        unrolled: &Unrolled,
        model: &CostModel,
        path: &[u32],
        cost: &CostVector,
    ) -> Result<Profile, Error> {
        profile::of_path(self, lifted, unrolled, model, path, cost)
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
        let program = unrolled.machine.program();
        let first_of = |node: u32| program.block(unrolled.dag.nodes[node as usize].block).first.0;
        let mut source = Vec::new();
        let mut edges = Vec::with_capacity(found.path.len());
        for &arc in &found.path {
            let arc = &unrolled.dag.arcs[arc as usize];
            let to = match arc.head {
                Head::Node(node) => first_of(node),
                Head::Exit(exit) => exit,
            };
            edges.push((first_of(arc.tail), to));
            for insn in &program.block(unrolled.dag.nodes[arc.tail as usize].block).insns {
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

/// What only the human report says about a path, given by its arcs.
pub(crate) fn detail(lifted: &Lifted, unrolled: &Unrolled, path: &[u32]) -> PathDetail {
    let (_, stretches) = lines::of_path(lifted, unrolled, path);
    PathDetail { stretches, ..instructions(unrolled, path) }
}

/// All instructions of the program with their source lines.
pub(crate) fn code(lifted: &Lifted) -> Vec<CodeInsn> {
    profile::code(lifted)
}

/// Cycles, or counts, by component.
fn costs(target: &Target, cost: &CostVector) -> IndexMap<String, Amount> {
    let component = |(index, &ticks): (usize, &u64)| {
        let cycles = target.cycles(index, ticks);
        let whole = cycles.fract() == 0.0 && cycles < 9e15;
        let amount = if whole { Amount::Whole(cycles as u64) } else { Amount::Fraction(cycles) };
        (target.component_name(index).to_owned(), amount)
    };
    cost.as_slice().iter().enumerate().map(component).collect()
}

/// Counts by component, of a target that counts.
fn counts(target: &Target, cost: &CostVector) -> IndexMap<String, u64> {
    let named = |(index, &count): (usize, &u64)| (target.component_name(index).to_owned(), count);
    cost.as_slice().iter().enumerate().map(named).collect()
}

/// What only the human report says about a path, source lines left out.
fn instructions(unrolled: &Unrolled, path: &[u32]) -> PathDetail {
    let program = unrolled.machine.program();
    let mut detail = PathDetail::default();
    let mut joined = false;
    for &arc in path {
        let arc = &unrolled.dag.arcs[arc as usize];
        let block = program.block(unrolled.dag.nodes[arc.tail as usize].block);
        let last = block.insns.last().map_or(block.first.0, |insn| insn.0);
        match detail.ranges.last_mut() {
            Some(range) if joined && range.1 + 1 == block.first.0 => range.1 = last,
            _ => detail.ranges.push((block.first.0, last)),
        }
        for insn in &block.insns {
            detail.listing.push((insn.0, program.insns[insn.index()].text.clone()));
        }
        joined = match block.terminator {
            Terminator::Jump(_) => true,
            Terminator::Branch { .. } => arc.edge == 1,
        };
        if let Head::Exit(exit) = arc.head {
            detail.exit = exit;
        }
    }
    detail
}
