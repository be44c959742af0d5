//! Which programs in front a rewritten program rests on: those that establish what it relies on. A
//! program that only lets through what was known before is none of them.

use super::arrivals::Point;
use super::results::Rewrite;
use super::subject::Linked;
use super::topology::Topology;
use crate::facts::{Fact, any_packet};
use slowpath_ir::{Field, KnownBits, PacketFacts};
use std::collections::BTreeSet;

/// Something that holds of packets.
#[derive(Clone, Debug)]
pub(super) enum Atom {
    Bits(u16, KnownBits),
    Values(Field, BTreeSet<u64>),
    Equal(Field, Field),
    AtLeast(u16),
    AtMost(u16),
}

impl Atom {
    /// One of `facts`; `None` if it is none of them.
    pub fn of(fact: &Fact, facts: &PacketFacts) -> Option<Atom> {
        Some(match fact {
            Fact::MinLength => Atom::AtLeast(facts.min_length),
            Fact::MaxLength => Atom::AtMost(facts.max_length),
            Fact::Bits(offset) => Atom::Bits(*offset, *facts.bits.get(offset)?),
            Fact::Values(field) => Atom::Values(*field, facts.values.get(field)?.clone()),
            Fact::Equal(first, second) => Atom::Equal(*first, *second),
            // Between nodes, packets are received anew.
            Fact::HeadRoom | Fact::Metadata => return None,
        })
    }

    /// Whether it follows from facts.
    pub fn follows(&self, facts: &PacketFacts) -> bool {
        match self {
            Atom::Bits(offset, bits) => facts.bits.get(offset).is_some_and(|known| {
                known.mask & bits.mask == bits.mask && known.value & bits.mask == bits.value
            }),
            Atom::Values(field, values) => {
                let constant = facts.constant(*field).is_some_and(|value| values.contains(&value));
                constant || facts.values.get(field).is_some_and(|known| known.is_subset(values))
            }
            Atom::Equal(first, second) => facts.equal.contains(&(*first, *second)),
            Atom::AtLeast(length) => facts.min_length >= *length,
            Atom::AtMost(length) => facts.max_length <= *length,
        }
    }
}

/// What a rewritten program relies on, of the facts that it was rewritten for.
fn relied_on(facts: &PacketFacts, rewrite: &Rewrite) -> Vec<Atom> {
    let used: BTreeSet<u16> = rewrite.bytes.iter().copied().collect();
    let touches = |field: &Field| {
        let end = u16::try_from(field.end()).unwrap_or(u16::MAX);
        used.range(field.offset..end).next().is_some()
    };
    let bits = facts.bits.iter().filter(|(offset, _)| used.contains(offset));
    let mut atoms: Vec<Atom> = bits.map(|(&offset, &bits)| Atom::Bits(offset, bits)).collect();
    let values = facts.values.iter().filter(|(field, _)| touches(field));
    atoms.extend(values.map(|(&field, values)| Atom::Values(field, values.clone())));
    let equal = facts.equal.iter().filter(|(first, second)| touches(first) || touches(second));
    atoms.extend(equal.map(|&(first, second)| Atom::Equal(first, second)));
    if rewrite.length {
        atoms.extend([Atom::AtLeast(facts.min_length), Atom::AtMost(facts.max_length)]);
    }
    atoms.retain(|atom| !atom.follows(&any_packet()));
    atoms
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
    let atoms = relied_on(facts, rewrite);
    for &point in of {
        let mut open = atoms.clone();
        let mut at = point;
        while let Some(before) = points[at].before {
            let Point { node, arriving, .. } = &points[before];
            all.insert(*node);
            if topology.nodes[*node].program.is_some() {
                let arrived = arriving.facts.as_ref().filter(|_| !neighbours);
                let any = any_packet();
                let count = open.len();
                open.retain(|atom| atom.follows(arrived.unwrap_or(&any)));
                if open.len() < count {
                    relevant.insert(*node);
                }
            }
            at = before;
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
