//! Collects the functions to write: the entry functions of all programs, and their subprograms
//! without duplicates.
//!
//! Every program has its own copies of the functions that it calls. Two copies are equal if they
//! have the same instructions and lines, and if their callees are equal. Partition refinement finds
//! equal copies, as in the minimisation of automata (Moore 1956).

use std::collections::HashMap;

use super::error::WriteError;
use super::names::Names;
use crate::BpfProgram;
use crate::insn::{Call, Imm64, Insn};
use crate::line_info::LineInfo;

/// A function to write to the object file. All programs with an equal copy of the function share
/// it.
#[derive(Clone, Debug)]
pub(super) struct Planned<'a> {
    /// A program that contains the function.
    pub program: &'a BpfProgram,
    /// Index of the function in [`BpfProgram::subprograms`].
    pub number: usize,
    pub name: String,
    /// Section of the program for an entry function; `None` for a subprogram, which is written to
    /// `.text`.
    pub section: Option<&'a str>,
}

#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// Entry functions in the order of the programs, then subprograms.
    pub functions: Vec<Planned<'a>>,
    /// For each program, the indices of its subprograms in `functions`.
    pub function_indices: Vec<Vec<usize>>,
}

impl Planned<'_> {
    /// Returns the first instruction slot of the function in its program, and the slot after its
    /// last one.
    pub fn range(&self) -> (usize, usize) {
        range(self.program, self.number)
    }

    /// Returns true if the function is global, so that the kernel verifies it separately.
    pub fn global(&self) -> bool {
        self.section.is_some() || self.program.subprograms[self.number].global
    }
}

fn range(program: &BpfProgram, number: usize) -> (usize, usize) {
    let end = program.subprograms.get(number + 1).map_or(program.insns.len(), |next| next.first);
    (program.subprograms[number].first, end)
}

/// The instructions, lines and other parts that two copies of a function must have in common to be
/// equal. The called functions are compared separately.
#[derive(PartialEq, Eq, Hash)]
struct FunctionKey<'a> {
    /// Index of the program for an entry function, which is never shared; `None` for a subprogram.
    entry: Option<usize>,
    name: &'a str,
    global: bool,
    origin: (&'a str, usize),
    code: Vec<Insn>,
    kfuncs: Vec<Option<&'a str>>,
    lines: &'a [Option<LineInfo>],
}

/// Returns all functions to write for these programs, with equal copies merged.
pub(super) fn plan<'a>(programs: &[&'a BpfProgram]) -> Result<Plan<'a>, WriteError> {
    programs.iter().try_for_each(|program| check(program))?;
    let copies: Vec<(usize, usize)> = (0..programs.len())
        .flat_map(|p| (0..programs[p].subprograms.len()).map(move |number| (p, number)))
        .collect();
    let starts: Vec<usize> = programs
        .iter()
        .scan(0, |at, program| {
            *at += program.subprograms.len();
            Some(*at - program.subprograms.len())
        })
        .collect();
    let mut targets = Vec::with_capacity(copies.len());
    for &(p, number) in &copies {
        let called = targets_of(programs[p], number)?;
        targets.push(called.into_iter().map(|n| starts[p] + n).collect::<Vec<usize>>());
    }
    let mut classes =
        numbered(copies.iter().map(|&(p, number)| function_key(programs[p], p, number)));
    loop {
        let split = numbered((0..copies.len()).map(|copy| {
            let called: Vec<usize> = targets[copy].iter().map(|&to| classes[to]).collect();
            (classes[copy], called)
        }));
        if split == classes {
            break;
        }
        classes = split;
    }
    let mut names = Names::default();
    let mut functions = Vec::new();
    let mut placed = HashMap::new();
    let mut place = |(copy, &(p, number)): (usize, &(usize, usize))| {
        placed.entry(classes[copy]).or_insert_with(|| {
            let program = programs[p];
            let entry = number == 0;
            let wanted = if entry { &program.name } else { &program.subprograms[number].name };
            let section = entry.then_some(program.section.as_str());
            functions.push(Planned { program, number, name: names.unique(wanted), section });
            functions.len() - 1
        });
    };
    copies.iter().enumerate().filter(|(_, (_, number))| *number == 0).for_each(&mut place);
    copies.iter().enumerate().filter(|(_, (_, number))| *number != 0).for_each(&mut place);
    let number = |copy: usize| placed.get(&classes[copy]).copied().unwrap_or(0);
    let indices = programs.iter().zip(&starts).map(|(program, start)| {
        (0..program.subprograms.len()).map(|n| number(start + n)).collect()
    });
    let function_indices = indices.collect();
    Ok(Plan { functions, function_indices })
}

/// Numbers the items in the order of first occurrence; equal items get the same number.
fn numbered<T: Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known = HashMap::new();
    let mut number = |item| {
        let next = known.len();
        *known.entry(item).or_insert(next)
    };
    items.map(&mut number).collect()
}

/// Assigns numbers to items in the order of first occurrence; equal items get the same number.
fn check(program: &BpfProgram) -> Result<(), WriteError> {
    let slots = program.insns.len();
    let firsts: Vec<usize> = program.subprograms.iter().map(|s| s.first).collect();
    if firsts.first() != Some(&0) {
        return Err(WriteError::program(program, "its entry function does not start at slot 0"));
    }
    if !firsts.is_sorted_by(|a, b| a < b) || firsts.last().is_some_and(|last| *last >= slots) {
        return Err(WriteError::program(program, "its functions are not in order, or empty"));
    }
    if program.lines.len() != slots {
        return Err(WriteError::program(program, "not every slot has its place among the lines"));
    }
    if let Some(unresolved) = program.unresolved.first() {
        let text = format!("not resolved: {}", unresolved.what);
        return Err(WriteError::insn(program, unresolved.insn, text));
    }
    for number in 0..firsts.len() {
        let (first, end) = range(program, number);
        for slot in first..end {
            check_insn(program, slot, (first, end))?;
        }
    }
    Ok(())
}

/// Checks that 64-bit immediates have two slots, and that jumps stay in their function, whose slots
/// are `first..end`.
fn check_insn(
    program: &BpfProgram,
    slot: usize,
    (first, end): (usize, usize),
) -> Result<(), WriteError> {
    let fault = |what: &str| Err(WriteError::insn(program, slot, what));
    let insn = program.insns[slot];
    let behind_wide = slot > first && matches!(program.insns[slot - 1], Insn::LoadImm64 { .. });
    if behind_wide != (insn == Insn::SecondSlot) {
        return fault("the second slot of a wide immediate is missing, or stands alone");
    }
    if slot + 1 == end && matches!(insn, Insn::LoadImm64 { .. }) {
        return fault("a function ends inside of an instruction");
    }
    if insn.jump_offset().is_some() {
        let target = insn.jump_target(slot).filter(|target| (first..end).contains(target));
        if target.is_none_or(|target| program.insns[target] == Insn::SecondSlot) {
            return fault("a jump out of its function, or into the middle of an instruction");
        }
    }
    match insn {
        Insn::Jump { offset, long: false } if i16::try_from(offset).is_err() => {
            fault("a jump over more than 32,767 slots in its short form")
        }
        _ => Ok(()),
    }
}

/// Returns the indices of the functions that a function calls or takes the address of, in order.
fn targets_of(program: &BpfProgram, number: usize) -> Result<Vec<usize>, WriteError> {
    let (first, end) = range(program, number);
    (first..end).filter_map(|slot| called(program, slot).transpose()).collect()
}

/// Returns the index of the function that an instruction calls or takes the address of; `None` for
/// other instructions.
pub(super) fn called(program: &BpfProgram, slot: usize) -> Result<Option<usize>, WriteError> {
    let is_reference = matches!(
        program.insns[slot],
        Insn::Call(Call::Subprogram { .. }) | Insn::LoadImm64 { value: Imm64::Function { .. }, .. }
    );
    if !is_reference {
        return Ok(None);
    }
    let target = program.insns[slot].function_target(slot);
    let number = target
        .and_then(|target| program.subprograms.binary_search_by_key(&target, |s| s.first).ok());
    let text = "it leads into the middle of a function, or out of the program";
    number.map(Some).ok_or_else(|| WriteError::insn(program, slot, text))
}

fn function_key(program: &BpfProgram, p: usize, number: usize) -> FunctionKey<'_> {
    let (first, end) = range(program, number);
    let mut kfuncs = Vec::new();
    let code = program.insns[first..end].iter().map(|insn| match *insn {
        Insn::Call(Call::Subprogram { .. }) => Insn::Call(Call::Subprogram { offset: 0 }),
        Insn::LoadImm64 { dst, value: Imm64::Function { .. } } => {
            Insn::LoadImm64 { dst, value: Imm64::Function { offset: 0 } }
        }
        Insn::Call(Call::Kfunc { id, .. }) => {
            kfuncs.push(kfunc(program, id));
            Insn::Call(Call::Kfunc { id: 0, module: 0 })
        }
        insn => insn,
    });
    let code = code.collect();
    let function = &program.subprograms[number];
    FunctionKey {
        entry: (number == 0).then_some(p),
        name: &function.name,
        global: function.global,
        origin: (&function.section, function.section_slot),
        code,
        kfuncs,
        lines: &program.lines[first..end],
    }
}

/// Returns the name of the kernel function with this index in the program; `None` if there is none.
pub(super) fn kfunc(program: &BpfProgram, id: i32) -> Option<&str> {
    program.kfuncs.get(usize::try_from(id).ok()?).map(String::as_str)
}
