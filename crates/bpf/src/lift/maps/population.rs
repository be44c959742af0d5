//! Number of elements of a map. It never exceeds `max_entries`, and an insertion fails if and only
//! if the map is full (`prealloc_init`, `alloc_htab_elem`, `is_map_full` of
//! `kernel/bpf/hashtab.c`). Preallocated maps have `max_entries` elements and extra ones for
//! replacement; every CPU can take free elements of other CPUs. Without preallocation, the kernel
//! counts elements.
//!
//! Tracked only where it can affect the program, see [`super::tracking`].

use slowpath_ir::{Emit, InputKind, Operand, Reg, RegionKind};

use crate::lift::ir::builder::StartValue;
use crate::lift::ir::emit::word;
use crate::lift::layout::memory::{ABSENT, FreeElements, MapFill, PRESENT};
use crate::lift::lifter::Lifter;
use crate::lift::maps::cells::Cell;
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::operand::MapOperand;
use crate::lift::maps::tracking::Tracking;
use crate::maps::MapDef;

/// Name of the region of [`MapFill`].
const USED: &str = "used";

impl Lifter<'_> {
    /// Returns the number of existing elements that the run has accessed, if tracked.
    pub(in crate::lift) fn alive(&mut self, map: &MapOperand) -> Option<Cell> {
        map.tracking.walked.then(|| self.cell(map, "alive"))
    }

    /// Decrements [`Lifter::alive`] if the condition holds.
    pub(in crate::lift) fn decrement_alive(&mut self, map: &MapOperand, goes: Operand) {
        let Some(alive) = self.alive(map) else { return };
        let before = self.read(alive);
        let goes = self.ir.emit.zero_extend(goes, 64);
        let left = self.ir.emit.sub(before, goes);
        self.write(alive, left);
    }

    /// Increments [`Lifter::alive`] if the condition holds: an element was inserted, or an existing
    /// one accessed first.
    pub(in crate::lift) fn increment_alive(&mut self, map: &MapOperand, comes: Operand) {
        let Some(alive) = self.alive(map) else { return };
        let before = self.read(alive);
        let comes = self.ir.emit.zero_extend(comes, 64);
        let more = self.ir.emit.add(before, comes);
        self.write(alive, more);
    }

    /// Creates the tracked number of free elements of a map.
    pub(in crate::lift) fn start_room(
        &mut self,
        def: &MapDef,
        name: &str,
        tracking: &Tracking,
    ) -> Option<FreeElements> {
        let entries = u64::from(def.max_entries);
        let (room, others) = (format!("{name}.room"), format!("{name}.others"));
        let known = self.options.contents.get(name).filter(|_| entries > 0);
        let given = known.map(|content| {
            let listed = content.entries.len() as u64;
            (entries.saturating_sub(listed + content.others), listed)
        });
        if let Some((free, listed)) = given {
            self.ir.start(&room, 64, StartValue::Constant(free));
            self.ir.start(&others, 64, StartValue::Constant(listed));
            return None;
        }
        let Some(most) = tracking.room else {
            self.ir.start(&others, 64, StartValue::Constant(entries));
            return None;
        };
        let what = format!("free elements of {name}");
        let free = self.ir.input(&what, 64, 0, most.into(), InputKind::Unknown);
        self.ir.start(&room, 64, StartValue::Unknown(free));
        self.ir.start(&others, 64, StartValue::Rest { of: entries, without: free });
        Some(FreeElements { free, max_entries: def.max_entries })
    }

    /// Creates the fill level of a queue.
    pub(in crate::lift) fn start_queue(
        &mut self,
        def: &MapDef,
        name: &str,
    ) -> Option<FreeElements> {
        let entries = u64::from(def.max_entries);
        if entries == 0 {
            return None;
        }
        let next = format!("{name}.next");
        let what = format!("free elements of {name}");
        let free = self.ir.input(&what, 64, 0, entries, InputKind::Unknown);
        let start = match self.options.contents.get(name) {
            Some(given) => StartValue::Constant(given.entries.len() as u64 + given.others),
            None => StartValue::Rest { of: entries, without: free },
        };
        self.ir.start(&next, 64, start);
        Some(FreeElements { free, max_entries: def.max_entries })
    }

    /// Creates the tracked fill levels of the maps in a map of maps.
    pub(in crate::lift) fn start_fill(
        &mut self,
        def: &MapDef,
        name: &str,
        tracking: &Tracking,
    ) -> Option<MapFill> {
        let most = tracking.room?;
        let used = if self.options.contents.contains_key(name) {
            self.zeroed(name, USED)
        } else {
            self.ir.region(&format!("{name}.{USED}"), RegionKind::Map)
        };
        let least = def.max_entries.checked_sub(most);
        Some(MapFill { used, max_entries: def.max_entries, least })
    }

    /// Returns the number of elements of an inner map, 32 bits, and the address of this number.
    fn used(&mut self, map: &MapOperand) -> Option<(MapFill, Operand, Operand)> {
        let (fill, which) = (map.layout.fill?, map.map_address?);
        let number = self.map_number(which);
        let at = self.item(fill.used, number, 2);
        let emit = &mut self.ir.emit;
        let used = emit.load(at, 4);
        let Some(least) = fill.least else { return Some((fill, at, used)) };
        // Unknown memory can contain any number: clamp it to the possible fill levels.
        let (least, most) = (Operand::constant(32, least.into()), fill.most());
        let fewer = emit.ult(used, least);
        let used = emit.select(fewer, least, used);
        let more = emit.ult(most, used);
        Some((fill, at, emit.select(more, most, used)))
    }

    /// Returns the register with the number of free elements, if tracked.
    fn room(&mut self, map: &MapOperand) -> Option<Reg> {
        map.tracking.room.filter(|_| map.map_address.is_none())?;
        Some(self.ir.extra(&format!("{}.room", map.layout.name), 64))
    }

    /// Returns the condition that a map without the given element is full.
    pub(in crate::lift) fn full(&mut self, map: &MapOperand) -> Operand {
        // A map with as many places as possible keys always has room for an absent key.
        let keys = 1u64.checked_shl(8 * map.def.key_size);
        if keys.is_some_and(|keys| map.def.max_entries != 0 && keys <= map.def.max_entries.into()) {
            return Operand::constant(1, 0);
        }
        if let Some((fill, _, used)) = self.used(map) {
            return self.ir.emit.eq(used, fill.most());
        }
        match self.room(map) {
            Some(room) => self.ir.emit.eq(room, word(0)),
            None => {
                let room = format!("room in {}", map.def.name);
                self.ir.emit.unknown_bit(&room, &["yes", "no: -E2BIG"])
            }
        }
    }

    /// Returns an upper bound on the number of elements that the run has not accessed yet.
    pub(in crate::lift) fn unaccessed_bound(&mut self, map: &MapOperand) -> Reg {
        self.ir.extra(&format!("{}.others", map.layout.name), 64)
    }

    /// Counts an insertion under one condition and a deletion under the other.
    pub(in crate::lift) fn count(&mut self, map: &MapOperand, comes: Operand, goes: Operand) {
        self.increment_alive(map, comes);
        self.decrement_alive(map, goes);
        if let Some((_, at, used)) = self.used(map) {
            let emit = &mut self.ir.emit;
            let (comes, goes) = (emit.zero_extend(comes, 32), emit.zero_extend(goes, 32));
            let more = emit.add(used, comes);
            let left = emit.sub(more, goes);
            emit.store(at, left);
            return;
        }
        let Some(room) = self.room(map) else { return };
        let emit = &mut self.ir.emit;
        let (comes, goes) = (emit.zero_extend(comes, 64), emit.zero_extend(goes, 64));
        let more = emit.add(room, goes);
        let left = emit.sub(more, comes);
        emit.copy(room, left);
    }

    /// Returns the condition that an element exists if memory says so. Elements that the run
    /// accesses for the first time can exist only up to the number that the map can hold.
    pub(in crate::lift) fn first_access(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        exists: Operand,
    ) -> Operand {
        let (Some(seen), Some(present)) = (map.layout.first_access, map.layout.present) else {
            return exists;
        };
        let others = self.unaccessed_bound(map);
        let (seen, present) = (self.ir.base(seen), self.ir.base(present));
        let emit = &mut self.ir.emit;
        let offset = emit.zero_extend(element.number, 64);
        let (seen, present) = (emit.add(seen, offset), emit.add(present, offset));
        let before = emit.load(seen, 1);
        // Later accesses find in `present` the result of the first access, or of changes by the
        // run.
        let first = emit.eq(before, Operand::constant(8, 0));
        let none = emit.eq(others, word(0));
        let possible = emit.not(none);
        let found = emit.and(exists, possible);
        let here = emit.select(first, found, exists);
        let now = |value| Operand::constant(8, value);
        let noted = emit.select(here, now(PRESENT), now(ABSENT));
        let noted = emit.select(first, noted, before);
        emit.store(seen, noted);
        let byte = emit.zero_extend(here, 8);
        emit.store(present, byte);
        let met = emit.and(first, here);
        let one = emit.zero_extend(met, 64);
        let left = emit.sub(others, one);
        emit.copy(others, left);
        self.increment_alive(map, met);
        here
    }
}
