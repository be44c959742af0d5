//! Tracks the number of elements in a map. It never exceeds `max_entries`, and an insertion fails
//! if and only if the map is full (`prealloc_init`, `alloc_htab_elem`, `is_map_full` of
//! `kernel/bpf/hashtab.c`). Preallocated maps have `max_entries` elements and extra ones for
//! replacement; every CPU can take free elements of other CPUs. Without preallocation, the kernel
//! counts elements.
//!
//! The number is tracked only if it can affect the program, see [`super::tracking`].

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

/// Suffix of the name of the memory region that [`MapFill`] describes.
const USED: &str = "used";

impl Lifter<'_> {
    /// Returns the storage of a counter: the existing elements of a map that the run has accessed.
    /// Returns `None` if they are not counted.
    pub(in crate::lift) fn alive(&mut self, map: &MapOperand) -> Option<Cell> {
        map.tracking.walked.then(|| self.cell(map, "alive"))
    }

    /// Decrements the counter of accessed existing elements ([`Lifter::alive`]) if `deletes` is
    /// set.
    pub(in crate::lift) fn decrement_alive(&mut self, map: &MapOperand, deletes: Operand) {
        let Some(alive) = self.alive(map) else { return };
        let before = self.read(alive);
        let deletes = self.ir.emit.zero_extend(deletes, 64);
        let after = self.ir.emit.sub(before, deletes);
        self.write(alive, after);
    }

    /// Increments the counter of accessed existing elements ([`Lifter::alive`]) if `adds` is set:
    /// the run inserts an element, or accesses an existing one for the first time.
    pub(in crate::lift) fn increment_alive(&mut self, map: &MapOperand, adds: Operand) {
        let Some(alive) = self.alive(map) else { return };
        let before = self.read(alive);
        let adds = self.ir.emit.zero_extend(adds, 64);
        let more = self.ir.emit.add(before, adds);
        self.write(alive, more);
    }

    /// Sets the initial values of two numbers that the model keeps for a map: its free elements,
    /// and the existing elements that the run has not accessed. Returns the input that stands for
    /// the number of free elements, if this number is unknown.
    pub(in crate::lift) fn start_room(
        &mut self,
        def: &MapDef,
        name: &str,
        tracking: &Tracking,
    ) -> Option<FreeElements> {
        let entries = u64::from(def.max_entries);
        let (room, others) = (format!("{name}.room"), format!("{name}.others"));
        let known = self.options.contents.get(name).filter(|_| entries > 0);
        let free_and_listed = known.map(|content| {
            let listed = content.entries.len() as u64;
            (entries.saturating_sub(listed + content.others), listed)
        });
        if let Some((free, listed)) = free_and_listed {
            self.ir.start(&room, 64, StartValue::Constant(free));
            self.ir.start(&others, 64, StartValue::Constant(listed));
            return None;
        }
        let Some(most) = tracking.room else {
            self.ir.start(&others, 64, StartValue::Constant(entries));
            return None;
        };
        let quantity = format!("free elements of {name}");
        let free = self.ir.input(&quantity, 64, 0, most.into(), InputKind::Unknown);
        self.ir.start(&room, 64, StartValue::Unknown(free));
        self.ir.start(&others, 64, StartValue::Rest { of: entries, without: free });
        Some(FreeElements { free, max_entries: def.max_entries })
    }

    /// Sets the number of elements that a queue has at the start. Returns the input that determines
    /// this number.
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
        let quantity = format!("free elements of {name}");
        let free = self.ir.input(&quantity, 64, 0, entries, InputKind::Unknown);
        let start = match self.options.contents.get(name) {
            Some(content) => StartValue::Constant(content.entries.len() as u64 + content.others),
            None => StartValue::Rest { of: entries, without: free },
        };
        self.ir.start(&next, 64, start);
        Some(FreeElements { free, max_entries: def.max_entries })
    }

    /// Creates the memory region that contains the number of elements of each inner map of a map of
    /// maps. Returns `None` if these numbers are not tracked.
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

    /// Looks up the number of elements in an inner map of a map of maps. Returns a description of
    /// the region with all such numbers, the address of this number, and the number itself as a
    /// 32-bit operand. Returns `None` if the numbers are not tracked.
    fn used(&mut self, map: &MapOperand) -> Option<(MapFill, Operand, Operand)> {
        let (fill, map_address) = (map.layout.fill?, map.map_address?);
        let number = self.map_number(map_address);
        let at = self.ir.item(fill.used, number, 2);
        let emit = &mut self.ir.emit;
        let used = emit.load(at, 4);
        let Some(least) = fill.least else { return Some((fill, at, used)) };
        // Unknown memory can contain any number, so clamp it to the possible fill levels.
        let (least, most) = (Operand::constant(32, least.into()), fill.most());
        let fewer = emit.ult(used, least);
        let used = emit.select(fewer, least, used);
        let more = emit.ult(most, used);
        Some((fill, at, emit.select(more, most, used)))
    }

    /// Returns the register that contains the number of free elements; `None` if it is not tracked.
    fn room(&mut self, map: &MapOperand) -> Option<Reg> {
        map.tracking.room.filter(|_| map.map_address.is_none())?;
        Some(self.ir.extra(&format!("{}.room", map.layout.name), 64))
    }

    /// Returns a 1-bit operand that is set if the map is full, so that an insertion fails. The key
    /// to insert must be absent.
    pub(in crate::lift) fn full(&mut self, map: &MapOperand) -> Operand {
        // A map that can hold every possible key has room for an absent key.
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

    /// Returns the register with an upper bound on the number of existing elements that the run has
    /// not accessed yet.
    pub(in crate::lift) fn unaccessed_bound(&mut self, map: &MapOperand) -> Reg {
        self.ir.extra(&format!("{}.others", map.layout.name), 64)
    }

    /// Updates the model's number of elements: increments it if `inserts` is set, and decrements it
    /// if `deletes` is set.
    pub(in crate::lift) fn count(&mut self, map: &MapOperand, inserts: Operand, deletes: Operand) {
        self.increment_alive(map, inserts);
        self.decrement_alive(map, deletes);
        if let Some((_, at, used)) = self.used(map) {
            let emit = &mut self.ir.emit;
            let (inserts, deletes) = (emit.zero_extend(inserts, 32), emit.zero_extend(deletes, 32));
            let used = emit.add(used, inserts);
            let used = emit.sub(used, deletes);
            emit.store(at, used);
            return;
        }
        let Some(room) = self.room(map) else { return };
        let emit = &mut self.ir.emit;
        let (inserts, deletes) = (emit.zero_extend(inserts, 64), emit.zero_extend(deletes, 64));
        let new_room = emit.add(room, deletes);
        let new_room = emit.sub(new_room, inserts);
        emit.copy(room, new_room);
    }

    /// Returns a 1-bit operand that is set if an element exists. `exists` is the mark in memory
    /// that it exists at the start. The first access of the run to the element ignores this mark if
    /// the map cannot contain more elements than the run has accessed.
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
        // At later accesses, `present` has the result of the first access, or of changes by the
        // run.
        let first = emit.eq(before, Operand::constant(8, 0));
        let none = emit.eq(others, word(0));
        let possible = emit.not(none);
        let found = emit.and(exists, possible);
        let exists_now = emit.select(first, found, exists);
        let now = |value| Operand::constant(8, value);
        let note = emit.select(exists_now, now(PRESENT), now(ABSENT));
        let note = emit.select(first, note, before);
        emit.store(seen, note);
        let byte = emit.zero_extend(exists_now, 8);
        emit.store(present, byte);
        let first_found = emit.and(first, exists_now);
        let one = emit.zero_extend(first_found, 64);
        let left = emit.sub(others, one);
        emit.copy(others, left);
        self.increment_alive(map, first_found);
        exists_now
    }
}
