//! Lifts accesses to local memory: base registers, and words relative to them.
//!
//! A write of a base register takes effect three cycles later. Most instructions take one cycle, so
//! the fourth instruction after the write is the first to use the new base. A memory command that
//! waits takes at least three cycles by itself.

use slowpath_ir::{BinaryOp, Emit, Operand as Value};

use super::core_state::{ArchReg, CoreState};
use super::delayed_effects::PendingBase;
use crate::{LocalAccess, Operand};

/// Number of instructions after a write of a base register that still read the old value.
const DELAY: usize = 3;
/// Number of bytes in a word.
const WORD: u64 = 4;

impl CoreState {
    /// Lifts `local_csr_wr[ActLMAddrN, src]`, which sets a base register of local memory.
    pub(super) fn local_csr_wr(&mut self, index: u8, src: Operand) {
        let value = self.source(src);
        let value = self.emit.capture(value);
        self.pending.push(PendingBase { index, value, remaining: DELAY, number: self.number });
    }

    /// Applies the pending writes of base registers that take effect before the next instruction.
    /// Counts down the delays of the other pending writes.
    pub(super) fn step_pending(&mut self) {
        for mut pending in std::mem::take(&mut self.pending) {
            if pending.remaining == 0 {
                self.set_local_base(pending.index, pending.value);
            } else {
                pending.remaining -= 1;
                self.pending.push(pending);
            }
        }
    }

    /// Makes all pending writes of base registers take effect, because the current instruction
    /// takes at least three cycles.
    pub(super) fn expire_pending(&mut self) {
        self.pending.iter_mut().for_each(|pending| pending.remaining = 0);
    }

    /// Returns the writes of base registers that have not taken effect at the end of a block, in
    /// order, and removes them.
    pub(super) fn take_pending(&mut self) -> Vec<PendingBase> {
        std::mem::take(&mut self.pending)
    }

    pub(super) fn set_local_base(&mut self, index: u8, value: Value) {
        self.set(ArchReg::LocalBase(index), value);
    }

    fn local_address(&mut self, index: u8, access: LocalAccess) -> Value {
        let base = self.get(ArchReg::LocalBase(index));
        match access {
            LocalAccess::Word(word) if word > 0 => {
                let offset = Value::constant(32, WORD * u64::from(word));
                self.emit.binary(BinaryOp::Add, base, offset)
            }
            _ => base,
        }
    }

    /// Loads the word of local memory that an operand names.
    pub(super) fn local_word(&mut self, index: u8, access: LocalAccess) -> Value {
        let address = self.local_address(index, access);
        self.emit.load(address, WORD as u8)
    }

    /// Stores a value to the word of local memory that an operand names.
    pub(super) fn store_local_word(&mut self, index: u8, access: LocalAccess, value: Value) {
        let address = self.local_address(index, access);
        self.emit.store(address, value);
    }

    /// Increments or decrements the base register if the operand asks for it.
    pub(super) fn advance_local_base(&mut self, index: u8, access: LocalAccess) {
        let op = match access {
            LocalAccess::Word(_) => return,
            LocalAccess::Increment => BinaryOp::Add,
            LocalAccess::Decrement => BinaryOp::Sub,
        };
        let base = self.get(ArchReg::LocalBase(index));
        self.set_binary(ArchReg::LocalBase(index), op, base, Value::constant(32, WORD));
    }
}
