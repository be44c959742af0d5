//! Programs that only call another one, whichever is put into their slot.

use std::os::fd::{AsRawFd, BorrowedFd};

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::helper::TAIL_CALL;
use slowpath_bpf::insn::{Register, Source};

use super::assembly::Assembly;
use super::error::GeneratedError;
use super::{KEY, load, map};
use crate::Loaded;
use crate::sys::{Cpus, RawMap};

/// A program that ends by calling the one in its slot, which is emptied when this goes.
#[derive(Debug)]
pub struct Entry {
    program: Loaded,
    slot: RawMap,
}

impl Entry {
    /// One that does first what `before` writes, with the context in `r1` and `r6`. Programs with
    /// fragments are called only by such programs.
    pub fn new<E: From<GeneratedError>>(
        name: &str,
        fragments: bool,
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
        // Nothing in the slot: XDP_ABORTED.
        code.exit(0);
        Ok(Entry { program: load(name, &code, fragments)?, slot })
    }

    /// The program itself.
    pub fn program(&self) -> &Loaded {
        &self.program
    }

    /// From now on it calls this one.
    pub fn select(&self, program: BorrowedFd) -> Result<(), GeneratedError> {
        let selected = self.slot.update(&KEY, &program.as_raw_fd().to_ne_bytes());
        selected.map_err(|cause| GeneratedError::Selected { cause })
    }
}
