//! Reads and checks the description of a chain: its programs, and the edges along which packets
//! pass from one program to the next.

use crate::description::{ChainDescription, EdgeDescription, SCHEMA};
use crate::name::{NAME, is_name};
use crate::network::network;
use crate::yaml::line;
use crate::{Action, ChainError, Loaded};
use serde_saphyr::Spanned;
use slowpath::Network;
use std::collections::BTreeSet;

/// A checked description of a chain of XDP programs. Packets arrive at exactly one program, and no
/// program runs after itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Programs of the chain, in the order of the description.
    pub members: Vec<Member>,
    /// Edges along which packets pass from program to program. In the result of
    /// [`Chain::dispatched`], the list also has the edges that follow from the dispatcher's
    /// configuration.
    pub edges: Vec<Edge>,
    /// Programs that libxdp's dispatcher runs on one interface; `None` if the description lists no
    /// such programs.
    pub dispatcher: Option<Dispatcher>,
    /// Groups of maps. All maps of a group are one map at run time.
    pub shared: Vec<SharedMap>,
    /// Performance targets that the description gives to devices.
    pub targets: Vec<DeviceTarget>,
    /// Index in `members` of the program that packets arrive at first. If libxdp's dispatcher runs
    /// this program, the index is valid only in the result of [`Chain::dispatched`].
    pub entry: usize,
}

/// The performance target that the description of a chain gives to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceTarget {
    /// Name of the device, as in [`Member::device`].
    pub device: String,
    /// Name of a built-in target, or path of a file that describes a target, relative to the
    /// chain's description.
    pub target: String,
    /// Line number of this entry in the description, for error messages.
    pub line: u64,
}

/// A program of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of the program in the chain, unique among the members.
    pub name: String,
    /// Path of the object file, relative to the chain's description.
    pub object: String,
    /// Name of the program in the object file; `None` if the object has only one XDP program.
    pub program: Option<String>,
    /// Name of the device that the program runs on. All programs with `None` run on the same
    /// device.
    pub device: Option<String>,
    /// Line number of the program in the description, for error messages.
    pub line: u64,
}

/// An edge between two programs of a chain, along which packets pass from one to the next. Programs
/// are given by their index in [`Chain::members`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index of the program that the packet leaves.
    pub from: usize,
    /// XDP actions on which the packet takes the edge. No two edges of a program share an action.
    pub on: Vec<Action>,
    /// Index of the program that runs next on the same packet, on the same device or on another
    /// one.
    pub to: usize,
    /// Network that the packet crosses between two devices; `None` if both programs run on one
    /// device and the description states no network.
    pub network: Option<Network>,
    /// True if libxdp's dispatcher runs the program at the end of the edge. The dispatcher compares
    /// only five bits of the previous program's result. If the previous program was removed from
    /// the interface, the dispatcher runs the next one as well.
    pub dispatched: bool,
}

/// Programs that libxdp's dispatcher runs on one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatcher {
    /// Indices of the programs in [`Chain::members`], in any order.
    pub members: Vec<usize>,
    /// Line number of the dispatcher in the description, for error messages.
    pub line: u64,
}

/// Maps of several programs that are one map at run time. For example, a loader reuses a map that
/// is pinned under the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMap {
    /// The maps: each with the index of its program, and its name in the program's object.
    pub maps: Vec<(usize, String)>,
    /// Line number of the group in the description, for error messages.
    pub line: u64,
}

impl Chain {
    /// Reads and checks the YAML description of a chain.
    ///
    /// # Errors
    /// If the text is not YAML in the format of a chain, or uses an unknown name. If packets do not
    /// arrive at exactly one program, or a program runs after itself.
    pub fn parse(text: &str) -> Result<Chain, ChainError> {
        let description = ChainDescription::parse(text)?;
        if description.schema.value != SCHEMA {
            let what =
                format!("schema {} is unknown; write `schema: {SCHEMA}`", description.schema.value);
            return Err(ChainError::at(line(&description.schema), what));
        }
        let mut members = Vec::<Member>::new();
        for program in &description.programs {
            let (name, at) = (&program.name.value, line(&program.name));
            if !is_name(name) {
                let what = format!("{name:?} is not a name: {NAME}");
                return Err(ChainError::at(at, what));
            }
            if let Some(other) = members.iter().find(|other| other.name == *name) {
                let what = format!("program {name} is defined twice, also in line {}", other.line);
                return Err(ChainError::at(at, what));
            }
            members.push(Member {
                name: name.clone(),
                object: program.object.clone(),
                program: program.program.clone(),
                device: program.device.as_ref().map(device).transpose()?,
                line: at,
            });
        }
        let targets = targets(&description, &members)?;
        let mut chain = Chain {
            members,
            edges: Vec::new(),
            dispatcher: None,
            shared: Vec::new(),
            targets,
            entry: 0,
        };
        for edge in &description.edges {
            let (from, to) = (chain.member(&edge.from)?, chain.member(&edge.to)?);
            let on = chain.actions(from, &edge.on, line(&edge.from))?;
            let network = chain.network(edge, (from, to), &on)?;
            chain.edges.push(Edge { from, on, to, network, dispatched: false });
        }
        for group in &description.shared_maps {
            chain.shared.extend(chain.group(group)?);
        }
        chain.dispatcher = chain.find_dispatcher(&description.dispatcher)?;
        if chain.dispatcher.is_none() {
            chain.check_order()?;
        }
        Ok(chain)
    }

    /// Finds the program that packets arrive at first, and checks that no program runs after
    /// itself.
    ///
    /// # Errors
    /// If packets arrive at no program or at several, or a program runs after itself.
    pub(crate) fn check_order(&mut self) -> Result<(), ChainError> {
        self.entry = self.find_entry()?;
        self.check_acyclic()
    }

    /// Lists the devices of all programs, without duplicates and in the order of the programs.
    /// `None` stands for programs without a device.
    pub fn devices(&self) -> Vec<Option<&str>> {
        let mut devices = Vec::new();
        for member in &self.members {
            if !devices.contains(&member.device.as_deref()) {
                devices.push(member.device.as_deref());
            }
        }
        devices
    }

    /// Returns the network that packets cross on an edge. Returns `None` if both programs run on
    /// one device and the description states no network.
    fn network(
        &self,
        edge: &EdgeDescription,
        (from, to): (usize, usize),
        on: &[Action],
    ) -> Result<Option<Network>, ChainError> {
        let apart = self.members[from].device != self.members[to].device;
        if !apart && edge.network.is_none() {
            return Ok(None);
        }
        if let Some(action) = on.iter().find(|on| matches!(on, Action::Aborted | Action::Drop)) {
            let (action, to) = (action.name(), &self.members[to].name);
            let what = format!(
                "{action} does not send packets, so its edge cannot lead to a \
                device of {to}"
            );
            return Err(ChainError::at(line(&edge.from), what));
        }
        edge.network
            .as_ref()
            .map_or_else(|| Ok(Network::default()), |of| network(&of.value))
            .map(Some)
    }

    /// Finds the programs of the dispatcher by their names. They must be different programs on one
    /// device, and no edge may lead to them.
    fn find_dispatcher(&self, names: &[Spanned<String>]) -> Result<Option<Dispatcher>, ChainError> {
        let Some(first) = names.first() else { return Ok(None) };
        let mut members = Vec::new();
        for name in names {
            let member = self.member(name)?;
            let fault = if members.contains(&member) {
                "is in the dispatcher twice; remove one"
            } else if members.len() == DISPATCHED {
                "exceeds the limit of ten programs in a dispatcher; remove programs"
            } else if members.first().is_some_and(|&other: &usize| {
                self.members[other].device != self.members[member].device
            }) {
                "runs on another device than other programs of the dispatcher"
            } else if self.edges.iter().any(|edge| edge.to == member) {
                "is in the dispatcher, where packets arrive, so no edge may lead to it"
            } else {
                members.push(member);
                continue;
            };
            return Err(ChainError::at(line(name), format!("{} {fault}", name.value)));
        }
        Ok(Some(Dispatcher { members, line: line(first) }))
    }

    fn member(&self, name: &Spanned<String>) -> Result<usize, ChainError> {
        self.members.iter().position(|member| member.name == name.value).ok_or_else(|| {
            let known: Vec<&str> = self.members.iter().map(|m| m.name.as_str()).collect();
            let what =
                format!("unknown program {:?}; choose one of {}", name.value, known.join(", "));
            ChainError::at(line(name), what)
        })
    }

    /// Reads the XDP actions on which packets take an edge. Rejects an action that another edge of
    /// the same program already has.
    fn actions(
        &self,
        from: usize,
        names: &[Spanned<String>],
        at: u64,
    ) -> Result<Vec<Action>, ChainError> {
        let mut actions = Vec::new();
        for name in names {
            let action = Action::named(&name.value).ok_or_else(|| {
                let what = format!("{:?} is not an action: {}", name.value, Action::names());
                ChainError::at(line(name), what)
            })?;
            let leads = |edge: &&Edge| edge.from == from && edge.on.contains(&action);
            if let Some(other) = self.edges.iter().find(leads) {
                let to = &self.members[other.to].name;
                let what = format!("{} already leads to {to}", name.value);
                return Err(ChainError::at(line(name), what));
            }
            if !actions.contains(&action) {
                actions.push(action);
            }
        }
        if actions.is_empty() {
            let what = format!("`on` is empty; write some of {}", Action::names());
            return Err(ChainError::at(at, what));
        }
        Ok(actions)
    }

    /// Reads the names of maps that are one map at run time, each as `PROGRAM:MAP`. Returns `None`
    /// if there are no names.
    fn group(&self, names: &[Spanned<String>]) -> Result<Option<SharedMap>, ChainError> {
        let mut maps = Vec::new();
        for name in names {
            let parts = name.value.split_once(':').ok_or_else(|| {
                let what = format!("{:?} is not a map of a program: write PROGRAM:MAP", name.value);
                ChainError::at(line(name), what)
            })?;
            let member = self.members.iter().position(|member| member.name == parts.0);
            let member = member.ok_or_else(|| {
                ChainError::at(
                    line(name),
                    format!("no program of the chain is named {:?}", parts.0),
                )
            })?;
            maps.push((member, parts.1.to_owned()));
        }
        Ok(names.first().map(|first| SharedMap { maps, line: line(first) }))
    }

    /// Finds the program at which packets arrive, which is the only one that no edge leads to.
    fn find_entry(&self) -> Result<usize, ChainError> {
        let arrives = |number: &usize| self.edges.iter().all(|edge| edge.to != *number);
        let mut entries = (0..self.members.len()).filter(arrives);
        let Some(entry) = entries.next() else {
            let Some(Member { name, line, .. }) = self.members.first() else {
                return Err(ChainError::Whole(
                    "the chain has no programs; add one to `programs`".to_owned(),
                ));
            };
            let what = format!(
                "edges lead to {name} and to every other program, so the chain is a circle without \
                 a start"
            );
            return Err(ChainError::at(*line, what));
        };
        if let Some(other) = entries.next() {
            let (first, other) = (&self.members[entry], &self.members[other]);
            let what = format!(
                "no edge leads to {} or to {}, but packets must arrive at a single program of a \
                 chain",
                other.name, first.name
            );
            return Err(ChainError::at(other.line, what));
        }
        Ok(entry)
    }

    /// Returns the indices of the programs in topological order (Kahn 1962): edges lead only from
    /// earlier to later programs. Programs on a cycle or after one are missing.
    pub fn order(&self) -> Vec<usize> {
        let mut left = vec![0_usize; self.members.len()];
        self.edges.iter().for_each(|edge| left[edge.to] += 1);
        let mut order: Vec<usize> = (0..left.len()).filter(|&member| left[member] == 0).collect();
        let mut next = 0;
        while let Some(&member) = order.get(next) {
            for edge in self.edges.iter().filter(|edge| edge.from == member) {
                left[edge.to] -= 1;
                if left[edge.to] == 0 {
                    order.push(edge.to);
                }
            }
            next += 1;
        }
        order
    }

    /// Returns the indices of all programs that packets may have passed when they reach a program.
    pub(crate) fn upstream(&self, member: usize) -> BTreeSet<usize> {
        let mut front = BTreeSet::new();
        let mut open = vec![member];
        while let Some(to) = open.pop() {
            let before = self.edges.iter().filter(|edge| edge.to == to).map(|edge| edge.from);
            open.extend(before.filter(|&from| front.insert(from)));
        }
        front
    }

    /// Returns a shortest path from the chain's first program to the program `member`. The result
    /// lists the programs before `member`, in order. Each has its index and the results (numbers of
    /// XDP actions) after which packets continue on this path.
    ///
    /// # Errors
    /// The same as those of [`Chain::dispatched`].
    pub fn shortest_path_to(
        &self,
        loaded: &[Loaded],
        member: usize,
    ) -> Result<Vec<(usize, Vec<u32>)>, ChainError> {
        let chain = self.dispatched(loaded)?;
        let mut before: Vec<Option<&Edge>> = vec![None; chain.members.len()];
        let mut front = vec![chain.entry];
        while let Some(from) = (!front.is_empty()).then(|| front.remove(0)) {
            for edge in chain.edges.iter().filter(|edge| edge.from == from) {
                if edge.to != chain.entry && before[edge.to].is_none() {
                    before[edge.to] = Some(edge);
                    front.push(edge.to);
                }
            }
        }
        let mut way = Vec::new();
        let mut at = member;
        while let Some(edge) = before.get(at).copied().flatten() {
            way.push((edge.from, edge.on.iter().map(|action| action.number()).collect()));
            at = edge.from;
        }
        way.reverse();
        Ok(way)
    }

    fn check_acyclic(&self) -> Result<(), ChainError> {
        let order = self.order();
        let Some(number) = (0..self.members.len()).find(|number| !order.contains(number)) else {
            return Ok(());
        };
        let Member { name, line, .. } = &self.members[number];
        let what = format!("{name} runs after itself, or after programs that do; a chain must end");
        Err(ChainError::at(*line, what))
    }
}

/// Maximum number of programs that a dispatcher can run (`MAX_DISPATCHER_ACTIONS` of libxdp).
const DISPATCHED: usize = 10;

/// Reads the performance targets that the description gives to devices. At least one program must
/// run on each of these devices.
fn targets(
    description: &ChainDescription,
    members: &[Member],
) -> Result<Vec<DeviceTarget>, ChainError> {
    let target = |(device, target): (&String, &Spanned<String>)| {
        if members.iter().any(|member| member.device.as_ref() == Some(device)) {
            let (device, line) = (device.clone(), line(target));
            return Ok(DeviceTarget { device, target: target.value.clone(), line });
        }
        let what = format!("no program runs on device {}", device.escape_debug());
        Err(ChainError::at(line(target), what))
    };
    description.devices.iter().map(target).collect()
}

/// Reads and checks the name of a device.
fn device(name: &Spanned<String>) -> Result<String, ChainError> {
    if is_name(&name.value) {
        return Ok(name.value.clone());
    }
    let what = format!("{:?} is not the name of a device: {NAME}", name.value);
    Err(ChainError::at(line(name), what))
}

#[cfg(test)]
mod tests;
