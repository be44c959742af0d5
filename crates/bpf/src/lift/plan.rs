//! What of each map has to be followed: found by lifting the program once without following any of
//! it.
//!
//! Most programs look something up, insert it when it is missing and are done: which element takes
//! the place of which, and how many there are, makes no difference to them. Where it can make one,
//! the program is lifted again with what [`Follow`] says.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_ir::{Block, BlockId, InsnIdx, Target};

use super::content::MapContent;
use super::lifter::Lifter;
use super::maps::{Class, MapUse};
use super::prefixes::{Compared, compared};
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
    /// Goes through all elements.
    Walk,
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
    /// How many of those that it has met are there: it goes through all elements.
    pub walked: bool,
    /// Whether elements come or go while it does.
    pub disturbed: bool,
    /// The look-ups in a trie that limit each other.
    pub prefixes: Option<Compared>,
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
    /// The same of the maps in a map of maps, as the object says it: each can differ.
    inner: Option<u32>,
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
            entries: Some(map.def.max_entries)
                .filter(|&n| n > 0 && !map.layout.inner && !map.per_cpu_lists()),
            inner: map.layout.inner.then_some(map.def.max_entries),
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
            let given = self.options.contents.get(name);
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
fn follow(used: &Use, old: bool, given: Option<&MapContent>, blocks: &[Option<Block>]) -> Follow {
    // Elements whose keys are not known.
    let more = given.is_some_and(|given| given.others > 0);
    let given = given.is_some();
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
    let times = |site| {
        let here = used.sites.iter().filter(|(_, insn, _)| insn.0 == site);
        most_on_a_path(blocks, &here.map(|&(block, ..)| (block, 1)).collect())
    };
    let mut follow = Follow::default();
    if !keyed {
        if used.kind == MapKind::LPM_TRIE && !given {
            let sites: BTreeSet<u32> = used.sites.iter().map(|(_, insn, _)| insn.0).collect();
            let twice = sites.iter().any(|&site| times(site) > 1);
            let calls = most(&|_| true);
            follow.prefixes = compared(used.key_size, sites, (calls, twice));
            let compared = !matches!(follow.prefixes, None | Some(Compared::None));
            follow.seen = compared && used.entries.is_some_and(|entries| calls > entries.into());
        }
        return follow;
    }
    let inserts = used.class == Class::Hash && has(Access::Insert);
    if inserts {
        follow.places = old;
        follow.reuse = has(Access::Delete);
    }
    let calls = most(&|_| true);
    let lru = matches!(used.kind, MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH);
    let changes = most(&|access| matches!(access, Access::Insert | Access::Delete));
    let counted = inserts && !lru;
    let Some(entries) = used.entries else {
        // Any number of free elements, but so few that all that a run meets can be there beside
        // them, if that does not mean that there are too few.
        if counted && (given || changes > 1) {
            let spare = used.inner.filter(|_| !given).map(u64::from);
            let spare = spare.filter(|&entries| calls.saturating_mul(2) <= entries);
            follow.room = Some(spare.map_or(u32::MAX, |entries| (entries - calls) as u32));
        }
        return follow;
    };
    follow.walked = has(Access::Walk) && !more;
    follow.disturbed = follow.walked && (has(Access::Insert) || has(Access::Delete));
    follow.seen = follow.walked || (calls > 1 && calls.saturating_mul(2) > entries.into());
    if counted && (given || follow.seen || changes > 1) {
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
            Target::Exit(_) | Target::Never => None,
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
