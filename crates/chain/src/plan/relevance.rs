//! Finds the earlier programs on which a rewritten program depends, because they establish facts
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

/// Returns true if a fact follows from the facts in `others`. `facts` contains the values that the
/// fact states.
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

/// Returns those of `facts` on which a rewritten program relies. The program was rewritten for all
/// of `facts`.
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

/// A node that packets have passed on their path, with the facts known before and after its
/// program.
pub(super) struct Passed<'a> {
    /// Index of the node in the topology.
    pub node: usize,
    /// Index of the program in the topology; `None` if the node only forwards packets.
    pub program: Option<usize>,
    /// Facts about packets that arrive at the node.
    pub arriving: Cow<'a, PacketFacts>,
    /// XDP actions with which the packets have left the program.
    pub on: &'a [Action],
    /// Facts that hold after the program but not before it, among the facts that the caller asks
    /// about.
    pub establishes: Vec<Fact>,
}

/// Returns the nodes that packets passed before the point with index `at`, the last one first. Each
/// fact in `open` is assigned to the node whose program establishes it. `facts` contains the values
/// of all facts.
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

/// Nodes that packets pass before they reach a rewritten program, by index.
pub(super) struct InFront {
    /// Nodes whose programs establish a fact on which the rewritten program relies.
    pub relevant: BTreeSet<usize>,
    /// Nodes whose programs establish none of the facts on which the rewritten program relies.
    pub irrelevant: BTreeSet<usize>,
}

/// Divides the nodes before some points into those whose programs establish facts that a rewritten
/// program relies on, and all others. `of` contains the indices of the points, which belong to one
/// node. The program of this node was rewritten for `facts`.
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

/// Returns how similar two sets of facts are, as the number of facts and known bits that they have
/// in common.
pub(super) fn alike(one: &PacketFacts, other: &PacketFacts) -> u64 {
    let common = one.join(other);
    let lengths = u64::from(common.min_length == one.min_length.max(other.min_length));
    common.bits.values().map(|bits| u64::from(bits.mask.count_ones())).sum::<u64>()
        + common.values.len() as u64
        + common.equal.len() as u64
        + lengths
}

/// Returns true if the facts exclude some packet that a device could deliver.
pub(super) fn says_something(facts: &PacketFacts) -> bool {
    let any = any_packet();
    facts.says_more_than_length()
        || facts.min_length > any.min_length
        || facts.max_length < any.max_length
}

/// Returns the number of instructions that a program has after rewriting, in 8-byte slots. The copy
/// of the original that follows a guard does not count. Without a rewritten program, returns the
/// number of the original.
pub(super) fn left_of(linked: &Linked, rewrite: Option<&Rewrite>) -> usize {
    rewrite.map_or(linked.program.insns.len(), |rewrite| {
        rewrite.guard.as_ref().map_or(rewrite.instructions, |guard| guard.instructions)
    })
}
