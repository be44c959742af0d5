//! Programs that only call another one, whichever is put into their slot.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd};

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::{Register, Source};

use super::assembly::Assembly;
use super::error::TimingError;
use crate::Loaded;
use crate::program::load_generated;
use crate::sys::{Cpus, MapSpec, RawMap};

/// `bpf_tail_call`.
const TAIL_CALL: i32 = 12;

/// A map of a generated program.
pub fn map(name: &str, kind: MapKind, value_size: u32, cpus: Cpus) -> Result<RawMap, TimingError> {
    let spec = MapSpec {
        name,
        kind: kind.0,
        key_size: 4,
        value_size,
        max_entries: 1,
        flags: 0,
        extra: 0,
        inner: None,
        btf: None,
        cpus,
    };
    RawMap::create(&spec).map_err(|cause| TimingError::Generated { what: "a map", cause })
}

/// A program that ends by calling the one in its slot.
#[derive(Debug)]
pub struct Entry {
    program: Loaded,
    slot: RawMap,
}

impl Entry {
    /// One that does first what `before` writes, with the context in `r6`. Programs with fragments
    /// are called only by such programs.
    pub fn new(
        name: &str,
        fragments: bool,
        cpus: Cpus,
        before: impl FnOnce(&mut Assembly) -> Result<(), TimingError>,
    ) -> Result<Entry, TimingError> {
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
        let loaded = load_generated(name, &code.code(), fragments);
        let fd = loaded.map_err(|cause| TimingError::Generated { what: "a program", cause })?;
        Ok(Entry { program: Loaded::new(fd, BTreeMap::new(), BTreeMap::new()), slot })
    }

    /// The program itself.
    pub fn program(&self) -> &Loaded {
        &self.program
    }

    /// From now on it calls this one.
    pub fn select(&self, program: BorrowedFd) -> Result<(), TimingError> {
        let value = program.as_raw_fd().to_ne_bytes();
        let selected = self.slot.update(&0u32.to_ne_bytes(), &value);
        selected.map_err(|cause| TimingError::Selected { cause })
    }
}
