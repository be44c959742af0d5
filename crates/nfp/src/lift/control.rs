//! Lifts reads of control registers. The `immed` that follows such a read receives the value.

use super::core_state::{ArchReg, CoreState};
use super::error::LiftCause;
use crate::Insn;
use crate::csr::{PSEUDO_RANDOM, name};

impl CoreState {
    /// Lifts `local_csr_rd[register]`, which reads a control register.
    pub(super) fn local_csr_rd(&mut self, csr: u16) -> Result<(), LiftCause> {
        if csr != PSEUDO_RANDOM {
            let name = name(csr).map_or_else(|| format!("{csr:#x}"), str::to_owned);
            return Err(LiftCause::ControlRegister { name });
        }
        self.csr_value_due = true;
        Ok(())
    }

    /// If the previous instruction read a control register, writes the value to the destination of
    /// `insn` and returns true. Pseudo-random numbers can have any value.
    pub(super) fn take_csr_value(&mut self, insn: &Insn) -> Result<bool, LiftCause> {
        if !std::mem::take(&mut self.csr_value_due) {
            return Ok(false);
        }
        let Insn::Immed { dst, value: 0, shift: 0, both_banks } = *insn else {
            return Err(LiftCause::CsrValueUnused);
        };
        let number = self.unknown_word("pseudo_random_number", "the number");
        self.write_result(dst, number, both_banks);
        self.undefine(ArchReg::Previous, "the previous ALU result");
        Ok(true)
    }
}
