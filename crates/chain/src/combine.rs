//! Combines the objects of a chain into one file, which can be analysed as a single program.

use crate::dispatcher::REMOVED_RESULT;
use crate::{Chain, ChainError, KnownStart, Loaded, Member};
use slowpath::{ChainMember, Handover, ProgramChain, ProgramFile, conditions_on_card};
use slowpath_bpf::{MapDef, Object, Part};
use slowpath_stop::{Limits, Stop};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Time limit for finding the conditions under which code compiled for a SmartNIC does the same as
/// its BPF program.
const COMPILING: Duration = Duration::from_secs(2);

impl Chain {
    /// Combines the objects of all members into one file, which can be analysed like a single
    /// program. Reports call it `name`.
    ///
    /// Packets enter the file at the chain's first program, and the other programs run after it. If
    /// the programs run on several devices, only the instructions executed on `device` have a cost.
    /// The programs with the indices in `compiled` run as code compiled for a SmartNIC. This code
    /// does the same as their BPF programs under certain conditions
    /// ([`Chain::compilation_conditions`]). Results hold for the packets and map contents that
    /// `known` describes.
    ///
    /// # Errors
    /// If a shared map does not exist or differs from the other maps of its group, and in the cases
    /// of [`Chain::dispatched`].
    pub fn combine(
        &self,
        name: &str,
        loaded: &[Loaded],
        device: Option<&str>,
        compiled: &BTreeSet<usize>,
        known: &KnownStart,
    ) -> Result<ProgramFile, ChainError> {
        let counted = (self.devices().len() > 1).then(|| self.on_device(device));
        self.join(name, loaded, counted, compiled, known)
    }

    /// Combines the objects like [`Chain::combine`], but only the instructions of the program
    /// `member` have a cost. So a search finds the slowest packet for this program alone.
    ///
    /// # Errors
    /// The same as those of [`Chain::combine`].
    pub fn combine_for(
        &self,
        name: &str,
        loaded: &[Loaded],
        member: usize,
        compiled: &BTreeSet<usize>,
        known: &KnownStart,
    ) -> Result<ProgramFile, ChainError> {
        self.join(name, loaded, Some(BTreeSet::from([member])), compiled, known)
    }

    /// Returns the conditions under which compiled programs do the same as their BPF programs, one
    /// sentence for each condition. The result covers those programs in `compiled` that run before
    /// one of the programs in `to`.
    ///
    /// # Errors
    /// The same as those of [`Chain::dispatched`].
    pub fn compilation_conditions(
        &self,
        loaded: &[Loaded],
        to: &BTreeSet<usize>,
        compiled: &BTreeSet<usize>,
    ) -> Result<Vec<String>, ChainError> {
        let chain = self.dispatched(loaded)?;
        let upstream: BTreeSet<usize> = to.iter().flat_map(|&to| chain.upstream(to)).collect();
        let mut sentences = Vec::new();
        for &member in upstream.intersection(compiled) {
            let Loaded { object, program } = &loaded[member];
            let name = &self.members[member].name;
            let stop = Stop::new(Limits { time: Some(COMPILING), ..Limits::default() });
            let conditions = conditions_on_card(object, *program, &stop);
            sentences.extend(
                conditions.iter().map(|condition| format!("on the device of {name}, {condition}")),
            );
        }
        Ok(sentences)
    }

    /// Returns the indices of the programs that run on a device. The device `None` stands for
    /// programs without a device in the description.
    pub fn on_device(&self, device: Option<&str>) -> BTreeSet<usize> {
        let on_it = |(_, member): &(usize, &Member)| member.device.as_deref() == device;
        self.members.iter().enumerate().filter(on_it).map(|(number, _)| number).collect()
    }

    /// Combines the objects of all members into one file. Only instructions of the programs in
    /// `counted` have a cost; `None` stands for all programs. The programs in `compiled` run as
    /// code compiled for a SmartNIC.
    fn join(
        &self,
        name: &str,
        loaded: &[Loaded],
        counted: Option<BTreeSet<usize>>,
        compiled: &BTreeSet<usize>,
        known: &KnownStart,
    ) -> Result<ProgramFile, ChainError> {
        let none = BTreeSet::new();
        let chain = self.dispatched(loaded)?;
        let shared = self.groups(loaded)?;
        let parts = self.parts(loaded);
        let joined = Object::join(&parts, |one, other| {
            shared.get(&one).is_some_and(|group| shared.get(&other) == Some(group))
        });
        let number = |member: usize| joined.programs[member] + loaded[member].program;
        let handover = |edge: &crate::Edge| Handover {
            from: number(edge.from),
            results: edge
                .on
                .iter()
                .map(|action| action.number())
                .chain(edge.dispatched.then_some(REMOVED_RESULT))
                .collect(),
            mask: if edge.dispatched { REMOVED_RESULT } else { u32::MAX },
            to: number(edge.to),
            network: edge.network.clone(),
        };
        let handovers = chain.edges.iter().map(handover).collect();
        let behind = |member: usize| {
            let next = joined.programs.get(member + 1).copied();
            next.unwrap_or(joined.object.programs.len())
        };
        let member = |(place, member): (usize, &Member)| ChainMember {
            name: member.name.clone(),
            program: number(place),
            programs: joined.programs[place]..behind(place),
        };
        Ok(ProgramFile::chain(ProgramChain {
            name: name.to_owned(),
            entry: number(chain.entry),
            handovers,
            assumptions: self.compilation_conditions(
                loaded,
                counted.as_ref().unwrap_or(&none),
                compiled,
            )?,
            counted: counted.map(|members| members.into_iter().map(number).collect()),
            members: self.members.iter().enumerate().map(member).collect(),
            arriving: known.says_of_packets(),
            contents: known.of_all(loaded, &joined),
            object: Arc::new(joined.object),
        }))
    }

    /// Returns the objects of all programs of the chain, each with the program's name.
    pub(crate) fn parts<'a>(&'a self, loaded: &'a [Loaded]) -> Vec<Part<'a>> {
        let members = self.members.iter().zip(loaded);
        members.map(|(member, of)| Part { name: &member.name, object: &of.object }).collect()
    }

    /// Returns the group number of each shared map. The key consists of the index of the program in
    /// the chain and the index of the map in its object. Maps with the same group number are one
    /// map at run time.
    ///
    /// Groups come from `shared_maps` in the description and from equal pin names on one device.
    ///
    /// # Errors
    /// If a map does not exist or differs from another map of its group.
    pub(crate) fn groups(
        &self,
        loaded: &[Loaded],
    ) -> Result<HashMap<(usize, usize), usize>, ChainError> {
        self.groups_across(loaded, false)
    }

    /// Finds groups like [`Chain::groups`]. If `any` is true, maps with equal pin names on
    /// different devices also form one group, because devices may share a file system for pins.
    ///
    /// # Errors
    /// The same as those of [`Chain::groups`].
    pub(crate) fn groups_across(
        &self,
        loaded: &[Loaded],
        any: bool,
    ) -> Result<HashMap<(usize, usize), usize>, ChainError> {
        let mut groups = HashMap::new();
        for (group, shared) in self.shared.iter().enumerate() {
            let mut first = None;
            for (member, name) in &shared.maps {
                let maps = &loaded[*member].object.maps;
                let called = format!("{}:{name}", self.members[*member].name);
                let Some(number) = maps.iter().position(|map| map.name == *name) else {
                    let known: Vec<&str> = maps.iter().map(|map| map.name.as_str()).collect();
                    let hint = match known.len() {
                        0 => "the object has no maps".to_owned(),
                        _ => format!("choose one of {}", known.join(", ")),
                    };
                    let what = format!("unknown map {called}; {hint}");
                    return Err(ChainError::at(shared.line, what));
                };
                let here = (*member, number);
                let before = *first.get_or_insert(here);
                self.check_alike(loaded, before, here, "shared maps have", shared.line)?;
                merge(&mut groups, here, group);
            }
        }
        self.add_pinned(loaded, any, &mut groups)?;
        Ok(groups)
    }

    /// Puts maps that several objects pin under the same name into one group. A loader creates such
    /// a map for the first object, and reuses it for the others.
    fn add_pinned(
        &self,
        loaded: &[Loaded],
        any: bool,
        groups: &mut HashMap<(usize, usize), usize>,
    ) -> Result<(), ChainError> {
        let mut pins = HashMap::<(Option<&str>, &str), (usize, usize)>::new();
        for (member, of) in loaded.iter().enumerate() {
            let device = self.members[member].device.as_deref().filter(|_| !any);
            for (number, map) in of.object.maps.iter().enumerate() {
                let Some(pin) = map.pin() else { continue };
                let here = (member, number);
                let first = *pins.entry((device, pin)).or_insert(here);
                if first == here {
                    continue;
                }
                let across = self.members[first.0].device != self.members[member].device;
                if let Err(error) =
                    self.check_alike(loaded, first, here, PINNED_ALIKE, self.members[member].line)
                {
                    if across {
                        continue;
                    }
                    return Err(error);
                }
                let group = groups.get(&first).copied().unwrap_or_else(|| unused(groups));
                merge(groups, first, group);
                merge(groups, here, group);
            }
        }
        Ok(())
    }

    /// Returns an error if two maps that are one map at run time have different definitions. Each
    /// map is given by the index of its program and its index in the object.
    fn check_alike(
        &self,
        loaded: &[Loaded],
        first: (usize, usize),
        second: (usize, usize),
        why: &str,
        line: u64,
    ) -> Result<(), ChainError> {
        let map = |(member, number): (usize, usize)| &loaded[member].object.maps[number];
        let like = |map: &MapDef| {
            (map.kind, map.key_size, map.value_size, map.max_entries, map.flags, map.extra)
        };
        if like(map(first)) == like(map(second)) {
            return Ok(());
        }
        let called = |of: (usize, usize)| format!("{}:{}", self.members[of.0].name, map(of).name);
        let what = format!(
            "{} and {} differ: {why} the same type, sizes of keys and values, entries and flags",
            called(second),
            called(first)
        );
        Err(ChainError::at(line, what))
    }

    /// Lists maps that are pinned under the same name as a map of an earlier program. Each entry
    /// has the index of the program, the name of its map, and the earlier map as `PROGRAM:MAP`.
    pub(crate) fn pinned(
        &self,
        loaded: &[Loaded],
    ) -> Result<Vec<(usize, String, String)>, ChainError> {
        let mut groups = HashMap::new();
        self.add_pinned(loaded, false, &mut groups)?;
        let mut all: Vec<(usize, usize)> = groups.keys().copied().collect();
        all.sort_unstable();
        let mut first = HashMap::<usize, (usize, usize)>::new();
        let mut pairs = Vec::new();
        for here in all {
            let &mut (of, number) = first.entry(groups[&here]).or_insert(here);
            if (of, number) != here {
                let name = |(member, number): (usize, usize)| {
                    loaded[member].object.maps[number].name.clone()
                };
                let other = format!("{}:{}", self.members[of].name, name((of, number)));
                pairs.push((here.0, name(here), other));
            }
        }
        Ok(pairs)
    }
}

/// Text in the error message about maps with different definitions that are pinned under one name.
const PINNED_ALIKE: &str = "both objects pin them by this name, and one map has";

/// Moves a map to another group, together with all other maps of its former group.
fn merge(groups: &mut HashMap<(usize, usize), usize>, map: (usize, usize), group: usize) {
    if let Some(old) = groups.insert(map, group) {
        groups.values_mut().filter(|of| **of == old).for_each(|of| *of = group);
    }
}

fn unused(groups: &HashMap<(usize, usize), usize>) -> usize {
    groups.values().max().map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests;
