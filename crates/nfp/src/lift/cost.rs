//! The names of the cost classes of instructions. Target descriptions assign a cost to each class.

use slowpath_ir::CostClassId;

use crate::{Address, Insn, MemCommand};

/// Cost class of branches that are always taken, including `rtn`. Branches that test a bit are in
/// this class as well when they are taken. Their cost is not published, and this class has the
/// largest cost of all branches.
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

/// Returns the cost class of a memory command. The suffix `post` of a class stands for commands
/// after which the thread does not wait.
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

/// The cost classes that occur in a program, numbered in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub(super) struct CostClasses {
    names: Vec<&'static str>,
}

impl CostClasses {
    /// Returns the ID of a cost class, and adds the class if it is new.
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
