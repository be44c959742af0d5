//! Lays out the code of a written object: the position of each function, and its instructions with
//! relocations as compilers write them.

use super::error::WriteError;
use super::functions::{Plan, Planned, called, kfunc};
use crate::Object;
use crate::insn::{Call, Imm64, Insn, encode};

/// Name of the section that contains subprograms.
const TEXT: &str = ".text";

/// Position of each function in the sections of a written object file.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    /// Names of the sections in the order of writing, each with the indices of its functions.
    pub sections: Vec<(&'a str, Vec<usize>)>,
    /// For each function, the index of its section, and its offset in the section in bytes.
    pub places: Vec<(usize, u32)>,
}

impl<'a> Layout<'a> {
    pub fn new(plan: &Plan<'a>) -> Self {
        let mut sections: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut sizes: Vec<u32> = Vec::new();
        let mut places = Vec::with_capacity(plan.functions.len());
        for (number, function) in plan.functions.iter().enumerate() {
            let name = function.section.unwrap_or(TEXT);
            let known = sections.iter().position(|(section, _)| *section == name);
            let section = known.unwrap_or_else(|| {
                sections.push((name, Vec::new()));
                sizes.push(0);
                sections.len() - 1
            });
            sections[section].1.push(number);
            places.push((section, sizes[section]));
            let (first, end) = function.range();
            let bytes = u32::try_from((end - first) * 8).unwrap_or(u32::MAX);
            sizes[section] = sizes[section].saturating_add(bytes);
        }
        Layout { sections, places }
    }

    /// Groups records of functions, such as source lines, by section. `records` returns the records
    /// of one function, given its offset in the section in bytes.
    pub fn by_section<T>(
        &self,
        plan: &Plan<'a>,
        mut records: impl FnMut(&Planned<'a>, u32) -> Vec<T>,
    ) -> Vec<(String, Vec<T>)> {
        let sections = self.sections.iter();
        let sections = sections.map(|(name, functions)| {
            let records = functions
                .iter()
                .flat_map(|&number| records(&plan.functions[number], self.places[number].1));
            ((*name).to_owned(), records.collect())
        });
        sections.collect()
    }
}

/// Target of a relocation in written code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// The map with this index, or the address of its data.
    Map(usize),
    /// A call of the function with this index.
    Call(usize),
    /// The address of the global function with this index.
    Address(usize),
    /// An address in the section with this index in [`Layout::sections`]. The instruction contains
    /// the offset.
    Section(usize),
    /// A call of a kernel function.
    Kernel(&'a str),
}

/// Code of one function in a written object.
#[derive(Debug)]
pub(super) struct Code<'a> {
    pub bytes: Vec<u8>,
    /// Relocations, each with its offset from the start of the function in bytes.
    pub relocations: Vec<(u64, Target<'a>)>,
}

/// Generates the code of a function. `callees` contains the indices, among all functions to write,
/// of the subprograms of its program.
pub(super) fn code<'a>(
    function: &Planned<'a>,
    object: &Object,
    (plan, layout): (&Plan<'a>, &Layout<'a>),
    callees: &[usize],
) -> Result<Code<'a>, WriteError> {
    let program = function.program;
    let (first, end) = function.range();
    let mut insns = Vec::with_capacity(end - first);
    let mut relocations = Vec::new();
    for slot in first..end {
        let fault = |what: &str| WriteError::insn(program, slot, what);
        let insn = program.insns[slot];
        let callee = || {
            let number = called(program, slot)?.and_then(|number| callees.get(number));
            number.copied().ok_or_else(|| fault("it leads out of the program"))
        };
        let plain = |dst, value: u64| Insn::LoadImm64 { dst, value: Imm64::Value(value) };
        // Compilers store the addend -1 in calls, because offsets count from the next instruction.
        let call = Insn::Call(Call::Subprogram { offset: -1 });
        let (insn, target) = match insn {
            Insn::LoadImm64 { dst, value } => match value {
                Imm64::Value(_) => (insn, None),
                Imm64::Map(map) => {
                    let map = map as usize;
                    object.maps.get(map).ok_or_else(|| fault("there is no such map"))?;
                    (plain(dst, 0), Some(Target::Map(map)))
                }
                Imm64::MapValue { map, offset } => {
                    let map = map as usize;
                    let data = object.maps.get(map).and_then(|def| def.initial.as_ref());
                    let inside = data.filter(|data| data.len() >= offset as usize);
                    let text = "the address of something other than global data";
                    let inside = inside.filter(|data| !data.is_empty()).map(|_| offset);
                    (plain(dst, inside.ok_or_else(|| fault(text))?.into()), Some(Target::Map(map)))
                }
                Imm64::Function { .. } => {
                    let callee = callee()?;
                    if plan.functions[callee].global() {
                        (plain(dst, 0), Some(Target::Address(callee)))
                    } else {
                        // libbpf does not accept symbols of local functions here
                        // (`sym_is_subprog`).
                        let (section, offset) = layout.places[callee];
                        (plain(dst, offset.into()), Some(Target::Section(section)))
                    }
                }
                Imm64::MapFd(_) | Imm64::MapFdValue { .. } | Imm64::Variable { .. } => {
                    return Err(fault("a number that is valid only in a running kernel"));
                }
            },
            Insn::Call(Call::Subprogram { .. }) => (call, Some(Target::Call(callee()?))),
            Insn::Call(Call::Kfunc { id, .. }) => {
                let name = kfunc(program, id);
                let text = "a call of a kernel function without a name";
                (call, Some(Target::Kernel(name.ok_or_else(|| fault(text))?)))
            }
            insn => (insn, None),
        };
        insns.push(insn);
        relocations.extend(target.map(|target| ((slot - first) as u64 * 8, target)));
    }
    Ok(Code { bytes: encode(&insns), relocations })
}
