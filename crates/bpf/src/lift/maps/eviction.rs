//! Eviction from LRU maps (`kernel/bpf/bpf_lru_list.c`; `htab_lru_map_update_elem`,
//! `__htab_lru_percpu_map_update_elem` of `kernel/bpf/hashtab.c`).
//!
//! An update takes a free element before it looks up the key. There are `max_entries` elements in
//! total, so at most `max_entries - 1` of those in the map remain. LRU lists, which no program
//! sees, determine the evicted elements and their number. No element is evicted between two
//! updates.
//!
//! The lifted program counts updates. Knowledge about an element is valid until the next update. So
//! each element has the number of the last update at which it was known to exist.

use slowpath_ir::{Emit, Operand};

use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::maps::cells::Cell;
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::operand::MapOperand;

impl Lifter<'_> {
    /// Returns the number of updates that looked for a free element.
    fn updates(&mut self, map: &MapOperand) -> Cell {
        self.cell(map, "updates")
    }

    /// Returns the condition that an element may have been evicted; `None` if that is impossible.
    pub(in crate::lift) fn has_evicted(&mut self, map: &MapOperand) -> Option<Operand> {
        if !map.evicts() || !self.state.replaced.contains(&map.id) {
            return None;
        }
        let updates = self.updates(map);
        let updates = self.read(updates);
        let none = self.ir.emit.eq(updates, word(0));
        Some(self.ir.emit.not(none))
    }

    /// Returns an upper bound on the elements that survived the last update and were not found
    /// again yet, if tracked.
    fn survivors(&mut self, map: &MapOperand) -> Option<Cell> {
        map.tracking.seen.then(|| self.cell(map, "survivors"))
    }

    /// Takes a free element if the condition holds; other elements may be evicted.
    pub(in crate::lift) fn evict(&mut self, map: &MapOperand, cond: Operand) {
        let updates = self.updates(map);
        let before = self.read(updates);
        let more = self.ir.emit.add(before, word(1));
        self.write_if(cond, updates, more);
        if let Some(survivors) = self.survivors(map) {
            let most = u64::from(map.def.max_entries).saturating_sub(1);
            self.write_if(cond, survivors, word(most));
        }
        self.state.replace_elements(map.id);
    }

    /// Marks the element as existing until the next update, if the condition holds.
    pub(in crate::lift) fn keep(&mut self, map: &MapOperand, element: ElementRef, cond: Operand) {
        let updates = self.updates(map);
        let now = self.read(updates);
        let found = self.word_of(map, "found", element.number);
        self.ir.emit.store_if(cond, found, now);
    }

    /// Returns the condition that an element that existed still exists: it may have been evicted
    /// since.
    pub(in crate::lift) fn survives(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        exists: Operand,
    ) -> Operand {
        let exists = self.keeps_slot(map, element, exists);
        let (true, Some(present)) = (map.evicts(), map.layout.present) else { return exists };
        if !self.state.replaced.contains(&map.id) {
            return exists;
        }
        let updates = self.updates(map);
        let now = self.read(updates);
        let found = self.word_of(map, "found", element.number);
        let emit = &mut self.ir.emit;
        let last = emit.load(found, 8);
        let known = emit.eq(last, now);
        let open = emit.not(known);
        let what = format!("element of {} evicted since", map.layout.name);
        let mut goes = emit.unknown_bit(&what, &["no", "yes"]);
        if let Some(survivors) = self.survivors(map) {
            let left = self.read(survivors);
            let emit = &mut self.ir.emit;
            let none = emit.eq(left, word(0));
            goes = emit.or(goes, none);
            let stays = emit.not(goes);
            let counts = emit.and(open, exists);
            let counts = emit.and(counts, stays);
            let less = emit.sub(left, word(1));
            self.write_if(counts, survivors, less);
        }
        let emit = &mut self.ir.emit;
        let goes = emit.and(goes, open);
        emit.store(found, now);
        let gone = emit.and(exists, goes);
        let base = self.ir.base(present);
        let emit = &mut self.ir.emit;
        let offset = emit.zero_extend(element.number, 64);
        let address = emit.add(base, offset);
        emit.store_if(gone, address, Operand::constant(8, 0));
        self.decrement_alive(map, gone);
        let emit = &mut self.ir.emit;
        let stays = emit.not(goes);
        emit.and(exists, stays)
    }
}
