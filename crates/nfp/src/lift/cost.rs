//! The names of the cost classes of instructions. Targets assign prices to these classes.

use slowpath_ir::CostClassId;

use crate::{Address, Insn, MemCommand};

/// Branches that are always taken, including `rtn`. Taken branches on a bit count here too: their
/// cost is not published, and this is the class of the most expensive branches.
pub(super) const BRANCH: &str = "branch";
pub(super) const BRANCH_TAKEN: &str = "branch.taken";
pub(super) const BRANCH_NOT_TAKEN: &str = "branch.not_taken";

/// Returns the cost class of an instruction; conditional branches count as taken.
pub(super) fn class_of(insn: &Insn) -> &'static str {
    match *insn {
        Insn::Branch { .. } | Insn::BranchBit { .. } | Insn::Return { .. } => BRANCH,
        Insn::Mem { command, address, signal, .. } => memory_class(command, address, signal),
        _ if insn.writes_condition_codes() => "insn.cc",
        _ => "insn",
    }
}

/// Returns the cost class of a memory command. `post` stands for a command without a wait.
fn memory_class(command: MemCommand, address: Address, signal: Option<u8>) -> &'static str {
    macro_rules! class {
        ($operation:literal) => {
            match (address, signal) {
                (Address::Sram(..), Some(_)) => concat!("mem.sram.", $operation, ".wait"),
                (Address::Sram(..), None) => concat!("mem.sram.", $operation, ".post"),
                (Address::Dram(..), Some(_)) => concat!("mem.dram.", $operation, ".wait"),
                (Address::Dram(..), None) => concat!("mem.dram.", $operation, ".post"),
            }
        };
    }
    match command {
        MemCommand::Read32Swap => class!("read32"),
        MemCommand::Write8Swap => class!("write8"),
        MemCommand::Write32Swap => class!("write32"),
        MemCommand::Read8 => class!("read8"),
        MemCommand::AddImm => class!("add"),
        MemCommand::Add => class!("add_xfer"),
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
