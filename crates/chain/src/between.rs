//! What holds of packets between the programs of a chain, with the content of maps as far as that is
//! known.
//!
//! A program that checks at its entry what it relies on needs nothing of this to be so: it may be found
//! with any content, and the proof is about all packets. Without checks, it is right only as long as
//! the maps of programs in front hold what the facts were found with. Which facts rest on that is not
//! traced: what holds of packets that arrive with any content is found out as well, and where that is
//! the same, nothing rests on it.

use crate::facts::{FactsOptions, Leaving, Reached, Runs, facts_along};
use crate::{Chain, Loaded};
use slowpath_bpf::BpfProgram;
use slowpath_bpf::lift::{LiftOptions, MapContent};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// A chain, linked, and the maps of its programs.
pub(crate) struct Between<'a> {
    pub chain: &'a Chain,
    pub loaded: &'a [Loaded],
    pub programs: &'a [BpfProgram],
    /// By program, what frozen maps hold, by their names in its object; may end early.
    pub known: &'a [BTreeMap<String, MapContent>],
    /// What holds of packets that arrive at the first program.
    pub first: &'a PacketFacts,
    /// What else is known of maps and helpers, and the kernel's types.
    pub lift: &'a LiftOptions,
}

impl Between<'_> {
    /// What holds of packets that arrive at each program, and the maps of programs in front of it that
    /// this was found with the content of. Where programs check what they rely on, that is all there
    /// is to say; else only maps are named that it may rest on.
    pub fn facts(&self, checked: bool, stop: &Stop) -> (Vec<Reached>, Vec<Vec<String>>) {
        let reached = self.along(true, stop);
        let mut rests_on: Vec<Vec<String>> =
            (0..reached.len()).map(|member| self.maps_in_front(member)).collect();
        if !checked && rests_on.iter().any(|maps| !maps.is_empty()) {
            // What comes then is to have time as well. What is not found out in time rests on it.
            let within = stop.within(stop.left().map(|left| left / 2));
            let anyhow = self.along(false, &within);
            let same = |member: usize| {
                let (with, without) = (&reached[member], &anyhow[member]);
                with.facts == without.facts
                    && with.surroundings == without.surroundings
                    && assumptions(with) == assumptions(without)
            };
            for (member, maps) in rests_on.iter_mut().enumerate() {
                if same(member) && self.chain.in_front(member).into_iter().all(same) {
                    maps.clear();
                }
            }
        }
        (reached, rests_on)
    }

    fn along(&self, with_maps: bool, stop: &Stop) -> Vec<Reached> {
        let of = |member: usize| {
            let mut facts = FactsOptions { lift: self.lift.clone(), ..FactsOptions::default() };
            if let Some(known) = self.known.get(member).filter(|_| with_maps) {
                facts.lift.contents.extend(known.clone());
            }
            facts
        };
        let facts: Vec<FactsOptions> = (0..self.loaded.len()).map(of).collect();
        let runs: Vec<Runs<'_>> = self
            .loaded
            .iter()
            .zip(self.programs.iter().zip(&facts))
            .map(|(loaded, (program, options))| Runs { object: &loaded.object, program, options })
            .collect();
        facts_along(self.chain, &runs, self.first, stop)
    }

    /// The maps of programs in front of one whose content is known, each as `PROGRAM:MAP`.
    fn maps_in_front(&self, member: usize) -> Vec<String> {
        let mut maps = Vec::new();
        for from in self.chain.in_front(member) {
            let name = &self.chain.members[from].name;
            let known = self.known.get(from).into_iter().flat_map(BTreeMap::keys);
            maps.extend(known.map(|map| format!("{name}:{map}")));
        }
        maps
    }
}

/// What it depends on.
fn assumptions(reached: &Reached) -> BTreeSet<&String> {
    let left = reached.over.iter().map(|(_, left)| match left {
        Leaving::Packets(found) => &found.assumptions,
        Leaving::Never(never) => &never.assumptions,
    });
    left.flatten().collect()
}
