//! The variants of a node's program: for which ingresses there is one, and what it gains.

use super::choice::{Worth, choose};
use super::classes::{Class, joined};
use super::relevance::{alike, left_of, says_something};
use super::results::{Made, Results};
use super::subject::Linked;
use crate::cost::Cost;
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;

/// Of the time for a node, each piece of work has at most one of so many parts of what is left.
const PARTS: u32 = 4;

/// A rewritten program for some classes of packets.
pub(super) struct Variant {
    /// The classes, by their numbers, ascending.
    pub classes: Vec<usize>,
    /// What holds of all their packets.
    pub facts: PacketFacts,
    pub made: Made,
    /// For each class, how many instructions its packets take at most, before and after.
    pub costs: Vec<(Result<Cost, String>, Result<Cost, String>)>,
}

/// What becomes of the program of a node.
pub(super) struct NodePlan {
    pub variants: Vec<Variant>,
    /// Classes for which it stays as it was, each with the reasons.
    pub as_is: Vec<(usize, Vec<String>)>,
}

/// What is gained by a variant for one class, in instructions; `None` where that is not known.
pub(super) fn gain(before: &Result<Cost, String>, after: &Result<Cost, String>) -> Option<i128> {
    match (before, after) {
        // What is only known to be no more may be less: then nothing is sure to be gained.
        (Ok(before), Ok(after)) if before.exact => {
            Some(i128::from(before.instructions) - i128::from(after.instructions))
        }
        _ => None,
    }
}

/// Finds the variants that gain most, at most `limit` of them, by the time that `stop` says so.
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
            let mut why = results.made(linked, &classes[class].facts, stop).remarks;
            if why.is_empty() {
                why.push("a variant gains nothing, or others gain more".to_owned());
            }
            why
        } else {
            vec!["nothing is known of what arrives".to_owned()]
        };
        plan.as_is.push((class, why));
    }
    plan
}

fn part(stop: &Stop) -> Stop {
    stop.within(stop.left().map(|left| left / PARTS))
}

/// The variant for some classes, if there is one.
fn variant(
    linked: &Linked,
    classes: &[Class],
    group: &[usize],
    results: &Results<'_>,
    stop: &Stop,
) -> Option<Variant> {
    let facts = joined(classes, group)?;
    let made = results.made(linked, &facts, &part(stop));
    let (_, rewritten) = made.object.clone()?;
    let cost = |&class: &usize| {
        let facts = &classes[class].facts;
        (results.cost(linked, facts, &part(stop)), results.cost(&rewritten, facts, &part(stop)))
    };
    let costs = group.iter().map(cost).collect();
    Some(Variant { classes: group.to_vec(), facts, made, costs })
}

/// What a variant for some classes is worth.
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
