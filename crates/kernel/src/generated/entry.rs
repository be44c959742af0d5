//! Generates programs that end with a tail call of another program, which can be exchanged.

use std::os::fd::{AsRawFd, BorrowedFd};

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::helper::TAIL_CALL;
use slowpath_bpf::insn::{Register, Source};

use super::assembly::Assembly;
use super::{GeneratedError, KEY, load, map};
use crate::LoadedProgram;
use crate::program::Variant;
use crate::sys::{Cpus, RawMap};

/// A program that ends with a tail call through a program array with one slot. Dropping this value
/// empties the slot.
#[derive(Debug)]
pub struct Entry {
    program: LoadedProgram,
    slot: RawMap,
}

impl Entry {
    /// Creates a program that starts with the code that `before` generates. When this code starts,
    /// `r1` and `r6` contain the context. `variant` is that of the programs that it calls.
    pub fn new<E: From<GeneratedError>>(
        name: &str,
        variant: Variant,
        cpus: Cpus,
        before: impl FnOnce(&mut Assembly) -> Result<(), E>,
    ) -> Result<Entry, E> {
        let slot = map("slowpath.slot", MapKind::PROG_ARRAY, 4, cpus)?;
        let mut code = Assembly::default();
        code.mov(Register::R6, Source::Reg(Register::R1));
        before(&mut code)?;
        code.mov(Register::R1, Source::Reg(Register::R6));
        code.map(Register::R2, slot.fd());
        code.set(Register::R3, 0);
        code.call(TAIL_CALL);
        // With an empty slot, the tail call fails: return 0, `XDP_ABORTED` of XDP programs.
        code.exit(0);
        Ok(Entry { program: load(name, &code, variant)?, slot })
    }

    /// Returns the program that makes the tail call.
    pub fn program(&self) -> &LoadedProgram {
        &self.program
    }

    /// Sets the program that is tail-called.
    pub fn select(&self, program: BorrowedFd) -> Result<(), GeneratedError> {
        let selected = self.slot.update(&KEY, &program.as_raw_fd().to_ne_bytes());
        selected.map_err(|cause| GeneratedError::Selected { cause })
    }
}
