//! Programs as they are handed on: instructions with everything resolved, and where they come from.

use std::fmt;

use super::ProgramKind;
use super::parsed::Object;
use crate::insn::{Insn, Names};
use crate::line_info::LineInfo;

/// A program with everything resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BpfProgram {
    /// Its number in [`Object::programs`].
    pub number: usize,
    /// Name of its entry function.
    pub name: String,
    /// Name of its section.
    pub section: String,
    /// Its type.
    pub kind: ProgramKind,
    /// The instructions by slot, as the kernel sees and numbers them: the entry function, then the
    /// functions that it can call. Maps are indices into [`Object::maps`].
    pub insns: Vec<Insn>,
    /// Source line of each slot, as far as known.
    pub lines: Vec<Option<LineInfo>>,
    /// The functions, in the order of their first slots; the first is the entry function.
    pub subprograms: Vec<Subprogram>,
    /// Names of the kernel functions that [`crate::insn::Call::Kfunc`] refers to by index.
    pub kfuncs: Vec<String>,
    /// The instructions that could not be resolved, by slot. Each is a call of
    /// [`crate::insn::POISON`]; a program is at fault only if it can get there.
    pub unresolved: Vec<Unresolved>,
}

/// A function of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subprogram {
    /// Its name.
    pub name: String,
    /// Its first slot in the program.
    pub first: usize,
    /// Whether it is global, so that the kernel verifies it on its own.
    pub global: bool,
    /// Name of the section it comes from.
    pub section: String,
    /// Its first slot in that section.
    pub section_slot: usize,
}

/// An instruction that could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// Its slot.
    pub insn: usize,
    /// What it refers to and why that is not known.
    pub what: String,
}

impl BpfProgram {
    /// Whether it is for packets in fragments, of which it sees the first one.
    pub fn takes_fragments(&self) -> bool {
        self.section.contains("xdp.frags")
    }

    /// Whether it runs on the way through a cpumap or devmap, behind another program.
    pub fn runs_behind_a_map(&self) -> bool {
        let kinds = ["/cpumap", "/devmap", "_cpumap", "_devmap"];
        kinds.iter().any(|kind| self.section.contains(kind))
    }

    /// The function that the instruction at this slot belongs to.
    pub fn function_of(&self, slot: usize) -> Option<&Subprogram> {
        let after = self.subprograms.partition_point(|s| s.first <= slot);
        self.subprograms.get(after.checked_sub(1)?)
    }

    /// Section and slot in it of the instruction at this slot of the program: where disassemblers
    /// of the object show it.
    pub fn place(&self, slot: usize) -> Option<(&str, usize)> {
        let function = self.function_of(slot)?;
        Some((&function.section, slot - function.first + function.section_slot))
    }

    /// Section, instruction and source line of a slot, for messages.
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

    /// Why the instruction at this slot could not be resolved, if so.
    pub fn unresolved(&self, slot: usize) -> Option<&str> {
        let found = self.unresolved.binary_search_by_key(&slot, |u| u.insn).ok()?;
        Some(&self.unresolved[found].what)
    }

    /// The instruction at this slot as text, with the names of maps and functions; empty for a
    /// second slot and beyond the end.
    pub fn disassemble(&self, object: &Object, slot: usize) -> String {
        let mut text = String::new();
        if let Some(insn) = self.insns.get(slot).filter(|insn| **insn != Insn::SecondSlot) {
            // Writing to a string does not fail.
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
