//! Finds the earlier programs that a rewritten program depends on, because they establish facts
//! that it relies on. Programs that only pass on packets for which the facts already hold do not
//! count.

use super::arrivals::Point;
use super::results::Rewrite;
use super::subject::Linked;
use super::topology::Topology;
use crate::Action;
use crate::facts::{Fact, any_packet, listed};
use slowpath_ir::{Field, PacketFacts};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Returns true if `fact`, one of `facts`, follows from the facts `others`.
fn follows(fact: &Fact, facts: &PacketFacts, others: &PacketFacts) -> bool {
    match fact {
        Fact::MinLength => others.min_length >= facts.min_length,
        Fact::MaxLength => others.max_length <= facts.max_length,
        Fact::Bits(offset) => {
            let both = facts.bits.get(offset).zip(others.bits.get(offset));
            both.is_some_and(|(bits, known)| {
                known.mask & bits.mask == bits.mask && known.value & bits.mask == bits.value
            })
        }
        Fact::Values(field) => facts.values.get(field).is_some_and(|values| {
            let constant = others.constant(*field).is_some_and(|value| values.contains(&value));
            constant || others.values.get(field).is_some_and(|known| known.is_subset(values))
        }),
        Fact::Equal(first, second) => others.equal.contains(&(*first, *second)),
        // Headroom and metadata are set anew when a node receives a packet.
        Fact::HeadRoom | Fact::Metadata => false,
    }
}

/// Returns those of `facts` that a program, rewritten for all of them, relies on.
fn relied_on(facts: &PacketFacts, rewrite: &Rewrite) -> Vec<Fact> {
    let used: BTreeSet<u16> = rewrite.bytes.iter().copied().collect();
    let touches = |field: &Field| {
        let end = u16::try_from(field.end()).unwrap_or(u16::MAX);
        used.range(field.offset..end).next().is_some()
    };
    let mut relied = listed(facts);
    relied.retain(|fact| match fact {
        Fact::MinLength | Fact::MaxLength => rewrite.length,
        Fact::Bits(offset) => used.contains(offset),
        Fact::Values(field) => touches(field),
        Fact::Equal(first, second) => touches(first) || touches(second),
        Fact::HeadRoom | Fact::Metadata => false,
    });
    relied
}

/// A program that packets have passed, at a node.
pub(super) struct Passed<'a> {
    /// Index of the node.
    pub node: usize,
    /// Index of the program; `None` if the node only forwards packets.
    pub program: Option<usize>,
    /// Facts about packets that arrive at the program.
    pub arriving: Cow<'a, PacketFacts>,
    /// Results with which the packets leave it.
    pub on: &'a [Action],
    /// Open facts that the program establishes: they hold after the program, but not before it.
    pub establishes: Vec<Fact>,
}

/// Returns the programs that packets passed before point `at`, the last one first. Each fact of
/// `open`, a part of `facts`, is assigned to the program that establishes it.
pub(super) fn passed<'a>(
    (points, mut at): (&'a [Point], usize),
    topology: &Topology,
    (facts, mut open): (&PacketFacts, Vec<Fact>),
    neighbours: bool,
) -> Vec<Passed<'a>> {
    let mut passed = Vec::new();
    while let Point { before: Some(before), on, .. } = &points[at] {
        at = *before;
        let node = points[at].node;
        let program = topology.nodes[node].program;
        let arriving = points[at].known(neighbours);
        let mut establishes = Vec::new();
        if program.is_some() {
            (open, establishes) =
                open.into_iter().partition(|fact| follows(fact, facts, &arriving));
        }
        passed.push(Passed { node, program, arriving, on, establishes });
    }
    passed
}

/// Indices of the nodes before some points.
pub(super) struct InFront {
    /// Nodes whose programs establish a fact that is relied on.
    pub relevant: BTreeSet<usize>,
    /// All other nodes.
    pub irrelevant: BTreeSet<usize>,
}

/// Classifies the nodes before the points with indices `of`. All these points are at one node,
/// whose program was rewritten for `facts`.
pub(super) fn upstream_points(
    (points, of): (&[Point], &[usize]),
    topology: &Topology,
    facts: &PacketFacts,
    rewrite: &Rewrite,
    neighbours: bool,
) -> InFront {
    let mut relevant = BTreeSet::new();
    let mut all = BTreeSet::new();
    let relied = relied_on(facts, rewrite);
    for &point in of {
        let open = (facts, relied.clone());
        for Passed { node, establishes, .. } in passed((points, point), topology, open, neighbours)
        {
            all.insert(node);
            if !establishes.is_empty() {
                relevant.insert(node);
            }
        }
    }
    let irrelevant = all.difference(&relevant).copied().collect();
    InFront { relevant, irrelevant }
}

/// Returns the similarity of two sets of facts: the number of common facts and known bits.
pub(super) fn alike(one: &PacketFacts, other: &PacketFacts) -> u64 {
    let common = one.join(other);
    let lengths = u64::from(common.min_length == one.min_length.max(other.min_length));
    common.bits.values().map(|bits| u64::from(bits.mask.count_ones())).sum::<u64>()
        + common.values.len() as u64
        + common.equal.len() as u64
        + lengths
}

/// Returns true if facts exclude more packets than those that hold for any packet.
pub(super) fn says_something(facts: &PacketFacts) -> bool {
    let any = any_packet();
    facts.says_more_than_length()
        || facts.min_length > any.min_length
        || facts.max_length < any.max_length
}

/// Returns the number of instructions of a program after rewriting, in 8-byte slots. The copy of
/// the original after a guard does not count.
pub(super) fn left_of(linked: &Linked, rewrite: Option<&Rewrite>) -> usize {
    rewrite.map_or(linked.program.insns.len(), |rewrite| {
        rewrite.guard.as_ref().map_or(rewrite.instructions, |guard| guard.instructions)
    })
}
