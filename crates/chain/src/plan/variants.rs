//! Finds variants of the program on a node: rewritten versions, each for the packets of some
//! ingresses. Also computes how many instructions each variant saves.

use super::choice::{Worth, choose};
use super::classes::{Class, joined};
use super::relevance::{alike, left_of, says_something};
use super::results::{Results, RewriteResult};
use super::subject::Linked;
use crate::cost::Cost;
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;

/// One task may take a node's remaining time divided by this number. A task rewrites a program or
/// finds its maximum number of executed instructions.
const PARTS: u32 = 4;

/// A rewritten version of a program for some classes of packets. The packets of a class arrive by
/// some of the node's ingresses, and the same facts hold for them.
pub(super) struct Variant {
    /// Indices of the packet classes that use the variant, in ascending order.
    pub classes: Vec<usize>,
    /// Facts that hold for the packets of all these classes.
    pub facts: PacketFacts,
    pub made: RewriteResult,
    /// For each packet class of the variant, the maximum number of instructions that the original
    /// executes, and the maximum number that the variant executes. An error is the reason why the
    /// number is not known.
    pub costs: Vec<(Result<Cost, String>, Result<Cost, String>)>,
}

/// The variants of a node's program, and the classes of packets for which the program is not
/// rewritten.
pub(super) struct NodePlan {
    pub variants: Vec<Variant>,
    /// Indices of the packet classes that keep the original program, each with the reasons.
    pub as_is: Vec<(usize, Vec<String>)>,
}

/// Returns how many instructions a variant saves for one class of packets, from the costs of the
/// original and of the variant. Returns `None` if one of the costs is not known.
pub(super) fn gain(before: &Result<Cost, String>, after: &Result<Cost, String>) -> Option<i128> {
    match (before, after) {
        // If the cost of the original is only an upper bound, the original may execute fewer
        // instructions. Then the gain is not known.
        (Ok(before), Ok(after)) if before.exact => {
            Some(i128::from(before.instructions) - i128::from(after.instructions))
        }
        _ => None,
    }
}

/// Finds the variants that save the most instructions, at most `limit` of them, until `stop` ends
/// the work.
pub(super) fn variants(
    linked: &Linked,
    classes: &[Class],
    limit: usize,
    results: &Results<'_>,
    stop: &Stop,
) -> NodePlan {
    let looked: Vec<usize> =
        (0..classes.len()).filter(|&class| says_something(&classes[class].facts)).collect();
    let real = |group: &[usize]| group.iter().map(|&place| looked[place]).collect::<Vec<_>>();
    let worth = |group: &[usize]| worth(linked, classes, &real(group), results, stop);
    let likeness = |one: &[usize], other: &[usize]| {
        let facts = |group: &[usize]| joined(classes, &real(group));
        facts(one).zip(facts(other)).map_or(0, |(one, other)| alike(&one, &other))
    };
    let groups = choose(looked.len(), limit, worth, likeness);
    let mut plan = NodePlan { variants: Vec::new(), as_is: Vec::new() };
    let mut left = vec![true; classes.len()];
    for group in groups {
        let group = real(&group);
        let Some(variant) = variant(linked, classes, &group, results, stop) else { continue };
        group.iter().for_each(|&class| left[class] = false);
        plan.variants.push(variant);
    }
    for class in (0..classes.len()).filter(|&class| left[class]) {
        let why = if looked.contains(&class) {
            let mut why = results.rewrite(linked, &classes[class].facts, stop).remarks;
            if why.is_empty() {
                why.push("a variant gains nothing, or others gain more".to_owned());
            }
            why
        } else {
            vec!["no facts about arriving packets".to_owned()]
        };
        plan.as_is.push((class, why));
    }
    plan
}

fn part(stop: &Stop) -> Stop {
    stop.within(stop.remaining().map(|left| left / PARTS))
}

/// Rewrites the program for a group of packet classes. Returns `None` if it cannot be rewritten for
/// them.
fn variant(
    linked: &Linked,
    classes: &[Class],
    group: &[usize],
    results: &Results<'_>,
    stop: &Stop,
) -> Option<Variant> {
    let facts = joined(classes, group)?;
    let made = results.rewrite(linked, &facts, &part(stop));
    let (_, rewritten) = made.object.clone()?;
    let cost = |&class: &usize| {
        let facts = &classes[class].facts;
        (results.cost(linked, facts, &part(stop)), results.cost(&rewritten, facts, &part(stop)))
    };
    let costs = group.iter().map(cost).collect();
    Some(Variant { classes: group.to_vec(), facts, made, costs })
}

/// Returns the value of a variant for a group of packet classes: the instructions that it saves,
/// weighted by the classes' shares of the traffic.
fn worth(
    linked: &Linked,
    classes: &[Class],
    group: &[usize],
    results: &Results<'_>,
    stop: &Stop,
) -> Worth {
    let Some(variant) = variant(linked, classes, group, results, stop) else {
        return Worth::default();
    };
    let before = linked.program.insns.len() as i128;
    let saved = before - left_of(linked, variant.made.about.as_ref()) as i128;
    let each = variant.classes.iter().zip(&variant.costs);
    let each = each.map(|(&class, (before, after))| {
        let share = i128::from(classes[class].share);
        Worth { gain: share * gain(before, after).unwrap_or(0), saved: share * saved }
    });
    each.fold(Worth::default(), Worth::plus)
}
