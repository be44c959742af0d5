//! Models updates of longest-prefix-match tries, and deletions from them (`trie_update_elem`,
//! `trie_delete_elem` and `trie_check_add_elem` of `kernel/bpf/lpm_trie.c`, Linux 6.18).
//!
//! The model does not track the content of a trie after a run has accessed or changed it. A later
//! call may find or change any element, and the path relies on the result of this call. Every
//! result that the kernel can return is possible in the model.

use slowpath_ir::{Emit, Operand, Reg};

use crate::errno::{EEXIST, EINVAL, ENOENT, ENOMEM, ENOSPC};
use crate::lift::ir::emit::{errno, word};
use crate::lift::lifter::Lifter;
use crate::lift::maps::operand::MapOperand;

impl Lifter<'_> {
    /// Returns a 1-bit register that is set if the run has accessed the trie.
    fn trie_accessed(&mut self, map: &MapOperand) -> Reg {
        self.ir.start_zero(&format!("{}.asked before", map.layout.name), 1)
    }

    /// Returns a 1-bit register that is set if the run has changed the trie.
    fn trie_changed(&mut self, map: &MapOperand) -> Reg {
        self.ir.start_zero(&format!("{}.changed", map.layout.name), 1)
    }

    /// Returns the result of a lookup in a trie that the run may have changed: the position of the
    /// found element, and a 1-bit operand that is set if the lookup finds one. `position` and
    /// `found` are the result in the unchanged trie. `valid` is set if the key's prefix length is
    /// valid.
    pub(in crate::lift) fn find_in_changed_trie(
        &mut self,
        map: &MapOperand,
        (position, found): (Operand, Operand),
        valid: Operand,
    ) -> (Operand, Operand) {
        if !map.tracking.changed {
            return (position, found);
        }
        let (accessed, changed) = (self.trie_accessed(map), self.trie_changed(map));
        let sentence = format!(
            "a lookup in {} after a change finds the element in the witness",
            map.layout.name
        );
        self.rely_on_feasible(changed.into(), sentence);
        let any_place = self.any_place();
        let emit = &mut self.ir.emit;
        let exists =
            emit.unknown_bit("the element, behind a change of the trie", &["absent", "there"]);
        let exists = emit.and(exists, valid);
        let position = emit.select(changed, any_place, position);
        let found = emit.select(changed, exists, found);
        emit.copy(accessed, Operand::constant(1, 1));
        if self.options.contents.contains_key(&map.layout.name) {
            // The known content does not include the change.
            let address = self.value_address(map, position);
            let emit = &mut self.ir.emit;
            let written = emit.and(changed, found);
            self.havoc_if(written, address, map.def.value_size, "the element, behind a change");
        }
        (position, found)
    }

    /// Returns an unknown bit, which is 1 if the trie contains an element with exactly the prefix
    /// that is updated or deleted.
    fn has_prefix(&mut self, map: &MapOperand) -> Operand {
        let accessed = self.trie_accessed(map);
        let sentence = format!(
            "an update or deletion of {} finds the element in the witness",
            map.layout.name
        );
        self.rely_on_feasible(accessed.into(), sentence);
        let emit = &mut self.ir.emit;
        emit.copy(accessed, Operand::constant(1, 1));
        emit.unknown_bit("an element with this prefix", &["absent", "there"])
    }

    fn change_trie(&mut self, map: &MapOperand, success: Operand) {
        let changed = self.trie_changed(map);
        let emit = &mut self.ir.emit;
        let now = emit.or(changed, success);
        emit.copy(changed, now);
    }

    /// Models an update of a trie with the flags in `flags`, and returns the helper's result.
    pub(in crate::lift) fn update_trie(
        &mut self,
        map: &MapOperand,
        key: Operand,
        flags: Operand,
    ) -> Operand {
        const BPF_NOEXIST: u64 = 1;
        const BPF_EXIST: u64 = 2;
        let valid = self.prefix_fits(map, key);
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
        let invalid_key = emit.not(valid);
        let wrong = emit.or(wrong, invalid_key);
        let error = emit.select(wrong, errno(EINVAL), error);
        let success = emit.eq(error, word(0));
        self.change_trie(map, success);
        error
    }

    /// Models a deletion from a trie, and returns the helper's result.
    pub(in crate::lift) fn delete_from_trie(&mut self, map: &MapOperand, key: Operand) -> Operand {
        let valid = self.prefix_fits(map, key);
        let exists = self.has_prefix(map);
        let emit = &mut self.ir.emit;
        let error = emit.select(exists, word(0), errno(ENOENT));
        let error = emit.select(valid, error, errno(EINVAL));
        let success = emit.eq(error, word(0));
        self.change_trie(map, success);
        error
    }
}
