//! Where the elements of hash maps are in memory (`kernel/bpf/hashtab.c`).
//!
//! An update does not overwrite an element but puts another one in its place in the table, and what
//! a deleted element occupied is given to the next one that is inserted. A pointer to a value from
//! before goes on pointing where it pointed: to the old bytes, until another element gets them.
//!
//! - `htab_map_update_elem` of a preallocated map takes the CPU's extra element for the new value;
//!   the element that it replaces becomes the extra one (`alloc_htab_elem`).
//! - Free elements of a preallocated map are a list for each CPU, last in, first out
//!   (`pcpu_freelist_push`, `pcpu_freelist_pop`).
//! - Without preallocation the allocator's list of the CPU is last in, first out too, but it may
//!   give away what is on it in between (`kernel/bpf/memalloc.c`).
//! - LRU maps take any element that was not used recently, also one that the run has used
//!   (`bpf_lru_pop_free`, `__bpf_lru_list_shrink`).
//! - Values of per-CPU maps, and of updates with `BPF_F_LOCK`, are overwritten where they are.
//!
//! Slots are numbers of 64 bits: at the start that of the element itself; larger ones are of
//! elements that were free then. What is tracked of it: see [`super::tracking`].

use slowpath_ir::{BinaryOp, Emit, Operand, Reading};

use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::maps::cells::Cell;
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::operand::MapOperand;
use crate::lift::state::value::AbstractValue;

/// The first slot that no element has at the start: the CPU's extra element.
const FREE: u64 = 1 << 32;
/// Largest slot that an element can get where any is possible.
const ANY: u64 = 2 * FREE - 1;

/// What an update does.
#[derive(Clone, Copy, Debug)]
pub(in crate::lift) struct Update {
    /// Whether there is an element with the key.
    pub exists: Operand,
    /// Whether it succeeds.
    pub done: Operand,
    /// Whether an existing element is overwritten where it is.
    pub in_place: Operand,
    /// Whether the value is written to its slot, though the update may fail.
    pub written: Operand,
}

/// A slot for a new element, and what is left without it.
struct Taken {
    slot: Operand,
    left: Vec<(Cell, Operand)>,
}

impl Lifter<'_> {
    /// The slot of this number among those that no element of the map has at the start.
    fn unused_slot(&mut self, map: &MapOperand, number: Operand) -> Operand {
        /// No word of a key with which a map is told, but the other way round.
        const OF_PLACE: u64 = 1 << 63;
        let Some(which) = map.which else { return self.ir.emit.add(number, word(FREE)) };
        let emit = &mut self.ir.emit;
        let number = emit.add(number, word(OF_PLACE));
        let number = self.ir.emit.interned(Some(which), &[number]);
        let emit = &mut self.ir.emit;
        let wide = emit.zero_extend(number, 64);
        emit.add(wide, word(FREE))
    }

    /// The slot of an element's value: the element's own, unless it was moved, or different
    /// elements may be the same.
    pub(in crate::lift) fn value_slot(&mut self, map: &MapOperand, element: ElementRef) -> Operand {
        if map.layout.moved.is_some() {
            let at = self.word_of(map, "moved", element.number);
            let emit = &mut self.ir.emit;
            let moved = emit.load(at, 8);
            let own = emit.zero_extend(element.number, 64);
            return emit.binary(BinaryOp::Xor, own, moved);
        }
        let Some(identity) = map.layout.identity else { return element.number };
        if self.finds_any_element(map) {
            return self.any_place();
        }
        let base = self.ir.base(identity);
        let emit = &mut self.ir.emit;
        let wide = emit.zero_extend(element.number, 64);
        let offset = emit.binary(BinaryOp::Shl, wide, word(2));
        let address = emit.add(base, offset);
        emit.load(address, 4)
    }

    /// The slot that the value of an update goes to.
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
        let Update { exists, done, in_place, written } = update;
        let emit = &mut self.ir.emit;
        let stays = if map.overwrites_in_place() { exists } else { emit.and(exists, in_place) };
        let moves = emit.not(stays);
        let moves = emit.and(moves, done);
        let replaces = emit.and(moves, exists);
        let new = if map.evicts() {
            let written = if map.overwrites_in_place() { moves } else { written };
            self.any_slot(map, element, moves, written)
        } else if map.allocates() {
            let Taken { slot, left } = self.take_slot(map);
            self.leave(left, moves);
            self.give_back(map, old, replaces);
            slot
        } else {
            let extra = self.cell(map, "extra");
            let first = self.unused_slot(map, word(0));
            let kept = self.read(extra);
            let emit = &mut self.ir.emit;
            let absent = emit.not(exists);
            let inserts = emit.and(moves, absent);
            let of_extra = emit.binary(BinaryOp::Xor, kept, first);
            let Taken { slot, left } = self.take_slot(map);
            self.leave(left, inserts);
            let emit = &mut self.ir.emit;
            let next = emit.binary(BinaryOp::Xor, old, first);
            let slot = emit.select(exists, of_extra, slot);
            self.write_if(replaces, extra, next);
            slot
        };
        let emit = &mut self.ir.emit;
        let slot = emit.select(stays, old, new);
        let own = emit.zero_extend(element.number, 64);
        let moved = emit.binary(BinaryOp::Xor, own, slot);
        let at = self.word_of(map, "moved", element.number);
        self.ir.emit.store_if(done, at, moved);
        slot
    }

    /// The value of an element that goes becomes free, if the condition holds.
    pub(in crate::lift) fn release_slot(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        cond: Operand,
    ) {
        if map.layout.moved.is_some() && !map.evicts() {
            let slot = self.value_slot(map, element);
            self.give_back(map, slot, cond);
        }
    }

    /// Any slot: the element that had it has none any more.
    fn any_slot(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        moves: Operand,
        written: Operand,
    ) -> Operand {
        /// Belongs to no element: what was there is overwritten all the same.
        const NOBODY: u64 = u64::MAX;
        let cell = self.cell(map, "fresh");
        let fresh = self.read(cell);
        let next = self.ir.emit.add(fresh, word(1));
        let unused = self.unused_slot(map, next);
        let what = format!("element of {} that it uses", map.layout.name);
        let emit = &mut self.ir.emit;
        // The least is one that was free at the start.
        let drawn = emit.draw(&what, Reading::Number, 64, ANY);
        let slot = emit.binary(BinaryOp::Xor, unused, drawn);
        if map.layout.inner {
            let own = emit.eq(drawn, word(0));
            let other = emit.not(own);
            let other = emit.and(other, written);
            let sentence = format!(
                "an update of a map in {} overwrites the old element that the path reads",
                map.layout.name.trim_end_matches(".inner")
            );
            // Of the slots that can be drawn, one is that which the kernel takes: it is an element of
            // the same map, while here it can be any map's.
            self.rely_on_possible(other, sentence);
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

    /// A free slot: the one that was given back last, else one that was free at the start.
    fn take_slot(&mut self, map: &MapOperand) -> Taken {
        let fresh = self.cell(map, "fresh");
        let used = self.read(fresh);
        let next = self.ir.emit.add(used, word(1));
        let unused = self.unused_slot(map, next);
        let again = map.tracking.reuse || (map.allocates() && !map.overwrites_in_place());
        if !again {
            return Taken { slot: unused, left: vec![(fresh, next)] };
        }
        let cell = self.cell(map, "given back");
        let count = self.read(cell);
        let emit = &mut self.ir.emit;
        let mut there = count;
        if map.allocates() {
            let what = format!("freed elements of {} given away since", map.layout.name);
            let gone = emit.draw(&what, Reading::Number, 64, u32::MAX.into());
            let some = emit.ult(gone, there);
            let rest = emit.sub(there, gone);
            there = emit.select(some, rest, word(0));
        }
        let none = emit.eq(there, word(0));
        let last = emit.sub(there, word(1));
        let last = emit.select(none, word(0), last);
        let next = emit.select(none, next, used);
        let at = self.given_back(map, last);
        let emit = &mut self.ir.emit;
        let given = emit.load(at, 8);
        let slot = emit.select(none, unused, given);
        Taken { slot, left: vec![(fresh, next), (cell, last)] }
    }

    /// What is left of the free slots, if one was taken.
    fn leave(&mut self, left: Vec<(Cell, Operand)>, cond: Operand) {
        for (cell, value) in left {
            self.write_if(cond, cell, value);
        }
    }

    /// Where the slot of this number among those that were given back is noted.
    fn given_back(&mut self, map: &MapOperand, number: Operand) -> Operand {
        let number = match map.which {
            Some(which) => self.ir.emit.interned(Some(which), &[number]),
            None => number,
        };
        self.word_of(map, "free", number)
    }

    fn give_back(&mut self, map: &MapOperand, slot: Operand, cond: Operand) {
        let cell = self.cell(map, "given back");
        let count = self.read(cell);
        let at = self.given_back(map, count);
        let emit = &mut self.ir.emit;
        emit.store(at, slot);
        let more = emit.add(count, word(1));
        self.write_if(cond, cell, more);
    }

    /// Whether an element still has its slot: in LRU maps, another one may have got it since.
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
        let own = emit.eq(owner, number);
        let own = emit.or(nobody, own);
        emit.and(exists, own)
    }

    /// Pointers to values from before are old from here on, if this update can make them so:
    /// `flags` is what is known of them.
    pub(in crate::lift) fn outdate(&mut self, map: &MapOperand, flags: AbstractValue) {
        /// `BPF_NOEXIST`: no element is replaced.
        const NOEXIST: AbstractValue = AbstractValue::Const(1);
        if map.evicts() || (!map.overwrites_in_place() && flags != NOEXIST) {
            self.state.replace_elements(map.id);
        }
    }
}
