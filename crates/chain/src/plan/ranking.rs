//! Builds the report of a plan, and sorts the program variants by gain, the greatest first.

use super::arrivals::{Arrivals, Point};
use super::classes::Class;
use super::relevance::upstream_points;
use super::report::{AsIs, CostReport, HotSpot, PathReport};
use super::subject::Linked;
use super::topology::{ALL_TRAFFIC, Topology};
use super::variants::{NodePlan, Variant, gain};
use crate::cost::Cost;
use slowpath_ir::PacketFacts;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Factor for rounding shares and gains in the report to nine decimal places.
const DIGITS: f64 = 1e9;

/// Converts a share of traffic in units of 1/`ALL_TRAFFIC` to a fraction from 0 to 1. Also converts
/// gains: sums of numbers of instructions, each multiplied by a share in these units.
pub(super) fn fraction(parts: i128) -> f64 {
    (parts as f64 / ALL_TRAFFIC as f64 * DIGITS).round() / DIGITS
}

/// A rewritten version (variant) of a program, with its report and gain.
pub(super) struct Ranked {
    /// The report about the variant. The facts about its packets are added later.
    pub spot: HotSpot,
    pub gain: Option<i128>,
    pub node: usize,
    /// Indices of the points at which the variant's packets arrive, in the tree of paths through
    /// the network.
    pub points: Vec<usize>,
    /// Facts that hold for all packets of the variant.
    pub facts: PacketFacts,
    /// Object file that contains the variant.
    pub object: Option<std::sync::Arc<Vec<u8>>>,
}

/// Builds the reports about the variants of the program on the node with index `number`, and about
/// the packet classes that keep the original. `linked` is the original program.
pub(super) fn node(
    topology: &Topology,
    arrivals: &Arrivals,
    (number, linked): (usize, &Linked),
    classes: &[Class],
    (plan, neighbours): (NodePlan, bool),
) -> (Vec<Ranked>, Vec<AsIs>) {
    let called = &topology.nodes[number];
    let program = called.program.map(|program| topology.programs[program].name.clone());
    let program = program.unwrap_or_default();
    let ingresses = |group: &[usize]| {
        let all = group.iter().flat_map(|&class| classes[class].ingresses.iter().cloned());
        all.collect::<BTreeSet<String>>().into_iter().collect::<Vec<String>>()
    };
    let all: usize = classes.iter().map(|class| class.ingresses.len()).sum();
    let mut ranked = Vec::new();
    for Variant { classes: group, facts, made, costs } in plan.variants {
        let Some(about) = &made.about else { continue };
        let points: Vec<usize> =
            group.iter().flat_map(|&class| classes[class].points.iter().copied()).collect();
        let front =
            upstream_points((&arrivals.points, &points), topology, &facts, about, neighbours);
        let name = |&node: &usize| topology.nodes[node].name.clone();
        let of = |group: &[usize]| -> i128 {
            group.iter().map(|&class| i128::from(classes[class].share)).sum()
        };
        let gains = group.iter().zip(&costs).map(|(&class, (before, after))| {
            Some(i128::from(classes[class].share) * gain(before, after)?)
        });
        let gain: Option<i128> = gains.sum();
        let mut remarks = made.remarks.clone();
        let failed = costs.iter().flat_map(|(before, after)| [before, after]);
        let failed = failed.filter_map(|cost| cost.as_ref().err());
        remarks.extend(failed.map(|why| {
            format!(
                "the number of its executed instructions is \
             unknown: {why}"
            )
        }));
        remarks.extend(told(&arrivals.points, &points, |point| &point.arriving.unknown));
        remarks.sort();
        remarks.dedup();
        let mut assumptions = told(&arrivals.points, &points, |point| &point.arriving.assumptions);
        assumptions.extend(about.assumptions.iter().cloned());
        let ingresses = ingresses(&group);
        let spot = HotSpot {
            node: called.name.clone(),
            program: program.clone(),
            variant: variant_name(&ingresses, all),
            ingresses,
            share: fraction(of(&group)),
            instructions_before: linked.program.insns.len(),
            instructions_after: about.instructions,
            guard: about.guard.clone(),
            cost_before: greatest(costs.iter().map(|(before, _)| before)),
            cost_after: greatest(costs.iter().map(|(_, after)| after)),
            gain: gain.map(fraction),
            facts: Vec::new(),
            rests_on: front.relevant.iter().map(name).collect(),
            irrelevant: front.irrelevant.iter().map(name).collect(),
            assumptions: assumptions.into_iter().collect(),
            remarks,
        };
        let object = made.object.map(|(bytes, _)| bytes);
        ranked.push(Ranked { spot, gain, node: number, points, facts, object });
    }
    let as_is = plan.as_is.into_iter().map(|(class, why)| AsIs {
        node: called.name.clone(),
        program: program.clone(),
        ingresses: ingresses(&[class]),
        share: fraction(classes[class].share.into()),
        why,
    });
    (ranked, as_is.collect())
}

/// Sorts variants by their gain, the greatest first. If gains are equal or unknown, variants with
/// more traffic come first, then variants of nodes that come first in the description.
pub(super) fn rank(ranked: &mut [Ranked]) {
    let share = |one: &Ranked| (one.spot.share * DIGITS) as u64;
    ranked.sort_by_key(|one| (Reverse(one.gain), Reverse(share(one)), one.node));
}

pub(super) fn paths(topology: &Topology, arrivals: &Arrivals) -> Vec<PathReport> {
    let path = |(path, points): (&super::topology::NetworkPath, &Vec<usize>)| PathReport {
        name: path.name.clone(),
        share: fraction(path.share.into()),
        nodes: path.hops.iter().map(|hop| topology.nodes[hop.node].name.clone()).collect(),
        never: points.iter().find_map(|&point| never(topology, &path.name, arrivals, point)),
    };
    topology.paths.iter().zip(&arrivals.paths).map(path).collect()
}

/// Returns the reason why packets of a path never reach the point of the tree with index `point`.
/// Returns `None` if some packets do, or if an earlier point on the path already gives the reason.
fn never(topology: &Topology, path: &str, arrivals: &Arrivals, point: usize) -> Option<String> {
    let Point { before: Some(before), on, node, arriving, .. } = &arrivals.points[point] else {
        return None;
    };
    let ends = arriving.never.as_ref()?;
    let named = |node: usize| {
        let known = &topology.nodes[node];
        let program = known.program.map(|program| &topology.programs[program].name);
        program.map_or_else(|| known.name.clone(), |program| format!("{program} at {}", known.name))
    };
    let on: Vec<&str> = on.iter().map(|action| action.name()).collect();
    let ends = if ends.is_empty() { String::new() } else { format!(": {}", ends.join(", ")) };
    Some(format!(
        "{} is never reached on path {path}: {} never returns {}{ends}",
        named(*node),
        named(arrivals.points[*before].node),
        on.join(", ")
    ))
}

/// Calls `what` for the points with the indices in `of`, and collects the sentences that it
/// returns, without duplicates. `points` is the tree of paths through the network.
fn told(points: &[Point], of: &[usize], what: impl Fn(&Point) -> &Vec<String>) -> BTreeSet<String> {
    of.iter().flat_map(|&point| what(&points[point]).iter().cloned()).collect()
}

/// Returns the greatest of some costs, or `None` if one of them is unknown.
fn greatest<'a>(costs: impl Iterator<Item = &'a Result<Cost, String>>) -> Option<CostReport> {
    let known = costs.map(|cost| {
        let Cost { instructions, exact, .. } = cost.as_ref().ok()?;
        Some((*instructions, *exact))
    });
    // If several costs have the greatest number, an exact one is chosen.
    let (instructions, exact) = known.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    Some(CostReport { instructions, exact })
}

/// Returns the name of a variant, made from its ingresses; the node has `all` ingresses. The name
/// is unique because no other variant of the node has the same first ingress.
fn variant_name(ingresses: &[String], all: usize) -> String {
    match ingresses {
        [only] if all > 1 => only.clone(),
        [first, second] if all > 2 => format!("{first}+{second}"),
        [first, others @ ..] if all > ingresses.len() => format!("{first}+{}-more", others.len()),
        _ => "all".to_owned(),
    }
}
