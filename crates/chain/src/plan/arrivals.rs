//! What arrives where: all paths as a tree of their beginnings, so that what they have in common is
//! looked at once.

use super::key::Key;
use super::parallel;
use super::results::{Left, LeftPackets, Results};
use super::subject::Linked;
use super::topology::Topology;
use crate::Action;
use crate::facts::{Fragments, across, any_packet};
use slowpath::Network;
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Of the time for what arrives, each question has at most one of so many parts of what is left.
const PARTS: u32 = 4;

/// A node, as packets arrive there that have come the same way.
pub(super) struct Point {
    /// Where they come from, unless from outside.
    pub before: Option<usize>,
    /// With which results they have left the program there.
    pub on: Vec<Action>,
    /// What they went through from there.
    pub network: Network,
    /// The number of the node.
    pub node: usize,
    /// What the node can tell them by.
    pub ingress: String,
    /// How many nodes they have passed.
    pub depth: usize,
    /// The part of all traffic that comes this way, if it gets here, of `ALL_TRAFFIC`.
    pub share: u64,
    /// What is known of them.
    pub arriving: Arriving,
}

impl Point {
    /// What is taken to hold of packets that arrive: of any packet, where only `neighbours` count.
    pub fn known(&self, neighbours: bool) -> Cow<'_, PacketFacts> {
        let known = self.arriving.facts.as_ref().filter(|_| !neighbours);
        known.map_or_else(|| Cow::Owned(any_packet()), Cow::Borrowed)
    }
}

/// What is known of packets that arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct Arriving {
    /// What holds of all of them; `None` if there are none.
    pub facts: Option<PacketFacts>,
    /// If the program right before lets none through, what becomes of them there.
    pub never: Option<Vec<String>>,
    /// Why more may hold of them, one sentence for each program.
    pub unknown: Vec<String>,
    /// Conditions that this depends on, one sentence each.
    pub assumptions: Vec<String>,
    /// Whether there was no time to find out.
    pub late: bool,
}

/// The beginnings of all paths.
pub(super) struct Arrivals {
    pub points: Vec<Point>,
    /// For each path its points.
    pub paths: Vec<Vec<usize>>,
}

impl Arrivals {
    /// The tree, about which nothing is known yet.
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

    /// Finds out what arrives everywhere, by the time that `stop` says so; the most traffic first.
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
                let key = results.left_key(&programs[program], &arriving, on);
                let number = *asked.entry(key).or_insert_with(|| {
                    questions.push((program, arriving, on.clone()));
                    questions.len() - 1
                });
                of.push((point, Some(number)));
            }
            let left = parallel::each(&questions, threads, |(program, arriving, on)| {
                let part = stop.within(stop.left().map(|left| left / PARTS));
                results.left(&programs[*program], arriving, on, &part)
            });
            for (point, question) in of {
                let left = question.map(|number| &left[number]);
                let arriving = self.arriving((topology, programs), point, left);
                self.points[point].arriving = arriving;
            }
        }
    }

    /// What is known of packets at a point, of which `left` has left the program before, if there is
    /// one.
    fn arriving(
        &self,
        (topology, programs): (&Topology, &[Linked]),
        point: usize,
        left: Option<&Left>,
    ) -> Arriving {
        let Point { before: Some(before), network, .. } = &self.points[point] else {
            return Arriving::default();
        };
        let from = &self.points[*before];
        let mut arriving = Arriving { never: None, ..from.arriving.clone() };
        let name = &topology.nodes[from.node].name;
        if let Some(Left { packets, assumptions, early }) = left {
            arriving.late |= early.is_some();
            arriving.assumptions.extend(assumptions.iter().cloned());
            arriving.facts = match packets {
                LeftPackets::Facts(facts) => {
                    let may = |why: &String| {
                        format!("there may be more facts about what {name} lets through: {why}")
                    };
                    arriving.unknown.extend(early.iter().map(may));
                    Some(PacketFacts::from(facts))
                }
                LeftPackets::Never(ends) => {
                    arriving.never = Some(ends.clone());
                    None
                }
                LeftPackets::Unknown(why) => {
                    let what = format!("nothing is known of what {name} lets through: {why}");
                    arriving.unknown.push(what);
                    Some(any_packet())
                }
            };
        }
        let takes = |node: usize| {
            let program = topology.nodes[node].program;
            program.is_some_and(|program| programs[program].program.takes_fragments())
        };
        let (before, behind) = (takes(from.node), takes(self.points[point].node));
        let fragments = Fragments { before, behind };
        arriving.facts = arriving.facts.map(|facts| across(&facts, network, fragments));
        arriving
    }
}
