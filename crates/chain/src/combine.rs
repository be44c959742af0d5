//! The objects of a chain as one file, which is analysed as a single program.

use crate::dispatcher::GONE;
use crate::{Chain, ChainError, KnownStart, Loaded, Member};
use slowpath::{ChainMember, Handover, ProgramChain, ProgramFile, conditions_on_card};
use slowpath_bpf::{Object, Part};
use slowpath_stop::{Limits, Stop};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Time to find out what is different about a program that was compiled.
const COMPILING: Duration = Duration::from_secs(2);

impl Chain {
    /// One file of the objects of all members, in their order, and its name in results. Its only
    /// program is the one that packets arrive at; the others run behind it. Where the programs run on
    /// several devices, the work of one of them counts. The programs with the numbers `compiled` run as
    /// something that they were compiled to: what these do to packets is what their BPF programs do,
    /// under conditions. It is about packets that are `known` to arrive, with maps as they are known.
    ///
    /// # Errors
    /// When a map that is shared is not there, or is not like the one that it is shared with; as
    /// [`Chain::dispatched`].
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

    /// As [`Chain::combine`], but only the work of one program counts: what that costs for packets that
    /// get to it.
    ///
    /// # Errors
    /// As [`Chain::combine`].
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

    /// The conditions under which the programs `compiled`, by their numbers, do to packets on their way
    /// to others what their BPF programs do; one sentence each.
    ///
    /// # Errors
    /// As [`Chain::dispatched`].
    pub fn as_compiled(
        &self,
        loaded: &[Loaded],
        to: &BTreeSet<usize>,
        compiled: &BTreeSet<usize>,
    ) -> Result<Vec<String>, ChainError> {
        let chain = self.dispatched(loaded)?;
        let in_front: BTreeSet<usize> = to.iter().flat_map(|&to| chain.in_front(to)).collect();
        let mut sentences = Vec::new();
        for &member in in_front.intersection(compiled) {
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

    /// The programs that run on a device.
    pub fn on_device(&self, device: Option<&str>) -> BTreeSet<usize> {
        let on_it = |(_, member): &(usize, &Member)| member.device.as_deref() == device;
        self.members.iter().enumerate().filter(on_it).map(|(number, _)| number).collect()
    }

    /// One file of the objects of all members, of which some count, and some run compiled.
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
                .chain(edge.dispatched.then_some(GONE))
                .collect(),
            mask: if edge.dispatched { GONE } else { u32::MAX },
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
            assumptions: self.as_compiled(loaded, counted.as_ref().unwrap_or(&none), compiled)?,
            counted: counted.map(|members| members.into_iter().map(number).collect()),
            members: self.members.iter().enumerate().map(member).collect(),
            arriving: known.says_of_packets(),
            contents: known.of_all(loaded, &joined),
            object: Arc::new(joined.object),
        }))
    }

    /// The objects of the members, by their names.
    pub(crate) fn parts<'a>(&'a self, loaded: &'a [Loaded]) -> Vec<Part<'a>> {
        let members = self.members.iter().zip(loaded);
        members.map(|(member, of)| Part { name: &member.name, object: &of.object }).collect()
    }

    /// Of each map that is shared, by the number of its member and its own number there, the group
    /// that it belongs to.
    pub(crate) fn groups(
        &self,
        loaded: &[Loaded],
    ) -> Result<HashMap<(usize, usize), usize>, ChainError> {
        let mut groups = HashMap::new();
        for (group, shared) in self.shared.iter().enumerate() {
            let mut first = None;
            for (member, name) in &shared.maps {
                let maps = &loaded[*member].object.maps;
                let called = format!("{}:{name}", self.members[*member].name);
                let Some(number) = maps.iter().position(|map| map.name == *name) else {
                    let known: Vec<&str> = maps.iter().map(|map| map.name.as_str()).collect();
                    let what = format!("there is no map {called}; there are {}", known.join(", "));
                    return Err(ChainError::at(shared.line, what));
                };
                let map = &maps[number];
                let like = (map.kind, map.key_size, map.value_size, map.max_entries, map.flags);
                match &first {
                    None => first = Some((called, like)),
                    Some((other, known)) if *known != like => {
                        let what = format!(
                            "{called} and {other} are not alike: shared maps have the same type, \
                             sizes of keys and values, entries and flags"
                        );
                        return Err(ChainError::at(shared.line, what));
                    }
                    Some(_) => {}
                }
                groups.insert((*member, number), group);
            }
        }
        Ok(groups)
    }
}
