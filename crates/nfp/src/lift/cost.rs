//! Names of cost classes; targets assign the prices.

use slowpath_ir::CostClassId;

use crate::{Address, Insn, MemCommand};

/// Branches that are always taken, including `rtn`. Taken branches on a bit count here too: their
/// cost is not published, and this is the class of the most expensive branches.
pub(super) const BRANCH: &str = "branch";
pub(super) const BRANCH_TAKEN: &str = "branch.taken";
pub(super) const BRANCH_NOT_TAKEN: &str = "branch.not_taken";

/// Returns the cost class of an instruction; conditional branches count as taken.
pub(super) fn class_of(insn: &Insn) -> &'static str {
    use MemCommand::{Add, AddImm, Read8, Read32Swap, Write8Swap, Write32Swap};
    match *insn {
        Insn::Branch { .. } | Insn::BranchBit { .. } | Insn::Return { .. } => BRANCH,
        Insn::Mem { command, address: Address::Sram(..), signal, .. } => {
            match (command, signal.is_some()) {
                (Read32Swap, true) => "mem.sram.read32.wait",
                (Read32Swap, false) => "mem.sram.read32.post",
                (Write8Swap, true) => "mem.sram.write8.wait",
                (Write8Swap, false) => "mem.sram.write8.post",
                (Write32Swap, true) => "mem.sram.write32.wait",
                (Write32Swap, false) => "mem.sram.write32.post",
                (Read8, true) => "mem.sram.read8.wait",
                (Read8, false) => "mem.sram.read8.post",
                (AddImm, true) => "mem.sram.add.wait",
                (AddImm, false) => "mem.sram.add.post",
                (Add, true) => "mem.sram.add_xfer.wait",
                (Add, false) => "mem.sram.add_xfer.post",
            }
        }
        Insn::Mem { command, address: Address::Dram(..), signal, .. } => {
            match (command, signal.is_some()) {
                (Read32Swap, true) => "mem.dram.read32.wait",
                (Read32Swap, false) => "mem.dram.read32.post",
                (Write8Swap, true) => "mem.dram.write8.wait",
                (Write8Swap, false) => "mem.dram.write8.post",
                (Write32Swap, true) => "mem.dram.write32.wait",
                (Write32Swap, false) => "mem.dram.write32.post",
                (Read8, true) => "mem.dram.read8.wait",
                (Read8, false) => "mem.dram.read8.post",
                (AddImm, true) => "mem.dram.add.wait",
                (AddImm, false) => "mem.dram.add.post",
                (Add, true) => "mem.dram.add_xfer.wait",
                (Add, false) => "mem.dram.add_xfer.post",
            }
        }
        _ if insn.writes_condition_codes() => "insn.cc",
        _ => "insn",
    }
}

/// The cost classes that occur, numbered in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub(super) struct CostClasses {
    names: Vec<&'static str>,
}

impl CostClasses {
    /// Returns the number of a class, and adds the class if it is new.
    pub fn id(&mut self, name: &'static str) -> CostClassId {
        let index = self.names.iter().position(|&known| known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        CostClassId::from(index)
    }

    pub fn into_names(self) -> Vec<String> {
        self.names.into_iter().map(str::to_owned).collect()
    }
}
