//! Creates the memory of a map when the map is first used, with the layout that [`MapLayout`]
//! describes.

use slowpath_codes as codes;
use std::collections::BTreeMap;

use slowpath_ir::{Operand, RegionKind};

use crate::lift::error::{Cause, LiftError};
use crate::lift::layout::memory::{Keying, MapLayout};
use crate::lift::lifter::Lifter;
use crate::lift::maps::class::{MapClass, class_of, element_bits};
use crate::lift::maps::lookup_comparison::LookupComparison;
use crate::lift::maps::operand::{INNER_MAP, MapOperand};
use crate::lift::state::value::{AbstractValue, MapId};
use crate::maps::{MapDef, MapKind, SlotRef};

impl Lifter<'_> {
    /// Returns the map that a call receives in an argument register.
    pub(in crate::lift) fn map_in(&mut self, register: u8) -> Result<MapOperand, Cause> {
        let value = self.ir.value(register);
        match self.state.regs[usize::from(register)] {
            AbstractValue::Map(map) => {
                let def = self.map_def(map)?.clone();
                let class = class_of(&def)?;
                let name = def.name.clone();
                let layout = self.layout_of(&name, &def, class, false);
                let tracking = self.tracking(&name);
                let id = MapId::of_object(map);
                Ok(MapOperand { def, class, layout, map_address: None, id, tracking })
            }
            AbstractValue::InnerMap(outer) => {
                let outer_def = self.map_def(outer)?;
                let Some(def) = outer_def.inner.as_deref().cloned() else {
                    let text = format!("the inner maps of {} are not defined", outer_def.name);
                    let hint = "define the inner map's type in the object (`__array(values, ...)`)";
                    return Err(Cause::new(codes::INNER_MAP_UNDEFINED, text, hint));
                };
                let name = format!("{}.inner", outer_def.name);
                let class = class_of(&def)?;
                let layout = self.layout_of(&name, &def, class, true);
                let tracking = self.tracking(&name);
                let id = MapId::inner_of(outer);
                Ok(MapOperand { def, class, layout, map_address: Some(value), id, tracking })
            }
            _ => {
                let text = format!("the map of the call (r{register}) differs between paths");
                let hint = "call the helper in each branch, with the map written out";
                Err(Cause::new(codes::MAP_DIFFERS_BETWEEN_PATHS, text, hint))
            }
        }
    }

    /// Returns the address of a section of global variables, which is the only element of the map
    /// with index `map`.
    pub(in crate::lift) fn map_data(&mut self, map: u32) -> Result<Operand, Cause> {
        let def = self.map_def(map)?.clone();
        let class = class_of(&def)?;
        let layout = self.layout_of(&def.name, &def, class, false);
        if def.read_only
            && let Some(initial) = &def.initial
        {
            self.ir.regions[layout.values.index()].content = Some(initial.clone());
        }
        Ok(self.ir.base(layout.values))
    }

    fn layout_of(&mut self, name: &str, def: &MapDef, class: MapClass, inner: bool) -> MapLayout {
        let keying = match (class, def.key_size) {
            (_, _) if inner => Keying::Interned,
            (MapClass::Array | MapClass::RedirectTargets, _) => Keying::Index,
            (MapClass::Maps, _) if def.kind == MapKind::ARRAY_OF_MAPS => Keying::Index,
            (_, 0..=4) => Keying::Number,
            _ => Keying::Interned,
        };
        let tracking = self.tracking(name);
        // Compared lookups need only the lengths of entries, not their existence and position.
        let compared = matches!(
            &tracking.prefixes,
            Some(LookupComparison::Sites(_) | LookupComparison::Last(_))
        );
        let values = self.ir.region(name, RegionKind::Map);
        let may_be_absent = match class {
            MapClass::Array | MapClass::Queue | MapClass::Stream => false,
            MapClass::Hash
            | MapClass::Trie
            | MapClass::RedirectTargets
            | MapClass::RedirectTargetsByKey
            | MapClass::Maps
            | MapClass::Programs => true,
        };
        let present = (!compared && may_be_absent)
            .then(|| self.ir.region(&format!("{name}.present"), RegionKind::Map));
        let identity = (!compared && matches!(class, MapClass::Trie | MapClass::Maps))
            .then(|| self.ir.region(&format!("{name}.identity"), RegionKind::Map));
        let moved = tracking.slots.then(|| self.zeroed(name, "moved"));
        let seen = (tracking.seen || compared).then(|| self.zeroed(name, "seen"));
        let lengths = compared.then(|| self.ir.region(&format!("{name}.lengths"), RegionKind::Map));
        let fill = if inner { self.start_fill(def, name, &tracking) } else { None };
        let differ = def.max_entries == 0 || def.flags & INNER_MAP != 0;
        let sizes = (inner && class == MapClass::Array && differ).then(|| self.start_sizes(name));
        let room = if class == MapClass::Queue {
            self.start_queue(def, name)
        } else if tracking.seen || (tracking.room.is_some() && !inner) {
            self.start_room(def, name, &tracking)
        } else {
            None
        };
        let layout = MapLayout {
            name: name.to_owned(),
            kind: def.kind,
            max_entries: def.max_entries,
            key_size: def.key_size,
            value_size: def.value_size,
            keying,
            values,
            element_bits: element_bits(def, class),
            present,
            identity,
            moved,
            first_access: seen,
            prefix_lengths: lengths,
            free_elements: room,
            fill,
            sizes,
            inner,
        };
        self.layouts.entry(name.to_owned()).or_insert(layout).clone()
    }
}

/// Returns the assumptions that the program reaches each map in one way only: directly or through
/// one map of maps. The model has separate memory for each way.
///
/// # Errors If the object itself states that the program reaches a map in two ways.
pub(in crate::lift) fn distinct_maps(
    layouts: &BTreeMap<String, MapLayout>,
    maps: &[MapDef],
) -> Result<Vec<String>, LiftError> {
    let shape = |map: &MapLayout| (map.kind, map.key_size, map.value_size);
    let outer = |map: &MapLayout| map.name.trim_end_matches(".inner").to_owned();
    // Names of the maps that the object itself puts into a map of maps.
    let stated = |outer: &str| -> Vec<&str> {
        let slots = maps.iter().filter(|map| map.name == outer).flat_map(|map| &map.slots);
        let map = |slot: &SlotRef| match *slot {
            SlotRef::Map(number) => Some(maps.get(number)?.name.as_str()),
            SlotRef::Program(_) => None,
        };
        slots.filter_map(|(_, slot)| map(slot)).collect()
    };
    let refused = |text: String| {
        let hint = "use another map in the initial values of the map of maps";
        LiftError::program(codes::UNSUPPORTED_MAP_TYPE, text, hint)
    };
    let mut sentences = Vec::new();
    let mut inners = layouts.values().filter(|map| map.inner);
    while let Some(inner) = inners.next() {
        let in_inner = stated(&outer(inner));
        for other in inners.clone().filter(|other| shape(other) == shape(inner)) {
            let in_other = stated(&outer(other));
            if let Some(both) = in_inner.iter().find(|map| in_other.contains(map)) {
                let maps = format!("{} and in {}", outer(inner), outer(other));
                return Err(refused(format!("map {both} is both in {maps}")));
            }
            sentences.push(format!("no map is both in {} and in {}", outer(inner), outer(other)));
        }
        let alike = |map: &&MapLayout| !map.inner && shape(map) == shape(inner);
        for map in layouts.values().filter(alike) {
            if in_inner.contains(&map.name.as_str()) {
                let text =
                    format!("map {} is used directly, and is also in {}", map.name, outer(inner));
                return Err(refused(text));
            }
            sentences.push(format!("map {} is not also in {}", map.name, outer(inner)));
        }
    }
    Ok(sentences)
}
