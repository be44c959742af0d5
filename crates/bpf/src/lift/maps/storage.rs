//! Models the positions of hash map elements in memory (`kernel/bpf/hashtab.c`).
//!
//! An update does not overwrite an existing element: a new element takes its place in the table.
//! The next insertion reuses the memory of a deleted element. A pointer to an old value keeps its
//! address. The old bytes stay there until another element reuses the memory.
//!
//! - `htab_map_update_elem` of a preallocated map uses the CPU's extra element for the new value;
//!   the replaced element becomes the extra one (`alloc_htab_elem`).
//! - Free elements of a preallocated map are in a LIFO list for each CPU (`pcpu_freelist_push`,
//!   `pcpu_freelist_pop`).
//! - Without preallocation, the allocator's per-CPU list is LIFO as well, but the allocator may use
//!   its entries for other purposes (`kernel/bpf/memalloc.c`).
//! - LRU maps take any element that was not used recently, even one that the run has used
//!   (`bpf_lru_pop_free`, `__bpf_lru_list_shrink`).
//! - Values of per-CPU maps, and values updated with `BPF_F_LOCK`, are overwritten in place.
//!
//! A position in a map's memory is called a slot; it is a 64-bit number. At the start, the slot of
//! an element is its number; larger slots belong to elements that are free at the start. For the
//! tracked properties, see [`super::tracking`].

use slowpath_ir::{BinaryOp, Emit, Operand, ValueFormat};

use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::maps::cells::Cell;
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::operand::MapOperand;
use crate::lift::state::value::AbstractValue;

/// Smallest slot that belongs to no element at the start of a run. It is the CPU's extra element
/// for replacements.
const FREE: u64 = 1 << 32;
/// Largest slot (position of a value in memory) to which an update can move an element of an LRU
/// map.
const ANY: u64 = 2 * FREE - 1;

/// Conditions that describe the effect of an update of a map element. Each is a 1-bit operand.
#[derive(Clone, Copy, Debug)]
pub(in crate::lift) struct Update {
    /// Set if an element with this key exists.
    pub exists: Operand,
    /// Set if the update succeeds.
    pub done: Operand,
    /// Set if the flags of the update (`BPF_F_LOCK`) demand that an existing element is overwritten
    /// in place.
    pub in_place: Operand,
    /// Set if the value is written to its slot, which is possible even if the update fails.
    pub written: Operand,
}

/// A free slot (position in the map's memory) that a new element can take. `cells` contains the
/// numbers in the model that change in this case, each with its new value.
struct Taken {
    slot: Operand,
    cells: Vec<(Cell, Operand)>,
}

impl Lifter<'_> {
    /// Returns a slot (position in the map's memory) that is free at the start of a run. `number`
    /// is its index among these slots.
    fn unused_slot(&mut self, map: &MapOperand, number: Operand) -> Operand {
        /// Bit that is set in the indices of free slots. It distinguishes them from the other
        /// numbers for which [`BinaryOp::Intern`] combines a number with a map's address.
        const OF_PLACE: u64 = 1 << 63;
        let Some(map_address) = map.map_address else {
            return self.ir.emit.add(number, word(FREE));
        };
        let emit = &mut self.ir.emit;
        let number = emit.add(number, word(OF_PLACE));
        let number = self.ir.emit.interned(Some(map_address), &[number]);
        let emit = &mut self.ir.emit;
        let wide = emit.zero_extend(number, 64);
        emit.add(wide, word(FREE))
    }

    /// Returns the slot of an element's value, which is its position in the map's memory. This is
    /// the element's number, unless the element was moved or different numbers may stand for the
    /// same element.
    pub(in crate::lift) fn value_slot(&mut self, map: &MapOperand, element: ElementRef) -> Operand {
        if map.layout.moved.is_some() {
            let at = self.word_of(map, "moved", element.number);
            let emit = &mut self.ir.emit;
            let moved = emit.load(at, 8);
            let number = emit.zero_extend(element.number, 64);
            return emit.binary(BinaryOp::Xor, number, moved);
        }
        let Some(identity) = map.layout.identity else { return element.number };
        if self.has_unknown_elements(map) {
            return self.any_place();
        }
        let address = self.ir.item(identity, element.number, 2);
        self.ir.emit.load(address, 4)
    }

    /// Returns the slot (position in the map's memory) to which an update writes the new value.
    pub(in crate::lift) fn slot_for_update(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        update: Update,
    ) -> Operand {
        if map.layout.moved.is_none() {
            return element.number;
        }
        let old = self.value_slot(map, element);
        let Update { exists, done: success, in_place, written } = update;
        let emit = &mut self.ir.emit;
        let stays = if map.overwrites_in_place() { exists } else { emit.and(exists, in_place) };
        let moves = emit.not(stays);
        let moves = emit.and(moves, success);
        let replaces = emit.and(moves, exists);
        let new = if map.evicts() {
            let written = if map.overwrites_in_place() { moves } else { written };
            self.any_slot(map, element, moves, written)
        } else if map.allocates() {
            let Taken { slot, cells } = self.take_slot(map);
            self.store_cells(cells, moves);
            self.free_slot(map, old, replaces);
            slot
        } else {
            let extra = self.cell(map, "extra");
            let first = self.unused_slot(map, word(0));
            let extra_before = self.read(extra);
            let emit = &mut self.ir.emit;
            let absent = emit.not(exists);
            let inserts = emit.and(moves, absent);
            let extra_slot = emit.binary(BinaryOp::Xor, extra_before, first);
            let Taken { slot, cells } = self.take_slot(map);
            self.store_cells(cells, inserts);
            let emit = &mut self.ir.emit;
            let next = emit.binary(BinaryOp::Xor, old, first);
            let slot = emit.select(exists, extra_slot, slot);
            self.write_if(replaces, extra, next);
            slot
        };
        let emit = &mut self.ir.emit;
        let slot = emit.select(stays, old, new);
        let number = emit.zero_extend(element.number, 64);
        let moved = emit.binary(BinaryOp::Xor, number, slot);
        let at = self.word_of(map, "moved", element.number);
        self.ir.emit.store_if(success, at, moved);
        slot
    }

    /// Frees the memory slot of a deleted map element, if `cond` is set.
    pub(in crate::lift) fn release_slot(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        cond: Operand,
    ) {
        if map.layout.moved.is_some() && !map.evicts() {
            let slot = self.value_slot(map, element);
            self.free_slot(map, slot, cond);
        }
    }

    /// Returns an unknown slot (position in the map's memory). If `written` is set, the slot is
    /// overwritten, so that its earlier owner loses it. If `moves` is set, `element` becomes the
    /// new owner.
    fn any_slot(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        moves: Operand,
        written: Operand,
    ) -> Operand {
        /// Number that marks a slot as having no owner, because a failed update has overwritten it.
        const NOBODY: u64 = u64::MAX;
        let cell = self.cell(map, "fresh");
        let fresh = self.read(cell);
        let next = self.ir.emit.add(fresh, word(1));
        let unused = self.unused_slot(map, next);
        let quantity = format!("element of {} that it uses", map.layout.name);
        let emit = &mut self.ir.emit;
        // The value 0 selects a slot that was free at the start.
        let drawn = emit.draw(&quantity, ValueFormat::Number, 64, ANY);
        let slot = emit.binary(BinaryOp::Xor, unused, drawn);
        if map.layout.inner {
            let free_at_start = emit.eq(drawn, word(0));
            let other = emit.not(free_at_start);
            let other = emit.and(other, written);
            let sentence = format!(
                "an update of a map in {} overwrites the old element that the path reads",
                map.layout.name.trim_end_matches(".inner")
            );
            // The kernel reuses only elements of the same map. The model also allows elements of
            // other inner maps, so runs may be infeasible but none is missing.
            self.rely_on_feasible(other, sentence);
        }
        self.write(cell, next);
        let owner = self.word_of(map, "owner", slot);
        let emit = &mut self.ir.emit;
        let number = emit.zero_extend(element.number, 64);
        let number = emit.add(number, word(1));
        let number = emit.select(moves, number, word(NOBODY));
        emit.store_if(written, owner, number);
        slot
    }

    /// Returns a free slot in the map's memory: the slot that was freed last, otherwise a slot that
    /// was free at the start.
    fn take_slot(&mut self, map: &MapOperand) -> Taken {
        let fresh = self.cell(map, "fresh");
        let used = self.read(fresh);
        let next = self.ir.emit.add(used, word(1));
        let unused = self.unused_slot(map, next);
        let reuses = map.tracking.reuse || (map.allocates() && !map.overwrites_in_place());
        if !reuses {
            return Taken { slot: unused, cells: vec![(fresh, next)] };
        }
        let cell = self.cell(map, "given back");
        let count = self.read(cell);
        let emit = &mut self.ir.emit;
        let mut available = count;
        if map.allocates() {
            let quantity = format!("freed elements of {} given away since", map.layout.name);
            let taken = emit.draw(&quantity, ValueFormat::Number, 64, u32::MAX.into());
            let some = emit.ult(taken, available);
            let rest = emit.sub(available, taken);
            available = emit.select(some, rest, word(0));
        }
        let none = emit.eq(available, word(0));
        let last = emit.sub(available, word(1));
        let last = emit.select(none, word(0), last);
        let next = emit.select(none, next, used);
        let at = self.freed_entry(map, last);
        let emit = &mut self.ir.emit;
        let freed = emit.load(at, 8);
        let slot = emit.select(none, unused, freed);
        Taken { slot, cells: vec![(fresh, next), (cell, last)] }
    }

    /// If `cond` is set, stores new values of numbers that the model keeps for a map, because an
    /// element takes a slot in the map's memory.
    fn store_cells(&mut self, cells: Vec<(Cell, Operand)>, cond: Operand) {
        for (cell, value) in cells {
            self.write_if(cond, cell, value);
        }
    }

    /// Returns the address of entry `number` in the list of freed slots (positions in the map's
    /// memory).
    fn freed_entry(&mut self, map: &MapOperand, number: Operand) -> Operand {
        let number = match map.map_address {
            Some(map_address) => self.ir.emit.interned(Some(map_address), &[number]),
            None => number,
        };
        self.word_of(map, "free", number)
    }

    fn free_slot(&mut self, map: &MapOperand, slot: Operand, cond: Operand) {
        let cell = self.cell(map, "given back");
        let count = self.read(cell);
        let at = self.freed_entry(map, count);
        let emit = &mut self.ir.emit;
        emit.store(at, slot);
        let more = emit.add(count, word(1));
        self.write_if(cond, cell, more);
    }

    /// Returns a 1-bit operand that is set if an element still has its slot in the map's memory.
    /// `exists` is set if the element existed before; another element of an LRU map may have taken
    /// the slot.
    pub(in crate::lift) fn keeps_slot(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        exists: Operand,
    ) -> Operand {
        if map.layout.moved.is_none() || !map.evicts() {
            return exists;
        }
        let slot = self.value_slot(map, element);
        let owner = self.word_of(map, "owner", slot);
        let emit = &mut self.ir.emit;
        let owner = emit.load(owner, 8);
        let nobody = emit.eq(owner, word(0));
        let number = emit.zero_extend(element.number, 64);
        let number = emit.add(number, word(1));
        let owns = emit.eq(owner, number);
        let survives = emit.or(nobody, owns);
        emit.and(exists, survives)
    }

    /// Marks earlier pointers to values of a map as old, if an update with these flags can replace
    /// elements.
    pub(in crate::lift) fn outdate(&mut self, map: &MapOperand, flags: AbstractValue) {
        /// Flags of an update that cannot replace an element (`BPF_NOEXIST`).
        const NOEXIST: AbstractValue = AbstractValue::Const(1);
        if map.evicts() || (!map.overwrites_in_place() && flags != NOEXIST) {
            self.state.replace_elements(map.id);
        }
    }
}
