//! The objects of a chain as one file, which is analysed as a single program.

use crate::dispatcher::GONE;
use crate::{Chain, ChainError, Loaded, Member};
use slowpath::{ChainMember, Handover, ProgramChain, ProgramFile};
use slowpath_bpf::{Object, Part};
use std::collections::HashMap;
use std::sync::Arc;

impl Chain {
    /// One file of the objects of all members, in their order, and its name in results. Its only
    /// program is the one that packets arrive at; the others run behind it. Where the programs run on
    /// several devices, the work of one of them counts.
    ///
    /// # Errors
    /// When a map that is shared is not there, or is not like the one that it is shared with; as
    /// [`Chain::dispatched`].
    pub fn combine(
        &self,
        name: &str,
        loaded: &[Loaded],
        device: Option<&str>,
    ) -> Result<ProgramFile, ChainError> {
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
            counted: (self.devices().len() > 1).then(|| {
                let on_it = |(_, member): &(usize, &Member)| member.device.as_deref() == device;
                let members = self.members.iter().enumerate().filter(on_it);
                members.map(|(place, _)| number(place)).collect()
            }),
            members: self.members.iter().enumerate().map(member).collect(),
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
