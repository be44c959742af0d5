//! Holds the linked programs that are lifted together: the requested program, and the programs that
//! run after it. These are targets of tail calls, and next programs by the rules of
//! [`super::Handover`].

use std::collections::{BTreeSet, HashMap};

use slowpath_ir::InsnIdx;

use crate::insn::helper::{FOR_EACH_MAP_ELEM, LOOP, TAIL_CALL};
use crate::insn::{Call, Imm64, Insn, helper_name};
use crate::lift::error::Cause;
use crate::lift::frame::UnitId;
use crate::lift::options::LiftOptions;
use crate::lift::placed_program::PlacedProgram;
use crate::{BpfProgram, Object};

/// One of the linked programs that are lifted together. Its instructions have consecutive numbers
/// in the lifted program.
struct Unit {
    program: BpfProgram,
    first_insn: usize,
    leaders: BTreeSet<usize>,
    /// First instruction slots of the functions whose addresses the program takes, sorted.
    callbacks: Vec<usize>,
}

/// All linked programs that are lifted together into one; the index of a program is its [`UnitId`].
pub(super) struct LinkedCode {
    units: Vec<Unit>,
    /// Unit of each linked program that runs after the first one, by its index in the object. A
    /// unit is the index of a program among those lifted together.
    unit_of: HashMap<usize, UnitId>,
}

impl LinkedCode {
    /// Creates the list of linked programs with one element, the program to lift. It is unit 0.
    pub fn new(program: BpfProgram) -> Self {
        let mut code = LinkedCode { units: Vec::new(), unit_of: HashMap::new() };
        code.add(program);
        code
    }

    fn add(&mut self, program: BpfProgram) -> UnitId {
        let last = self.units.last();
        let first_insn = last.map_or(0, |unit| unit.first_insn + unit.program.insns.len());
        let leaders = leaders(&program);
        let callbacks = callbacks(&program);
        self.units.push(Unit { program, first_insn, leaders, callbacks });
        self.units.len() - 1
    }

    /// Returns the unit (index among the linked programs) for a program of the object. Links the
    /// program when it is first requested.
    pub fn unit_of(
        &mut self,
        object: &Object,
        program: usize,
        options: &LiftOptions,
    ) -> Result<UnitId, Cause> {
        if let Some(&unit) = self.unit_of.get(&program) {
            return Ok(unit);
        }
        let linked = object.link(program, options.kernel_types.as_deref()).map_err(|error| {
            Cause::new(error.code(), error.to_string(), "it is the target of a tail call")
        })?;
        let unit = self.add(linked);
        self.unit_of.insert(program, unit);
        Ok(unit)
    }

    pub fn program(&self, unit: UnitId) -> &BpfProgram {
        &self.units[unit].program
    }

    /// Returns all linked programs, in the order of their instruction numbers.
    pub fn programs(&self) -> impl Iterator<Item = &BpfProgram> {
        self.units.iter().map(|unit| &unit.program)
    }

    /// Returns each linked program, with the numbers of its instructions in the lifted program.
    pub fn placed_programs(&self) -> impl Iterator<Item = PlacedProgram> {
        self.units.iter().map(|Unit { program, first_insn, .. }| PlacedProgram {
            program: program.number,
            first: *first_insn,
            functions: program
                .subprograms
                .iter()
                .map(|function| (first_insn + function.first, function.name.clone()))
                .collect(),
        })
    }

    /// Returns the number that an instruction has in the lifted program. `unit` is the index of its
    /// linked program, and `slot` its slot in that program.
    pub fn number(&self, unit: UnitId, slot: usize) -> InsnIdx {
        InsnIdx::from(self.units[unit].first_insn + slot)
    }

    /// Returns the index of a function among the functions whose addresses the linked program
    /// `unit` takes. The function starts at the instruction slot `slot`. Returns `None` if the
    /// program does not take its address.
    pub fn callback_number(&self, unit: UnitId, slot: usize) -> Option<u32> {
        let number = self.units[unit].callbacks.binary_search(&slot).ok()?;
        u32::try_from(number).ok()
    }

    /// Returns the first instruction slot of a function. `number` is the function's index among the
    /// functions whose addresses the linked program `unit` takes.
    pub fn callback(&self, unit: UnitId, number: u32) -> Option<usize> {
        self.units[unit].callbacks.get(number as usize).copied()
    }

    /// Returns the indices of the object's maps to which instructions of the linked program `unit`
    /// refer.
    pub fn maps(&self, unit: UnitId) -> impl Iterator<Item = u32> {
        self.program(unit).insns.iter().filter_map(|insn| match insn {
            Insn::LoadImm64 { value: Imm64::Map(map), .. } => Some(*map),
            _ => None,
        })
    }

    /// Returns the indices of the object's maps to which instructions of the linked program `unit`
    /// refer, including maps that contain global variables.
    pub fn maps_and_variables(&self, unit: UnitId) -> impl Iterator<Item = u32> {
        self.program(unit).insns.iter().filter_map(|insn| match insn {
            Insn::LoadImm64 { value: Imm64::Map(map) | Imm64::MapValue { map, .. }, .. } => {
                Some(*map)
            }
            _ => None,
        })
    }

    pub fn is_leader(&self, unit: UnitId, slot: usize) -> bool {
        self.units[unit].leaders.contains(&slot)
    }

    /// Returns the name of the function that the instruction at a slot calls; an empty text if it
    /// is not a call.
    pub fn called(&self, unit: UnitId, slot: usize) -> String {
        let program = self.program(unit);
        match program.insns.get(slot) {
            Some(Insn::Call(Call::Helper(number))) => name(*number),
            Some(Insn::Call(Call::Kfunc { id, .. })) => {
                let id = usize::try_from(*id).ok();
                id.and_then(|id| program.kfuncs.get(id)).cloned().unwrap_or_default()
            }
            Some(Insn::MayGoto { .. }) => "may_goto".to_owned(),
            Some(Insn::LoadPacket { .. }) => "packet load".to_owned(),
            Some(Insn::Call(Call::Subprogram { .. })) => "call".to_owned(),
            _ => String::new(),
        }
    }
}

/// Returns a helper's name, or a text with its number if the helper is unknown.
pub(super) fn name(number: i32) -> String {
    helper_name(number).map_or_else(|| format!("helper {number}"), str::to_owned)
}

/// Returns the first slots of the functions whose addresses a program takes, sorted.
fn callbacks(program: &BpfProgram) -> Vec<usize> {
    let targets = program.insns.iter().enumerate().filter_map(|(slot, insn)| match insn {
        Insn::LoadImm64 { value: Imm64::Function { .. }, .. } => insn.function_target(slot),
        _ => None,
    });
    let targets: BTreeSet<usize> = targets.collect();
    targets.into_iter().collect()
}

/// Returns the instruction slots at which basic blocks start.
fn leaders(program: &BpfProgram) -> BTreeSet<usize> {
    let mut leaders: BTreeSet<usize> = program.subprograms.iter().map(|s| s.first).collect();
    leaders.insert(0);
    for (slot, insn) in program.insns.iter().enumerate() {
        if let Some(target) = insn.jump_target(slot) {
            leaders.insert(target);
        }
        let ends = match insn {
            Insn::Jump { .. } | Insn::Branch { .. } | Insn::MayGoto { .. } | Insn::Exit => true,
            Insn::Call(Call::Subprogram { .. }) => true,
            // These helpers enter other programs or functions.
            Insn::Call(Call::Helper(TAIL_CALL | FOR_EACH_MAP_ELEM | LOOP)) => true,
            _ => false,
        };
        if ends {
            leaders.insert(slot + 1);
        }
    }
    leaders
}
