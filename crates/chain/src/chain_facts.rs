//! Finds the facts about packets at each program of a chain, if the content of some maps is known.
//! A fact is a statement about packet bytes or packet lengths that holds for all these packets.
//!
//! A program that checks its facts at entry is correct for any content of maps, and its proof
//! covers all packets. Without checks, a program is correct only while the maps of the programs
//! before it have the content for which the facts were found. The analysis does not trace the
//! dependence of each fact on map content. Instead, it finds all facts twice: for known content and
//! for any content. Facts that are equal both times do not depend on the content.

use crate::facts::{ChainProgram, FactsOptions, Outgoing, Reached, facts_along};
use crate::{Chain, Loaded};
use slowpath_bpf::BpfProgram;
use slowpath_bpf::lift::{LiftOptions, MapContent};
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// A linked chain, with the known content of its maps and the facts about its packets.
pub(crate) struct ChainFacts<'a> {
    pub chain: &'a Chain,
    pub loaded: &'a [Loaded],
    pub programs: &'a [BpfProgram],
    /// For each program, the known content of its frozen (unchanging) maps, by the map's name in
    /// the object. The list may be shorter than the list of programs.
    pub known: &'a [BTreeMap<String, MapContent>],
    /// Facts that hold for packets arriving at the first program of the chain.
    pub first: &'a PacketFacts,
    /// Other options for lifting the programs, such as assumptions about helpers and the kernel's
    /// types.
    pub lift: &'a LiftOptions,
}

impl ChainFacts<'_> {
    /// Finds the facts about packets that arrive at each program. For each program, also lists the
    /// maps of earlier programs whose content these facts may depend on.
    ///
    /// If the programs check the facts with guards (`checked`), the lists contain all maps with
    /// known content. Otherwise, maps that have no influence on the facts are left out.
    pub fn facts(&self, checked: bool, stop: &Stop) -> (Vec<Reached>, Vec<Vec<String>>) {
        let reached = self.along(true, stop);
        let mut rests_on: Vec<Vec<String>> =
            (0..reached.len()).map(|member| self.upstream_maps(member)).collect();
        if !checked && rests_on.iter().any(|maps| !maps.is_empty()) {
            // Half of the time is left for later steps. Facts that are not found in time count as
            // dependent on content.
            let within = stop.within(stop.remaining().map(|left| left / 2));
            let anyhow = self.along(false, &within);
            let same = |member: usize| {
                let (with, without) = (&reached[member], &anyhow[member]);
                with.facts == without.facts
                    && with.packet_environment == without.packet_environment
                    && assumptions(with) == assumptions(without)
            };
            for (member, maps) in rests_on.iter_mut().enumerate() {
                if same(member) && self.chain.upstream(member).into_iter().all(same) {
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
        let runs: Vec<ChainProgram<'_>> = self
            .loaded
            .iter()
            .zip(self.programs.iter().zip(&facts))
            .map(|(loaded, (program, options))| ChainProgram {
                object: &loaded.object,
                program,
                options,
            })
            .collect();
        facts_along(self.chain, &runs, self.first, stop)
    }

    /// Lists the maps with known content that belong to programs before `member` in the chain, each
    /// as `PROGRAM:MAP`.
    fn upstream_maps(&self, member: usize) -> Vec<String> {
        let mut maps = Vec::new();
        for from in self.chain.upstream(member) {
            let name = &self.chain.members[from].name;
            let known = self.known.get(from).into_iter().flat_map(BTreeMap::keys);
            maps.extend(known.map(|map| format!("{name}:{map}")));
        }
        maps
    }
}

/// Returns the assumptions under which the facts about packets that reach a program hold.
fn assumptions(reached: &Reached) -> BTreeSet<&String> {
    let left = reached.by_edge.iter().map(|(_, left)| match left {
        Outgoing::Packets(found) => &found.assumptions,
        Outgoing::Nothing(never) => &never.assumptions,
    });
    left.flatten().collect()
}
