//! Selects the properties to track for each map. A first lifting without tracking finds the uses of
//! maps by the program.
//!
//! Most programs look up an element and insert it if it is missing. They do not depend on the slots
//! of elements or on the number of elements. A program that may depend on them is lifted again,
//! with the properties in [`Tracking`].

use std::collections::{BTreeMap, BTreeSet};

use slowpath_ir::{Block, BlockId, InsnIdx};

use crate::lift::content::MapContent;
use crate::lift::maps::class::MapClass;
use crate::lift::maps::heaviest_path::most_on_a_path;
use crate::lift::maps::lookup_comparison::{LookupComparison, compared};
use crate::lift::maps::operand::MapOperand;
use crate::lift::maps::tracking::{Tracking, TrackingPlan};
use crate::lift::state::value::MapId;
use crate::maps::MapKind;

/// The way in which a call accesses a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lift) enum Access {
    LookUp,
    Insert,
    Delete,
    /// An iteration over all elements.
    Walk,
}

/// The calls in a program that use one map, or the inner maps of one map of maps.
#[derive(Clone, Debug)]
struct MapUsage {
    kind: MapKind,
    class: MapClass,
    /// Maximum number of elements (`max_entries`). `None` if it is unknown, or not equal for all
    /// maps that this value describes.
    entries: Option<u32>,
    /// Maximum number of elements in the object's definition, for inner maps of a map of maps;
    /// otherwise `None`. The inner maps of a running system can have other sizes.
    inner: Option<u32>,
    key_size: u32,
    sites: BTreeSet<(BlockId, InsnIdx, Access)>,
}

/// Calls that use maps, in the blocks lifted so far.
#[derive(Clone, Debug, Default)]
pub(in crate::lift) struct MapUses {
    maps: BTreeMap<String, MapUsage>,
    names: BTreeMap<MapId, String>,
    /// Maps whose values the program accesses through pointers that may be old: they were created
    /// before an update or deletion.
    old: BTreeSet<MapId>,
}

impl MapUses {
    pub fn note(&mut self, map: &MapOperand, (block, insn): (BlockId, InsnIdx), access: Access) {
        let name = &map.layout.name;
        let new = || MapUsage {
            kind: map.def.kind,
            class: map.class,
            entries: Some(map.def.max_entries)
                .filter(|&n| n > 0 && !map.layout.inner && !map.per_cpu_lists()),
            inner: map.layout.inner.then_some(map.def.max_entries),
            key_size: map.def.key_size,
            sites: BTreeSet::new(),
        };
        let used = self.maps.entry(name.clone()).or_insert_with(new);
        used.sites.insert((block, insn, access));
        self.names.entry(map.id).or_insert_with(|| name.clone());
    }

    /// Records that the program accesses values of maps through pointers that may be old: it may
    /// have obtained them before an update or deletion.
    pub fn note_old(&mut self, maps: impl IntoIterator<Item = MapId>) {
        self.old.extend(maps);
    }

    /// Selects the properties to track for each map. `contents` is the known content of maps, and
    /// `blocks` are all blocks of the program.
    pub fn plan(&self, contents: &BTreeMap<String, MapContent>, blocks: &[Block]) -> TrackingPlan {
        let mut plan = TrackingPlan::new();
        let old: BTreeSet<&String> = self.old.iter().filter_map(|id| self.names.get(id)).collect();
        for (name, used) in &self.maps {
            let content = contents.get(name);
            let tracking = tracking(used, old.contains(name), content, blocks);
            if tracking != Tracking::default() {
                plan.insert(name.clone(), tracking);
            }
        }
        plan
    }
}

/// Selects the properties to track for one map. `old` is set if the program may use pointers to
/// values that it obtained before an update or deletion. `content` is the map's content if it is
/// known.
fn tracking(
    used: &MapUsage,
    old: bool,
    content: Option<&MapContent>,
    blocks: &[Block],
) -> Tracking {
    // An iteration may visit elements with unknown keys.
    let has_unlisted = content.is_some_and(|content| content.others > 0);
    let known = content.is_some();
    let has = |access| used.sites.iter().any(|&(.., of)| of == access);
    let keyed = match used.class {
        MapClass::Hash | MapClass::RedirectTargetsByKey => true,
        MapClass::Maps => used.kind == MapKind::HASH_OF_MAPS,
        MapClass::Array
        | MapClass::Trie
        | MapClass::RedirectTargets
        | MapClass::Programs
        | MapClass::Stream
        | MapClass::Queue => false,
    };
    let max_calls = |counts: &dyn Fn(Access) -> bool| {
        let mut weights: BTreeMap<BlockId, u64> = BTreeMap::new();
        for &(block, _, _) in used.sites.iter().filter(|&&(.., access)| counts(access)) {
            *weights.entry(block).or_default() += 1;
        }
        most_on_a_path(blocks, &weights)
    };
    let max_executions = |site| {
        let at_site = used.sites.iter().filter(|(_, insn, _)| insn.0 == site);
        most_on_a_path(blocks, &at_site.map(|&(block, ..)| (block, 1)).collect())
    };
    let mut tracking = Tracking::default();
    if !keyed {
        tracking.changed =
            used.kind == MapKind::LPM_TRIE && (has(Access::Insert) || has(Access::Delete));
        if used.kind == MapKind::LPM_TRIE && !known {
            let look_ups = used.sites.iter().filter(|(.., access)| *access == Access::LookUp);
            let sites: BTreeSet<u32> = look_ups.clone().map(|(_, insn, _)| insn.0).collect();
            let twice = sites.iter().any(|&site| max_executions(site) > 1);
            let calls = max_calls(&|access| access == Access::LookUp);
            tracking.prefixes = compared(used.key_size, sites, (calls, twice));
            let compared = !matches!(tracking.prefixes, None | Some(LookupComparison::None));
            tracking.seen = compared && used.entries.is_some_and(|entries| calls > entries.into());
        }
        return tracking;
    }
    let inserts = used.class == MapClass::Hash && has(Access::Insert);
    // Without insertions, nothing reuses the memory of deleted elements, so their values stay
    // readable.
    if inserts {
        tracking.slots = old;
        tracking.reuse = has(Access::Delete);
    }
    let calls = max_calls(&|_| true);
    let changes = max_calls(&|access| matches!(access, Access::Insert | Access::Delete));
    let counted = inserts && !used.kind.evicts();
    let Some(entries) = used.entries else {
        // The bound on free elements leaves places for all elements that the run accesses, unless
        // the map is too small for this.
        if counted && (known || changes > 1) {
            let bound = used.inner.filter(|_| !known).map(u64::from);
            let bound = bound.filter(|&entries| calls.saturating_mul(2) <= entries);
            tracking.room = Some(bound.map_or(u32::MAX, |entries| (entries - calls) as u32));
        }
        return tracking;
    };
    tracking.walked = has(Access::Walk) && !has_unlisted;
    tracking.disturbed = tracking.walked && (has(Access::Insert) || has(Access::Delete));
    tracking.seen = tracking.walked || (calls > 1 && calls.saturating_mul(2) > entries.into());
    if counted && (known || tracking.seen || changes > 1) {
        // The bound on free elements leaves places for all elements that the run accesses.
        let bound = if tracking.seen { 0 } else { calls as u32 };
        tracking.room = Some(entries - bound);
    }
    tracking
}
