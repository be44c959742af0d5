//! Groups the ingresses of a node into classes whose packets have the same known facts. A node
//! distinguishes packets only by their ingress. So the facts of a class have to hold for the
//! packets of an ingress on all paths.

use super::arrivals::Point;
use slowpath_ir::PacketFacts;

/// Packets that arrive at a node by some of its ingresses (such as interfaces), with the same facts
/// known about them.
pub(super) struct Class {
    /// Names of the ingresses by which the packets of this class arrive.
    pub ingresses: Vec<String>,
    /// Share of all traffic that the packets of the class make up, in units of 1/`ALL_TRAFFIC`.
    pub share: u64,
    /// Facts that hold for all packets of the class.
    pub facts: PacketFacts,
    /// Indices of the points at which the packets arrive, in the tree of paths through the network.
    pub points: Vec<usize>,
}

/// Returns the classes of packets that arrive at a node. Classes with the most traffic come first.
pub(super) fn classes(points: &[Point], node: usize) -> Vec<Class> {
    let mut found = Vec::<Class>::new();
    for (number, point) in points.iter().enumerate().filter(|(_, point)| point.node == node) {
        let Some(facts) = &point.arriving.facts else { continue };
        match found.iter_mut().find(|class| class.ingresses[0] == point.ingress) {
            Some(class) => {
                class.share += point.share;
                class.facts = class.facts.join(facts);
                class.points.push(number);
            }
            None => found.push(Class {
                ingresses: vec![point.ingress.clone()],
                share: point.share,
                facts: facts.clone(),
                points: vec![number],
            }),
        }
    }
    let mut merged = Vec::<Class>::new();
    for class in found {
        match merged.iter_mut().find(|other| other.facts == class.facts) {
            Some(other) => {
                other.ingresses.extend(class.ingresses);
                other.share += class.share;
                other.points.extend(class.points);
            }
            None => merged.push(class),
        }
    }
    merged.sort_by_key(|class| std::cmp::Reverse(class.share));
    merged
}

/// Returns the facts that hold for the packets of all classes in a group. Returns `None` if the
/// group is empty.
pub(super) fn joined(classes: &[Class], group: &[usize]) -> Option<PacketFacts> {
    let facts = group.iter().map(|&class| classes[class].facts.clone());
    facts.reduce(|all, facts| all.join(&facts))
}
