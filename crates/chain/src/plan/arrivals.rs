//! Finds the packets that arrive at each node of a topology. The paths form a tree, so that paths
//! with the same beginning share its analysis.

use super::parallel;
use super::results::{OutgoingFacts, OutgoingPackets, Results};
use super::subject::Linked;
use super::topology::Topology;
use crate::Action;
use crate::facts::{Fragments, after_network, any_packet};
use slowpath::Network;
use slowpath_cache::Key;
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The analysis of one program may take the remaining time divided by this number.
const PARTS: u32 = 4;

/// A point in the tree of paths through a network: a node together with the sequence of nodes that
/// packets passed before it.
pub(super) struct Point {
    /// Index of the previous point in the tree; `None` for packets from outside the network.
    pub before: Option<usize>,
    /// XDP actions with which packets have left the program at the previous point.
    pub on: Vec<Action>,
    /// Changes that the network between the previous point and this one may make to packets.
    pub network: Network,
    /// Index of the node in the topology.
    pub node: usize,
    /// Name of the ingress (such as an interface) by which the node recognises these packets.
    pub ingress: String,
    /// Number of nodes that the packets have passed before this one.
    pub depth: usize,
    /// Share of all traffic that takes paths through this point, in units of 1/`ALL_TRAFFIC`.
    /// Packets that are dropped on the way also count.
    pub share: u64,
    /// Known facts about the packets that arrive at this point.
    pub arriving: Arriving,
}

impl Point {
    /// Returns facts about packets that arrive at this point. If `neighbours` is true, facts from
    /// earlier programs on the path must not be used, so the result contains only facts that hold
    /// for any packet.
    pub fn known(&self, neighbours: bool) -> Cow<'_, PacketFacts> {
        let known = self.arriving.facts.as_ref().filter(|_| !neighbours);
        known.map_or_else(|| Cow::Owned(any_packet()), Cow::Borrowed)
    }
}

/// Known facts about the packets that arrive at a point of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Arriving {
    /// Facts that hold for all packets that arrive; `None` if no packet arrives.
    pub facts: Option<PacketFacts>,
    /// If no packet arrives, sentences that explain why: the results with which packets end in the
    /// previous program. `None` if some packet arrives.
    pub never: Option<Vec<String>>,
    /// Reasons why some facts may be missing, one sentence for each program on the path.
    pub unknown: Vec<String>,
    /// Conditions that the facts depend on, one sentence each.
    pub assumptions: Vec<String>,
    /// True if there was not enough time to find all facts.
    pub late: bool,
}

/// The tree of all paths of a topology. Paths with the same beginning share points.
pub(super) struct Arrivals {
    pub points: Vec<Point>,
    /// For each path, the indices of its points in order.
    pub paths: Vec<Vec<usize>>,
}

impl Arrivals {
    /// Creates the tree from the paths of a topology. Nothing is known about the packets at first.
    pub fn of(topology: &Topology) -> Arrivals {
        let mut points = Vec::<Point>::new();
        let mut behind: Vec<Vec<usize>> = Vec::new();
        let mut first = Vec::new();
        let mut paths = Vec::new();
        for path in &topology.paths {
            let mut way = Vec::<usize>::new();
            let (mut on, mut network) = (Vec::new(), Network::default());
            for (depth, hop) in path.hops.iter().enumerate() {
                let before = way.last().copied();
                let next = before.map_or(&mut first, |before| &mut behind[before]);
                let same = |&&point: &&usize| {
                    let Point { on: how, network: through, node, ingress, .. } = &points[point];
                    (how, through, *node, ingress) == (&on, &network, hop.node, &hop.ingress)
                };
                let found = next.iter().find(same).copied();
                let point = found.unwrap_or(points.len());
                if found.is_none() {
                    next.push(point);
                    behind.push(Vec::new());
                    points.push(Point {
                        before,
                        on,
                        network,
                        node: hop.node,
                        ingress: hop.ingress.clone(),
                        depth,
                        share: 0,
                        arriving: Arriving::default(),
                    });
                }
                points[point].share += path.share;
                way.push(point);
                (on, network) = (hop.on.clone(), hop.network.clone());
            }
            paths.push(way);
        }
        Arrivals { points, paths }
    }

    /// Finds the facts about packets at all points of the tree, until `stop` ends the work. Points
    /// with the most traffic come first.
    pub fn find(
        &mut self,
        topology: &Topology,
        programs: &[Linked],
        results: &Results<'_>,
        (neighbours, threads): (bool, usize),
        stop: &Stop,
    ) {
        let deepest = self.points.iter().map(|point| point.depth).max().unwrap_or(0);
        for point in self.points.iter_mut().filter(|point| point.before.is_none()) {
            point.arriving.facts = Some(any_packet());
        }
        for depth in 1..=deepest {
            let mut here: Vec<usize> =
                (0..self.points.len()).filter(|&point| self.points[point].depth == depth).collect();
            here.sort_by_key(|&point| std::cmp::Reverse(self.points[point].share));
            let mut asked = BTreeMap::<Key, usize>::new();
            let mut questions = Vec::new();
            let mut of = Vec::new();
            for &point in &here {
                let Point { before: Some(before), on, .. } = &self.points[point] else { continue };
                let from = &self.points[*before];
                if from.arriving.facts.is_none() {
                    continue;
                }
                let Some(program) = topology.nodes[from.node].program else {
                    of.push((point, None));
                    continue;
                };
                let arriving = from.known(neighbours).into_owned();
                let key = results.outgoing_key(&programs[program], &arriving, on);
                let number = *asked.entry(key).or_insert_with(|| {
                    questions.push((program, arriving, on.clone()));
                    questions.len() - 1
                });
                of.push((point, Some(number)));
            }
            let left = parallel::map(&questions, threads, |(program, arriving, on)| {
                let part = stop.within(stop.remaining().map(|left| left / PARTS));
                results.outgoing_facts(&programs[*program], arriving, on, &part)
            });
            for (point, question) in of {
                let left = question.map(|number| &left[number]);
                let arriving = self.arriving((topology, programs), point, left);
                self.points[point].arriving = arriving;
            }
        }
    }

    /// Returns the known facts about the packets at a point of the tree. `left` describes the
    /// packets that leave the previous program; `None` if the previous node runs no program.
    fn arriving(
        &self,
        (topology, programs): (&Topology, &[Linked]),
        point: usize,
        left: Option<&OutgoingFacts>,
    ) -> Arriving {
        let Point { before: Some(before), network, .. } = &self.points[point] else {
            return Arriving::default();
        };
        let from = &self.points[*before];
        let mut arriving = Arriving { never: None, ..from.arriving.clone() };
        let name = &topology.nodes[from.node].name;
        if let Some(OutgoingFacts { packets, assumptions, early }) = left {
            arriving.late |= early.is_some();
            arriving.assumptions.extend(assumptions.iter().cloned());
            arriving.facts = match packets {
                OutgoingPackets::Facts(facts) => {
                    let may = |why: &String| {
                        format!(
                            "there may be more facts about packets that {name} passes on: \
                            {why}"
                        )
                    };
                    arriving.unknown.extend(early.iter().map(may));
                    Some(PacketFacts::from(facts))
                }
                OutgoingPackets::Never(ends) => {
                    arriving.never = Some(ends.clone());
                    None
                }
                OutgoingPackets::Unknown(why) => {
                    let what = format!("no facts about packets that {name} passes on: {why}");
                    arriving.unknown.push(what);
                    Some(any_packet())
                }
            };
        }
        let takes = |node: usize| {
            let program = topology.nodes[node].program;
            program.is_some_and(|program| programs[program].program.accepts_fragments())
        };
        let (before, behind) = (takes(from.node), takes(self.points[point].node));
        let fragments = Fragments { before, behind };
        arriving.facts = arriving.facts.map(|facts| after_network(&facts, network, fragments));
        arriving
    }
}
