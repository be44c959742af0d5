//! What is known of runs through a chain before they begin: of packets that arrive, and of maps.

use crate::facts::any_packet;
use crate::frozen::{self, read_contents};
use crate::{Chain, Loaded};
use slowpath::Error;
use slowpath_bpf::Joined;
use slowpath_bpf::lift::MapContent;
use slowpath_ir::PacketFacts;
use std::collections::{BTreeMap, BTreeSet};

/// A map of a program of a chain: the program's number, and the map's name in its object.
pub type MapOf = (usize, String);

/// What runs are about.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownStart {
    /// What holds of packets that arrive at the first program.
    pub first: PacketFacts,
    /// What maps hold. Objects that a program was rewritten to have its maps by the same names.
    pub contents: BTreeMap<MapOf, MapContent>,
}

impl Default for KnownStart {
    /// Any packets and any content.
    fn default() -> Self {
        KnownStart { first: any_packet(), contents: BTreeMap::new() }
    }
}

impl KnownStart {
    /// Packets of which facts hold, with `frozen` maps that hold what the text of a file says
    /// (`docs/maps.md`), and generations that are zero (`crate::frozen`).
    ///
    /// # Errors
    /// As [`read_contents`].
    pub fn read(
        chain: &Chain,
        loaded: &[Loaded],
        first: PacketFacts,
        maps: &str,
        frozen: &BTreeSet<MapOf>,
        generations: &[MapOf],
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

    /// What the maps of a program hold, by their names in its object.
    pub(crate) fn of_member(&self, member: usize) -> BTreeMap<String, MapContent> {
        let own = self.contents.iter().filter(|((of, _), _)| *of == member);
        own.map(|((_, name), content)| (name.clone(), content.clone())).collect()
    }

    /// What maps hold, by their names in the object that those of a chain's programs became.
    pub(crate) fn of_all(
        &self,
        loaded: &[Loaded],
        joined: &Joined,
    ) -> BTreeMap<String, MapContent> {
        let place = |((member, name), content): (&MapOf, &MapContent)| {
            let own = &loaded.get(*member)?.object.maps;
            let number = own.iter().position(|map| map.name == *name)?;
            let map = *joined.maps.get(*member)?.get(number)?;
            Some((joined.object.maps.get(map)?.name.clone(), content.clone()))
        };
        self.contents.iter().filter_map(place).collect()
    }

    /// The facts about packets, if they say more than that they are packets.
    pub(crate) fn says_of_packets(&self) -> Option<PacketFacts> {
        (self.first != any_packet()).then(|| self.first.clone())
    }
}
