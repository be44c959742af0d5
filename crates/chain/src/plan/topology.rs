//! Reads and checks the description of a topology: the programs, the nodes that run them, and the
//! paths that packets take through the nodes.

use super::description::{HopDescription, PathDescription, TopologyDescription};
use crate::description::SCHEMA;
use crate::name::{NAME, is_name};
use crate::network::network;
use crate::yaml::{Kind, line, read};
use crate::{Action, ChainError};
use serde_saphyr::Spanned;
use slowpath::Network;

/// Name of the ingress for packets that enter the network from outside, without having passed a
/// node.
pub const OUTSIDE: &str = "outside";

/// Number of parts into which all traffic is divided. The share of a path is a whole number of
/// parts, so that sums of shares are exact.
pub const ALL_TRAFFIC: u64 = 1 << 40;
const TOPOLOGY: Kind = Kind {
    name: "a topology",
    foreign: &["edges", "devices", "dispatcher", "shared_maps"],
    other: "a chain, for other commands than `slowpath chain plan`",
};

/// Maximum number of names that an error message lists.
const LISTED: usize = 20;

/// The description of a topology, after it was checked: each path has at least one node, and
/// contains no node twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Programs, in the order of the description.
    pub programs: Vec<PlacedProgram>,
    /// Nodes, in the order of the description.
    pub nodes: Vec<PlacedNode>,
    /// Paths, in the order of the description.
    pub paths: Vec<NetworkPath>,
}

/// A program, which can run on several nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedProgram {
    /// Name of the program in the topology.
    pub name: String,
    /// Path of the object file, relative to the description.
    pub object: String,
    /// Name of the program in the object; `None` if the object has only one XDP program.
    pub program: Option<String>,
    /// Line of the description that defines the program, counted from 1, for error messages.
    pub line: u64,
}

/// A node of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedNode {
    /// Name of the node.
    pub name: String,
    /// Index of the program that runs on the node, in [`Topology::programs`]; `None` if the node
    /// only forwards packets.
    pub program: Option<usize>,
}

/// A path through the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPath {
    /// Name of the path. A path without a name is named after its number, counted from 1.
    pub name: String,
    /// Share of all traffic that takes the path, in units of 1/[`ALL_TRAFFIC`].
    pub share: u64,
    /// Nodes, in the order in which packets pass them.
    pub hops: Vec<Hop>,
}

/// A node on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the node in [`Topology::nodes`].
    pub node: usize,
    /// Packets continue on the path if the node's program returns one of these results. Empty if
    /// the node has no program, or is the last one of the path.
    pub on: Vec<Action>,
    /// Network from this node to the next one.
    pub network: Network,
    /// Name of the ingress on which the node receives the packets of this path. A node tells
    /// packets apart only by their ingress.
    pub ingress: String,
}

impl Topology {
    /// Reads and checks the description of a topology.
    ///
    /// # Errors
    /// If the text is not YAML with the keys of a topology, or uses an unknown name. If a path has
    /// no nodes, has a node twice, or has a share of the traffic that is not positive.
    pub fn parse(text: &str) -> Result<Topology, ChainError> {
        let description: TopologyDescription = read(text, &TOPOLOGY)?;
        if description.schema.value != SCHEMA {
            let what =
                format!("schema {} is unknown; write `schema: {SCHEMA}`", description.schema.value);
            return Err(ChainError::at(line(&description.schema), what));
        }
        let mut names = Names::new("program");
        let mut programs = Vec::new();
        for program in &description.programs {
            names.add(&program.name)?;
            programs.push(PlacedProgram {
                name: program.name.value.clone(),
                object: program.object.clone(),
                program: program.program.clone(),
                line: line(&program.name),
            });
        }
        let mut places = Names::new("node");
        let mut nodes = Vec::new();
        for node in &description.nodes {
            places.add(&node.name)?;
            if node.name.value == OUTSIDE {
                let what = format!("{OUTSIDE} is the origin of packets, and cannot name a node");
                return Err(ChainError::at(line(&node.name), what));
            }
            let program = node.program.as_ref().map(|program| names.find(program)).transpose()?;
            nodes.push(PlacedNode { name: node.name.value.clone(), program });
        }
        let mut topology = Topology { programs, nodes, paths: Vec::new() };
        let mut called = Names::new("path");
        let mut shares = Vec::new();
        for (number, path) in description.paths.iter().enumerate() {
            if let Some(name) = &path.value.name {
                called.add(name)?;
            }
            shares.push(share(path)?);
            let path = topology.path(number, path, &places)?;
            topology.paths.push(path);
        }
        if topology.paths.is_empty() {
            return Err(ChainError::Whole(
                "the topology has no paths; add one to `paths`".to_owned(),
            ));
        }
        // Shares are first divided by the greatest one, because their sum may overflow.
        let most = shares.iter().copied().fold(0.0, f64::max);
        let sum: f64 = shares.iter().map(|share| share / most).sum();
        for (path, share) in topology.paths.iter_mut().zip(shares) {
            let part = share / most / sum * ALL_TRAFFIC as f64;
            path.share = (part.round() as u64).max(1);
        }
        Ok(topology)
    }

    fn path(
        &self,
        number: usize,
        path: &Spanned<PathDescription>,
        places: &Names,
    ) -> Result<NetworkPath, ChainError> {
        let PathDescription { name, hops: written, .. } = &path.value;
        let name =
            name.as_ref().map_or_else(|| (number + 1).to_string(), |name| name.value.clone());
        if written.is_empty() {
            let what = format!("path {name} has no `hops`; name at least one node");
            return Err(ChainError::at(line(path), what));
        }
        let mut hops = Vec::<Hop>::new();
        for (place, hop) in written.iter().enumerate() {
            let node = places.find(&hop.node)?;
            let at = line(&hop.node);
            if hops.iter().any(|other| other.node == node) {
                let what = format!(
                    "path {name} passes {} twice; paths must not have circles",
                    hop.node.value
                );
                return Err(ChainError::at(at, what));
            }
            let last = place + 1 == written.len();
            let on = self.actions(hop, node, last)?;
            if let (true, Some(at)) = (last, changing(hop)) {
                let what = "the last node of a path cannot have changes on the way to a next node";
                return Err(ChainError::at(at, what));
            }
            let before = hops.last().map_or(OUTSIDE, |hop| self.nodes[hop.node].name.as_str());
            let ingress = hop.ingress.as_ref().map(ingress).transpose()?;
            hops.push(Hop {
                node,
                on,
                network: network(&hop.network())?,
                ingress: ingress.unwrap_or_else(|| before.to_owned()),
            });
        }
        Ok(NetworkPath { name, share: 0, hops })
    }

    /// Reads the XDP actions of a node's program with which packets continue on the path.
    fn actions(
        &self,
        hop: &HopDescription,
        node: usize,
        last: bool,
    ) -> Result<Vec<Action>, ChainError> {
        let (name, at) = (&hop.node.value, line(&hop.node));
        let runs = self.nodes[node].program.is_some();
        let what = match (&hop.on, runs, last) {
            (None, false, _) | (None, true, true) => return Ok(Vec::new()),
            (None, true, false) => format!(
                "add `on`, the actions of the program on {name} after which packets continue: some of {}",
                Action::names()
            ),
            (Some(_), false, _) => format!("{name} does not run a program, so it cannot have `on`"),
            (Some(_), true, true) => {
                format!("{name} is the last node of the path: packets do not go on from there")
            }
            (Some(on), true, false) if on.is_empty() => {
                format!(
                    "`on` is empty; write the actions after which packets continue from {name}, some of {}",
                    Action::names()
                )
            }
            (Some(on), true, false) => {
                let mut actions = on.iter().map(action).collect::<Result<Vec<Action>, _>>()?;
                actions.sort_unstable();
                actions.dedup();
                return Ok(actions);
            }
        };
        Err(ChainError::at(at, what))
    }
}

/// Returns the share of traffic that the description states for a path, relative to the other
/// paths. The default is 1.
fn share(path: &Spanned<PathDescription>) -> Result<f64, ChainError> {
    let written = path.value.share.as_ref();
    let share = written.map_or(1.0, |share| share.value);
    if share > 0.0 && share.is_finite() {
        return Ok(share);
    }
    let what = format!("share {share}: must be a finite number above 0");
    Err(ChainError::at(written.map_or_else(|| line(path), line), what))
}

/// Reads the name of an XDP action with which packets continue to another node. Rejects actions
/// that drop the packet.
fn action(name: &Spanned<String>) -> Result<Action, ChainError> {
    let what = match Action::named(&name.value) {
        None => format!("{:?} is not an action: {}", name.value, Action::names()),
        Some(action @ (Action::Aborted | Action::Drop)) => {
            format!("{} does not send packets, so none go on with it", action.name())
        }
        Some(action) => return Ok(action),
    };
    Err(ChainError::at(line(name), what))
}

/// Returns the first line of a hop's description that states changes to packets in the network
/// after the node. Returns `None` if no changes are stated.
fn changing(hop: &HopDescription) -> Option<u64> {
    let said = hop.changes.is_some() || hop.bytes.is_some();
    let changes = hop.changes.iter().flatten().map(line);
    let bytes = hop.bytes.iter().flatten().map(line);
    said.then(|| changes.chain(bytes).next().unwrap_or_else(|| line(&hop.node)))
}

fn ingress(name: &Spanned<String>) -> Result<String, ChainError> {
    if is_name(&name.value) {
        return Ok(name.value.clone());
    }
    let what = format!("{:?} is not the name of an ingress: {NAME}", name.value);
    Err(ChainError::at(line(name), what))
}

/// The names of all nodes, programs or paths of a topology. Names within one set must differ.
struct Names {
    kind: &'static str,
    known: Vec<(String, u64)>,
}

impl Names {
    fn new(kind: &'static str) -> Names {
        Names { kind, known: Vec::new() }
    }

    fn add(&mut self, name: &Spanned<String>) -> Result<(), ChainError> {
        let (value, at) = (&name.value, line(name));
        if !is_name(value) {
            return Err(ChainError::at(at, format!("{value:?} is not a name: {NAME}")));
        }
        if let Some((_, other)) = self.known.iter().find(|(known, _)| known == value) {
            let what = format!("{} {value} is defined twice, also in line {other}", self.kind);
            return Err(ChainError::at(at, what));
        }
        self.known.push((value.clone(), at));
        Ok(())
    }

    fn find(&self, name: &Spanned<String>) -> Result<usize, ChainError> {
        self.known.iter().position(|(known, _)| *known == name.value).ok_or_else(|| {
            let known = self.known.iter().map(|(name, _)| name.as_str());
            let mut listed: Vec<&str> = known.take(LISTED).collect();
            let more = self.known.len() - listed.len();
            let more = format!("{more} more");
            if self.known.len() > LISTED {
                listed.push(&more);
            }
            let hint = match self.known.len() {
                0 => "the file defines none".to_owned(),
                _ => format!("choose one of {}", listed.join(", ")),
            };
            ChainError::at(line(name), format!("unknown {} {:?}; {hint}", self.kind, name.value))
        })
    }
}

#[cfg(test)]
mod tests;
