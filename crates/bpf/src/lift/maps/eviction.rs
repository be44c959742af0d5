//! Models eviction from LRU maps (`kernel/bpf/bpf_lru_list.c`; `htab_lru_map_update_elem`,
//! `__htab_lru_percpu_map_update_elem` of `kernel/bpf/hashtab.c`).
//!
//! An update takes a free element before it looks up the key. The map has `max_entries` elements in
//! total, so at most `max_entries - 1` of the existing ones remain. The LRU lists of the kernel
//! determine the evicted elements and their number; programs cannot see these lists. No element is
//! evicted between two updates.
//!
//! The lifted program counts updates. Each element has the number of the last update at which it
//! was known to exist, because this knowledge is valid until the next update.

use slowpath_ir::{Emit, Operand};

use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::maps::cells::Cell;
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::operand::MapOperand;

impl Lifter<'_> {
    /// Returns the storage of a counter: the updates in this run that took a free element of the
    /// map.
    fn updates(&mut self, map: &MapOperand) -> Cell {
        self.cell(map, "updates")
    }

    /// Returns a 1-bit operand that is set if elements of the map may have been evicted; `None` if
    /// the run cannot evict any.
    pub(in crate::lift) fn has_evicted(&mut self, map: &MapOperand) -> Option<Operand> {
        if !map.evicts() || !self.state.replaced.contains(&map.id) {
            return None;
        }
        let updates = self.updates(map);
        let updates = self.read(updates);
        let none = self.ir.emit.eq(updates, word(0));
        Some(self.ir.emit.not(none))
    }

    /// Returns the storage of an upper bound on a number of elements: those that survived the last
    /// update of a map and were not accessed since. Returns `None` if the bound is not tracked.
    fn survivors(&mut self, map: &MapOperand) -> Option<Cell> {
        map.tracking.seen.then(|| self.cell(map, "survivors"))
    }

    /// Models that an update takes a free element of an LRU map if `cond` holds. This may evict
    /// other elements.
    pub(in crate::lift) fn evict(&mut self, map: &MapOperand, cond: Operand) {
        let updates = self.updates(map);
        let before = self.read(updates);
        let next = self.ir.emit.add(before, word(1));
        self.write_if(cond, updates, next);
        if let Some(survivors) = self.survivors(map) {
            let most = u64::from(map.def.max_entries).saturating_sub(1);
            self.write_if(cond, survivors, word(most));
        }
        self.state.replace_elements(map.id);
    }

    /// Marks an element of an LRU map as existing until the next update, if `cond` is set.
    pub(in crate::lift) fn keep(&mut self, map: &MapOperand, element: ElementRef, cond: Operand) {
        let updates = self.updates(map);
        let now = self.read(updates);
        let found = self.word_of(map, "found", element.number);
        self.ir.emit.store_if(cond, found, now);
    }

    /// Returns a 1-bit operand that is set if an element still exists. `exists` is set if the
    /// element existed before the updates of this run, which may have evicted it.
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
        let unknown = emit.not(known);
        let quantity = format!("element of {} evicted since", map.layout.name);
        let mut evicted = emit.unknown_bit(&quantity, &["no", "yes"]);
        if let Some(survivors) = self.survivors(map) {
            let surviving = self.read(survivors);
            let emit = &mut self.ir.emit;
            let none = emit.eq(surviving, word(0));
            evicted = emit.or(evicted, none);
            let remains = emit.not(evicted);
            let found_again = emit.and(unknown, exists);
            let found_again = emit.and(found_again, remains);
            let fewer = emit.sub(surviving, word(1));
            self.write_if(found_again, survivors, fewer);
        }
        let emit = &mut self.ir.emit;
        let evicted = emit.and(evicted, unknown);
        emit.store(found, now);
        let gone = emit.and(exists, evicted);
        let base = self.ir.base(present);
        let emit = &mut self.ir.emit;
        let offset = emit.zero_extend(element.number, 64);
        let address = emit.add(base, offset);
        emit.store_if(gone, address, Operand::constant(8, 0));
        self.decrement_alive(map, gone);
        let emit = &mut self.ir.emit;
        let remains = emit.not(evicted);
        emit.and(exists, remains)
    }
}
