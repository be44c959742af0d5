//! The code of a program before linking, and the functions and maps that its instructions refer to.

use std::collections::BTreeMap;

use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::{BpfProgram, Referent};

#[derive(Clone, Copy)]
pub(super) struct Code<'a> {
    pub program: &'a BpfProgram,
    /// The variables whose addresses the program loads, by the index of the instruction that loads
    /// the address.
    pub variables: &'a BTreeMap<usize, Referent>,
}

impl<'a> Code<'a> {
    /// Lists the functions of the program. Each has its name, the index of its first instruction,
    /// and the index after its last instruction.
    pub fn functions(&self) -> impl Iterator<Item = (&'a str, usize, usize)> {
        let ends = self.program.subprograms.iter().skip(1).map(|function| function.first);
        let ends = ends.chain([self.program.insns.len()]);
        self.program
            .subprograms
            .iter()
            .zip(ends)
            .map(|(function, end)| (function.name.as_str(), function.first, end))
    }

    /// Returns the index of the first instruction of the function that an instruction calls.
    /// Returns `None` if it calls no function of the program.
    pub fn own_target(&self, slot: usize) -> Option<usize> {
        match self.program.insns[slot] {
            insn @ Insn::Call(Call::Subprogram { .. }) => insn.function_target(slot),
            _ => None,
        }
    }

    /// Returns the name of the function that an instruction calls. Returns `None` if it calls no
    /// function of the program.
    pub fn own_callee(&self, slot: usize) -> Option<&'a str> {
        let function = self.program.function_of(self.own_target(slot)?)?;
        Some(function.name.as_str())
    }

    /// Returns the name of the function that an instruction calls. Returns `None` for calls of
    /// helpers.
    pub fn callee(&self, slot: usize) -> Option<&'a str> {
        match self.program.insns[slot] {
            Insn::Call(Call::Kfunc { id, .. }) => {
                self.program.kfuncs.get(usize::try_from(id).ok()?).map(String::as_str)
            }
            _ => self.own_callee(slot),
        }
    }
}
