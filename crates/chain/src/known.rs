//! Knowledge before the first program of a chain runs: facts about packets, and content of maps.

use crate::facts::any_packet;
use crate::frozen::{self, read_contents};
use crate::{Chain, Loaded};
use slowpath::Error;
use slowpath_bpf::Joined;
use slowpath_bpf::lift::MapContent;
use slowpath_ir::PacketFacts;
use std::collections::{BTreeMap, BTreeSet};

/// A map of a chain, given by the index of its program and its name in the program's object.
pub type MemberMap = (usize, String);

/// Facts and map content that are known before the first program of a chain runs. Results hold only
/// for packets and maps that agree with this knowledge.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownStart {
    /// Facts that hold for packets arriving at the first program of the chain.
    pub first: PacketFacts,
    /// Known content of maps. Rewritten programs have maps of the same names.
    pub contents: BTreeMap<MemberMap, MapContent>,
}

impl Default for KnownStart {
    /// Returns a start about which nothing is known: the packets and the content of maps can be
    /// any.
    fn default() -> Self {
        KnownStart { first: any_packet(), contents: BTreeMap::new() }
    }
}

impl KnownStart {
    /// Reads the initial content of the `frozen` maps from text in the format of
    /// `docs/reference/maps.md`; other maps in the text are ignored. `first` contains the facts
    /// that hold for arriving packets. The maps in `generations` each hold a counter that is zero
    /// at the start and changes with frozen maps.
    ///
    /// # Errors
    /// The same as those of [`read_contents`].
    pub fn read(
        chain: &Chain,
        loaded: &[Loaded],
        first: PacketFacts,
        maps: &str,
        frozen: &BTreeSet<MemberMap>,
        generations: &[MemberMap],
    ) -> Result<KnownStart, Error> {
        let mut contents = BTreeMap::new();
        for (member, known) in read_contents(chain, loaded, maps)?.into_iter().enumerate() {
            for (number, content) in known {
                let map = loaded[member].object.maps.get(number as usize);
                let of = map.map(|map| (member, map.name.clone()));
                if let Some(of) = of.filter(|of| frozen.contains(of)) {
                    contents.insert(of, content);
                }
            }
        }
        contents.extend(generations.iter().map(|of| (of.clone(), frozen::zero())));
        Ok(KnownStart { first, contents })
    }

    pub(crate) fn of_member(&self, member: usize) -> BTreeMap<String, MapContent> {
        let own = self.contents.iter().filter(|((of, _), _)| *of == member);
        own.map(|((_, name), content)| (name.clone(), content.clone())).collect()
    }

    /// Returns the known content of all maps, by name in the object that joins all programs of the
    /// chain.
    pub(crate) fn of_all(
        &self,
        loaded: &[Loaded],
        joined: &Joined,
    ) -> BTreeMap<String, MapContent> {
        let place = |((member, name), content): (&MemberMap, &MapContent)| {
            let own = &loaded.get(*member)?.object.maps;
            let number = own.iter().position(|map| map.name == *name)?;
            let map = *joined.maps.get(*member)?.get(number)?;
            Some((joined.object.maps.get(map)?.name.clone(), content.clone()))
        };
        self.contents.iter().filter_map(place).collect()
    }

    /// Returns the facts about packets that arrive at the chain, or `None` if they hold for any
    /// packet.
    pub(crate) fn says_of_packets(&self) -> Option<PacketFacts> {
        (self.first != any_packet()).then(|| self.first.clone())
    }
}
