//! Defines linked programs, which consist of resolved instructions with their source lines and
//! functions.

use std::fmt;

use super::ProgramKind;
use super::parsed::Object;
use crate::insn::{Insn, Names};
use crate::line_info::LineInfo;

/// A linked program. All references are resolved, except those in [`BpfProgram::unresolved`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BpfProgram {
    /// Index of the program in [`Object::programs`].
    pub number: usize,
    /// Name of the entry function.
    pub name: String,
    /// Name of the section that contains the entry function.
    pub section: String,
    /// Type of the program, such as XDP.
    pub kind: ProgramKind,
    /// Instructions by slot, as the kernel numbers them: the entry function, then the functions
    /// that it can call. Map operands are indices into [`Object::maps`].
    pub insns: Vec<Insn>,
    /// Source line of each slot; `None` where it is unknown.
    pub lines: Vec<Option<LineInfo>>,
    /// Functions by ascending first slot; the first one is the entry function.
    pub subprograms: Vec<Subprogram>,
    /// Names of the kernel functions that [`crate::insn::Call::Kfunc`] refers to by index.
    pub kfuncs: Vec<String>,
    /// Unresolved instructions, sorted by slot. Each is a call of [`crate::insn::POISON`], which is
    /// a fault only if the program can reach it.
    pub unresolved: Vec<Unresolved>,
}

/// A function of a linked program: the entry function or a function that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subprogram {
    /// Name of the function.
    pub name: String,
    /// First slot of the function among all instructions of the program.
    pub first: usize,
    /// True for a global function, which the kernel verifies separately.
    pub global: bool,
    /// Name of the section that contains the function.
    pub section: String,
    /// First slot of the function among all instructions of its section.
    pub section_slot: usize,
}

/// An instruction whose reference to a map, variable or function could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// Instruction slot in the linked program.
    pub insn: usize,
    /// Name of the target that the instruction refers to, and the reason why the reference could
    /// not be resolved.
    pub what: String,
}

impl BpfProgram {
    /// Returns true if the program accepts fragmented packets (section `xdp.frags`). It can access
    /// only the first fragment of such a packet directly.
    pub fn accepts_fragments(&self) -> bool {
        self.section.contains("xdp.frags")
    }

    /// Returns true if the program runs on a cpumap or devmap entry, after another program has
    /// redirected the packet.
    pub fn runs_on_map_entry(&self) -> bool {
        let kinds = ["/cpumap", "/devmap", "_cpumap", "_devmap"];
        kinds.iter().any(|kind| self.section.contains(kind))
    }

    /// Returns the function that contains the instruction at this slot.
    pub fn function_of(&self, slot: usize) -> Option<&Subprogram> {
        let after = self.subprograms.partition_point(|s| s.first <= slot);
        self.subprograms.get(after.checked_sub(1)?)
    }

    /// Returns the section in the object file that contains the instruction at this slot, and the
    /// instruction's slot in that section. Disassemblers of the object show these numbers.
    pub fn place(&self, slot: usize) -> Option<(&str, usize)> {
        let function = self.function_of(slot)?;
        Some((&function.section, slot - function.first + function.section_slot))
    }

    /// Describes the instruction at this slot for messages: section, slot in the section, and
    /// source line.
    pub fn place_text(&self, slot: usize) -> String {
        let mut text = match self.place(slot) {
            Some((section, slot)) => format!("section {section}, instruction {slot}"),
            None => format!("instruction {slot}"),
        };
        if let Some(Some(line)) = self.lines.get(slot) {
            text.push_str(&format!(" ({}:{})", line.file, line.line));
        }
        text
    }

    /// Returns the reason why the instruction at this slot is unresolved; `None` if it is resolved.
    pub fn unresolved(&self, slot: usize) -> Option<&str> {
        let found = self.unresolved.binary_search_by_key(&slot, |u| u.insn).ok()?;
        Some(&self.unresolved[found].what)
    }

    /// Disassembles the instruction at this slot, with the names of maps and functions. Returns an
    /// empty text for the second slot of a 64-bit immediate load, or a slot beyond the end.
    pub fn disassemble(&self, object: &Object, slot: usize) -> String {
        let mut text = String::new();
        if let Some(insn) = self.insns.get(slot).filter(|insn| **insn != Insn::SecondSlot) {
            // Writing to a string cannot fail.
            let _: fmt::Result =
                insn.print(&mut text, &ProgramNames { program: self, object, slot });
        }
        text
    }
}

struct ProgramNames<'a> {
    program: &'a BpfProgram,
    object: &'a Object,
    slot: usize,
}

impl Names for ProgramNames<'_> {
    fn map(&self, index: u32) -> Option<&str> {
        self.object.maps.get(index as usize).map(|map| map.name.as_str())
    }

    fn function(&self, _: i32) -> Option<&str> {
        let first = self.program.insns.get(self.slot)?.function_target(self.slot)?;
        let found = self.program.subprograms.iter().find(|s| s.first == first);
        found.map(|s| s.name.as_str())
    }

    fn kfunc(&self, id: i32) -> Option<&str> {
        self.program.kfuncs.get(usize::try_from(id).ok()?).map(String::as_str)
    }
}
