//! Links one program: collects the entry function and all functions that it calls, in the order of
//! libbpf, and resolves all references.
//!
//! An instruction that cannot be resolved becomes a call of [`POISON`] with an entry in
//! [`BpfProgram::unresolved`]. The call is a fault only if the program can reach it.

use std::collections::HashMap;

use super::check;
use super::entry::ProgramEntry;
use super::functions::Function;
use super::parsed::Object;
use super::program::{BpfProgram, Subprogram, Unresolved};
use super::references::Reference;
use crate::core_relo;
use crate::error::DAMAGED;
use crate::insn::{Call, Imm64, Insn, POISON};
use crate::line_info::Lines;
use crate::{Btf, ObjectError};

/// Maximum size of a program in slots; the kernel's limit is a million instructions.
const LIMIT: usize = 1 << 20;

/// Error text and hint for instructions with numbers that only a running kernel assigns, such as
/// file descriptors of maps. Code that was dumped from a kernel contains such numbers; the output
/// of a compiler does not.
const RUNNING: (&str, &str) = (
    "a number that is valid only in a running kernel",
    "pass the compiler's output, not code taken from a kernel",
);

impl Object {
    /// Builds the program with this index in [`Object::programs`]. `kernel` contains the types of
    /// the target kernel; without it, references to these types stay unresolved.
    pub fn link(&self, program: usize, kernel: Option<&Btf>) -> Result<BpfProgram, ObjectError> {
        let available = self.programs.len();
        let entry = self
            .programs
            .get(program)
            .ok_or(ObjectError::NoProgram { number: program, available })?;
        let linker = Linker {
            object: self,
            kernel,
            insns: Vec::new(),
            unresolved: Vec::new(),
            kfuncs: Vec::new(),
            placed: Vec::new(),
            starts: HashMap::new(),
            calls: Vec::new(),
        };
        linker.link(program, entry)
    }
}

struct Linker<'a> {
    object: &'a Object,
    kernel: Option<&'a Btf>,
    insns: Vec<Insn>,
    unresolved: Vec<Unresolved>,
    kfuncs: Vec<String>,
    /// Functions whose code has been appended to the program, in order. Each has its index in the
    /// object and its first slot in the program.
    placed: Vec<(usize, usize)>,
    starts: HashMap<usize, usize>,
    /// Calls whose distance to the callee is not set yet. Each has the slot of the call and the
    /// index of the called function.
    calls: Vec<(usize, usize)>,
}

impl<'a> Linker<'a> {
    /// Links the program with the index `number` in [`Object::programs`], whose entry function is
    /// in `entry`.
    fn link(mut self, number: usize, entry: &ProgramEntry) -> Result<BpfProgram, ObjectError> {
        self.place(entry.function)?;
        // Depth-first order: after a function come its callees, each with its own callees.
        let mut work = vec![(entry.function, 0)];
        while let Some((function, slot)) = work.pop() {
            let len = self.function(function).code.as_ref().map_or(0, Vec::len);
            for slot in slot..len {
                let Some(callee) = self.resolve(function, slot)? else { continue };
                if !self.starts.contains_key(&callee) {
                    self.place(callee)?;
                    work.push((function, slot + 1));
                    work.push((callee, 0));
                    break;
                }
            }
        }
        for (slot, function) in std::mem::take(&mut self.calls) {
            let start = self.starts.get(&function).copied().unwrap_or(0);
            let distance = start as i64 - slot as i64 - 1;
            let target = i32::try_from(distance).unwrap_or(i32::MAX);
            match &mut self.insns[slot] {
                Insn::Call(Call::Subprogram { offset })
                | Insn::LoadImm64 { value: Imm64::Function { offset }, .. } => *offset = target,
                _ => {}
            }
        }
        self.unresolved.sort_by_key(|u| u.insn);
        self.unresolved.dedup_by_key(|u| u.insn);
        let subprogram = |&(index, first): &(usize, usize)| {
            let function = self.function(index);
            Subprogram {
                name: function.name.clone(),
                first,
                global: function.global,
                section: function.section_name.clone(),
                section_slot: function.first,
            }
        };
        Ok(BpfProgram {
            number,
            name: entry.name.clone(),
            section: entry.section.clone(),
            kind: entry.kind,
            lines: self.lines(),
            subprograms: self.placed.iter().map(subprogram).collect(),
            insns: self.insns,
            kfuncs: self.kfuncs,
            unresolved: self.unresolved,
        })
    }

    fn function(&self, index: usize) -> &'a Function {
        &self.object.functions[index]
    }

    /// Appends the code of a function to the linked program and applies its CO-RE relocations.
    fn place(&mut self, index: usize) -> Result<(), ObjectError> {
        let function = self.function(index);
        let code = function.code.as_ref().map_err(Clone::clone)?;
        check::function(function, code, &self.object.references)?;
        let start = self.insns.len();
        if start + code.len() > LIMIT {
            let text = format!("the program has more than {LIMIT} instructions");
            return Err(ObjectError::section(function.section_name.as_str(), text, "split it"));
        }
        self.starts.insert(index, start);
        self.placed.push((index, start));
        self.insns.extend_from_slice(code);
        let (Some(btf), Some(ext)) = (&self.object.btf, &self.object.ext) else { return Ok(()) };
        let records = ext.core.iter().find(|(name, _)| *name == function.section_name);
        let records = records.map_or(&[][..], |(_, records)| records);
        let from = records.partition_point(|r| u64::from(r.offset) < function.first as u64 * 8);
        for record in &records[from..] {
            let slot = (record.offset / 8) as usize - function.first;
            if slot >= code.len() {
                break;
            }
            let at = start + slot;
            if let Err(what) = core_relo::apply(&mut self.insns, at, record, btf, self.kernel) {
                self.poison(at, what);
            }
        }
        Ok(())
    }

    fn poison(&mut self, at: usize, what: String) {
        // A fault in either half of a 64-bit immediate replaces both.
        let at = if self.insns[at] == Insn::SecondSlot { at.saturating_sub(1) } else { at };
        let poison = Insn::Call(Call::Helper(POISON));
        if matches!(self.insns[at], Insn::LoadImm64 { .. }) {
            self.insns[at + 1] = poison;
        }
        self.insns[at] = poison;
        self.unresolved.push(Unresolved { insn: at, what });
    }

    /// Resolves the reference of the instruction at slot `slot` of the appended function `index`.
    /// Returns the index of the function that the instruction calls or takes the address of, if
    /// any.
    fn resolve(&mut self, index: usize, slot: usize) -> Result<Option<usize>, ObjectError> {
        let function = self.function(index);
        let at = self.starts.get(&index).copied().unwrap_or(0) + slot;
        let in_section = function.first + slot;
        let fault = |what: &str, hint| {
            ObjectError::insn(function.section_name.as_str(), in_section, what, hint)
        };
        let reference = self.object.references.get(&(function.section, in_section));
        let (dst, value) = match (self.insns[at], reference) {
            (Insn::Call(Call::Helper(POISON)), _) => return Ok(None),
            (Insn::Call(Call::Subprogram { offset }), reference) => {
                let target = match reference {
                    None => (function.section, in_section as i64 + 1 + i64::from(offset)),
                    Some(Reference::Code { section, offset: start }) => {
                        (*section, (*start / 8) as i64 + 1 + i64::from(offset))
                    }
                    Some(Reference::ExternFunction { name }) => {
                        let id = self.kfunc(name);
                        self.insns[at] = Insn::Call(Call::Kfunc { id, module: 0 });
                        return Ok(None);
                    }
                    Some(Reference::Unknown(what)) => {
                        self.poison(at, format!("call: {what}"));
                        return Ok(None);
                    }
                    Some(Reference::Map(_) | Reference::Data { .. }) => {
                        return Err(fault("a call of something other than a function", DAMAGED));
                    }
                };
                let callee = self.object.function_at(target.0, target.1).ok_or_else(|| {
                    fault("a call into the middle of a function, or out of the code", DAMAGED)
                })?;
                self.calls.push((at, callee));
                return Ok(Some(callee));
            }
            (Insn::LoadImm64 { dst, value }, Some(_)) => (dst, value),
            (Insn::LoadImm64 { value: Imm64::Value(_), .. }, None) => return Ok(None),
            (Insn::Call(Call::Kfunc { .. }), _) | (Insn::LoadImm64 { .. }, None) => {
                return Err(fault(RUNNING.0, RUNNING.1));
            }
            (_, Some(_)) => {
                return Err(fault("a relocation of an instruction that cannot have one", DAMAGED));
            }
            (_, None) => return Ok(None),
        };
        // The compiler stores the addend in the immediate.
        let added = match value {
            Imm64::Value(value) => i64::from(value as u32 as i32),
            Imm64::Function { offset } => i64::from(offset),
            _ => 0,
        };
        let value = match reference {
            Some(Reference::Map(map)) => Imm64::Map(*map),
            Some(Reference::Data { map, offset }) => {
                let place = i64::try_from(*offset).ok().and_then(|o| o.checked_add(added));
                let place = place.and_then(|place| u32::try_from(place).ok());
                let offset =
                    place.ok_or_else(|| fault("an address outside of its section", DAMAGED))?;
                Imm64::MapValue { map: *map, offset }
            }
            Some(Reference::Code { section, offset }) => {
                let place = i64::try_from(*offset).ok().and_then(|o| o.checked_add(added));
                let place = place.filter(|place| place % 8 == 0);
                let callee = place.and_then(|place| self.object.function_at(*section, place / 8));
                let callee = callee.ok_or_else(|| {
                    fault("the address of something other than a function", DAMAGED)
                })?;
                self.insns[at] = Insn::LoadImm64 { dst, value: Imm64::Function { offset: 0 } };
                self.calls.push((at, callee));
                return Ok(Some(callee));
            }
            Some(Reference::ExternFunction { name }) => {
                self.poison(at, format!("address: `{name}` is a function of the kernel"));
                return Ok(None);
            }
            Some(Reference::Unknown(what)) => {
                self.poison(at, format!("address: {what}"));
                return Ok(None);
            }
            None => return Ok(None),
        };
        self.insns[at] = Insn::LoadImm64 { dst, value };
        Ok(None)
    }

    fn kfunc(&mut self, name: &str) -> i32 {
        let known = self.kfuncs.iter().position(|k| k == name);
        let index = known.unwrap_or_else(|| {
            self.kfuncs.push(name.to_owned());
            self.kfuncs.len() - 1
        });
        i32::try_from(index).unwrap_or(i32::MAX)
    }

    fn lines(&self) -> Vec<Option<crate::LineInfo>> {
        let (Some(btf), Some(ext)) = (&self.object.btf, &self.object.ext) else {
            return vec![None; self.insns.len()];
        };
        let mut lines = Vec::with_capacity(self.insns.len());
        let mut sections: HashMap<&str, Lines> = HashMap::new();
        for (index, start) in &self.placed {
            let function = self.function(*index);
            let name = function.section_name.as_str();
            let section_lines = sections.entry(name).or_insert_with(|| Lines::new(btf, ext, name));
            let len = function.code.as_ref().map_or(0, Vec::len);
            debug_assert_eq!(lines.len(), *start);
            lines.extend(section_lines.of_function(function.first, len));
        }
        lines
    }
}
