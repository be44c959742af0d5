//! What of each map has to be followed: found by lifting the program once without following any of
//! it.
//!
//! Most programs look something up, insert it when it is missing and are done: which element takes
//! the place of which, and how many there are, makes no difference to them. Where it can make one,
//! the program is lifted again with what [`Follow`] says.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_ir::{Block, BlockId, InsnIdx, Target};

use super::lifter::Lifter;
use super::maps::{Class, MapUse};
use super::prefixes::comparable;
use super::value::{Known, MapId};
use crate::maps::MapKind;

/// Rounds of a loop that are counted on: more calls than this in one run are taken for this many.
const ROUNDS: u64 = 1024;

/// What a call does to a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    LookUp,
    Insert,
    Delete,
}

/// What is followed of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Follow {
    /// Where elements are: pointers from before an update or delete are used.
    pub places: bool,
    /// Whether places that were free in the meantime are used again.
    pub reuse: bool,
    /// How many more elements there is room for: at most so many at the start.
    pub room: Option<u32>,
    /// Which keys a run has met: it may meet more than the map has elements.
    pub seen: bool,
    /// The look-ups in a trie that limit each other, by instruction.
    pub prefixes: BTreeSet<u32>,
}

/// What is followed, by name of the map.
pub(super) type Plan = BTreeMap<String, Follow>;

/// How a program uses a map.
#[derive(Clone, Debug)]
struct Use {
    kind: MapKind,
    class: Class,
    /// `max_entries`, if it is known and the same for all that this stands for.
    entries: Option<u32>,
    key_size: u32,
    sites: BTreeSet<(BlockId, InsnIdx, Access)>,
}

/// How a program uses its maps, as far as it is lifted.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    maps: BTreeMap<String, Use>,
    names: BTreeMap<MapId, String>,
    /// Maps whose values are accessed through pointers that may be old.
    old: BTreeSet<MapId>,
}

impl Lifter<'_> {
    /// Notes what a call does to a map.
    pub(super) fn note_access(&mut self, map: &MapUse, access: Access) {
        let name = &map.layout.name;
        let site = (self.block, self.insn, access);
        let new = || Use {
            kind: map.def.kind,
            class: map.class,
            entries: Some(map.def.max_entries).filter(|&n| n > 0 && !map.layout.inner),
            key_size: map.def.key_size,
            sites: BTreeSet::new(),
        };
        self.uses.maps.entry(name.clone()).or_insert_with(new).sites.insert(site);
        self.uses.names.entry(map.id).or_insert_with(|| name.clone());
    }

    /// Notes that memory is accessed through a value of which this is known.
    pub(super) fn note_pointer(&mut self, pointer: Known) {
        match pointer {
            Known::MapValue { map, old: true, .. } => {
                self.uses.old.insert(MapId::of_object(map));
            }
            Known::PerhapsValue | Known::Nothing => self.uses.old.extend(&self.state.replaced),
            _ => {}
        }
    }

    /// What has to be followed, once everything is lifted.
    pub(super) fn plan(&self) -> Plan {
        let mut plan = Plan::new();
        let old: BTreeSet<&String> =
            self.uses.old.iter().filter_map(|id| self.uses.names.get(id)).collect();
        for (name, used) in &self.uses.maps {
            let given = self.options.contents.contains_key(name);
            let follow = follow(used, old.contains(name), given, &self.blocks);
            if follow != Follow::default() {
                plan.insert(name.clone(), follow);
            }
        }
        plan
    }
}

/// What has to be followed of a map, of which old pointers may be used, and whose content may be
/// given.
fn follow(used: &Use, old: bool, given: bool, blocks: &[Option<Block>]) -> Follow {
    let has = |access| used.sites.iter().any(|&(.., of)| of == access);
    let keyed = match used.class {
        Class::Hash | Class::PlacesByKey => true,
        Class::Maps => used.kind == MapKind::HASH_OF_MAPS,
        _ => false,
    };
    let most = |wanted: &dyn Fn(Access) -> bool| {
        let mut weights: BTreeMap<BlockId, u64> = BTreeMap::new();
        for &(block, _, _) in used.sites.iter().filter(|&&(.., access)| wanted(access)) {
            *weights.entry(block).or_default() += 1;
        }
        most_on_a_path(blocks, &weights)
    };
    let mut follow = Follow::default();
    if !keyed {
        let instructions: BTreeSet<u32> = used.sites.iter().map(|(_, insn, _)| insn.0).collect();
        let comparable = comparable(used.kind, used.key_size, instructions.len());
        let calls = most(&|_| true);
        if let Some(entries) = used.entries.filter(|_| comparable && !given && calls > 1) {
            follow.prefixes = instructions;
            follow.seen = calls > entries.into();
        }
        return follow;
    }
    let inserts = used.class == Class::Hash && has(Access::Insert);
    if inserts {
        follow.places = old;
        follow.reuse = has(Access::Delete);
    }
    let Some(entries) = used.entries else { return follow };
    let calls = most(&|_| true);
    follow.seen = calls > 1 && calls.saturating_mul(2) > entries.into();
    let counted = inserts && !matches!(used.kind, MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH);
    if counted && (given || follow.seen || most(&|access| access != Access::LookUp) > 1) {
        // So few that all elements that a run meets can be there beside them.
        let spare = if follow.seen { 0 } else { calls as u32 };
        follow.room = Some(entries - spare);
    }
    follow
}

/// The greatest weight of the blocks of a path; those in loops count several times.
fn most_on_a_path(blocks: &[Option<Block>], weights: &BTreeMap<BlockId, u64>) -> u64 {
    let successors = |block: usize| {
        let edges = blocks[block].iter().flat_map(|block| block.terminator.edges());
        edges.filter_map(|edge| match edge.target {
            Target::Block(next) => Some(next.index()),
            Target::Exit(_) => None,
        })
    };
    // Strongly connected components, those that others lead to last (Tarjan).
    let unseen = usize::MAX;
    let (mut order, mut low) = (vec![unseen; blocks.len()], vec![0; blocks.len()]);
    let mut component = vec![unseen; blocks.len()];
    let mut best: Vec<u64> = Vec::new();
    let (mut stack, mut met) = (Vec::new(), 0);
    for start in 0..blocks.len() {
        if order[start] != unseen {
            continue;
        }
        let mut work: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut entered = Some(start);
        loop {
            if let Some(block) = entered.take() {
                (order[block], low[block]) = (met, met);
                met += 1;
                stack.push(block);
                work.push((block, successors(block).collect()));
            }
            let Some((block, next)) = work.last_mut() else { break };
            let block = *block;
            if let Some(to) = next.pop() {
                if order[to] == unseen {
                    entered = Some(to);
                } else if component[to] == unseen {
                    low[block] = low[block].min(order[to]);
                }
                continue;
            }
            work.pop();
            if let Some((before, _)) = work.last() {
                low[*before] = low[*before].min(low[block]);
            }
            if low[block] != order[block] {
                continue;
            }
            let at = stack.iter().rposition(|&other| other == block).unwrap_or(0);
            let members = stack.split_off(at);
            let number = best.len();
            members.iter().for_each(|&member| component[member] = number);
            let repeats = members.len() > 1 || successors(block).any(|to| to == block);
            let weigh = |&member: &usize| weights.get(&BlockId::from(member)).copied();
            let own: u64 = members.iter().filter_map(weigh).sum();
            let own = if repeats { own.saturating_mul(ROUNDS) } else { own };
            let behind = members.iter().flat_map(|&member| successors(member));
            let behind = behind.filter_map(|to| best.get(component[to]).copied()).max();
            best.push(own.saturating_add(behind.unwrap_or(0)));
        }
    }
    best.into_iter().max().unwrap_or(0)
}
