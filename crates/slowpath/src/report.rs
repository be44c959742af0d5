//! From what the search found to what is reported.

use crate::result::{PathDetail, PathResult, Throughput, WitnessResult};
use serde_json::{Map, Value, json};
use slowpath_ir::Terminator;
use slowpath_search::{Bound, FoundPath, Head, Metric, Unrolled};
use slowpath_target::{CostVector, Rate, ResourceRate, Target};

/// A rate as a number, or null where there is no limit.
fn number(rate: Rate) -> Value {
    if rate.is_infinite() { Value::Null } else { json!(rate.as_f64()) }
}

/// The slowest of all components and fixed limits for packets of one size.
fn slowest(rates: &[ResourceRate]) -> (String, Rate) {
    let least = rates.iter().min_by_key(|resource| resource.rate);
    least.map_or(("none".to_owned(), Rate::infinite()), |r| (r.name.clone(), r.rate))
}

/// The throughput of paths with this cost and packet size, capped by the fixed limits.
///
/// As a bit rate, fixed limits cap it at the smallest packet too: no program makes the device take
/// in more of them.
pub(crate) fn throughput(
    target: &Target,
    metric: Metric,
    cost: &CostVector,
    size: u32,
    least_size: u32,
) -> Throughput {
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
    Throughput {
        bitrate_bps: bits.as_f64(),
        packetrate_pps: packets.as_f64(),
        exact: false,
        stopped: None,
        bottleneck,
        components: rates.iter().map(|r| (r.name.clone(), number(r.rate))).collect(),
    }
}

/// The throughput that a bound of the search stands for.
pub(crate) fn bound_throughput(
    target: &Target,
    metric: Metric,
    unrolled: &Unrolled,
    bound: &Bound,
    least_size: u32,
) -> Throughput {
    // A bound on packet rates has no packet size: take what its path needs at least.
    let needed = || {
        let lengths = bound.path.iter().map(|&arc| unrolled.dag.arcs[arc as usize].min_length);
        lengths.max().unwrap_or(0).max(least_size)
    };
    let size = if metric == Metric::BitRate { bound.length } else { needed() };
    throughput(target, metric, &bound.cost, size, least_size)
}

/// Lowers a bound that a fixed limit leaves above a later, exact guarantee: the guarantee's packets
/// are larger, and the line carries fewer of them.
pub(crate) fn not_above(bound: &mut Throughput, guarantee: &Throughput, metric: Metric) {
    let above = match metric {
        Metric::BitRate => bound.bitrate_bps > guarantee.bitrate_bps,
        Metric::PacketRate => bound.packetrate_pps > guarantee.packetrate_pps,
    };
    if above {
        *bound = Throughput { exact: false, stopped: None, ..guarantee.clone() };
    }
}

/// Cycles by component.
fn cycles(target: &Target, cost: &CostVector) -> Map<String, Value> {
    let component = |(index, &ticks): (usize, &u64)| {
        let cycles = target.cycles(index, ticks);
        let whole = cycles.fract() == 0.0 && cycles < 9e15;
        let value = if whole { json!(cycles as u64) } else { json!(cycles) };
        (target.component_name(index).to_owned(), value)
    };
    cost.as_slice().iter().enumerate().map(component).collect()
}

/// A satisfiable path for the report.
pub(crate) fn path_result(
    target: &Target,
    metric: Metric,
    unrolled: &Unrolled,
    found: &FoundPath,
    witness: WitnessResult,
    least_size: u32,
) -> PathResult {
    let throughput = throughput(target, metric, &found.cost, found.length, least_size);
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
    PathResult {
        cost: cycles(target, &found.cost),
        min_packet_size: found.length,
        bitrate_bps: throughput.bitrate_bps,
        packetrate_pps: throughput.packetrate_pps,
        bottleneck: throughput.bottleneck,
        edges,
        source,
        witness,
    }
}

/// A satisfiable path for the human report.
pub(crate) fn path_detail(unrolled: &Unrolled, found: &FoundPath) -> PathDetail {
    let program = unrolled.machine.program();
    let mut detail = PathDetail { ranges: Vec::new(), exit: 0, listing: Vec::new() };
    let mut joined = false;
    for &arc in &found.path {
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
