//! Updates of and deletions from longest-prefix-match tries (`trie_update_elem`, `trie_delete_elem`
//! and `trie_check_add_elem` of `kernel/bpf/lpm_trie.c`, Linux 6.18).
//!
//! The model does not track the content of a trie after a run has accessed or changed it. A later
//! call finds or changes any element, and the path relies on the result of that call. The possible
//! results include all results of the kernel.

use slowpath_ir::{Emit, Operand, Reg};

use crate::errno::{EEXIST, EINVAL, ENOENT, ENOMEM, ENOSPC};
use crate::lift::ir::emit::{errno, word};
use crate::lift::lifter::Lifter;
use crate::lift::maps::operand::MapOperand;

impl Lifter<'_> {
    /// Register that is 1 if the run has accessed the trie.
    fn trie_asked(&mut self, map: &MapOperand) -> Reg {
        self.ir.start_zero(&format!("{}.asked before", map.layout.name), 1)
    }

    /// Register that is 1 if the run has changed the trie.
    fn trie_changed(&mut self, map: &MapOperand) -> Reg {
        self.ir.start_zero(&format!("{}.changed", map.layout.name), 1)
    }

    /// Returns place and existence of the element that a lookup finds in a trie that the run may
    /// have changed. `fine` is set if the key is not longer than the trie's.
    pub(in crate::lift) fn find_in_changed_trie(
        &mut self,
        map: &MapOperand,
        (place, found): (Operand, Operand),
        fine: Operand,
    ) -> (Operand, Operand) {
        if !map.tracking.changed {
            return (place, found);
        }
        let (asked, changed) = (self.trie_asked(map), self.trie_changed(map));
        let sentence =
            format!("a look-up in {} behind a change finds what the witness says", map.layout.name);
        self.rely_on_feasible(changed.into(), sentence);
        let any_place = self.any_place();
        let emit = &mut self.ir.emit;
        let there =
            emit.unknown_bit("the element, behind a change of the trie", &["absent", "there"]);
        let there = emit.and(there, fine);
        let place = emit.select(changed, any_place, place);
        let found = emit.select(changed, there, found);
        emit.copy(asked, Operand::constant(1, 1));
        if self.options.contents.contains_key(&map.layout.name) {
            // The known content is that before the change.
            let address = self.value_address(map, place);
            let emit = &mut self.ir.emit;
            let any = emit.and(changed, found);
            self.havoc_if(any, address, map.def.value_size, "the element, behind a change");
        }
        (place, found)
    }

    /// Returns an unknown bit: an element with exactly this key exists. Updates and deletions
    /// depend on it.
    fn has_prefix(&mut self, map: &MapOperand) -> Operand {
        let asked = self.trie_asked(map);
        let sentence =
            format!("an update or deletion of {} finds it as the witness says", map.layout.name);
        self.rely_on_feasible(asked.into(), sentence);
        let emit = &mut self.ir.emit;
        emit.copy(asked, Operand::constant(1, 1));
        emit.unknown_bit("an element with this prefix", &["absent", "there"])
    }

    fn change_trie(&mut self, map: &MapOperand, done: Operand) {
        let changed = self.trie_changed(map);
        let emit = &mut self.ir.emit;
        let now = emit.or(changed, done);
        emit.copy(changed, now);
    }

    /// Returns the result of an update with these flags.
    pub(in crate::lift) fn update_trie(
        &mut self,
        map: &MapOperand,
        key: Operand,
        flags: Operand,
    ) -> Operand {
        const BPF_NOEXIST: u64 = 1;
        const BPF_EXIST: u64 = 2;
        let fine = self.prefix_fits(map, key);
        let exists = self.has_prefix(map);
        let room = format!("room in {}", map.def.name);
        let emit = &mut self.ir.emit;
        let full = emit.unknown_bit(&room, &["yes", "no: -ENOSPC"]);
        let memory = emit.unknown_bit("memory for the element", &["yes", "no: -ENOMEM"]);
        let wrong = emit.ult(word(BPF_EXIST), flags);
        let new = emit.eq(flags, word(BPF_NOEXIST));
        let exist = emit.eq(flags, word(BPF_EXIST));
        let inserted = emit.select(full, errno(ENOSPC), word(0));
        let inserted = emit.select(exist, errno(ENOENT), inserted);
        let replaced = emit.select(new, errno(EEXIST), word(0));
        let error = emit.select(exists, replaced, inserted);
        let error = emit.select(memory, errno(ENOMEM), error);
        let unfit = emit.not(fine);
        let wrong = emit.or(wrong, unfit);
        let error = emit.select(wrong, errno(EINVAL), error);
        let done = emit.eq(error, word(0));
        self.change_trie(map, done);
        error
    }

    /// Returns the result of a deletion.
    pub(in crate::lift) fn delete_from_trie(&mut self, map: &MapOperand, key: Operand) -> Operand {
        let fine = self.prefix_fits(map, key);
        let exists = self.has_prefix(map);
        let emit = &mut self.ir.emit;
        let error = emit.select(exists, word(0), errno(ENOENT));
        let error = emit.select(fine, error, errno(EINVAL));
        let done = emit.eq(error, word(0));
        self.change_trie(map, done);
        error
    }
}
