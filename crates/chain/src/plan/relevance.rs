//! Which programs in front a rewritten program rests on: those that establish what it relies on. A
//! program that only lets through what was known before is none of them.

use super::arrivals::Point;
use super::results::Rewrite;
use super::subject::Linked;
use super::topology::Topology;
use crate::Action;
use crate::facts::{Fact, any_packet, listed};
use slowpath_ir::{Field, PacketFacts};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Whether one of `facts` follows from others.
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
        // Between nodes, packets are received anew.
        Fact::HeadRoom | Fact::Metadata => false,
    }
}

/// What a rewritten program relies on, of the facts that it was rewritten for.
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

/// A program that packets went through, at a node.
pub(super) struct Passed<'a> {
    /// The number of the node.
    pub node: usize,
    /// The number of the program; none if packets go through unseen.
    pub program: Option<usize>,
    /// What holds of packets that arrive there.
    pub arriving: Cow<'a, PacketFacts>,
    /// With which results they leave.
    pub on: &'a [Action],
    /// The facts that the program establishes, of those that are looked at: they did not hold before.
    pub establishes: Vec<Fact>,
}

/// What packets went through before they came to a point, backwards: of `facts`, those that are `open`
/// are looked at.
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

/// The nodes in front of some points, by their numbers.
pub(super) struct InFront {
    /// Those whose programs establish something that is relied on.
    pub relevant: BTreeSet<usize>,
    /// The others.
    pub irrelevant: BTreeSet<usize>,
}

/// Tells the nodes in front of some points of one node apart, whose program was rewritten for facts.
pub(super) fn in_front(
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

/// How many facts two programs' facts have in common, which variants of both could use.
pub(super) fn alike(one: &PacketFacts, other: &PacketFacts) -> u64 {
    let common = one.join(other);
    let lengths = u64::from(common.min_length == one.min_length.max(other.min_length));
    common.bits.values().map(|bits| u64::from(bits.mask.count_ones())).sum::<u64>()
        + common.values.len() as u64
        + common.equal.len() as u64
        + lengths
}

/// Whether anything is known that does not hold of any packet.
pub(super) fn says_something(facts: &PacketFacts) -> bool {
    let any = any_packet();
    facts.says_more_than_length()
        || facts.min_length > any.min_length
        || facts.max_length < any.max_length
}

/// How many of a program's instructions are left, in 8-byte slots: those in front, where the original
/// stands behind them.
pub(super) fn left_of(linked: &Linked, rewrite: Option<&Rewrite>) -> usize {
    rewrite.map_or(linked.program.insns.len(), |rewrite| {
        rewrite.guard.as_ref().map_or(rewrite.instructions, |guard| guard.instructions)
    })
}
